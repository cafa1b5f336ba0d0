"""Costs outside the loop: a new thread, a command, a summary, the store of a list, a plan; ``make bench-rows``.

CPU time of this process, or of the child where the row is a command; medians over the rounds, whose rows take turns. A
new thread's row contains its start and end. Each function returns the milliseconds of one round, by row.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import _corpora
import _rivals

import trimtab
from trimtab.archive import open_archive
from trimtab.summarize.offline import offline

CHARACTERS = 4_000
"""Length of the text that a new thread counts."""


def new_thread(rounds: int = 50) -> dict[str, float]:
    """A count of an unseen text in a new thread, and an empty thread beside it."""
    counter, text = trimtab.Counter("o200k_base"), "".join(_corpora.corpus("prose"))
    pieces = iter(text[n * CHARACTERS : (n + 1) * CHARACTERS] for n in range(rounds + 1))
    counter.count(next(pieces))
    counted, empty = [], []
    for piece in pieces:
        for target, took in ((lambda piece=piece: counter.count(piece), counted), (lambda: None, empty)):
            start, thread = time.process_time(), threading.Thread(target=target)
            thread.start()
            thread.join()
            took.append(1000 * (time.process_time() - start))
    return {"4,000 characters in a new thread": statistics.median(counted), "an empty thread": statistics.median(empty)}


def command() -> dict[str, float]:
    """``trimtab count`` of a small list."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.json"
        path.write_text(json.dumps([{"role": "user", "content": "hello"}]))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "trimtab", "count", str(path)], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"trimtab count of a small file": 1000 * seconds}


def large_list(messages: int) -> list[dict]:
    """A list of short messages that all differ."""
    text = "message {} says some words about file_{}.py and what happened to it then"
    return [{"role": ("user", "assistant")[n % 2], "content": text.format(n, n % 977)} for n in range(messages)]


def summary(messages: int) -> dict[str, float]:
    """An offline summary of messages of 700 bytes, with files and names in them."""
    sentence = "The {} of src/pkg_{}/mod_{}.py drops load_rows_{}, because the old table never keeps a row of it. "
    kinds = ("parser", "ledger", "cache", "writer")
    texts = [
        "".join(sentence.format(kinds[(n + k) % 4], n % 60, n % 307, n * k % 409) for k in range(8))[:700]
        for n in range(messages)
    ]
    zone = tuple({"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts))
    ask = trimtab.Ask(zone, "anthropic", 4_000, trimtab.Counter("o200k_base").count)
    start = time.process_time()
    offline(ask)
    return {f"offline summary of {messages:,}": 1000 * (time.process_time() - start)}


def store_and_plan(messages: list[dict]) -> dict[str, float]:
    """A store in new archives in memory and in a file, and a plan of the list on a session that has read it."""
    took = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, url in (("memory", "memory"), ("SQLite", f"sqlite:///{folder}/archive.db")):
            archive = open_archive(url)
            start = time.process_time()
            archive.store(messages, "session")
            took[f"store of {len(messages):,} in {name}"] = 1000 * (time.process_time() - start)
            archive.close()
    cm = trimtab.Compactor("gpt-5.5")
    cm.plan(messages)
    start = time.process_time()
    cm.plan(messages)
    return took | {f"plan of {len(messages):,}": 1000 * (time.process_time() - start)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="a hundredth of the messages, to try the bench")
    options = parser.parse_args()
    os.environ |= _rivals.NO_BLAS_THREAD
    print(f"{_rivals.machine()}, trimtab {trimtab.__version__}, {options.rounds} rounds")
    messages, rows = large_list(10_000 if options.small else 1_000_000), {}
    for _ in range(options.rounds):
        for name, milliseconds in (new_thread() | command() | summary(5_000) | store_and_plan(messages)).items():
            rows.setdefault(name, []).append(milliseconds)
    for name, found in rows.items():
        print(f"  {name:34} {statistics.median(found):10.2f} ms ({min(found):.2f} to {max(found):.2f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
