"""The process that renders chat templates, and what its answers mean."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Lock, Timer
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast
from weakref import finalize

from ..errors import CountError

if TYPE_CHECKING:
    from collections.abc import Mapping

PATIENCE, PATIENCE_A_MEGABYTE = 30.0, 10.0
"""Seconds after which the process is ended from here, whatever it does: in all, and for each megabyte of a request.
Long, because a busy machine is no fault of a template: where the system can, it limits the time on a processor."""

Parts: TypeAlias = "list[tuple[int, str]]"
"""A prompt as texts, each with the position of its message: -1 in front of all, their number behind them."""


class Renderer:
    """A process that renders one request at a time; started with the first, and anew after one that ended it."""

    def __init__(self) -> None:
        """Start nothing."""
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ending: Any = None

    def forget(self) -> None:
        """Leave the process to the parent of a fork: another thread may have held the lock."""
        self._lock, self._process, self._ending = Lock(), None, None

    def render(self, source: str, values: Mapping[str, Any]) -> Parts:
        """Return the prompt that a template makes of its values.

        Raises:
            CountError: JSON cannot hold the values, or the template cannot be read, refuses these messages, or takes
                too much time or memory; or the process cannot be started.
            ImportError: the extra ``open`` is not installed.
        """
        try:
            text = json.dumps([source, values], ensure_ascii=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise CountError(f"JSON cannot hold what it is given: {error}") from None
        line = text.encode("utf-8", "surrogatepass") + b"\n"
        with self._lock:
            found = self._asked(line) or self._asked(line) or {"error": "its process ends without an answer"}
            if "limit" in found:
                self._end()
        if "parts" not in found:
            raise CountError(_LIMITS.get(found.get("limit", ""), "") or str(found.get("error")))
        return [(place, text) for place, text in found["parts"]]

    def _asked(self, line: bytes) -> dict[str, Any]:
        """Return the answer to a request; nothing if the process was ended by somebody else."""
        process, is_late = self._started(), Event()

        def end() -> None:
            is_late.set()
            process.kill()

        timer = Timer(PATIENCE + PATIENCE_A_MEGABYTE * len(line) / (1 << 20), end)
        timer.daemon = True
        timer.start()
        stdin, stdout = cast("BinaryIO", process.stdin), cast("BinaryIO", process.stdout)
        try:
            with suppress(OSError):  # it has ended: it gives no answer
                stdin.write(line)
                stdin.flush()
            answer = stdout.readline()
        except BaseException:  # Ctrl-C: the answer that is still to come belongs to nobody
            self._end()
            raise
        finally:
            timer.cancel()
        if answer.endswith(b"\n"):
            found: dict[str, Any] = json.loads(answer.decode("utf-8", "surrogatepass"))
            return found
        return {"limit": "time"} if self._end() in _TIMES_OUT or is_late.is_set() else {}

    def _started(self) -> subprocess.Popen[bytes]:
        """Return the process.

        Raises:
            CountError: it cannot be started.
            ImportError: the extra ``open`` is not installed.
        """
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
        found = [find_spec(name) for name in ("jinja2", "markupsafe")]
        if None in found:
            raise ImportError("chat templates need the extra: pip install 'trimtab[open]'")
        # Isolated from the caller's folder and environment; the places of Jinja and of what it needs are named.
        folders = [str(Path(str(spec.origin)).parents[1]) for spec in found if spec]
        program = (
            f"import sys; sys.path += {folders!r}; import runpy; runpy.run_path({_PROGRAM!r}, run_name='__main__')"
        )
        try:
            self._process = process = subprocess.Popen(  # noqa: S603 - this Python, and our own program
                [sys.executable, "-I", "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the caller
            )
        except OSError as error:
            raise CountError(f"its process cannot be started: {error}") from None
        self._ending = finalize(self, _close, process, os.getpid())
        return process

    def _end(self) -> int | None:
        """Let go of the process; return its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        self._ending.detach()
        _close(process, os.getpid())
        return process.returncode


def _close(process: subprocess.Popen[bytes], owner: int) -> None:
    """End a process, which has nothing to lose, unless it is a parent's."""
    if owner != os.getpid():
        return
    if process.poll() is None:
        process.kill()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            cast("BinaryIO", pipe).close()
    process.wait()


_PROGRAM = str(Path(__file__).with_name("sandbox.py"))
_LIMITS = {
    "time": "it takes too much time",
    "MemoryError": "it takes too much memory",
    "RecursionError": "it is nested too deeply",
}
_TIMES_OUT = {-27}
"""Exit codes of a process that the system's timer ended."""

RENDERER = Renderer()
"""The renderer of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=RENDERER.forget)
