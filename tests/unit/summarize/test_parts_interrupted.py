"""Ctrl-C while the parts of a large zone are begun: what runs already is ended."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import trimtab
from support.models import GPT
from support.transcripts import transcript
from trimtab.summarize import Limits, write

MESSAGES = transcript(" ".join("u:200 a:200" for _ in range(40)))


class Waiting:
    """A summarizer whose calls wait until their session is closed."""

    name, window, limits = "waiting", 5_000, Limits()

    def __init__(self) -> None:
        self.asked, self.closed = threading.Event(), []

    def session(self) -> Any:
        return Session(self)


class Session:
    def __init__(self, writer: Waiting) -> None:
        self.writer, self.is_closed = writer, threading.Event()

    def call(self, *_: object) -> str:
        self.writer.asked.set()
        assert self.is_closed.wait(20)
        raise TimeoutError

    def close(self) -> None:
        if not self.is_closed.is_set():
            self.writer.closed.append(self)
        self.is_closed.set()


def test_parts_that_were_begun_are_ended_if_the_next_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    writer, begin, begun = Waiting(), write.on_thread, []

    def interrupted(work: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            return begin(work)  # a part's own call
        if len(begun) == 2:
            assert writer.asked.wait(20)
            raise KeyboardInterrupt
        begun.append(begin(work))
        return begun[-1]

    monkeypatch.setattr(write, "on_thread", interrupted)
    asks: list[trimtab.summarize.Ask] = []
    trimtab.Compactor(GPT, summarizer=lambda ask: asks.append(ask) or "a summary").compact(MESSAGES, target_share=0.2)
    begun.clear()
    with pytest.raises(KeyboardInterrupt):
        write.write_all([asks[0]] * 4, writer, 4)
    assert writer.closed
    assert all(isinstance(future.result(20)[1], Exception) for future in begun)
