"""Costs beside the turns of ``bench-loop``: objects, memory, plans, summaries, stores, new threads, commands."""

from __future__ import annotations

import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import tracemalloc
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import _corpora
import _loop_lists
import _rivals
from _loop_row import TRIMTAB, Row, one, spent

import trimtab
from trimtab.archive import open_archive
from trimtab.summarize.offline import offline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MODEL = "claude-sonnet-4-5"
CHARACTERS = 4_000
"""Length of the text that a new thread counts."""


def resident() -> float:
    """Return the resident memory of this process in kilobytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1_000


def held(make: Callable[[int], object], number: int) -> tuple[float, float]:
    """Return the kilobytes of Python's objects, and of the process, that ``number`` values hold."""
    gc.collect()
    before = resident()
    tracemalloc.start()
    kept = [make(n) for n in range(number)]
    gc.collect()
    traced = tracemalloc.get_traced_memory()[0] / 1_000
    tracemalloc.stop()
    grown = resident() - before
    assert kept
    return traced, grown


def object_rows(scale: int) -> Iterator[Row]:
    """Yield the rows of Compactors and sessions."""
    cm = trimtab.Compactor(MODEL)
    cm.session("warm").fit(_loop_lists.short(200))

    def each(make: Callable[[], object], calls: int = 200) -> float:
        return 1e6 * spent(lambda: [make() for _ in range(calls)]) / calls

    yield one("`Compactor(model)`", "us", lambda: each(lambda: trimtab.Compactor(MODEL)), 100)
    yield one("`cm.session(id)`", "us", lambda: each(lambda: cm.session("a")))
    yield one("`Compactor(model)`, memory", "KB", lambda: held(lambda _: trimtab.Compactor(MODEL), 200)[0] / 200, 30, 3)
    sessions = 1_000 // scale

    def memory() -> float:
        """Ask a new process: memory that earlier rows gave back would hide what the sessions need."""
        code = f"import _loop_costs; print(_loop_costs.sessions_held({sessions}))"
        here = Path(__file__).parent
        told = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=True)
        return float(told.stdout)

    yield one(f"{sessions:,} sessions of 200 messages, memory", "GB", memory, 0.15 / scale, rounds=1)


def sessions_held(sessions: int) -> float:
    """Return the gigabytes of the process that sessions hold after ``fit`` of 200 messages each, without these."""
    cm = trimtab.Compactor(MODEL)
    cm.session("warm").fit(_loop_lists.short(200))
    lists = [[_loop_lists.string(said) for said in _loop_lists.said(200 * n, 200)] for n in range(sessions)]

    def session(n: int) -> object:
        made = cm.session(f"session {n}")
        made.fit(lists[n])
        return made

    return held(session, sessions)[1] / 1e6


def list_rows(scale: int) -> Iterator[Row]:
    """Yield the rows of a plan and a store of 1,000,000 messages, and of a summary of 5,000 long ones."""
    length = 1_000_000 // scale
    messages = _loop_lists.short(length)
    cm = trimtab.Compactor("gpt-5.5")
    cm.plan(messages)
    yield one(
        f"plan of {length:,} messages that were read before",
        "ms",
        lambda: 1000 * spent(lambda: cm.plan(messages)),
        120 / scale,
        5,
    )
    for name, goal in (("memory", 5.0 / scale), ("SQLite", None)):
        yield one(f"store of {length:,} messages in {name}", "s", partial(store, name, messages), goal, rounds=2)
    zone = tuple(_loop_lists.long(5_000 // scale, _loop_lists.string))
    ask = trimtab.summarize.Ask(
        messages=zone, provider="anthropic", max_tokens=4_000, count=trimtab.Counter("o200k_base").count
    )
    name = f"offline summary of {len(zone):,} messages of 700 bytes"
    yield one(name, "ms", lambda: 1000 * spent(lambda: offline(ask)), 300 / scale, rounds=5)


def store(name: str, messages: list[Any]) -> float:
    """Return the seconds of a store in a new archive."""
    with tempfile.TemporaryDirectory() as folder:
        archive = open_archive("memory" if name == "memory" else f"sqlite:///{folder}/archive.db")
        took = spent(lambda: archive.store(messages, "session"))
        archive.close()
    return took


def thread_rows(_: int) -> Iterator[Row]:
    """Yield the row of a count in a new thread, whose start and end are part of it."""
    text = "".join(_corpora.corpus("prose"))
    counters: dict[str, Callable[[str], object]] = {TRIMTAB: trimtab.Counter("o200k_base").count}
    with suppress(ImportError):
        import tiktoken

        os.environ["TIKTOKEN_CACHE_DIR"] = str(_rivals.FOLDER / "tiktoken")
        counters["tiktoken, dict"] = tiktoken.get_encoding("o200k_base").encode_ordinary
    places = {name: count() for name in counters}

    def call(name: str) -> float:
        at = CHARACTERS * next(places[name]) % (len(text) - CHARACTERS)
        piece = text[at : at + CHARACTERS]

        def run() -> None:
            thread = threading.Thread(target=counters[name], args=(piece,))
            thread.start()
            thread.join()

        return 1e6 * spent(run)

    yield Row("a call in a new thread, 4,000 characters", "us", {name: partial(call, name) for name in counters}, 150)


def command_rows(scale: int) -> Iterator[Row]:
    """Yield the rows of ``trimtab count``."""
    folder, warm = tempfile.TemporaryDirectory(prefix="trimtab-bench-"), set[Path]()
    small, large = Path(folder.name) / "small.json", Path(folder.name) / "session.jsonl"
    small.write_text(json.dumps([{"role": "user", "content": "hello"}]))
    _loop_lists.claude_code(large, 21_000 // scale)

    # A user's second command finds the bytecode of the first.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def command(path: Path) -> float:
        assert folder  # it is deleted with the last row that needs it
        words = [sys.executable, "-m", "trimtab", "count", str(path)]
        if path not in warm:
            warm.add(path)
            subprocess.run(words, capture_output=True, check=True, env=environment)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(words, capture_output=True, check=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    yield one("`trimtab count` of a small file", "s", partial(command, small), 0.12, rounds=7)
    size = large.stat().st_size / 1e6
    yield one(f"`trimtab count` of a Claude Code session of {size:.1f} MB", "s", partial(command, large), 0.5, rounds=3)
