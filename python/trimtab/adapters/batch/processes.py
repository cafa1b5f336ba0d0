"""Workers as processes of their own: one that ends is replaced, and its part is handed out again.

An engine's own processes are not used: Daft 0.7 waits forever for one that is killed while it starts. Task and parts go
to a worker's stdin as lines of JSON, answers come back on its stdout. A worker ends with its stdin, so none outlives
the job.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from errno import ECHILD
from queue import SimpleQueue
from typing import BinaryIO, TypeAlias, cast
from weakref import finalize

from .task import Task

TRIES = 2
"""How often a part is handed to a worker that ends without an answer."""

GARBAGE = 50_000
"""Objects more than before at which a worker looks for cycles: a session makes thousands, and few are in one."""

Process: TypeAlias = "subprocess.Popen[bytes]"


class Workers:
    """A number of worker processes, started when they are needed; the engine calls it once for each part."""

    def __init__(self, task: Task, number: int) -> None:
        """Take the task; nothing is started."""
        self._task = json.dumps(asdict(task)).encode() + b"\n"
        self._threads = ThreadPoolExecutor(number)
        self._idle: SimpleQueue[Process | None] = SimpleQueue()
        for _ in range(number):
            self._idle.put(None)
        finalize(self, _end_all, self._idle)

    async def __call__(self, part: int, units: str) -> str:
        """Have a worker do a part; return what became of it as JSON."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._done, part, units)

    def _done(self, part: int, units: str) -> str:
        for _ in range(TRIES):
            worker = self._idle.get() or self._started()
            answer = _asked(worker, part, units)
            if answer:
                self._idle.put(worker)
                return answer.decode()
            worker.kill()
            _ended(worker)
            self._idle.put(None)
        why = f"a worker ended {TRIES} times before its part was done (exit code {worker.returncode})"
        first = [unit[0] for unit in json.loads(units)[:1]]
        return json.dumps({"part": part, "error": [ECHILD, why, *first]})

    def _started(self) -> Process:
        """Return a new worker that has the task, and imports what this process would."""
        # By itself it would look in the current folder first, where a file queue.py may lie beside the sessions.
        program = f"import sys; sys.path[:] = {sys.path!a}; from {__name__} import main; main()"
        command = [sys.executable, "-c", program]
        worker = subprocess.Popen(  # noqa: S603 - this Python
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"OPENBLAS_NUM_THREADS": "1", **os.environ},  # numpy would start threads, which nothing here uses
            process_group=0,  # Ctrl-C is for the job, which ends a worker by its stdin
        )
        _write(worker, self._task)
        return worker


def _asked(worker: Process, part: int, units: str) -> bytes:
    """Return a worker's answer; nothing if it ended."""
    _write(worker, json.dumps([part, units]).encode() + b"\n")
    answer = cast("BinaryIO", worker.stdout).readline()
    return answer if answer.endswith(b"\n") else b""


def _write(worker: Process, line: bytes) -> None:
    """Write a line to a worker, which may have ended: then it gives no answer."""
    stdin = cast("BinaryIO", worker.stdin)
    with suppress(OSError):
        stdin.write(line)
        stdin.flush()


def _end_all(idle: SimpleQueue[Process | None]) -> None:
    """End the workers that wait for a part: all, when the engine lets go of them."""
    while not idle.empty():
        if worker := idle.get():
            _ended(worker)


def _ended(worker: Process) -> None:
    """Close a worker's pipes, and wait for its end."""
    with suppress(OSError):  # of what it did not take
        cast("BinaryIO", worker.stdin).close()
    cast("BinaryIO", worker.stdout).close()
    worker.wait()


def main() -> None:
    """Do the parts that stdin brings."""
    import gc  # noqa: PLC0415 - here, because it is for a process that does nothing else

    from .work import Worker  # noqa: PLC0415 - the job's own process reads no session

    gc.freeze()
    gc.set_threshold(GARBAGE, 20, 20)
    with suppress(BrokenPipeError), os.fdopen(os.dup(1), "wb") as answers:  # the job may be gone
        os.dup2(2, 1)  # what a library prints is no answer
        worker = Worker(Task(**json.loads(sys.stdin.buffer.readline())))
        for line in sys.stdin.buffer:
            answers.write(worker(*json.loads(line)).encode() + b"\n")
            answers.flush()
