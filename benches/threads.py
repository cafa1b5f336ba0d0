"""Speedup of two threads over one, beside two processes that share nothing; ``make bench-threads``.

In each round one process counts a corpus alone, then two processes count it at the same time, then one process counts
it with two threads. The two processes show how much two cores of this machine can gain at all: no more than 2. Times
are wall time of fresh equal strings; ratios are of medians, and in brackets of the fastest rounds.

A cold pass is the first of a new process; each of two processes fills tables of its own. A warm pass is of a process
that has counted the corpus before: all of it, and its first megabyte.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
import time
from typing import TYPE_CHECKING

import _corpora
import _rivals

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

PASSES = {"cold": 1, "warm": 5, "1 MB": 20}
LIMIT = {"1 MB": 10**6}
"""UTF-8 bytes of a pass; other passes are of the whole corpus."""
WORKS = {"alone": (1,), "two processes": (1, 1), "two threads": (2,)}
"""Threads of each process, by column."""


def serve(corpus: str, encoding: str, threads: int, pipe: Connection) -> None:
    """Counts in passes of the kinds that it receives, and sends the seconds of a pass."""
    os.environ["TRIMTAB_THREADS"] = str(threads)
    import trimtab  # reads the number of threads

    texts = _rivals.read_corpus(corpus)
    counter = trimtab.Counter(encoding)
    counter.count_many(["a"])  # loads numpy
    while kind := pipe.recv():
        passes = PASSES[kind]
        some = _corpora.first_bytes(texts, LIMIT.get(kind, sys.maxsize))
        fresh = [[text.encode().decode() for text in some] for _ in range(passes)]
        pipe.send("ready")
        pipe.recv()
        start = time.perf_counter()
        for some in fresh:
            counter.count_many(some)
        pipe.send((time.perf_counter() - start) / passes)


class Processes:
    """Processes that count at the same time."""

    def __init__(self, corpus: str, encoding: str, threads: tuple[int, ...]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipes, self.processes = [], []
        for number in threads:
            pipe, other_end = context.Pipe()
            self.pipes.append(pipe)
            arguments = (corpus, encoding, number, other_end)
            self.processes.append(context.Process(target=serve, args=arguments, daemon=True))
            self.processes[-1].start()

    def timed(self, kind: str) -> float:
        """Mean of the processes' seconds a pass."""
        for sent in (kind, "start"):
            for pipe in self.pipes:
                pipe.send(sent)
            received = [pipe.recv() for pipe in self.pipes]
        return statistics.mean(received)

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.join()


def measured(corpus: str, encoding: str, rounds: int) -> dict[tuple[str, str], list[float]]:
    """Seconds a pass in all rounds, by kind of pass and column."""
    took: dict[tuple[str, str], list[float]] = {}
    warm = {name: Processes(corpus, encoding, threads) for name, threads in WORKS.items()}
    for processes in warm.values():
        processes.timed("cold")
    for _ in range(rounds):
        for name, threads in WORKS.items():
            new = Processes(corpus, encoding, threads)
            took.setdefault(("cold", name), []).append(new.timed("cold"))
            new.end()
            for kind in ("warm", "1 MB"):
                took.setdefault((kind, name), []).append(warm[name].timed(kind))
    for processes in warm.values():
        processes.end()
    return took


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--corpus", choices=_corpora.NAMES, action="append")
    parser.add_argument("--small", action="store_true", help="small corpora, to try the bench")
    options = parser.parse_args()
    os.environ |= _rivals.NO_BLAS_THREAD
    import trimtab

    print(f"{_rivals.machine()}, trimtab {trimtab.__version__}, {options.rounds} rounds of {PASSES} passes")
    print("ms a pass; speedup over alone, of medians (of the fastest rounds)")
    print(f"{'corpus':13} {'encoding':12} pass" + "".join(f" {name:>21}" for name in WORKS))
    for corpus in options.corpus or _corpora.NAMES:
        texts = _corpora.first_bytes(_corpora.corpus(corpus), _corpora.SMALL if options.small else sys.maxsize)
        _rivals.write_corpus(corpus, texts)
        print(f"input {_corpora.digest(texts)}")
        for encoding in _rivals.ENCODINGS:
            took = measured(corpus, encoding, options.rounds)
            for kind in PASSES:
                alone, line = took[kind, "alone"], f"{corpus:13} {encoding:12} {kind}"
                for name, threads in WORKS.items():
                    some = took[kind, name]
                    middle, best = (len(threads) * of(alone) / of(some) for of in (statistics.median, min))
                    line += f" {1e3 * statistics.median(some):6.1f} {middle:5.2f} x ({best:4.2f})"
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
