"""sven: the session's account, the gate, and the agent around them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import trimtab
from trimtab import config
from trimtab.events import ContextCompacted
from trimtab.ledger.columns import unpaired
from trimtab.planning import Terms
from trimtab.planning.forecast import Forecast
from trimtab.summarize import request

from .configuration import loaded
from .outside import Stub, Told
from .presets import MODEL, ROLES, SVEN, ledger
from .shapes import FRONT, Sven
from .table import PARITY, op, plays


def sven(stub: Stub, told: Told, config: Mapping[str, Any] | None = None, **more: Any) -> trimtab.Compactor:
    template = replace(SVEN.summarize.template, require_headings=False)
    policy = loaded(json.dumps({"agent": config or {}}))
    policy = replace(policy, parity=PARITY, summarize=replace(policy.summarize, template=template))
    return trimtab.Compactor(
        "gpt-4o", provider="openai_chat", policy=policy, summarizer=stub.writer, listeners=[told.events.append], **more
    )


@op
@plays("submits the user's text and the model's reply behind the list that `fit` returned")
def ensure_fits_budget_then_submit(
    messages: list[dict[str, Any]] | None = None,
    max_tokens: int | None = None,
    llm: Any = None,
    submit: str | None = None,
    turn: int | None = None,
    **given: Any,
) -> dict[str, Any]:
    stub, told, form = Stub(llm), Told(), Sven(messages)
    made = sven(stub, told, window=max_tokens, max_output=int(True), **given)
    fitted = made.fit(form.messages, turn=turn or 0)
    reply = stub.say()
    after = [*fitted.messages, {"role": "user", "content": submit or ""}, {"role": "assistant", "content": reply}]
    back = form.back(after)
    events = [event.payload() for event in told.events if isinstance(event, ContextCompacted)]
    return {
        "messages": back,
        "preserved": form.kept(fitted.messages),
        "plan": fitted.compaction.path if fitted.compaction else None,
        "events": events,
        "event": next(iter(events), {}),
        "texts": [message.get("text") for message in back],
        "assistant_texts": [message.get("text") for message in back if message.get("role") in ROLES[True:]],
        "reply": reply,
        "orphans": unpaired(ledger(list(fitted.messages), SVEN)),
        "requests": [{"tools": list(request(ask).tools)} for ask in stub.asks],
        "llm_summary_calls": len(stub.asks),
        "error": None,
    }


@op
@plays("puts the system text in front, and sets a trigger that any list passes")
def emergency_compact(messages: list[dict[str, Any]], keep_n: int, system: str | None = None) -> dict[str, Any]:
    front = [{"role": "system", "text": system}] if system else []
    form = Sven([*front, *(message for message in messages if message.get("role") not in FRONT)])
    policy = config.configure("agent", {"compaction_keep_recent": keep_n}, SVEN)
    policy = replace(policy, keep=policy.emergency.keep, summarize=None, prune=None, parity=PARITY)
    always = replace(policy.trigger, share=2e-4, critical=2e-4, reserve=False, min_share=False)
    made = trimtab.Compactor(
        "gpt-4o", window=9_999, max_output=int(True), provider="openai_chat", policy=replace(policy, trigger=always)
    )
    done = made.fit(form.messages)
    back = form.back(done.messages)
    return {
        "messages": back,
        "preserved": form.kept(done.messages),
        "returned": len(messages),
        "non_system_count": len([message for message in back if message.get("role") not in FRONT]),
        "orphans": unpaired(ledger(list(done.messages), SVEN)),
        "texts": [message.get("text") for message in back],
    }


class Session(dict[str, Any]):
    """sven's session as a case asks it."""

    def get(self, key: str, default: Any = None) -> Any:
        if key in self:
            return self[key]
        number = float(key.partition("(")[-1].rstrip(")"))  # is_near_limit(0.5)
        return replace(SVEN.trigger, share=number, reserve=False, min_share=False).fires(self["_terms"])


@op
@plays("keeps the session's list; a step that only adds up cache tokens is recorded without its effect on the factor")
def session(  # noqa: PLR0917 - what a case of sven's session may say
    max_tokens: int | None = None,
    max_output_tokens: int | None = None,
    token_count: int | None = None,
    calibration_factor: float | None = None,
    schema_overhead: int | None = None,
    ops: Any = None,
) -> Session:
    forecast, messages, tools = Forecast.of("gpt-4o", estimate=SVEN.counter), [], schema_overhead or 0
    forecast.factor = forecast.factor if calibration_factor is None else calibration_factor

    def counted() -> int:
        return ledger(Sven(messages).messages, SVEN).total if token_count is None else token_count

    def calibrate_n(times: int, actual: int, estimate: int) -> None:
        forecast.counted = estimate
        for _ in range(times):
            forecast.record({"input_tokens": actual})

    def usage(charged: dict[str, int]) -> None:
        forecast.counted = Terms(max_tokens or 0, messages=counted(), tools=tools).sent
        forecast.record(charged)

    def cached(read: int, write: int) -> None:
        factor = forecast.factor
        forecast.record({"input": False, "cache_read": read, "cache_write": write})
        forecast.factor = factor

    steps = {
        "push": messages.append,
        "push_many": messages.extend,
        "calibrate_n": calibrate_n,
        "calibrate": lambda actual, estimate: calibrate_n(True, actual, estimate),
        "cache": lambda read=0, write=0: cached(read, write),
        "usage": usage,
        "recalculate": lambda: None,
        "clear": messages.clear,
        "replace": lambda new: messages.__setitem__(slice(None), new),
    }
    for name, *arguments in ops or ():
        steps[name](*arguments)
    found = Terms(max_tokens or 0, max_output_tokens or 0, counted(), tools=tools, factor=forecast.factor)
    return Session(
        token_count=found.messages,
        effective_token_count=int(SVEN.trigger.used(found)),
        input_budget=SVEN.trigger.capacity(found),
        context_fraction=SVEN.trigger.utilisation(found),
        calibration_factor=forecast.factor,
        schema_overhead=found.tools,
        cache_read_total=forecast.cache_read,
        cache_write_total=forecast.cache_write,
        messages=messages,
        _terms=found,
    )


@op
@plays("runs the tool, and picks the field of its output that is text")
def agent_tool_turn(
    tool: Mapping[str, Any], config: Mapping[str, Any] | None = None, max_tokens: int | None = None
) -> dict[str, Any]:
    made = sven(Stub(), Told(), config, window=max_tokens, max_output=int(True))
    found = (tool[key] for key in GIVEN if isinstance(tool.get(key), str))
    return {"stored_tool_result": made.ingest(tool.get("name", ""), next(found, ""))}


GIVEN = ("output", "result", "content", "text")


@op
@plays("runs the turn: the gate, the call, and the record of what it was charged")
def agent_turn(submit: str | None = None, usage: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """One turn of the agent: the gate, the call, and what it was charged."""
    made = sven(Stub(), Told())
    made.fit([{"role": "user", "content": submit or ""}])
    made.record(usage or {"input": False})
    return {"calibration_factor": made._session._memory.sizes.forecast.factor, "usage_event": usage}


@op
@plays("runs the loop, and writes each line of the order beside the call of the library or the model that it names")
def agent_trace(first_turn: bool | None = None, tool_rounds: int | None = None) -> dict[str, Any]:
    """The agent's loop as the document draws it: every line of the order is a call of the library or of the model."""
    cm, messages, order = sven(Stub(), Told()), [], []

    def gate(when: Any) -> None:
        messages[:] = cm.fit(messages, when=when).messages
        order.append(f"gate({cm._session._memory.rounds.turn})")

    def call() -> None:
        calls = [{"id": MODEL, "type": "function", "function": {"name": MODEL, "arguments": "{}"}}]
        messages.append({"role": ROLES[-1], "content": None, "tool_calls": calls})
        cm.record({"input_tokens": len(messages)})
        order.extend(("model", "calibrate"))

    gate("before_call")
    for role in (*(FRONT if first_turn is not False else ()), ROLES[0]):
        messages.append({"role": role, "content": MODEL})
        order.append(f"push {role}")
    call()
    for _ in range(tool_rounds or 0):
        messages.append({"role": "tool", "tool_call_id": MODEL, "content": cm.ingest(MODEL, MODEL)})
        order.extend(("tools", "truncate+push"))
        gate("after_tool_batch")
        call()
    return {"order": order}
