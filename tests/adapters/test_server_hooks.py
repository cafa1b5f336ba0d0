"""The hooks of Anthropic's SDK for a provider's own compaction: its middleware, and its tool runner's decision."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import anthropic
import pytest
from anthropic import beta_async_tool, beta_tool

import trimtab
from support.agents import RULE, look
from support.compacting import ON_DEMAND, Compacting
from support.loopback import serving
from support.models import CLAUDE_BOUND
from support.served import LEAST, OUTPUT, WINDOW
from support.simulated import Beginner
from support.strict import SYSTEM, TOOLS
from trimtab.adapters.anthropic import acompacting, compacting, middleware, wrap
from trimtab.validity import parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(
    not hasattr(anthropic, "Middleware"), reason="this release of the SDK has no middleware"
)
OPTIONS: dict[str, Any] = {"window": WINDOW, "max_output": OUTPUT}
KNOWN: dict[str, Any] = {"model": CLAUDE_BOUND, "max_tokens": OUTPUT, "thinking": {"type": "adaptive"}}


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(parameters.LEAST, parameters.COMPACT, LEAST)


@pytest.fixture
def server() -> Any:
    made = Compacting(CLAUDE_BOUND, WINDOW - OUTPUT, least=LEAST)
    with serving(made) as made.url:
        yield made


def turns() -> Iterator[tuple[Beginner, dict[str, Any]]]:
    """An agent, and the keywords of each of its calls."""
    agent = Beginner(False, lambda _, output: output, (5, 20, 40))
    for _ in range(100):
        agent.goes_on()
        yield agent, {**KNOWN, "system": SYSTEM, "tools": TOOLS, "messages": agent.messages}


@pytest.mark.parametrize("way", ["", "call", "pass"])
def test_a_middleware_does_what_a_wrapped_client_does(server: Any, way: str) -> None:
    told: list[Any] = []
    cm = trimtab.Compactor(CLAUDE_BOUND, provider="anthropic", server=way, listeners=[told.append], **OPTIONS)
    asked = anthropic.Anthropic(
        api_key="k", base_url=server.url, max_retries=0, middleware=[middleware(cm, session="s")]
    )
    for agent, known in turns():
        agent.answered(asked.beta.messages.create(**known))
    assert server.refused == []
    assert server.largest <= WINDOW - OUTPUT
    assert cm.session("s").history()
    assert bool(server.did["on demand"]) == (way == "pass")
    if way == "pass":
        assert sum(isinstance(event, trimtab.events.ServerCompacted) for event in told) == server.did["on demand"]


def test_a_middleware_hands_errors_on(server: Any) -> None:
    asked = anthropic.Anthropic(api_key="k", base_url=server.url, max_retries=0, middleware=[middleware(CLAUDE_BOUND)])
    messages: Any = [{"role": "user", "content": "hello"}]
    binding: Any = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    with pytest.raises(anthropic.BadRequestError, match="block_binding: Extra inputs"):
        asked.beta.messages.create(**KNOWN | {"thinking": binding}, messages=messages)
    assert asked.beta.messages.create(**KNOWN, messages=messages).usage


def test_an_asynchronous_middleware(server: Any) -> None:
    told: list[Any] = []
    cm = trimtab.Compactor(CLAUDE_BOUND, provider="anthropic", server="pass", listeners=[told.append], **OPTIONS)

    async def talk() -> None:
        asked = anthropic.AsyncAnthropic(
            api_key="k", base_url=server.url, max_retries=0, middleware=[middleware(cm, session="s")]
        )
        for agent, known in turns():
            agent.answered(await asked.beta.messages.create(**known))

    asyncio.run(talk())
    assert server.refused == []
    assert sum(isinstance(event, trimtab.events.ServerCompacted) for event in told) == server.did["on demand"] > 0


def test_a_tool_runner_compacts_by_billed_tokens(server: Any) -> None:
    @beta_tool
    def Read(n: int, k: int) -> str:  # noqa: N802 - the server's own name
        """Read something."""
        return look(n * 10 + k)

    tools = [Read, *(beta_tool(Read.func, name=name) for name in ("Bash", "Shot"))]
    asked = anthropic.Anthropic(api_key="k", base_url=server.url, max_retries=0)
    said = {"role": "user", "content": f"{RULE} do not touch main. Look at everything."}
    stops = []
    for _ in range(6):
        runner = asked.beta.messages.tool_runner(
            **KNOWN, messages=[said], tools=tools, max_iterations=40, betas=[ON_DEMAND], thread=False
        )
        known = {**OPTIONS, "window": 12_000}
        stops += [message.stop_reason for message in compacting(runner, CLAUDE_BOUND, **known)]
    assert server.refused == []
    assert stops.count("compaction") == server.did["on demand"] >= 1


def test_an_asynchronous_tool_runner(server: Any) -> None:
    @beta_async_tool
    async def Read(n: int, k: int) -> str:  # noqa: N802 - the server's own name
        """Read something."""
        return look(n * 10 + k)

    tools = [Read, *(beta_async_tool(Read.func, name=name) for name in ("Bash", "Shot"))]

    async def talk() -> None:
        asked = anthropic.AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0)
        for _ in range(6):
            runner = asked.beta.messages.tool_runner(
                **KNOWN,
                messages=[{"role": "user", "content": f"{RULE} do not touch main."}],
                tools=tools,
                max_iterations=40,
                betas=[ON_DEMAND],
                thread=False,
            )
            cm = trimtab.Compactor(CLAUDE_BOUND, provider="anthropic", window=12_000, max_output=OUTPUT)
            assert [message async for message in acompacting(runner, cm)]

    asyncio.run(talk())
    assert server.refused == []
    assert server.did["on demand"]


def test_a_callers_own_compaction_is_sent_as_it_is(server: Any) -> None:
    asked = wrap(anthropic.Anthropic(api_key="k", base_url=server.url, max_retries=0), CLAUDE_BOUND, **OPTIONS)
    messages = [{"role": "user", "content": "hello " * 9_000}, {"role": "assistant", "content": "yes"}]
    answer = asked.beta.messages.create(
        model=CLAUDE_BOUND, max_tokens=OUTPUT, messages=messages, compaction={"type": "summarize"}, betas=[ON_DEMAND]
    )
    assert answer.stop_reason == "compaction"
