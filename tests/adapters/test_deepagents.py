"""The adapter of Deep Agents, in agents of the real framework."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("deepagents", reason="make adapters installs deepagents")

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

import trimtab
from support.agent_deepagents import agent
from support.agent_langchain import Chat
from support.agents import CALLS, MODEL, OPTIONS, RULE, Answer, Call, Model, Summarizer, look, run_page
from trimtab.adapters.deepagents import DeepAgentsMiddleware

THREAD = {"configurable": {"thread_id": "thread"}, "recursion_limit": 1_000}


@pytest.fixture(scope="module")
def encode(tiktoken_encoding: Any) -> Any:
    return tiktoken_encoding("o200k_base").encode_ordinary


async def turn(running: Any, how: str, text: str) -> None:
    asked = {"messages": [{"role": "user", "content": text}]}
    if how == "invoke":
        running.invoke(asked, THREAD)
    elif how == "ainvoke":
        await running.ainvoke(asked, THREAD)
    else:
        assert [part async for part in running.astream(asked, THREAD, stream_mode="messages")]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["invoke", "ainvoke", "astream"])
def test_an_agent_stays_within_its_window(how: str, encode: Any) -> None:
    """250 calls, an overflow in the middle, and in each turn a process that has nothing but the checkpoint."""
    stub, summarizer, saver = Model(encode), Summarizer(), InMemorySaver()
    archive = trimtab.archive.open_archive("memory")

    async def run() -> Any:
        said = RULE + " Look at everything."
        while stub.calls < CALLS:
            middleware = DeepAgentsMiddleware(MODEL, summarizer=summarizer, archive=archive, **OPTIONS)
            running = agent(stub, middleware, checkpointer=saver)
            await turn(running, how, said)
            said = f"Go on with part {stub.calls}."
        return running

    running = asyncio.run(run())
    stub.judge()
    state = running.get_state(THREAD).values
    assert state["trimtab"]["rounds"] >= 5
    assert summarizer.calls <= state["trimtab"]["rounds"]
    assert len(state["messages"]) < 150
    assert state["trimtab"]["forecast"]["usage"] is not None
    assert archive.search("everything", session="thread")


def test_it_takes_the_place_of_the_agents_own_summarization(monkeypatch: pytest.MonkeyPatch, encode: Any) -> None:
    stacks: list[list[Any]] = []

    def create(*arguments: Any, middleware: Any, **options: Any) -> Any:
        stacks.append([each for each in middleware if each.name == "SummarizationMiddleware"])
        return create_agent(*arguments, middleware=middleware, **options)

    monkeypatch.setattr("deepagents.graph.create_agent", create)
    monkeypatch.setattr("deepagents.middleware.subagents.create_agent", create)
    ours = DeepAgentsMiddleware(MODEL, **OPTIONS)
    agent(Model(encode), ours).invoke({"messages": [("user", "go")]}, {"recursion_limit": 1_000})
    assert len(stacks) >= 2, "the main agent, and the subagent for everything"
    assert all(stack == [ours] for stack in stacks)


def test_a_subagent_has_a_session_of_its_own(encode: Any) -> None:
    class Delegating(Model):
        def answer(self, messages: Any, tools: Any, provider: str = "openai_chat") -> Answer:
            if self.calls != 2:
                return super().answer(messages, tools, provider)
            self.calls += 1
            task = {"description": "look at the rest", "subagent_type": "general-purpose"}
            return Answer("", [Call("call_task", "task", task)], 9_000)

    stub, middleware = Delegating(encode, lowered=20_000), DeepAgentsMiddleware(MODEL, **OPTIONS)
    running = agent(stub, middleware, checkpointer=InMemorySaver())
    running.invoke({"messages": [("user", "go")]}, THREAD)
    assert stub.findings == []
    assert stub.refused == 0
    sessions = {name: held.session for name, held in middleware.sessions._held.items()}
    assert len(sessions) == 2
    assert "thread" in sessions
    assert all(session.history(None) for session in sessions.values())


def test_untouched_messages_stay_the_same_objects(encode: Any) -> None:
    stub, given = Model(encode, 200_000, 200_000), HumanMessage("go", id="1", name="ann")
    running = agent(stub, DeepAgentsMiddleware(MODEL, window=40_000, max_output=2_000))
    found = running.invoke({"messages": [given]}, {"recursion_limit": 1_000})
    assert any("[trimtab" in str(message.content) for message in found["messages"])
    assert found["messages"][0] is given
    assert "trimtab" not in found


def test_the_page_runs(encode: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_page("deepagents", model=Chat(stub=Model(encode)), tools=[tool(look)])
    assert capsys.readouterr().out.startswith("gpt-5.5 ")
