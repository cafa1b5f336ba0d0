"""Run the adapters' tests, or their bench, with each framework in the release of its file in ``requirements/``.

Each framework has an environment of its own in ``.venv``, because they do not agree on what they need: strands-agents
1.62 takes no mcp 2.2. The wheel is the one in ``dist/``. ``make latest`` takes other releases.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from environment import LOCKS, ROOT, install, install_wheel, make, python_of
from lock import NEWER, frameworks, locks, module_of, name_of

if TYPE_CHECKING:
    from pathlib import Path

FEW = ("mcp", "langchain", "pydantic-ai", "openai-agents", "claude-agent", "strands", "litellm")
"""Extras that CI tries at every stop, in four minutes; ``make nightly`` tries all."""


def versions(lock: Path, requirements: tuple[str, ...]) -> str:
    """Return the packages of requirements with their releases in a file of exact versions."""
    found = dict(re.findall(r"^([^=\s]+)==([^\s;]+)", lock.read_text(), re.MULTILINE))
    return ", ".join(f"{name} {found[name]}" for name in map(name_of, requirements) if name in found)


def interpreter(extra: str) -> str | None:
    """Return the interpreter of a framework; None where none on the path is new enough."""
    wanted = NEWER.get(extra, "3")
    if sys.version_info >= tuple(map(int, wanted.split("."))):
        return sys.executable
    found = shutil.which(f"python{wanted}")  # a shim that starts none is none
    done = found and subprocess.run([found, "--version"], capture_output=True, check=False)
    return found if done and not done.returncode else None


def prepare(extra: str, lock: Path, folder: Path) -> None:
    """Install a framework's environment, and the wheel."""
    (wheel,) = (ROOT / "dist").glob("*.whl")
    make(folder, interpreter(extra) or sys.executable)
    install(folder, lock)
    install_wheel(folder, wheel)
    print(versions(lock, locks()[f"adapter-{extra}"].requirements), flush=True)


def run(extra: str, folder: Path, arguments: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    """Run the tests of a framework's adapter in an environment, the slow ones too."""
    tests = [f"tests/adapters/test_{module_of(extra)}.py", *arguments]
    command = [str(python_of(folder)), "-m", "pytest", "-m", "slow or not slow", *tests]
    return subprocess.run(command, cwd=ROOT, check=False, text=True, **options)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", action="store_true", help="run benches/adapters.py")
    parser.add_argument("--few", action="store_true", help="those of CI alone")
    parser.add_argument("--extra", action="append", help="an extra to try; may be repeated; default: all")
    options, rest = parser.parse_known_args()
    started, failed = time.monotonic(), []
    for extra in options.extra or (FEW if options.few else frameworks()):
        module, folder = module_of(extra), ROOT / ".venv" / f"adapter-{extra}"
        if options.bench and not (ROOT / "benches" / f"_adapters_{module}.py").exists():
            continue
        if interpreter(extra) is None:
            print(f"{extra}: not run, it needs python{NEWER[extra]} on the path")
            continue
        prepare(extra, LOCKS / f"adapter-{extra}.txt", folder)
        if options.bench:
            install(folder, LOCKS / "harness.txt")
            command = [python_of(folder), "benches/adapters.py", module, *rest]
            subprocess.run(command, cwd=ROOT, check=True)
        elif run(extra, folder, rest).returncode:
            failed.append(extra)
    print(f"{time.monotonic() - started:.0f} s; failed: {', '.join(failed) or 'none'}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
