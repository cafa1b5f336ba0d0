"""The verb archive: what is kept, what is in it, and what may go."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from ..errors import ArchiveError
from .files import archive_url, existing, write
from .output import answer, say, warn
from .progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..archive import Past, SqlArchive


DESCRIPTION = "What is kept of compacted sessions: look at it, search it, check it, take it along, or let it go."

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The verb's own verbs."""
    parser = verbs.add_parser("archive", help="what is kept, and what may go", description=DESCRIPTION)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=type(parser))

    def action(name: str, run: Callable[[SqlArchive, argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
        made = actions.add_parser(name, help=about, description=f"{about[:1].upper()}{about[1:]}.")
        made.add_argument(
            "--archive", metavar="URL", help="sqlite:///PATH or postgresql://...; default: in the data folder"
        )
        made.add_argument("--json", action="store_true", help="the answer as JSON")
        made.set_defaults(run=_opened(run))
        return made

    action("list", _list, "the sessions, the oldest first")
    show = action("show", _show, "the compactions of a session, or the messages that one took out")
    show.add_argument("name", metavar="NAME", help="a session, or the ref of a compaction")
    search = action("search", _search, "messages with these words, those with all of them first, the newest first")
    search.add_argument("query", metavar="WORDS", nargs="+", help="what stood in the message")
    search.add_argument("--session", metavar="NAME", help="only in this session")
    search.add_argument("--limit", metavar="N", type=int, default=10, help="most messages; default: %(default)s")
    verify = action("verify", _verify, "derive every digest and the hash chain anew; exits with 1 where they break")
    verify.add_argument("name", metavar="SESSION", nargs="?", help="only this session")
    export = action("export", _export, "a session's compactions with all their originals, a JSON line each")
    export.add_argument("name", metavar="SESSION", help="the session")
    export.add_argument("-o", "--output", metavar="OUT", default="-", help="where to; stdout otherwise")
    prune = action("prune", _prune, "remove compactions, the oldest first, but for those whose summary is in use")
    prune.add_argument("--older-than", metavar="AGE", type=_age, help="those of this age, such as 30d or 12h")
    prune.add_argument("--keep", metavar="N", type=int, help="all but the latest N of each session")
    prune.add_argument(
        "--max-size",
        metavar="SIZE",
        type=_size,
        help=("until the file is no larger, such as 500MB; of PostgreSQL, until its messages are no larger as JSON"),
    )
    prune.add_argument("--session", metavar="NAME", help="only those of this session")
    prune.add_argument("--forget", metavar="NAME", help="everything of this session, in use or not")
    prune.add_argument("--dry-run", action="store_true", help="say what would go")


def _opened(run: Callable[[SqlArchive, argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """The action on the archive that its options name."""

    def opened(options: argparse.Namespace) -> int:
        from ..archive import SqlArchive, open_archive

        archive = open_archive(existing(options.archive or archive_url()))
        if not isinstance(archive, SqlArchive):  # an address opens no other
            raise ArchiveError(f"{type(archive).__name__} cannot be looked at")
        try:
            return run(archive, options)
        finally:
            archive.close()

    return opened


def _list(archive: SqlArchive, options: argparse.Namespace) -> int:
    with Progress("listing"):
        sessions, totals = archive.sessions(), archive.totals()
    if options.json:
        answer({"sessions": [_plain(session) for session in sessions], "totals": _plain(totals)})
        return 0
    for session in sessions:
        say(f"{session.id:40} {session.created_at:%Y-%m-%d %H:%M}  {session.events:,} compactions")
    say(f"{len(sessions):,} sessions, {totals.compactions:,} compactions, {totals.tokens_saved:,} tokens saved")
    return 0


def _show(archive: SqlArchive, options: argparse.Namespace) -> int:
    with Progress("looking it up"):
        past = archive.history(options.name, limit=None)
        originals = [] if past else archive.archived(options.name)
    if past:
        if options.json:
            answer([_plain(one) for one in past])
        for one in [] if options.json else past:
            say(_line(one))
        return 0
    if options.json:
        answer([_plain(original) for original in originals])
        return 0
    for original in originals:
        text = json.dumps(original.message, ensure_ascii=False)
        say(f"[{original.id}] {text if len(text) <= 160 else text[:160] + '…'}")
    say(f"{len(originals):,} messages left; all of the list: trimtab restore {options.name}")
    return 0


def _line(past: Past) -> str:
    by = f", by {past.model}" if past.model else ""
    tokens = f"{past.original_tokens:,} -> {past.compacted_tokens:,} tokens"
    when = f"{past.created_at:%Y-%m-%d %H:%M}"
    how = f"{past.strategy}{by}, {past.duration_ms:,} ms"
    return f"{past.ref}  {when}  {tokens}, {past.messages_removed:,} messages ({how})"


def _search(archive: SqlArchive, options: argparse.Namespace) -> int:
    with Progress("searching"):
        hits = archive.search(" ".join(options.query), session=options.session, limit=options.limit)
    if options.json:
        answer([_plain(hit) for hit in hits])
    for hit in [] if options.json else hits:
        say(f"{hit.ref} [{hit.id}] {hit.role}: {hit.text}")
    return 0 if hits else 1


def _verify(archive: SqlArchive, options: argparse.Namespace) -> int:
    with Progress("verifying"):
        faults = archive.verify(options.name)
    if options.json:
        answer([_plain(fault) for fault in faults])
    for fault in [] if options.json else faults:
        say(f"{fault.where}: {fault.what}")
    if faults:
        warn("what is named here is not what was stored; put a copy of the archive back, or let those sessions go")
        return 1
    if not options.json:
        say(f"all is as it was stored: {archive.totals(options.name).compactions:,} compactions")
    return 0


def _export(archive: SqlArchive, options: argparse.Namespace) -> int:
    with Progress("exporting"):
        past = archive.history(options.name, limit=None)
        if not past:
            raise ArchiveError(f"no compaction of a session {options.name!r} in this archive")
        lines = [json.dumps({**_plain(one), "messages": archive.load(one.ref)}) for one in reversed(past)]
    write(options.output, "".join(f"{line}\n" for line in lines))
    if options.output != "-":
        warn(f"exported {len(lines):,} compactions to {options.output}")
    return 0


def _prune(archive: SqlArchive, options: argparse.Namespace) -> int:
    limits = {"older_than": options.older_than, "keep": options.keep, "max_bytes": options.max_size}
    if not options.forget and all(limit is None for limit in limits.values()):
        raise ValueError("say what may go: --older-than, --keep, --max-size or --forget")
    with Progress("pruning"):
        if options.forget:
            gone = archive.forget(options.forget, dry_run=options.dry_run)
        else:
            gone = archive.prune(**limits, session=options.session, dry_run=options.dry_run)
    if options.json:
        answer({**_plain(gone), "dry_run": options.dry_run})
    else:
        what = f"{len(gone.events):,} compactions, {gone.messages:,} messages ({gone.bytes:,} bytes)"
        say(f"would remove {what}" if options.dry_run else f"removed {what}")
    return 0


def _plain(value: Any) -> dict[str, Any]:
    """A value as JSON has it."""
    told = asdict(value)
    return {name: part.isoformat() if isinstance(part, datetime) else part for name, part in told.items()}


def _age(text: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,6})([dhm])", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no age: write 30d, 12h or 90m")
    return timedelta(**{{"d": "days", "h": "hours", "m": "minutes"}[found[2]]: int(found[1])})


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d{1,12})\s*([KMG]?B)?", text, flags=re.IGNORECASE)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: write 500MB, 2GB or a number of bytes")
    return int(found[1]) * _UNITS[(found[2] or "").upper()]
