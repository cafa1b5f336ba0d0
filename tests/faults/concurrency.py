"""Concurrent compactions of one session, from several processes and threads."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import trimtab
from faults.outcome import Outcome
from support.archives import record, said

if TYPE_CHECKING:
    from collections.abc import Callable

    from trimtab.archive import SqlArchive

PROCESSES, THREADS = 8, 8
CONFLICT = "!conflict"


def concurrent(open_archive: Callable[[], SqlArchive], compactions: int) -> Outcome:
    """Eight processes, and eight threads of a ninth, compact one session: serialized, or a ``ConflictError``.

    Each writer reports its commits and errors as lines of a pipe; a line of an error begins with ``!``.
    """
    outcome, share = Outcome(), compactions // (PROCESSES + THREADS)
    read_end, write_end = os.pipe()
    children = []
    for number in range(PROCESSES + 1):
        child = os.fork()
        if child == 0:
            names = [f"p{number}"] if number < PROCESSES else [f"t{n}" for n in range(THREADS)]
            _run_process(open_archive, names, share, write_end)
        children.append(child)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        lines = pipe.read().split()
    acknowledged = {line for line in lines if not line.startswith("!")}
    errors = sorted({line for line in lines if line.startswith("!")} - {CONFLICT})
    outcome.counts["conflicts"] = lines.count(CONFLICT)
    outcome.counts["other errors"] = len(lines) - len(acknowledged) - outcome.counts["conflicts"]
    outcome.check(all(os.waitpid(child, 0)[1] == 0 for child in children), f"a process failed {errors[:1]}")
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


def _run_process(open_archive: Callable[[], SqlArchive], names: list[str], share: int, pipe: int) -> None:
    """A child process: a thread for each name. Never returns."""
    code = 1
    try:
        archive = open_archive()
        threads = [threading.Thread(target=_compact, args=(archive, name, share, pipe)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        code = 0
    except trimtab.ArchiveError as error:
        _report(pipe, f"!{error}")
    finally:
        os._exit(code)


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
