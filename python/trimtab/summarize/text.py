"""A text as one line without invisible characters."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_LONG_WORD = re.compile(r"\S{160,}")


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
