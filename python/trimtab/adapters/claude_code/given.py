"""What a session gets back after its compaction: pinned facts, rules that the user typed, open tasks.

Rules are found by their words (``always``, ``never``, ``do not`` and the like), which is a guess: a rule in other words
is not found, and a sentence with these words may be none.
"""

from __future__ import annotations

import json
import re

from .tail import of_user, queued

TYPE_CHECKING = False  # `typing` takes long to import

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

LIMIT = 9_000
"""Characters of the whole; Claude Code takes 10,000 of a hook, Codex 10,000 bytes."""

RULE = re.compile(
    r"\b(?:always|never|must(?:n['\u2019]t)?|do not|don['\u2019]t|make sure|ensure"
    r"|only (?:use|ever|change|touch|edit|run)"
    r"|from now on|whenever|every time|under no circumstances|no matter what|avoid|prefer|instead of"
    r"|stick (?:to|with))\b",
    re.IGNORECASE,
)
NOT_TYPED = re.compile(
    r"^\s*(?:<(?:command-|local-command|system-reminder|bash-|task-)|Caveat: |\[Request interrupted)"
)
CODEX_WRITES = ("<", "# AGENTS.md instructions")
"""How texts begin that Codex puts into the user's role."""

FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
LENGTH = range(8, 400)
"""Characters of a rule."""

HEAD = (
    "Given back by trimtab after this session's compaction. The lines in quotes are what the user typed earlier in this"
    " session, word for word."
)
DONE = {"completed", "deleted", "cancelled", "done"}


def entries(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the objects in the lines of a session file; lines that cannot be read are left out."""
    for line in lines:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield _of_codex(value) if isinstance(value.get("payload"), dict) else _of_queue(value)


def _of_queue(line: dict[str, Any]) -> dict[str, Any]:
    """Return what the user typed while Claude Code worked as a line of theirs, and any other line as it is."""
    if (attachment := queued(line)) is None:
        return line
    origin = attachment.get("origin")
    is_typed = origin is None or (isinstance(origin, dict) and origin.get("kind") == "human")
    is_typed = is_typed and attachment.get("commandMode") != "task-notification" and not attachment.get("isMeta")
    return of_user(line, attachment["prompt"]) if is_typed else line


def _of_codex(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line of a Codex rollout as Claude Code would have written it; without a message where it has none."""
    payload = line["payload"] if line.get("type") == "response_item" else {}
    if payload.get("type") == "function_call":
        try:
            arguments = json.loads(payload["arguments"])
        except (KeyError, TypeError, ValueError, RecursionError):
            return {}
        block = {"type": "tool_use", "id": payload.get("call_id"), "name": payload.get("name"), "input": arguments}
        return {"type": "assistant", "message": {"content": [block]}}
    if payload.get("role") != "user" or not isinstance(payload.get("content"), list):
        return {}
    texts = [part.get("text") for part in payload["content"] if isinstance(part, dict)]
    typed = [text for text in texts if isinstance(text, str) and not text.lstrip().startswith(CODEX_WRITES)]
    return {"type": "user", "message": {"content": [{"type": "text", "text": text} for text in typed]}}


def facts(lines: Iterable[bytes]) -> dict[str, list[str]]:
    """Return the ``rules`` that the user typed, and the open ``tasks``, of a session file."""
    rules: dict[str, int] = {}
    tasks = Tasks()
    for entry in entries(lines):
        message = entry.get("message")
        if not isinstance(message, dict) or entry.get("isSidechain"):
            continue
        blocks = message.get("content")
        parts = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
        if not isinstance(parts, list):
            continue
        tasks.read(entry, [part for part in parts if isinstance(part, dict)])
        if _is_typed(entry):
            found = [rule for part in parts if isinstance(part, dict) for rule in _rules(part.get("text"))]
            for rule in found:
                rules.setdefault(rule, len(found))
    # Of a long text that was pasted, each sentence counts less than one of a line that was typed.
    ranked, room, chosen = sorted(rules, key=lambda rule: rules[rule]), LIMIT // 2, set()
    for rule in ranked:
        room -= len(rule) + 4
        if room < 0:
            break
        chosen.add(rule)
    return {"rules": [rule for rule in rules if rule in chosen], "tasks": tasks.open()}


def _is_typed(entry: Mapping[str, Any]) -> bool:
    """Return whether the user wrote the message of an entry."""
    others = ("isMeta", "isCompactSummary", "toolUseResult", "isVisibleInTranscriptOnly", "sourceToolAssistantUUID")
    return entry.get("type") == "user" and not any(entry.get(name) for name in others)


def _rules(text: object) -> list[str]:
    """Return the sentences of a text that sound like rules, on one line each."""
    if not isinstance(text, str) or NOT_TYPED.match(text):
        return []
    found = (" ".join(part.split()).lstrip("-*•# ") for part in SENTENCE.split(FENCE.sub("", text)))
    return [part for part in found if len(part) in LENGTH and not part.endswith("?") and RULE.search(part)]


class Tasks:
    """The list of tasks, as the newest calls of its tools leave it."""

    def __init__(self) -> None:
        """Begin without tasks."""
        self._listed: list[tuple[str, str]] = []
        self._made: dict[str, list[str]] = {}
        self._calls: dict[str, str] = {}

    def read(self, entry: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]]) -> None:
        """Read the calls and results of an entry."""
        for block in blocks:
            given, kind = block.get("input"), block.get("type")
            if kind == "tool_use" and isinstance(given, dict):
                self._call(block.get("name"), given, block.get("id"))
            elif kind == "tool_result":
                self._result(block.get("tool_use_id"), entry.get("toolUseResult"))

    def _call(self, name: object, given: Mapping[str, Any], ref: object) -> None:
        if name in {"TodoWrite", "update_plan"}:
            listed = given.get("todos", given.get("plan"))
            steps = [step for step in listed if isinstance(step, dict)] if isinstance(listed, list) else []
            self._listed = [(_text(step.get("content", step.get("step"))), _text(step.get("status"))) for step in steps]
        elif name == "TaskCreate" and isinstance(ref, str):
            self._calls[ref] = _text(given.get("subject"))
        elif name == "TaskUpdate" and (task := self._made.get(_text(given.get("taskId")))):
            task[0] = _text(given.get("subject")) or task[0]
            task[1] = _text(given.get("status")) or task[1]

    def _result(self, ref: object, result: object) -> None:
        """Take the number of a new task from the result of its call."""
        subject = self._calls.pop(ref, "") if isinstance(ref, str) else ""
        task = result.get("task") if isinstance(result, dict) else None
        if subject and isinstance(task, dict):
            self._made[_text(task.get("id"))] = [subject, "pending"]

    def open(self) -> list[str]:
        """Return the tasks that are not done, with their state."""
        tasks = [*self._listed, *((text, state) for text, state in self._made.values())]
        return [f"[{state or 'pending'}] {text}" for text, state in tasks if text and state not in DONE]


def _text(value: object) -> str:
    return " ".join(str(value).split())[:300] if isinstance(value, str | int) else ""


def given(found: Mapping[str, Any], session: str, *, in_bytes: bool = False) -> str:
    """Return the text for the session, at most 9,000 characters or bytes; empty if there is nothing to give back."""
    sections = (
        ("Pinned facts", [json.dumps(pin, ensure_ascii=False) for pin in _texts(found.get("pins"))]),
        ("Rules that the user typed", [json.dumps(rule, ensure_ascii=False) for rule in _texts(found.get("rules"))]),
        ("Open tasks", _texts(found.get("tasks"))),
    )
    where = f"What left the context is in the archive: trimtab archive search WORDS --session {session}"
    lines, room = [], LIMIT - len(HEAD) - len(where) - 2
    for title, items in sections:
        left_out = 0
        if items:
            lines.append(f"\n{title}:")
            room -= len(title) + 40
        for item in items:
            size = (len(item.encode(errors="surrogatepass")) if in_bytes else len(item)) + 3
            if size <= room:
                lines.append(f"- {item}")
                room -= size
            else:
                left_out += 1
        if left_out:
            lines.append(f"({left_out} more are left out)")
    return "\n".join([HEAD, *lines, "", where]) if lines else ""


def _texts(values: object) -> list[str]:
    return [value for value in values if isinstance(value, str) and value] if isinstance(values, list) else []
