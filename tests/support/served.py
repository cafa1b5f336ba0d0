"""Agents whose provider's server compacts: one for each SDK, through the wrapped client, against a strict server."""

from __future__ import annotations

import asyncio
import functools
import json
from collections import Counter
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

import anthropic
import openai
from openai.types.responses import Response

import trimtab
from support import compacting, compacting_openai
from support.agents import MODEL as GPT_MODEL
from support.agents import OPTIONS, Model, look
from support.agents import RULE as GPT_RULE
from support.loopback import serving
from support.simulated import Beginner
from support.strict import SYSTEM, TOOLS, canonical, spoken
from trimtab.adapters.anthropic import wrap
from trimtab.adapters.openai import wrap as wrap_openai
from trimtab.validity import parameters

WINDOW, OUTPUT = 40_000, 4_000
LEAST = 10_000
"""Least trigger of a compaction in a call, on both sides: these talks are shorter than the provider's 50,000."""

LOOK = {"type": "function", "name": "look", "description": "Look", "strict": False}
LOOK["parameters"] = {"type": "object", "properties": {"n": {"type": "integer"}}}


@dataclass
class Played:
    """What came of a run.

    Attributes:
        server: the server.
        events: what the library told.
        lost: messages that are neither in the agent's list nor restorable.
        spent: billed tokens of the calls and of the server's passes, by the library's account.
    """

    server: Any
    events: list[Any] = field(default_factory=list)
    lost: list[Any] = field(default_factory=list)
    spent: Counter[str] = field(default_factory=Counter)

    @property
    def told(self) -> Counter[str]:
        """How often each event was told."""
        return Counter(type(event).__name__ for event in self.events)


def play(
    way: Any,
    turns: int,
    model: str,
    *,
    kind: str = "create",
    refuses: Any = None,
    faults: float = 0.0,
    then: str = "",
    **options: Any,
) -> Played:
    """Let an agent of Anthropic's SDK work for so many turns.

    Args:
        way: what the Compactor's ``server`` is.
        turns: calls of the model.
        model: the model.
        kind: ``create``, ``stream`` or ``async``.
        refuses: what the server says to a request that asks it to compact.
        faults: share of requests that are answered with 429 or 529.
        then: another model, which takes over in the middle.
        **options: the Compactor's.
    """
    known = {"window": WINDOW, "max_output": OUTPUT, "provider": "anthropic", "server": way} | options
    server = compacting.Compacting(model, known["window"] - OUTPUT, least=parameters.LEAST[parameters.COMPACT])
    server.refuses, server.faults, played = refuses, faults, Played(server)
    agent, said = Beginner(False, lambda _, output: output, (5, 20, 40)), {}
    with serving(server) as url, TemporaryDirectory() as folder, asyncio.Runner() as runner:
        known["archive"] = f"sqlite:///{folder}/archive.db"
        cm, client = _client(model, url, kind, played, known)
        for turn in range(turns):
            if then and turn == turns // 2:
                model = then
                server.becomes(model)
                cm.close()
                cm, client = _client(model, url, kind, played, known)
            agent.goes_on()
            said |= {id(message): message for message in agent.messages}
            asked = {"model": model, "system": SYSTEM, "tools": TOOLS, "messages": agent.messages}
            reply = _ask(client, kind, runner, asked | {"max_tokens": OUTPUT, "thinking": {"type": "adaptive"}})
            agent.answered(reply)
            _charge(played, reply.usage)
        _charge_passes(played)
        held = {_plain(message) for message in agent.messages}
        for one in cm.session("s").history(limit=None):
            held.update(map(_plain, cm.archive.load(one.ref)))
        played.lost = [message for message in said.values() if _plain(message) not in held]
        cm.close()
    return played


def _client(model: str, url: str, kind: str, played: Played, known: dict[str, Any]) -> tuple[trimtab.Compactor, Any]:
    """A Compactor whose session has a pin, and a client that it guards."""
    cm = trimtab.Compactor(model, listeners=[played.events.append], **known)
    cm.session("s").pin(compacting.RULE)
    made = anthropic.AsyncAnthropic if kind == "async" else anthropic.Anthropic
    return cm, wrap(made(api_key="k", base_url=url, max_retries=9), cm, session="s")


def _ask(client: Any, kind: str, runner: asyncio.Runner, asked: dict[str, Any]) -> Any:
    if kind == "async":
        return runner.run(client.beta.messages.create(**asked))
    if kind == "stream":
        with client.beta.messages.stream(**asked) as stream:
            return stream.get_final_message()
    return client.beta.messages.create(**asked)


def _charge(played: Played, usage: Any) -> None:
    for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"):
        played.spent[name] += getattr(usage, name, 0) or 0


def _charge_passes(played: Played) -> None:
    for event in played.events:
        for each in event.usage if isinstance(event, trimtab.events.ServerCompacted) else ():
            played.spent.update({f"pass {name}": n for name, n in each.items() if type(n) is int})


def _plain(message: Any) -> bytes:
    return canonical([message["role"], *(block for _, block in spoken([message]))])


def play_openai(
    way: Any, turns: int, encode: Any, *, refuses: Any = None, posted: bool = False, **options: Any
) -> Played:
    """Let an agent of OpenAI's SDK work for so many turns.

    Args:
        way: what the Compactor's ``server`` is.
        turns: calls of the model.
        encode: tiktoken's function from a text to its tokens.
        refuses: what the server says to a request that asks it to compact.
        posted: whether requests go by the client's ``post``: ``responses.create`` looks at the type of each item
            first, which takes 0.3 s for 130 of them.
        **options: the Compactor's.
    """
    model = Model(functools.cache(encode), lowered=OPTIONS["window"])
    played = Played(compacting_openai.Compacting(model, refuses))
    known = {"provider": "openai_responses", "server": way, **OPTIONS, **options}
    with serving(played.server) as url:
        cm = trimtab.Compactor(GPT_MODEL, listeners=[played.events.append], **known)
        cm.session("s").pin(GPT_RULE)
        client = wrap_openai(openai.OpenAI(api_key="k", base_url=url, max_retries=0), cm, session="s")
        items: list[Any] = [{"role": "user", "content": f"{GPT_RULE} Look at many things."}]
        asked = {"model": GPT_MODEL, "tools": [LOOK], "instructions": "Be an agent.", "store": False}
        for n in range(turns):
            asked["input"] = items
            if posted:
                reply = client.post("/responses", body=asked, cast_to=Response)
            else:
                reply = client.responses.create(**asked)
            items += [item.model_dump(exclude_none=True) for item in reply.output]
            calls = [item for item in reply.output if item.type == "function_call"]
            for call in calls:
                output = look(**json.loads(call.arguments))
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": output})
            if not calls:
                items.append({"role": "user", "content": f"go on {n}"})
            read = reply.usage.input_tokens_details.cached_tokens
            played.spent["input_tokens"] += reply.usage.input_tokens - read
            played.spent["cache_read_input_tokens"] += read
            played.spent["output_tokens"] += reply.usage.output_tokens
        _charge_passes(played)
        held = {canonical(item) for item in items}
        for one in cm.session("s").history(limit=None):
            held.update(map(canonical, cm.archive.load(one.ref)))
        played.lost = [item for item in items if canonical(item) not in held]
    return played
