"""Whether whoever goes on has to know a sentence, by a linear model over its words and pieces of words.

``tools/learn_worth.py`` learns the weights by these features.
"""

from __future__ import annotations

import re
from functools import cache
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SIZE = 1 << 16
"""Number of the weights."""
UNIT = 16
"""The weight that stands for one."""
MARK = 0.5
"""What a mark counts, of which the pieces together count the root of their number."""
WIDE = "\u2e80"
"""The first character of the scripts whose words have no blanks between."""
WEIGHTS = Path(__file__).parents[3] / "rust" / "core" / "src" / "offline" / "learned.bin"
ENDS = {"?": "?", "\uff1f": "?", "!": "!", "\uff01": "!", ".": ".", "\u3002": ".", ":": ":", "\uff1a": ":"}
_WORD, _DIGIT = re.compile(r"\w+"), re.compile(r"\d")


def pieces(text: str) -> list[int]:
    """The places of the words, the pairs of words and the pieces of words."""
    out: list[int] = []
    before = None
    for number, word in enumerate(_WORD.findall(_DIGIT.sub("0", text.lower()))):
        if any(c >= WIDE for c in word):
            out += [place("c", piece) for piece in _cut(word, (1, 2, 3))]
            before = None
            continue
        out.append(place("w", word))
        if number == 0:
            out.append(place("f", word))
        if before is not None:
            out.append(place("b", f"{before} {word}"))
        before = word
        out += [place("c", piece) for piece in _cut(f"<{word}>", (3, 4, 5))]
    return out


def form(text: str) -> list[int]:
    """The places of the marks of how a text is written."""
    words = len(_WORD.findall(text)) + sum(c >= WIDE for c in text) // 2
    size = next((n for n, most in enumerate((2, 4, 7, 12, 20)) if words <= most), 5)
    numbers = len(re.findall(r"\d+", text))
    names = ["bias", f"size{size}", f"digits{min(numbers, 3)}"]
    if text[-1:] in ENDS:
        names.append(f"end{ENDS[text[-1]]}")
    return marks(names)


def marks(names: Iterable[str]) -> list[int]:
    """The places of marks."""
    return [place("d", name) for name in names]


def known(text: str, marked: Iterable[int]) -> float:
    """Evidence that a sentence has to be known: the logarithm of its odds, if half of all sentences had to be."""
    weights, found = _weights(), pieces(text)
    told = sum(weights[at] for at in found) / sqrt(max(len(found), 1))
    return (told + MARK * sum(weights[at] for at in marked)) / UNIT


@cache
def place(kind: str, text: str) -> int:
    """The place of a feature: its FNV-1a hash, folded."""
    state = 0x811C9DC5
    for byte in f"{kind}{text}".encode():
        state = ((state ^ byte) * 0x01000193) & 0xFFFFFFFF
    return (state ^ (state >> 16)) % SIZE


def _cut(word: str, sizes: tuple[int, ...]) -> list[str]:
    return [word[at : at + size] for size in sizes for at in range(len(word) - size + 1)]


@cache
def _weights() -> list[int]:
    return [byte - 256 if byte > 127 else byte for byte in WEIGHTS.read_bytes()]
