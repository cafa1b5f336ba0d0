"""Whole compactions of spec09 and goat, and the loop around them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

import trimtab
from trimtab import config, hooks
from trimtab.events import CompactBoundary, Step
from trimtab.messages.types import text_of, whole_calls
from trimtab.planning import Tokens

from .outside import WORDS, Stub, Told
from .presets import GOAT, MODEL, ROLES, SPEC09, TALK, kept
from .shapes import chat
from .table import op, plays


def compaction(
    policy: Any,
    messages: list[dict[str, Any]],
    *,
    llm: Any = None,
    hook_outputs: Mapping[str, Any] | None = None,
    model: str | None = None,
    session_id: str | None = None,
    custom_instructions: str | None = None,
    trigger: Any = None,
) -> dict[str, Any]:
    """A compaction of spec09 or goat, in the words of a case."""
    stub, told = Stub(llm), Told()
    outputs = (hook_outputs or {}).get("PreCompact")
    made = trimtab.Compactor(
        model or MODEL,
        provider="openai_chat",
        policy=policy,
        summarizer=stub.writer,
        pre_compact=told.hook(outputs),
        listeners=[told.events.append],
    ).session(session_id)
    originals = chat(messages)
    pairs = {id(new): old for new, old in zip(originals, messages, strict=True)}
    error: Exception | None = None
    done: Any = None
    try:
        done = made.compact(originals, instructions=custom_instructions, trigger=trigger or get_args(hooks.Cause)[-1])
    except trimtab.Error as raised:
        error = raised
    after = list(done.messages) if done else originals
    kept = [pairs[id(message)] for message in after if id(message) in pairs]
    there = {id(message) for message in after}
    gone = [pairs[id(message)] for message in originals if id(message) not in there]
    return {
        "messages": after,
        "preserved": kept,
        "preserve_zone": kept,
        "compact_zone": gone,
        "summarised": gone,
        "split": len(gone),
        "error": str(error) if error else None,
        "strategy": done.strategy if done else None,
        "summary": done.summary if done else None,
        "llm_calls": len(stub.asks),
        "llm_prompts": stub.prompts,
        "hooks": told.order,
        "hook_inputs": [review.payload() for review in told.reviews if review.plan is None],
        "boundary": told.boundary,
        "order": told.order,
        "provider_valid": not trimtab.validate(after, provider="openai_chat", in_flight=True),
    }


@op
def compact_seed000(
    messages: Any = None, preserve_budget: int | None = None, strict_errors: Any = None, **given: Any
) -> Any:
    policy = replace(SPEC09, fallback=("error",)) if strict_errors else SPEC09
    budget = ROOM if preserve_budget is None else preserve_budget
    return compaction(kept(policy, Tokens(count=budget)), talk(messages), **given)


ROOM = 999
"""Tokens that stay of what is compacted where a case does not say."""


def talk(messages: Any) -> Any:
    return TALK if messages is None else messages


@op
def compact_seed001(messages: Any = None, preserve_ratio: float | None = None, **given: Any) -> Any:
    keys = {} if preserve_ratio is None else {"preserve_ratio": preserve_ratio}
    return compaction(config.configure("goat", keys, GOAT), talk(messages), **given)


@op
def generate_summary(messages: list[dict[str, Any]] | None = None, **given: Any) -> dict[str, Any]:
    policy = kept(GOAT)
    policy = replace(policy, keep=replace(policy.keep, min_messages=0))
    policy = config.configure("goat", {"summary_model": given["model"]} if given.get("model") else {}, policy)
    return compaction(policy, talk(messages), **given)


@op
@plays("appends the messages of each round")
def compact_repeatedly_seed000(
    rounds: int = len(ROLES),
    messages_per_round: int = len(TALK),
    preserve_budget: int = ROOM,
    llm: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    told, text = Told(), (llm or WORDS)["text"]
    texts = [text.replace("{round}", str(n)) for n, _ in enumerate(range(rounds), start=True)]
    made = trimtab.Compactor(
        MODEL,
        provider="openai_chat",
        policy=kept(SPEC09, Tokens(count=preserve_budget)),
        summarizer=Stub([{"text": text} for text in texts]).writer,
        listeners=[told.events.append],
    )
    messages: list[Any] = []
    for _ in range(rounds):
        more = itertools.islice(itertools.cycle(TALK), messages_per_round)
        messages = list(made.compact([*messages, *(dict(message) for message in more)]).messages)
    found = [text_of(message.get("content")) for message in messages]
    summaries = [text for text in found if text in texts]
    return {
        "summaries_in_list": len(summaries),
        "last_summary": next(reversed(summaries), None),
        "boundary_events": len([event for event in told.events if isinstance(event, CompactBoundary)]),
        "messages": messages,
    }


REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
"""Why an answer ended: the name that one provider has for it, and the other's."""


@op
@plays("runs the loop, and writes `budget`, `llm` and `discard` beside the calls that they name")
def agent_loop_seed001(responses: list[Any] | None = None, should_compact: bool = False) -> dict[str, Any]:
    """The loop as the document draws it: before each call, and behind an answer that was cut at its limit."""
    told, order = Told(), []
    made = trimtab.Compactor(
        MODEL,
        provider="openai_chat",
        policy=replace(GOAT, trigger=replace(GOAT.trigger, share=2e-4)) if should_compact else GOAT,
        summarizer=Stub().writer,
        pre_compact=told.hook(()),
        listeners=[lambda event: order.append(event.name) if isinstance(event, Step) else None],
    )
    messages, ended, agent = list(TALK), None, Stub(responses)
    for response in responses or ():
        order.append("budget")
        messages = list(made.fit(messages).messages)
        order.append("llm")
        try:
            text = agent.say()
        except RuntimeError:
            ended = "error"
            break
        answer = {"role": ROLES[-1], "content": text, **chat([response])[0], "finish": None}
        ended = REASONS.get(response.get("finish"), response.get("finish") or REASONS["stop"])
        calls = answer.get("tool_calls") or ()
        if ended in CUT:
            order.append("discard")
            whole = whole_calls(answer)
            order.append("budget")
            fitted = made.fit([*messages, whole], when="on_length")
            messages = list(fitted.messages)
            if fitted.compaction is None:
                break
        else:
            results = [{"role": "tool", "tool_call_id": call["id"], "content": call["id"]} for call in calls]
            messages = [*messages, answer, *results]
            if not results:
                break
    asked = [review for review in told.reviews if review.plan is None]
    return {"exit": ended, "compact_calls": len(asked), "order": order, "messages": messages}


CUT = frozenset({REASONS["length"]})
