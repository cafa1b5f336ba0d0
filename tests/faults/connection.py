"""A connection to PostgreSQL that drops at chosen moments of a commit."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from typing import Any

import trimtab
from faults.outcome import Outcome, numbered
from support.archives import record

DROPS_AT = {"before": b"INSERT INTO compaction_events", "in": b"COMMIT", "after": b"COMMIT"}


class Proxy:
    """A proxy between a client and a server's socket, which closes the connection at a chosen moment.

    Attributes:
        drop: ``before`` (in the middle of a transaction), ``in`` (the commit does not reach the server), ``after``
            (it does, its answer does not reach the client), or None.
        drops: closed connections so far.
    """

    def __init__(self, path: str) -> None:
        self.path, self.drops = path, 0
        self.drop: str | None = None
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
            threading.Thread(target=self._forward_requests, args=(client, server), daemon=True).start()
            threading.Thread(target=self._forward_answers, args=(server, client), daemon=True).start()

    def _forward_requests(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                if self.drop and DROPS_AT[self.drop] in data:
                    if self.drop == "after":
                        self.answered.clear()
                        self.muted = True
                        server.sendall(data)
                        self.answered.wait(10)  # the server has committed; the client is not told
                        self.muted = False
                    self.drop, self.drops = None, self.drops + 1
                    break
                server.sendall(data)
        _close(client, server)

    def _forward_answers(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if self.muted:
                    self.answered.set()
                else:
                    client.sendall(data)
        _close(client, server)

    def close(self) -> None:
        self.listening.close()


def _close(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


def dropped(server: Any, times: int) -> Outcome:
    """The connection drops before, in and after a commit: no compaction is stored twice, none is lost."""
    from trimtab.archive import PostgresArchive

    outcome = Outcome()
    proxy = Proxy(f"{server.folder}/.s.PGSQL.5432")
    url = f"postgresql://tester@127.0.0.1:{proxy.port}/postgres?sslmode=disable&gssencmode=disable"
    archive = PostgresArchive(url, schema=f"cut{os.getpid()}_{times}")
    for number in range(times):
        stored = archive.store(numbered(0, number), "s")
        moment = tuple(DROPS_AT)[number % 3]
        drops, proxy.drop = proxy.drops, moment
        try:
            archive.commit(stored, record(f"c{number}"))
        except trimtab.ArchiveError as error:
            outcome.failures.append(f"{moment}: {error}")
        proxy.drop = None
        outcome.cases += proxy.drops - drops
        outcome.counts[moment] += proxy.drops - drops
    refs = [past.ref for past in archive.history("s", limit=None)]
    outcome.check(sorted(refs) == sorted(f"c{n}" for n in range(times)), f"{len(refs)} compactions of {times}")
    outcome.check(archive.sessions()[0].version == times, "the version is not the number of compactions")
    outcome.check(not (faults := archive.verify()), f"{faults[:1]}")
    archive.close()
    proxy.close()
    return outcome
