"""Puts the copies of sessions into the archive, one process at a time."""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..._log import log
from ...archive import Receipt, Record, SqlArchive, open_archive
from ...archive.names import check_name, given_name
from ...counting.counter import Counter, scan
from ...errors import ArchiveError, Error
from ...formats import read
from .given import facts
from .store import (
    MAX_AGE_DAYS,
    MAX_BYTES,
    expire,
    folder,
    note,
    notes_in,
    session_file,
    take_notes,
    waiting,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...messages.types import Transcript

STRATEGY = "copy"
"""``Record.strategy`` of a session that was archived before its agent compacted it: the list is as it was."""


def archive_copies(url: str) -> int:
    """Archive the copies that wait; return how many. Another process that does it already is left alone.

    A copy that cannot be read as a session is removed, with a warning in the log: its session file still exists. One
    that fails in another way stays, is told in the archive's log, and stops no other.

    Raises:
        ArchiveError: the archive cannot be opened, or a copy cannot be stored; these copies stay.
    """
    done, failed = 0, dict[str, Exception]()
    while copies := [path for path in waiting() if path not in failed]:
        with _alone() as is_alone:
            if not is_alone:
                return done
            with cast("SqlArchive", open_archive(url)) as archive:
                for path in copies:
                    try:
                        done += _archive(archive, Path(path))
                    except Exception as error:  # noqa: BLE001 - whatever fails for one session is no matter of others
                        failed[path] = error
                        _tell(path, error)
                log_receipts(archive)
                _retain(archive)
            expire()
    for path, why in failed.items():
        raise ArchiveError(f"{len(failed):,} copies are not archived, such as {Path(path).name}: {why}") from why
    return done


def _tell(path: str, error: Exception) -> None:
    """Tell that a copy is not archived, in the log of its session."""
    name = type(error).__name__
    log.warning("%s is not archived: %s", Path(path).name, name)
    with suppress(OSError, ValueError, LookupError, TypeError, RecursionError), Path(path).open("rb") as file:
        note(json.loads(file.readline())["session_id"], "hook archive", "failed", name)


@contextmanager
def _alone() -> Iterator[bool]:
    """Hold the lock of the folder; yield False if another process has it."""
    try:
        import fcntl
    except ImportError:  # Windows: two processes store the same messages once
        yield True
        return
    with Path(folder(), "lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


def _archive(archive: SqlArchive, path: Path) -> bool:
    """Archive one copy; return whether it was a session."""
    head, _, lines = path.read_bytes().partition(b"\n")
    try:
        session = _name(json.loads(head)["session_id"])
        transcript = read(lines, whole=True)
    except (Error, ValueError, KeyError, TypeError, RecursionError) as error:
        log.warning("%s is not archived: %s", path.name, type(error).__name__)
        path.unlink(missing_ok=True)
        return False
    stored = archive.store(transcript.messages, session)
    ref = hashlib.sha256("\0".join([STRATEGY, session, *stored.digests]).encode()).hexdigest()[:20]
    tokens = transcript.usage[-1].prompt if transcript.usage else _counted(transcript)
    every = tuple(range(len(transcript.messages)))
    archive.commit(stored, Record(ref, STRATEGY, tokens, tokens, plan="{}", preserved=every, exclusive=False))
    found: dict[str, Any] = {**facts(lines.splitlines()), "session_id": session, "ref": ref}
    found["pins"] = [value for kind, value in archive.pins(session) if kind == "text"]
    write(session_file(session), json.dumps(found).encode())
    path.unlink(missing_ok=True)
    return True


def _counted(found: Transcript) -> int:
    """Return the tokens of the messages of a session without a billed call; 0 where its model cannot be read."""
    try:
        counter = Counter.for_model(found.model or "claude-sonnet-5-5")
        return scan(found.messages, counter, found.provider).total
    except (Error, OSError, ValueError, ImportError):
        return 0


def log_receipts(archive: SqlArchive) -> None:
    """Put what the hooks noted into the archive's log."""
    for path in take_notes():
        archive.note([*noted(path)])
        Path(path).unlink(missing_ok=True)


def noted(path: str) -> Iterator[Receipt]:
    """Yield what the hooks noted in a file."""
    for found in notes_in(path):
        with suppress(ValueError):
            at = datetime.fromtimestamp(found["at"], UTC)
            what, outcome, why = (found[name] for name in ("what", "outcome", "why"))
            yield Receipt(_name(found["session"]), what, outcome, why, at, id=found["id"])


def _name(session: object) -> str:
    """Return the name of a session in the archive.

    Raises:
        ValueError: it cannot be a name.
    """
    return given_name(check_name(cast("str", session)))


def _retain(archive: SqlArchive) -> None:
    """Remove what the hooks archived over 30 days ago, and the oldest of it beyond 1 GB; nothing of others.

    Which sessions these are, the archive knows: the hooks' own files may have expired before. What others keep in the
    archive counts for nothing, and the newest copy stays whatever its size.
    """
    archive.prune_log(older_than=timedelta(days=MAX_AGE_DAYS), what="hook ")
    for session in archive.sizes(STRATEGY):
        archive.prune(older_than=timedelta(days=MAX_AGE_DAYS), session=session)
    sizes = archive.sizes(STRATEGY)
    held = sum(sizes.values())
    for number, (session, size) in enumerate(sizes.items(), 1):
        if held <= MAX_BYTES:
            break
        archive.prune(keep=int(number == len(sizes)), session=session)
        held -= size
