"""Concurrent compactions of one session, from several processes and threads."""

from __future__ import annotations

import multiprocessing
import os
import threading
from typing import TYPE_CHECKING

import trimtab
from faults.outcome import Outcome
from support.archives import record, said

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from trimtab.archive import SqlArchive

PROCESSES, THREADS = 8, 8
CONFLICT = "!conflict"


def concurrent(open_archive: Callable[[], SqlArchive], compactions: int) -> Outcome:
    """Eight processes, and eight threads of a ninth, compact one session: serialized, or a ``ConflictError``.

    Each writer reports its commits and errors as lines of a pipe; a line of an error begins with ``!``. The processes
    are new ones: a fork of a process that has other threads can stop for good.
    """
    outcome, share = Outcome(), compactions // (PROCESSES + THREADS)
    context, (reader, writer) = multiprocessing.get_context("spawn"), multiprocessing.Pipe(duplex=False)
    children = []
    for number in range(PROCESSES + 1):
        names = [f"p{number}"] if number < PROCESSES else [f"t{n}" for n in range(THREADS)]
        child = context.Process(target=_run_process, args=(open_archive, names, share, writer))
        child.start()
        children.append(child)
    writer.close()
    with os.fdopen(os.dup(reader.fileno())) as pipe:
        lines = pipe.read().split()
    for child in children:
        child.join()
    acknowledged = {line for line in lines if not line.startswith("!")}
    errors = sorted({line for line in lines if line.startswith("!")} - {CONFLICT})
    outcome.counts["conflicts"] = lines.count(CONFLICT)
    outcome.counts["other errors"] = len(lines) - len(acknowledged) - outcome.counts["conflicts"]
    outcome.check(all(child.exitcode == 0 for child in children), f"a process failed {errors[:1]}")
    archive = open_archive()
    stored = [past.ref for past in archive.history("s", limit=None)]
    wanted = (PROCESSES + THREADS) * share
    outcome.cases = len(stored)
    outcome.check(len(stored) == len(set(stored)) == wanted, f"{len(stored)} compactions of {wanted}")
    outcome.check(set(stored) == acknowledged, "the stored compactions are not the acknowledged ones")
    outcome.check(archive.sessions()[0].version == len(stored), "the version is not the number of compactions")
    outcome.check(not (faults := archive.verify()), f"{faults[:1]}")
    archive.close()
    return outcome


def _run_process(open_archive: Callable[[], SqlArchive], names: list[str], share: int, writer: Connection) -> None:
    """A child process: a thread for each name."""
    pipe = writer.fileno()
    try:
        archive = open_archive()
    except trimtab.ArchiveError as error:
        _report(pipe, f"!{error}")
        raise SystemExit(1) from None
    threads = [threading.Thread(target=_compact, args=(archive, name, share, pipe)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _compact(archive: SqlArchive, name: str, share: int, pipe: int) -> None:
    """Commits ``share`` compactions, each retried until it is accepted."""
    for k in range(share):
        ref = f"{name}-{k}"
        while True:
            try:
                archive.commit(archive.store([said("shared"), said(ref)], "s"), record(ref))
            except trimtab.ConflictError:
                _report(pipe, CONFLICT)
            except trimtab.ArchiveError as error:
                _report(pipe, f"!{error}")
            else:
                _report(pipe, ref)
                break


def _report(pipe: int, line: str) -> None:
    """Writes a line in one call, so that lines of other processes do not mix with it."""
    os.write(pipe, line.replace(" ", "_").encode() + b"\n")
