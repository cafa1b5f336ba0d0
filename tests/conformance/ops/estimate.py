"""Estimates of texts, messages and tools."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import trimtab
from trimtab.messages.types import text_of
from trimtab.session.call import Call
from trimtab.session.decision import next_input
from trimtab.summarize.drive import drive

from .outside import Stub
from .presets import AGENTPG, MODEL, OPENCODE, SPEC09, SVEN, ledger
from .shapes import Sven, blocks, chat
from .table import op, plays


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
@plays("drives the gate up to the provider's count, and puts the fields of the result together")
def count_tokens(messages: list[dict[str, Any]], use_api: bool = True, api: Any = None) -> dict[str, Any]:
    """The provider's endpoint is the case's: it gives a number, or it fails."""
    given = api if isinstance(api, Mapping) else {"error": "nobody there"} if api is None else {"total": api}
    endpoint = Endpoint(given)
    policy = replace(AGENTPG, counter=replace(AGENTPG.counter, asks=use_api))
    memory = trimtab.Compactor(MODEL, provider="anthropic", policy=policy, count_with=endpoint)._session._memory
    flow = next_input(memory, Call(blocks(messages)), "after_run", None)
    with suppress(StopIteration):
        effect = next(flow)
        drive(flow, effect, lambda step: step.ask())
    counted = memory.sizes.counts.last
    estimated = ledger(blocks(messages), AGENTPG, "anthropic")
    return {
        "total": counted.answered if counted else estimated.total,
        "used_api": counted is not None,
        "per_message": None if counted else estimated.per_message.tolist(),
        "error": None,
        "logged": endpoint.error,
    }


class Endpoint:
    """A client whose counting endpoint answers as a case says."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given
        self.error: Exception | None = None

    @property
    def messages(self) -> Endpoint:
        return self

    def count_tokens(self, **_: Any) -> int:
        try:
            if self.given.get("error"):
                Stub(self.given).say()
            return next(number for number in self.given.values() if isinstance(number, int))
        except Exception as error:
            self.error = error
            raise
