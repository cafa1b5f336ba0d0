"""The process that renders chat templates, and what its answers mean."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Timer
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
        self._owner = 0

    def render(self, source: str, values: Mapping[str, Any]) -> Parts:
        """Return the prompt that a template makes of its values.

        Raises:
            CountError: the template cannot be read, refuses these messages, or takes too much time or memory.
            ImportError: the extra ``open`` is not installed.
        """
        line = json.dumps([source, values], ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        with self._lock:
            answer, why = self._asked(line)
            found: dict[str, Any] = {"error": why}
            if answer:
                found = json.loads(answer.decode("utf-8", "surrogatepass"))
            if "limit" in found:
                self._end()
        if "parts" not in found:
            raise CountError(_LIMITS.get(found.get("limit", ""), "") or str(found.get("error")))
        return [(place, text) for place, text in found["parts"]]

    def _asked(self, line: bytes) -> tuple[bytes, str]:
        """Return the answer to a request, or nothing and why there is none."""
        process = self._started()
        stdin, stdout = cast("BinaryIO", process.stdin), cast("BinaryIO", process.stdout)
        timer = Timer(PATIENCE + PATIENCE_A_MEGABYTE * len(line) / (1 << 20), process.kill)
        timer.daemon = True
        timer.start()
        try:
            with suppress(OSError):  # it has ended: it gives no answer
                stdin.write(line)
                stdin.flush()
            answer = stdout.readline()
        except BaseException:  # Ctrl-C: the answer that is still to come belongs to nobody
            process.kill()
            self._end()
            raise
        finally:
            timer.cancel()
        if answer.endswith(b"\n"):
            return answer, ""
        code = self._end()
        return b"", "it takes too much time" if code in _TIMES_OUT else f"its process ended with exit code {code}"

    def _started(self) -> subprocess.Popen[bytes]:
        """Return the process; a forked child gets one of its own."""
        process = self._process
        if process is not None and self._owner == os.getpid() and process.poll() is None:
            return process
        if (jinja := find_spec("jinja2")) is None:
            raise ImportError("chat templates need the extra: pip install 'trimtab[open]'")
        # Isolated from the caller's folder and environment; the place of Jinja and of what it needs is named.
        folder = str(Path(str(jinja.origin)).parents[1])
        program = (
            f"import sys; sys.path.append({folder!r}); import runpy; runpy.run_path({_PROGRAM!r}, run_name='__main__')"
        )
        self._process = process = subprocess.Popen(  # noqa: S603 - this Python, and our own program
            [sys.executable, "-I", "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the caller
        )
        self._owner = os.getpid()
        finalize(self, _close, process, self._owner)
        return process

    def _end(self) -> int | None:
        """Let go of the process; return its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        _close(process, self._owner)
        return process.returncode


def _close(process: subprocess.Popen[bytes], owner: int) -> None:
    """End a process by its stdin, unless it is a parent's."""
    if owner != os.getpid():
        return
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            cast("BinaryIO", pipe).close()
    process.wait()


_PROGRAM = str(Path(__file__).with_name("sandbox.py"))
_LIMITS = {"MemoryError": "it takes too much memory", "RecursionError": "it is nested too deeply"}
_TIMES_OUT = {-9, -27, 1}
"""Exit codes of a process that was ended for its time: here, by the system's timer, on Windows."""

RENDERER = Renderer()
"""The renderer of this process."""
