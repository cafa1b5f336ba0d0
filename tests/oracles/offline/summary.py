"""The summary without a model: what is most likely needed again, taken out of the messages word by word."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from oracles.offline.parts import Part, parts

from . import terms as _terms
from .choose import USERS, Candidate, fitted
from .earlier import Earlier, earlier, still_open, update
from .errors import errors
from .files import files, folders
from .language import language
from .open import open_items
from .replaced import relate
from .retract import ANCHOR, SUBSTITUTION, Renamed, outdate, reconcile, renamed
from .runs import EDITS, WRITES, commands, told_apart, with_hidden
from .said import answers, decisions, project, requests
from .terms import Term, Terms, quoted
from .text import Line, Section, clean, is_code, sentences, split, without_code
from .worth import by_length, stands_alone, without_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from trimtab.summarize import Ask

_WHERE = {"user": _terms.USER, "assistant": _terms.SAID, "call": _terms.CALLED, "earlier": _terms.EARLIER}
_GROUPS = {"path": "mentioned", "name": "names", "id": "ids", "url": "urls", "version": "versions"}
_WORTH = {"edited": 2.5, "created": 2.5, "deleted": 2.0, "read": 1.4}
_CHANGED = 0.6
_STRENGTH = ("deleted", "created", "edited", "read")
_FILE = re.compile(r"\w\.\w+$")
IN_PARTS = 1_000
"""Limit from which a paragraph is kept whole or left out."""
TERSE = 600
"""Limit up to which a label that says of what kind a statement is goes."""
_NAME = 5.0
"""Worth of a name that surely comes back, in tokens of a request."""
_COMMON = set(re.findall(r"\w+", "that this with from have what when which should would about into keep focus summary"))


def offline(ask: Ask, /) -> str:
    """Requests, decisions, files, commands, errors, names and open items of the messages, most needed first.

    Takes sentences, lines and names as they stand and ranks them by the evidence that they will be needed again: late,
    in several messages, in the user's words, in a call's arguments, in an error, asked for in the instructions. An
    earlier summary is updated. What stays behind the zone is looked at: a failure that went well there is resolved,
    what it goes on with is not open, and what it takes back falls in rank, which is a guess from the words. The same
    request gives the same text; it asks no model and costs at most ``ask.max_tokens`` by ``ask.count``.
    """
    if ask.max_tokens < 1:
        return ""
    before = earlier(ask.previous)
    known = [part for part in with_hidden(parts(ask.messages)) if not _repeats(part, ask.previous)]
    size = max(len(ask.messages), 1)
    after = [replace(part, at=part.at + size) for part in with_hidden(parts(ask.after))]
    whole = told_apart([*known, *after], before.lines)
    known, after = whole[: len(known)], whole[len(known) :]
    names = renamed(whole)
    new = list(_lines(known, after, before.lines, size))
    update(before, new, whole)
    lines = [*(line for line in before.lines if still_open(line, whole)), *new]
    wishes = [*requests(after, (), size)]
    reconcile(lines, [*wishes, *decisions(after, (), size)], [*_spoken(whole)])
    relate(lines, wishes)
    outdate(lines, names)
    terms = _gathered(ask, known, after, before)
    for line in lines:
        if line.section == "Errors":
            terms.mark(line.text, _terms.FAILED)
    terms.settle(folders(known))
    told = [*_from_lines(lines, terms, size, ask)]
    gone = {name for line in lines if not line.trust for name in terms.of(clean(line.text, 520))}
    gone -= {name for one in told for name in one.names}
    listed = _from_terms(terms, known, before, size, names)
    candidates = [*told, *(one for one in listed if one.section != "Identifiers" or one.text not in gone)]
    users = "".join(f"{part.text}\n" for part in whole if part.kind == "user")
    tongue = language(users + (ask.previous or ""), ask.previous or "")
    text = fitted(candidates, ask.max_tokens, ask.count, tongue) or _tally(known, ask)
    return text or (_number(ask, wordless=not candidates) if ask.messages else "")


def _number(ask: Ask, *, wordless: bool) -> str:
    """Where there are no words, or none fit: how many messages there are."""
    number = f"- {len(ask.messages):,} message{'s' * (len(ask.messages) != 1)}"
    texts = [f"{number} without words"] * wordless + [number, "…", "."]
    return next((text for text in texts if ask.count(text) <= ask.max_tokens), "")


def _spoken(parts: Iterable[Part]) -> Iterator[Part]:
    return (part for part in parts if part.kind in {"user", "assistant"})


def _tally(known: list[Part], ask: Ask) -> str:
    """Where nothing stands out: how often each tool was called, as far as the limit goes."""
    calls = Counter(clean(part.name, 60) for part in known if part.kind == "call")
    words = [f"{name} {times:,}" for name, times in calls.most_common() if name]
    for shown in range(min(len(words), 20), 0, -1):
        line = f"## Commands\n- {sum(calls.values()):,} tool calls: {', '.join(words[:shown])}"
        if ask.count(line) <= ask.max_tokens:
            return line
    return ""


def _repeats(part: Part, previous: str | None) -> bool:
    """Whether a part is the message that carries the earlier summary."""
    if not previous or part.kind in {"result", "call"} or part.at > 1:
        return False
    held = set(re.findall(r"\w+", previous))
    return len(held) > 3 and len(held & set(re.findall(r"\w+", part.text))) >= 0.9 * len(held)


def _gathered(ask: Ask, known: list[Part], after: list[Part], before: Earlier) -> Terms:
    terms = Terms(quoted(part.text for part in _spoken([*known, *after])))
    terms.note(before.names, -1, _terms.EARLIER)
    terms.note("\n".join(path for path, _ in before.files), -1, _terms.EARLIER)
    for part in known:
        where = _WHERE.get(part.kind, 0)
        if part.kind == "call" and (EDITS.search(part.name) or WRITES.search(part.name)):
            where |= _terms.WROTE
        terms.note(_unsubstituted(part), part.at, where)
    for part in after:
        terms.mark_after(part.name)
        terms.mark_after(_unsubstituted(part))
    terms.mark(ask.instructions or "", _terms.ASKED)
    return terms


def _unsubstituted(part: Part) -> str:
    """A part's text; what sed or perl replace as words, as it looks like a path else."""
    if part.kind != "call" or ("sed " not in part.text and "perl " not in part.text):
        return part.text
    return ANCHOR.sub("", SUBSTITUTION.sub(r" \2 \3 ", part.text))


def _lines(known: list[Part], after: list[Part], before: list[Line], size: int) -> Iterator[Line]:
    whole = [*known, *after]
    calls = {part.id: part for part in whole if part.kind == "call"}
    results = {part.id: part for part in whole if part.kind == "result"}
    yield from requests(known, after, size)
    yield from answers(known, calls, size)
    yield from project(known)
    yield from decisions(known, after, size)
    yield from commands(whole, results, size)
    yield from errors(whole, calls, size)
    yield from open_items(known, after, before, size)
    for part in known:
        if part.kind == "earlier":
            for number, one in enumerate(sentences(without_code(part.text))):
                yield Line("Earlier", one, 0.2 if is_code(one) else 0.5, part.at, number)


def _from_lines(lines: Iterable[Line], terms: Terms, size: int, ask: Ask) -> Iterator[Candidate]:
    """Lines as candidates; what they name and what the instructions ask for raises them."""
    asked = {word for word in re.findall(r"\w{4,}", (ask.instructions or "").lower()) if word not in _COMMON}
    chances: dict[str, float] = {}
    for line in lines:
        text = clean(line.text, 520)
        if not text or not line.trust:
            continue
        held = frozenset(terms.of(text))
        for name in held:
            if name not in chances:
                chances[name] = _terms.chance(terms.found[name], size)
        worth = 0.0
        for one in sorted(map(chances.__getitem__, held)):
            worth += one  # as `sum` before Python 3.12, which rounds otherwise
        rank = (line.rank + 0.5 * _NAME * worth / (4 + len(text) / 4)) * line.trust
        if asked:
            hits = len(asked.intersection(re.findall(r"\w{4,}", text.lower())))
            rank *= 1 + min(hits, 3)
        at = (line.at, line.number)
        users = line.section in USERS
        if users and ask.max_tokens <= TERSE:
            text = without_kind(text)
        if users:
            rank *= by_length(len(text))
        yield Candidate(line.section, "", text, rank, at, held)
        if users and ask.max_tokens < IN_PARTS and len(told := split(text)) > 1:
            for one in told:
                if stands_alone(one):
                    yield Candidate(line.section, "", one, 0.8 * rank, at, frozenset(terms.of(one)), part=True)


def _from_terms(terms: Terms, known: list[Part], before: Earlier, size: int, names: Renamed) -> Iterator[Candidate]:
    """Names as candidates, and the files with what was done to them."""
    done: dict[str, str] = {}
    for path, how in [*before.files, *files(known)]:
        name = terms.path(clean(path.strip().rstrip("/"), 160))
        if name and " " not in name and name != terms.root:
            old = done.get(name, how)
            done[name] = min(old, how, key=_STRENGTH.index)
    for name in done:
        terms.found.setdefault(name, Term(name, "path", 1))
    if terms.root:
        yield Candidate("Files", "root", clean(terms.root), 1.5, (0, 0))
    for term in terms.found.values():
        bare = term.sort == "path" and "/" not in term.text and not _FILE.search(term.text)
        if term.seen and term.text and (not bare or term.text in done):
            how = done.get(term.text, "")
            chance = max(_terms.chance(term, size), _CHANGED if how not in {"", "read"} else 0)
            rank = _NAME * chance * _WORTH.get(how, 1.0) / (1 + len(term.text) / 4)
            rank *= 0.2 if names.gone(term.text, term.last) else 1
            section: Section = "Files" if how or term.sort == "path" else "Identifiers"
            if section == "Identifiers" and term.where & _terms.AFTER:
                continue  # the messages behind the summary say it
            yield Candidate(section, how or _GROUPS[term.sort], clean(term.text), rank, (term.last, 0))
