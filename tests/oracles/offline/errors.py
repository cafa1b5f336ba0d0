"""What went wrong: error lines that a summary may keep, and whether the same went well later."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import log2
from typing import TYPE_CHECKING

from .runs import Endings, command, looks, outcome, target
from .text import Line, clean, is_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from oracles.offline.parts import Part


@dataclass(slots=True)
class _Fault:
    text: str
    at: int
    keys: set[str] = field(default_factory=set)
    times: int = 0


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
)
_FAULT = re.compile(
    r"(?<!\b0 )(?<!\bno )\b(?:\w*error(?:\[\w+\])?|\w*exception|panic|fatal|traceback|fail(?:ed|ure)?|cannot|unable"
    r"|denied|not found|undefined)\b",
    re.IGNORECASE,
)
_LISTED = re.compile(r"\s*\d+(?:→|\t)|[+-]|\S+[:-]\d+[:-]\s|.*[{;]\s*$")
_VIEWS = re.compile(r"read|view|cat|grep|glob|ls|search|fetch|open", re.IGNORECASE)


def faults(text: str, *, most: int = 12) -> Iterator[str]:
    """The error lines of a tool's result, clean."""
    for raw in _suspects(text):
        if 10 <= len(raw) <= 600 and _FAULT.search(" ".join(raw[:200].split()[:6])) and not _LISTED.match(raw):
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


def errors(parts: Sequence[Part], calls: Mapping[str, Part], size: int) -> Iterator[Line]:
    """What went wrong in the first ``size`` messages, each line once, and whether the same went well later."""
    found: dict[str, _Fault] = {}
    endings = Endings()
    for part in parts:
        if part.kind != "result":
            continue
        call = calls.get(part.id)
        key = target(call)
        failed = outcome(part)[1]
        if not failed:
            endings.well(key, part.at)
        if not failed and call and (_VIEWS.match(call.name) or looks(command(call))):
            continue
        for text in _told_once(part):
            alike = _alike(text)
            if part.at >= size and alike not in found:
                continue
            fault = found.setdefault(alike, _Fault(text, part.at))
            fault.text, fault.at, fault.times = text, part.at, fault.times + 1
            fault.keys.add(key)
            if not failed:
                endings.ill(key)
    for fault in found.values():
        solved = any(endings.since(key, fault.at) for key in fault.keys if key)
        times = f" (x{fault.times})" if fault.times > 1 else ""
        rank = 0.5 + 0.4 * min(fault.at / size, 1) + 0.1 * min(log2(fault.times), 3) - 0.3 * solved
        rank *= 0.3 if fault.text.startswith("Traceback (") else 1
        yield Line("Errors", fault.text + times + SOLVED * solved, rank, fault.at)


def green(parts: Sequence[Part]) -> Endings:
    """What went well."""
    calls = {part.id: part for part in parts if part.kind == "call"}
    endings = Endings()
    for part in parts:
        if part.kind == "result" and (call := calls.get(part.id)):
            if outcome(part)[1]:
                endings.ill(target(call))
            elif not looks(command(call)) or not command(call):
                endings.well(target(call), part.at)
    return endings


SOLVED = " (resolved)"
"""What follows an error where the same went well later."""
_COUNTED = re.compile(r"[= ]*\d+ (?:failed|passed|failing|passing|errors?)\b")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def _told_once(part: Part) -> list[str]:
    """The error lines of a result, without those that another one holds, and without the count of the tests."""
    lines = list(faults(part.text)) or ([clean(part.text, 200)] if part.failed and len(part.text) > 16 else [])
    bare = [line.removeprefix("E ") for line in lines]
    held = [one for at, one in enumerate(lines) if not any(bare[at] in more for more in lines if more != one)]
    return [one for one in held if not _COUNTED.match(one)]


def _alike(text: str) -> str:
    """An error line with what differs between two of a kind made alike: digits, and names in quotes if much is left."""
    plain = _QUOTED.sub("0", text)
    return re.sub(r"\d+", "0", plain if len(plain) > 40 else text)
