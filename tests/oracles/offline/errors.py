"""Error lines that a summary may keep, and whether the same action succeeded later."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import log2
from typing import TYPE_CHECKING

from oracles.offline.parts import PRUNED

from .looks import looks
from .runs import EDITS, WRITES, Endings, chain, command, file, outcome, refused, target
from .text import Line, clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from oracles.offline.parts import Part


@dataclass(slots=True)
class _Fault:
    text: str
    at: int
    keys: set[str] = field(default_factory=set)
    times: int = 0


_VIEWS = re.compile(r"read|view|cat|grep|glob|ls|search|fetch|open", re.IGNORECASE)


def errors(parts: Sequence[Part], calls: Mapping[str, Part], size: int) -> Iterator[Line]:
    """Error lines of the first ``size`` messages, each once, and whether the same action succeeded later."""
    found: dict[str, _Fault] = {}
    endings = Endings()
    results = [part for part in parts if part.kind == "result"]
    logged = {_alike(line) for part in results for line in outcome(part).logged}
    for part in parts:
        if part.kind != "result" or refused(part):
            continue
        call = calls.get(part.id)
        key = target(call)
        failed = outcome(part).failed
        if not failed and part.hidden != PRUNED:
            endings.well(key, part.at, is_ok=outcome(part).is_ok)
            for one in [] if outcome(part).shows_failure else chain(call):
                endings.well(one, part.at, is_ok=outcome(part).is_ok)
        if not failed and not outcome(part).shows_failure:
            continue
        if not failed and call and (_VIEWS.match(call.name) or looks(command(call))):
            continue
        name = file(call) if part.is_error is True else ""
        tool = call.name if call and not command(call) and not file(call) else ""
        for line in _about(part, name) if name else _told_once(part):
            text = f"{line} ({clean(tool, 80)})" if tool and not set(tool) & set("() ") else line
            alike = _alike(text)
            if alike in logged:
                continue
            if part.at >= size and alike not in found:
                continue
            fault = found.setdefault(alike, _Fault(text, part.at))
            fault.text, fault.at, fault.times = text, part.at, fault.times + 1
            fault.keys.add(key)
            if not failed:
                endings.ill(key)
    for fault in found.values():
        later = [ended for key in fault.keys if key and (ended := endings.since(key, fault.at)) is not None]
        times = f" (x{fault.times})" if fault.times > 1 else ""
        rank = 0.5 + 0.4 * min(fault.at / size, 1) + 0.1 * min(log2(fault.times), 3) - 0.3 * bool(later)
        rank *= 0.3 if fault.text.startswith("Traceback (") else 1
        suffix = (SOLVED if any(later) else NOT_SHOWN) if later else ""
        yield Line("Errors", fault.text + times + suffix, rank, fault.at)


def green(parts: Sequence[Part]) -> Endings:
    """Successful actions."""
    calls = {part.id: part for part in parts if part.kind == "call"}
    endings = Endings()
    for part in parts:
        if part.kind == "result" and (call := calls.get(part.id)):
            path = file(call)
            changes = EDITS.search(call.name) or WRITES.search(call.name)
            named = path.rsplit("/", maxsplit=1)[-1] if path else call.name
            of = OF + clean(named, 80) if not command(call) and (changes or not path) else ""
            if outcome(part).shows_failure:
                endings.ill(target(call))
                endings.ill(of)
            elif part.hidden != PRUNED and (not looks(command(call)) or not command(call)):
                for one in [*chain(call), target(call)]:
                    endings.well(one, part.at, is_ok=outcome(part).is_ok)
                if of:
                    endings.well(of, part.at, is_ok=outcome(part).is_ok)
    return endings


OF = "of "
"""Prefix of the key of a file or a tool that an error line names."""

SOLVED = " (resolved)"
"""Suffix of an error whose action succeeded later."""
NOT_SHOWN = " (a later call shows none)"
"""Suffix of an error if a later call shows no error, but states no outcome."""
_COUNTED = re.compile(r"[= ]*\d+ (?:failed|passed|failing|passing|errors?)\b")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def _about(part: Part, name: str) -> list[str]:
    """The first line of a refused change or read, with the file's name: the lines behind it quote the call.

    None where its words are gone.
    """
    line = clean(_untagged(part.text).split("\n")[0], 200)
    short = name.rsplit("/", maxsplit=1)[-1]
    if not line:
        return []
    return [line if short in line or "/" in line else f"{line} ({clean(short, 80)})"]


def _untagged(text: str) -> str:
    return text.strip().removeprefix("<tool_use_error>").removesuffix("</tool_use_error>").strip()


def _told_once(part: Part) -> list[str]:
    """The error lines of a result, without those that another one holds, and without the count of the tests."""
    lines = outcome(part).errors
    if not lines and not outcome(part).tests_passed and part.is_error and len(part.text) > 16:
        lines = [clean(_untagged(part.text), 200)]
    bare = [line.removeprefix("E ") for line in lines]
    held = [one for at, one in enumerate(lines) if not any(bare[at] in more for more in lines if more != one)]
    return [one for one in held if not _COUNTED.match(one)]


def _alike(text: str) -> str:
    """An error line with what differs between two of a kind made alike: digits, and names in quotes if much is left."""
    plain = _QUOTED.sub("0", text)
    return re.sub(r"\d+", "0", plain if len(plain) > 40 else text)
