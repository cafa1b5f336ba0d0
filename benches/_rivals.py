"""The libraries that are measured, each by its fastest documented call: a list of texts in, a count for each out.

Each is a function from an encoding and a number of threads to such a call. All read one vocabulary, which
``write_vocabularies`` writes from trimtab's; its SHA-256 is the one that tiktoken asks for.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import platform
import re
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Count = Callable[[Sequence[str]], Sequence[int]]

ENCODINGS = ("cl100k_base", "o200k_base")
FOLDER = Path(__file__).resolve().parent.parent / "target" / "bench-count"

# A thread of numpy's OpenBLAS spins for tens of milliseconds after it is loaded, on a core that is measured.
NO_BLAS_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


def trimtab(encoding: str, threads: int) -> Count:
    os.environ["TRIMTAB_THREADS"] = str(threads)
    import trimtab as library

    counter = library.Counter(encoding)
    return counter.count_many


def tiktoken(encoding: str, threads: int) -> Count:
    import tiktoken as library

    os.environ["TIKTOKEN_CACHE_DIR"] = str(FOLDER / "tiktoken")
    found = library.get_encoding(encoding)
    if threads > 1:
        return lambda texts: list(map(len, found.encode_ordinary_batch(texts, num_threads=threads)))
    encode = found.encode_ordinary  # a loop: the batch call costs 25 us a text more
    return lambda texts: [len(encode(text)) for text in texts]


def gigatoken(encoding: str, threads: int) -> Count:
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    import gigatoken as library
    import numpy as np

    found = library.Tokenizer.from_tiktoken(FOLDER / f"{encoding}.tiktoken", special_tokens={})
    # Counts from the flat array's offsets: no ids become Python objects.
    return lambda texts: np.diff(found.encode_batch(texts, parallel=threads > 1).layout.offsets.data)


def fastokens(encoding: str, threads: int) -> Count:
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    import numpy as np
    from fastokens import _native

    found = _native.Tokenizer.from_tiktoken(str(FOLDER / f"{encoding}.tiktoken"), encoding=encoding, special_tokens={})
    return lambda texts: np.diff(np.frombuffer(found.encode_batch_flat(texts)[1], np.uint64))


def toktok(encoding: str, threads: int) -> Count:
    import toktok as library

    return lambda texts: library.batch_count(texts, encoding, threads=threads)


def tokenizers(encoding: str, threads: int) -> Count:
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    import tokenizers as library

    found = library.Tokenizer.from_file(str(FOLDER / f"{encoding}.json"))
    return lambda texts: [len(one) for one in found.encode_batch_fast(texts, add_special_tokens=False)]


LIBRARIES = {
    "trimtab": trimtab,
    "tiktoken": tiktoken,
    "gigatoken": gigatoken,
    "fastokens": fastokens,
    "toktok-rs": toktok,
    "tokenizers": tokenizers,
}
"""By package name."""

MODULES = {"trimtab": "trimtab.counting.counter", "toktok-rs": "toktok"}
"""The modules to import, where they are not named like the package."""


def versions() -> dict[str, str]:
    """Version of each installed library."""
    import trimtab as library

    found = {"trimtab": library.__version__}
    for name in LIBRARIES.keys() - found.keys():
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return {name: found[name] for name in LIBRARIES if name in found}


def write_vocabularies() -> None:
    """Writes the rivals' files for each encoding: ranks, tiktoken's cache, ``tokenizer.json``."""
    import tiktoken_ext.openai_public as published

    from trimtab import _core

    (FOLDER / "tiktoken").mkdir(parents=True, exist_ok=True)
    for encoding in ENCODINGS:
        tokens = _core.Counter(encoding).vocabulary(encoding)
        ranks = b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens))
        (FOLDER / f"{encoding}.tiktoken").write_bytes(ranks)
        asked: dict[str, str] = {}
        load = published.load_tiktoken_bpe
        published.load_tiktoken_bpe = lambda address, expected_hash, into=asked: into.update(
            address=address, digest=expected_hash
        )
        try:
            pattern = getattr(published, encoding)()["pat_str"]
        finally:
            published.load_tiktoken_bpe = load
        if hashlib.sha256(ranks).hexdigest() != asked["digest"]:
            msg = f"our vocabulary of {encoding} is not the published one"
            raise ValueError(msg)
        (FOLDER / "tiktoken" / hashlib.sha1(asked["address"].encode()).hexdigest()).write_bytes(ranks)
        (FOLDER / f"{encoding}.json").write_text(json.dumps(_tokenizer_json(tokens, pattern)))


def write_corpus(name: str, texts: Sequence[str]) -> None:
    """Writes a corpus for ``read_corpus`` of another process."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(texts))


def read_corpus(name: str) -> list[str]:
    return json.loads((FOLDER / f"{name}.json").read_text())


def machine() -> str:
    """Processor, cores and Python, for the head of a table."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return f"{cpu[1] if cpu else platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def _tokenizer_json(tokens: list[bytes], pattern: str) -> dict:
    """Return the encoding as a ``tokenizer.json``."""
    visible = _visible_bytes()
    names = ["".join(visible[byte] for byte in token) for token in tokens]
    ranks = {token: rank for rank, token in enumerate(tokens)}
    merges = [[names[ranks[part]] for part in _parts(token, ranks)] for token in tokens if len(token) > 1]
    pattern = pattern.replace("{1,3}+", "{1,3}")  # its regex engine has no possessive {m,n}+
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    vocab = {name: rank for rank, name in enumerate(names)}
    return {
        "version": "1.0",
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
        "model": {"type": "BPE", "vocab": vocab, "merges": merges, "ignore_merges": True},
    }


def _parts(token: bytes, ranks: dict[bytes, int]) -> list[bytes]:
    """The two tokens that merge into this one: the result of byte pair encoding just before the last merge."""
    parts = [token[i : i + 1] for i in range(len(token))]
    own = ranks[token]
    while len(parts) > 2:
        pairs = [(ranks.get(parts[i] + parts[i + 1], own), i) for i in range(len(parts) - 1)]
        rank, at = min(pairs)
        if rank >= own:
            msg = f"{token!r} is not the result of any merge"
            raise ValueError(msg)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def _visible_bytes() -> list[str]:
    """GPT-2's character for each byte: the byte itself where it is printable, else the next one from U+0100 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]
