"""The adapter of CrewAI, in agents and crews of the real framework."""

from __future__ import annotations

import asyncio
import copy
import os
from importlib.util import find_spec
from typing import Any

import pytest

if find_spec("crewai") is None:  # else others of the process lose their traces
    pytest.skip("make adapters installs crewai", allow_module_level=True)
os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"}

from crewai import Crew, Task
from crewai.llms.base_llm import call_stream_override

import trimtab
from support.agent_crewai import Chat, agent, look
from support.agents import CALLS, MODEL, OPTIONS, RULE, Model, Summarizer, run_page
from trimtab.adapters.crewai import compactor_of, wrap
from trimtab.adapters.sessions import Conversation

CALL = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture(scope="module")
def encode(tiktoken_encoding: Any) -> Any:
    return tiktoken_encoding("o200k_base").encode_ordinary


@pytest.mark.slow
@pytest.mark.parametrize("how", ["kickoff", "kickoff_async"])
def test_an_agent_stays_within_its_window(how: str, encode: Any, tmp_path: Any) -> None:
    """250 calls, an overflow in the middle, and in each turn a process that has only the messages and the archive."""
    stub, summarizer, where = Model(encode), Summarizer(), f"sqlite:///{tmp_path / 'archive.db'}"
    history: list[Any] = []
    said, done = RULE + " Look at everything.", 0
    while stub.calls < CALLS:
        llm = wrap(Chat(stub), MODEL, session="talk", summarizer=summarizer, archive=where, **OPTIONS)
        with compactor_of(llm) as cm:
            started = getattr(agent(llm), how)([*history, {"role": "user", "content": said}])
            answer = asyncio.run(started) if how == "kickoff_async" else started
            done = len(cm.session("talk").history(None))
            found = cm.archive.search("everything", session="talk")
        history = [message for message in answer.messages if message["role"] != "system"]
        said = f"Go on with part {stub.calls}."
    stub.judge()
    assert found
    assert 5 <= done < 80
    assert summarizer.calls <= done


@pytest.mark.slow
def test_a_crew_stays_within_its_window_and_its_own_compaction_stays_out(encode: Any) -> None:
    """A crew of two agents, whose tasks are longer than the window; each task is a conversation."""
    stub = Model(encode, lowered=20_000)
    llm = wrap(Chat(stub), MODEL, **OPTIONS)
    agents = [agent(llm), agent(llm)]
    tasks = [Task(description=f"{RULE} Look.", expected_output="all", agent=each) for each in agents]
    Crew(agents=agents, tasks=tasks).kickoff()
    assert stub.findings == []
    assert stub.refused == 0
    assert stub.calls == 80
    sessions = [compactor_of(llm).session(f"{task.id} {task.agent.id}") for task in tasks]
    histories = [session.history(None) for session in sessions]
    assert all(histories)
    assert not {past.ref for past in histories[0]} & {past.ref for past in histories[1]}


def test_untouched_messages_stay_the_same_objects_and_edited_ones_keep_the_rest(encode: Any) -> None:
    seen: list[Any] = []

    class Looks(Chat):
        def call(self, messages: Any, *arguments: Any, **options: Any) -> Any:
            seen.append(messages)
            return super().call(messages, *arguments, **options)

    given = [
        {"role": "user", "content": "see"},
        {"role": "assistant", "content": None, "tool_calls": [CALL], "raw_tool_call_parts": ["kept"]},
        {"role": "tool", "tool_call_id": "a", "name": "look", "content": "7 " * 9_000},
        {"role": "assistant", "content": "well"},
        {"role": "user", "content": "go on"},
    ]
    llm = wrap(Looks(Model(encode)), MODEL, **OPTIONS)
    llm.call(given)
    assert [a is b for a, b in zip(seen[0], given, strict=True)] == [True, True, False, True, True]
    assert (seen[0][2]["name"], seen[0][2]["tool_call_id"]) == ("look", "a")
    assert len(seen[0][2]["content"]) < 9_000
    assert given[2]["content"] == "7 " * 9_000
    llm.call(small := given[3:])
    assert seen[1] is small


def test_tools_count_and_usage_is_recorded(encode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[Any] = []
    monkeypatch.setattr(Conversation, "record", lambda _, usage: recorded.append(usage))
    llm = wrap(Chat(stub := Model(encode)), MODEL, session="talk", **OPTIONS)
    asked = [{"role": "user", "content": "go"}]
    llm.call(asked, tools=[TOOL])
    asyncio.run(llm.acall(asked, [TOOL]))
    assert recorded == [{"prompt_tokens": tokens, "completion_tokens": 9} for tokens in stub.prompts]
    assert llm.get_token_usage_summary().successful_requests == 2
    assert llm.get_input_tokens_count(asked) == trimtab.count(asked, model=MODEL)
    assert llm.get_input_tokens_count(asked, [TOOL]) == trimtab.count(asked, model=MODEL, tools=[TOOL])
    assert llm.get_input_tokens_count("go on") == 2
    assert not llm.is_context_window_overflowing_threshold(asked * 9_000)


def test_what_crewai_sets_for_one_llm_reaches_a_wrapped_one_and_its_copies(encode: Any) -> None:
    """CrewAI notes stop words and streaming by an LLM's identity; a crew copies agents, and some LLMs themselves."""
    seen: list[Any] = []

    class Reasoning(Chat):
        def __copy__(self) -> Any:
            return Reasoning(self._stub)

        def call(self, *_: Any, **__: Any) -> str:
            seen.append((self.stop_sequences, self._effective_stream(), self.temperature))
            return "Thought: I know.\nFinal Answer: done"

        def supports_function_calling(self) -> bool:
            return False

    llm = wrap(Reasoning(Model(encode), temperature=0.5), MODEL, **OPTIONS)
    assert isinstance(llm, Reasoning)
    assert compactor_of(copy.copy(llm)) is compactor_of(llm)
    worker = agent(llm)
    worker.kickoff("Look.")
    task = Task(description="Look at {it}.", expected_output="all", agent=worker)
    Crew(agents=[worker], tasks=[task]).kickoff_for_each([{"it": "one"}, {"it": "two"}])
    assert [stop for stop, _, _ in seen] == [["\nObservation:"]] * 3
    assert seen[0][2] == 0.5
    with call_stream_override(llm, True):
        llm.call([{"role": "user", "content": "go"}])
    assert seen[-1][1] is True


def test_a_text_alone_passes_through(encode: Any) -> None:
    llm = wrap(Chat(stub := Model(encode)), MODEL, **OPTIONS)
    llm.call("go")
    asyncio.run(llm.acall("go on"))
    assert stub.last == [{"role": "user", "content": "go on"}]


def test_another_error_of_the_llm_is_raised_and_a_floor_is_noted(encode: Any) -> None:
    class Broken(Model):
        def answer(self, *_: Any, **__: Any) -> Any:
            raise ConnectionError("no route")

    asked = [{"role": "user", "content": "go " * 300}]
    with pytest.raises(ConnectionError, match="no route"):
        wrap(Chat(Broken(encode)), MODEL).call(asked)
    with pytest.raises(Exception, match="maximum context length") as caught:
        wrap(Chat(Model(encode, 2_100, 2_100)), MODEL).call(asked)
    assert "trimtab" in caught.value.__notes__[0]


def test_an_llm_that_is_not_wrapped_has_no_compactor(encode: Any) -> None:
    with pytest.raises(TypeError, match="not wrapped"):
        compactor_of(Chat(Model(encode)))
    with pytest.raises(TypeError, match="window"):
        wrap(Chat(Model(encode)), trimtab.Compactor(MODEL), window=9_000)


def test_the_page_runs(encode: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_page("crewai", llm=Chat(Model(encode)), tools=[look])
    assert "\ngpt-5.5 " in "\n" + capsys.readouterr().out
