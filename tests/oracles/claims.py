"""Whether words stand in a text, and which lines of a long result stay: slow versions of ``_core``'s."""

from __future__ import annotations

import re

_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+"
)


def words(text: str) -> list[str]:
    """The words of a text in lower case; a unit behind digits is a word of its own."""
    found = []
    for word in _WORD.findall(text.lower()):
        unit = re.fullmatch(r"([0-9]+)([a-z]{1,3})", word)
        found += unit.groups() if unit else [word]
    return found


def stands(quotation: str, source: str) -> bool:
    """Whether the words of a quotation stand side by side in a source, as it is or without its escapes."""
    wanted = words(quotation)
    plain = re.sub(r"\\(?:[nrt]|(.))", lambda escape: escape[1] or " ", source, flags=re.DOTALL)
    for text in (source, plain):
        held = words(text)
        if any(held[at : at + len(wanted)] == wanted for at in range(len(held) - len(wanted) + 1)):
            return True
    return not wanted
