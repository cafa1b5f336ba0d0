"""Estimates of texts, messages and tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trimtab.counting.estimate import asked
from trimtab.messages.types import text_of

from .outside import Stub
from .presets import AGENTPG, OPENCODE, SPEC09, SVEN, ledger
from .shapes import Sven, blocks, chat
from .table import op


@op
def estimate_text(text: str | None) -> int:
    return SPEC09.counter.counter().count(text or "")


@op
def estimate_messages(messages: list[dict[str, Any]] | None) -> int:
    return ledger(chat(messages), SPEC09).total


@op
def content_string(content: Any = None) -> str:
    return text_of(content)


@op
def approx_tokens(text: str | None = None, message: dict[str, Any] | None = None) -> int:
    if message is None:
        return AGENTPG.counter.counter().count(text or "")
    return ledger(Sven([message]).messages, SVEN).total


@op
def estimate_message(content: Any, role: str = "user") -> int:
    return ledger(blocks([{"role": role, "content": content}]), AGENTPG, "anthropic").total


@op
def token_estimate(text: str | None) -> int:
    return OPENCODE.counter.counter().count(text or "")


@op
def schema_overhead(tools: list[dict[str, Any]] | None = None, dynamic_context: str | None = None) -> int:
    return SVEN.counter.overhead(tools or (), dynamic_context)


@op
def count_tokens(messages: list[dict[str, Any]], use_api: bool = True, api: Any = None) -> dict[str, Any]:
    """The provider's endpoint is the case's: it gives a number, or it fails."""
    given = api if isinstance(api, Mapping) else {"error": "nobody there"} if api is None else {"total": api}

    def endpoint(_: Any) -> int:
        return (
            next(number for number in given.values() if isinstance(number, int)) if counts else int(Stub(given).say())
        )

    counts = not given.get("error")
    found = asked(blocks(messages), replace(AGENTPG.counter, asks=use_api), endpoint)
    return {
        "total": found.total,
        "used_api": found.used_api,
        "per_message": None if found.used_api else found.per_message,
        "error": None,
        "logged": found.error,
    }
