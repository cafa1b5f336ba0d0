"""The status line of Claude Code: the next prompt, its share of the window, the tokens until the compaction.

Claude Code's own percentage is that of the last answer, and stays so after a compaction until the next one. The last
billed prompt and the count of what came since is the next prompt; after a compaction the prompt is at least the count
of its messages, and what the session's first call was billed beyond its own.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
from contextlib import suppress

from ... import _core
from .store import folder, read_json, safe_name, write
from .tail import UnknownEndError, first_call, read_tail

TYPE_CHECKING = False  # `typing` takes long to import

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

WINDOWS = (200_000, 1_000_000)
"""Windows that Claude Code gives a model, in tokens, where it does not name one."""

ANSWER, BUFFER = 20_000, 13_000
"""Tokens of the window that Claude Code keeps for an answer, and in front of that: there it compacts."""

COMPACT_WINDOWS = (100_000, 1_000_000)
"""The smallest and the largest compact window that Claude Code takes from its settings, in tokens."""

NOTHING, UNKNOWN = "next prompt: no message yet", "next prompt: unknown"
"""Lines for a session without a message, and for one that cannot be read."""


class PromptTokens:
    """The size of the next prompt.

    Attributes:
        tokens: its tokens.
        is_least: whether it may be longer: nothing that was billed shows the rest.
    """

    def __init__(self, tokens: int, *, is_least: bool) -> None:
        """Take both."""
        self.tokens, self.is_least = tokens, is_least


def print_status() -> int:
    """Print the line for the state on stdin; return 0 whatever happens, as the line is no place for an error."""
    try:
        line = status_line(_dict(json.loads(sys.stdin.buffer.read())))
    except (Exception, KeyboardInterrupt):  # noqa: BLE001 - see above
        line = UNKNOWN
    try:
        sys.stdout.buffer.write(f"{line}\n".encode())  # Claude Code reads UTF-8, whatever the locale
        sys.stdout.buffer.flush()
    except (OSError, ValueError):  # nobody reads it; without dup2 Python would report it again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def status_line(event: Mapping[str, Any]) -> str:
    """Return the line for what Claude Code says of a session.

    Raises:
        OSError: the session file cannot be read.
        ValueError: the event names no session file, or that holds no session.
    """
    path = event.get("transcript_path")
    if not isinstance(path, str):
        raise ValueError("the event has no transcript_path")  # noqa: TRY004 - the input is wrong, not an argument
    if not os.path.isfile(path) or not os.path.getsize(path):  # a session has no file before its first message
        return NOTHING
    model = _dict(event.get("model")).get("id")
    prompt = next_prompt(path, model if isinstance(model, str) else "")
    window = _window(event)
    least = "at least " * prompt.is_least
    parts = [f"next prompt {least}{prompt.tokens:,} tokens", f"{100 * prompt.tokens / window:.1f} % of {window:,}"]
    if limit := compaction_limit(event, window):
        left = limit - prompt.tokens
        parts.append(f"{left:,} until compaction" if left > 0 else "compaction is due")
    return " · ".join(parts)


def next_prompt(path: str, model: str) -> PromptTokens:
    """Return the next prompt of a session file.

    Args:
        path: the file; it may grow.
        model: the model of the next call; empty takes the last one.
    """
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        try:
            found = _short(text, model)
        except UnknownEndError:
            found = _whole(path, model)
        if not found.is_least:
            return found
        messages, billed = first_call(text)
        counter, _ = counter_of(model)
        counted = _core.Ledger.of(messages, counter=counter, provider="anthropic").total if messages else 0
        return PromptTokens(found.tokens + max(billed - counted, 0), is_least=True)


def _short(text: mmap.mmap, model: str) -> PromptTokens:
    """Return the next prompt by the end of a file; without what was always sent, if no answer shows it."""
    tail = read_tail(text)
    counter, grammar = counter_of(model or tail.model)
    ledger = _core.Ledger.of(tail.messages, counter=counter, provider="anthropic")
    if tail.prompt:
        thinking, visible, calls, counted = ledger.answer(0)
        hidden = tail.output + grammar.thought * calls - counted if thinking and tail.output >= visible else 0
        return PromptTokens(tail.prompt + ledger.total + hidden, is_least=False)
    return PromptTokens(ledger.total, is_least=True)


def _whole(path: str, model: str) -> PromptTokens:
    """Return the next prompt by a whole session, as ``trimtab count`` does."""
    from ...formats import read  # 200 ms, and an end of this kind is rare
    from ...session.compactor import Compactor

    found = read(path, repair=False)  # a call that runs has no result yet
    cm = Compactor(found.model or model or "claude-sonnet-5-5", provider=found.provider)
    cm.learn(found)
    size = cm.size(found.messages, system=found.system, tools=found.tools)
    return PromptTokens(size.prompt, is_least=not size.billed)


def _window(event: Mapping[str, Any]) -> int:
    """Return the window: that which Claude Code names, else the one that its model's id shows."""
    named = _dict(event.get("context_window")).get("context_window_size")
    if type(named) is int and named > 0:
        return named
    model = str(_dict(event.get("model")).get("id"))
    return WINDOWS[model.endswith("[1m]") or event.get("exceeds_200k_tokens") is True]


def compaction_limit(event: Mapping[str, Any], window: int) -> int:
    """Return the tokens at which Claude Code compacts by itself; 0 where it does not.

    Args:
        event: what it says of the session: the folder of its project's settings.
        window: the model's window.
    """
    settings = [*_settings(event)]
    if os.environ.get("DISABLE_AUTO_COMPACT") or os.environ.get("DISABLE_COMPACT"):
        return 0
    if next((each["autoCompactEnabled"] for each in settings if "autoCompactEnabled" in each), True) is False:
        return 0
    named = [os.environ.get("CLAUDE_CODE_AUTO_COMPACT_WINDOW"), *(each.get("autoCompactWindow") for each in settings)]
    if own := next(filter(None, map(_whole_number, named)), 0):
        window = min(window, max(COMPACT_WINDOWS[0], min(own, COMPACT_WINDOWS[1])))
    room = window - ANSWER
    percent = _whole_number(os.environ.get("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"))
    return max(min(room - BUFFER, room * percent // 100 if 0 < percent <= 100 else room), 0)


def _settings(event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the settings that hold for a session: the project's, then the user's."""
    folder = _dict(event.get("workspace")).get("project_dir") or event.get("cwd")
    if isinstance(folder, str):
        for name in ("settings.local.json", "settings.json"):
            yield read_json(os.path.join(folder, ".claude", name))
    home = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")
    yield read_json(os.path.join(home, "settings.json"))


def _whole_number(value: object) -> int:
    """Return the number that a setting says; 0 for any other value."""
    if isinstance(value, str) and value.isdecimal() and value.isascii() and len(value) < 16:
        return int(value)
    return value if type(value) is int and value > 0 else 0


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


MODELS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "models")


class Grammar:
    """A ``PromptGrammar`` from a file: the core reads its attributes."""

    encoding: str
    thought: int

    def __init__(self, fields: dict[str, Any]) -> None:
        """Take the fields."""
        self.__dict__.update(fields)


def counter_of(model: str) -> tuple[_core.Counter, Grammar]:
    """Return a model's counter, and the grammar of its prompts."""
    try:
        grammar = Grammar(_fields(model))
        return _counter(grammar), grammar
    except (AttributeError, TypeError, ValueError):  # of a file that somebody has changed
        grammar = Grammar(_from_table(model))
        return _counter(grammar), grammar


def _counter(grammar: Grammar) -> _core.Counter:
    return _core.Counter(grammar.encoding, prompt=grammar)  # type: ignore[arg-type]


def _fields(model: str) -> dict[str, Any]:
    """Return the fields of a model's grammar: from the file if this release wrote it, else from the table."""
    try:
        path = os.path.join(folder("grammars"), f"{safe_name(model)}.json")
    except OSError:
        return _from_table(model)
    key = [model, _core.__version__, *_stamps()]
    found = read_json(path)
    fields = found.get("fields")
    if found.get("key") == key and isinstance(fields, dict) and found.get("digest") == _digest(fields):
        return fields
    fields = _from_table(model)
    with suppress(OSError):
        write(path, json.dumps({"key": key, "fields": fields, "digest": _digest(fields)}).encode())
    return fields


def _from_table(model: str) -> dict[str, Any]:
    from dataclasses import asdict  # 50 ms with the table

    from ...models.model import Model

    return asdict(Model.named(model).prompt)


def _stamps() -> list[int]:
    """Return the times of the tables' files: a source checkout changes without its version."""
    return [os.stat(os.path.join(MODELS, name)).st_mtime_ns for name in sorted(os.listdir(MODELS)) if "." in name]


def _digest(fields: dict[str, Any]) -> str:
    return _core.digest(json.dumps(fields, sort_keys=True))
