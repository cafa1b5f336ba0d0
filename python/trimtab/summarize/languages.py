"""The language of a text, by its letters and its commonest words; none where they do not tell."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final, Literal, get_args

SectionName = Literal["rules", "requests", "decisions", "errors"]

_LANGUAGES: Final[dict[str, dict[str, Any]]] = tomllib.loads(
    Path(__file__).with_name("languages.toml").read_text("utf-8")
)

NAMES: Final[dict[str, str]] = {code: each["name"] for code, each in _LANGUAGES.items()}
"""Languages by their code."""

_TABLE: Final = {code: frozenset(each["words"].split()) for code, each in _LANGUAGES.items() if "words" in each}

HEADINGS: Final = {code: tuple[str, ...](each["headings"]) for code, each in _LANGUAGES.items() if "headings" in each}
"""Headings of rules, requests, files and open items, and the words for a written file and the first request."""

SECTIONS: Final[dict[str, SectionName]] = {
    title: section
    for each in _LANGUAGES.values()
    if "sections" in each
    for title, section in zip(each["sections"], get_args(SectionName), strict=True)
}
"""Sections of an offline summary by their heading in small letters."""

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+|\S*[/_\\=<>{}()]\S*", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+")
_SCRIPTS: Final = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7af]")),
    ("zh", re.compile("[\u4e00-\u9fff]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
)
_LETTERS = re.compile(r"[^\W\d_]")

MOST = 20_000
"""Characters of a text that are read."""

SHARE = 0.15
"""Share of the letters from which a script decides: a word of another language is longer, and names are Latin."""

LETTERS = 10
"""Letters of another script for each common word of a language in which a text quotes them."""

LEAST = 6
"""Common words that tell a language of Latin letters."""


def language(text: str) -> str | None:
    """Return the code of a text's language, or None if its words do not tell."""
    text = _CODE.sub(" ", text[:MOST])
    letters = len(_LETTERS.findall(text))
    if not letters:
        return None
    for code, script in _SCRIPTS:
        if len(script.findall(text)) >= SHARE * letters:
            return code
    hits = hits_of(text)
    best, second = sorted(hits.values(), reverse=True)[:2]
    if best < LEAST or best < 1.3 * second:
        return None
    return max(hits, key=lambda code: hits[code])


def is_both(text: str, one: str, other: str) -> bool:
    """Return whether a text in one language also has many common words that only the other has: it quotes one."""
    if other not in _TABLE:
        return False
    words = [word.lower() for word in _WORD.findall(text)]
    others = sum(word in _TABLE[other] - _TABLE.get(one, frozenset()) for word in words)
    if one not in _TABLE:
        letters = sum(len(script.findall(text)) for code, script in _SCRIPTS if code == one)
        return LETTERS * others > letters
    return 3 * others > sum(word in _TABLE[one] - _TABLE[other] for word in words)


def hits_of(text: str) -> dict[str, int]:
    """Return the number of common words of each language of Latin letters in a text."""
    words = [word.lower() for word in _WORD.findall(text)]
    return {code: sum(word in common for word in words) for code, common in _TABLE.items()}
