"""What two threads gain over one, beside two processes that share nothing; ``make bench-threads``.

Each round one process counts a corpus alone, then two count it at the same time, then one with a pool of two threads.
Two processes gain 2 where the machine has two cores for them: what it has less, no pool can gain. Wall time of fresh
equal strings; ratios are of medians, and in brackets of the fastest of each.

Cold, a measurement is of the first pass of new processes: of two, each learns all of it. Warm, it is of passes of
processes that have counted the corpus before, all of it and its first megabyte.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import platform
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
PASSES = {"cold": 1, "warm": 5, "1 MB": 20}
MOST = {"1 MB": 10**6}  # bytes of the first texts; of the others all
WORKS = {"alone": (1,), "two processes": (1, 1), "two threads": (2,)}


def counts(corpus: str, encoding: str, threads: int, asked: Connection) -> None:
    """Counts the corpus, or its first texts, in passes as it is asked to, and says how long one took."""
    os.environ["TRIMTAB_THREADS"] = str(threads)
    import trimtab  # it reads the number of threads

    texts = json.loads((_rivals.FOLDER / f"{corpus}.json").read_text())
    counter = trimtab.Counter(encoding)
    counter.count_many(["a"])  # numpy is loaded with the first call
    while heat := asked.recv():
        passes, ends = PASSES[heat], itertools.accumulate(len(text.encode()) for text in texts)
        some = [text for text, end in zip(texts, ends, strict=True) if end <= MOST.get(heat, end)]
        fresh = [[text.encode().decode() for text in some] for _ in range(passes)]
        asked.send("ready")
        asked.recv()
        start = time.perf_counter()
        for some in fresh:
            counter.count_many(some)
        asked.send((time.perf_counter() - start) / passes)


class Processes:
    """Processes that count at the same time when they are told."""

    def __init__(self, corpus: str, encoding: str, threads: tuple[int, ...]) -> None:
        new = multiprocessing.get_context("spawn")
        self.pipes, self.processes = [], []
        for of_one in threads:
            pipe, theirs = new.Pipe()
            self.pipes.append(pipe)
            self.processes.append(new.Process(target=counts, args=(corpus, encoding, of_one, theirs), daemon=True))
            self.processes[-1].start()

    def timed(self, heat: str) -> float:
        """Seconds a pass: the mean of theirs."""
        for told in (heat, True):
            for pipe in self.pipes:
                pipe.send(told)
            found = [pipe.recv() for pipe in self.pipes]
        return statistics.mean(found)

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.join()


def measured(corpus: str, encoding: str) -> dict[tuple[str, str], list[float]]:
    """Seconds a pass of all rounds, by whether it was warm, and by who counted."""
    took: dict[tuple[str, str], list[float]] = {}
    warm = {name: Processes(corpus, encoding, threads) for name, threads in WORKS.items()}
    for processes in warm.values():
        processes.timed("cold")
    for _ in range(ROUNDS):
        for name, threads in WORKS.items():
            new = Processes(corpus, encoding, threads)
            took.setdefault(("cold", name), []).append(new.timed("cold"))
            new.end()
            for heat in ("warm", "1 MB"):
                took.setdefault((heat, name), []).append(warm[name].timed(heat))
    for processes in warm.values():
        processes.end()
    return took


def main() -> None:
    os.environ |= _rivals.ALONE
    import trimtab  # without numpy's thread, as in the processes

    print(f"trimtab {trimtab.__version__}, Python {platform.python_version()}, {ROUNDS} rounds of {PASSES} passes")
    print("ms a pass; times alone, of medians (of the fastest)")
    print(f"{'corpus':13} {'encoding':12} pass" + "".join(f" {name:>21}" for name in WORKS))
    for corpus in _corpora.NAMES:
        _rivals.write(corpus)
        print(f"input {_corpora.digest(_corpora.corpus(corpus))}")
        for encoding in _rivals.ENCODINGS:
            took = measured(corpus, encoding)
            for heat in PASSES:
                alone, line = took[heat, "alone"], f"{corpus:13} {encoding:12} {heat}"
                for name, threads in WORKS.items():
                    some = took[heat, name]
                    middle, best = (len(threads) * of(alone) / of(some) for of in (statistics.median, min))
                    line += f" {1e3 * statistics.median(some):6.1f} {middle:5.2f} x ({best:4.2f})"
                print(line, flush=True)


if __name__ == "__main__":
    main()
