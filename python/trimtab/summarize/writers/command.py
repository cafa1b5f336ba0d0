"""A program as a summarizer: the prompt on its stdin, the summary on its stdout."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, cast

from ...errors import SummaryError
from ..attempts import Limits
from ..faults import NoMessageError
from ..prompt import render
from ..text import clean
from ..write import Threaded

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence

    from ..ask import Ask

MOST = 4 << 20
"""Bytes of an answer that are read: far more than any summary has."""

TRY_AGAIN = 75
"""The exit code by which a program says that another try may go better (EX_TEMPFAIL of sysexits.h)."""


@dataclass(frozen=True, slots=True)
class Command:
    """A summarizer that a program writes. No shell comes between: the words are its arguments as they stand.

    Attributes:
        words: the program and its arguments.
        limits: how long and how often it is run; past the deadline it is killed with all that it started.
        window: tokens that it takes at once, those of the transcript's model where None; a zone with more is asked for
            in parts.
    """

    words: tuple[str, ...]
    limits: Limits = field(default_factory=Limits)
    window: int | None = None

    def __init__(self, words: Sequence[str], limits: Limits | None = None, window: int | None = None) -> None:
        """Takes any list of words; refuses one without a program."""
        if isinstance(words, str) or not all(isinstance(word, str) for word in words):
            msg = f"a command is a list of words, got {words!r}"
            raise TypeError(msg)
        if not words or not words[0]:
            msg = "a command needs at least the name of a program"
            raise ValueError(msg)
        object.__setattr__(self, "words", tuple(words))
        object.__setattr__(self, "limits", limits or Limits())
        object.__setattr__(self, "window", window)

    @property
    def name(self) -> str:
        """What results and events call it."""
        return f"cmd:{os.path.basename(self.words[0])}"  # noqa: PTH119 - arguments may hold a secret

    def session(self) -> _Runs:
        """For plain callers."""
        return _Runs(self.words)

    def asession(self) -> Threaded:
        """For a running event loop."""
        return Threaded(_Runs(self.words))


class _Runs:
    """Runs of one program; at most one at a time."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = words
        self._running: subprocess.Popen[bytes] | None = None
        self._closed = False

    def call(self, ask: Ask, _: float | None, /) -> str:
        from subprocess import PIPE, Popen  # noqa: PLC0415 - not paid by those who run none

        if self._closed:
            raise TimeoutError  # nobody waits for it any more: nothing is run
        prompt = render(ask).text.encode()
        try:
            process = Popen(self._words, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True)  # noqa: S603
        except OSError as error:
            raise SummaryError(f"cannot run {self._words[0]}: {error.strerror or error}") from error
        self._running = process
        if self._closed:
            _kill(process)
        out, complaint = _exchange(process, prompt)
        code = process.wait()
        self._running = None
        if len(out) > MOST:
            raise SummaryError(f"it wrote more than {MOST >> 20} MB")
        if code:
            reason = f"exit code {code}" if code > 0 else f"killed by signal {-code}"
            detail = clean(complaint, 200)
            kind = NoMessageError if code == TRY_AGAIN else SummaryError
            raise kind(f"{reason}{f' ({detail})' if detail else ''}")
        return out.decode("utf-8", "replace")

    def close(self) -> None:
        """Kills what is still running, with all that it started."""
        self._closed = True
        if process := self._running:
            _kill(process)


def _exchange(process: subprocess.Popen[bytes], prompt: bytes) -> tuple[bytes, str]:
    """What the program wrote to stdout, and the end of what it wrote to stderr, while it was fed."""
    from threading import Thread  # noqa: PLC0415

    tail: list[bytes] = [b""]
    feeds = Thread(target=_feed, args=(process.stdin, prompt), daemon=True)
    reads = Thread(target=_last, args=(process.stderr, tail), daemon=True)
    feeds.start()
    reads.start()
    with cast("IO[bytes]", process.stdout) as stdout:
        out = stdout.read(MOST + 1)
    if len(out) > MOST:
        _kill(process)
    _ended(process)
    _kill(process)  # what it left running in the background goes too
    reads.join(timeout=1)
    feeds.join(timeout=1)
    return out, tail[0].decode("utf-8", "replace")


def _feed(stdin: IO[bytes], prompt: bytes) -> None:
    try:
        with stdin:
            stdin.write(prompt)
    except OSError:
        pass  # it did not want to read all of it


def _last(stderr: IO[bytes], tail: list[bytes]) -> None:
    with stderr:
        while some := stderr.read1(1 << 16):  # type: ignore[attr-defined]
            tail[0] = (tail[0] + some)[-2_000:]


def _ended(process: subprocess.Popen[bytes]) -> None:
    """Waits for the program's end without taking its exit code: until then its number is not given to another."""
    if hasattr(os, "waitid"):
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    else:
        process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is not None:
        return
    try:
        if hasattr(os, "killpg"):
            import signal  # noqa: PLC0415

            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):
        pass  # it is gone
