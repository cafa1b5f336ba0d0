"""A text as clean lines: sentences, without the characters that cannot be seen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

Section = Literal[
    "Rules",
    "Project rules",
    "Requests",
    "Earlier",
    "Decisions",
    "Files",
    "Commands",
    "Errors",
    "Identifiers",
    "Open items",
]


@dataclass(slots=True)
class Line:
    """A line that may go into the summary.

    Attributes:
        section: the heading it stands under.
        text: one clean line.
        rank: worth of a token of it; a request is about 1.
        at: the position of its message, negative if an earlier summary had it.
        number: its place among the lines of the message.
        trust: how likely it still holds; its rank, with what its names are worth, is that much lower.
    """

    section: Section
    text: str
    rank: float
    at: int
    number: int = 0
    trust: float = 1.0


_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffd\ud800-\udfff\U000e0000-\U000e007f]"
)
_LONG_WORD = re.compile(r"\S{160,}")
_BULLET = re.compile(r"^[-*+•>#|]+\s+")
_BOLD = re.compile(r"(?<!\S)\*\*([^*\s][^*]{0,200})\*\*(?!\w)")
_SENTENCE = re.compile(r"(?<=[^\d\s][.!?])[)\"'*]*\s+(?=[\"'(`*]?[A-Z0-9])|(?<=[\u3002\uff01\uff1f])")
_ITEM = re.compile(r"\s*(?:[-*+•>]|\d{1,3}[.)]|[A-Za-z][.)])\s")
_ALONE = re.compile(r"\s{0,3}(?:[|#<}\])\[]|\d{4}|[-=*_]{3})|\s{4}|\t")
_COLUMNS = re.compile(r"[^.!?:\s]\s{2,}\S")
_NARROW, _WIDE = 40, 130
"""Lengths of the longest line of a paragraph that somebody wrapped: editors and mail wrap at 60 to 120."""
_CODE = re.compile(
    r"[{};|→]|:=|[=!]=|=>| = |\w\(\)|^(?://|/\*|[*#] |@\w|\.\w|<\w)|^(?:return|elif|func|const|import [\"{*])"
    r"|^(?:var|let|const|def|class|type|struct|if|else|for|while|import|from|use|pub|fn|export|async|raise|throw|switch"
    r"|case|try|except|catch|assert|public|private|static)\b.*[(){}:=,;]"
)


def clean(text: str, longest: int = 300) -> str:
    """A text as one line without characters that cannot be seen, cut to a length at a word."""
    if len(text) > 40 * longest:
        text = text[: 40 * longest]
    text = " ".join(_UNSEEN.sub(" ", _ESCAPES.sub("", text)).split())
    text = _LONG_WORD.sub(lambda word: word[0][:48] + "…" if word[0][:48].isascii() else word[0], text)
    if len(text) <= longest:
        return text
    cut = text.rfind(" ", longest // 2, longest)
    return text[: cut if cut > 0 else longest] + "…"


def sentences(text: str, longest: int = 300) -> Iterator[str]:
    """The sentences of a text, each a clean line without list marks and bold."""
    for raw in unwrapped(text):
        for one in _SENTENCE.split(raw) if len(raw) > 60 else [raw]:
            if found := bare(one, longest):
                yield found


def bare(text: str, longest: int) -> str:
    """A clean line without a list mark and bold; empty if nothing of it is a letter or a number."""
    found = _BULLET.sub("", _BOLD.sub(r"\1", clean(text, longest)))
    return found if any(map(str.isalnum, found)) else ""


def split(text: str) -> list[str]:
    """The sentences of a line."""
    return _SENTENCE.split(text)


def unwrapped(text: str) -> Iterator[str]:
    """The lines of a text; those of a paragraph that was wrapped are one, those of lists, code and tables are not."""
    block: list[str] = []
    fenced = False
    for raw in text.splitlines():
        fence = raw.lstrip().startswith("```")
        alone = fence or fenced or not raw.strip() or _stands_alone(raw)
        fenced ^= fence
        if alone or _ITEM.match(raw):
            yield from _joined(block)
            block = []
        if not alone:
            block.append(raw)
        elif raw.strip():
            yield raw
    yield from _joined(block)


def _stands_alone(raw: str) -> bool:
    """Whether a line is no part of a paragraph: a heading, indented, or of a table, a log, a program."""
    return bool(_ALONE.match(raw)) or raw.rstrip()[-1] in "{};" or bool(_COLUMNS.search(raw[:400]))


def _joined(block: list[str]) -> Iterator[str]:
    """A paragraph's lines; one goes on with the next if the next one's first word had no place in it."""
    width = max(map(len, block), default=0)
    held: list[str] = []
    before = ""
    for raw in block:
        first = raw.split(None, 1)[0]
        full = len(before) + 1 + len(first) > width and _NARROW <= width <= _WIDE
        if held and not (full and (first[0].islower() or before.rstrip()[-1] not in ".!?:;")):
            yield " ".join(held)
            held = []
        held.append(raw.strip() if held else raw)
        before = raw
    if held:
        yield " ".join(held)


def is_code(line: str) -> bool:
    """Whether a line looks like source code rather than words."""
    return bool(_CODE.search(line))


def without_code(text: str) -> str:
    """A text without what stands between code fences."""
    return "\n".join(text.split("```")[::2]) if "```" in text else text
