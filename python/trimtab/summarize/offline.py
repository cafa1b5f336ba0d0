"""The summary without a model: what is most likely needed again, taken out of the messages word by word."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from . import _terms
from ._choose import Candidate, fitted
from ._earlier import Earlier, earlier, still_open
from ._parts import Part, parts
from ._runs import commands, errors, files
from ._said import Line, Section, clean, decisions, is_code, open_items, requests, sentences
from ._terms import Term, Terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ._ask import Ask

_WHERE = {"user": _terms.USER, "assistant": _terms.SAID, "call": _terms.CALLED, "earlier": _terms.EARLIER}
_GROUPS = {"path": "mentioned", "name": "names", "id": "ids", "url": "urls", "version": "versions"}
_WORTH = {"edited": 2.5, "created": 2.5, "deleted": 2.0, "read": 1.4}
_STRENGTH = ("deleted", "created", "edited", "read")
_FILE = re.compile(r"\w\.\w+$")
_NAME = 5.0
"""What a name that surely comes back is worth, in tokens of a request."""
_COMMON = set(re.findall(r"\w+", "that this with from have what when which should would about into keep focus summary"))


def offline(ask: Ask, /) -> str:
    """Requests, decisions, files, commands, errors, names and open items of the messages, most needed first.

    Takes sentences, lines and names as they stand and ranks them by the evidence that they will be needed again: late,
    in several messages, in the user's words, in a call's arguments, in an error, asked for in the instructions. An
    earlier summary is updated. The same request gives the same text; it asks no model and costs at most
    ``ask.max_tokens`` by ``ask.count``.
    """
    if ask.max_tokens < 1:
        return ""
    before = earlier(ask.previous)
    known = [part for part in parts(ask.messages) if not _repeats(part, ask.previous)]
    size = max(len(ask.messages), 1)
    after = list(parts(ask.after))
    lines = [*(line for line in before.lines if still_open(line, known)), *_lines(known, after, size)]
    terms = _gathered(ask, known, after, before)
    for line in lines:
        if line.section == "Errors":
            terms.mark(line.text, _terms.FAILED)
    terms.settle()
    candidates = [*_from_lines(lines, terms, size, ask.instructions), *_from_terms(terms, known, before, size)]
    return fitted(candidates, ask.max_tokens, ask.count)


def _repeats(part: Part, previous: str | None) -> bool:
    """Whether a part is the message that carries the earlier summary."""
    if not previous or part.kind in {"result", "call"} or part.at > 1:
        return False
    held = set(re.findall(r"\w+", previous))
    return len(held) > 3 and len(held & set(re.findall(r"\w+", part.text))) >= 0.9 * len(held)


def _gathered(ask: Ask, known: list[Part], after: list[Part], before: Earlier) -> Terms:
    terms = Terms()
    terms.note(before.names, -1, _terms.EARLIER)
    terms.note("\n".join(path for path, _ in before.files), -1, _terms.EARLIER)
    for part in known:
        terms.note(part.text, part.at, _WHERE.get(part.kind, 0))
    for part in after:
        terms.mark(part.text, _terms.AFTER)
    terms.mark(ask.instructions or "", _terms.ASKED)
    return terms


def _lines(known: list[Part], after: list[Part], size: int) -> Iterator[Line]:
    calls = {part.id: part for part in known if part.kind == "call"}
    results = {part.id: part for part in [*known, *after] if part.kind == "result"}
    yield from requests(known, after, size)
    yield from decisions(known, size)
    yield from commands(known, results, size)
    yield from errors(known, calls, size)
    yield from open_items(known, after, size)
    for part in known:
        if part.kind == "earlier":
            for number, one in enumerate(sentences(part.text)):
                yield Line("Earlier", one, 0.2 if is_code(one) else 0.5, part.at, number)


def _from_lines(lines: Iterable[Line], terms: Terms, size: int, instructions: str | None) -> Iterator[Candidate]:
    """Lines as candidates; what they name and what the instructions ask for raises them."""
    asked = {word for word in re.findall(r"\w{4,}", (instructions or "").lower()) if word not in _COMMON}
    chances: dict[str, float] = {}
    for line in lines:
        text = clean(line.text, 520)
        if not text:
            continue
        held = frozenset(terms.of(text))
        for name in held:
            if name not in chances:
                chances[name] = _terms.chance(terms.found[name], size)
        worth = sum(sorted(map(chances.__getitem__, held)))
        rank = line.rank + 0.5 * _NAME * worth / (4 + len(text) / 4)
        if asked:
            hits = len(asked.intersection(re.findall(r"\w{4,}", text.lower())))
            rank *= 1 + min(hits, 3)
        yield Candidate(line.section, "", text, rank, (line.at, line.number), held)


def _from_terms(terms: Terms, known: list[Part], before: Earlier, size: int) -> Iterator[Candidate]:
    """Names as candidates, and the files with what was done to them."""
    done: dict[str, str] = {}
    for path, how in [*before.files, *files(known)]:
        name = _relative(path, terms.root)
        if name and " " not in name:
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
            rank = _NAME * _terms.chance(term, size) * _WORTH.get(how, 1.0) / (1 + len(term.text) / 4)
            section: Section = "Files" if how or term.sort == "path" else "Identifiers"
            yield Candidate(section, how or _GROUPS[term.sort], clean(term.text), rank, (term.last, 0))


def _relative(path: str, root: str) -> str:
    name = clean(path.strip(), 160)
    return name[len(root) + 1 :] if root and name.startswith(root + "/") else name.removeprefix("./")
