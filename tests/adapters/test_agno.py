"""The adapter of Agno, in agents of the real framework."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from typing import Any

import pytest

pytest.importorskip("agno", reason="make adapters installs agno")

from agno.compaction import Compaction
from agno.db.in_memory import InMemoryDb
from agno.db.sqlite import SqliteDb
from agno.exceptions import ModelProviderError
from agno.media import Image
from agno.models.message import Message

import trimtab
from support.agent_agno import Chat, agent, chat
from support.agents import CALLS, MODEL, OPTIONS, RULE, Model, Summarizer, look, run_page
from trimtab.adapters.agno import compactor_of, token_counter, wrap

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture(scope="module")
def encode(tiktoken_encoding: Any) -> Any:
    return tiktoken_encoding("o200k_base").encode_ordinary


async def turn(running: Any, how: str, text: str) -> None:
    if how == "run":
        running.run(text, session_id="talk")
    elif how == "arun":
        await running.arun(text, session_id="talk")
    elif how == "stream":
        assert list(running.run(text, session_id="talk", stream=True))
    else:
        assert [event async for event in running.arun(text, session_id="talk", stream=True)]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["run", "arun", "stream", "astream"])
def test_an_agent_stays_within_its_window(how: str, encode: Any, tmp_path: Any) -> None:
    """250 calls, an overflow in the middle, and in each turn a process that has only the database and the archive."""
    stub, summarizer, where = Model(encode), Summarizer(), f"sqlite:///{tmp_path / 'archive.db'}"

    async def run() -> int:
        said, done = RULE + " Look at everything.", 0
        while stub.calls < CALLS:
            guarded = wrap(chat(stub), MODEL, summarizer=summarizer, archive=where, **OPTIONS)
            with compactor_of(guarded) as cm:
                await turn(agent(guarded, db=SqliteDb(db_file=str(tmp_path / "agno.db"))), how, said)
                done = len(cm.session("talk looker").history(None))
                found = cm.archive.search("everything", session="talk looker")
            said = f"Go on with part {stub.calls}."
        assert found
        return done

    compactions = asyncio.run(run())
    stub.judge()
    assert 5 <= compactions < 80
    assert summarizer.calls <= compactions


def test_untouched_messages_stay_the_same_objects_and_edited_ones_keep_the_rest(encode: Any) -> None:
    seen: list[Any] = []

    class Looks(Chat):
        def invoke(self, messages: Any, **options: Any) -> Any:
            seen.append([*messages])
            return super().invoke(messages, **options)

    call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    given = [
        Message(role="user", content="see"),
        Message(role="assistant", tool_calls=[call], reasoning_content="hm"),
        Message(role="tool", tool_call_id="a", tool_name="look", content="7 " * 9_000),
        Message(role="assistant", content="well"),
        Message(role="user", content="go on", images=[Image(content=b64decode(PNG), mime_type="image/png")]),
    ]
    guarded = wrap(Looks(stub=Model(encode)), MODEL, **OPTIONS)
    guarded.invoke(given)
    assert [a is b for a, b in zip(seen[0], given, strict=True)] == [True, True, False, True, True]
    assert (seen[0][2].id, seen[0][2].tool_name, seen[0][2].tool_call_id) == (given[2].id, "look", "a")
    assert len(seen[0][2].content) < 9_000
    guarded.invoke(small := given[3:])
    assert all(a is b for a, b in zip(seen[1], small, strict=True))


def test_two_sessions_of_one_model_do_not_mix(encode: Any) -> None:
    guarded = wrap(chat(Model(encode, lowered=20_000)), MODEL, **OPTIONS)
    running = agent(guarded, db=InMemoryDb())
    for name in ("a", "b"):
        running.run(f"for {name}", session_id=name)
    histories = [compactor_of(guarded).session(f"{name} looker").history(None) for name in ("a", "b")]
    assert all(histories)
    assert not {past.ref for past in histories[0]} & {past.ref for past in histories[1]}


def test_another_error_of_the_model_is_raised_and_a_floor_is_noted(encode: Any) -> None:
    class Broken(Model):
        def answer(self, *_: Any, **__: Any) -> Any:
            raise ModelProviderError("rate limit reached", status_code=429)

    asked = [Message(role="user", content="go " * 300)]
    with pytest.raises(ModelProviderError, match="rate limit"):
        wrap(chat(Broken(encode)), MODEL).invoke(asked)
    with pytest.raises(ModelProviderError, match="maximum context length") as caught:
        wrap(chat(Model(encode, 2_100, 2_100)), MODEL).invoke(asked)
    assert "trimtab" in caught.value.__notes__[0]


def test_the_counter_serves_agnos_own_compaction(encode: Any) -> None:
    counter = token_counter(MODEL)
    messages = [Message(role="user", content="go"), Message(role="assistant", content="well " * 500)]
    plain = [{"role": message.role, "content": message.content} for message in messages]
    assert counter(messages, None) == trimtab.count(plain, model=MODEL)
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    assert counter(messages, [tool]) > counter(messages, None)
    assert Compaction(token_counter=counter, compact_at_tokens=100).should_compact(messages)


def test_a_model_that_is_not_wrapped_has_no_compactor(encode: Any) -> None:
    with pytest.raises(TypeError, match="not wrapped"):
        compactor_of(chat(Model(encode)))
    with pytest.raises(TypeError, match="window"):
        wrap(chat(Model(encode)), trimtab.Compactor(MODEL), window=9_000)


def test_the_page_runs(encode: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_page("agno", model=chat(Model(encode)), tools=[look])
    assert capsys.readouterr().out.startswith("gpt-5.5 ")
