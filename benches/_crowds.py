"""Many at one session, and lines that are cut."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from _lane import Lane, record, round_of, said

import trimtab

if TYPE_CHECKING:
    from collections.abc import Callable

    from trimtab.archive import SqlArchive


def crowded(open_archive: Callable[[], SqlArchive], events: int) -> Lane:
    """Eight processes, and eight threads in another, compact one session: serialised, or a typed conflict."""
    lane, share = Lane(), events // 16
    hear, tell = os.pipe()
    children = []
    for number in range(9):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                archive = open_archive()
                names = [f"p{number}"] if number < 8 else [f"t{n}" for n in range(8)]
                threads = [threading.Thread(target=_crowd, args=(archive, name, share, tell)) for name in names]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                code = 0
            except trimtab.ArchiveError as error:
                os.write(tell, f"!{error}".replace(" ", "_").encode() + b"\n")
            finally:
                os._exit(code)
        children.append(child)
    os.close(tell)
    heard = b""
    while more := os.read(hear, 65536):
        heard += more
    os.close(hear)
    lines = heard.decode().split()
    acknowledged = {line for line in lines if not line.startswith("!")}
    lane.notes["conflicts"] = lines.count("!conflict")
    said_of = {line for line in lines if line.startswith("!") and line != "!conflict"}
    lane.check(all(os.waitpid(child, 0)[1] == 0 for child in children), f"a process failed {sorted(said_of)[:1]}")
    lane.notes["other errors"] = len(lines) - len(acknowledged) - lane.notes["conflicts"]
    archive = open_archive()
    there = [past.ref for past in archive.history("s", limit=None)]
    lane.points = len(there)
    lane.check(len(there) == len(set(there)) == 16 * share, f"{len(there)} events of {16 * share}")
    lane.check(set(there) == acknowledged, "what was acknowledged is not what is there")
    lane.check(archive.sessions()[0].version == len(there), "the version is not the number of compactions")
    lane.check(not (faults := archive.verify()), f"{faults[:1]}")
    archive.close()
    return lane


def _crowd(archive: SqlArchive, name: str, share: int, tell: int) -> None:
    """Compacts so many times; what is refused is tried again."""
    for k in range(share):
        ref = f"{name}-{k}"
        while True:
            try:
                archive.commit(archive.store([said("shared"), said(ref)], "s"), record(ref))
            except trimtab.ConflictError:
                os.write(tell, b"!conflict\n")
            except trimtab.ArchiveError as error:
                os.write(tell, f"!{error}".replace(" ", "_").encode() + b"\n")
            else:
                os.write(tell, ref.encode() + b"\n")
                break


class Proxy:
    """Stands between a client and a server's socket, and cuts the line where it is told to.

    Attributes:
        cut: ``before`` (in the middle of a transaction), ``in`` (the commit does not arrive), ``after`` (it arrives,
            its answer does not), or None.
        cuts: lines that were cut.
    """

    def __init__(self, path: str) -> None:
        self.path, self.cuts = path, 0
        self.cut: str | None = None
        self.muted, self.answered = False, threading.Event()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listening.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.path)
            threading.Thread(target=self._pump, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._pump, args=(server, client, False), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, asks: bool) -> None:  # noqa: FBT001
        try:
            while data := source.recv(65536):
                if asks and self._now(data):
                    if self.cut == "after":
                        self.answered.clear()
                        self.muted = True
                        target.sendall(data)
                        self.answered.wait(10)  # the server has said that it is committed; the client will not hear it
                        self.muted = False
                    self.cut, self.cuts = None, self.cuts + 1
                    break
                if not asks and self.muted:
                    self.answered.set()
                    continue
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _now(self, data: bytes) -> bool:
        where = {"before": b"INSERT INTO compaction_events", "in": b"COMMIT", "after": b"COMMIT"}
        return self.cut is not None and where[self.cut] in data

    def close(self) -> None:
        self.listening.close()


def disconnected(server: Any, times: int) -> Lane:
    """The line is cut before, in and after a commit: no event is doubled, none is lost."""
    from trimtab.archive.postgres import PostgresArchive

    lane = Lane()
    proxy = Proxy(f"{server.folder}/.s.PGSQL.5432")
    url = f"postgresql://tester@127.0.0.1:{proxy.port}/postgres?sslmode=disable&gssencmode=disable"
    archive = PostgresArchive(url, schema=f"cut{os.getpid()}_{times}")
    for number in range(times):
        stored = archive.store(round_of(0, number), "s")
        kind = ("before", "in", "after")[number % 3]
        cuts, proxy.cut = proxy.cuts, kind
        try:
            archive.commit(stored, record(f"c{number}"))
        except trimtab.ArchiveError as error:
            lane.faults.append(f"{kind}: {error}")
        proxy.cut = None
        lane.points += proxy.cuts - cuts
        lane.notes[kind] += proxy.cuts - cuts
    refs = [past.ref for past in archive.history("s", limit=None)]
    lane.check(sorted(refs) == sorted(f"c{n}" for n in range(times)), f"{len(refs)} events of {times}")
    lane.check(archive.sessions()[0].version == times, "the version is not the number of compactions")
    lane.check(not (faults := archive.verify()), f"{faults[:1]}")
    archive.close()
    proxy.close()
    return lane
