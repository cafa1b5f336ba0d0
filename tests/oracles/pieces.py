"""What SentencePiece means: texts are rewritten by rules, and laid with the pieces whose scores have the best sum."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

PENALTY = 10.0
"""What a character without a piece costs more than the worst piece."""

LARGE = 100_000.0
"""Beyond this size a sum of the package `sentencepiece` begins again at 0."""


def single(number: float) -> float:
    """Return a number in single precision."""
    return struct.unpack("<f", struct.pack("<f", number))[0]


@dataclass(frozen=True)
class Rewriting:
    """How a `.model` rewrites texts: rules for characters, and what becomes of spaces."""

    rules: dict[str, str] = field(default_factory=dict)
    whole: tuple[str, ...] = ()
    prefix: bool = True
    suffix: bool = False
    strips: bool = False

    def __call__(self, text: str) -> str:
        """Return the text that is laid."""
        parts = []
        while text:
            old = max((one for one in self.whole if text.startswith(one)), key=len, default="")
            new = old
            if not old:
                old = max((one for one in self.rules if text.startswith(one)), key=len, default=text[0])
                new = self.rules.get(old, old)
            parts.append(new)
            text = text[len(old) :]
        while self.strips and parts and parts[0] == " ":
            parts.pop(0)
        if not parts:
            return ""
        written, after_space = "", self.strips
        for part in parts:
            kept = part.lstrip(" ") if after_space else part
            written += kept.replace(" ", "▁")
            if kept:
                after_space = self.strips and kept.endswith(" ")
        if self.prefix and not self.suffix:
            written = "▁" + written
        if self.strips:
            written = written.rstrip("▁")
        return written + "▁" * (self.prefix and self.suffix)


def lay(text: str, scores: dict[str, float], unknown: float, *, keeps_single: bool) -> list[tuple[str, bool]]:
    """Return the pieces of a text, and whether each is a character without a piece."""
    rounded = single if keeps_single else float
    best: list[tuple[float, int, bool] | None] = [None] * (len(text) + 1)
    best[0] = (0.0, 0, False)
    longest = max(map(len, scores), default=0)
    for start in range(len(text)):
        before = best[start][0]
        if keeps_single and abs(before) > LARGE:
            for place in range(start, len(text) + 1):
                if best[place]:
                    best[place] = (rounded(best[place][0] - before), *best[place][1:])
            before = 0.0
        ways = [(end, scores.get(text[start:end]), False) for end in range(start + 1, start + longest + 1)]
        ways = [way for way in ways if way[1] is not None and way[0] <= len(text)]
        if not any(end == start + 1 for end, _, _ in ways):
            ways.append((start + 1, unknown, True))
        for end, score, is_unknown in ways:
            total = rounded(score + before)
            if best[end] is None or total > best[end][0]:
                best[end] = (total, start, is_unknown)
    pieces, end = [], len(text)
    while end:
        _, start, is_unknown = best[end]
        pieces.append((text[start:end], is_unknown))
        end = start
    return pieces[::-1]


def bonus(text: str) -> float:
    """Return the score of a text that a user defined."""
    return single(len(text.encode()) * 0.1 - 0.1)


def model_tokens(
    text: str, scores: dict[str, float], rewriting: Rewriting, *, has_bytes: bool, unused: tuple[str, ...] = ()
) -> int:
    """Return the tokens of a text in a `.model` of pieces with scores."""
    unknown = single(min(map(single, scores.values())) - PENALTY)
    known = {piece: single(score) for piece, score in scores.items() if piece not in unused}
    known |= {piece: bonus(piece) for piece in rewriting.whole}
    tokens, was_unknown = 0, False
    for piece, is_unknown in lay(rewriting(text), known, unknown, keeps_single=True):
        if is_unknown and has_bytes:
            tokens += len(piece.encode())
        elif not (is_unknown and was_unknown):
            tokens += 1
        was_unknown = is_unknown
    return tokens


def charsmap(rules: dict[str, str]) -> bytes:
    """Return rules as files have them: the size of a double array, the array, and the texts, each up to a NUL.

    Each node has a block of its own, so no two share a place.
    """
    empty = 0xFE  # leads to no byte of UTF-8
    units, texts = [0] + [empty] * 255, b""
    tree: dict[int, dict] = {}
    for old, new in sorted(rules.items()):
        node = tree
        for byte in old.encode():
            node = node.setdefault(byte, {})
        node[-1] = len(texts)
        texts += new.encode() + b"\0"
    todo = [(0, tree)]
    while todo:
        place, node = todo.pop()
        base = len(units)
        units += [empty] * 256
        units[place] |= (place ^ base) << 10 | (0x100 if -1 in node else 0)
        for byte, child in node.items():
            if byte == -1:
                units[base] = child | 1 << 31
            else:
                units[base ^ byte] = byte
                todo.append((base ^ byte, child))
    return struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + texts
