"""Checks an answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .. import _core
from .held import foreign, lacks
from .prompt import render
from .text import quote

if TYPE_CHECKING:
    from .ask import Answer, Ask

WHOLE = {"end_turn", "stop", "stop_sequence"}
"""Stop reasons of a complete answer."""

EXTRACT = "extract"
"""Stop reason of a text that no model wrote: it quotes the messages, their refusals among them."""
CUT = {"max_tokens", "length", "model_context_window_exceeded"}
REFUSED = {"refusal", "content_filter"}
_ECHO = 200
"""Characters from which a copied text is an echo; fewer are a quotation."""
_REFUSAL = re.compile(
    r"\W*(?:i(?:.m| am) sorry|sorry|i can(?:no|.)t|i(?:.m| am) (?:not able|unable)|as an ai\b|i won.t|i must decline)",
    re.IGNORECASE,
)


def flaw(answer: Answer, ask: Ask) -> str | None:
    """Return why an answer cannot replace the messages, or None if it can.

    It must be text alone, complete, not blank, no refusal, within the limit, smaller than the replaced messages, no
    echo of the request, and, where it is held to facts, in the conversation's language.
    """
    text, written = answer.text, answer.stop != EXTRACT
    if answer.stop in REFUSED:
        return "the model refused"
    if answer.other:
        return f"the answer holds {quote(', '.join(sorted(set(answer.other))))}, not text alone"
    if answer.stop in CUT:
        return "the answer was cut off at its limit"
    if written and answer.stop not in WHOLE:
        return f"the answer is not whole ({f'stop reason {quote(answer.stop)}' if answer.stop else 'no stop reason'})"
    if not text.strip():
        return "the answer is blank"
    if written and len(text) < 2 * _ECHO and _REFUSAL.match(text):
        return "the model refused"
    if (tokens := ask.count(text)) > ask.max_tokens:
        return f"the answer has {tokens:,} tokens, the limit is {ask.max_tokens:,}"
    if 0 < ask.replaces <= tokens:
        return f"the answer has {tokens:,} tokens, what it replaces has {ask.replaces:,}"
    if written and _echoes(text, ask):
        return "the answer repeats what was asked"
    return foreign(text, ask.facts) if written and ask.facts else None


def gap(answer: Answer, ask: Ask) -> str | None:
    """Return which required headings an answer lacks, or what it claims that stands nowhere; None if neither."""
    if ask.facts is not None and answer.stop != EXTRACT:
        return lacks(answer.text, ask)
    missing = ask.template.missing(answer.text) if ask.template else []
    return f"it has no heading for {', '.join(missing)}" if missing else None


def _echoes(text: str, ask: Ask) -> bool:
    """Whether an answer holds the prompt's marks, or copies the messages word by word."""
    text = text.strip()
    if "[" in text or "<" in text:
        nonce = render(ask).nonce
        if f"[{nonce}" in text or f" {nonce}>" in text:
            return True
    sources = [*(text for *_, text in _core.entries(ask.messages)), ask.task, ask.instructions or ""]
    return len(text) >= _ECHO and text in "\n".join(sources)
