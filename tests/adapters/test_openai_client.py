"""The wrapped client of OpenAI's SDK, against a server on this machine."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import openai
import pytest
from pydantic import BaseModel

import trimtab
from support.agents import CALLS, MODEL, OPTIONS, RULE, Model, Summarizer, look, run_page
from support.loopback import serving
from support.models import GPT
from support.openai_server import Server
from trimtab.adapters.openai import wrap

TOOL = {"name": "look", "description": "Look.", "parameters": {"type": "object", "properties": {"n": {}}}}
CHAT_TOOLS = [{"type": "function", "function": TOOL}]
TOOLS = [{"type": "function", **TOOL}]
START = [{"role": "user", "content": f"{RULE} Look at everything."}]
KINDS = ("chat", "chat stream", "chat raw", "responses", "responses stream", "async chat", "async responses stream")


@pytest.fixture(scope="module")
def encode(tiktoken_encoding: Any) -> Any:
    return tiktoken_encoding("o200k_base").encode_ordinary


@pytest.fixture
def server(encode: Any) -> Any:
    made = Server(Model(encode))
    with serving(made) as made.url:
        yield made


def client(server: Any, **options: Any) -> Any:
    return openai.OpenAI(api_key="k", base_url=server.url, max_retries=0, **options)


def chat(asked: Any, messages: list[Any], how: str) -> Any:
    """One call of the model; its message."""
    known = {"model": MODEL, "messages": [{"role": "system", "content": "Be good."}, *messages], "tools": CHAT_TOOLS}
    if how == "stream":
        if not hasattr(asked.chat.completions, "stream"):
            pytest.skip("this release has no chat.completions.stream")
        with asked.chat.completions.stream(**known, stream_options={"include_usage": True}) as stream:
            return stream.get_final_completion().choices[0].message
    if how == "raw":
        return asked.chat.completions.with_raw_response.create(**known).parse().choices[0].message
    return asked.chat.completions.create(**known).choices[0].message


def respond(asked: Any, items: list[Any], how: str) -> Any:
    """One call of the model; its output."""
    known = {"model": MODEL, "input": items, "instructions": "Be good.", "tools": TOOLS}
    if how == "stream":
        return next(
            event.response.output
            for event in [*asked.responses.create(**known, stream=True)]
            if event.type == "response.completed"
        )
    return asked.responses.create(**known).output


async def achat(asked: Any, messages: list[Any]) -> Any:
    known = {"model": MODEL, "messages": messages, "tools": CHAT_TOOLS}
    return (await asked.chat.completions.create(**known)).choices[0].message


async def arespond(asked: Any, items: list[Any]) -> Any:
    stream = await asked.responses.create(model=MODEL, input=items, tools=TOOLS, stream=True)
    events = [event async for event in stream]
    return next(event.response.output for event in events if event.type == "response.completed")


def taken_in(messages: list[Any], answer: Any) -> None:
    """Put the answer into the list, with the outputs of its calls or what the user says next."""
    if isinstance(answer, list):
        messages += [item.to_dict() for item in answer]
        calls = [item for item in answer if item.type == "function_call"]
        for call in calls:
            output = look(json.loads(call.arguments)["n"])
            messages.append({"type": "function_call_output", "call_id": call.call_id, "output": output})
    else:
        messages.append({key: value for key, value in answer.to_dict().items() if value is not None})
        calls = answer.tool_calls or []
        for call in calls:
            output = look(json.loads(call.function.arguments)["n"])
            messages.append({"role": "tool", "tool_call_id": call.id, "content": output})
    if not calls:
        messages.append({"role": "user", "content": "Go on."})


def agent(server: Any, kind: str, calls: int, **options: Any) -> list[Any]:
    """An agent that hands in its whole history at each call."""
    messages: list[Any] = [*START]
    if kind.startswith("async"):

        async def talk() -> None:
            inner = openai.AsyncOpenAI(api_key="k", base_url=server.url, max_retries=0)
            asked = wrap(inner, **OPTIONS, **options)
            while server.model.calls < calls:
                taken_in(messages, await (achat if "chat" in kind else arespond)(asked, messages))

        asyncio.run(talk())
        return messages
    asked = wrap(client(server), **OPTIONS, **options)
    shape, _, how = kind.partition(" ")
    while server.model.calls < calls:
        taken_in(messages, (chat if shape == "chat" else respond)(asked, messages, how))
    return messages


@pytest.mark.parametrize("kind", KINDS)
def test_calls_fit_and_are_valid(kind: str, server: Any) -> None:
    messages = agent(server, kind, 40)
    assert server.model.findings == []
    assert max(server.model.prompts) <= OPTIONS["window"] - OPTIONS["max_output"]
    assert server.model.refused == 0
    assert "RULE-7" in json.dumps(server.model.last)
    assert len(server.model.last) < len(messages)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_agent_is_kept_within_its_window(kind: str, server: Any) -> None:
    """250 calls with an overflow in the middle, of which the caller never hears."""
    summarizer = Summarizer()
    agent(server, kind, CALLS, summarizer=summarizer)
    server.model.judge()
    assert summarizer.calls < 60


def test_the_client_stays_the_callers_own(server: Any) -> None:
    class Said(BaseModel):
        done: str

    inner = client(server)
    assert inner.chat.completions  # made before
    asked = wrap(inner, GPT, **OPTIONS)
    assert type(asked) is openai.OpenAI
    assert "post" not in vars(inner)
    assert asked.with_options(timeout=3).timeout == 3
    assert "post" in vars(asked.with_options(timeout=3))
    assert asked.responses.create(model=MODEL, input="Look.").usage.output_tokens == 9
    assert server.seen[-1]["input"] == "Look."
    with asked.chat.completions.with_streaming_response.create(model=MODEL, messages=START) as raw:
        assert json.loads(raw.read())["usage"]["completion_tokens"] == 9
    server.model.calls = 39  # the next answer is a text
    parse = getattr(asked.chat.completions, "parse", None) or asked.beta.chat.completions.parse
    with pytest.raises(ValueError, match="Invalid JSON"):
        parse(model=MODEL, messages=START, response_format=Said)


def test_a_client_whose_calls_go_another_way_is_refused(server: Any) -> None:
    class Other(openai.OpenAI):
        def __getattribute__(self, name: str) -> Any:
            return client(server).chat if name == "chat" else super().__getattribute__(name)

    with pytest.raises(TypeError, match="cannot be wrapped"):
        wrap(Other(api_key="k"))


def test_another_process_goes_on_from_the_archive(server: Any, tmp_path: Any) -> None:
    where = f"sqlite:///{tmp_path / 'archive.db'}"
    summarizer = Summarizer()
    messages: list[Any] = [*START]
    while server.model.calls < 60:
        asked = wrap(client(server), archive=where, summarizer=summarizer, **OPTIONS)
        for _ in range(5):
            taken_in(messages, chat(asked, messages, "raw"))
    assert server.model.refused == 0
    with trimtab.Compactor(MODEL, archive=where) as cm:
        done = cm.archive.history(None, limit=None)
    assert 1 <= len(done) < 12


def test_conversations_are_named_by_the_body(server: Any) -> None:
    cm = trimtab.Compactor(MODEL, provider="openai_chat", **OPTIONS)
    asked = wrap(client(server), cm, session=lambda body: body["user"])
    for user in ("a", "b"):
        messages: list[Any] = [*START]
        for _ in range(25):
            answer = asked.chat.completions.create(model=MODEL, messages=messages, tools=CHAT_TOOLS, user=user)
            taken_in(messages, answer.choices[0].message)
    assert all(cm.session(user).history(None) for user in ("a", "b"))


def test_a_held_conversation_is_left_alone_and_said_once(server: Any, caplog: Any) -> None:
    asked = wrap(client(server), **OPTIONS)
    with caplog.at_level(logging.WARNING, "trimtab"):
        for n in range(2):
            asked.responses.create(model=MODEL, input=START, previous_response_id=f"resp_{n}")
    assert [record.getMessage() for record in caplog.records] == [
        "the server holds a conversation (previous_response_id=): nothing of it is compacted"
    ]


def test_other_errors_are_the_providers_own(server: Any) -> None:
    asked = wrap(client(server).with_options(base_url=server.url + "/nowhere"), **OPTIONS)
    server.model.encode = None  # the server breaks
    with pytest.raises(openai.InternalServerError):
        asked.chat.completions.create(model=MODEL, messages=START)
    with pytest.raises(TypeError, match="a Compactor has its own settings"):
        wrap(asked, trimtab.Compactor(MODEL), window=9)
    with pytest.raises(ValueError, match="unknown policy"):
        wrap(asked, MODEL, policy="nothing")


def test_the_page_runs(server: Any) -> None:
    server.model.calls = 39
    names = run_page("openai", client=client(server), text=look(1))
    assert names["answer"].choices
