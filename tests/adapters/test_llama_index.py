"""The adapter of LlamaIndex, in agents of the real framework."""

from __future__ import annotations

import asyncio
import gc
import json
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="make adapters installs llama-index-core")

from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.core.workflow import Context
from workflows.errors import WorkflowCancelledByUser

import trimtab
from support.agent_llama_index import Chat, tools
from support.agents import CALLS, MODEL, OPTIONS, RULE, Model, Summarizer, run_page
from trimtab.adapters.llama_index import CompactingFunctionAgent, CompactingMemory, tokenizer

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

# A Memory of LlamaIndex's never closes its database.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. .function Connection.__del__:pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(autouse=True)
def collected() -> Any:
    """Open databases go within the test that the filter stands for."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def encode(tiktoken_encoding: Any) -> Any:
    return tiktoken_encoding("o200k_base").encode_ordinary


def agent(stub: Model, compactor: Any, **options: Any) -> CompactingFunctionAgent:
    return CompactingFunctionAgent(
        compactor=compactor, tools=tools(), llm=Chat(stub=stub), system_prompt="Be good.", **options
    )


def whole() -> Memory:
    return Memory.from_defaults(session_id="talk", token_limit=10**9, tokenizer_fn=tokenizer(MODEL))


class Chatty(Model):
    """A model that calls no tools."""

    def answer(self, *prompt: Any, **options: Any) -> Any:
        return replace(super().answer(*prompt, **options), text=f"Done {self.calls}. " + "well " * 90, calls=[])


@pytest.mark.slow
@pytest.mark.parametrize("how", ["chat", "achat"])
def test_a_chat_engine_stays_within_its_window(how: str, encode: Any) -> None:
    """250 questions, and after every 50th a process that has only what was stored. A memory sees no refusal."""
    stub, archive = Chatty(encode, lowered=OPTIONS["window"]), trimtab.archive.open_archive("memory")

    def remade(**stored: Any) -> CompactingMemory:
        cm = trimtab.Compactor(MODEL, archive=archive, provider="openai_chat", **OPTIONS)
        return CompactingMemory.from_defaults(compactor=cm, instructions="Be good.", session_id="talk", **stored)

    memory = remade()
    prefix = [ChatMessage(role="system", content="Be good.")]
    for n in range(CALLS):
        if n % 50 == 49:
            memory = remade(chat_store=memory.chat_store, state=json.loads(json.dumps(memory.state)))
        engine = SimpleChatEngine(llm=Chat(stub=stub), memory=memory, prefix_messages=prefix)
        said = f"{RULE} Go on with part {n}: " + "what of it? " * 40
        asyncio.run(engine.achat(said)) if how == "achat" else engine.chat(said)
    assert (stub.refused, stub.invalid, stub.findings) == (0, 0, [])
    assert max(stub.prompts) <= OPTIONS["window"] - OPTIONS["max_output"]
    assert len(memory.get_all()) == 2 * CALLS
    assert memory.state is not None
    assert memory.state["rounds"] >= 5
    assert "RULE-7" in json.dumps(stub.last)
    assert archive.search("part 3", session="talk")


def test_a_memory_hands_out_the_same_messages_until_something_leaves() -> None:
    memory = CompactingMemory.from_defaults([ChatMessage(role="user", content="see")], compactor=MODEL)
    assert memory.get()[0] is memory.get_all()[0]
    memory.put(ChatMessage(role="assistant", content="well " * 90))
    assert [message.content for message in asyncio.run(memory.aget())] == ["see", "well " * 90]
    assert memory.state is not None
    memory.reset()
    assert (memory.get(), memory.state) == ([], None)
    asyncio.run(memory.areset())
    assert asyncio.run(memory.aget()) == []
    with pytest.raises(ValueError, match="window"):
        CompactingMemory(compactor=trimtab.Compactor(MODEL, window=-1))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["chat", "stream", "workflow"])
def test_an_agent_stays_within_its_window(how: str, encode: Any) -> None:
    """250 calls, an overflow in the middle, and in each turn a process that has only the memory and the context."""
    stub, summarizer, archive = Model(encode), Summarizer(), trimtab.archive.open_archive("memory")

    async def run() -> dict[str, Any]:
        said, memory, stored = RULE + " Look at everything.", whole(), None
        while stub.calls < CALLS:
            cm = trimtab.Compactor(MODEL, summarizer=summarizer, archive=archive, provider="openai_chat", **OPTIONS)
            running: Any = agent(stub, cm, streaming=how != "chat")
            if how == "workflow":
                running = AgentWorkflow(agents=[running], root_agent=running.name)
            context = Context(running)
            if stored:
                await context.store.set("trimtab Agent", json.loads(stored))
            await running.run(said, memory=memory, ctx=context, max_iterations=1_000)
            stored = json.dumps(await context.store.get("trimtab Agent"))
            said = f"Go on with part {stub.calls}."
        assert len(await memory.aget_all()) > CALLS
        return json.loads(stored)

    state = asyncio.run(run())
    stub.judge()
    assert state["rounds"] >= 5
    assert summarizer.calls <= state["rounds"]
    assert state["forecast"]["usage"] is not None
    assert archive.search("everything", session="talk Agent")


def of_run(stub: Model, compactor: Any, memory: Any = None, text: Any = "go") -> Any:
    async def run() -> Any:
        return await agent(stub, compactor).run(text, memory=memory or whole(), max_iterations=1_000)

    return asyncio.run(run())


def test_untouched_messages_stay_the_same_objects_and_edited_ones_keep_the_rest(encode: Any) -> None:
    seen: list[Any] = []

    class Looks(Chat):
        def _response(self, messages: Any, tools: Any) -> Any:
            seen.append(messages)
            return super()._response(messages, tools)

    given = [
        ChatMessage(role="user", blocks=[TextBlock(text="see"), ImageBlock(image=PNG.encode())]),
        ChatMessage(
            role="assistant",
            blocks=[
                ThinkingBlock(content="hm"),
                ToolCallBlock(tool_call_id="a", tool_name="look", tool_kwargs={"n": 1}),
            ],
        ),
        ChatMessage(role="tool", content="7 " * 9_000, additional_kwargs={"tool_call_id": "a", "kept": 1}),
        ChatMessage(role="assistant", content="well"),
    ]
    memory = ChatMemoryBuffer.from_defaults(chat_history=given, token_limit=10**9, tokenizer_fn=tokenizer(MODEL))

    async def run() -> Any:
        cm = trimtab.Compactor(MODEL, provider="openai_chat", **OPTIONS)
        running = CompactingFunctionAgent(
            compactor=cm, tools=tools(), llm=Looks(stub=Model(encode)), system_prompt="Be good."
        )
        await running.run("go", memory=memory, max_iterations=1_000)

    asyncio.run(run())
    first = seen[0]
    assert [message.role.value for message in first] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert first[1] is memory.get_all()[0]
    assert first[2] is memory.get_all()[1]
    assert first[4] is memory.get_all()[3]
    assert first[3].additional_kwargs == {"tool_call_id": "a", "kept": 1}
    assert len(first[3].content) < 9_000


def test_thinking_without_a_text_stays_when_its_message_is_edited() -> None:
    cm = trimtab.Compactor(MODEL, provider="openai_chat", window=20_000, max_output=2_000)
    history = [ChatMessage(role="user", content="go")]
    for n in range(24):
        thought = ThinkingBlock(content="", additional_information={"signature": f"s{n}"})
        call = ToolCallBlock(tool_call_id=f"c{n}", tool_name="write", tool_kwargs={"text": f"w{n} " * 400})
        history.append(ChatMessage(role="assistant", blocks=[thought, call]))
        history.append(ChatMessage(role="tool", content="ok", additional_kwargs={"tool_call_id": f"c{n}"}))
    fitted = CompactingMemory.from_defaults(history, compactor=cm, session_id="talk").get()
    calls = [message.blocks for message in fitted if message.blocks and isinstance(message.blocks[-1], ToolCallBlock)]
    assert any("pruned" in blocks[-1].tool_kwargs["text"] for blocks in calls)
    assert all(isinstance(blocks[0], ThinkingBlock) for blocks in calls)


def test_a_cancelled_run_keeps_its_messages(encode: Any) -> None:
    class Blocks(Chat):
        async def achat(self, messages: Any, tools: Any = None, **_: Any) -> Any:
            if self.stub.calls == 3:
                entered.set()
                await asyncio.sleep(60)
            return self._response(messages, tools)

    async def run() -> Any:
        running = CompactingFunctionAgent(
            compactor=MODEL, tools=tools(), llm=Blocks(stub=Model(encode)), system_prompt="Be good.", streaming=False
        )
        context = Context(running)
        handler = running.run("go", ctx=context)
        await entered.wait()
        await handler.cancel_run()
        with pytest.raises(WorkflowCancelledByUser):
            await handler
        return await context.store.get("scratchpad")

    entered = asyncio.Event()
    assert len(asyncio.run(run())) == 6


def test_another_error_of_the_model_is_raised_and_a_floor_is_noted(encode: Any) -> None:
    class Broken(Model):
        def answer(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("rate limit reached")

    with pytest.raises(RuntimeError, match="rate limit"):
        of_run(Broken(encode), MODEL)
    with pytest.raises(Exception, match="maximum context length"):
        of_run(Model(encode, 2_010, 2_010), MODEL)


def test_the_tokenizer_serves_llama_indexs_own_memories() -> None:
    assert len(tokenizer(MODEL)("hello world")) == 2
    assert len(tokenizer(trimtab.Compactor(MODEL))("")) == 0
    memory = ChatMemoryBuffer.from_defaults(token_limit=50, tokenizer_fn=tokenizer(MODEL))
    for n in range(9):
        memory.put(ChatMessage(role="user", content=f"{n} " * 9))
        memory.put(ChatMessage(role="assistant", content="ok"))
    assert 0 < len(memory.get()) < 18


def test_the_page_runs(encode: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_page("llama-index", llm=Chat(stub=Model(encode, 2_000_000, 2_000_000)), tools=tools())
    assert capsys.readouterr().out.startswith("gpt-5.5 ")
