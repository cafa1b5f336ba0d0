"""The verb archive: list, search, verify, export and prune archived sessions."""

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


DESCRIPTION = "List, search, verify, export or remove the archived originals of compacted sessions."

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb and its actions."""
    parser = verbs.add_parser("archive", help="search, verify, export or prune the archive", description=DESCRIPTION)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=type(parser))

    def action(name: str, run: Callable[[SqlArchive, argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
        made = actions.add_parser(name, help=about, description=f"{about[:1].upper()}{about[1:]}.")
        made.add_argument(
            "--archive", metavar="URL", help="sqlite:///PATH or postgresql://...; default: in the data folder"
        )
        made.add_argument("--json", action="store_true", help="print JSON")
        made.set_defaults(run=_with_archive(run))
        return made

    action("list", _list, "list the sessions, oldest first")
    show = action("show", _show, "list the compactions of a session, or the messages that a compaction removed")
    show.add_argument("name", metavar="NAME", help="a session, or the ref of a compaction")
    search = action("search", _search, "find messages by words: messages with all words first, newest first")
    search.add_argument("query", metavar="WORDS", nargs="+", help="words of the message")
    search.add_argument("--session", metavar="NAME", help="only search this session")
    search.add_argument("--limit", metavar="N", type=int, default=10, help="maximum of messages; default: %(default)s")
    verify = action("verify", _verify, "recompute all digests and the hash chain; exit with 1 on a mismatch")
    verify.add_argument("name", metavar="SESSION", nargs="?", help="only this session")
    export = action("export", _export, "write a session's compactions with their originals, one JSON line each")
    export.add_argument("name", metavar="SESSION", help="the session")
    export.add_argument("-o", "--output", metavar="OUT", default="-", help="output file; default: stdout")
    prune = action("prune", _prune, "remove compactions, oldest first, except those whose summary is in use")
    prune.add_argument("--older-than", metavar="AGE", type=_age, help="remove those of this age, such as 30d or 12h")
    prune.add_argument("--keep", metavar="N", type=int, help="remove all but the latest N of each session")
    prune.add_argument(
        "--max-size",
        metavar="SIZE",
        type=_size,
        help="remove until the file has this size, such as 500MB; in PostgreSQL, until the messages as JSON have it",
    )
    prune.add_argument("--session", metavar="NAME", help="only remove compactions of this session")
    prune.add_argument("--forget", metavar="NAME", help="remove all data of this session, even if in use")
    prune.add_argument("--dry-run", action="store_true", help="only print what would be removed")


def _with_archive(run: Callable[[SqlArchive, argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Wrap an action: open the archive that the options name, and close it afterwards."""

    def run_on_archive(options: argparse.Namespace) -> int:
        from ..archive import SqlArchive, open_archive

        archive = open_archive(existing(options.archive or archive_url()))
        assert isinstance(archive, SqlArchive)  # noqa: S101 - every address opens one
        try:
            return run(archive, options)
        finally:
            archive.close()

    return run_on_archive


def _list(archive: SqlArchive, options: argparse.Namespace) -> int:
    with Progress("listing"):
        sessions, totals = archive.sessions(), archive.totals()
    if options.json:
        answer({"sessions": [_to_json(session) for session in sessions], "totals": _to_json(totals)})
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
            answer([_to_json(one) for one in past])
        for one in [] if options.json else past:
            say(_line(one))
        return 0
    if options.json:
        answer([_to_json(original) for original in originals])
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
        answer([_to_json(hit) for hit in hits])
    for hit in [] if options.json else hits:
        say(f"{hit.ref} [{hit.id}] {hit.role}: {hit.text}")
    return 0 if hits else 1


def _verify(archive: SqlArchive, options: argparse.Namespace) -> int:
    with Progress("verifying"):
        faults = archive.verify(options.name)
    if options.json:
        answer([_to_json(fault) for fault in faults])
    for fault in [] if options.json else faults:
        say(f"{fault.where}: {fault.what}")
    if faults:
        warn("the data named above is damaged; restore a backup of the archive, or forget these sessions")
        return 1
    if not options.json:
        say(f"no damage found: {archive.totals(options.name).compactions:,} compactions")
    return 0


def _export(archive: SqlArchive, options: argparse.Namespace) -> int:
    with Progress("exporting"):
        past = archive.history(options.name, limit=None)
        if not past:
            raise ArchiveError(f"no compaction of a session {options.name!r} in this archive")
        lines = [json.dumps({**_to_json(one), "messages": archive.load(one.ref)}) for one in reversed(past)]
    write(options.output, "".join(f"{line}\n" for line in lines))
    if options.output != "-":
        warn(f"exported {len(lines):,} compactions to {options.output}")
    return 0


def _prune(archive: SqlArchive, options: argparse.Namespace) -> int:
    limits = {"older_than": options.older_than, "keep": options.keep, "max_bytes": options.max_size}
    if not options.forget and all(limit is None for limit in limits.values()):
        raise ValueError("say what to remove: --older-than, --keep, --max-size or --forget")
    with Progress("pruning"):
        if options.forget:
            gone = archive.forget(options.forget, dry_run=options.dry_run)
        else:
            gone = archive.prune(**limits, session=options.session, dry_run=options.dry_run)
    if options.json:
        answer({**_to_json(gone), "dry_run": options.dry_run})
    else:
        what = f"{len(gone.events):,} compactions, {gone.messages:,} messages ({gone.bytes:,} bytes)"
        say(f"would remove {what}" if options.dry_run else f"removed {what}")
    return 0


def _to_json(value: Any) -> dict[str, Any]:
    """Return a value's fields in JSON types."""
    return {name: part.isoformat() if isinstance(part, datetime) else part for name, part in asdict(value).items()}


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
