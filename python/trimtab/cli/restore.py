"""The verb restore: write the original messages of a compaction."""

from __future__ import annotations

import argparse

from .files import archive_path, check_output, existing, to_text, write
from .options import add_archive, add_json, add_output
from .output import print_json, print_note
from .progress import Progress

DESCRIPTION = "Write the original messages of a compaction."
EXAMPLES = (
    "trimtab restore 3776d12d -o original.json",
    "trimtab restore 3776d12d --session deploy -o original.json",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("ref", metavar="REF", help="the compaction's ref, as printed by trimtab compact")
    add_output(parser)
    add_archive(parser)
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--session", metavar="NAME", help="the session that was compacted; default: one without a name")
    either.add_argument("--any-session", action="store_true", help="restore compactions of any session")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Write the original messages; with an output file, report them."""
    from ..archive import open_archive
    from ..archive.names import given_name

    check_output(options, archive_path(existing(options.archive)))
    session = None if options.any_session else given_name(options.session)
    with Progress(f"restoring {options.ref}"):
        messages = open_archive(existing(options.archive)).load(options.ref, session=session)
        text = to_text(messages, options.output)
    write(options.output, text)
    if options.json and options.output != "-":
        print_json({"ref": options.ref, "messages": len(messages), "output": options.output})
    elif options.output != "-":
        print_note(f"restored {len(messages):,} messages to {options.output}")
    return 0
