"""The policies that the cases are about, and what is compacted where a case does not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import trimtab
from trimtab import config
from trimtab.planning import Pins
from trimtab.policies import POLICIES

from .outside import Stub
from .table import PARITY

SPEC09, GOAT, AGENTPG, SVEN, OPENCODE = (
    replace(POLICIES[name], parity=PARITY) for name in ("spec09", "goat", "agentpg", "sven", "opencode")
)
SYSTEMS = {policy.strategy: policy for policy in (AGENTPG, replace(POLICIES["agentpg_summarization"], parity=PARITY))}
ROLES = ("user", "assistant")
MODEL = "claude-sonnet-4-5"
TALK = [
    {"role": role, "content": "words of one message, to fill it. ".ljust(999)}
    for role in (*ROLES, *ROLES, *ROLES, *ROLES)
]


def ledger(messages: list[dict[str, Any]], policy: Any, provider: Any = "openai_chat") -> trimtab.Ledger:
    return trimtab.Ledger.of(messages, counter=policy.counter.counter(), provider=provider)


def kept(policy: Any, *keepers: Any, **more: Any) -> Any:
    """A policy that keeps these messages in place of its own newest ones; its pins stay."""
    pins = [keeper for keeper in policy.keep.keepers if isinstance(keeper, Pins)]
    return replace(policy, keep=replace(policy.keep, keepers=(*keepers, *pins), **more))


def agentpg(given: Mapping[str, Any], **more: Any) -> tuple[trimtab.Compactor, list[Any]]:
    """A Compactor with the configuration of a case, and what it tells."""
    keys = {key: value for key, value in given.items() if value is not None}
    window = keys.pop("max_tokens_for_model", None)  # of the model; a case need not say what it is to be brought to
    llm = keys.pop("llm", None)
    policy = config.configure("agentpg", keys, AGENTPG)
    told: list[Any] = []
    policy = replace(policy, **{"parity": PARITY} | more)
    made = trimtab.Compactor(
        MODEL,
        provider="anthropic",
        policy=policy,
        window=window,
        summarizer=Stub(llm).writer,
        listeners=[told.append],
    ).session("session")
    return made, told
