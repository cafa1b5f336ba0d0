"""Counts five corpora with trimtab and with its rivals, side by side; ``make bench-count``.

A process of its own for each library, corpus, encoding, number of threads and round: it loads the library, counts the
corpus for the first time (cold), then equal strings made afresh (warm), so that nothing is remembered by identity.
Libraries take turns, round by round, with one thread and then with two. One thread is CPU time on one core, two are
wall time on two. No memo of texts is on. ``tokenizers`` gets the first part of each corpus, because it would take the
hours of all the others.

Writes ``target/bench-count.json``: a row a library, encoding, corpus and number of threads.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import _corpora
import _rivals

OUT = Path(__file__).resolve().parent.parent / "target" / "bench-count.json"
SLOW = {"tokenizers": 0.1}  # the share of each corpus that it gets
WARM = 2  # passes; the median of all rounds' passes is the row's


@dataclass(frozen=True)
class Row:
    """What a library did with a corpus: medians over the rounds, spread as (slowest, fastest) round."""

    library: str
    version: str
    encoding: str
    corpus: str
    threads: int
    cold_mb_s: float
    warm_mb_s: float
    mismatches: int | None
    load_ms: float
    memory_mb: float
    cold_spread: tuple[float, float]
    warm_spread: tuple[float, float]


def resident_mb() -> float:
    """Memory of this process that is in use now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def work(library: str, encoding: str, corpus: str, threads: int) -> dict:
    """One measurement, in this process."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    clock = time.process_time if threads == 1 else time.perf_counter
    texts = json.loads((_rivals.FOLDER / f"{corpus}.json").read_text())
    if library in SLOW:
        texts = texts[: max(int(len(texts) * SLOW[library]), 1)]
    for module in ("numpy", _rivals.MODULES.get(library, library)):
        importlib.import_module(module)  # a load is of an encoding, not of Python's modules
    size, before = _corpora.size(texts), resident_mb()
    start = time.perf_counter()
    count = _rivals.LIBRARIES[library](encoding, threads)
    count(["a"])  # some load with the first call: that is not the corpus's time
    loaded = time.perf_counter() - start
    rates = []
    for _ in range(1 + WARM):
        fresh = [text.encode().decode() for text in texts]
        start = clock()
        counts = count(fresh)
        rates.append(size / 1e6 / (clock() - start))
    return {
        "cold": rates[0],
        "warm": rates[1:],
        "load_ms": 1000 * loaded,
        "memory_mb": resident_mb() - before,
        "counts": [int(n) for n in counts],
    }


def measured(*job: str) -> dict:
    """``work`` in a process of its own."""
    command = [sys.executable, __file__, "--work", *job]
    run = subprocess.run(command, env=os.environ | _rivals.ALONE, capture_output=True, text=True, check=False)
    if run.returncode:
        return {"failed": (run.stderr.strip().splitlines() or ["no message"])[-1]}
    return json.loads(run.stdout)


def compared(libraries: dict[str, str], encoding: str, corpus: str, threads: list[int], rounds: int) -> list[Row]:
    """A row for each library that answers and number of threads; the first round of tiktoken says what is right."""
    found: dict[tuple[int, str], list[dict]] = {(n, library): [] for n in threads for library in libraries}
    for _ in range(rounds):
        for library in libraries:
            for n in threads:
                answer = measured(library, encoding, corpus, str(n))
                if "failed" in answer:
                    print(f"  {library}, {corpus}, {encoding}, {n} threads: {answer['failed']}")
                    continue
                found[n, library].append(answer)
    right = next((answers[0]["counts"] for (_, name), answers in found.items() if name == "tiktoken" and answers), None)
    rows = []
    for (n, library), answers in found.items():
        if not answers:
            continue
        colds = [answer["cold"] for answer in answers]
        warms = [rate for answer in answers for rate in answer["warm"]]
        wrong = None
        if right is not None:
            wrong = max(sum(a != b for a, b in zip(answer["counts"], right, strict=False)) for answer in answers)
        rows.append(
            Row(
                library=library,
                version=libraries[library],
                encoding=encoding,
                corpus=corpus,
                threads=n,
                cold_mb_s=round(statistics.median(colds), 1),
                warm_mb_s=round(statistics.median(warms), 1),
                mismatches=wrong,
                load_ms=round(statistics.median(answer["load_ms"] for answer in answers), 2),
                memory_mb=round(max(answer["memory_mb"] for answer in answers), 1),
                cold_spread=(round(min(colds), 1), round(max(colds), 1)),
                warm_spread=(round(min(warms), 1), round(max(warms), 1)),
            )
        )
    return rows


def table(rows: list[Row]) -> None:
    """The rows, with our ratio to each rival and to the best exact one."""
    ours = next((row for row in rows if row.library == "trimtab"), None)
    for row in rows:
        ratio = ""
        if ours and row is not ours:
            ratio = (
                f"  trimtab: {ours.cold_mb_s / row.cold_mb_s:5.1f} x cold {ours.warm_mb_s / row.warm_mb_s:5.1f} x warm"
            )
        wrong = "?" if row.mismatches is None else str(row.mismatches)
        print(
            f"  {row.library:11} cold {row.cold_mb_s:6.1f} ({row.cold_spread[0]:.0f}-{row.cold_spread[1]:.0f})"
            f"  warm {row.warm_mb_s:6.1f} ({row.warm_spread[0]:.0f}-{row.warm_spread[1]:.0f}) MB/s"
            f"  load {row.load_ms:7.1f} ms  memory {row.memory_mb:6.1f} MB  mismatches {wrong:>3}{ratio}"
        )
    exact = [row for row in rows if row.library not in {"trimtab", "tiktoken"} and row.mismatches == 0]
    if ours and len(exact) >= 2:
        cold, warm = max(row.cold_mb_s for row in exact), max(row.warm_mb_s for row in exact)
        print(f"  best exact rival: {ours.cold_mb_s / cold:.2f} x cold, {ours.warm_mb_s / warm:.2f} x warm")
    elif ours:
        print("  unproven: fewer than two exact rivals are installed")


def gains(rows: list[Row]) -> None:
    """What two threads of ours gain over one: of medians, and of the fastest rounds."""
    ours = {row.threads: row for row in rows if row.library == "trimtab"}
    if len(ours) == 2:
        one, two = ours[1], ours[2]
        print(
            f"  two threads: {two.cold_mb_s / one.cold_mb_s:.2f} x cold, {two.warm_mb_s / one.warm_mb_s:.2f} x warm; "
            f"fastest {two.cold_spread[1] / one.cold_spread[1]:.2f}, {two.warm_spread[1] / one.warm_spread[1]:.2f}"
        )


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rounds", type=int, default=7)
    asked.add_argument("--encoding", choices=_rivals.ENCODINGS, action="append")
    asked.add_argument("--corpus", choices=_corpora.NAMES, action="append")
    asked.add_argument("--threads", type=int, choices=(1, 2), action="append")
    asked.add_argument("--library", choices=tuple(_rivals.LIBRARIES), action="append")
    asked.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    options = asked.parse_args()
    if options.work:
        library, encoding, corpus, threads = options.work
        print(json.dumps(work(library, encoding, corpus, int(threads))))
        return 0
    _rivals.vocabularies()
    versions = _rivals.versions()
    for missing in sorted(set(_rivals.LIBRARIES) - set(versions)):
        print(f"{missing} is not installed: no rows for it")
    libraries = {name: v for name, v in versions.items() if not options.library or name in options.library}
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    machine = f"{cpu[1] if cpu else platform.machine()}, {os.cpu_count()} cores"
    print(f"{machine}, Python {platform.python_version()}, {options.rounds} rounds")
    rows: list[Row] = []
    for corpus in options.corpus or _corpora.NAMES:
        texts = _corpora.corpus(corpus)
        _rivals.write(corpus)
        size = _corpora.size(texts)
        of = f"{len(texts):,} texts, {size / 1e6:.1f} MB, input {_corpora.digest(texts)}"
        for encoding in options.encoding or _rivals.ENCODINGS:
            new = compared(libraries, encoding, corpus, options.threads or [1, 2], options.rounds)
            for threads in (1, 2):
                some = [row for row in new if row.threads == threads]
                if some:
                    print(f"\n{corpus}, {encoding}, {threads} thread{'s' * (threads > 1)}: {of}")
                    table(some)
            gains(new)
            sys.stdout.flush()
            rows += new
    OUT.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    print(f"\n{len(rows)} rows in {OUT.relative_to(OUT.parent.parent)}")
    return int(any(row.mismatches for row in rows if row.library == "trimtab"))


if __name__ == "__main__":
    sys.exit(main())
