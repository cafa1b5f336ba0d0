"""The LangChain adapter, in agents of the real framework."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langchain", reason="make adapters installs langchain")

from langchain.agents import create_agent
from langchain.agents.middleware import ContextEditingMiddleware, SummarizationMiddleware, wrap_model_call
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    trim_messages,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

import trimtab
from support.agent_langchain import Chat, agent
from support.agents import CALLS, MODEL, OPTIONS, RULE, Model, Summarizer, look, run_page
from trimtab.adapters.langchain import CompactionMiddleware, token_counter
from trimtab.summarize import render


@pytest.fixture(scope="module")
def encode(tiktoken_encoding: Any) -> Any:
    return tiktoken_encoding("o200k_base").encode_ordinary


async def turn(running: Any, how: str, text: str, config: Any) -> None:
    asked = {"messages": [{"role": "user", "content": text}]}
    if how == "invoke":
        running.invoke(asked, config)
    elif how == "ainvoke":
        await running.ainvoke(asked, config)
    elif how == "stream":
        assert list(running.stream(asked, config, stream_mode="messages"))
    else:
        assert [part async for part in running.astream(asked, config, stream_mode="messages")]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream", "astream"])
def test_an_agent_stays_within_its_window(how: str, encode: Any) -> None:
    """250 calls, an overflow in the middle, and in each turn a process that has nothing but the checkpoint."""
    stub, summarizer, saver = Model(encode), Summarizer(), InMemorySaver()
    config = {"configurable": {"thread_id": "thread"}, "recursion_limit": 1_000}
    archive = trimtab.archive.open_archive("memory")

    async def run() -> Any:
        said = RULE + " Look at everything."
        while stub.calls < CALLS:
            middleware = CompactionMiddleware(MODEL, summarizer=summarizer, archive=archive, **OPTIONS)
            running = agent(stub, middleware, checkpointer=saver)
            await turn(running, how, said, config)
            said = f"Go on with part {stub.calls}."
        return running

    running = asyncio.run(run())
    stub.judge()
    state = running.get_state(config).values
    assert state["trimtab"]["rounds"] >= 5
    assert summarizer.calls <= state["trimtab"]["rounds"]
    assert len(state["messages"]) < 150
    assert state["trimtab"]["forecast"]["usage"] is not None
    assert archive.search("everything", session="thread")


def test_untouched_messages_stay_the_same_objects(encode: Any) -> None:
    stub = Model(encode)
    given = HumanMessage("go", id="1", name="ann")
    found = agent(stub, CompactionMiddleware(MODEL, **OPTIONS)).invoke(
        {"messages": [given]}, {"recursion_limit": 1_000}
    )
    assert found["messages"][0] is given
    assert "trimtab" not in found


def test_two_threads_of_one_agent_do_not_mix(encode: Any) -> None:
    middleware = CompactionMiddleware(MODEL, **OPTIONS)
    running = agent(Model(encode), middleware, checkpointer=InMemorySaver())
    for thread in ("a", "b"):
        config = {"configurable": {"thread_id": thread}, "recursion_limit": 1_000}
        running.invoke({"messages": [("user", f"for {thread}")]}, config)
    histories = [middleware.sessions.of(thread).session.history(None) for thread in ("a", "b")]
    assert all(histories)
    assert not {past.ref for past in histories[0]} & {past.ref for past in histories[1]}


class Steps(BaseChatModel):
    """Calls its first tool, twice at once, in about as many calls of the model as it is told; then its turn ends."""

    steps: int
    seen: Any
    tools: Any = ()

    @property
    def _llm_type(self) -> str:
        return "steps"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        bound = [convert_to_openai_tool(each)["function"]["name"] for each in tools]
        return Steps(steps=self.steps, seen=self.seen, tools=bound)

    def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        self.seen.append([*messages])
        n = len(self.seen)
        calls = [ToolCall(name=self.tools[0], args={"n": n}, id=f"{self.tools[0]}{n}_{k}") for k in range(2)]
        if n % self.steps == 0 or n % (self.steps + 1) == 0:  # two that take turns both come to an end
            calls = [ToolCall(name="Found", args={"n": n}, id=f"found{n}")] if "Found" in self.tools else []
        return ChatResult(generations=[ChatGeneration(message=AIMessage("done", tool_calls=calls))])


def test_agents_inside_an_agent_that_begin_alike_and_at_once_fit(encode: Any) -> None:
    """Two calls at once of a tool that is an agent, and a structured answer of the outer one; one middleware."""
    middleware = CompactionMiddleware(MODEL, window=7_000, max_output=1_000)
    outside, inside = list[Any](), list[Any]()
    looker = create_agent(Steps(steps=6, seen=inside), [tool(look)], middleware=[middleware])

    @tool
    def ask(n: int) -> str:
        """Ask another agent."""
        found = looker.invoke({"messages": [("user", RULE)]}, {"recursion_limit": 1_000})
        return str(found["messages"][-1].content) + look(n)

    class Found(BaseModel):
        """What was found."""

        n: int

    running = create_agent(
        Steps(steps=5, seen=outside),
        [ask],
        middleware=[middleware],
        checkpointer=InMemorySaver(),
        response_format=ToolStrategy(Found),
    )
    config = {"configurable": {"thread_id": "a"}, "recursion_limit": 1_000}
    for n in range(6):
        found = running.invoke({"messages": [("user", f"go on {n}")]}, config)
        assert isinstance(found["structured_response"], Found)
    for seen in (outside, inside):
        assert max(trimtab.count(messages, model=MODEL) for messages in seen) <= 6_000
        assert all(trimtab.validate(messages, provider="openai_chat") == [] for messages in seen)
    inner = [name for name in middleware.sessions._held if name.startswith("a opening-")]
    assert len(inner) == 1
    assert middleware.compactor.session(inner[0]).history(None)
    assert middleware.compactor.session("a").history(None)


def test_a_summary_has_langchains_mark(encode: Any) -> None:
    """A front end shows no summary that LangChain's own middleware made as the user's words."""
    given = [kind("well " * 2_000, id=f"{n}{kind.__name__}") for n in range(9) for kind in (HumanMessage, AIMessage)]
    running = create_agent(Steps(steps=1, seen=[]), [tool(look)], middleware=[CompactionMiddleware(MODEL, **OPTIONS)])
    found = running.invoke({"messages": [*given, HumanMessage("go on")]})["messages"]
    marked = [message for message in found if message.additional_kwargs.get("lc_source") == "summarization"]
    assert ["trimtab-summary" in message.content for message in marked] == [True]


@pytest.mark.parametrize("tags", [[], ["nostream"]])
def test_a_summary_by_a_chat_model_is_streamed_unless_it_is_tagged(tags: list[str], encode: Any) -> None:
    class Writes(Steps):
        def _generate(self, *_: Any, **__: Any) -> ChatResult:
            return ChatResult(generations=[ChatGeneration(message=AIMessage("a summary"))])

    def summarize(ask: Any) -> str:
        return Writes(steps=1, seen=[]).invoke(render(ask).text, {"tags": tags}).text

    middleware = CompactionMiddleware(MODEL, summarizer=summarize, **OPTIONS)
    running = create_agent(Steps(steps=1, seen=[]), [tool(look)], middleware=[middleware])
    given = [kind("well " * 2_000) for _ in range(9) for kind in (HumanMessage, AIMessage)]
    parts = running.stream({"messages": [*given, HumanMessage("go on")]}, stream_mode="messages")
    texts = [part.content for part, about in parts if about["langgraph_node"] == "model"]
    assert ("a summary" in texts) is (tags == [])
    assert "done" in texts


def test_what_another_middleware_adds_to_a_call_is_not_kept(encode: Any) -> None:
    @wrap_model_call
    def adds(request: Any, handler: Any) -> Any:
        return handler(request.override(messages=[*request.messages, HumanMessage("only now")]))

    running = create_agent(
        Chat(stub=Model(encode)), [tool(look)], middleware=[adds, CompactionMiddleware(MODEL, **OPTIONS)]
    )
    found = running.invoke({"messages": [("user", "go")]}, {"recursion_limit": 1_000})
    assert not any(message.content == "only now" for message in found["messages"])


def test_a_tools_output_is_cut_as_it_enters(encode: Any) -> None:
    @tool
    def look(n: int) -> str:
        """Look."""
        return "".join(f"line {line}\n" for line in range(6_000))

    cm = trimtab.Compactor(MODEL, policy="sven", window=100_000)
    stub = Model(encode, window=100_000, lowered=100_000)
    stub.calls = 38
    running = create_agent(Chat(stub=stub), [look], middleware=[CompactionMiddleware(cm)])
    found = running.invoke({"messages": [("user", "go")]})
    results = [message for message in found["messages"] if isinstance(message, ToolMessage)]
    assert results
    assert all(len(message.content) < 20_000 for message in results)
    assert cm.archive.search("5999", session=None)


def test_another_error_of_the_model_is_raised(encode: Any) -> None:
    class Broken(Model):
        def answer(self, *_: Any) -> Any:
            raise RuntimeError("rate limit reached")

    with pytest.raises(RuntimeError, match="rate limit"):
        agent(Broken(encode), CompactionMiddleware(MODEL)).invoke({"messages": [("user", "go")]})


def test_the_token_counter_serves_langchains_own(encode: Any) -> None:
    counter = token_counter(MODEL)
    messages = [SystemMessage("rules"), HumanMessage("go"), AIMessage("well " * 500), HumanMessage("on")]
    assert counter(messages) == trimtab.count(messages, model=MODEL)
    assert counter(iter(messages)) == counter(messages)
    assert counter([]) >= 0
    trimmed = trim_messages(messages, max_tokens=100, token_counter=counter, include_system=True)
    assert 0 < counter(trimmed) <= 100
    editing = ContextEditingMiddleware(token_count_method="model")
    assert editing
    summary = SummarizationMiddleware(
        Chat(stub=Model(encode)), trigger=("tokens", 9_000), keep=("messages", 4), token_counter=counter
    )
    assert summary.token_counter is counter


def test_the_window_is_that_of_the_models_profile(encode: Any) -> None:
    class Profiled(Chat):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            bound = super().bind_tools(tools)
            return Profiled(stub=bound.stub, tools=bound.tools, profile=self.profile)

    for options, window in (({}, 20_000), ({"window": 18_000}, 18_000)):
        stub = Model(encode, lowered=20_000)
        middleware = CompactionMiddleware(MODEL, max_output=2_000, **options)
        chat = Profiled(stub=stub, profile={"max_input_tokens": 20_000})
        running = create_agent(chat, [tool(look)], middleware=[middleware], checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": "a"}, "recursion_limit": 1_000}
        running.invoke({"messages": [("user", "go")]}, config)
        assert middleware.sessions.of("a").session.window == window
        assert not stub.refused


def test_a_compactor_takes_no_keywords_beside_it() -> None:
    with pytest.raises(TypeError, match="window"):
        CompactionMiddleware(trimtab.Compactor(MODEL), window=9_000)


def test_the_page_runs(encode: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_page("langchain", model=Chat(stub=Model(encode)), tools=[tool(look)])
    assert capsys.readouterr().out.startswith("gpt-5.5 ")
