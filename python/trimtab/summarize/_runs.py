"""What was run: files, commands and errors as lines that a summary may keep, each with its rank."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import log2
from typing import TYPE_CHECKING

from ._said import Line, clean, is_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ._parts import Part


@dataclass(slots=True)
class _Run:
    text: str
    at: int
    times: int = 0
    ending: str = ""
    failed: bool = False


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


def command(part: Part) -> str:
    """The shell command of a call, empty if it is none."""
    for key in ("command", "cmd", "script", "commands"):
        value = part.args.get(key)
        if isinstance(value, list | tuple):
            value = " ".join(str(one) for one in value)
        if isinstance(value, str) and value.strip():
            return re.sub(r"^(?:bash -lc |cd \S+ *(?:&&|;) *)", "", value.strip())
    return ""


def looks(text: str) -> bool:
    """Whether a command only shows what is there."""
    return all(_LOOKS.match(one) for one in re.split(r"&&|\|\|?|;|\n", _QUOTED.sub("''", text[:2_000])) if one.strip())


def commands(parts: Sequence[Part], results: Mapping[str, Part], size: int) -> Iterator[Line]:
    """What was run, each command once with its last outcome."""
    runs: dict[str, _Run] = {}
    for part in parts:
        text = command(part) if part.kind == "call" else ""
        if not text or looks(text):
            continue
        shown = clean(text.split("\n")[0] if "<<" in text else text, 160)
        run = runs.setdefault(shown, _Run(shown, part.at))
        run.at, run.times = part.at, run.times + 1
        run.ending, run.failed = outcome(results.get(part.id))
    for run in runs.values():
        times = f" (x{run.times})" if run.times > 1 else ""
        rank = 0.15 + 0.25 * bool(_CHANGES.search(run.text)) + 0.25 * run.failed + 0.3 * run.at / size
        yield Line("Commands", f"`{run.text}`{times}: {run.ending}", rank + 0.05 * log2(run.times), run.at)


def outcome(result: Part | None) -> tuple[str, bool]:
    """How a call ended, and whether it failed."""
    if result is None:
        return "no result", False
    text = result.text[:2_000] + "\n" + result.text[-4_000:] if len(result.text) > 6_000 else result.text
    code = _EXIT.search(text[:400])
    failed = result.failed or (code is not None and code[1] != "0")
    words = (f"exit {code[1]}" if code else "failed") if failed else "ok"
    tests = _TESTS.findall(text)
    return f"{words}; {clean(tests[-1], 100)}" if tests else words, failed


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
    """What went wrong, each line once, and whether the same call went well later."""
    found: dict[str, _Fault] = {}
    well: dict[str, int] = {}
    for part in parts:
        if part.kind != "result":
            continue
        call = calls.get(part.id)
        key = target(call)
        failed = outcome(part)[1]
        if not failed:
            well[key] = part.at
        if not failed and call and (_VIEWS.match(call.name) or looks(command(call))):
            continue
        lines = list(faults(part.text)) or ([clean(part.text, 200)] if part.failed and len(part.text) > 16 else [])
        for text in lines:
            fault = found.setdefault(re.sub(r"\d+", "0", text), _Fault(text, part.at))
            fault.text, fault.at, fault.times = text, part.at, fault.times + 1
            fault.keys.add(key)
            if not failed:
                well.pop(key, None)
    for fault in found.values():
        solved = any(well.get(key, -1) > fault.at for key in fault.keys if key)
        times = f" (x{fault.times})" if fault.times > 1 else ""
        rank = 0.5 + 0.4 * fault.at / size + 0.1 * min(log2(fault.times), 3) - 0.3 * solved
        yield Line("Errors", fault.text + times + (" (resolved)" if solved else ""), rank, fault.at)


def target(call: Part | None) -> str:
    """What a call was about: its command or its file."""
    if call is None:
        return ""
    path = next((call.args[key] for key in ("file_path", "path", "notebook_path") if key in call.args), "")
    return command(call) or f"{call.name} {path}"


_EDITS = re.compile(r"edit|replace|patch|update|notebook|insert", re.IGNORECASE)
_WRITES = re.compile(r"write|create|save", re.IGNORECASE)
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete|Move to)(?: File)?: (.+)$", re.MULTILINE)
_DONE = {"Add": "created", "Update": "edited", "Delete": "deleted", "Move to": "created"}
_REMOVED = re.compile(r"\brm (?:-\w+ )*([\w./-]+)")


def files(parts: Sequence[Part]) -> Iterator[tuple[str, str]]:
    """The files that calls touched, oldest first: path, and what was done to it."""
    for part in parts:
        if part.kind != "call":
            continue
        yield from ((path.strip(), _DONE[how]) for how, path in _PATCHED.findall(part.text))
        yield from ((path, "deleted") for path in _REMOVED.findall(command(part)))
        for key in ("file_path", "path", "notebook_path", "filePath"):
            path = part.args.get(key)
            if isinstance(path, str) and path:
                verb = str(part.args.get("command", ""))
                how = verb if verb in {"view", "create", "insert", "str_replace"} else part.name
                yield path, "edited" if _EDITS.search(how) else "created" if _WRITES.search(how) else "read"
