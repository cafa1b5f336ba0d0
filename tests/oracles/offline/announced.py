"""Statements of the assistant that only announce: what follows them says more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .text import split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracles.offline.parts import Part

    from .text import Line

LEAST = 20
"""Least bytes of a conclusion."""
_LEAD = (
    r"(?:(?:ok(?:ay)?|good|great|perfect|right|alright|excellent|wait|now|next|first|then|finally|sure|so|and|also"
    r"|you['\u2019]?re (?:absolutely )?right|(?:good|great) (?:idea|point|question|call))[,.!:;]? (?:- )?)*"
    r"(?:(?:once|now that|if|after|before|when|while|until|since|as)\b(?:[^,]{1,120},|[^,]{1,40}) )?"
)
_VERBS = (
    r"(?:add|apply|build|change|check|clean|commit|confirm|create|debug|examine|explore|find|fix|implement|insert|install"
    r"|investigate|look|modify|move|pass|read|reconsider|refactor|remove|rename|replace|run|search|see|start|store|test|trace|try"
    r"|understand|update|verify|wire|write)"
)
_INTENDS = re.compile(
    _LEAD + r"(?:let me|let['\u2019]s|i['\u2019]ll|i will"
    r"|i(?:['\u2019]m| am) (?:(?:now|also|still|just) )?(?:about to|not \w+ing|\w+ing)"
    r"|(?:i|we) (?:now |also |still )?(?:need|have) to (?:also )?" + _VERBS + r"|we['\u2019]ll"
    r"|we (?:can|could|should) (?:also )?(?:check|find|list|look|navigate|open|run|start|try|use the)"
    r"|it would be (?:a good idea|good|useful|best) to"
    r"|i['\u2019]ve (?:loaded|read)|proceeding (?:to|with)|using the .{1,40} (?:skill|workflow))\b",
    re.IGNORECASE,
)
_STEP = re.compile(
    r"(?:(?:now|next|first|then),? (?:i|we) (?:also )?(?:need|have|want) to \w+"
    r"|(?:now,? |(?:step|phase|task) \d+\w?[:.] )" + _VERBS + r"(?:ing)?)\b",
    re.IGNORECASE,
)
_READY = re.compile(
    _LEAD + r"(?:(?:good|great) (?:idea|point|question|catch) .{0,60}\.\Z|i (?:now )?(?:have (?:all|everything|enough"
    r"|a (?:good|clear|full|complete|comprehensive|better) (?:picture|understanding)"
    r"|the (?:full |complete )?(?:context|picture|info))\b"
    r"|(?:see|understand)(?: (?:now|it|this|the [\w ]{1,20}))?\.\Z))",
    re.IGNORECASE,
)
_WAITS = re.compile(
    r"^still (?:no|waiting|running|working|pending|in progress)\b"
    r"|\bno (?:new |final )?(?:completion|output|result|response)(?: signal)? yet\b"
    r"|\b(?:is|are) taking (?:a (?:moment|few|while)|longer|some time)\b"
    r"|[;,] (?:so |but |and |then )?i['\u2019](?:ll|m) (?:also |now )?(?:keep \w+ing|continu|wait|monitor|poll|watch)"
    r"|^(?:[\w-]+ ){0,3}(?:agents?|workers?|it|they|all|both|two|three|others?|jobs?|builds?|tests?|suite|commands?)\b"
    r".{0,20}\bstill (?:\w+ )?(?:running|working|active|waiting|pending|in progress|completing|returning)\b"
    r"|^(?:[\w`'\u2019-]+ ){1,5}(?:is|are) still"
    r" (?:running|working|waiting|pending|in progress|executing|building|compiling|starting)\b",
    re.IGNORECASE,
)
_JUDGES = re.compile(
    r"(?:(?:ok(?:ay)?|good|great|perfect|excellent|yes|so|and|now)[,.!:;]? )*"
    r"(?:(?:that|this|it|all|everything|(?:the|that|this|my|your) (?:\w+ ){1,3})(?: now)? ?(?:looks?|seems?|is|are)"
    r"|all|everything) (?:now |all |also )?"
    r"(?:correct|right|good|fine|great|clean|clear|ok(?:ay)?|well|in place|as expected)[.!]?\Z",
    re.IGNORECASE,
)
"""A judgement that names neither what was judged nor a number."""
_ASKS = re.compile(
    r"(?:would you|do you want|(?:do you )?want me|shall i|should i|can you|could you|which (?:approach|option|one))\b"
    r".*\?\Z",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"\b(?:us(?:e|ing)|go(?:ing)? with|switch\w*|choos\w+|pick\w*|prefer\w*|stor(?:e|ing)|skip\w*)\b"
    r".*\b(?:because|instead of|rather than|since|so that)\b",
    re.IGNORECASE,
)


def announces(text: str) -> bool:
    """Whether a sentence only announces, says that the speaker looked or waits, or finds something right."""
    patterns = (_INTENDS, _STEP, _READY, _JUDGES)
    found = any(pattern.match(text) for pattern in patterns) or _WAITS.search(text)
    return bool(found) and not _CHOICE.search(text)


def waits(text: str) -> bool:
    """Whether a sentence only says that the speaker waits."""
    return bool(re.search(r"\b(?:wait(?:ing)?|pending)\b", text, re.IGNORECASE)) and announces(text)


def _without_steps(text: str) -> str:
    """A short line of sentences without those at its end that only announce."""
    told = split(text)
    kept = [*told]
    while len(kept) > 1 and announces(kept[-1]):
        kept.pop()
    return " ".join(kept) if len(kept) < len(told) else text


def settle(lines: list[Line], later: Sequence[Line], spoken: Sequence[Part]) -> None:
    """Takes out decisions that only announce, unless they are the last words, and questions that were answered."""
    last = max((line.at for line in lines if line.section == "Decisions"), default=None)
    answered = max((part.at for part in spoken if part.kind == "user"), default=-1)
    kept = []
    for line in lines:
        if line.section == "Decisions":
            is_next = line.at == last and not later
            rest = line.text if is_next else _without_steps(line.text)
            says_little = rest != line.text and len(rest.encode()) < LEAST
            line.text = rest
            announced = announces(line.text) and (not is_next or _READY.match(line.text))
            if announced or says_little or (line.at < answered and _ASKS.match(line.text)):
                continue
        kept.append(line)
    lines[:] = kept
