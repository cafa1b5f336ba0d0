"""The verb archive: list, search, verify, export and prune archived sessions."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import timedelta
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, cast

from .._home import archive_url
from .._repr import one_line
from ..archive.names import is_unnamed
from ..errors import ArchiveError, SessionError
from .files import archive_path, check_output, existing, write
from .options import add_archive, add_json, add_output, archive_option, session_option
from .originals import full_ref, short_refs, who, words
from .output import many, plain, print_answer, print_note
from .progress import Progress
from .terminal import Styled, crop, width_of

if TYPE_CHECKING:
    from ..archive import ArchivedCompaction, Original, Overview, Pruned, Receipt, SqlArchive, Totals


DESCRIPTION = "List, search, verify, export or remove the archived originals of compacted sessions."
EXAMPLES = (
    "trimtab archive list",
    "trimtab archive show 3776d12d",
    "trimtab archive log",
    "trimtab archive search parser migration",
    "trimtab archive prune --older-than 30d --dry-run",
)

WIDTH = 200
"""Columns of a session's file and request where the output is no terminal."""

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=type(parser))

    def action(run: Callable[[SqlArchive, argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
        command = actions.add_parser(run.__name__[1:], help=about, description=f"{about[:1].upper()}{about[1:]}.")
        add_archive(command)
        add_json(command)
        command.set_defaults(run_action=run)
        return command

    action(_list, "list the sessions that have compactions, latest first")
    command = action(_show, "list the compactions of a session, or the messages that a compaction removed")
    command.add_argument("name", metavar="NAME", help="a session, or the ref of a compaction")
    command = action(_log, "list what ran, was skipped, failed or was refused, and why; nothing of the text")
    command.add_argument("--session", metavar="NAME", help="only this session")
    command.add_argument("--limit", metavar="N", type=int, default=20, help="maximum number; default: %(default)s")
    command = action(_search, "find messages by words: messages with all words first, newest first")
    command.add_argument("query", metavar="WORDS", nargs="+", help="words of the message")
    command.add_argument("--session", metavar="NAME", help="only search this session")
    command.add_argument("--limit", metavar="N", type=int, default=10, help="maximum number; default: %(default)s")
    command = action(_verify, "recompute all digests and the hash chain; exit with 1 on a mismatch")
    command.add_argument("name", metavar="SESSION", nargs="?", help="only this session")
    command = action(_export, "write a session's compactions with their originals, one JSON line each")
    command.add_argument("name", metavar="SESSION", help="the session")
    add_output(command)
    command = action(_prune, "remove compactions, oldest first, except those whose summary is in use")
    command.add_argument("--older-than", metavar="AGE", type=_age, help="remove those of this age, such as 30d or 12h")
    command.add_argument("--keep", metavar="N", type=int, help="remove all but the latest N of each session")
    size = "remove until the file has this size, such as 500MB; in PostgreSQL, until the messages as JSON have it"
    command.add_argument("--max-size", metavar="SIZE", type=_size, help=size)
    command.add_argument("--session", metavar="NAME", help="only remove compactions of this session")
    command.add_argument("--forget", metavar="NAME", help="remove all data of this session, even if in use")
    command.add_argument("--dry-run", action="store_true", help="only print what would be removed")


def run(options: argparse.Namespace) -> int:
    """Run an action on the archive that the options name."""
    from ..archive import open_archive

    with cast("SqlArchive", open_archive(existing(options.archive))) as archive:
        return int(options.run_action(archive, options))


def _list(archive: SqlArchive, options: argparse.Namespace) -> int:
    with Progress("listing"):
        sessions, totals = archive.overview(), archive.totals()
    lines = _overview(sessions, totals, archive_option(options.archive))
    print_answer(options, {"sessions": sessions, "totals": totals}, lines)
    return 0


def _overview(sessions: list[Overview], totals: Totals, place: str) -> Iterator[str]:
    """Yield two lines a session: what to type, when and how much; then the file, the model and the first request."""
    short = short_refs(each.ref for each in sessions)
    width = width_of(sys.stdout) or WIDTH
    for each in sessions:
        name = short[each.ref] if is_unnamed(each.session, each.ref) else one_line(each.session)
        tokens = f"{each.tokens_before:,} -> {each.tokens_after:,} tokens"
        sizes = f"{_bytes(each.bytes)}, {many(each.compactions, 'compaction')}"
        yield Styled(f"{name}  {each.last_at:%Y-%m-%d %H:%M}  {tokens}, {sizes}", "bold")
        origin = " · ".join(filter(None, [Path(each.file).name, each.model, each.request]))
        if origin:
            yield crop(f"  {one_line(origin)}", width)
    sums = (many(len(sessions), "session"), many(totals.compactions, "compaction"))
    yield f"{', '.join(sums)}, {totals.tokens_saved:,} tokens saved"
    if sessions:
        yield f"  to look at one: trimtab archive show NAME{place}"


def _bytes(size: int) -> str:
    """Return a number of bytes with its unit."""
    unit, scale = next(((unit, scale) for unit, scale in reversed(_UNITS.items()) if size >= scale and unit), ("B", 1))
    return f"{size:,} {unit}" if scale == 1 else f"{size / scale:,.1f} {unit}"


def _show(archive: SqlArchive, options: argparse.Namespace) -> int:
    with Progress("looking it up"):
        past = archive.history(options.name, limit=None)
        ref = "" if past else full_ref(archive, options.name)
        originals = [] if past else archive.archived(ref)
        about = [] if past else [each for each in _history_of(archive, ref) if each.ref == ref]
    if past:
        print_answer(options, past, map(_describe, past))
    else:
        print_answer(options, originals, _removed(ref, originals, about, archive_option(options.archive)))
    return 0


def _history_of(archive: SqlArchive, ref: str) -> list[ArchivedCompaction]:
    return archive.history(archive.changes(ref).session, limit=None)


def _removed(ref: str, originals: list[Original], about: list[ArchivedCompaction], place: str) -> Iterator[str]:
    """Yield the compaction, its summary, the messages that it removed or changed, and how to get all back."""
    yield from map(_describe, about)
    for each in about:
        if each.summary:
            yield Styled("summary that the model reads:", "bold")
            yield from (f"  {line}" for line in each.summary.splitlines())
    yield from map(_preview, originals)
    yield f"{len(originals):,} messages removed or changed"
    session = "".join(session_option(each.session) for each in about if not is_unnamed(each.session, ref))
    yield f"  for the whole list: trimtab restore {ref}{session}{place}"
    yield f"  in reading order: trimtab diff {ref}{session}{place}"


def _describe(past: ArchivedCompaction) -> str:
    by = f", by {past.model}" if past.model else ""
    tokens = f"{past.original_tokens:,} -> {past.compacted_tokens:,} tokens"
    when = f"{past.created_at:%Y-%m-%d %H:%M}"
    how = f"{past.strategy}{by}, {past.duration_ms:,} ms"
    return f"{past.ref}  {when}  {tokens}, {past.messages_removed:,} messages removed or changed ({how})"


def _preview(original: Original) -> str:
    line = f"[{original.id}] {who(original.message):9} {words(original.message)}"
    return crop(line, width_of(sys.stdout) or WIDTH)


def _log(archive: SqlArchive, options: argparse.Namespace) -> int:
    with Progress("listing"):
        stored = {each.id: each for each in archive.log(options.session, limit=options.limit)}
        known = {each.id: each for each in _not_archived(options)} | stored
        found = sorted(known.values(), key=attrgetter("at", "id"), reverse=True)[: options.limit]
    print_answer(options, found, map(_receipt, found))
    return 0 if found else 1


def _not_archived(options: argparse.Namespace) -> list[Receipt]:
    """Return what the hooks noted and the default archive does not have yet."""
    from ..adapters.claude_code.archiving import noted
    from ..adapters.claude_code.store import note_files

    if options.archive:
        return []
    found = (each for path in note_files() for each in noted(path))
    return [each for each in found if options.session in (None, each.session)]


def _receipt(found: Receipt) -> str:
    """Return an entry of the log: when, how it ended, what, why, and of which session."""
    head = f"{found.at:%Y-%m-%d %H:%M}  {found.outcome:7}  {found.what}: {found.why}"
    return crop(one_line(f"{head}, {found.ref or found.session}"), width_of(sys.stdout) or WIDTH)


def _search(archive: SqlArchive, options: argparse.Namespace) -> int:
    with Progress("searching"):
        hits = archive.search(" ".join(options.query), session=options.session, limit=options.limit)
    print_answer(options, hits, (f"{hit.ref} [{hit.id}] {hit.role}: {hit.text}" for hit in hits))
    return 0 if hits else 1


def _verify(archive: SqlArchive, options: argparse.Namespace) -> int:
    with Progress("verifying"):
        faults = archive.verify(options.name)
    if faults:
        options.code = 1
        print_answer(options, faults, (f"{fault.where}: {fault.what}" for fault in faults))
        print_note("the data named above is damaged; restore a backup of the archive, or forget these sessions")
        return 1
    print_answer(options, [], [f"no damage found: {archive.totals(options.name).compactions:,} compactions"])
    return 0


def _export(archive: SqlArchive, options: argparse.Namespace) -> int:
    check_output(options, archive_path(archive_url(options.archive)))
    with Progress("exporting"):
        past = archive.history(options.name, limit=None)
        if not past:
            raise ArchiveError(f"no compaction of a session {options.name!r} in this archive")
        entries = ({**asdict(each), "messages": archive.load(each.ref)} for each in reversed(past))
        text = "".join(f"{json.dumps(entry, default=plain)}\n" for entry in entries)
    write(options.output, text)
    if options.output != "-":
        print_note(f"exported {len(past):,} compactions to {options.output}")
    return 0


def _prune(archive: SqlArchive, options: argparse.Namespace) -> int:
    limits = {"older_than": options.older_than, "keep": options.keep, "max_bytes": options.max_size}
    if options.forget is None and all(limit is None for limit in limits.values()):
        raise ValueError("say what to remove: --older-than, --keep, --max-size or --forget")
    if options.forget is not None and (options.session is not None or any(v is not None for v in limits.values())):
        raise ValueError("--forget removes all of a session: leave out --older-than, --keep, --max-size and --session")
    with Progress("pruning"):
        if options.forget is not None:
            removed = _forget(archive, options)
        else:
            removed = archive.prune(**limits, session=options.session, dry_run=options.dry_run)
    verb = "would remove" if options.dry_run else "removed"
    line = f"{verb} {len(removed.events):,} compactions, {removed.messages:,} messages ({removed.bytes:,} bytes)"
    print_answer(options, {**asdict(removed), "dry_run": options.dry_run}, [line])
    if removed.remains:
        print_note(
            f"removed text is still in {removed.remains}, which another process reads: close it, and prune again"
        )
    return 0


def _forget(archive: SqlArchive, options: argparse.Namespace) -> Pruned:
    """Remove all data of a session; of the default archive, also what the hooks keep of it in files beside that."""
    from ..adapters.claude_code.archiving import log_receipts
    from ..adapters.claude_code.store import files_of, forget_files
    from ..archive.values import Pruned

    files = [] if options.archive else files_of(options.forget)
    if not options.archive and not options.dry_run:
        log_receipts(archive)  # else the next run of a hook would write entries of the session again
        forget_files(options.forget)
    try:
        return archive.forget(options.forget, dry_run=options.dry_run)
    except SessionError:
        if not files:
            raise
        return Pruned((), 0, 0)


def _age(text: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,6})([dhm])", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not an age: write 30d, 12h or 90m")
    return timedelta(**{{"d": "days", "h": "hours", "m": "minutes"}[found[2]]: int(found[1])})


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d{1,12})\s*([KMG]?B)?", text, flags=re.IGNORECASE)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size: write 500MB, 2GB or a number of bytes")
    return int(found[1]) * _UNITS[(found[2] or "").upper()]
