"""Requests and decisions as lines that a summary may keep, each with its rank."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from . import worth
from .announced import LEAST, announces
from .limits import is_output
from .runs import refused
from .text import Line, bare, clean, is_code, sentences, split, unwrapped, without_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from oracles.offline.parts import Part

_DECIDED = re.compile(
    r"\b(?:root cause|decided?|because|turns? out|the (?:real |actual )?(?:problem|issue|bug|fix|reason|cause)|fixed"
    r"|instead|confirmed|verified|all tests|pass(?:es|ed)?|fail(?:s|ed)?|implemented|removed|renamed|merged|pushed"
    r"|committed|completed?|works|conclu\w+|recommend\w*|blocked|found that|means that|caused by|won'?t|cannot|must)\b",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"(?:let me|let's|now|step \d|i'll|i will|great|good|perfect|ok(?:ay)?|sure|excellent"
    r"|you'?re (?:absolutely )?right|i'm (?:going|now)|i (?:see|need to)|next,? i|looking at)\b",
    re.IGNORECASE,
)
_SMALL = (
    "no nope yes yep yeah ok okay k thanks thank thx you ty great good perfect better best nice cool sure right exactly"
    " agreed fine well done awesome excellent wonderful lovely correct that that's thats is it it's its this was very"
    " so much looks lgtm hello hi hey please continue go on ahead proceed again all to me now then same next and a for"
    " the indeed cheers acknowledged noted understood got will do continuing proceeding moving with plan sounds"
)
_SMALL_TALK = frozenset(_SMALL.split())


def small_talk(sentence: str) -> bool:
    """Whether a sentence has only words that ask and tell nothing by themselves."""
    words = re.findall(r"\w[\w']*", sentence.lower().replace("\u2019", "'"))
    return 0 < len(words) <= 6 and _SMALL_TALK.issuperset(words)


LONGEST = 400
"""Most characters of a paragraph that stays whole."""
BLOCK = 200
"""Most characters of the lines of a block that stand together."""


def requests(parts: Sequence[Part], after: Sequence[Part], size: int) -> Iterator[Line]:
    """Paragraphs of the user; the newest request ranks highest, if none comes after.

    Small talk is left out unless it is all that the newest request says, or all that answers a question; the answer
    then carries the question.
    """
    said = [part for part in parts if part.kind == "user"]
    newer = any(part.kind == "user" for part in after)
    seen: set[str] = set()
    question = ""
    for part in parts:
        if part.kind == "assistant":
            question = part.text.rstrip()[-400:]
        if part.kind != "user":
            continue
        newest = 0.0 if part is not said[-1] else 0.25 if newer else 3.0
        printed = is_output(part.text)
        for number, (one, block) in enumerate(_asked(part.text, question, last=newest > 1)):
            if one in seen:
                continue
            seen.add(one)
            does = worth.said(one) if printed or block else worth.with_limit(one)
            does = replace(does, rule=does.rule and not block)
            more = 0.2 * part.at / size + 0.5 * (number == 0 and part is said[0])
            rank = rank_of(one, does, number, more, newest * 20 / (20 + number))
            binds = does.binds and not is_opened(one)
            yield Line("Rules" if binds else "Requests", one, rank, part.at, number)


def rank_of(one: str, does: worth.Said, number: int, more: float, newest: float = 0.0) -> float:
    """Worth of a token of the user's paragraph with a number in its message; a rule far behind is one too."""
    fades = 32 if does.rule else 16 if does.limit else 8
    more = (0.3 * bool(worth.MUST.search(one)) + more) * (0.1 + 0.9 * worth.sure(does.evidence))
    rank = (more + worth.worth(does)) * fades / (fades + number) + newest
    fragment = number and (len(one) < 20 or one.endswith(":") or is_code(one))
    return rank * (0.4 if fragment or worth.LOGGED.search(one) else 1.0)


_ROW = re.compile(r"\s*[|\u2500-\u259f]")
"""A row of a table, or of a picture of a screen."""


def with_blocks(text: str) -> list[tuple[str, bool]]:
    """The lines of a text, with those of a block of code or rows as one of up to ``BLOCK`` characters.

    Each with whether it is one. One of them alone says nothing; lines of words that are a rule stay apart.
    """
    raws = list(unwrapped(text))
    fences = sum(raw.lstrip().startswith("```") for raw in raws)
    seen = 0
    fenced = goes_on = False
    out: list[tuple[str, bool]] = []
    for raw in raws:
        if raw.lstrip().startswith("```"):
            seen += 1
            fenced = not fenced and seen < fences  # one without its pair opens nothing
            goes_on = False
            continue
        row = _ROW.match(raw)
        line = bare(raw, LONGEST) if row else clean(raw, LONGEST)
        block = row or (fenced and (is_code(line) or not worth.said(line).rule))
        if block and not line:
            continue
        if not block:
            out.append((raw, False))
            goes_on = False
        elif goes_on and len(out[-1][0]) + len(line) < BLOCK:
            out[-1] = f"{out[-1][0]} {line}", True
        else:
            out.append((line, True))
            goes_on = True
    return out


def paragraphs(lines: Iterable[tuple[str, bool]]) -> Iterator[tuple[list[str], bool]]:
    """The sentences of each paragraph of lines, and whether it is a block.

    In pieces of at most ``LONGEST`` characters, without bullets. The items of a list below a rule stand in its
    paragraph, and in further ones that begin with it. The next item of the list that the rule itself is in is not
    below it.
    """
    rule, own = "", -1
    held: list[tuple[list[str], bool]] = []
    for raw, block in lines:
        if block:
            rule = ""
            held.append(([raw], True))
            continue
        if rule and _LISTED.match(raw) and _indent(raw) > own:
            item = bare(raw, LONGEST)
            last = held[-1][0][-1]
            if item and (is_opened(last) or len(last) + len(item) <= LONGEST):
                held[-1][0][-1] = f"{last} {item}" if is_opened(last) else f"{last}; {item}"
            elif item:
                held.append(([f"{rule} {item}"], False))
            continue
        rule = ""
        piece: list[str] = []
        for one in split(raw) if len(raw) > 60 else [raw]:
            plain = bare(one, 500)
            if not plain:
                continue
            if piece and sum(len(each) + 1 for each in piece) + len(plain) > LONGEST:
                held.append((piece, False))
                piece = []
            piece.append(plain)
        if piece:
            held.append((piece, False))
            whole = joined(piece)
            rule = whole if is_opened(whole) and worth.said(whole).rule else ""
            own = _indent(raw) if _LISTED.match(raw) else -1
            if rule and worth.said(split(rule)[-1]).rule:
                rule = split(rule)[-1]
    yield from held


_LISTED = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def is_opened(line: str) -> bool:
    """Whether a line only opens what comes below it."""
    return line.endswith((":", "\uff1a"))


def _asked(text: str, question: str, *, last: bool) -> list[tuple[str, bool]]:
    """The paragraphs of a user's text that say something, and whether each is a block."""
    found = list(paragraphs(with_blocks(text)))
    telling = [(one[0] if block else _telling(one), block) for one, block in found]
    if any(one for one, _ in telling) or not found:
        return [(one, block) for one, block in telling if one]
    asked = list(sentences(without_code(question), 300))[-1:] if question.endswith("?") else []
    if asked:
        return [(f"{found[0][0][0]} (asked: {split(asked[0])[-1]})", False)]
    return [(joined(one), False) for one, _ in found] if last else []


def _telling(piece: list[str]) -> str:
    """A paragraph without sentences of small talk, and without asides unless it has nothing else."""
    kept = [one for whole in piece for one in split(whole) if not small_talk(one)]
    return joined([one for one in kept if not worth.is_aside(one)] or kept)


def joined(sentences: Iterable[str]) -> str:
    """Sentences as one text; behind a full-width stop there is no space."""
    text = ""
    for one in sentences:
        text += one if not text or text.endswith(("\u3002", "\uff01", "\uff1f")) else f" {one}"
    return text


ASKING = re.compile(
    r"^(?:ask(?:_?(?:user|human|followup|question|me)\w*)?|questions?|\w*(?:elicit|clarif)\w*)\Z|user_?(?:input|question)",
    re.IGNORECASE,
)
"""Names of tools that ask the user."""
PLANNED = re.compile(r"exit_?plan|plan_?exit", re.IGNORECASE)
"""Names of tools that ask the user to approve a plan."""
ANSWERED = re.compile(
    r"\s*(?:user has (?:answered|approved|rejected|declined)|your questions? (?:have|has) been answered"
    r"|user (?:answered|approved|rejected|declined|said)"
    r"|the user (?:approved|rejected|declined|answered|said|provided))\b",
    re.IGNORECASE,
)
"""How the result of such a tool begins that has the user's words."""
REFUSED = re.compile(r"the user (?:said|provided the following reason[^:\n]*):\s*", re.IGNORECASE)
"""What stands in front of the user's words in the result of a call that was refused."""


def answers(parts: Sequence[Part], calls: dict[str, Part], size: int) -> Iterator[Line]:
    """The user's words that arrived as results: answers to questions, approvals, and reasons of refusals."""
    for part in parts:
        if part.kind == "result":
            name = calls[part.id].name if part.id in calls else ""
            reason = REFUSED.search(part.text[:2_000]) if refused(part) else None
            if reason or ASKING.search(name) or (PLANNED.search(name) and ANSWERED.match(part.text)):
                text = clean(part.text[reason.end() :] if reason else part.text, LONGEST)
                if text:
                    yield Line("Requests", text, 2.0 + 0.2 * part.at / size, part.at)


def project(parts: Sequence[Part]) -> Iterator[Line]:
    """The rules of the project, as a program put them in."""
    seen: set[str] = set()
    for part in parts:
        if part.kind == "project":
            lines = [(raw, False) for raw in unwrapped(without_code(part.text))]
            for number, (piece, _) in enumerate(paragraphs(lines)):
                one = joined(piece)
                does = worth.said(one)
                if (does.rule or does.asks or worth.MUST.search(one)) and one not in seen:
                    seen.add(one)
                    yield Line("Project rules", one, project_rank(does) * 64 / (64 + number), part.at, number)


def project_rank(does: worth.Said) -> float:
    """Worth of a token of a project's rule."""
    return 0.6 * worth.worth(does)


def decisions(parts: Sequence[Part], after: Sequence[Part], size: int) -> Iterator[Line]:
    """Conclusions of the assistant; what announces a step, and its numbered items, only if no step follows."""
    last = max((part.at for part in parts if part.kind == "assistant"), default=-1)
    ahead = any(part.kind in {"assistant", "call"} for part in after)
    following = [*(part.kind for part in parts[1:]), "user"][: len(parts)]
    seen: set[str] = set()
    chats = not any(part.kind == "call" for part in parts)
    for part, behind in zip(parts, following, strict=True):
        if part.kind != "assistant":
            continue
        final = behind == "user"
        steps = False
        for number, one in enumerate(sentences(without_code(part.text))):
            item = bool(re.match(r"\d{1,2}[.)] ", one))
            if not item:
                steps = one.endswith(":") and announces(one)
            if len(one.encode()) < LEAST or one in seen or one.endswith(":") or small_talk(one):
                continue
            seen.add(one)
            marks = min(len(_DECIDED.findall(one)), 2)
            rank = 0.25 + 0.25 * marks + 0.3 * part.at / size + 0.25 * final
            filler = bool(_FILLER.match(one))
            rank = max(rank - 0.3 * filler, 0.02) * 12 / (12 + number)
            rank *= worth.left_of_worth(one) if chats else 1.0
            trust = 1.0 if marks or not (filler or (steps and item)) else 0.05 if ahead and part.at == last else 0.4
            yield Line("Decisions", one, rank, part.at, number, trust)
