"""Run all that takes minutes or hours, part after part, and keep what passed: ``make nightly``.

A part that has passed on this commit is not run again, so that whoever was interrupted goes on: what happened is in
``target/parts/nightly.json``. A part that fails stops none of the others. The table is printed at the end; with
``--write`` it takes the place of the one in ``docs/dev/reliability.md``, whose rows stay for parts that were not run
here. With names, those parts alone; with uncommitted changes every part is run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time

from parts import KEPT, ROOT, together

PARTS = {
    "slow": "tests that take minutes",
    "full": "all examples of each property",
    "proof": "every short list, and 50,000 histories",
    "reliability": "archives: 1,000 and 300 kills, full disks, cut connections",
    "adapters": "every framework, in an environment of its own",
    "order": "the tests in three random orders",
    "clock": "the tests in January 2028",
    "test-portable": "the tests without vector instructions",
    "test-aarch64": "the Rust tests on an emulated aarch64",
    "lint-bare": "the core without its optional features",
    "memory": "the engine under AddressSanitizer and valgrind",
    "memory-python": "the extension under AddressSanitizer",
    "fuzz-claude+fuzz-engine": "ten minutes of each",
    "fuzz-jsonl+fuzz-media": "ten minutes of each",
    "fuzz-rules+fuzz-shapes": "ten minutes of each",
    "fuzz-truncation+fuzz-zones": "ten minutes of each",
}
"""Targets of the Makefile, two side by side where a plus stands, and what they show; builds of one profile together."""

NOTES = KEPT / "nightly.json"
PAGE = ROOT / "docs" / "dev" / "reliability.md"
MARKS = ("<!-- nightly -->\n", "<!-- /nightly -->\n")


def output(*command: str) -> str:
    """Return what a command prints, without its last line end."""
    return subprocess.check_output(command, cwd=ROOT, text=True).strip()


def tree() -> str:
    """Return the commit; empty where files differ from it."""
    return "" if output("git", "status", "--porcelain") else output("git", "rev-parse", "--short=12", "HEAD")


def notes() -> dict[str, dict[str, object]]:
    """Return what is known of each part."""
    return json.loads(NOTES.read_text()) if NOTES.exists() else {}  # type: ignore[no-any-return]


def run(name: str, commit: str) -> bool:
    """Run a part and note how it ended; return whether it passed."""
    began = time.monotonic()
    os.environ["SECONDS"] = "600"  # of each fuzz target
    targets = name.split("+")
    passed = together(targets)
    last = "; ".join(map(result, targets))
    note = {"commit": commit, "passed": passed, "minutes": round((time.monotonic() - began) / 60, 1), "last": last}
    NOTES.write_text(json.dumps({**notes(), name: note | {"day": time.strftime("%Y-%m-%d")}}, indent=1))
    return passed


def result(target: str) -> str:
    """Return the last line of a target's output that has a number."""
    said = (KEPT / f"{target}.log").read_text(errors="replace").splitlines()
    return next((" ".join(line.strip("= ").split())[:80] for line in reversed(said) if re.search(r"\d", line)), "")


def rows() -> dict[str, str]:
    """Return the rows of the page's table: of parts that ran on another machine, or on an earlier commit."""
    written = PAGE.read_text(encoding="utf-8").partition(MARKS[0])[2].partition(MARKS[1])[0]
    return {match[1]: match[0] for match in re.finditer(r"^\| `([^`]+)` .*$", written, re.MULTILINE)}


def table() -> str:
    """Return the parts with how they ended last, here or by the page."""
    cores, system = os.cpu_count(), f"{platform.system()} {platform.machine()}"
    lines = [
        f"Last run: {cores} cores, {system}, Python {platform.python_version()}, {output('rustc', '--version')}",
        "",
    ]
    lines += ["| `make` | shows | result | minutes | day | commit |", "|---|---|---|---|---|---|"]
    known, earlier = notes(), rows()
    for name, shows in PARTS.items():
        note = known.get(name)
        if note is None:
            lines.append(earlier.get(name, f"| `{name}` | {shows} | not run | | | |"))
            continue
        how = "passed" if note["passed"] else "FAILED"
        day, commit = note["day"], note["commit"] or "with changes"
        lines.append(f"| `{name}` | {shows} | {how}: {note['last']} | {note['minutes']} | {day} | {commit} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run what has not passed on this commit; return 1 where a part failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--write", action="store_true", help="write the table into docs/dev/reliability.md")
    options = parser.parse_args()
    if unknown := {*options.names} - {*PARTS}:
        parser.error(f"no part is named {', '.join(sorted(unknown))}")
    KEPT.mkdir(parents=True, exist_ok=True)
    commit, failed = tree(), []
    for name in options.names or PARTS:
        note = notes().get(name, {})
        if commit and note.get("passed") and note.get("commit") == commit:
            print(f"{name}: passed on this commit, {note['day']}", flush=True)
        elif not run(name, commit):
            failed.append(name)
    made = table()
    print(f"\n{made}")
    if options.write:
        before, mark, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
        PAGE.write_text(before + mark + made + MARKS[1] + rest.partition(MARKS[1])[2], encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
