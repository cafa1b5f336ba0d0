"""The verb restore: write the original messages of a compaction."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, cast

from .files import archive_path, check_output, existing, to_text, write
from .options import add_archive, add_json, add_output, add_session
from .output import print_json, print_note
from .progress import Progress

if TYPE_CHECKING:
    from ..archive import SqlArchive

DESCRIPTION = "Write the original messages of a compaction."
EXAMPLES = (
    "trimtab restore 3776d12d -o original.json",
    "trimtab restore --all 3776d12d -o first.json",
    "trimtab restore 3776d12d --session deploy -o original.json",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("ref", metavar="REF", help="the compaction's ref, or the beginning of it")
    parser.add_argument("--all", action="store_true", help="go back to the list from before the first compaction")
    add_output(parser)
    add_archive(parser)
    add_session(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Write the original messages; with an output file, report them."""
    from ..archive import open_archive
    from ..archive.names import given_name
    from .originals import first_list, full_ref

    check_output(options, archive_path(existing(options.archive)))
    session = None if options.any_session else given_name(options.session)
    opened = cast("SqlArchive", open_archive(existing(options.archive)))
    with Progress(f"restoring {options.ref}"), opened as archive:
        ref = full_ref(archive, options.ref)
        if options.all:
            messages, undone = first_list(archive, ref, session)
        else:
            messages, undone = archive.load(ref, session=session), [ref]
        text = to_text(messages, options.output)
    write(options.output, text)
    if options.json and options.output != "-":
        print_json({"ref": ref, "messages": len(messages), "undone": undone, "output": options.output})
    elif options.output != "-":
        many = f", before {len(undone):,} compactions," if len(undone) > 1 else ""
        print_note(f"restored {len(messages):,} messages{many} to {options.output}")
    return 0
