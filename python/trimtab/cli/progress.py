"""Progress on stderr for work that takes longer than a second."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Self

from .terminal import one_line

AFTER, EVERY_LINE = 1.0, 10.0
"""Seconds before the first line; seconds between two lines if stderr is no terminal."""


class Progress:
    """Reports progress on stderr after the first second.

    On a terminal, one line is rewritten each second and cleared at the end; otherwise a line is added every 10 seconds.
    A separate thread prints, because the work may be one blocking call.

    Attributes:
        done: bytes read so far, 0 if unknown.
        total: bytes in all, 0 if unknown.
    """

    def __init__(self, task: str, total: int = 0) -> None:
        self.task, self.done, self.total = one_line(task), 0, total
        self._finished = threading.Event()
        self._thread = threading.Thread(target=self._print, daemon=True)

    def __enter__(self) -> Self:
        """Start the clock."""
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop, and clear the line."""
        self._finished.set()
        self._thread.join()

    def track(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the chunks, and count their bytes."""
        for chunk in chunks:
            yield chunk
            self.done += len(chunk)

    def _print(self) -> None:
        started, pause, last = time.monotonic(), AFTER, ""
        clear, end, every = ("\r\x1b[K", "", AFTER) if sys.stderr.isatty() else ("", "\n", EVERY_LINE)
        while not self._finished.wait(pause):
            print(f"{clear}{self._line(time.monotonic() - started)}", end=end, file=sys.stderr, flush=True)
            pause, last = every, clear
        print(last, end="", file=sys.stderr, flush=True)

    def _line(self, seconds: float) -> str:
        if not self.done:
            return f"{self.task} ({seconds:.0f} s)"
        of = f" of {self.total / 1e6:,.0f}" if self.total else ""
        return f"{self.task}: {self.done / 1e6:,.0f}{of} MB ({seconds:.0f} s)"
