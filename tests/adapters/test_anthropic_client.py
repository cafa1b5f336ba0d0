"""The wrapped client of Anthropic's SDK, against a server on this machine as strict as Anthropic's."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import anthropic
import pytest
from anthropic import beta_async_tool, beta_tool

import trimtab
from support.agents import RULE, Summarizer, look, run_page
from support.loopback import serving
from support.simulated import MODEL, OUTPUT, WINDOW, Server
from support.strict import SYSTEM, TOOLS
from trimtab.adapters.anthropic import wrap

OPTIONS: dict[str, Any] = {"window": WINDOW, "max_output": OUTPUT}
KNOWN: dict[str, Any] = {"model": MODEL, "max_tokens": OUTPUT, "thinking": {"type": "adaptive"}}
BESIDE: dict[str, Any] = {"system": SYSTEM, "tools": TOOLS}
KINDS = ("create", "stream", "events", "raw", "beta create", "beta stream", "async create", "async stream")
SHORT, CALLS = 40, 250
THREADS = int(anthropic.__version__.partition(".")[0]) >= 2
"""Whether the server can hold a conversation."""

LOCAL: dict[str, Any] = {"thread": False} if THREADS else {}

SMALL = 16_000
"""Window in which a tool runner of 20 calls has to be compacted."""


class Whole(Server):
    """Answers without a stream where none is asked for; its window is smaller after ``lowers`` answers."""

    lowers = 10**9

    def response(self, request: Any, body: Any, summary: bool) -> Any:
        if self.served == self.lowers:
            self.window = 2 * WINDOW // 3 - OUTPUT
        if body.get("stream") or summary:
            return super().response(request, body, summary)
        return self.handle(request)


@pytest.fixture
def server() -> Any:
    made = Whole(0.0, 0.0)
    with serving(made) as made.url:
        yield made


def client(server: Any) -> Any:
    return anthropic.Anthropic(api_key="k", base_url=server.url, max_retries=0)


def ask(asked: Any, messages: list[Any], kind: str, **beside: Any) -> Any:
    """One call of the model, in one of the ways of the SDK."""
    known = {**KNOWN, **(beside or BESIDE), "messages": messages}
    made = asked.beta.messages if kind.startswith("beta") else asked.messages
    if kind.endswith("stream"):
        with made.stream(**known) as stream:
            return stream.get_final_message()
    if kind == "raw":
        return made.with_raw_response.create(**known).parse()
    if kind == "events":
        snapshot: Any = None
        for event in made.create(**known, stream=True):
            if event.type == "message_start":
                snapshot = event.message
            elif event.type == "content_block_start":
                snapshot.content.append(event.content_block)
            elif event.type == "content_block_delta":
                block, delta = snapshot.content[event.index], event.delta
                field = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
                if name := field.get(delta.type):
                    setattr(block, name, (getattr(block, name, "") or "") + getattr(delta, name))
        return snapshot
    return made.create(**known)


async def aask(asked: Any, messages: list[Any], kind: str) -> Any:
    known = {**KNOWN, **BESIDE, "messages": messages}
    if kind.endswith("stream"):
        async with asked.messages.stream(**known) as stream:
            return await stream.get_final_message()
    return await asked.messages.create(**known)


def taken_in(messages: list[Any], answer: Any) -> None:
    """Put the answer into the list, with the results of its calls or what the user says next."""
    messages.append({"role": "assistant", "content": answer.content})
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": look(len(messages) * 10 + n)}
        for n, block in enumerate(answer.content)
        if block.type == "tool_use"
    ]
    messages.append({"role": "user", "content": results or "Go on."})


def agent(server: Any, kind: str, calls: int, **options: Any) -> list[Any]:
    """An agent that hands in its whole history at each call."""
    messages: list[Any] = [{"role": "user", "content": f"{RULE} Look at everything."}]
    if kind.startswith("async"):

        async def talk() -> None:
            inner = anthropic.AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0)
            asked = wrap(inner, **OPTIONS, **options)
            while server.served < calls:
                taken_in(messages, await aask(asked, messages, kind))

        asyncio.run(talk())
        return messages
    asked = wrap(client(server), **OPTIONS, **options)
    while server.served < calls:
        taken_in(messages, ask(asked, messages, kind))
    return messages


@pytest.mark.parametrize("kind", KINDS)
def test_calls_fit_and_are_valid(kind: str, server: Any) -> None:
    messages = agent(server, kind, SHORT)
    assert server.refused == []
    assert server.largest <= WINDOW - OUTPUT
    assert trimtab.count(messages, model=MODEL) > WINDOW, "the whole list would have been refused"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_agent_is_kept_within_its_window(kind: str, server: Any) -> None:
    """250 calls, with a window that is smaller from the middle on: the caller hears nothing of the refusal."""
    server.lowers = CALLS // 2
    summarizer = Summarizer()
    messages = agent(server, kind, CALLS, summarizer=summarizer)
    assert 1 <= len(server.refused) <= 4
    assert all("prompt is too long" in wrong for wrong in server.refused)
    assert len(messages) >= 2 * CALLS
    assert summarizer.calls < 80


def test_marked_thinking_asks_the_provider_to_drop_it(server: Any) -> None:
    agent(server, "create", SHORT, thinking="mark")
    assert server.refused == []
    assert server.dropped > 0


def test_a_tool_runners_calls_fit(server: Any) -> None:
    @beta_tool
    def Read(n: int, k: int) -> str:  # noqa: N802 - the server's own name
        """Read something."""
        return look(n * 10 + k)

    tools = [Read, *(beta_tool(Read.func, name=name) for name in ("Bash", "Shot"))]
    cm = trimtab.Compactor(MODEL, **{**OPTIONS, "window": SMALL})
    asked = wrap(client(server), cm)
    said = {"role": "user", "content": f"{RULE} Look at everything."}
    for _ in range(6):
        runner = asked.beta.messages.tool_runner(**KNOWN, messages=[said], tools=tools, max_iterations=20, **LOCAL)
        assert [*runner]
    assert server.refused == []
    assert server.largest <= SMALL - OUTPUT
    assert cm.archive.history(None)


def test_an_asynchronous_tool_runners_calls_fit(server: Any) -> None:
    @beta_async_tool
    async def Read(n: int, k: int) -> str:  # noqa: N802 - the server's own name
        """Read something."""
        return look(n * 10 + k)

    cm = trimtab.Compactor(MODEL, **{**OPTIONS, "window": SMALL})

    async def talk() -> None:
        inner = anthropic.AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0)
        runner = wrap(inner, cm).beta.messages.tool_runner(
            **KNOWN,
            messages=[{"role": "user", "content": RULE}],
            tools=[Read, *(beta_async_tool(Read.func, name=name) for name in ("Bash", "Shot"))],
            max_iterations=20,
            **LOCAL,
        )
        assert [message async for message in runner]

    asyncio.run(talk())
    assert server.refused == []
    assert cm.archive.history(None)


def test_the_client_stays_the_callers_own(server: Any) -> None:
    inner = client(server)
    assert inner.messages  # made before
    asked = wrap(inner, MODEL, **OPTIONS)
    assert type(asked) is anthropic.Anthropic
    assert "post" not in vars(inner)
    again = asked.with_options(timeout=3)
    assert again.timeout == 3
    assert "post" in vars(again)
    with asked.messages.with_streaming_response.create(**KNOWN, messages=[{"role": "user", "content": "a"}]) as raw:
        assert raw.parse().usage.output_tokens
    sent = iter([{"role": "user", "content": "a"}])
    assert asked.messages.create(**KNOWN, messages=sent).content


def test_another_process_goes_on_from_the_archive(server: Any, tmp_path: Any) -> None:
    where = f"sqlite:///{tmp_path / 'archive.db'}"
    messages: list[Any] = [{"role": "user", "content": f"{RULE} Look at everything."}]
    while server.served < 60:
        asked = wrap(client(server), archive=where, **OPTIONS)
        for _ in range(5):
            taken_in(messages, ask(asked, messages, "create"))
    assert server.refused == []
    with trimtab.Compactor(MODEL, archive=where) as cm:
        assert 1 <= len(cm.archive.history(None, limit=None)) < 20


@pytest.mark.skipif(not THREADS, reason="this release has no threads that the server holds")
def test_a_held_thread_is_left_alone_and_said_once(server: Any, caplog: Any) -> None:
    asked = wrap(client(server), **OPTIONS)
    sent = [{"role": "user", "content": "a"}]
    with caplog.at_level(logging.WARNING, "trimtab"):
        for _ in range(2):
            asked.beta.messages.create(**KNOWN, messages=sent, thread={"type": "new"})
    assert [record.getMessage() for record in caplog.records] == [
        "the server holds a conversation (thread=): nothing of it is compacted"
    ]


def test_a_refusal_that_nothing_helps_is_the_providers_own(server: Any) -> None:
    server.window = 300
    asked = wrap(client(server), **OPTIONS)
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long") as caught:
        asked.messages.create(**KNOWN, messages=[{"role": "user", "content": look(3) * 3}])
    assert any("trimtab" in note for note in caught.value.__notes__)


def test_the_page_runs(server: Any) -> None:
    names = run_page("anthropic", client=client(server), text=look(1))
    assert names["answer"].content


def test_no_half_of_a_character_goes_out_in_messages_system_text_or_tools(server: Any) -> None:
    half = "\ud83d"
    tools = [{**tool, "description": f"looks {half}"} for tool in TOOLS]
    asked, messages = wrap(client(server), **OPTIONS), [{"role": "user", "content": f"Look {half}"}]
    assert ask(asked, messages, "create", system=f"{SYSTEM} {half}", tools=tools).content
    assert messages == [{"role": "user", "content": f"Look {half}"}]
    with pytest.raises(UnicodeEncodeError):
        ask(client(server), messages, "create")
