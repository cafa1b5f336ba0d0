"""Tasks that are open at the end of the zone, and neither named nor done behind it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from oracles.offline.parts import HOSTED

from .announced import waits
from .said import small_talk
from .text import Line, clean, sentences, split, without_code
from .worth import left_of_worth

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracles.offline.parts import Part

LAST = "last said: "
"""Prefix of the assistant's last words."""

_NEXT = re.compile(
    r"\b(?:todo|fixme|next steps?|remaining|still (?:need|to|fail|open)|not yet|pending|follow[- ]?up|left to do"
    r"|would you like|do you want|shall i|should i|(?:am|is|are|m|re|still) waiting for)\b|^waiting for\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{4,}")


def open_items(parts: Sequence[Part], after: Sequence[Part], before: Sequence[Line], size: int) -> Iterator[Line]:
    """Listed tasks, calls without a result, an unanswered request, the last words; none that the tail goes on with."""
    for place, (key, (text, status, has_number)) in enumerate(tasks([*parts, *after], before).items()):
        if status not in {"completed", "done", "deleted", "cancelled"}:
            number = f" #{key}" if has_number else ""
            yield Line("Open items", f"{status.replace('_', ' ')}{number}: {clean(text, 160)}", 2.4, size, place)
    answered = {HOSTED, *(part.id for part in [*parts, *after] if part.kind == "result")}
    for part in parts:
        if part.kind == "call" and part.id not in answered:
            yield Line("Open items", f"no result yet: {part.name} {clean(part.text, 120)}", 1.2, part.at)
    spoken = [part for part in parts if part.kind in {"user", "assistant"}]
    if not spoken:
        return
    if not any(part.kind in {"assistant", "call"} for part in after):
        yield from _last(spoken[-1], parts)
    yield from _left(spoken[-40:], after, size)


def _last(last: Part, parts: Sequence[Part]) -> Iterator[Line]:
    """The last words, or the request that waits for an answer."""
    ending = list(sentences(last.text, 240))
    if last.kind == "user":
        if ending and not any(part.kind in {"assistant", "call"} for part in parts[parts.index(last) :]):
            yield Line("Open items", f"not answered yet: {ending[0]}", 1.6, last.at)
        return
    told = [one for one in ending if len(one) > 20 and not one.endswith(":") and not all(map(small_talk, split(one)))]
    chats = not any(part.kind == "call" for part in parts)
    for number, one in enumerate(told[-1:] + told[:2]):
        rank = (1.2 - 0.2 * number) * (left_of_worth(one) if chats else 1.0)
        yield Line("Open items", LAST + one, rank, last.at, number)


def _left(spoken: Sequence[Part], after: Sequence[Part], size: int) -> Iterator[Line]:
    """Tasks that the assistant called open.

    Not a question that was answered, not what somebody waited for when more was said after it, not what the tail speaks
    of again, and not what is old: three requests where a turn ended with it, one where the turn went on.
    """
    tail = [
        set(_WORD.findall(one.lower()))
        for part in after
        if part.kind in {"user", "assistant"}
        for one in sentences(part.text)
    ]
    users = [part.at for part in [*spoken, *after] if part.kind == "user"]
    following = [*(part.kind for part in spoken[1:]), "user"]
    for part, behind in zip(spoken, following, strict=True):
        asked = sum(at > part.at for at in users)
        if part.kind != "assistant" or asked > (2 if behind == "user" else 0):
            continue
        for one in sentences(without_code(part.text), 240):
            if not _NEXT.search(one) or one[-1] == ":" or (one[-1] == "?" and asked):
                continue
            if (tail or part is not spoken[-1]) and waits(one):
                continue
            words = set(_WORD.findall(one.lower()))
            if not any(len(words & again) > 0.5 * len(words) for again in tail[-400:]):
                yield Line("Open items", one, 0.5 + 0.5 * part.at / size, part.at)


NUMBERED = re.compile(r"([a-z]+(?: [a-z]+)?) #([0-9]{1,9}): (.+)")
"""A task with its number in an earlier summary."""


def tasks(parts: Sequence[Part], before: Sequence[Line]) -> dict[str, tuple[str, str, bool]]:
    """The task list as it stands at the end, by id: text, status, and whether the id is its number.

    It begins with the numbered tasks of an earlier summary.
    """
    earlier = [NUMBERED.fullmatch(line.text) for line in before if line.section == "Open items"]
    found = {task[2]: (task[3], task[1].replace(" ", "_"), True) for task in earlier if task}
    results = {part.id: part.text for part in parts if part.kind == "result"}
    for part in parts:
        if part.kind != "call":
            continue
        listed = part.args.get("todos", part.args.get("plan"))
        if isinstance(listed, list):
            found = {}
            for at, one in enumerate(listed):
                if isinstance(one, Mapping):
                    text = one.get("content") or one.get("step") or one.get("text") or ""
                    found[str(at + 1)] = (str(text), str(one.get("status") or "pending"), False)
        elif isinstance(subject := part.args.get("subject"), str) and _creates(part):
            told = re.search(r"#([0-9]{1,9})\b", results.get(part.id, ""))
            found[told[1] if told else str(len(found) + 1)] = (subject, "pending", bool(told))
        elif (key := str(part.args.get("taskId"))) in found and "status" in part.args:
            found[key] = (found[key][0], str(part.args["status"]), found[key][2])
    return found


def _creates(part: Part) -> bool:
    """Whether a call puts a task on the agent's list: a ticket has a subject and a description too."""
    return bool(re.search(r"task|to_?do|plan", part.name, re.IGNORECASE)) and "description" in part.args
