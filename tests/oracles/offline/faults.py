"""The lines of a tool's result that report a failure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .text import clean, is_code

if TYPE_CHECKING:
    from collections.abc import Iterator

_FAULTS = (
    "error",
    "fail",
    "exception",
    "panic",
    "fatal",
    "traceback",
    "cannot",
    "not found",
    "denied",
    "undefined",
    "unable",
    "err!",
    "uch file",
    "egmentation fault",
    "core dumped",
    "not recogni",
)
_FAULT = re.compile(
    r"(?<!\b0 )(?<!\bno )\b(?:\w*error(?:\[\w+\])?|\w*exception|panic|fatal|traceback|fail(?:ed|ure)?|cannot|unable"
    r"|denied|not found|undefined)\b",
    re.IGNORECASE,
)
_TELLS = re.compile(r"[a-z] fail(?: [a-z]|[.,])")
"""Fail as the verb of a sentence: of what may happen, not of what did."""
_SURE = re.compile(
    r"\b(?:command not found|no such file or directory|permission denied|segmentation fault|core dumped"
    r"|is not recognized as)\b|^npm err!|^\S*make\S* \*\*\* .*\berror \d+",
    re.IGNORECASE,
)
_LOCATED = re.compile(r"[^\s:]+(?::\d+)+: (?:fatal )?error\b")
_LISTED = re.compile(
    r"\s*\d+(?:→|\t)|[+-]|\s+[+-]\s|\s*[$>]\s|\S+[:-]\d+[:-]\s|.*[{;,]\s*$|.*[\"'`],\s*$"
    r"|\s*(?:#{1,6} |\(pass\) |echo |\*\*|\? )|\s*[\w@~.-]*/[\w@~./-]*\s*$"
    r"|\s*[Ee]rrors?: ?\(?(?:none|null|0|false)\)?\s*$"
)


def faults(text: str, *, most: int = 12) -> Iterator[str]:
    """The error lines of a tool's result, clean."""
    for raw in _suspects(text):
        reports = _FAULT.search(_TELLS.sub(" ", " ".join(raw[:200].split()[:6]))) or _SURE.search(raw[:200])
        listed = _LISTED.match(raw) and not _LOCATED.match(raw)
        if 10 <= len(raw) <= 600 and reports and not listed:
            found = clean(raw, 200)
            if not is_code(found):
                yield found
                most -= 1
        if not most:
            return


def _suspects(text: str) -> Iterator[str]:
    """The lines with one of the error words in any case; quick, as most results have none."""
    low = text.lower()
    source = text if len(low) == len(text) else low
    spans = set()
    for word in _FAULTS:
        at = low.find(word)
        while at >= 0:
            start, end = source.rfind("\n", 0, at) + 1, source.find("\n", at)
            spans.add((start, end if end >= 0 else len(source)))
            at = low.find(word, end) if end >= 0 else -1
    for start, end in sorted(spans):
        yield source[start:end]
