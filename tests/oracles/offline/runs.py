"""What was run: commands as lines that a summary may keep, and how each thing that was run or changed ended."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING

from .text import Line, clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from oracles.offline.parts import Part

EDITS = re.compile(r"edit|replace|patch|update|notebook|insert", re.IGNORECASE)
WRITES = re.compile(r"write|create|save", re.IGNORECASE)

_EXIT = re.compile(r"(?:exit(?:ed)?(?: with)?(?: code| status)?|returncode\"?)[:=]? *(-?\d+)", re.IGNORECASE)
_TESTS = re.compile(
    r"^.*\b\d+ (?:passed|failed|errors?|passing|failing|problems?|issues?|tests?)\b.*$|^test result:.*$"
    r"|^Tests:.*$|^FAIL\b.*$",
    re.MULTILINE,
)
_LOOKS = re.compile(
    r"\s*(?:bash -l?c ['\"]|[A-Z_]+=\S*\(?|cd|true|sort|uniq|cut|tr|xargs|awk|jq|nl|cat|ls|sed -n|head|tail"
    r"|rg|grep|find|wc|pwd|which|echo|tree|file|stat|git (?:diff|show|log|status|blame))\b"
)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_CHANGES = re.compile(
    r"\b(?:test|build|lint|check|fmt|install|run|make|cargo|pytest|npm|pnpm|yarn|bun|go|docker|deploy|migrate|commit|push|merge"
    r"|rebase|checkout|switch|branch|tag|release|curl|gh)\b"
)


_FAILING = re.compile(r"\b[1-9]\d* (?:failed|failing|errors?)\b|^test result: FAILED|^FAIL\b")
_HEREDOC = re.compile(r"<<-?\s*[\"']?(\w+)[\"']?")
_SHOWS = re.compile(r"\s*(?:2>&1|[12]?>\s*/dev/null|\|\s*(?:tail|head|grep|tee|cat|less)\b[^|&;]*)")
_VERBOSE = re.compile(r"\s(?:-[qvsx]{1,3}|--(?:quiet|verbose|no-header|tb=\w+|colou?r(?:=\w+)?))(?=\s|$)")
_MEANS_NOTHING = re.compile(r"\s*(?:import |from \S+ import |use |#!|set -|package |$)")


def command(part: Part) -> str:
    """The shell command of a call, empty if it is none."""
    for key in ("command", "cmd", "script", "commands"):
        value = part.args.get(key)
        if isinstance(value, list | tuple):
            value = " ".join(str(one) for one in value)
        if isinstance(value, str) and value.strip():
            return re.sub(r"^(?:bash -lc |cd \S+ *(?:&&|;) *)", "", value.strip())
    return ""


def told(part: Part) -> str:
    """A command as it is shown: a script by its description, else by the first line that does something."""
    text = command(part)
    opened = _HEREDOC.search(text)
    if not opened and len(text) <= 160 and "\n" not in text:
        return f"`{clean(text, 160)}`"
    about = part.args.get("description")
    head, _, body = text.partition("\n")
    if isinstance(about, str) and about.strip():
        return f"`{clean(_HEREDOC.sub('', head), 60)}` {clean(about, 100)}"
    if opened and body:
        lines = (one for one in body.split("\n")[:60] if not _MEANS_NOTHING.match(one) and one.strip() != opened[1])
        return f"`{clean(_HEREDOC.sub('', head), 80)}` {clean(next(lines, ''), 100)}".rstrip()
    return f"`{clean(text, 160)}`"


def looks(text: str) -> bool:
    """Whether a command only shows what is there."""
    return all(_LOOKS.match(one) for one in re.split(r"&&|\|\|?|;|\n", _QUOTED.sub("''", text[:2_000])) if one.strip())


LATER_OK = ", later ok"
"""What follows a command that failed and went well later."""


@dataclass(slots=True)
class _Run:
    text: str
    key: str
    at: int
    times: int = 0
    ending: str = ""
    failed: bool = False
    again: bool = False


def commands(parts: Sequence[Part], results: Mapping[str, Part], size: int) -> Iterator[Line]:
    """What was run in the first ``size`` messages, each command once with its last outcome.

    A failure that went well later says so, and a command that the messages behind run again falls in rank.
    """
    runs: dict[str, _Run] = {}
    endings = Endings()
    for part in parts:
        text = command(part) if part.kind == "call" else ""
        if not text or looks(text):
            continue
        shown, result = told(part), results.get(part.id)
        script = not shown.endswith("`")
        ending, failed = outcome(result)
        if script and result and len(result.text) <= 160 and result.text.strip().count("\n") < 2 and ";" not in ending:
            ending = f"{ending}; {clean(result.text, 100)}".rstrip("; ")
        if result and not failed:
            endings.well(target(part), result.at)
        key = shown if script else target(part)
        if part.at >= size:
            runs.setdefault(key, _Run("", "", part.at)).again = True
            continue
        run = runs.setdefault(key, _Run(shown, target(part), part.at))
        run.text, run.at, run.times, run.ending, run.failed = shown, part.at, run.times + 1, ending, failed
    for run in runs.values():
        if run.text:
            well = run.failed and endings.since(run.key, run.at)
            times = f" (x{run.times})" if run.times > 1 else ""
            rank = (
                0.15 + 0.25 * bool(_CHANGES.search(run.text)) + 0.25 * (run.failed and not well) + 0.3 * run.at / size
            )
            rank = (rank + 0.05 * log2(run.times)) * (0.5 if run.again else 1)
            yield Line("Commands", f"{run.text}{times}: {run.ending}{LATER_OK * well}", rank, run.at)


def outcome(result: Part | None) -> tuple[str, bool]:
    """How a call ended, and whether it failed."""
    if result is None:
        return "no result", False
    text = result.text[:2_000] + "\n" + result.text[-4_000:] if len(result.text) > 6_000 else result.text
    code = _EXIT.search(text[:400])
    tests = _TESTS.findall(text)
    failed = result.failed or (code is not None and code[1] != "0") or bool(tests and _FAILING.search(tests[-1]))
    words = (f"exit {code[1]}" if code and code[1] != "0" else "failed") if failed else "ok"
    return f"{words}; {clean(tests[-1], 100)}" if tests else words, failed


class Endings:
    """When each thing that was run or changed went well for the last time."""

    def __init__(self) -> None:
        self._well: dict[str, int] = {}
        self._files: set[str] = set()
        self._wide: dict[str, deque[tuple[frozenset[str], int]]] = {}

    def well(self, key: str, at: int) -> None:
        """Notes that something went well."""
        self._well[key] = at
        head, about = _taken_apart(key)
        self._files |= about
        if len(about) > 1:
            self._wide.setdefault(head, deque(maxlen=40)).append((about, at))

    def about(self, file: str) -> bool:
        """Whether a command with this file went well."""
        return file in self._files

    def ill(self, key: str) -> None:
        """Forgets that something went well."""
        self._well.pop(key, None)

    def since(self, key: str, at: int) -> bool:
        """Whether this went well behind a position, or the same command with this and more files did."""
        if self._well.get(key, -1) > at:
            return True
        head, about = _taken_apart(key)
        return bool(about) and any(about < wide and later > at for wide, later in self._wide.get(head, ()))


def _taken_apart(key: str) -> tuple[str, frozenset[str]]:
    """The words of a command without its files, and its files."""
    words = key.split(" ")
    about = frozenset(one for one in words if "/" in one or "." in one[1:])
    return " ".join(one for one in words if one not in about), about


def plain(text: str) -> str:
    """A command without what only changes what is shown."""
    return " ".join(_VERBOSE.sub("", _SHOWS.sub("", text[:2_000])).split()) or text[:200]


def target(call: Part | None) -> str:
    """What a call was about: its command, or its file."""
    if call is None:
        return ""
    if text := command(call):
        return plain(text)
    path = next((str(call.args[key]) for key in ("file_path", "path", "notebook_path") if key in call.args), "")
    changes = EDITS.search(call.name) or WRITES.search(call.name)
    return f"{'change' if changes else call.name} {path or call.text[:200]}"
