"""Words: what a model is asked, and how its answer stands in the list."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import trimtab
from trimtab import config
from trimtab.compaction import apply as _apply
from trimtab.events import CompactBoundary, Compacted, ContextCompacted
from trimtab.formats import opencode
from trimtab.messages.types import text_of
from trimtab.planning import Summarize
from trimtab.planning.edits import dropped
from trimtab.summarize import Anthropic, Ask, request

from .outside import Stub
from .presets import AGENTPG, GOAT, MODEL, OPENCODE, SPEC09, TALK, kept, ledger
from .shapes import Sven, chat, stored
from .table import OPS, op, plays


def ask(policy: Any, messages: list[dict[str, Any]], **more: Any) -> Ask:
    stage = policy.summarize
    return Ask(
        tuple(messages),
        "openai_chat",
        stage.max_tokens,
        policy.counter.counter().count,
        template=stage.template,
        model=stage.model,
        **more,
    )


@op
def build_summary_prompt(messages: list[dict[str, Any]], custom_instructions: str | None = None) -> str:
    return request(ask(SPEC09, chat(messages), instructions=custom_instructions)).prompt


@op
def summary_request(messages: list[dict[str, Any]]) -> dict[str, Any]:
    sent = request(ask(SPEC09, chat(messages)))
    return {
        "model": sent.model,
        "max_tokens": sent.max_tokens,
        "messages": list(sent.messages),
        "stream": sent.stream,
        "tools": list(sent.tools),
    }


OPS["summary_request_seed000"] = summary_request


@op
def summary_system_prompt() -> str:
    return AGENTPG.summarize.template.task()


@op
def compaction_system_prompt() -> str:
    return OPENCODE.summarize.template.system


@op
def compaction_request(
    messages: list[dict[str, Any]] | None = None, plugin: dict[str, Any] | None = None
) -> dict[str, Any]:
    plugin = plugin or {}
    template = OPENCODE.summarize.template
    template = replace(template, opening=plugin.get("prompt") or template.opening)
    policy = replace(OPENCODE, summarize=replace(OPENCODE.summarize, template=template))
    history = opencode.prompt(opencode.pivot([stored(message) for message in messages or ()]))
    lines = plugin.get("context") or ()
    context = lines if isinstance(lines, str) else "\n\n".join(lines)
    sent = request(ask(policy, history, context=context))
    found = [{"role": message["role"], "text": text_of(message.get("content"))} for message in sent.messages]
    return {"messages": found, "tools": list(sent.tools), "system": sent.system}


@op
def compaction_model(user_message_model: str, configured: str | None = None) -> str:
    policy = config.configure("compaction", {"model": configured} if configured else {}, OPENCODE)
    return policy.summarize.model or user_message_model


@op
@plays("puts the system text in front of what is sent, and counts the list that it was given")
def compact_session(
    messages: list[dict[str, Any]], strategy: str | None = None, system: str | None = None
) -> dict[str, Any]:
    policy = config.configure("agent", {"compaction_strategy": strategy} if strategy else {})
    sent = request(ask(policy, Sven(messages).messages))
    front = [{"role": "system", "text": system}] if system else []
    return {"messages": [*front, {"role": "user", "text": sent.prompt}], "returned": len(messages)}


@op
def accumulate_summary(blocks: list[Any]) -> str:
    """Blocks of an answer as the provider's client gives them."""
    read = [
        SimpleNamespace(**({"type": "text", "text": block} if isinstance(block, str) else block)) for block in blocks
    ]
    return Anthropic().answer(SimpleNamespace(content=read), ask(SPEC09, [])).text


def placed(policy: Any, summary: str, preserved: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    preserved = preserved or []
    roles = ledger(chat(preserved), policy).role.tolist()
    put = _apply.put(f"{policy.place.prefix}{summary}", policy.place, "openai_chat", next(iter(roles), None))
    return [*(dict(message) for message in put), *preserved]


OPS["place_summary_seed000"] = lambda summary, preserved=None: placed(SPEC09, summary, preserved)
OPS["place_summary_seed001"] = lambda summary, preserved=None: placed(GOAT, summary, preserved)


@op
def fallback_summary_seed001(dropped_messages: int) -> str:
    return dropped(Summarize(False, dropped_messages, False), GOAT.place.notice, "...").notice


@op
def boundary_event(
    trigger: str | None = None, pre_tokens: int | None = None, session_id: str | None = None
) -> dict[str, Any]:
    """Return the events of a compaction; with ``pre_tokens``, of a list with that many tokens."""
    told: list[Any] = []
    made = trimtab.Compactor(
        MODEL,
        provider="openai_chat",
        policy=kept(SPEC09),
        summarizer=Stub().writer,
        listeners=[told.append],
    ).session(session_id)
    made.compact(TALK, **({"trigger": trigger} if trigger else {}))
    (event,) = [event for event in told if isinstance(event, CompactBoundary)]
    known = {} if pre_tokens is None else {"tokens_before": pre_tokens}
    return replace(event, done=replace(event.done, **known)).payload()


@op
def format_ci_log(before: int, after: int, strategy: str = "", turn: int = False) -> str:
    plan = trimtab.Plan((), before, after, after, "", False, "", "", "")
    done = Compacted("", "", before, after, plan, None, strategy=strategy, turn=turn)
    return str(ContextCompacted("", done))
