"""Counting time of adversarial texts, at 100,000 and at 1,000,000 characters; ``make bench-adversarial``.

The texts are those that make other counters slow: one character repeated, base64, random letters, combining marks,
joined emoji. Each is counted in a new process, whose tables are empty. The counts are compared with tiktoken's at
20,000 characters, because tiktoken takes minutes for some of them at full length. Exits with 1 if a count differs.
"""

from __future__ import annotations

import argparse
import base64
import multiprocessing
import os
import random
import statistics
import sys
import time

import _corpora
import _rivals

os.environ |= {"TRIMTAB_THREADS": "1", "TIKTOKEN_CACHE_DIR": str(_rivals.FOLDER / "tiktoken")}
import tiktoken

import trimtab

CHARACTERS = {
    "space": " ",
    "newline": "\n",
    "tab": "\t",
    "a": "a",
    "A": "A",
    "0": "0",
    "dot": ".",
    "slash": "/",
    "equals": "=",
    "e acute": "\N{LATIN SMALL LETTER E WITH ACUTE}",
    "han": "\N{CJK UNIFIED IDEOGRAPH-4E2D}",
    "hangul": "\N{HANGUL SYLLABLE GA}",
    "acute": "\N{COMBINING ACUTE ACCENT}",
    "emoji": "\N{GRINNING FACE}",
    "joiner": "\N{ZERO WIDTH JOINER}",
    "nul": "\0",
}
EXACT = 20_000
"""Characters that are compared with tiktoken."""


def texts(length: int) -> dict[str, str]:
    """Texts of about ``length`` characters, by name."""
    rng = random.Random(_corpora.SEED)
    return {
        **{f"{name}, repeated": char * length for name, char in CHARACTERS.items()},
        "base64": base64.b64encode(rng.randbytes(length * 3 // 4)).decode(),
        "random letters": "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=length)),
        "combining marks": ("e" + "\N{COMBINING ACUTE ACCENT}" * 9) * (length // 10),
        "joined emoji": "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}" * (length // 5),
    }


def count(encoding: str, text: str) -> tuple[float, int]:
    """CPU time in milliseconds, and the tokens."""
    counter = trimtab.Counter(encoding)
    start = time.process_time()
    tokens = counter.count(text)
    return 1000 * (time.process_time() - start), tokens


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--small", action="store_true", help="a tenth of the lengths, to try the bench")
    options = parser.parse_args()
    _rivals.write_vocabularies()
    print(
        f"{_rivals.machine()}, trimtab {trimtab.__version__}, tiktoken {tiktoken.__version__}, {options.rounds} rounds"
    )
    length = 100_000 if options.small else 1_000_000
    short, long = texts(length // 10), texts(length)
    different, processes = 0, multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1)
    for encoding in _rivals.ENCODINGS:
        rival = tiktoken.get_encoding(encoding)
        print(f"\n{encoding}: ms at {length // 10:,} and {length:,} characters, input {_corpora.digest(long.values())}")
        for name in short:
            tasks = {
                length: [(encoding, of[name])] * options.rounds for length, of in (("short", short), ("long", long))
            }
            counted = {length: processes.starmap(count, some, chunksize=1) for length, some in tasks.items()}
            before, after = (statistics.median(ms for ms, _ in some) for some in counted.values())
            sample = long[name][:EXACT]
            is_exact = processes.apply(count, (encoding, sample))[1] == len(rival.encode_ordinary(sample))
            different += not is_exact
            result = "" if is_exact else "  DIFFERS from tiktoken"
            print(f"  {name:18} {before:8.3f} {after:8.3f}  {after / max(before, 1e-3):5.1f} x{result}", flush=True)
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
