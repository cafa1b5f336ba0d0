"""Disk faults under SQLite: failed operations, a full disk, flipped bits."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import trimtab
from faults.outcome import MODEL, Outcome, conversation
from support.archives import record
from trimtab.archive import SqliteArchive


class Faulty:
    """apsw with files that fail at the n-th operation.

    Attributes:
        kind: ``io``, ``full``, ``torn`` (half of a write is done) or ``sync``.
        at: number of the operation that fails, 0 for none.
        seen: operations so far.
        struck: whether it failed.
    """

    def __init__(self, kind: str, at: int, version: tuple[int, ...]) -> None:
        import apsw

        self.kind, self.at, self.seen, self.struck = kind, at, 0, False
        self.error: type[Exception] = apsw.Error
        self.version = version
        self.name = f"faulty-{id(self)}"
        self.vfs = _vfs(self)

    def connect(self, path: str) -> Any:
        import apsw

        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        return apsw.Connection(path, vfs=self.name, flags=flags)

    def strike(self, operation: str) -> str | None:
        """The fault that an operation of a file gets: ``kind``, or None."""
        is_counted = operation == "sync" if self.kind == "sync" else operation != "sync" or self.kind == "io"
        if not is_counted:
            return None
        self.seen += 1
        if self.seen != self.at:
            return None
        self.struck = True
        return self.kind


def _vfs(faulty: Faulty) -> Any:
    import apsw

    class File(apsw.VFSFile):
        def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - apsw's name
            match faulty.strike("write"):
                case "io":
                    raise apsw.IOError("disk I/O error")
                case "full":
                    raise apsw.FullError("database or disk is full")
                case "torn":
                    super().xWrite(data[: len(data) // 2], offset)
                    raise apsw.IOError("disk I/O error: torn")
            super().xWrite(data, offset)

        def xSync(self, flags: int) -> None:  # noqa: N802
            if faulty.strike("sync"):
                raise apsw.IOError("fsync failed")
            super().xSync(flags)

        def xTruncate(self, size: int) -> None:  # noqa: N802
            if faulty.strike("truncate"):
                raise apsw.IOError("disk I/O error")
            super().xTruncate(size)

    class Vfs(apsw.VFS):
        def __init__(self) -> None:
            super().__init__(faulty.name, "")

        def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802
            return File("", name, flags)

    return Vfs()


def faulted(every: int = 1) -> Outcome:
    """An I/O error, a full disk, a torn write and a failed fsync at every n-th operation of a compaction."""
    import apsw

    outcome, rng = Outcome(), random.Random(3)
    messages = conversation(rng, 60)
    before = json.dumps(messages)
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "first.db"
        kept = trimtab.Compactor(MODEL, archive=f"sqlite:///{first}").session("s")
        ref = kept.compact(messages[:41], target_share=0.5).ref or ""
        kept.archive.search("begin")  # type: ignore[attr-defined]
        kept.close()
        journals = [(3, 40, 1), tuple(map(int, apsw.sqlite_lib_version().split(".")))]
        for kind, version in itertools.product(("io", "full", "torn", "sync"), journals):
            at = 0
            while True:
                at += every
                path = Path(folder) / "now.db"
                path.write_bytes(first.read_bytes())
                for journal in path.parent.glob(f"{path.name}-*"):
                    journal.unlink()
                faulty = Faulty(kind, at, version)
                done = _under_fault(outcome, faulty, path, messages)
                outcome.check(json.dumps(messages) == before, f"{kind} {at}: the conversation was changed")
                expected = {ref: messages[:41]} | ({done: messages} if done else {})
                _intact(outcome, f"{kind} {at}", path, expected)
                if not faulty.struck:
                    break
                outcome.cases += 1
    return outcome


def _under_fault(outcome: Outcome, faulty: Faulty, path: Path, messages: list[dict[str, Any]]) -> str | None:
    """A compaction and a search on files that fail. Returns the ref that was acknowledged, or None."""
    ref = None
    try:
        archive = SqliteArchive(path, faulty)
    except trimtab.ArchiveError:
        outcome.counts["refused to open"] += 1
        return None
    try:
        ref = trimtab.Compactor(MODEL, archive=archive).session("s").compact(messages, target_share=0.4).ref
        archive.search("begin")
        outcome.counts["went well"] += faulty.struck
    except trimtab.ArchiveError:
        outcome.counts["reported"] += 1
    finally:
        archive.close()
    return ref


def _intact(outcome: Outcome, where: str, path: Path, expected: dict[str, list[dict[str, Any]]]) -> None:
    """Checks that the file is whole and holds every acknowledged list."""
    archive = SqliteArchive(path)
    outcome.check(not (faults := archive.verify()), f"{where}: {faults[:1]}")
    for ref, messages in expected.items():
        outcome.check(archive.load(ref) == messages, f"{where}: {ref} was acknowledged, and is lost")
    archive.close()


def filled() -> Outcome | None:
    """A full disk: a tmpfs of a megabyte, through Python's own sqlite3. None where no tmpfs can be mounted."""
    outcome, rng = Outcome(), random.Random(4)
    with tempfile.TemporaryDirectory() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            return None
        try:
            archive = SqliteArchive(Path(folder) / "archive.db")
            cm = trimtab.Compactor(MODEL, archive=archive).session("s")
            kept: dict[str, list[dict[str, Any]]] = {}
            while outcome.cases < 5:
                messages = conversation(rng, 60 + 4 * len(kept))
                before = json.dumps(messages)
                try:
                    kept[cm.compact(messages, target_share=0.5).ref or ""] = messages
                except trimtab.ArchiveError as error:
                    outcome.cases += 1
                    outcome.check("full" in str(error) and "free some space" in str(error), f"no advice: {error}")
                outcome.check(json.dumps(messages) == before, "the conversation was changed")
            outcome.counts["kept"] = len(kept)
            outcome.check(not (faults := archive.verify()), f"{faults[:1]}")
            outcome.check(all(archive.load(ref) == messages for ref, messages in kept.items()), "a list was lost")
            archive.close()
            again = SqliteArchive(Path(folder) / "archive.db")
            outcome.check(again.load(next(iter(kept))) == next(iter(kept.values())), "lost on opening again")
            again.close()
        finally:
            subprocess.run(["umount", folder], check=True)
    return outcome


def flipped(bits: int, seed: int = 5) -> Outcome:
    """A flipped bit of the file: a load gives what was stored, or an error that says what to do."""
    outcome, rng = Outcome(), random.Random(seed)
    lists = {f"r{n}": conversation(rng, 30 + 7 * n) for n in range(4)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "archive.db"
        archive = SqliteArchive(path)
        for ref, messages in lists.items():
            archive.commit(archive.store(messages, "s"), record(ref, summary=f"about {ref}"))
        archive.search("begin")
        before = archive.history("s", limit=None)
        archive.close()
        whole = path.read_bytes()
        for _ in range(bits):
            place = rng.randrange(len(whole) * 8)
            data = bytearray(whole)
            data[place // 8] ^= 1 << place % 8
            path.write_bytes(data)
            outcome.cases += 1
            _flipped(outcome, path, lists, before, place)
    return outcome


def _flipped(outcome: Outcome, path: Path, lists: dict[str, Any], before: object, place: int) -> None:
    where = f"bit {place}"
    try:
        archive = SqliteArchive(path)
    except trimtab.ArchiveError as error:
        outcome.counts["refused to open"] += 1
        outcome.check(
            any(word in str(error) for word in ("damaged", "another program", "update trimtab")), f"{where}: {error}"
        )
        return
    try:
        clean = not archive.verify()
    except trimtab.ArchiveError:
        clean = False
    for ref, messages in lists.items():
        try:
            outcome.check(archive.load(ref) == messages, f"{where}: {ref} came back changed")
        except trimtab.ArchiveError:
            outcome.counts["refused"] += 1
            outcome.check(not clean, f"{where}: verify saw nothing")
    try:
        outcome.check(archive.history("s", limit=None) == before or not clean, f"{where}: history changed unseen")
    except (trimtab.ArchiveError, ValueError, TypeError) as error:
        outcome.check(isinstance(error, trimtab.ArchiveError) and not clean, f"{where}: {error!r}")
    outcome.counts["intact" if clean else "found by verify"] += 1
    archive.close()
