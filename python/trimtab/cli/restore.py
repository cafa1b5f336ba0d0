"""The verb restore: write the original messages of a compaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .files import archive_url, existing, to_text, write
from .output import answer, warn
from .progress import Progress

if TYPE_CHECKING:
    import argparse


DESCRIPTION = "Write the original messages of a compaction."


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb and its options."""
    parser = verbs.add_parser("restore", help="write the original messages of a compaction", description=DESCRIPTION)
    parser.add_argument("ref", metavar="REF", help="the compaction's ref, as printed by trimtab compact")
    parser.add_argument("-o", "--output", metavar="OUT", default="-", help="output file; default: stdout")
    parser.add_argument("--archive", metavar="URL", help="sqlite:///PATH; default: in the data folder")
    parser.add_argument("--json", action="store_true", help="print a report as JSON; needs -o")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the original messages."""
    from ..archive import open_archive

    with Progress(f"restoring {options.ref}"):
        messages = open_archive(existing(options.archive or archive_url())).load(options.ref)
        text = to_text(messages, options.output)
    write(options.output, text)
    if options.json and options.output != "-":
        answer({"ref": options.ref, "messages": len(messages), "output": options.output})
    elif options.output != "-":
        warn(f"restored {len(messages):,} messages to {options.output}")
    return 0
