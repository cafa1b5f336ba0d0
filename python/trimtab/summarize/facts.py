"""Computes the facts that a model's summary is held to from the messages."""

from __future__ import annotations

from dataclasses import replace

from .. import _core
from .ask import Ask, Facts
from .languages import MOST, language

STATE = 1_200
"""Most tokens of the state in a request: more is less than what the messages say themselves."""


def facts(ask: Ask) -> Facts:
    """Return the facts of a request's messages.

    Args:
        ask: the request; the messages that stay behind the summary count, too.
    """
    from .offline import offline  # noqa: PLC0415 - loaded with the first summary

    rules, request, written, tasks, tests, _ = _core.facts((ask.messages, ask.after), ask.previous or "")
    entries = [*_core.entries(ask.messages), *_core.entries(ask.after)]
    state = replace(ask, max_tokens=max(min(ask.max_tokens // 2, STATE), 1), replaces=0)
    return Facts(
        rules=tuple(rules),
        request=request,
        written=tuple(written),
        tasks=tuple(tasks),
        tests=tuple(tests),
        state=offline(state),
        language=_spoken(entries),
        chat=not any(kind == "call" for _, kind, _, _ in entries),
    )


def _spoken(entries: list[tuple[int, str, str, str]]) -> str | None:
    """Return the language that the user writes, or else the assistant."""
    for roles in (("user",), ("assistant", "model")):
        texts = (text[:2_000] for _, kind, name, text in entries if kind == "text" and name in roles)
        said: list[str] = []
        for text in texts:
            said.append(text)
            if sum(map(len, said)) > MOST:
                break
        if found := language("\n".join(said)):
            return found
    return None
