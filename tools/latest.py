"""Resolve each range of the tests anew, run the same tests, and print what passes: ``make latest``.

The environments are those of ``make test`` with the newest releases, and of ``make adapters`` with the newest and the
lowest that the extra names. No test of ours has to pass here: a release of somebody else may break one. The table says
which; its logs are in ``target/latest/``. Names of environments as arguments run those alone.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from adapters import run
from environment import LOCKS, ROOT, install, install_wheel, python_of
from lock import Lock, compiled, frameworks, locks, name_of

if TYPE_CHECKING:
    from pathlib import Path

KEPT = ROOT / "target" / "latest"
Row = tuple[str, str, str, str]


def pins(path: Path) -> dict[str, str]:
    """Return the releases of a file of exact versions by package; several, where markers choose, joined by commas."""
    found: dict[str, str] = {}
    for name, release in re.findall(r"^([^=\s]+)==([^\s;]+)", path.read_text(), re.MULTILINE):
        found[name] = f"{found[name]}, {release}" if name in found else release
    return found


def lagging(lock: Lock, resolved: dict[str, str], scratch: Path) -> list[Row]:
    """Return a row for each package whose newest release in the range the others do not allow, with the cause."""
    rows = []
    for requirement in lock.requirements:
        name = name_of(requirement)
        if compiled(replace(lock, requirements=(requirement,), alone=True, within=None), scratch, "--upgrade"):
            continue
        newest = pins(scratch).get(name, "")
        if newest and newest != resolved.get(name):
            exact = f"{requirement.split('>=')[0]}=={newest.split(', ')[-1]}"
            why = compiled(replace(lock, requirements=(*lock.requirements, exact)), scratch, "--upgrade")
            rows.append((name, resolved.get(name, ""), newest, f"does not install here: {why}" if why else "held back"))
    return rows


def tried(lock: Lock, name: str, extra: str | None, arguments: list[str]) -> list[Row]:
    """Return the rows of an environment: its packages whose release is another than the locked one, and its tests."""
    KEPT.mkdir(parents=True, exist_ok=True)
    file, folder = KEPT / f"{name}.txt", ROOT / ".venv" / f"latest-{name}"
    if why := compiled(lock, file, "--upgrade"):
        return [(name, "", "", f"cannot be resolved: {why}")]
    locked, resolved = pins(LOCKS / f"{lock.name}.txt"), pins(file)
    wanted = [name_of(requirement) for requirement in lock.requirements]
    rows = [(package, locked.get(package, ""), resolved.get(package, ""), "") for package in wanted]
    rows = [row for row in rows if row[1] != row[2] or extra]
    if not lock.lowest:
        rows += lagging(lock, resolved, KEPT / "scratch.txt")
    (wheel,) = (ROOT / "dist").glob("*.whl")
    try:
        install(folder, file)
        install_wheel(folder, wheel)
    except SystemExit as error:
        return [*rows, (name, "", "", str(error))]
    if extra is None:
        if not (folder / "wheels").exists():
            (folder / "wheels").symlink_to(ROOT / ".venv" / "wheels")
        command = [str(python_of(folder)), "-m", "pytest", "-p", "no:benchmark", "-n", "2", "--dist", "worksteal"]
        done = subprocess.run([*command, *arguments], cwd=ROOT, check=False, text=True, capture_output=True)
    else:
        done = run(extra, folder, arguments, capture_output=True)
    (KEPT / f"{name}.log").write_text(done.stdout + done.stderr)
    failed = re.findall(r"^(?:FAILED|ERROR) (?:tests/)?(\S+)", done.stdout, re.MULTILINE)
    last = (done.stdout.strip().splitlines() or ["no output"])[-1].strip("= ")
    return [*rows, (name, "", "", f"{last}; {', '.join(failed)}" if failed else last)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="of environments; default: all")
    options, arguments = parser.parse_known_args()
    known = locks()
    trials = {"dev": (known["dev"], None)}
    for extra in frameworks():
        lock = known[f"adapter-{extra}"]
        trials[lock.name] = (lock, extra)
        trials[f"{lock.name}-lowest"] = (replace(lock, lowest=True), extra)
    print("| package or environment | locked | newest or lowest | result |\n|---|---|---|---|")
    for name in options.names or trials:
        for row in tried(trials[name][0], name, trials[name][1], arguments):
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
