"""Counts five corpora in Claude's encodings with trimtab and with ctok; ``make bench-claude``.

A process of its own for each library, encoding, corpus and round, on one core, in CPU time: the corpus counted for the
first time (cold), then equal strings made afresh (warm). Libraries take turns. ctok gets the first part of each
corpus, because it would take minutes of all; its counts of that part are what ours must equal. A last row counts a
session of 5,000 messages for the first time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import _corpora

if TYPE_CHECKING:
    from collections.abc import Callable

ENCODINGS = {"claude-old": ("3.0", 7), "claude-new": ("4.8", 6)}
MESSAGE = {"claude-old": "claude-3 message", "claude-new": "claude-4.8 message"}  # what ctok counts: a whole message
PART = 120_000  # bytes of each corpus for ctok
MESSAGES = 5_000


def part(texts: list[str]) -> list[str]:
    """The first texts, cut so that all together have the bytes that ctok can count in seconds."""
    out, left = [], PART
    for text in texts:
        if left <= 0:
            break
        out.append(text[: max(left // 4, 1)] if len(text) > left // 4 and not out else text[:left])
        left -= len(out[-1].encode())
    return out


def counter(library: str, encoding: str) -> Callable[[list[str]], list[int]]:
    """How a library counts a list of texts."""
    if library == "trimtab":
        from trimtab import Counter

        counter = Counter(encoding)
        counter.count("a")
        return lambda texts: [int(n) for n in counter.count_many(texts)]
    import conftest

    main = conftest.load_ctok(min(conftest.WHEELS.glob("ctok-*.whl"))).main
    version, message = ENCODINGS[encoding]
    return lambda texts: [main.token_count(text, version) - message for text in texts]


def work(library: str, encoding: str, texts: list[str]) -> dict:
    """One measurement, in this process."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    start = time.process_time()
    if library == "trimtab":
        from trimtab import Counter  # noqa: F401 - what the import costs is another bench's

        start = time.process_time()
    count = counter(library, encoding)
    loaded = time.process_time()
    count(["a"])  # loads numpy
    size, times = _corpora.size(texts), []
    for _ in range(1 if library == "ctok" else 3):
        fresh = [text.encode().decode() for text in texts]
        begun = time.process_time()
        counts = count(fresh)
        times.append(time.process_time() - begun)
    rates = [size / 1e6 / t for t in times]
    return {
        "cold": rates[0],
        "warm": statistics.median(rates[1:] or rates),
        "first_ms": 1000 * times[0],
        "load_ms": 1000 * (loaded - start),
        "counts": [int(n) for n in counts],
    }


def measured(library: str, encoding: str, texts: list[str]) -> dict:
    """``work`` in a process of its own."""
    run = subprocess.run(
        [sys.executable, __file__, "--work", library, encoding],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"TRIMTAB_THREADS": "1"},
    )
    return json.loads(run.stdout)


def median(answers: list[dict], key: str) -> float:
    return statistics.median(answer[key] for answer in answers)


def row(name: str, texts: list[str], encoding: str, rounds: int) -> int:
    """Prints one row; how many texts of the part ctok counts otherwise."""
    short, ours, theirs, same = part(texts), [], [], []
    for number in range(rounds):
        ours.append(measured("trimtab", encoding, texts))
        if number < 3:
            theirs.append(measured("ctok", encoding, short))
            same.append(measured("trimtab", MESSAGE[encoding], short))
    wrong = sum(a != b for a, b in zip(same[0]["counts"], theirs[0]["counts"], strict=True))
    cold, warm, rival = median(ours, "cold"), median(ours, "warm"), median(theirs, "cold")
    print(
        f"{name:13} {encoding:11} {_corpora.size(texts) / 1e6:5.1f} MB  warm {warm:6.1f}  cold {cold:6.1f} MB/s"
        f" ({min(a['cold'] for a in ours):.0f}-{max(a['cold'] for a in ours):.0f})  ctok {rival:5.2f} MB/s"
        f"  x{warm / rival:5.0f} warm x{cold / rival:5.0f} cold  load {median(ours, 'load_ms'):4.1f} ms"
        f"  differ {wrong} of {len(short)}  input {_corpora.digest(texts)}",
        flush=True,
    )
    return wrong


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rounds", type=int, default=7)
    asked.add_argument("--corpus", choices=_corpora.NAMES, action="append")
    asked.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    options = asked.parse_args()
    if options.work:
        print(json.dumps(work(*options.work, json.load(sys.stdin))))
        return 0
    import trimtab

    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    print(f"{cpu[1] if cpu else platform.machine()}, Python {platform.python_version()}, {options.rounds} rounds")
    print(f"trimtab {trimtab.__version__}, ctok 1.3.0; one thread, CPU time, medians")
    wrong = 0
    for name in options.corpus or _corpora.NAMES:
        texts = list(_corpora.corpus(name))
        for encoding in ENCODINGS:
            wrong += row(name, texts, encoding, options.rounds)
    session = list(_corpora.corpus("chat"))[:MESSAGES]
    for encoding in ENCODINGS:
        first = [measured("trimtab", encoding, session)["first_ms"] for _ in range(options.rounds)]
        mb = _corpora.size(session) / 1e6
        print(f"a session of {MESSAGES:,} messages, {mb:.1f} MB, {encoding}: {statistics.median(first):.1f} ms cold")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
