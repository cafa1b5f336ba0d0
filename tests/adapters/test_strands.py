"""The adapter of Strands Agents, in agents of the real framework."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from support.models import GPT

pytest.importorskip("strands", reason="make adapters installs strands-agents")

from strands import tool
from strands.session.file_session_manager import FileSessionManager
from strands.types.exceptions import ContextWindowOverflowException

import trimtab
from support.agent_strands import Converse, agent
from support.agents import CALLS, MODEL, OPTIONS, RULE, Model, Summarizer, look, run_page
from trimtab.adapters.strands import CompactingConversationManager


@pytest.fixture(scope="module")
def encode(tiktoken_encoding: Any) -> Any:
    return tiktoken_encoding("o200k_base").encode_ordinary


def turn(running: Any, how: str, text: str) -> None:
    async def streamed() -> None:
        assert [event async for event in running.stream_async(text)]

    if how == "run":
        running(text)
    else:
        asyncio.run(running.invoke_async(text) if how == "async" else streamed())


def same(messages: Any) -> Any:
    return json.loads(json.dumps(messages))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["run", "async", "stream"])
def test_an_agent_stays_within_its_window(how: str, encode: Any, tmp_path: Any) -> None:
    """250 calls, an overflow in the middle, and in each turn a process that has only the session manager's files."""
    stub, summarizer, archive = Model(encode), Summarizer(), trimtab.archive.open_archive("memory")
    before: list[Any] = []
    said, removed = RULE + " Look at everything.", [0]
    while stub.calls < CALLS:
        manager = CompactingConversationManager(MODEL, summarizer=summarizer, archive=archive, **OPTIONS)
        stored = FileSessionManager(session_id="talk", storage_dir=str(tmp_path))
        running = agent(stub, manager, session_manager=stored, raw=how == "async")
        assert same(running.messages) == before
        turn(running, how, said)
        before = same(running.messages)
        removed.append(manager.removed_message_count)
        said = f"Go on with part {stub.calls}."
    stub.judge()
    assert removed == sorted(removed)
    assert removed[-1] > 200
    assert 5 <= len(archive.history(None, limit=None)) < 80
    assert 1 <= summarizer.calls < 60
    assert archive.search("everything", session="talk default")
    assert len(before) < 100


@pytest.mark.slow
@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_overflow_is_recovered_with_either_kind_of_summarizer(asynchronous: bool, encode: Any) -> None:
    stub, counted = Model(encode), Summarizer()

    async def asummarize(ask: Any) -> str:
        return counted(ask)

    manager = CompactingConversationManager(MODEL, summarizer=asummarize if asynchronous else counted, **OPTIONS)
    running = agent(stub, manager)
    turn(running, "run", RULE + " Look at everything.")
    while stub.calls < CALLS:
        turn(running, "run", f"Go on with part {stub.calls}.")
    stub.judge()
    assert counted.calls


def test_untouched_messages_stay_the_same_objects(encode: Any) -> None:
    manager = CompactingConversationManager(MODEL, **OPTIONS)
    running = agent(Model(encode), manager)
    turn(running, "run", "go")
    before = [*running.messages]
    manager.reduce_context(running)
    assert len(running.messages) < len(before)
    assert running.messages[-1] is before[-1]
    assert manager.get_state()["head"]


def test_a_request_behind_the_result_of_a_structured_answer_is_sent(encode: Any) -> None:
    """Strands puts one message of the user behind another there, in the list and in what is sent."""
    call = {"toolUse": {"toolUseId": "a", "name": "Found", "input": {}}}
    given = [
        {"role": "user", "content": [{"text": "go"}]},
        {"role": "assistant", "content": [call]},
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": "ok"}], "status": "success"}}],
        },
    ]
    manager = CompactingConversationManager(MODEL, **OPTIONS)
    running = agent(stub := Model(encode, lowered=20_000), manager, messages=[*given])
    stub.calls = CALLS - 11
    turn(running, "run", "go on")
    assert all(a is b for a, b in zip(running.messages, given, strict=False))
    assert [message["role"] for message in running.messages[2:5]] == ["user", "user", "assistant"]
    turn(running, "run", "go on")
    assert stub.refused == 0
    assert manager.removed_message_count > 0


def test_reduce_context_raises_what_it_cannot_mend(encode: Any) -> None:
    manager = CompactingConversationManager(MODEL, **OPTIONS)
    running = agent(Model(encode), manager, messages=[{"role": "user", "content": [{"text": "words " * 3_000}]}])
    with pytest.raises(KeyError):
        manager.reduce_context(running, KeyError("x"))
    error = ContextWindowOverflowException("prompt is too long: 9000 tokens > 100 maximum")
    with pytest.raises(ContextWindowOverflowException) as caught:
        manager.reduce_context(running, error)
    assert "trimtab" in caught.value.__notes__[0]


def test_a_prompt_that_cannot_shrink_ends_in_the_providers_error(encode: Any) -> None:
    stub = Model(encode, window=2_100, lowered=2_100)
    running = agent(stub, CompactingConversationManager(MODEL))
    with pytest.raises(ContextWindowOverflowException):
        turn(running, "run", "words " * 3_000)
    assert stub.refused <= 4


def test_a_snapshot_of_the_agent_goes_on(encode: Any) -> None:
    if not hasattr(agent(Model(encode)), "take_snapshot"):
        pytest.skip("this release has no snapshots")
    stub = Model(encode)
    running = agent(stub, CompactingConversationManager(MODEL, **OPTIONS))
    turn(running, "run", RULE)
    taken = running.take_snapshot(preset="session")
    manager = CompactingConversationManager(MODEL, **OPTIONS)
    other = agent(stub, manager)
    other.load_snapshot(taken)
    assert same(other.messages) == same(running.messages)
    was = manager.removed_message_count
    assert was > 0
    turn(other, "run", "Go on.")
    assert stub.findings == []
    assert manager.removed_message_count > was


def test_usage_is_recorded_and_system_text_and_tools_count(encode: Any) -> None:
    stub = Model(encode, 200_000, 200_000)
    stub.calls = 38
    manager = CompactingConversationManager(MODEL)
    running = agent(stub, manager)
    turn(running, "run", "go")
    session = manager.get_state()["session"]
    assert session["forecast"]["anchor"]["prompt"] == stub.prompts[-1]
    small = CompactingConversationManager("unheard-of-model")
    running = agent(stub, small)
    running.model.__class__ = type("Sized", (Converse,), {"context_window_limit": 30_000})
    stub.calls = 39
    turn(running, "run", "go")
    assert small._conversation.session.window == 30_000


def test_a_tools_output_is_cut_as_it_enters(encode: Any) -> None:
    def look(n: int) -> str:
        """Look."""
        return "".join(f"line {line}\n" for line in range(6_000))

    stub = Model(encode, window=100_000, lowered=100_000)
    stub.calls = 38
    cm = trimtab.Compactor(MODEL, policy="sven", window=100_000, provider="bedrock")
    running = agent(stub, CompactingConversationManager(cm), tools=[tool(look)])
    turn(running, "run", "go")
    results = [b["toolResult"] for m in running.messages for b in m["content"] if "toolResult" in b]
    assert results
    assert all(len(result["content"][0]["text"]) < 20_000 for result in results)
    assert cm.archive.search("5999", session=None)


def test_a_compactor_has_its_own_settings() -> None:
    with pytest.raises(TypeError, match="window"):
        CompactingConversationManager(trimtab.Compactor(MODEL), window=1_000)


def test_a_list_that_was_replaced_from_outside_is_taken_as_it_is(encode: Any) -> None:
    manager = CompactingConversationManager(MODEL, **OPTIONS)
    running = agent(Model(encode), manager)
    turn(running, "run", "go")
    assert manager.get_state()["head"]
    running.messages[:] = []
    turn(running, "run", "go on")
    assert running.messages[0]["content"][0]["text"].startswith(("go on", "[trimtab", "<trimtab"))


def test_the_page_runs(encode: Any, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    stub = Model(encode, 2_000_000, 2_000_000)
    run_page("strands", model=Converse(stub), tools=[tool(look)], folder=str(tmp_path))
    assert capsys.readouterr().out.splitlines()[-1].split()[-3] == GPT
