"""Disks that fail, fill up, and flip bits."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from _lane import Lane, record, talk

import trimtab
from trimtab.archive.sqlite import SqliteArchive

MODEL = "claude-sonnet-4-5"


class Faulty:
    """apsw with files that fail at the n-th operation.

    Attributes:
        kind: ``io``, ``full``, ``torn`` (half of a write is done) or ``sync``.
        at: the operation that fails, 0 for none.
        seen: operations so far.
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
        """What is to happen to this operation of a file."""
        fits = operation == "sync" if self.kind == "sync" else operation != "sync" or self.kind == "io"
        if not fits:
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


def faulted(every: int = 1) -> Lane:
    """An I/O error, a full disk, a torn write and a failed fsync at every n-th operation of a compaction."""
    import apsw

    lane, chance = Lane(), random.Random(3)
    messages = talk(chance, 60)
    told = json.dumps(messages)
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "first.db"
        kept = trimtab.Compactor(MODEL, archive=f"sqlite:///{first}", session="s")
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
                for left in folder_of(path):
                    left.unlink()
                faulty = Faulty(kind, at, version)
                done = _under_fault(lane, faulty, path, messages)
                lane.check(json.dumps(messages) == told, f"{kind} {at}: the conversation was changed")
                there = {ref: messages[:41]} | ({done: messages} if done else {})
                _intact(lane, f"{kind} {at}", path, there)
                if not faulty.struck:
                    break
                lane.points += 1
    return lane


def folder_of(path: Path) -> list[Path]:
    """Journals beside a file."""
    return list(path.parent.glob(f"{path.name}-*"))


def _under_fault(lane: Lane, faulty: Faulty, path: Path, messages: list[dict[str, Any]]) -> str | None:
    """A compaction and a search on files that fail; answers the ref that was acknowledged."""
    ref = None
    try:
        archive = SqliteArchive(path, faulty)
    except trimtab.ArchiveError:
        lane.notes["refused to open"] += 1
        return None
    try:
        ref = trimtab.Compactor(MODEL, archive=archive, session="s").compact(messages, target_share=0.4).ref
        archive.search("begin")
        lane.notes["went well"] += faulty.struck
    except trimtab.ArchiveError:
        lane.notes["reported"] += 1
    finally:
        archive.close()
    return ref


def _intact(lane: Lane, where: str, path: Path, there: dict[str, list[dict[str, Any]]]) -> None:
    """Whether the file is whole, with what was there and what was acknowledged."""
    archive = SqliteArchive(path)
    lane.check(not (faults := archive.verify()), f"{where}: {faults[:1]}")
    for ref, messages in there.items():
        lane.check(archive.load(ref) == messages, f"{where}: {ref} was acknowledged, and is lost")
    archive.close()


def filled() -> Lane | None:
    """A really full disk, the standard library: a tmpfs of a megabyte. None where none can be mounted."""
    lane, chance = Lane(), random.Random(4)
    with tempfile.TemporaryDirectory() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            return None
        try:
            archive = SqliteArchive(Path(folder) / "archive.db")
            cm = trimtab.Compactor(MODEL, archive=archive, session="s")
            kept: dict[str, list[dict[str, Any]]] = {}
            while lane.points < 5:
                messages = talk(chance, 60 + 4 * len(kept))
                told = json.dumps(messages)
                try:
                    kept[cm.compact(messages, target_share=0.5).ref or ""] = messages
                except trimtab.ArchiveError as error:
                    lane.points += 1
                    lane.check("full" in str(error) and "free some space" in str(error), f"no advice: {error}")
                lane.check(json.dumps(messages) == told, "the conversation was changed")
            lane.notes["kept"] = len(kept)
            lane.check(not (faults := archive.verify()), f"{faults[:1]}")
            lane.check(all(archive.load(ref) == messages for ref, messages in kept.items()), "a list was lost")
            archive.close()
            again = SqliteArchive(Path(folder) / "archive.db")
            lane.check(again.load(next(iter(kept))) == next(iter(kept.values())), "lost on opening again")
            again.close()
        finally:
            subprocess.run(["umount", folder], check=True)
    return lane


def flipped(bits: int, seed: int = 5) -> Lane:
    """A bit of the file is flipped: what comes back is refused with advice, or is what was stored."""
    lane, chance = Lane(), random.Random(seed)
    lists = {f"r{n}": talk(chance, 30 + 7 * n) for n in range(4)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "archive.db"
        archive = SqliteArchive(path)
        for ref, messages in lists.items():
            archive.commit(archive.store(messages, "s"), record(ref, summary=f"about {ref}"))
        archive.search("begin")
        told = archive.history("s", limit=None)
        archive.close()
        whole = path.read_bytes()
        for _ in range(bits):
            place = chance.randrange(len(whole) * 8)
            data = bytearray(whole)
            data[place // 8] ^= 1 << place % 8
            path.write_bytes(data)
            lane.points += 1
            _flipped(lane, path, lists, told, place)
    return lane


def _flipped(lane: Lane, path: Path, lists: dict[str, Any], told: object, place: int) -> None:
    where = f"bit {place}"
    try:
        archive = SqliteArchive(path)
    except trimtab.ArchiveError as error:
        lane.notes["refused to open"] += 1
        lane.check(
            any(word in str(error) for word in ("damaged", "another program", "update trimtab")), f"{where}: {error}"
        )
        return
    try:
        clean = not archive.verify()
    except trimtab.ArchiveError:
        clean = False
    for ref, messages in lists.items():
        try:
            lane.check(archive.load(ref) == messages, f"{where}: {ref} came back changed")
        except trimtab.ArchiveError:
            lane.notes["refused"] += 1
            lane.check(not clean, f"{where}: verify saw nothing")
    try:
        lane.check(archive.history("s", limit=None) == told or not clean, f"{where}: history changed unseen")
    except (trimtab.ArchiveError, ValueError, TypeError) as error:
        lane.check(isinstance(error, trimtab.ArchiveError) and not clean, f"{where}: {error!r}")
    lane.notes["intact" if clean else "found by verify"] += 1
    archive.close()
