"""An earlier summary, taken apart so that it is updated and not nested."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from . import worth
from .announced import waits
from .errors import NOT_SHOWN, OF, SOLVED, green
from .language import NAMED
from .open import LAST, NUMBERED, tasks
from .runs import LATER_CLEAN, LATER_OK, plain
from .said import is_opened, project_rank, rank_of
from .text import Line, Section, clean, is_code, sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracles.offline.parts import Part

_RANKS: dict[str, float] = {
    "Requests": 1.0,
    "Earlier": 0.6,
    "Decisions": 0.6,
    "Commands": 0.3,
    "Errors": 0.4,
    "Open items": 0.3,
}
_DONE = ("edited", "created", "deleted", "read")


INSIDE = "… "
"""Prefix of a paragraph from inside of a longer message."""
DEEP = 8
"""Number of such a paragraph, of which nobody knows where it stood."""
CHILD = 4
"""Least number of a paragraph that stands below the first of its message."""
LABEL_ALONE = re.compile(r"- [A-Z][^\W\d_]*(?: [^\W\d_]+){0,2}:$")


@dataclass(slots=True)
class Earlier:
    """The content of an earlier summary.

    Attributes:
        lines: its lines, in order, at negative positions.
        files: paths and what was done to them.
        names: the text whose names count again.
    """

    lines: list[Line] = field(default_factory=list)
    files: list[tuple[str, str]] = field(default_factory=list)
    names: str = ""


def earlier(text: str | None) -> Earlier:
    """An earlier summary by section if it is one of ours, else its sentences."""
    found = Earlier()
    if not text or not text.strip():
        return found
    section: Section | None = None
    lists: list[str] = []
    folder = ""
    raws = text.split("\n")
    ours = any(raw.startswith("## ") and raw[3:].strip() in NAMED for raw in raws)
    brief = raws[0].startswith("- ") and all(raw.startswith(("- ", "  - ", "## ")) for raw in raws if raw)
    if brief:
        ours, section = True, "Requests"  # a brief one has no heading of the user's lines
    label, number, children = "", 0, set[int]()
    for whole in raws:
        raw = whole
        if ours and raw.startswith("  - "):
            raw = f"- {label} {raw[4:]}" if label else raw[2:]
            number = 0 if label else max(number + 1, CHILD)
        else:
            number = 0
            label = raw[2:] if LABEL_ALONE.match(raw) else ""
            if ours and label:
                continue
        heading = NAMED.get(raw.rstrip()[3:]) if raw.startswith("## ") else None
        if ours and heading:
            section = heading
        elif section in {"Files", "Identifiers"} and raw.startswith("- "):
            done, _, rest = raw[2:].partition(": ")
            folder = rest.strip() if done == "root" else folder
            if done not in {"root", *_DONE}:
                lists.append(rest)
            elif done != "root":
                paths = [path if path[0] in "/~" or not folder else f"{folder}/{path}" for path in rest.split()]
                found.files += [(path, done) for path in paths]
        elif section and raw.startswith("- "):
            told = clean(raw[2:], 500)
            line, is_child = _line(told, section, number, found.lines, brief=brief)
            number = line.number
            if is_child:
                children.add(len(found.lines))
            found.lines.append(line)
        else:
            found.lines += [Line("Earlier", one, _RANKS["Earlier"], 0) for one in sentences(raw)]
    at = -len(found.lines)
    for place, line in enumerate(found.lines):
        at += place > 0 and place not in children
        line.at = at
        if line.section == "Earlier" and is_code(line.text):
            line.rank *= 0.4
    found.names = "\n".join([*lists, *(line.text for line in found.lines)])
    return found


def _line(told: str, section: Section, number: int, before: Sequence[Line], *, brief: bool) -> tuple[Line, bool]:
    """An item of a section as a line, and whether it stands below another one."""
    place: Section = "Decisions" if told.startswith(LAST) else section
    told = told.removeprefix(LAST)
    if place == "Project rules":
        return Line(place, told, project_rank(worth.said(told)), 0, number), False
    if place not in {"Rules", "Requests"}:
        return Line(place, told, _RANKS[place], 0, number), False
    is_child = number > 0 and not told.startswith(INSIDE)
    if told.startswith(INSIDE):
        told, number = told.removeprefix(INSIDE), DEEP
    does = worth.with_limit(told)
    if section != "Rules" and not brief and is_code(told):
        does = replace(does, rule=False)  # a block of code stands among the requests, whatever its remarks say must be
    place = "Rules" if does.binds and not is_opened(told) else "Requests"
    is_first = not before or (before[-1].section == "Rules" and place != "Rules")
    return Line(place, told, rank_of(told, does, min(number, DEEP), 0.5 * is_first), 0, number), is_child


_COMMAND = re.compile(r"(`[^`]*`.*?)(?: \(x\d+\))?(?:: (ok|exit 0|exit|failed|no result|not known|output shows)\b|$)")
_TIMES = re.compile(r"(?: \(x\d+\))?$")


def update(before: Earlier, new: Iterable[Line], parts: Sequence[Part]) -> None:
    """Brings an earlier summary's commands and errors up to date with what the parts ran.

    What is told anew goes, and a failed command that went well, or whose later call shows no failure, says so. So does
    an error that names its file or tool by the last call of that, and each other one where every command that had
    failed went well: a guess, as such a line does not say where it came from.
    """
    if not any(line.section in _RUN for line in before.lines):
        return
    endings = green(parts)
    told = {_bare(line.text) for line in new}
    failed, well = 0, 0
    for line in before.lines:
        run = _COMMAND.match(line.text) if line.section == "Commands" else None
        if run and run[2] in {"exit", "failed"} and not line.text.endswith(LATER_OK):
            failed += 1
            later = endings.since(plain(run[1].replace("`", "")), -1)
            if later:
                well += 1
                line.text = line.text.removesuffix(LATER_CLEAN) + LATER_OK
            elif later is False:
                line.text = line.text.removesuffix(LATER_CLEAN) + LATER_CLEAN
    for line in before.lines:
        if line.section == "Errors":
            text = _without_later(line.text)
            tool = re.search(r" \(([^()\s]+)\)\Z", _TIMES.sub("", text))
            later = endings.since(OF + tool[1], -1) if tool else True if 0 < failed == well else None
            if later:
                line.text = text + SOLVED
            elif later is False and not line.text.endswith(SOLVED):
                line.text = text + NOT_SHOWN
    before.lines = [one for one in before.lines if one.section not in _RUN or _bare(one.text) not in told]


_RUN = {"Commands", "Errors"}


def _bare(text: str) -> str:
    run = _COMMAND.match(text)
    return run[1] if run else re.sub(r"\d+", "0", _TIMES.sub("", _without_later(text)))


def _without_later(text: str) -> str:
    return text.removesuffix(SOLVED) if text.endswith(SOLVED) else text.removesuffix(NOT_SHOWN)


def still_open(line: Line, parts: Sequence[Part]) -> bool:
    """Whether a line of an earlier summary holds after these parts: open items end with what comes."""
    if line.section == "Open items" and NUMBERED.fullmatch(line.text):
        return False  # what is made of it stands among the new lines
    if line.section != "Open items" or not parts:
        return True
    if line.text.startswith(("pending: ", "in progress: ")):
        return not tasks(parts, ())
    if waits(line.text) and any(part.kind == "assistant" for part in parts):
        return False
    return not line.text.startswith(("no result yet: ", "not answered yet: "))
