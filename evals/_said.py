"""What must be known of a session, read from its messages in any of the three shapes, for ``eval-summaries``.

Shares no code with trimtab. What a program writes as the user's message is not the user's word, but the project's rules
in it are the project's.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import _recall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

RULE = re.compile(r"\b(?:must|never|always|don'?t|do not|only|avoid|make sure)\b", re.IGNORECASE)
PROGRAM = (
    "<",
    "# AGENTS",
    "Caveat:",
    "[Request interrupted",
    "This session is being continued",
    "Base directory for this skill",
)
PROJECT = re.compile(
    r"\A\s*(?:# AGENTS\.md|<user_instructions>|<system-reminder>\s.*?(?:CLAUDE|AGENTS)\.md)", re.DOTALL
)
WORDS = re.compile(r"[\w'$.-]+")
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
ANSWER = re.compile(r'"="((?:[^"\\]|\\.)+)"')
PATCHED = re.compile(r"\*\*\* (?:Add|Update) File: ([^\n\\]+)")
CREATED = re.compile(r"[Tt]ask #(\w+) created")
WRITES = {"write", "edit", "multiedit", "notebookedit", "create", "write_file"}
DONE = {"completed", "deleted", "cancelled"}
MOST = 10_000  # characters of a message of the user: what is behind them was pasted
BEGINS = 200  # characters of a sentence that have to stand


def flat(text: str) -> str:
    """A text's words between single spaces, without case and punctuation."""
    words = (word.strip(".-'") for word in WORDS.findall(text.lower().replace("’", "'")))  # noqa: RUF001
    return f" {' '.join(filter(None, words))} "


def listed(messages: Iterable[Any]) -> str:
    """All text of a list, flat."""
    return flat("\n".join(_recall.texts(messages).lines))


def sentences(text: str) -> list[str]:
    """The flat sentences and lines of a text that have more than 12 characters, each by its beginning."""
    found = map(flat, SENTENCE.split(text))
    return [one[:BEGINS] for one in found if len(one) > 14]


def said(message: Any) -> str:
    """What a person typed in a message, without what is pasted far behind its beginning."""
    if message.get("role") != "user":
        return ""
    texts = _recall.texts([message]).user if not isinstance(message.get("content"), str) else [message["content"]]
    return "\n".join(text.strip() for text in texts if not text.lstrip().startswith(PROGRAM)).strip()[:MOST]


def typed(messages: Iterable[Any]) -> list[str]:
    """The messages that a person typed."""
    return [text for text in map(said, messages) if text]


def calls(messages: Iterable[Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The id, the name and the arguments of each call."""
    for message in messages:
        content = message.get("content")
        for block in [message, *(content if isinstance(content, list) else ())]:
            if isinstance(block, dict) and str(block.get("type", "")).endswith(("tool_use", "_call")):
                given = block.get("input", block.get("arguments"))
                yield block.get("call_id") or block.get("id") or "", block.get("name") or "", _opened(given)
        for call in message.get("tool_calls") or ():
            made = call.get("function") or {}
            yield call.get("id", ""), made.get("name", ""), _opened(made.get("arguments"))


def _opened(given: Any) -> dict[str, Any]:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return {"input": given}
    return given if isinstance(given, dict) else {"input": given}


def results(messages: Iterable[Any]) -> dict[str, str]:
    """The text of each result by its call's id."""
    out = {}
    for message in messages:
        content = message.get("content")
        blocks = [message] if _recall.is_result(message) else content if isinstance(content, list) else []
        for block in filter(_recall.is_result, blocks):
            key = block.get("tool_use_id") or block.get("tool_call_id") or block.get("call_id") or ""
            out[key] = "\n".join(_recall.strings(block.get("content", block.get("output", ""))))
    return out


def places(messages: list[Any]) -> list[int]:
    """The places between messages at which no call is open."""
    out, pending = [], set[str]()
    for at, message in enumerate(messages):
        if not pending:
            out.append(at)
        pending |= {key for key, _, _ in calls([message])}
        pending -= set(results([message]))
    return [*out, len(messages)]


def files(messages: Iterable[Any]) -> set[str]:
    """The names of the files that were written."""
    out = set()
    for _, name, given in calls(messages):
        path = given.get("file_path") or given.get("path")
        if name.lower() in WRITES and isinstance(path, str):
            out.add(path)
        for text in _recall.strings(given):
            out.update(PATCHED.findall(text))
    return {flat(path.strip().rsplit("/", 1)[-1]) for path in out}


def is_sealed(messages: Iterable[Any]) -> bool:
    """Whether a server compacted the list before, into something that nobody else can read."""
    return any(message.get("type") == "compaction" for message in messages)


def answers(messages: list[Any]) -> list[str]:
    """What the user answered to questions of the agent, which arrives as results of tools."""
    asked = {key for key, name, _ in calls(messages) if name in {"AskUserQuestion", "request_user_input"}}
    found = [text for key, text in results(messages).items() if key in asked]
    return [flat(answer) for text in found for answer in ANSWER.findall(text)]


def project_rules(messages: Iterable[Any]) -> list[str]:
    """The rules in the project's instructions, which a program writes into the list."""
    out = []
    for message in messages:
        if message.get("role") in {"user", "developer", "system"} and not _recall.is_result(message):
            content = message.get("content")
            blocks = [content] if isinstance(content, str) else [one.get("text") or "" for one in content or ()]
            texts = [text for text in blocks if PROJECT.match(text)]
            out += rules(texts)
    return out


def rules(texts: Iterable[str]) -> list[str]:
    """The sentences that say what must, or must not, be done."""
    return [one for text in texts for one in sentences(text) if RULE.search(one)]


def tasks(messages: list[Any]) -> list[str]:
    """The open tasks of the task list as it stands at the end."""
    listing: dict[str, tuple[str, str]] = {}
    outputs = results(messages)
    for key, name, given in calls(messages):
        if name in {"TodoWrite", "update_plan"}:
            rows = given.get("todos") or given.get("plan") or []
            rows = [row for row in rows if isinstance(row, dict)]
            listing = {str(n): (_task(row), str(row.get("status"))) for n, row in enumerate(rows)}
        elif name == "TaskCreate":
            number = CREATED.search(outputs.get(key, ""))
            listing[number[1] if number else key] = (_task(given), "pending")
        elif name == "TaskUpdate":
            number = str(given.get("taskId"))
            if number in listing:
                text, status = listing[number]
                listing[number] = (str(given.get("subject") or text), str(given.get("status") or status))
    return [flat(text) for text, status in listing.values() if text and status not in DONE]


def _task(row: dict[str, Any]) -> str:
    return str(row.get("content") or row.get("step") or row.get("subject") or "")


def standing_tasks(messages: list[Any]) -> tuple[int, list[str]]:
    """The place at which open tasks have stood longest since the list was written, and these tasks."""
    named = [
        at
        for at, message in enumerate(messages)
        if any(name in {"TodoWrite", "update_plan", "TaskCreate", "TaskUpdate"} for _, name, _ in calls([message]))
    ]
    best, found = 0, list[str]()
    allowed, longest = places(messages), 0
    for start, stop in zip(named, [*named, len(messages)][1:], strict=True):
        place = max(at for at in allowed if at <= stop)
        if place - start > longest and (open_ := tasks(messages[:place])):
            best, found, longest = place, open_, place - start
    return best, found
