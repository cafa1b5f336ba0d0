"""Reads and changes the arguments of a tool call in a message of any provider's shape."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from .._core import PRUNED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .types import Message

Call: TypeAlias = "tuple[tuple[str | int, ...], str, object, Any]"
"""A call of ``Ledger.calls``: the way to it in its message, its field with the arguments, its tool, and these."""

_ABOUT = ("file_path", "path", "notebook_path", "filename", "file", "command", "cmd", "url", "query", "pattern")
"""Arguments that say what a call was about, the first that is there."""

_FILES = (*_ABOUT[:5], "filepath", "absolute_path", "target_file")
"""Arguments that name a file, in small letters."""

_QUOTED = ("old_string", "old_str", "oldstring", "oldstr", "old_text", "oldtext")
"""Arguments with a text that is replaced, in small letters."""

_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", flags=re.MULTILINE)
"""The line of a patch, as Codex writes it, that names a file."""


def described(call: Call | None) -> tuple[str, str]:
    """Return a call's tool, and the argument that says what it was about; empty where there is none."""
    tool, given = called(call)
    texts = _texts(given)
    return tool, next(map(texts.__getitem__, filter(texts.__contains__, _ABOUT)), "")


def subject(arguments: object) -> str:
    """Return what a call with these arguments was about: a file, a command, a query, or their first text."""
    texts = _texts(arguments)
    about = next(map(texts.__getitem__, filter(texts.__contains__, _ABOUT)), "")
    return about or file_of(arguments) or next(iter(texts.values()), "")


def file_of(arguments: object) -> str:
    """Return the file that a call's arguments name; empty for none. Of a patch of several files, the first."""
    texts = _texts(arguments)
    if file := next((texts[key] for key in _FILES if key in texts), ""):
        return file
    patches = (_PATCHED.search(text) for text in texts.values() if text.lstrip().startswith("*** Begin Patch"))
    return next((found[1] for found in patches if found), "")


def quoted(arguments: object) -> list[str]:
    """Return the texts of a file that a call's arguments quote to replace them; of a patch, the lines around too."""
    texts: list[str] = []
    pending = [arguments]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            texts += (text for key, text in part.items() if str(key).lower() in _QUOTED and isinstance(text, str))
        pending += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    for patch in (text for text in _texts(arguments).values() if text.lstrip().startswith("*** Begin Patch")):
        lines = (line if line[:1] in {" ", "-"} else None for line in patch.splitlines() if line[:1] != "+")
        hunks = ("\n".join(line[1:] for line in hunk if line) for is_text, hunk in groupby(lines, bool) if is_text)
        texts += hunks
    return texts


def part_of(arguments: object) -> str:
    """Return which part of its file a read asks for, such as ``offset 10, limit 20``; empty for the whole file."""
    if not isinstance(arguments, dict):
        return ""
    about = subject(arguments)
    rest = {
        str(key): value
        for key, value in arguments.items()
        if value is not None and value != about and (key, value) != ("command", "view")
    }
    names = sorted(rest, reverse=True)  # offset before limit, start before end
    return ", ".join(f"{name} {json.dumps(rest[name], ensure_ascii=False, default=str)}" for name in names)


def _texts(arguments: object) -> dict[str, str]:
    """Return the arguments that are texts, by name in small letters; a command in words as one text."""
    if isinstance(arguments, str):
        return {"input": arguments} if arguments.strip() else {}
    if not isinstance(arguments, dict):
        return {}
    found = {}
    for key, value in arguments.items():
        text = _script(value) if isinstance(value, list) else value
        if isinstance(text, str) and text.strip():
            found[str(key).lower()] = text
    return found


def _script(words: list[Any]) -> str:
    """Return a command's words as one text: of ``bash -lc SCRIPT`` the script."""
    if not all(isinstance(word, str) for word in words):
        return ""
    return words[2] if len(words) == 3 and words[1].startswith("-") else " ".join(words)


def called(call: Call | None) -> tuple[str, Any]:
    """Return a call's tool and its arguments, parsed where they are JSON; empty and None for no call."""
    if call is None:
        return "", None
    _, _, tool, given = call
    if isinstance(given, str):
        with suppress(ValueError, RecursionError):
            given = json.loads(given)
    return str(tool or ""), given


def long_texts(calls: Iterable[Call | None], chars: int) -> list[list[str]]:
    """Return the texts in each call's arguments that are longer, and no placeholders of ours.

    Args:
        calls: their arguments are read as by ``with_arguments``.
        chars: characters of a text that is not long.
    """
    all_found = []
    for call in calls:
        found: list[str] = []
        all_found.append(found)
        pending = [call[3]] if call else []
        if call and isinstance(given := call[3], str):
            pending = [_written(given, free=call[1] == "input")] if len(given) > chars else []
        while pending:
            part = pending.pop()
            if isinstance(part, str):
                if len(part) > chars and not part.startswith(PRUNED):
                    found.append(part)
            elif isinstance(part, dict):
                pending += part.values()
            elif isinstance(part, list):
                pending += part
    return all_found


def _written(text: str, *, free: bool) -> object:
    """Return arguments that are written as text: an object of JSON, or the text itself where a tool takes free text."""
    with suppress(ValueError, RecursionError):
        if isinstance(parsed := json.loads(text), dict):
            return parsed
    return text if free else None


def with_arguments(message: Message, call: Call | None, change: Callable[[str, str], str]) -> Message:
    """Return the message with the texts in a call's arguments changed; keys, types and all else stay.

    Arguments that are JSON stay JSON. Those that are no JSON are one text, of a tool that takes free text; those of a
    function that cannot be parsed stay.

    Args:
        message: the message with the call; blocks beside it may have changed.
        call: where it is.
        change: returns the new text, given the name of its argument and the text.
    """
    if call is None:
        return message
    path, key, _, old = call
    new = _new_text(old, change, free=key == "input") if isinstance(old, str) else _changed(old, "", change)
    return message if new is old else _put(message, (*path, key), new)


def _put(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    """Return a value with another one at the end of a path; what is beside the path is shared."""
    if not path:
        return new
    made: Any = dict(value) if isinstance(value, dict) else list(value)
    made[path[0]] = _put(value[path[0]], path[1:], new)
    return made


def _changed(value: Any, name: str, change: Callable[[str, str], str]) -> Any:
    """Return a value with each of its texts changed; the same object where none is."""
    if isinstance(value, str):
        return change(name, value)
    if isinstance(value, dict):
        made: Any = {key: _changed(part, str(key), change) for key, part in value.items()}
        return made if any(made[key] is not value[key] for key in made) else value
    if isinstance(value, list):
        made = [_changed(part, name, change) for part in value]
        return made if any(new is not old for new, old in zip(made, value, strict=True)) else value
    return value


def _new_text(text: str, change: Callable[[str, str], str], *, free: bool) -> str:
    """Return arguments that are written as text with each of their texts changed."""
    try:
        parsed = json.loads(text)
        if isinstance(parsed, dict):
            made = _changed(parsed, "", change)
            written = text if made is parsed else json.dumps(made, ensure_ascii=False, allow_nan=False)
            written.encode()
            return written
    except (ValueError, RecursionError):  # no JSON, or a number or a text that JSON cannot hold
        pass
    return change("input", text) if free else text
