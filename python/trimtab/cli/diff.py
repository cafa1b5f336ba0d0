"""The verb diff: what a compaction took out of its list and what stayed, in reading order."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

from ..archive.names import given_name
from .files import existing
from .options import add_archive, add_json, add_session
from .originals import fate, full_ref, who, words
from .output import print_answer
from .progress import Progress
from .terminal import Styled, crop, width_of

if TYPE_CHECKING:
    from ..archive import SqlArchive
    from .originals import Fate

DESCRIPTION = """Show what a compaction took out of its list and what stayed, in reading order. A message behind - left,
one behind ~ was changed, all others stayed. The numbers are those of plan and show."""
EXAMPLES = ("trimtab diff 3776d12d", "trimtab diff 3776d12d --session deploy --json")

FOLDED = 3
"""Messages that stayed in a row above which one line stands for them."""

WIDTH = 200
"""Columns of a message where the output is no terminal."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("ref", metavar="REF", help="the compaction's ref, or the beginning of it")
    add_archive(parser)
    add_session(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Load the originals and the plan, and print each message with what became of it."""
    from ..archive import open_archive

    session = None if options.any_session else given_name(options.session)
    with Progress("comparing"), cast("SqlArchive", open_archive(existing(options.archive))) as archive:
        ref = full_ref(archive, options.ref)
        messages = archive.load(ref, session=session)
        found = fate(archive.changes(ref), len(messages))
    print_answer(options, {"ref": ref, "messages": len(messages), **asdict(found)}, _lines(ref, messages, found))
    return 0


def _lines(ref: str, messages: list[Any], found: Fate) -> Iterator[str]:
    stayed, changed, left = map(len, (found.stayed, found.changed, found.left))
    yield Styled(
        f"{ref}: of {len(messages):,} messages {left:,} left, {changed:,} were changed, {stayed:,} stayed", "bold"
    )
    signs = {**dict.fromkeys(found.stayed, " "), **dict.fromkeys(found.changed, "~"), **dict.fromkeys(found.left, "-")}
    for sign, run_of in groupby(range(len(messages)), key=lambda at: signs[at]):
        run = [*run_of]
        if sign == " " and len(run) > FOLDED:
            yield Styled(f"  {run[0]:,} to {run[-1]:,}: {len(run):,} messages stayed", "dim")
            continue
        for at in run:
            yield _line(sign, at, messages[at])


def _line(sign: str, at: int, message: dict[str, Any]) -> str:
    line = f"{sign} {at:>6,}  {who(message):9}  {words(message)}"
    return Styled(crop(line, width_of(sys.stdout) or WIDTH), {"-": "red", "~": "yellow"}.get(sign, "dim"))
