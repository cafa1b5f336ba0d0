"""Progress on stderr for work that takes longer than a second."""

from __future__ import annotations

import _thread
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Self

from .._repr import one_line
from .terminal import crop, width_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

AFTER, EVERY_LINE = 1.0, 10.0
"""Seconds before the first line; seconds between two lines if stderr is no terminal."""


class Progress:
    """Reports progress on stderr after the first second: what is done, how fast, and the time that is left.

    On a terminal, one line is rewritten each second and cleared at the end; otherwise a line is added every 10 seconds.
    A separate thread prints, because the work may be one blocking call. ``_thread`` starts it and plain locks wait for
    it: a Ctrl-C inside ``threading.Thread.start`` or ``Event.wait`` releases a lock that the other thread holds, which
    then prints a traceback.

    Attributes:
        done: bytes read so far, 0 if unknown.
        total: bytes in all, 0 if unknown.
        step: what is being done now, empty if the task says it.
    """

    def __init__(self, task: str, total: int = 0, *, step: str = "") -> None:
        self.task, self.done, self.total, self.step = one_line(task), 0, total, step
        self._file = -1
        self._working, self._printing = threading.Lock(), threading.Lock()

    def __enter__(self) -> Self:
        """Start the clock."""
        self._working.acquire()
        self._printing.acquire()
        _thread.start_new_thread(self._print, ())
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop, and clear the line."""
        self._working.release()
        self._printing.acquire()

    def track(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the chunks, and count their bytes."""
        for chunk in chunks:
            yield chunk
            self.done += len(chunk)

    def follow(self, descriptor: int) -> Self:
        """Take the place that a file's readers have reached for the bytes that are done."""
        self._file, self.total = descriptor, os.fstat(descriptor).st_size
        return self

    def _print(self) -> None:
        try:
            self._print_lines()
        finally:
            self._printing.release()

    def _print_lines(self) -> None:
        started, pause, last = time.monotonic(), AFTER, ""
        on_terminal = sys.stderr.isatty()
        clear, end, every = ("\r\x1b[K", "", AFTER) if on_terminal else ("", "\n", EVERY_LINE)
        while not self._working.acquire(timeout=pause):
            line = self._line(time.monotonic() - started)
            if on_terminal:  # a line that the terminal breaks is not cleared
                line = crop(line, max((width_of(sys.stderr) or 80) - 1, 1))
            print(f"{clear}{line}", end=end, file=sys.stderr, flush=True)
            pause, last = every, clear
        print(last, end="", file=sys.stderr, flush=True)

    def _line(self, seconds: float) -> str:
        done = self._reached()
        if not done:
            step = f": {one_line(self.step)}" if self.step else ""
            return f"{self.task}{step} ({seconds:.0f} s)"
        rate = done / max(seconds, 0.001)
        of, left = "", ""
        if done < self.total:
            of = f" of {self.total / 1e6:,.0f}"
            left = f", {(self.total - done) / rate:,.0f} s left"
        return f"{self.task}: {done / 1e6:,.0f}{of} MB, {rate / 1e6:,.1f} MB/s{left} ({seconds:.0f} s)"

    def _reached(self) -> int:
        """Return the bytes that are done; a file that is read again in parts does not go back."""
        if self._file >= 0:
            try:
                self.done = max(self.done, os.lseek(self._file, 0, os.SEEK_CUR))
            except OSError:  # it is closed, or no file that seeks
                self._file = -1
        return self.done
