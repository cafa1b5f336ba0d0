"""The verb demo: write the example session, and say what to type next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from .output import print_line

if TYPE_CHECKING:
    import argparse

DESCRIPTION = "Write the example session that comes with trimtab, and print three commands to try on it."
EXAMPLES = ("trimtab demo", "trimtab demo ~/try")

NEXT = (
    ("what fills it", "show {file} --window 100k"),
    ("what a compaction would do, and why", "plan {file} --window 100k"),
    ("do it; the last line brings the original back", "compact {file} --window 100k -o {smaller}"),
)
"""What to type next, and what it answers."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("folder", metavar="DIR", nargs="?", default="trimtab-demo", help="folder; default: %(default)s")


def run(options: argparse.Namespace) -> int:
    """Write ``session.jsonl`` into the folder, and print the next commands.

    Raises:
        FileExistsError: another ``session.jsonl`` is there; it stays as it is.
    """
    from ..formats import EXAMPLE

    folder, text = Path(options.folder), EXAMPLE.read_bytes()
    file = folder / EXAMPLE.name.replace("example", "session")
    folder.mkdir(parents=True, exist_ok=True)
    if file.exists() and file.read_bytes() != text:
        raise FileExistsError(f"{file} is another file: name another folder, as in trimtab demo DIR")
    file.write_bytes(text)
    print_line(f"wrote {file}: a coding agent's session of 141 messages. Try next:")
    names = {"file": shlex.quote(str(file)), "smaller": shlex.quote(str(folder / "smaller.json"))}
    for answers, command in NEXT:
        print_line(f"  {answers}:")
        print_line(f"    trimtab {command.format(**names)}")
    return 0
