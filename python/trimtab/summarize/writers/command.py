"""A program as a summarizer: reads the prompt from stdin, writes the summary to stdout."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import IO, TYPE_CHECKING, cast

from ..._mask import mask
from ...errors import NoMessageError, SummaryError
from ..attempts import Limits
from ..prompt import render
from ..text import quote
from ..write import Threaded

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence

    from ..ask import Ask

MOST = 4 << 20
"""Most bytes of an answer, far more than any summary has."""

TRY_AGAIN = 75
"""Exit code of a program whose retry may succeed (EX_TEMPFAIL of sysexits.h)."""


@dataclass(frozen=True, slots=True)
class Command:
    """Summarizes with a program, which is started without a shell.

    Attributes:
        words: the program and its arguments.
        limits: deadline, number of runs and pauses; at the deadline the process group is killed.
        window: most tokens of one request; a larger zone is summarized in parts. None uses the window of the
            transcript's model.
    """

    words: tuple[str, ...]
    limits: Limits = field(default_factory=Limits)
    window: int | None = None

    def __init__(self, words: Sequence[str], limits: Limits | None = None, window: int | None = None) -> None:
        """Take any list of words; reject one without a program."""
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
        """The name in results and events, without arguments."""
        return f"cmd:{os.path.basename(self.words[0])}"  # noqa: PTH119 - arguments may hold a secret

    def session(self) -> _Runs:
        """Return a session with blocking calls."""
        return _Runs(self.words)

    def asession(self) -> Threaded:
        """Return a session for a running event loop."""
        return Threaded(_Runs(self.words))


class _Runs:
    """Runs of one program; at most one at a time."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = words
        self._running: subprocess.Popen[bytes] | None = None
        self._starting, self._closed = Lock(), False

    def call(self, ask: Ask, _: float | None, /) -> str:
        from subprocess import PIPE, Popen  # noqa: PLC0415 - loaded with the first program

        prompt = render(ask).text.encode()
        with self._starting:  # a program that starts while the session is closed would outlive it
            if self._closed:
                raise TimeoutError  # nobody waits for the answer
            try:
                process = Popen(self._words, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True)  # noqa: S603
            except OSError as error:
                raise SummaryError(f"cannot run {self._words[0]}: {error.strerror or error}") from error
            self._running = process
        out, stderr = _exchange(process, prompt)
        code = process.wait()
        self._running = None
        if len(out) > MOST:
            raise SummaryError(f"it wrote more than {MOST >> 20} MB")
        if code:
            reason = f"exit code {code}" if code > 0 else f"killed by signal {-code}"
            detail = quote(mask(stderr)[-2_000:])
            kind = NoMessageError if code == TRY_AGAIN else SummaryError
            raise kind(f"{reason}{f' ({detail})' if detail else ''}")
        return out.decode("utf-8", "replace")

    def close(self) -> None:
        """Kill the process group of a running program."""
        self._closed = True
        with self._starting:
            if process := self._running:
                _kill(process)


def _exchange(process: subprocess.Popen[bytes], prompt: bytes) -> tuple[bytes, str]:
    """Feed the program; return its stdout and the end of its stderr."""
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
    _kill(process)  # and its processes in the background
    reads.join(timeout=1)
    feeds.join(timeout=1)
    return out, tail[0].decode("utf-8", "replace")


def _feed(stdin: IO[bytes], prompt: bytes) -> None:
    try:
        with stdin:
            stdin.write(prompt)
    except OSError:
        pass  # it did not read all of the prompt


def _last(stderr: IO[bytes], tail: list[bytes]) -> None:
    with stderr:
        while some := stderr.read1(1 << 16):  # type: ignore[attr-defined]
            tail[0] = (tail[0] + some)[-8_000:]  # more than is shown: half a key cannot be masked


def _ended(process: subprocess.Popen[bytes]) -> None:
    """Wait for the program's end without reaping it: its process id is not reused before the group is killed."""
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
        pass  # the process has ended
