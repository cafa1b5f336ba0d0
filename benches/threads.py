"""What two threads gain over one, beside two processes that share nothing; ``make bench-threads``.

Each round one process counts a corpus alone, then it and a second one at the same time, then one with a pool of two
threads. Two processes gain 2 where the machine has two cores for them: what it has less, no pool can gain. Wall time,
fresh equal strings, warm; ratios are of medians, and in brackets of the fastest of each.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent))

import _corpora
import _rivals

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

ROUNDS = 15
PASSES = 5


def counts(corpus: str, encoding: str, threads: int, asked: Connection) -> None:
    """Counts the corpus as often as it is asked to, and says how long a pass took."""
    os.environ["TRIMTAB_THREADS"] = str(threads)
    import trimtab  # it reads the number of threads

    texts = json.loads((_rivals.FOLDER / f"{corpus}.json").read_text())
    counter = trimtab.Counter(encoding)
    counter.count_many(texts)
    while asked.recv():
        fresh = [[text[:1] + text[1:] for text in texts] for _ in range(PASSES)]
        asked.send("ready")
        asked.recv()
        start = time.perf_counter()
        for some in fresh:
            counter.count_many(some)
        asked.send((time.perf_counter() - start) / PASSES)


class Process:
    """A process that counts when it is told."""

    def __init__(self, corpus: str, encoding: str, threads: int) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=counts, args=(corpus, encoding, threads, theirs), daemon=True)
        self.process.start()


def timed(*processes: Process) -> float:
    """Seconds a pass, of processes that count at the same time: the mean of theirs."""
    for process in processes:
        process.pipe.send(True)
    for process in processes:
        process.pipe.recv()
    for process in processes:
        process.pipe.send(True)
    return statistics.mean(process.pipe.recv() for process in processes)


def main() -> None:
    print(f"{ROUNDS} rounds of {PASSES} passes; ms a pass; times one thread, of medians (of the fastest)")
    print(f"{'corpus':13} {'encoding':12} {'alone':>7} {'two processes':>22} {'two threads':>22}")
    for corpus in _corpora.NAMES:
        _rivals.write(corpus)
        for encoding in _rivals.ENCODINGS:
            first, second, pool = (Process(corpus, encoding, threads) for threads in (1, 1, 2))
            works = {"alone": (first,), "both": (first, second), "pool": (pool,)}
            took: dict[str, list[float]] = {name: [] for name in works}
            for _ in range(ROUNDS):
                for name, who in works.items():
                    took[name].append(timed(*who))
            for process in (first, second, pool):
                process.process.kill()

            def gain(name: str, work: int, took: dict[str, list[float]] = took) -> str:
                middle, best = (of(took["alone"]) / of(took[name]) * work for of in (statistics.median, min))
                return f"{statistics.median(took[name]) * 1e3:7.1f} {middle:6.2f} x ({best:4.2f})"

            alone = statistics.median(took["alone"]) * 1e3
            print(f"{corpus:13} {encoding:12} {alone:7.1f} {gain('both', 2)} {gain('pool', 1)}", flush=True)


if __name__ == "__main__":
    main()
