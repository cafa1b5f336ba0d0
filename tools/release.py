"""Go through the checklist of a release without publishing anything: ``make release-check``.

Each step of ``docs/dev/releasing.md`` is printed with what was found. Steps that need a person or the host are named as
such. The exit code is 1 where a step that can be looked at here is not ready.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "dev" / "releasing.md"
BY_HAND = ("tag", "approve", "look")
"""Steps that a person does."""


def output(*command: str) -> tuple[int, str]:
    """Return a command's code and the last line that it printed."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return done.returncode, lines[-1] if lines else ""


def version() -> str:
    """Return the version in ``Cargo.toml``."""
    found: str = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    return found


def clean() -> tuple[bool, str]:
    """Return whether all is committed, on main."""
    branch, changes = output("git", "branch", "--show-current")[1], output("git", "status", "--porcelain")[1]
    return branch == "main" and not changes, f"on {branch or 'no branch'}, {'changes' if changes else 'all committed'}"


def changelog() -> tuple[bool, str]:
    """Return whether the newest section is that of the version, with a date."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    head = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)[0]
    return re.fullmatch(
        rf"{re.escape(version())} \(\d{{4}}-\d\d-\d\d\)", head
    ) is not None, f"its newest section: {head}"


def untagged() -> tuple[bool, str]:
    """Return whether the version has no tag yet."""
    code, _ = output("git", "rev-parse", "--verify", "--quiet", f"v{version()}")
    return code != 0, f"v{version()} {'has no tag' if code else 'is tagged already'}"


def public() -> tuple[bool, str]:
    """Return whether the list of public names is that of the source."""
    code, said = output(sys.executable, "tools/api.py")
    changed = output("git", "status", "--porcelain", "docs/dev/api.txt")[1]
    return not code and not changed, said or (
        "the list was old, and is written" if changed else "docs/dev/api.txt holds"
    )


def workflows() -> tuple[bool, str]:
    """Return whether the workflow files are without findings."""
    code, said = output("make", "--no-print-directory", "check-workflows")
    return code == 0, said


def wheels() -> tuple[bool, str]:
    """Return which wheels of the version are in ``dist``; `make wheels` builds and checks them."""
    made = sorted(path.name for path in (ROOT / "dist").glob(f"trimtab-{version()}*"))
    return bool(made), ", ".join(made) or "none: make wheels"


STEPS: dict[str, Callable[[], tuple[bool, str]]] = {
    "commit": clean,
    "changelog": changelog,
    "version": untagged,
    "api": public,
    "workflows": workflows,
    "wheels": wheels,
}


def steps() -> Iterator[tuple[str, str]]:
    """Yield the steps of the page in their order: name, and what is to be done."""
    yield from re.findall(r"^\d+\. \*\*(\w+)\*\*: (.+)", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)


def main() -> int:
    """Print each step; return 1 if one that can be looked at is not ready."""
    ready = True
    for name, told in steps():
        passed, found = STEPS[name]() if name in STEPS else (True, f"by hand: {told}")
        ready &= passed
        print(f"{'ok  ' if passed and name in STEPS else '    ' if passed else 'not '} {name:10} {found}", flush=True)
    print("nothing was tagged, and nothing was published")
    return int(not ready)


if __name__ == "__main__":
    sys.exit(main())
