"""Commands as lines that a summary may keep, and the last outcome of each command and changed file."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field, replace
from math import log2
from typing import TYPE_CHECKING

from oracles.offline.parts import PRUNED, is_pruned

from .faults import faults
from .looks import QUOTED, looks
from .text import Line, clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from oracles.offline.parts import Part

EDITS = re.compile(r"edit|replace|patch|update|notebook|insert", re.IGNORECASE)
WRITES = re.compile(r"write|create|save", re.IGNORECASE)

_EXIT = re.compile(
    r"^(?:exit (?:code|status):? ?|(?:exit|rc)[:=] ?|<(?:returncode|return_code|exit_?code)>"
    r"|command executed .*\bexit code: "
    r"|[\[<]?(?:(?:(?:the )?(?:process|command|program)|shellid: ?\w+) )?(?:exited|completed|finished|failed"
    r"|terminated) with (?:exit )?(?:code|status):? )(-?[0-9]{1,10})(?:</\w+>)?[.\]>]*\r?$",
    re.IGNORECASE | re.MULTILINE,
)
_TESTS = re.compile(
    r"\b\d+ (?:pass(?:ed|ing)?|fail(?:ed|ing)?|errors?|problems?|issues?|tests?)\b|^test result:|^Tests:|^FAIL\b"
)
_CHANGES = re.compile(
    r"\b(?:test|build|lint|check|fmt|install|run|make|cargo|pytest|npm|pnpm|yarn|bun|go|docker|deploy|migrate|commit|push|merge"
    r"|rebase|checkout|switch|branch|tag|release|curl|gh)\b"
)


_FAILING = re.compile(r"\b[1-9]\d* (?:fail(?:ed|ing)?|errors?)\b|^test result: FAILED|^FAIL\b")
_PASSING = re.compile(
    r"\b[1-9]\d* pass(?:ed|ing)?\b|\b0 (?:fail(?:ed|ing)?|errors?|problems?|issues?)\b|^test result: ok"
)
_TOTALS = 5
"""Lines before the last one about tests in which its counts may stand."""
_REFUSED = re.compile(
    r"\s*(?:the user doesn['\u2019]t want to (?:proceed|take this action)"
    r"|the tool use was rejected|(?:the )?user (?:rejected|declined|denied|chose to))\b",
    re.IGNORECASE,
)
_HEREDOC = re.compile(r"<<-?\s*[\"']?(\w+)[\"']?")
_SHOWS = re.compile(
    r"\s*(?:2>&1|[12]?>\s*/dev/null|\|\s*(?:tail|head|grep|tee|cat|less)\b[^|&;]*"
    r"|;\s*echo [^;&|\n]*\$\?[^;&|\n]*\Z)"
)
_VERBOSE = re.compile(r"\s(?:-[qvsx]{1,3}|--(?:quiet|verbose|no-header|tb=\w+|colou?r(?:=\w+)?))(?=\s|$)")
_IDLE = re.compile(r"\A(?:[ \t]*(?:#[^\n]*|\\|set -[^\n;&|]*)?\n)+\s*")
"""Lines in front of a script that do nothing: blank ones, remarks, options of the shell."""
_MEANS_NOTHING = re.compile(r"\s*(?:import |from \S+ import |use |#!|set -|package |$)")


def given(part: Part) -> str:
    """The shell command of a call as it was given, empty if it is none."""
    for key in ("command", "cmd", "script", "commands"):
        value = part.args.get(key)
        if isinstance(value, list | tuple):
            value = " ".join(str(one) for one in value)
        if isinstance(value, str) and value.strip():
            return "" if _is_an_editors(part, value.strip()) else _in_quotes(value.strip())
    return ""


def _is_an_editors(part: Part, word: str) -> bool:
    """Whether a word names what an editor does to a file."""
    names_a_file = any(isinstance(part.args.get(key), str) for key in ("path", "file_path"))
    return names_a_file and word in {"view", "create", "insert", "str_replace", "undo_edit", "delete", "rename"}


def _in_quotes(text: str) -> str:
    """A command that is given to a shell in quotes, without it."""
    inner = re.fullmatch(r"bash -l?c (?:'([^']*)'|\"([^\"]*)\")", text)
    return (inner[1] or inner[2] or "").strip() if inner else text


def command(part: Part) -> str:
    """The shell command of a call without the change of folder in front, empty if it is none."""
    return re.sub(r"^(?:bash -l?c |cd \S+ *(?:&&|;) *)", "", given(part))


def names_folder(part: Part) -> str:
    """The folder that a call names for its command, empty if it names none."""
    moved = re.match(r"cd (\S+) *(?:&&|;)", given(part))
    told = [moved[1]] if moved else [part.args.get(key) for key in ("workdir", "cwd", "working_directory")]
    folder = next((one for one in told if isinstance(one, str)), "")
    return folder.strip("\"'").rstrip("/")[:200]


_IN_FOLDER = re.compile(r"`([^`]+)` in (\S+)(?: \(x\d+\))?(?::|\Z)")


def told_apart(parts: Sequence[Part], before: Sequence[Line]) -> list[Part]:
    """The parts; calls of one command that name different folders, with their folder."""
    folders: dict[str, set[str]] = {}
    for line in before:
        run = _IN_FOLDER.match(line.text) if line.section == "Commands" else None
        if run:
            folders.setdefault(plain(run[1]), set()).update({"", run[2]})
    named = {}
    for at, part in enumerate(parts):
        folder = names_folder(part) if part.kind == "call" else ""
        if folder and command(part) and not looks(command(part)):
            named[at] = folder
            folders.setdefault(plain(command(part)), set()).add(folder)
    return [
        replace(part, folder=named[at]) if at in named and len(folders[plain(command(part))]) > 1 else part
        for at, part in enumerate(parts)
    ]


def chain(call: Part | None) -> list[str]:
    """The targets of the commands that a call joins by ``&&``: where it went well, each of them did.

    Up to one that changes the folder.
    """
    text = command(call) if call else ""
    bare = QUOTED.sub("", text)
    if call is None or "&&" not in text or bare.count("&&") < text.count("&&") or re.search(r"\|\||;|\n|<<", bare):
        return []
    found = []
    for raw in text.split("&&"):
        one = raw.strip()
        if one.startswith("cd "):
            break
        if one:
            found.append(plain(one) + (f" in {call.folder}" if call.folder else ""))
    return found


def told(part: Part) -> str:
    """A command as it is shown: a script by its description, else by the first line that does something.

    Empty where a placeholder stands in its place, and nothing says what it did.
    """
    text = command(part)
    about = part.args.get("description")
    about = about if isinstance(about, str) and about.strip() and not is_pruned(about) else ""
    if is_pruned(text):
        return f"`…` {clean(about, 100)}" if about else ""
    text = _IDLE.sub("", text) or text
    opened = _HEREDOC.search(text)
    if not opened and len(text) <= 160 and "\n" not in text:
        return f"`{clean(text, 160)}`"
    head, _, body = text.partition("\n")
    if about:
        return f"`{clean(_HEREDOC.sub('', head), 60)}` {clean(about, 100)}"
    if opened and body:
        lines = (one for one in body.split("\n")[:60] if not _MEANS_NOTHING.match(one) and one.strip() != opened[1])
        return f"`{clean(_HEREDOC.sub('', head), 80)}` {clean(next(lines, ''), 100)}".rstrip()
    return f"`{clean(text, 160)}`"


LATER_OK = ", later ok"
"""Suffix of a command that failed and succeeded later."""
LATER_CLEAN = ", a later call shows no failure"
"""Suffix of a command that failed, if a later call states no outcome."""
OUTPUT_SHOWS = "output shows: "
NOT_KNOWN = "not known, "

_HIDING = {
    r"\|\|\s*(?:true|:|echo|printf|exit 0)(?:\s|;|$)": "`||` hides the exit code",
    r"[^|]\|(?:&|[^|]|$)": "a pipe hides the exit code",
    r"[;\n]\s*(?:true|:|echo|printf|exit 0)(?:\s[^;&|\n]*)?\s*$": "a later command hides the exit code",
    r"(?:^|[;\n]\s*)if (?:! ?)?[^\[! ]": "a condition hides the exit code",
    r"[^&>|]&(?:\s*$|[ \n]+[^&>\s])": "it runs in the background",
}


def hides(shell: str) -> str:
    """Why a shell command that failed may end with 0, empty where its own exit code is the shell's."""
    shell = shell[:2_000]
    bare = QUOTED.sub("''", shell)
    piped = re.search(r"[^|]\|(?:&|[^|]|\Z)", bare)
    if re.search(r"pipefail|PIPESTATUS|<<", shell) or ("$?" in shell and not piped):
        return ""
    for pattern, reason in _HIDING.items():
        if re.search(pattern.replace("$", r"\Z"), bare):
            return reason
    said = [one for one in re.split(r"[;\n]", bare) if one.strip()]
    return "a later command hides the exit code" if len(said) > 1 and looks(said[-1]) else ""


def with_hidden(parts: Iterator[Part]) -> Iterator[Part]:
    """The parts, where each result knows whether its command hides its exit code."""
    hidden: dict[str, str] = {}
    for part in parts:
        if part.kind == "call" and command(part):
            hidden[part.id] = hides(command(part))
        yield replace(part, hidden=part.hidden or hidden.get(part.id, "")) if part.kind == "result" else part


@dataclass(slots=True)
class _Run:
    text: str
    key: str
    at: int
    times: int = 0
    ending: str = ""
    failed: bool = False
    again: bool = False
    chain: list[str] = field(default_factory=list)


def commands(parts: Sequence[Part], results: Mapping[str, Part], size: int) -> Iterator[Line]:
    """Commands of the first ``size`` messages, each once with its last outcome.

    A command that a later one contains, which went well, is left out unless it failed. A failure that went well later
    says so, and a command that the messages behind run again falls in rank.
    """
    runs: dict[str, _Run] = {}
    endings = Endings()
    for part in parts:
        text = command(part) if part.kind == "call" else ""
        if not text or looks(text):
            continue
        shown, result = told(part), results.get(part.id)
        if not shown:
            continue
        script = not shown.endswith("`")
        shown += f" in {part.folder}" if part.folder else ""
        ending = "no result" if result is None else _with_output(result, script=script)
        failed = result is not None and outcome(result).failed
        if result and not outcome(result).shows_failure and result.hidden != PRUNED:
            for one in [*chain(part), target(part)]:
                endings.well(one, result.at, is_ok=outcome(result).is_ok)
        key = shown if script else target(part)
        if part.at >= size:
            runs.setdefault(key, _Run("", "", part.at)).again = True
            continue
        run = runs.setdefault(key, _Run(shown, target(part), part.at))
        run.text, run.at, run.times, run.ending, run.failed = shown, part.at, run.times + 1, ending, failed
        run.chain = chain(part) if result is not None and outcome(result).is_ok else []
    for run in runs.values():
        within = any(run.key in other.chain and other.at >= run.at for other in runs.values())
        if run.text and not (within and not run.failed):
            later = endings.since(run.key, run.at) if run.failed else None
            times = f" (x{run.times})" if run.times > 1 else ""
            rank = (
                0.15
                + 0.25 * bool(_CHANGES.search(run.text))
                + 0.25 * (run.failed and later is None)
                + 0.3 * run.at / size
            )
            rank = (rank + 0.05 * log2(run.times)) * (0.5 if run.again else 1)
            ending = f": {run.ending}" if run.ending else ""
            suffix = {None: "", False: LATER_CLEAN, True: LATER_OK}[later]
            yield Line("Commands", f"{run.text}{times}{ending}{suffix}", rank, run.at)


def _with_output(result: Part, *, script: bool) -> str:
    """How a command ended, with the output where that of a script is short."""
    ending = outcome(result).ending
    text = _EXIT.sub("", result.text[:400]) if script else ""
    short = len(result.text) <= 400 and len(text) <= 160 and text.strip().count("\n") < 2
    output = clean(text, 100) if short else ""
    if not output or "; " in ending or ending.startswith(OUTPUT_SHOWS):
        return ending
    if ending.startswith(NOT_KNOWN):
        return f"{ending}; {OUTPUT_SHOWS}{output}"
    return f"{ending}; {output}" if ending else OUTPUT_SHOWS + output


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a call as its result states it.

    Attributes:
        ending: ``ok``, ``failed`` or the exit code where that is stated, and what the output shows.
        failed: whether the result says that the call failed, or counts failed tests.
        shows_failure: that, or its output has an error line.
        is_ok: whether the result says that the call went well, and shows no failure.
        tests_passed: whether its output says that no test failed.
        errors: the error lines, behind the totals where tests passed.
        logged: the error lines before them.
    """

    ending: str
    failed: bool
    shows_failure: bool
    is_ok: bool
    tests_passed: bool
    errors: list[str]
    logged: list[str]


def outcome(result: Part) -> Outcome:
    """Outcome of a call as its result states it."""
    text = result.text[:2_000] + "\n" + result.text[-4_000:] if len(result.text) > 6_000 else result.text
    tests, fails, behind = _tests(text)
    ends = [text[:600], text[-600:]] if len(text) > 1_200 else [text]
    codes = [*map(str, result.codes), *(code for end in ends for code in _EXIT.findall(end))]
    code = next((code for code in codes if int(code)), next(iter(codes), None))
    is_sure = not result.hidden and (result.is_error is False or code is not None)
    failing = [line for line in text.split("\n") if _TESTS.search(line) and _FAILING.search(line)]
    if fails is False and failing and not is_sure:
        tests, fails, behind = f"{clean(failing[-1], 100)}; {tests}", True, []
    says_failed = result.is_error is True or (code is not None and int(code) != 0)
    tests_fail = fails is True
    failed = says_failed or tests_fail
    lines = list(faults(result.text))
    passed = not failed and fails is False
    shows_failure = failed or bool(behind if passed else lines)
    says_ok = not says_failed and (result.is_error is False or code is not None)
    is_ok = says_ok and not result.hidden and not shows_failure
    if code is None or (int(code) == 0 and (result.is_error or is_ok)):
        word = "refused by the user" if refused(result) else "failed" if says_failed else "ok" if is_ok else ""
    else:
        word = f"exit {code}"
    if result.hidden and says_ok and not shows_failure:
        word = NOT_KNOWN + result.hidden
    shown = tests
    if not says_failed and not is_ok:
        suspects = behind if passed else lines
        fault = next((line for line in suspects if not line.startswith("Traceback (")), next(iter(suspects), ""))
        fault = "" if tests_fail else clean(fault, 100)
        shown = OUTPUT_SHOWS + "; ".join(filter(None, [fault, shown])) if shown or fault else ""
    logged = [line for line in lines if line not in behind] if fails is False else []
    errors = behind if fails is False else lines
    return Outcome("; ".join(filter(None, [word, shown])), failed, shows_failure, is_ok, fails is False, errors, logged)


def refused(result: Part) -> bool:
    """Whether the user did not allow the call of a result."""
    return result.is_error is True and bool(_REFUSED.match(result.text))


def _tests(text: str) -> tuple[str, bool | None, list[str]]:
    """The last line that reports the result of tests, behind the one before it that has a count if it has none.

    With whether it counts failures, and the error lines behind it if it says that there are none.
    """
    lines = text.split("\n")
    told = [at for at, line in enumerate(lines) if _TESTS.search(line)]
    if not told:
        return "", None, []
    last = told[-1]
    for at in reversed(told):
        fails = True if _FAILING.search(lines[at]) else False if _PASSING.search(lines[at]) else None
        if last - at <= _TOTALS and fails is not None:
            shown = "; ".join(clean(lines[one], 100) for one in sorted({at, last}))
            return shown, fails, [] if fails else list(faults("\n".join(lines[last + 1 :])))
    return clean(lines[last], 100), None, []


class Endings:
    """When each thing that was run or changed showed no failure for the last time, and whether it is known to be ok."""

    def __init__(self) -> None:
        self._well: dict[str, tuple[int, bool]] = {}
        self._wide: dict[str, deque[tuple[frozenset[str], int, bool]]] = {}

    def well(self, key: str, at: int, *, is_ok: bool) -> None:
        """Notes a call that shows no failure."""
        if not key:
            return  # nobody knows what was called
        self._well[key] = at, is_ok
        head, about = _taken_apart(key)
        if len(about) > 1:
            self._wide.setdefault(head, deque(maxlen=40)).append((about, at, is_ok))

    def ill(self, key: str) -> None:
        """Forgets what was noted."""
        self._well.pop(key, None)

    def since(self, key: str, at: int) -> bool | None:
        """Whether this, or the same command with this and more files, is known to be ok behind a position.

        None where it was not called there or showed a failure.
        """
        last, is_ok = self._well.get(key, (-2, False))
        if last > at:
            return is_ok
        head, about = _taken_apart(key)
        found = [known for wide, last, known in self._wide.get(head, ()) if about and about < wide and last > at]
        return any(found) if found else None


def _taken_apart(key: str) -> tuple[str, frozenset[str]]:
    """The words of a command without its files, and its files."""
    words = key.split(" ")
    about = frozenset(one for one in words if "/" in one or "." in one[1:])
    return " ".join(one for one in words if one not in about), about


def plain(text: str) -> str:
    """A command without what only changes what is shown."""
    return " ".join(_VERBOSE.sub("", _SHOWS.sub("", text[:2_000])).split()) or text[:200]


def file(call: Part | None) -> str:
    """File of a call, empty for a shell command."""
    if call is None or command(call):
        return ""
    return next((str(call.args[key]) for key in ("file_path", "path", "notebook_path") if key in call.args), "")


def target(call: Part | None) -> str:
    """Target of a call: its command, or its file."""
    if call is None:
        return ""
    if is_pruned(command(call)):
        return ""
    if text := command(call):
        return plain(text) + (f" in {call.folder}" if call.folder else "")
    path = file(call)
    changes = EDITS.search(call.name) or WRITES.search(call.name)
    return f"{'change' if changes else call.name} {path or call.text[:200]}"
