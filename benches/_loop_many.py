"""Many conversations on one event loop, and a hook that hands in the whole history, for ``bench-loop``."""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from itertools import chain
from typing import TYPE_CHECKING, Any

import _loop_lists
import _transcripts
from _loop_row import Row, one

import trimtab

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator, Iterator

    from _loop_lists import Message

TICK = 0.002
"""Seconds between two looks at how late the loop is."""
TURNS = 8


class Timed:
    """A coroutine whose steps on the loop are timed."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], steps: list[float]) -> None:
        self.coroutine, self.steps = coroutine, steps

    def __await__(self) -> Generator[Any, Any, Any]:
        waited = self.coroutine.__await__()
        answer = None
        while True:
            start = time.thread_time_ns()
            try:
                asked = waited.send(answer)
            except StopIteration as done:
                return done.value
            finally:
                self.steps.append((time.thread_time_ns() - start) / 1e6)
            answer = yield asked


class Crowd:
    """Sessions that take turns on one event loop; half of them compact once, by the offline summary."""

    def __init__(self, sessions: int) -> None:
        self.sessions, self.waits = sessions, []

    def step(self) -> float:
        """Return the 99th percentile of the milliseconds of CPU time of our steps on the loop."""
        steps: list[float] = []
        self.waits = []
        asyncio.run(self._run(steps))
        return percentile(steps)

    def wait(self) -> float:
        """Return the 99th percentile of the milliseconds that the loop was late without computing itself."""
        if not self.waits:
            self.step()
        return percentile(self.waits)

    async def _run(self, steps: list[float]) -> None:
        cm = trimtab.Compactor("claude-sonnet-4-5", window=30_000, summarizer="offline")
        rng = random.Random(3)
        watch = asyncio.create_task(self._watch())
        await asyncio.gather(*(self._talk(cm.session(f"s{n}"), n, rng, steps) for n in range(self.sessions)))
        watch.cancel()

    async def _talk(self, session: Any, n: int, rng: random.Random, steps: list[float]) -> None:
        messages = _loop_lists.long(61 + 2 * (n % 20), _loop_lists.block)
        for turn in range(TURNS):
            await asyncio.sleep(rng.random())
            fitted = await Timed(session.afit(messages, system="rules", tools=_loop_lists.TOOLS), steps)
            number = 1_000_000 + 2 * turn
            messages = [*fitted.messages, *map(_loop_lists.block, _loop_lists.said(number + 1, 2))]

    async def _watch(self) -> None:
        while True:
            computed, start = time.thread_time(), time.perf_counter()
            await asyncio.sleep(TICK)
            late = time.perf_counter() - start - TICK
            self.waits.append(1000 * max(late - (time.thread_time() - computed), 0))


def percentile(values: list[float]) -> float:
    """Return the 99th percentile."""
    return statistics.quantiles(values, n=100)[-1]


class Agent:
    """An agent of 120 calls; a stateless one hands in the whole history at every call, parsed anew."""

    def __init__(self, *, keeps: bool) -> None:
        self.keeps, self.compactions, self.prompts = keeps, 0, []
        self.session = trimtab.Compactor("claude-sonnet-4-5", window=20_000, summarizer="offline").session("a")
        self.messages: list[Message] = []

    def call(self, new: list[Message]) -> None:
        self.messages = [*self.messages, *new]
        fitted = self.session.fit(json.loads(json.dumps(self.messages)), system="rules")
        self.compactions += fitted.compaction is not None
        self.prompts.append(json.dumps(fitted.messages))
        tokens = self.session.counter.count(self.prompts[-1])
        self.session.record({"input_tokens": tokens, "output_tokens": 30})
        self.messages = list(fitted.messages) if self.keeps else self.messages

    def reuse(self) -> float:
        """Percent of the bytes of all prompts that begin as the prompt before."""
        shared = 0
        for before, now in zip(self.prompts, self.prompts[1:], strict=False):
            same = (at for at, (a, b) in enumerate(zip(before, now, strict=False)) if a != b)
            shared += next(same, min(len(before), len(now)))
        return 100 * shared / sum(map(len, self.prompts))


class Hook:
    """A stateless hook beside a loop that keeps the compacted list."""

    def __init__(self, calls: int) -> None:
        self.calls, self.keeping, self.stateless = calls, Agent(keeps=True), Agent(keeps=False)

    def more(self) -> float:
        """Return the compactions of the stateless hook beyond those of the loop."""
        self.keeping, self.stateless = Agent(keeps=True), Agent(keeps=False)
        new: list[Message] = []
        calls = 0
        for message in chain.from_iterable(_transcripts.runs(self.calls, (4, 60))):
            new.append(message)
            if message["role"] == "user" and calls < self.calls:
                self.keeping.call(new)
                self.stateless.call(new)
                new, calls = [], calls + 1
        return self.stateless.compactions - self.keeping.compactions

    def lost(self) -> float:
        """Return the points of prefix reuse that the stateless hook has less."""
        if not self.keeping.prompts:
            self.more()
        return max(self.keeping.reuse() - self.stateless.reuse(), 0)


def many_rows(scale: int) -> Iterator[Row]:
    """Yield the rows of sessions on one loop, and of a stateless hook."""
    crowd = Crowd(max(200 // scale, 4))
    name = f"{crowd.sessions} asyncio sessions, 99th percentile"
    yield one(f"{name}: a step on the loop", "ms", crowd.step, 5, rounds=3)
    yield one(f"{name}: wait for our threads", "ms", crowd.wait, 20, rounds=3)
    hook = Hook(120 if scale == 1 else 30)
    yield one(f"stateless hook, {hook.calls} calls: compactions beyond a loop's", "", hook.more, 1, rounds=1)
    yield one(f"stateless hook, {hook.calls} calls: prefix reuse below a loop's", "points", hook.lost, 3, rounds=1)
