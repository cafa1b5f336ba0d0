"""The items of a conversation that must not be lost: rules, requests, tasks, decisions, files and errors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from .. import _core
from ..counting.counter import Counter
from ..messages.envelope import unwrap
from ..summarize.languages import SECTIONS
from ..summarize.text import clean, words
from .redirects import redirected
from .wording import binds, unfenced, withdraws

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from ..messages.envelope import Summary
    from ..messages.types import Message

ItemKind: TypeAlias = Literal["rules", "requests", "tasks", "decisions", "files", "errors"]

KINDS: tuple[ItemKind, ...] = get_args(ItemKind)
"""The kinds of items, those that weigh most first."""

EVERYTHING = 1 << 20
"""Tokens of a summary that leaves nothing out."""

MOST = 1_000
"""Tokens of the summary from which decisions and errors are taken: those that would be needed first."""

LONGEST, STATEMENTS = 300, 3
"""Characters of a statement, and first statements of a message; between them and the last it was mostly pasted."""

_PICTURE = re.compile(r"\[(?:image|document|picture)[^\]]*\]", re.IGNORECASE)

_BEGINS = 8
"""Words of an item by which its message is found."""

_NEWER = {"role": "user", "content": "-"}
"""A later message, behind which small talk is no request."""

_Entries: TypeAlias = "list[tuple[int, str, str, str]]"


@dataclass(frozen=True, slots=True)
class Item:
    """Something that a conversation established.

    Attributes:
        kind: one of ``KINDS``: a rule or a request of the user, an open task, a decision (of the agent, or the user's
            answer to a question), a file that was written, or an error that was not resolved.
        message: the number of its message; None if no message has its words.
        text: its words, of a request a line a statement; of a file its path.
    """

    kind: ItemKind
    message: int | None
    text: str


def items(
    messages: Sequence[Message], without: Collection[int] = (), kinds: Collection[ItemKind] = KINDS
) -> list[Item]:
    """Return the items of messages, by kind, and oldest first.

    A rule that the user took back, a task that is done, a deleted file and an error that a later run resolved are none.
    Decisions and errors are those that an offline summary of 1,000 tokens has. Of a summary that trimtab wrote, the
    rules and requests count.

    Args:
        messages: plain messages.
        without: positions of the summaries of others, whose words are not the user's.
        kinds: the kinds to look for.
    """
    read = [message for at, message in enumerate(messages) if at not in without]
    numbers = [at for at in range(len(messages)) if at not in without]
    entries = [(numbers[at], kind, name, text) for at, kind, name, text in _core.entries(read)]
    users = [(at, text) for at, kind, name, text in entries if (kind, name) == ("text", "user")]
    earlier = [(at, _with_kept(summary)) for at, text in users if (summary := unwrap(text))]
    said = [(at, text) for at, text in users if unwrap(text) is None]
    rules, _, written, tasks, _, limits = _core.facts((read, ()), "\n".join(text for _, text in earlier))
    found = [*_of_earlier(earlier, rules), *_said(said, {*rules, *limits})]
    found += [Item("tasks", _place(text, entries, ("call",), last=True), text) for text, _ in tasks]
    written = [*written, *redirected(text for _, kind, _, text in entries if kind == "call")]
    found += [Item("files", _written(path, entries), path) for path in written]
    if "decisions" in kinds or "errors" in kinds:
        found += _summarized(read, said, entries)
    once = dict.fromkeys(item for item in found if item.kind in kinds)
    return sorted(once, key=lambda item: (KINDS.index(item.kind), -1 if item.message is None else item.message))


def _summarized(read: Sequence[Message], said: list[tuple[int, str]], entries: _Entries) -> Iterator[Item]:
    """Yield the decisions and the errors that an offline summary has."""
    known = " ".join(" ".join(words(text)) for _, text in said)
    for kind, text in told(_core.offline((read, ()), ("", ""), MOST, Counter.chars())):
        if kind == "requests" and " ".join(words(text)[:_BEGINS]) not in known:
            yield Item("decisions", _place(text, entries, ("result", "failure")), text)
        elif kind == "decisions":
            yield Item(kind, _place(text, entries, ("text",)), text)
        elif kind == "errors" and not text.endswith("(resolved)"):
            yield Item(kind, _place(text, entries, ("result", "failure"), last=True), text)


def _of_earlier(earlier: list[tuple[int, str]], rules: list[str]) -> Iterator[Item]:
    """Yield the rules that hold and the requests of earlier summaries."""
    for at, summary in earlier:
        for kind, text in told(summary):
            if kind == "requests" or (kind == "rules" and text in rules):
                yield Item(kind, at, text)


def _with_kept(summary: Summary) -> str:
    """Return the text of a summary; what the user kept word by word is a rule."""
    kept = [f"- {' '.join(span.text.split())}" for span in summary.kept]
    return "\n".join([summary.text, "## Rules", *kept]) if kept else summary.text


def told(summary: str) -> Iterator[tuple[ItemKind, str]]:
    """Yield the lines of an offline summary under the headings of rules, requests, decisions and errors."""
    section = None
    for line in summary.splitlines():
        if line.startswith("#"):
            section = SECTIONS.get(line.lstrip("# ").strip().lower())
        elif section and line.strip(" -…"):
            yield section, line.lstrip(" -…").strip()


def _said(said: list[tuple[int, str]], hold: set[str]) -> list[Item]:
    """Return the user's rules that still hold, and of each message what else it asks for."""
    seen, found = set[str](), list[Item]()
    for at, text in said:
        lines = _statements(text)
        rules, *_, limits = _core.facts((_message(unfenced(text)), ()), "")
        given = [rule for rule in [*filter(binds, rules), *limits] if rule in hold]
        for rule in given:
            if rule not in seen:
                seen.add(rule)
                found.append(Item("rules", at, rule))
        if withdraws(text) and found and found[-1].kind == "requests":
            found.pop()
        asked = [clean(line, LONGEST) for line in _rest(lines, given)]
        begins = "\n".join(asked[:STATEMENTS])
        if asked and begins not in seen:
            seen.add(begins)
            found.append(Item("requests", at, "\n".join([begins, *asked[STATEMENTS:][-1:]])))
    return found


def _message(text: str) -> list[Message]:
    return [{"role": "user", "content": text}]


def _statements(text: str) -> list[str]:
    """Return the statements of a message of the user, in its order; none of what a program inserted."""
    summary = _core.offline((_message(text), [_NEWER]), ("", ""), EVERYTHING, Counter.chars())
    flat = " ".join(words(text))
    lines = [line for kind, line in told(summary) if kind in ("rules", "requests")]
    return sorted(lines, key=lambda line: flat.find(" ".join(words(line)[:_BEGINS])))


def _rest(lines: list[str], rules: list[str]) -> list[str]:
    """Return the statements of a message without the rules in them, and without names of pictures."""
    found = []
    for line in lines:
        rest = line
        for rule in rules:
            rest = rest.replace(rule, " ")
        if not any(line in rule for rule in rules) and rest.strip() and not _PICTURE.fullmatch(rest):
            found.append(rest)
    return found


def _place(text: str, entries: _Entries, kinds: Collection[str], *, last: bool = False) -> int | None:
    """Return the number of the first or the last message that has the first words of a text in such an entry."""
    wanted = f" {' '.join(words(text)[:_BEGINS])} "
    for at, kind, _, inside in reversed(entries) if last else entries:
        if kind in kinds and wanted in f" {' '.join(words(inside))} ":
            return at
    return None


def _written(path: str, entries: _Entries) -> int | None:
    """Return the number of the last message with a call that names a file."""
    name = path.rsplit("/", 1)[-1]
    return next((at for at, kind, _, text in reversed(entries) if kind == "call" and name in text), None)
