"""The verb restore: the original list of a compaction, as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .files import archive_url, existing, to_text, write
from .output import answer, warn
from .progress import Progress

if TYPE_CHECKING:
    import argparse


DESCRIPTION = "The original list of a compaction, as it was."


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The verb's options."""
    parser = verbs.add_parser("restore", help="the originals of a compaction", description=DESCRIPTION)
    parser.add_argument("ref", metavar="REF", help="as trimtab compact printed it")
    parser.add_argument("-o", "--output", metavar="OUT", default="-", help="where to; stdout otherwise")
    parser.add_argument("--archive", metavar="URL", help="sqlite:///PATH; default: in the data folder")
    parser.add_argument("--json", action="store_true", help="what was done as JSON; needs -o")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Writes the originals."""
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
