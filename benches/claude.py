"""Counting speed in Claude's encodings, beside ctok; ``make bench-claude``.

A measurement has a process of its own, one core and CPU time. It counts a text for the first time (cold), then equal
strings made afresh (warm). Libraries take turns. Each corpus has two rows:

- the first 120 KB of it, counted by both libraries with the same encoding: the ratios are of this text, cold to cold
  and warm to warm. ctok takes minutes for more.
- all of it, by trimtab alone.

The last rows count a session of 5,000 messages for the first time. Exits with 1 if a count differs from ctok's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import _corpora
import _rivals

from support.ctok import WHEELS, load_ctok

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CTOK = {"claude-old": ("3.0", 7), "claude-new": ("4.8", 6)}
"""ctok's version of each encoding, and the tokens of an empty message, which ctok adds to each text."""
AS_CTOK = {"claude-old": "claude-3 message", "claude-new": "claude-4.8 message"}
"""trimtab's encodings with the rules of a whole message, which are ctok's."""
PART, SMALL_PART = 120_000, 12_000
"""UTF-8 bytes of each corpus that ctok counts."""
MESSAGES = 5_000
WARM = 2
"""Warm passes of a process."""


def part(texts: Sequence[str], size: int) -> list[str]:
    """The first texts of a corpus, the last one cut, so that all together have ``size`` bytes or a little more."""
    out, left = [], size
    for text in texts:
        if left <= 0:
            break
        out.append(text[: max(left // 4, 1)] if len(text) > left // 4 and not out else text[:left])
        left -= len(out[-1].encode())
    return out


def counter(library: str, encoding: str) -> Callable[[list[str]], list[int]]:
    """A library's count of a list of texts."""
    if library == "trimtab":
        from trimtab import Counter

        counter = Counter(encoding)
        counter.count("a")
        return lambda texts: [int(n) for n in counter.count_many(texts)]
    ctok = load_ctok()
    if ctok is None:
        raise SystemExit("ctok's wheel is missing: make .venv/dev fetches it")
    number, message = CTOK[encoding]
    return lambda texts: [ctok.main.token_count(text, number) - message for text in texts]


def work(library: str, encoding: str, texts: list[str]) -> dict:
    """One measurement, in this process."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    if library == "trimtab":
        import trimtab.counting.counter  # noqa: F401 - the load is that of an encoding, without Python's imports
    start = time.process_time()
    count = counter(library, encoding)
    loaded = time.process_time()
    count(["a"])  # loads numpy
    size, times = _corpora.size(texts), []
    for _ in range(1 + WARM):
        fresh = [text.encode().decode() for text in texts]
        begun = time.process_time()
        counts = count(fresh)
        times.append(time.process_time() - begun)
    return {
        "cold": size / 1e6 / times[0],
        "warm": size / 1e6 / statistics.median(times[1:]),
        "first_ms": 1000 * times[0],
        "load_ms": 1000 * (loaded - start),
        "counts": [int(n) for n in counts],
    }


def measured(library: str, encoding: str, texts: Sequence[str]) -> dict:
    """``work`` in a process of its own."""
    run = subprocess.run(
        [sys.executable, __file__, "--work", library, encoding],
        input=json.dumps(texts),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=os.environ | {"TRIMTAB_THREADS": "1"},
    )
    return json.loads(run.stdout)


def median(answers: list[dict], key: str) -> float:
    return statistics.median(answer[key] for answer in answers)


def beside_ctok(name: str, texts: list[str], encoding: str, rounds: int) -> int:
    """Prints a row of both libraries. Returns the number of texts whose counts differ."""
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(measured("trimtab", AS_CTOK[encoding], texts))
        theirs.append(measured("ctok", encoding, texts))
    differ = sum(a != b for a, b in zip(ours[0]["counts"], theirs[0]["counts"], strict=True))
    rates = "".join(
        f"  {heat} {median(ours, heat):6.1f} to {median(theirs, heat):5.2f} MB/s, "
        f"{median(ours, heat) / median(theirs, heat):4.0f} x"
        for heat in ("cold", "warm")
    )
    print(f"{label(name, encoding, texts)}{rates}  {differ} of {len(texts)} counts differ", flush=True)
    return differ


def alone(name: str, texts: Sequence[str], encoding: str, rounds: int) -> None:
    """Prints a row of trimtab."""
    ours = [measured("trimtab", encoding, texts) for _ in range(rounds)]
    slowest, fastest = (of(answer["cold"] for answer in ours) for of in (min, max))
    print(
        f"{label(name, encoding, texts)}  cold {median(ours, 'cold'):6.1f} ({slowest:.0f}-{fastest:.0f})"
        f"  warm {median(ours, 'warm'):6.1f} MB/s  first pass {median(ours, 'first_ms'):.1f} ms"
        f"  load {median(ours, 'load_ms'):.1f} ms",
        flush=True,
    )


def label(name: str, encoding: str, texts: Sequence[str]) -> str:
    return f"{name:14} {encoding} {_corpora.size(texts) / 1e6:5.2f} MB, input {_corpora.digest(texts)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="of trimtab; ctok has at most three")
    parser.add_argument("--corpus", choices=_corpora.NAMES, action="append")
    parser.add_argument("--small", action="store_true", help="small corpora, to try the bench")
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        print(json.dumps(work(*options.work, json.load(sys.stdin))))
        return 0
    import trimtab

    rival = next((wheel.name.split("-")[1] for wheel in WHEELS.glob("ctok-*.whl")), "(missing)")
    print(f"{_rivals.machine()}, {options.rounds} rounds, medians")
    print(f"trimtab {trimtab.__version__} to ctok {rival}")
    differ = 0
    for name in options.corpus or _corpora.NAMES:
        texts = _corpora.first_bytes(_corpora.corpus(name), _corpora.SMALL if options.small else sys.maxsize)
        for encoding in CTOK:
            short = part(texts, SMALL_PART if options.small else PART)
            differ += beside_ctok(name, short, encoding, min(options.rounds, 3))
            alone(name, texts, encoding, options.rounds)
    for encoding in CTOK:
        alone(f"{MESSAGES:,} messages", _corpora.corpus("chat")[:MESSAGES], encoding, options.rounds)
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
