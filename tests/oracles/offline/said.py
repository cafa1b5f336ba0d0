"""Requests and decisions as lines that a summary may keep, each with its rank."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .text import Line, is_code, sentences, split, without_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oracles.offline.parts import Part

_MUST = re.compile(
    r"\b(?:must|never|always|don'?t|do not|only|should|shouldn'?t|instead|without|please|make sure|ensure|need"
    r"|prefer|keep|avoid|whenever|from now on|(?:when|before|after|every time|each time) you"
    r"|your (?:repl(?:y|ies)|answers?|responses?))\b",
    re.IGNORECASE,
)
RULE = re.compile(
    r"\b(?:(?:must|never|always|don'?t|do not|make sure|ensure|prefer|avoid|whenever|from now on"
    r"|only (?:use|ever|change|touch|edit|run|do|the|in|on|for|when|if|after|to)"
    r"|(?:when|before|after|(?:every|each) time) you"
    r"|(?:your|every|each) (?:repl(?:y|ies)|answers?|responses?|commit))\b|only[,.;])",
    re.IGNORECASE,
)
"""A rule that stands, where ``_MUST`` may be a single demand."""

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
    " the indeed cheers"
)
_SMALL_TALK = frozenset(_SMALL.split())


def small_talk(sentence: str) -> bool:
    """Whether a sentence has only words that ask and tell nothing by themselves."""
    words = re.findall(r"\w[\w']*", sentence.lower().replace("\u2019", "'"))
    return 0 < len(words) <= 6 and _SMALL_TALK.issuperset(words)


def requests(parts: Sequence[Part], after: Sequence[Part], size: int) -> Iterator[Line]:
    """Sentences of the user; the newest request ranks highest, if none comes after.

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
        newest = 0.0 if part is not said[-1] else 0.5 if newer else 3.0
        for number, one in enumerate(_asked(part.text, question, last=newest > 1)):
            if one in seen or one.startswith("```"):
                continue
            seen.add(one)
            rules = bool(RULE.search(one))
            fades = 32 if rules else 8
            rank = 0.9 + 0.4 * part.at / size + 0.3 * bool(_MUST.search(one)) + 0.7 * rules + 0.5 * (number == 0)
            rank = rank * fades / (fades + number) + newest * 20 / (20 + number)
            if number and (len(one) < 20 or one.endswith(":") or is_code(one)):
                rank *= 0.4
            yield Line("Requests", one, rank, part.at, number)


def _asked(text: str, question: str, *, last: bool) -> list[str]:
    """The sentences of a user's text that say something."""
    found = list(sentences(text, 500))
    telling = [" ".join(one for one in split(line) if not small_talk(one)) for line in found]
    if any(telling) or not found:
        return [one for one in telling if one]
    asked = list(sentences(without_code(question), 300))[-1:] if question.endswith("?") else []
    return [f"{found[0]} (asked: {split(asked[0])[-1]})"] if asked else found if last else []


def decisions(parts: Sequence[Part], after: Sequence[Part], size: int) -> Iterator[Line]:
    """Conclusions of the assistant; last words that announce a step only if no step follows."""
    last = max((part.at for part in parts if part.kind == "assistant"), default=-1)
    ahead = any(part.kind in {"assistant", "call"} for part in after)
    following = [*(part.kind for part in parts[1:]), "user"][: len(parts)]
    seen: set[str] = set()
    for part, behind in zip(parts, following, strict=True):
        if part.kind != "assistant":
            continue
        final = behind == "user"
        for number, one in enumerate(sentences(without_code(part.text))):
            if len(one.encode()) < 20 or one in seen or one.endswith(":") or small_talk(one):
                continue
            seen.add(one)
            marks = min(len(_DECIDED.findall(one)), 2)
            rank = 0.25 + 0.25 * marks + 0.3 * part.at / size + 0.25 * final
            filler = bool(_FILLER.match(one))
            rank = max(rank - 0.3 * filler, 0.02) * 12 / (12 + number)
            trust = 1.0 if marks or not filler else 0.05 if ahead and part.at == last else 0.4
            yield Line("Decisions", one, rank, part.at, number, trust)
