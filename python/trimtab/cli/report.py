"""The verb report: write a page to look at."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from .. import __version__, _core, formats
from .._home import archive_url
from ..archive.names import given_name
from ..counting.counter import scan
from ..messages.types import Transcript
from ..planning.rebuilds import CacheRebuild, rebuilds
from ..report import Course, Past, Planned, Report, Share, course, page, sentence, sizes, states
from .count import fields, summed
from .files import archive_path, check_output, existing, write
from .input import load
from .options import add_archive, add_file, add_output, add_policy, add_session
from .originals import fate, full_ref
from .output import print_json, print_line
from .preview import Previewed, preview, without_archive
from .progress import Progress
from .show import costs, parts_of

if TYPE_CHECKING:
    from ..archive import ArchivedCompaction, SqlArchive

DESCRIPTION = """Write one page with panels on a session: what fills it, when and how hard it was cut, what a compaction
would take and save, and how tokens were counted. The page fetches nothing and can be mailed."""
EXAMPLES = (
    "trimtab report session.jsonl -o report.html",
    "trimtab report session.jsonl --policy default --policy sven -o report.html",
    "trimtab report 3776d12d --redact -o old.html  # the list before a compaction",
)

TOP = 10
"""Parts and results that have a row."""

CAPS = (1_000, 2_000, 4_000, 8_000, 16_000)
"""Limits of a result whose savings are shown."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_file(parser, about="session file of any known format, - for stdin; or the ref of a compaction")
    add_policy(parser, several=True)
    add_output(parser)
    add_archive(parser)
    add_session(parser)
    parser.add_argument("--redact", action="store_true", help="hide texts and names of files behind their lengths")


def run(options: argparse.Namespace) -> int:
    """Write the page; report where it is.

    Raises:
        ValueError: the page would fill a terminal.
    """
    if options.output == "-" and sys.stdout.isatty():
        raise ValueError("a page would fill the terminal\n  name a file for it: -o report.html")
    path = archive_path(_url(options))
    check_output(options, options.file, path)
    with ExitStack() as stack:
        archive = _open(options, stack)
        transcript, ref = _loaded(options, archive)
        past: list[Past] = []
        with nullcontext() if ref else _if_default(options):
            past = _past(options, archive, ref)
        done = fate(archive.changes(ref), len(transcript.messages)) if archive and ref else None
    report = _report(options, transcript, past)
    if done:
        title = f"The list from before the compaction {ref}"
        report = replace(report, title=title, taken=states(len(transcript.messages), done.left, done.changed))
    with Progress("writing the page"):
        text = page(report)
    write(options.output, text)
    if options.output != "-":
        answer = {"output": options.output, "bytes": len(text.encode()), **report.fields}
        if options.json:
            print_json(answer)
        else:
            print_line(f"wrote {options.output}, {answer['bytes'] / 1000:,.0f} KB: open it in a browser")
    return 0


def _url(options: argparse.Namespace) -> str:

    return archive_url(options.archive)


def _open(options: argparse.Namespace, stack: ExitStack) -> SqlArchive | None:
    """Return the archive; None if there is none that can be opened and nobody names one."""
    from ..archive import open_archive

    if options.archive is None and not Path(archive_path(_url(options))).is_file():
        return None
    with _if_default(options):
        return stack.enter_context(cast("SqlArchive", open_archive(existing(options.archive))))
    return None


def _if_default(options: argparse.Namespace) -> AbstractContextManager[None]:
    """Return a context that goes on without the default archive where it fails, and raises for a named one."""
    return without_archive() if options.archive is None else nullcontext()


def _loaded(options: argparse.Namespace, archive: SqlArchive | None) -> tuple[Transcript, str]:
    """Return the session of a file, or the list from before a compaction in the archive with the compaction's ref."""
    if archive is not None and options.file != "-" and not Path(options.file).exists():
        ref = full_ref(archive, options.file)
        if archive.matching(ref) == [ref]:
            session = None if options.any_session else given_name(options.session)
            messages = archive.load(ref, session=session)
            provider = _core.detect(messages) or "openai_chat"
            origin = next((each for each in archive.overview() if each.session == archive.changes(ref).session), None)
            model = origin.model if origin else ""
            return Transcript([*map(dict, messages)], provider, provider, model=model or None), ref
    return load(options), ""


def _past(options: argparse.Namespace, archive: SqlArchive | None, ref: str) -> list[Past]:
    """Return the compactions of a session, or of a session file, oldest first."""
    if archive is None:
        return []
    if ref:
        sessions = [archive.changes(ref).session]
    else:
        file = str(Path(options.file).absolute())
        sessions = [each.session for each in archive.overview() if each.file == file]
    found = [each for session in sessions for each in archive.history(session, limit=None)]
    return [_of(archive, each) for each in sorted(found, key=lambda each: each.created_at)]


def _of(archive: SqlArchive, done: ArchivedCompaction) -> Past:
    plan = json.loads(archive.changes(done.ref).plan or "{}")
    return Past(
        done.ref,
        f"{done.created_at:%Y-%m-%d %H:%M}",
        done.strategy,
        done.original_tokens,
        done.compacted_tokens,
        done.messages_removed,
        done.model or "",
        str(plan.get("reason", "")),
        done.summary or "",
    )


def _report(options: argparse.Namespace, found: Transcript, past: Sequence[Past]) -> Report:
    """Return the figures of the page."""
    names = options.policy or ["default"]
    previews = [preview(argparse.Namespace(**{**vars(options), "policy": name}), found) for name in names]
    first = previews[0]
    contents, prompt = first.contents, first.next_prompt
    counted = fields(found, first.cm, prompt, summed(contents.ledger))
    drawn, rebuilt = _drawn(options, found, first, counted["system_and_tools"] + counted["not_in_file"])
    verdict, *notes = prompt.lines()
    return Report(
        title=options.file if options.file != "-" else "a session",
        verdict=sentence(verdict),
        notes=[*map(sentence, notes), *([sentence(first.dearer)] if first.dearer else [])],
        fields=counted,
        parts=[Share(part.name, part.tokens, part.percent, part.number) for part in parts_of(first, "tool", TOP)],
        sizes=sizes(contents),
        largest=contents.largest(TOP),
        caps=[(cap, contents.over(cap)) for cap in CAPS],
        repeats=contents.repeats(),
        plans=[Planned(name, each.plan, each.changes) for name, each in zip(names, previews, strict=True)],
        course=drawn,
        past=past,
        cost=costs(first),
        counted_by=f"By {first.cm.counter.explain()}",
        version=__version__,
        hides=options.redact,
        rebuilt=rebuilt,
    )


def _drawn(
    options: argparse.Namespace, found: Transcript, first: Previewed, fixed: int
) -> tuple[Course, list[CacheRebuild] | None]:
    """Return the prompt over the session, and the calls that rebuilt the cache; None where none was billed.

    The messages that compactions replaced stand in front of the list of now, which may begin with some that the last
    one kept: behind these, it is the end of the whole session.
    """
    whole, cuts = _whole(options, found)
    counts = first.contents.per_message
    if whole is found:
        return course(counts, fixed, cuts, found.usage), rebuilds(found, counts.tolist()) if found.calls else None
    last, all_counts = cuts[-1], scan(whole.messages, first.cm.counter, whole.provider).per_message.astype("int64")
    drawn = np.concatenate([all_counts[:last], counts])
    usage = [call for call in whole.usage if call.before <= last]
    usage += [replace(call, before=call.before + last) for call in found.usage]
    kept = len(drawn) - len(whole.messages)

    def moved(place: int) -> int:
        return place + kept if place >= last else place

    rebuilt = [
        replace(each, message=moved(each.message), place=None if each.place is None else moved(each.place))
        for each in rebuilds(whole, all_counts.tolist())
    ]
    return course(drawn, fixed, cuts, usage, last), rebuilt if whole.calls else None


def _whole(options: argparse.Namespace, found: Transcript) -> tuple[Transcript, list[int]]:
    """Return the session with what its compactions replaced, and their places; itself where it has none.

    Readers count what a compaction replaced among ``left_out``: a session without is not read again, which is half of
    the time of a long one.
    """
    replaced = any("compacted" in kind for kind in found.left_out)
    if options.whole or not replaced or not Path(options.file).is_file():
        return found, found.compactions
    whole = formats.read(options.file, format=options.format, whole=True)
    return (whole, whole.compactions) if whole.compactions else (found, [])
