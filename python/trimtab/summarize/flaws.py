"""What is wrong with an answer, if anything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .. import _core
from .prompt import render

if TYPE_CHECKING:
    from .ask import Answer, Ask

WHOLE = {"end_turn", "stop", "stop_sequence"}
"""Stop reasons of an answer that is all there."""

CUT = {"max_tokens", "length", "model_context_window_exceeded"}
REFUSED = {"refusal", "content_filter"}
_ECHO = 200
"""Characters that a summary may well have in common with what it is of: less is a quotation."""
_REFUSAL = re.compile(
    r"\W*(?:i(?:.m| am) sorry|sorry|i can(?:no|.)t|i(?:.m| am) (?:not able|unable)|as an ai\b|i won.t|i must decline)",
    re.IGNORECASE,
)


def flaw(answer: Answer, ask: Ask) -> str | None:
    """Why an answer cannot stand in the messages' place, None if it can.

    It is text alone, all there, not blank, no refusal, within the limit, smaller than what it replaces, and no echo of
    what was asked.
    """
    text = answer.text
    if answer.stop in REFUSED:
        return "the model refused"
    if answer.other:
        return f"the answer holds {', '.join(sorted(set(answer.other)))}, not text alone"
    if answer.stop in CUT:
        return "the answer was cut off at its limit"
    if answer.stop not in WHOLE:
        return f"the answer is not whole ({f'stop reason {answer.stop}' if answer.stop else 'no stop reason'})"
    if not text.strip():
        return "the answer is blank"
    if len(text) < 2 * _ECHO and _REFUSAL.match(text):
        return "the model refused"
    if (tokens := ask.count(text)) > ask.max_tokens:
        return f"the answer has {tokens:,} tokens, the limit is {ask.max_tokens:,}"
    if 0 < ask.replaces <= tokens:
        return f"the answer has {tokens:,} tokens, what it replaces has {ask.replaces:,}"
    return "the answer repeats what was asked" if _echoes(text, ask) else None


def gap(answer: Answer, ask: Ask) -> str | None:
    """Which headings that the policy requires an answer lacks, None if it has them all."""
    missing = ask.template.missing(answer.text) if ask.template else []
    return f"it has no heading for {', '.join(missing)}" if missing else None


def _echoes(text: str, ask: Ask) -> bool:
    """Whether an answer holds our marks, or is word by word a piece of what it is to summarize."""
    text = text.strip()
    if "[" in text or "<" in text:
        nonce = render(ask).nonce
        if f"[{nonce}" in text or f" {nonce}>" in text:
            return True
    given = [*(text for *_, text in _core.entries(ask.messages)), ask.task, ask.instructions or ""]
    return len(text) >= _ECHO and text in "\n".join(given)
