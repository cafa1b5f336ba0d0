"""How a user puts a statement: whether it binds or describes, is code, or takes a request back."""

from __future__ import annotations

import re

from ..summarize.text import gives_rule

_NEGATES = r"(?:don'?t|do not|never|always)"

_DESCRIBES = re.compile(
    # What somebody does not know, have or, for a reason, need: "I don't understand", "so we don't need it".
    rf"\b(?:i|we|they|you|users?) (?:(?:just|really|still|also) )?{_NEGATES} (?:really |even )?"
    r"(?:understand|know|see|think|believe|remember|recall|have|get|mind|care|seem|notice)\b"
    r"|\bso (?:that )?(?:we|they|it) (?:really |just )?(?:don'?t|do not|doesn'?t|does not) need\b"
    # How something stands today: "we currently don't use it", "we don't use it anyway".
    rf"|\b(?:currently|so far) (?:\w+ )?{_NEGATES}\b"
    rf"|\b(?:i|we|they|it) {_NEGATES}\b[^.!?;\n]{{1,60}}\b(?:anyways?|currently|at the moment)\b"
    # What follows from something: "causes it to always return 0", "is always possible", "we can ensure that".
    r"|\b(?:caus(?:es?|ed|ing)|leads?|leading|led|result(?:s|ed|ing)|makes|making|made)\b"
    r"[^.!?;\n]{1,60}\b(?:always|never)\b"
    r"|\b(?:it|that|this|there|which)(?:'s| is| was) (?:always|never)\b"
    r"|\b(?:i|we|it|they|that|this|which) (?:can|could|will|would|may|might) (?:\w+ )?(?:ensure|make sure|avoid)\b"
    # What something is good for: "this would be simpler and avoid the copy", "chosen to avoid a copy".
    r"|\b(?:would|could|might) be\b[^.!?;\n]{1,120} and avoid\b"
    r"|\b[a-z]{3,}(?<!try)(?<!need)(?<!want)(?<!sure)(?<!like)(?<!prefer)(?<!have)(?<!has)(?<!you)(?<!must)(?<!ought)"
    r"(?<!careful)(?<!remember)(?<!better)(?<!best) to (?:avoid|ensure|make sure)\b"
    # What is of a kind, and what somebody does: "text-only", "always-on", "the hook never runs".
    r"|\b[a-z]+-only\b|\balways-[a-z]+\b|\b(?:always|never) [a-z]+(?<!s)s\b",
    re.IGNORECASE,
)
"""Phrases with a word of a rule that say how something is, in English."""

_WITHDRAWS = re.compile(
    r"(?i)^(?:no|nah|ok|actually|oh|wait)?[,.]? ?(?:please )?"
    r"(?:ignore (?:this|that|it|the last)|never ?mind|scratch that|forget (?:it|that|this))\b"
)

_ASKS = re.compile(
    r"(?is)(?:so |and |also |ok,? |please,? )*(?:can|could|would|will) (?:you|we) "
    r"(?!.*\b(?:always|never|whenever|from now on|every time)\b)"
)
"""The beginning of a question, which many write without its mark; with a word of all times it may be a rule."""

_SENTENCES = re.compile(r"(?<=[^.][\w)\]][.!?])\s+|\n")
"""The places between sentences; behind "e.g." there is none."""

_FENCED = re.compile(r"^ *(```|~~~).*?(?:^ *\1[^\S\n]*$|\Z)", re.DOTALL | re.MULTILINE)

_QUOTES = " \"'`,;)]}"


def binds(rule: str) -> bool:
    """Return whether a statement with a word of a rule is a rule, and neither a question nor a description."""
    bare = rule.rstrip(_QUOTES)
    if _ASKS.match(bare) and len(_SENTENCES.split(bare)) == 1:
        return False
    if bare.endswith("?"):
        bare = " ".join(_SENTENCES.split(bare)[:-1])
    told = _DESCRIBES.sub(" ", bare)
    return told == rule or gives_rule(told)


def unfenced(text: str) -> str:
    """Return a message without its blocks of code, whose words are mostly not the user's; itself if nothing is left."""
    bare = _FENCED.sub("\n", text)
    return bare if bare.strip() else text


def withdraws(text: str) -> bool:
    """Return whether a message begins by taking back the request in front of it."""
    return bool(_WITHDRAWS.match(text.strip()))
