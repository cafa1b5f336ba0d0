"""An earlier summary, taken apart so that it is updated and not nested."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, get_args

from .errors import NOT_SHOWN, SOLVED, green
from .open import LAST, tasks
from .runs import LATER_CLEAN, LATER_OK, plain
from .said import RULE
from .text import Line, Section, clean, is_code, sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracles.offline.parts import Part

SECTIONS: tuple[Section, ...] = get_args(Section)

_RANKS: dict[str, float] = {
    "Requests": 1.0,
    "Earlier": 0.6,
    "Decisions": 0.6,
    "Commands": 0.3,
    "Errors": 0.4,
    "Open items": 0.3,
}
_DONE = ("edited", "created", "deleted", "read")


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
    ours = any(raw.startswith("## ") and raw[3:].strip() in SECTIONS for raw in raws)
    for raw in raws:
        heading = next((one for one in SECTIONS if raw.rstrip() == f"## {one}"), None)
        if ours and heading:
            section = heading
        elif section in {"Files", "Identifiers"} and raw.startswith("- "):
            label, _, rest = raw[2:].partition(": ")
            folder = rest.strip() if label == "root" else folder
            if label not in {"root", *_DONE}:
                lists.append(rest)
            elif label != "root":
                paths = [path if path[0] in "/~" or not folder else f"{folder}/{path}" for path in rest.split()]
                found.files += [(path, label) for path in paths]
        elif section and raw.startswith("- "):
            told = clean(raw[2:], 500)
            place: Section = "Decisions" if told.startswith(LAST) else section
            rules = place == "Requests" and RULE.search(told)
            found.lines.append(Line(place, told.removeprefix(LAST), 2.0 if rules else _RANKS[place], 0))
        else:
            found.lines += [Line("Earlier", one, _RANKS["Earlier"], 0) for one in sentences(raw)]
    for at, line in enumerate(found.lines):
        line.at = at - len(found.lines)
        if line.rank > 1:
            line.rank += 0.002 * -line.at
        if line.section == "Earlier" and is_code(line.text):
            line.rank *= 0.4
    found.names = "\n".join([*lists, *(line.text for line in found.lines)])
    return found


_COMMAND = re.compile(r"(`[^`]*`.*?)(?: \(x\d+\))?(?:: (ok|exit 0|exit|failed|no result|not known|output shows)\b|$)")
_TIMES = re.compile(r"(?: \(x\d+\))?$")


def update(before: Earlier, new: Iterable[Line], parts: Sequence[Part]) -> None:
    """Brings an earlier summary's commands and errors up to date with what the parts ran.

    What is told anew goes, and a failed command that went well, or whose later call shows no failure, says so. So does
    each error where every command that had failed went well: a guess, as an error line does not say where it came from.
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
            later = endings.since(plain(run[1].strip("`")), -1)
            if later:
                well += 1
                line.text = line.text.removesuffix(LATER_CLEAN) + LATER_OK
            elif later is False:
                line.text = line.text.removesuffix(LATER_CLEAN) + LATER_CLEAN
    for line in before.lines:
        if line.section == "Errors" and 0 < failed == well:
            line.text = _without_later(line.text) + SOLVED
    before.lines = [one for one in before.lines if one.section not in _RUN or _bare(one.text) not in told]


_RUN = {"Commands", "Errors"}


def _bare(text: str) -> str:
    run = _COMMAND.match(text)
    return run[1] if run else re.sub(r"\d+", "0", _TIMES.sub("", _without_later(text)))


def _without_later(text: str) -> str:
    return text.removesuffix(SOLVED) if text.endswith(SOLVED) else text.removesuffix(NOT_SHOWN)


def still_open(line: Line, parts: Sequence[Part]) -> bool:
    """Whether a line of an earlier summary holds after these parts: open items end with what comes."""
    if line.section != "Open items" or not parts:
        return True
    if line.text.startswith(("pending: ", "in progress: ")):
        return not tasks(parts)
    return not line.text.startswith(("no result yet: ", "not answered yet: "))
