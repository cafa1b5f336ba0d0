"""Holds a model's summary to its messages: what stands nowhere in them goes, what it must have is added."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from .. import _core
from ..messages.envelope import BRIEF_BELOW
from .languages import HEADINGS, NAMES, is_both, language
from .sections import from_json
from .text import clean, gives_rule, words
from .units import joined, units

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .ask import Answer, Ask, Facts
    from .units import Unit

_TAGGED = re.compile(
    r"\s*<(think|thinking|analysis|reasoning|scratchpad)>(?:.*?</\1>\s*|.*\Z)", re.DOTALL | re.IGNORECASE
)
_LEFT_OPEN = re.compile(r"\A(?:(?!<think(?:ing)?>).)*?^[ \t]*</think(?:ing)?>[ \t]*$\s*", re.DOTALL | re.MULTILINE)
_SUMMARY = re.compile(r"\s*<summary>\s*(.*?)\s*(?:</summary>\s*)?\Z", re.DOTALL | re.IGNORECASE)
_PASSES = re.compile(r"\b(?:pass(?:es|ed|ing)?|succeed\w*|success\w*|green|all ok)\b", re.IGNORECASE)
_FAILS = re.compile(
    r"\b(?:fail\w*|errors?|broken|red|not|no|never|until|unless|must|should|before|once|when|if|to)\b|n't",
    re.IGNORECASE,
)
_TESTS = re.compile(r"\b(?:tests?|suite|build|lint|checks?)\b", re.IGNORECASE)
_SPAN = re.compile(r"`([^`]+)`")

SHOWN = 20
"""Most claims that a correction names."""

ALIKE = 0.8
"""Share of a rule's words that one line of the answer has where it gives the rule."""

LIKE = 0.4
"""Share of the first request's words that the answer has where it tells of it in other words."""

LABEL, TOLD = 3, 4
"""The most words of a rule's label, and the fewest of what stands behind it."""

LEAST = 160
"""Tokens that missing rules may take from the answer's last lines, if a third of the limit is less."""


def titles_of(spoken: str | None) -> tuple[str, ...]:
    """Return the headings in a language, in English where they are not translated."""
    return HEADINGS[spoken if spoken in HEADINGS else "en"]


def own(text: str) -> str:
    """Return an answer's text without its own reasoning, out of its own tags, and from JSON as Markdown."""
    before = None
    while before != text:
        before, text = text, _TAGGED.sub("", text, count=1) if _TAGGED.match(text) else text
    text = _LEFT_OPEN.sub("", text, count=1)
    inside = _SUMMARY.match(text)
    return from_json(inside[1] if inside else text)


def foreign(text: str, facts: Facts) -> str | None:
    """Return why an answer's language is not the conversation's, or None if it is, or if its words do not tell."""
    spoken = language(text) if facts.language else None
    if spoken is None or spoken == facts.language:
        return None
    if is_both(text, spoken, str(facts.language)):
        return None
    wanted = NAMES[str(facts.language)]
    return f"the answer is in {NAMES[spoken]}, the conversation in {wanted}: write it in {wanted}"


def lacks(text: str, ask: Ask) -> str | None:
    """Return which claims of an answer stand nowhere in the messages, or None if all do."""
    found = [claim for _, claims in unproven(units(text), ask) for claim in claims]
    if not found:
        return None
    named = ", ".join(clean(claim, 80) for claim in [*dict.fromkeys(found)][:SHOWN])
    return f"it holds what stands nowhere in the conversation: {named}"


def held(answer: Answer, ask: Ask) -> Answer:
    """Return an answer without what stands nowhere in the messages, and with what it must have and lacks.

    The rules that are missing are added verbatim, if need be in place of the last lines; then the first request, files
    that were written and open tasks, as far as the limit allows. The text is blank if nothing of the answer is left.
    """
    facts = ask.facts
    if facts is None:
        return answer
    parts = units(answer.text)
    gone, dropped = _unheld(parts, unproven(parts, ask))
    kept = [unit for at, unit in enumerate(parts) if at not in gone]
    if not any(unit.kind in {"bullet", "sentence", "code"} for unit in kept):
        return replace(answer, text="", dropped=dropped)
    text = joined(kept) if gone else answer.text.strip()
    text, added, out = _with_missing(text, facts, _limit(ask), ask.count)
    return replace(answer, text=text, dropped=(*dropped, *out), added=added)


def unproven(parts: list[Unit], ask: Ask) -> Iterator[tuple[int, list[str]]]:
    """Yield the position of each unit with claims that nothing proves, and the claims."""
    facts = ask.facts
    if facts is None:
        return
    own = [facts.state, str(len(ask.messages)), str(len(ask.after))]
    if ask.reuse_cache is not None:
        own.append(json.dumps(ask.reuse_cache.system, ensure_ascii=False, default=str))
    more = [*own, *(text for text in (ask.previous, ask.instructions, ask.context) if text)]
    texts = [unit.text for unit in parts]
    found = _core.unfounded(texts, (ask.messages, ask.after), more)
    for at, (text, claims) in enumerate(zip(texts, found, strict=True)):
        named = [text for _, text in claims]
        if failing := _contradicted(text, facts):
            named.append(f"that `{failing}` passed")
        if named:
            yield at, named


def _contradicted(text: str, facts: Facts) -> str | None:
    """Return the command whose last run failed, where a unit says that it passed."""
    if not _PASSES.search(text) or _FAILS.search(text):
        return None
    spans = _SPAN.findall(text)
    failed = [command for command, fails in facts.tests if fails]
    for command in failed:
        if any(span and (span in command or command in span) for span in spans):
            return command
    return failed[-1] if failed and len(failed) == len(facts.tests) and not spans and _TESTS.search(text) else None


def _unheld(parts: list[Unit], found: Iterable[tuple[int, list[str]]]) -> tuple[set[int], tuple[str, ...]]:
    """Return the positions of the units that go, with the bullets below them, and what the event says of each."""
    gone: set[int] = set()
    dropped = []
    for at, claims in found:
        if at in gone:
            continue
        gone.add(at)
        dropped.append(f"{clean(parts[at].text)} [nowhere: {', '.join(clean(claim, 80) for claim in claims)}]")
        if parts[at].kind != "bullet":
            continue
        for below in range(at + 1, len(parts)):
            if parts[below].kind not in {"bullet", "code", "blank"} or (
                parts[below].kind == "bullet" and parts[below].indent <= parts[at].indent
            ):
                break
            if parts[below].kind == "bullet":
                gone.add(below)
                dropped.append(f"{clean(parts[below].text)} [below it]")
    return gone, tuple(dropped)


def _limit(ask: Ask) -> int:
    """Return the most tokens of the answer."""
    return min(ask.max_tokens, ask.replaces - 1) if ask.replaces else ask.max_tokens


def _with_missing(
    text: str, facts: Facts, limit: int, count: Callable[[str], int]
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the text with what it lacks, what was added, and which of its last lines left for rules."""
    titles = titles_of(facts.language)
    text, added, out = with_rules(text, missing_rules(facts.rules, text), titles, limit, count)
    for at, line in _facts_missing(text, facts, titles):
        longer = _inserted(text, at, titles, [line])
        if count(longer) <= limit:
            text = longer
            added.append(line)
    return text, tuple(added), tuple(out)


def missing_rules(rules: Iterable[str], text: str) -> list[str]:
    """Return the rules that no line of a text gives."""
    lines = [set(words(line)) for line in text.splitlines()]
    return [rule for rule in rules if not any(_covers(line, _unlabelled(rule), ALIKE) for line in lines)]


def _unlabelled(rule: str) -> str:
    """Return a rule without a label in front, such as "SAFETY RULE:", which a summary in few tokens leaves out."""
    label, _, told = rule.partition(": ")
    return told if len(label.split()) <= LABEL and len(words(told)) >= TOLD else rule


def tells(text: str, request: str) -> bool:
    """Return whether a text tells of a request, in its own words or in others."""
    return _covers(set(words(text)), request, LIKE)


def with_rules(
    text: str, rules: Iterable[str], titles: tuple[str, ...], limit: int, count: Callable[[str], int]
) -> tuple[str, list[str], list[str]]:
    """Return the text with rules as far as a share of the limit allows, these, and which last lines left for them.

    A summary in few tokens that is a list of bullets gets no heading for them.
    """
    if limit < BRIEF_BELOW and all(line.startswith("- ") for line in text.splitlines()):
        titles = ()
    most = min(max(LEAST, limit // 3), limit // 2)
    added: list[str] = []
    for rule in rules:
        if count("\n".join(f"- {one}" for one in [*added, rule])) <= most:
            added.append(rule)
    out: list[str] = []
    left = units(text)
    removable = _removable(left)
    while added and count(longer := _inserted(joined(left), 0, titles, added)) > limit:
        if (last := next(removable, None)) is None:
            added.pop()
        else:
            out.append(f"{clean(left.pop(last).text)} [in place of it: rules]")
    return (longer, added, out) if added else (text, [], [])


def _removable(left: list[Unit]) -> Iterator[int]:
    """Yield the positions of units with content that give no rule, the last first; never that of the only one."""
    found = [at for at, unit in enumerate(left) if unit.kind in {"bullet", "sentence", "code"}]
    many = len(found)
    for at in reversed(found):  # whoever takes it out moves none that comes after it here
        if many > 1 and not gives_rule(clean(left[at].text)):
            many -= 1
            yield at


def _facts_missing(text: str, facts: Facts, titles: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield the facts that a text lacks, each as a bullet's text with the number of its heading."""
    said = set(words(text))
    if facts.request and not _covers(said, facts.request, LIKE):
        yield 1, f"{titles[5]}: {facts.request}"
    for task, status in facts.tasks:
        if not _covers(said, task, ALIKE):
            yield 3, f"{status}: {task}"
    if files := [path for path in facts.written if path.rsplit("/", 1)[-1] not in text]:
        yield 2, f"{titles[4]}: {', '.join(files)}"


def _inserted(text: str, at: int, titles: tuple[str, ...], lines: list[str]) -> str:
    """Return a text with bullets at the end of a section; rules without one stand in front, anything else behind."""
    names = {names[at].lower() for names in HEADINGS.values()}
    bullets = "".join(f"- {line}\n" for line in lines)
    parts = text.splitlines(keepends=True)
    for start, line in enumerate(parts):
        if line.startswith(("#", "**")) and line.strip("#* :\n").lower() in names:
            end = next((n for n in range(start + 1, len(parts)) if parts[n].startswith(("#", "**"))), len(parts))
            head = "".join(parts[:end]).rstrip()
            behind = "".join(["\n", *parts[end:]]) if end < len(parts) else ""
            return f"{head}\n{bullets}{behind}".strip()
    if not titles:
        return f"{bullets}{text}".strip()
    section = f"## {titles[at]}\n{bullets}"
    return f"{section}\n{text}".strip() if at == 0 else f"{text}\n\n{section}".strip()


def _covers(said: set[str], text: str, share: float) -> bool:
    """Return whether words have this share of a text's, and all of its numbers."""
    wanted = set(words(text))
    numbers = {word for word in wanted if word.isdigit()}
    return len(wanted & said) >= share * len(wanted) and (share < ALIKE or numbers <= said)
