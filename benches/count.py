"""Counting speed of five corpora, beside other libraries; ``make bench-count``.

A measurement has a process of its own, which loads one library. It counts a corpus for the first time (cold), then
equal strings made afresh (warm), so that no library can recognize a string by its identity. Rows named ``unseen`` are
of text that the library has never seen, on warm tables: every second text of the corpus is counted before, the others
are measured. ``chat`` has no such row, because its messages overlap.

``--page v128`` adds rows of trimtab with these vector instructions, whatever the processor has.

Libraries take turns, round by round. One thread is CPU time on one core, two threads are wall time on two. No library
caches whole texts. ``tokenizers`` gets a tenth of each corpus, because it takes minutes for all of it.

Writes ``target/bench-count.json``: a row for each library, encoding, corpus and number of threads.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import _corpora
import _rivals

OUT = Path(__file__).resolve().parent.parent / "target" / "bench-count.json"
SLOW = {"tokenizers": 0.1}
"""Share of each corpus that a library counts."""
WARM = 2
"""Warm passes of a process; a row has the median of all rounds' passes."""
PAGES = ("avx2", "v128", "portable")
"""Vector instructions that ``TRIMTAB_SIMD`` names."""
UNSEEN = ", unseen"
"""End of the name of a corpus of which one half is counted before the other is measured."""


@dataclass(frozen=True)
class Row:
    """A library's rates for a corpus: medians over the rounds, spreads as (slowest, fastest) round."""

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
    texts = _rivals.read_corpus(corpus.removesuffix(UNSEEN))
    if library in SLOW:
        texts = texts[: max(int(len(texts) * SLOW[library]), 2)]
    before, texts = _corpora.halves(texts) if corpus.endswith(UNSEEN) else ([], texts)
    for module in ("numpy", _rivals.MODULES.get(library, library)):
        importlib.import_module(module)  # the load is that of an encoding, without Python's imports
    size, resident = _corpora.size(texts), resident_mb()
    start = time.perf_counter()
    count = _rivals.LIBRARIES[library](encoding, threads)
    count(["a"])  # some load with the first call
    loaded = time.perf_counter() - start
    for _ in range(WARM if before else 0):
        count(before)
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
        "memory_mb": resident_mb() - resident,
        "counts": [int(n) for n in counts],
    }


def measured(row: str, *job: str) -> dict:
    """``work`` in a process of its own; the row of a library may name a page of vector instructions."""
    library, _, page = row.partition(" ")
    command = [sys.executable, __file__, "--work", library, *job]
    environment = os.environ | _rivals.NO_BLAS_THREAD | ({"TRIMTAB_SIMD": page} if page else {})
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        return {"failed": (run.stderr.strip().splitlines() or ["no message"])[-1]}
    return json.loads(run.stdout)


def compared(libraries: dict[str, str], encoding: str, corpus: str, threads: list[int], rounds: int) -> list[Row]:
    """A row for each library that answers and each number of threads; the counts must equal tiktoken's."""
    found: dict[tuple[int, str], list[dict]] = {(n, library): [] for n in threads for library in libraries}
    for _ in range(rounds):
        for library in libraries:
            for n in threads:
                answer = measured(library, encoding, corpus, str(n))
                if "failed" in answer:
                    print(f"  {library}, {corpus}, {encoding}, {n} threads: {answer['failed']}")
                    continue
                found[n, library].append(answer)
    exact = next((answers[0]["counts"] for (_, name), answers in found.items() if name == "tiktoken" and answers), None)
    rows = []
    for (n, library), answers in found.items():
        if not answers:
            continue
        colds = [answer["cold"] for answer in answers]
        warms = [rate for answer in answers for rate in answer["warm"]]
        wrong = None
        if exact is not None:
            wrong = max(sum(a != b for a, b in zip(answer["counts"], exact, strict=False)) for answer in answers)
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
    """Prints the rows, with trimtab's ratio to each rival and to the fastest exact one."""
    ours = next((row for row in rows if row.library == "trimtab"), None)
    for row in rows:
        ratio = ""
        if ours and row is not ours:
            ratio = (
                f"  trimtab: {ours.cold_mb_s / row.cold_mb_s:5.1f} x cold {ours.warm_mb_s / row.warm_mb_s:5.1f} x warm"
            )
        wrong = "?" if row.mismatches is None else str(row.mismatches)
        print(
            f"  {row.library:16} cold {row.cold_mb_s:6.1f} ({row.cold_spread[0]:.0f}-{row.cold_spread[1]:.0f})"
            f"  warm {row.warm_mb_s:6.1f} ({row.warm_spread[0]:.0f}-{row.warm_spread[1]:.0f}) MB/s"
            f"  load {row.load_ms:7.1f} ms  memory {row.memory_mb:6.1f} MB  mismatches {wrong:>3}{ratio}"
        )
    rivals = [row for row in rows if row.library != "tiktoken" and not row.library.startswith("trimtab")]
    exact = [row for row in rivals if row.mismatches == 0]
    if ours and len(exact) >= 2:
        cold, warm = max(row.cold_mb_s for row in exact), max(row.warm_mb_s for row in exact)
        print(f"  fastest exact rival: {ours.cold_mb_s / cold:.2f} x cold, {ours.warm_mb_s / warm:.2f} x warm")
    elif ours:
        print("  fewer than two exact rivals are installed")


def gains(rows: list[Row]) -> None:
    """Prints the speedup of two threads over one: of medians, and of the fastest rounds."""
    ours = {row.threads: row for row in rows if row.library == "trimtab"}
    if len(ours) == 2:
        one, two = ours[1], ours[2]
        print(
            f"  two threads: {two.cold_mb_s / one.cold_mb_s:.2f} x cold, {two.warm_mb_s / one.warm_mb_s:.2f} x warm; "
            f"fastest {two.cold_spread[1] / one.cold_spread[1]:.2f}, {two.warm_spread[1] / one.warm_spread[1]:.2f}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--encoding", choices=_rivals.ENCODINGS, action="append")
    parser.add_argument("--corpus", choices=_corpora.NAMES, action="append")
    parser.add_argument("--threads", type=int, choices=(1, 2), action="append")
    parser.add_argument("--library", choices=tuple(_rivals.LIBRARIES), action="append")
    parser.add_argument("--page", choices=PAGES, action="append", default=[])
    parser.add_argument("--small", action="store_true", help="small corpora, to try the bench")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        library, encoding, corpus, threads = options.work
        print(json.dumps(work(library, encoding, corpus, int(threads))))
        return 0
    _rivals.write_vocabularies()
    versions = _rivals.versions()
    for missing in sorted(set(_rivals.LIBRARIES) - set(versions)):
        print(f"{missing} is not installed: no rows for it")
    libraries = {name: v for name, v in versions.items() if not options.library or name in options.library}
    libraries |= {f"trimtab {page}": versions["trimtab"] for page in options.page}
    installed = ", ".join(f"{name} {version}" for name, version in libraries.items())
    print(f"{_rivals.machine()}, {options.rounds} rounds\n{installed}")
    rows: list[Row] = []
    for corpus in options.corpus or _corpora.NAMES:
        texts = _corpora.first_bytes(_corpora.corpus(corpus), _corpora.SMALL if options.small else sys.maxsize)
        _rivals.write_corpus(corpus, texts)
        for encoding in options.encoding or _rivals.ENCODINGS:
            new = compared(libraries, encoding, corpus, options.threads or [1, 2], options.rounds)
            show(new, texts)
            gains(new)
            if corpus != "chat":
                unseen = compared(libraries, encoding, corpus + UNSEEN, [1], options.rounds)
                show(unseen, _corpora.halves(texts)[1])
                new += unseen
            sys.stdout.flush()
            rows += new
    OUT.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    print(f"\n{len(rows)} rows in {OUT.relative_to(OUT.parent.parent)}")
    return int(any(row.mismatches for row in rows if row.library.startswith("trimtab")))


def show(rows: list[Row], texts: list[str]) -> None:
    """Prints a table for each number of threads."""
    of = f"{len(texts):,} texts, {_corpora.size(texts) / 1e6:.1f} MB, input {_corpora.digest(texts)}"
    for threads in (1, 2):
        some = [row for row in rows if row.threads == threads]
        if some:
            print(f"\n{some[0].corpus}, {some[0].encoding}, {threads} thread{'s' * (threads > 1)}: {of}")
            table(some)


if __name__ == "__main__":
    sys.exit(main())
