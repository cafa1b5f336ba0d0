"""Texts of others as one line: without invisible characters, and without credentials."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .. import _core
from .._mask import mask

if TYPE_CHECKING:
    from collections.abc import Iterable

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_WORD = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]|[^\W_]+(?:'[^\W_]+)?")
_LONG_WORD = re.compile(r"\S{160,}")


def words(text: str) -> list[str]:
    """Return the words of a text in lower case; each character of a script that parts no words is one."""
    return [word.lower() for word in _WORD.findall(text)]


def clean(text: str, longest: int = 300) -> str:
    """Return a text as one line without invisible characters, cut at a word to ``longest`` characters."""
    if len(text) > 40 * longest:
        text = text[: 40 * longest]
    text = " ".join(_UNSEEN.sub(" ", _ESCAPES.sub("", text)).split())
    text = _LONG_WORD.sub(lambda word: word[0][:48] + "…", text)
    if len(text) <= longest:
        return text
    cut = text.rfind(" ", longest // 2, longest)
    return text[: cut if cut > 0 else longest] + "…"


def gives_rule(text: str) -> bool:
    """Return whether a text of the user gives a rule, by its words."""
    return bool(_core.facts(([{"role": "user", "content": text}], ()), "")[0])


def quote(text: str, known: Iterable[object] = (), longest: int = 200) -> str:
    """Return a text of another program as ``clean`` does, with its credentials masked.

    Args:
        text: an error message, an answer, or output.
        known: the credentials in use.
        longest: most characters.
    """
    # Masked before it is cut, because half a key cannot be recognized: a cut leaves room for a long one.
    return clean(mask(_ESCAPES.sub("", text[: 40 * longest + 4_096]), known), longest)
