"""The adapter of the OpenAI Agents SDK, in runs of the real framework."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("agents", reason="make adapters installs openai-agents")

import agents
import openai
from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool

import trimtab
from support.agent_openai_agents import Stub, agent
from support.agents import CALLS, MODEL, OPTIONS, RULE, TURN, Model, RefusedError, Summarizer, look, run_page
from trimtab.adapters.openai_agents import CompactingSession, compacts_when_due, model_input_filter, tools_of

agents.set_tracing_disabled(True)


@pytest.fixture(scope="module")
def encode(tiktoken_encoding: Any) -> Any:
    return tiktoken_encoding("o200k_base").encode_ordinary


async def run(running: Any, how: str, said: Any, **options: Any) -> Any:
    if how == "run":
        return await Runner.run(running, said, max_turns=1_000, **options)
    result = Runner.run_streamed(running, said, max_turns=1_000, **options)
    assert [event async for event in result.stream_events()]
    return result


@pytest.mark.slow
@pytest.mark.parametrize("how", ["run", "stream"])
def test_a_filter_keeps_an_agent_within_its_window(how: str, encode: Any, tmp_path: Any) -> None:
    """250 calls, an overflow in the middle, and in each turn a process that has nothing but the archive."""
    stub, summarizer = Model(encode), Summarizer()
    where = f"sqlite:///{tmp_path / 'archive.db'}"

    async def talk() -> int:
        said, overflows = RULE + " Look at everything.", 0
        stored = SQLiteSession("talk", tmp_path / "session.db")
        while stub.calls < CALLS:
            fits = model_input_filter(MODEL, summarizer=summarizer, archive=where, **OPTIONS)
            options = {
                "session": stored,
                "hooks": fits.hooks,
                "run_config": RunConfig(call_model_input_filter=fits, tracing_disabled=True),
            }
            next_said: Any = said
            while True:
                try:
                    await run(agent(stub), how, next_said, **options)
                    break
                except RefusedError as error:
                    overflows += 1
                    await fits.overflow(error)
                    next_said = []
            fits.compactor.close()
            said = f"Go on with part {stub.calls}."
        return overflows

    assert asyncio.run(talk()) >= 1
    stub.judge()
    with trimtab.Compactor(MODEL, archive=where) as cm:
        assert len(cm.archive.history(None, limit=None)) < 80
    assert summarizer.calls < 60


@pytest.mark.slow
def test_a_session_and_its_filter_keep_what_is_stored_short(encode: Any) -> None:
    stub, stored = Model(encode), SQLiteSession("talk")

    async def talk() -> Any:
        said = RULE + " Look at everything."
        while stub.calls < CALLS:
            session = CompactingSession(stored, MODEL, agent=agent(stub), summarizer=Summarizer(), **OPTIONS)
            fits = session.input_filter()
            options = {"session": session, "hooks": fits.hooks, "run_config": RunConfig(call_model_input_filter=fits)}
            next_said: Any = said
            while True:
                try:
                    await run(agent(stub), "run", next_said, **options)
                    break
                except RefusedError as error:
                    await session.overflow(error)
                    next_said = []
            said = f"Go on with part {stub.calls}."
        return await stored.get_items()

    items = asyncio.run(talk())
    stub.judge()
    assert len(items) < 160


def test_a_session_compacts_on_demand_and_restores_items_that_cannot_be_stored() -> None:
    class Full(SQLiteSession):
        fails = False

        async def add_items(self, items: Any) -> None:
            if self.fails:
                self.fails = False
                raise OSError("disk full")
            await super().add_items(items)

    async def talk() -> None:
        stored = Full("s")
        session = CompactingSession(stored, MODEL)
        items = [{"role": "user", "content": f"{n} " + "words " * 500} for n in range(30)]
        await session.add_items(items)
        assert await session.get_items() == items
        stored.fails = True
        with pytest.raises(OSError, match="disk full"):
            await session.run_compaction({"force": True})
        assert await stored.get_items() == items
        short = await session.get_items()  # the result that could not be stored
        assert len(short) < len(items)
        assert await session.get_items(1) == items[-1:]
        assert await session.pop_item() == items[-1]
        assert session.session_id == "s"
        await session.clear_session()
        assert await session.get_items() == []

    asyncio.run(talk())


def talk_of(many: int) -> list[Any]:
    return [
        {"role": role, "content": f"{what} {n} " + "word " * 200}
        for n in range(many)
        for role, what in (("user", "question"), ("assistant", "answer"))
    ]


@pytest.mark.parametrize("where", ["clear_session", "add_items"])
def test_a_session_that_is_cancelled_while_it_stores_has_stored(where: str) -> None:
    class Slow(SQLiteSession):
        async def _do(self, name: str, *given: Any) -> None:
            await getattr(super(), name)(*given)
            if name == where and wanted.is_set():
                reached.set()
                await asyncio.sleep(0.05)

        async def clear_session(self) -> None:
            await self._do("clear_session")

        async def add_items(self, items: Any) -> None:
            await self._do("add_items", items)

    wanted, reached = asyncio.Event(), asyncio.Event()

    async def talk() -> None:
        stored = Slow("s")
        session = CompactingSession(stored, MODEL, **OPTIONS)
        await session.add_items(talk_of(60))
        wanted.set()
        task = asyncio.create_task(session.run_compaction())
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert 0 < len(await stored.get_items()) < 120

    asyncio.run(talk())


def test_items_that_another_run_stores_during_a_summary_stay() -> None:
    began, goes_on = asyncio.Event(), asyncio.Event()

    async def summarize(ask: Any) -> str:
        began.set()
        await goes_on.wait()
        return "Summary."

    async def talk() -> None:
        session = CompactingSession(SQLiteSession("s"), MODEL, summarizer=summarize, **OPTIONS)
        await session.add_items(talk_of(60))
        task = asyncio.create_task(session.get_items())
        await began.wait()
        late = {"role": "user", "content": "my order is 4711"}
        await session.add_items([late])
        goes_on.set()
        items = await task
        assert len(items) < 120
        assert items[-1] == late
        began.clear()
        goes_on.clear()
        await session.add_items(talk_of(60))
        task = asyncio.create_task(session.get_items())
        await began.wait()
        await session.clear_session()
        await session.add_items([late])
        goes_on.set()
        assert await task == [late]

    asyncio.run(talk())


def test_conversations_are_told_apart(encode: Any) -> None:
    stub = Model(encode, lowered=20_000)
    fits = model_input_filter(MODEL, session=lambda context: context["id"], **OPTIONS)

    async def talk() -> None:
        config = RunConfig(call_model_input_filter=fits)
        for name in ("a", "b"):
            await Runner.run(agent(stub), "go", context={"id": name}, max_turns=1_000, run_config=config)

    asyncio.run(talk())
    histories = [fits.compactor.session(name).history(None) for name in ("a", "b")]
    assert all(histories)


def test_an_overflow_without_a_call_is_an_error() -> None:
    for name in (None, "a"):
        with pytest.raises(ValueError, match="no model call"):
            asyncio.run(model_input_filter(MODEL).overflow(RuntimeError("prompt is too long"), session=name))


def test_an_overflow_shrinks_the_conversation_that_it_is_of() -> None:
    """One conversation is refused while another waits for its answer."""

    class Waits(Stub):
        async def get_response(self, *given: Any, **options: Any) -> Any:
            if len(options["input"]) > 40:
                raise RuntimeError("prompt is too long")
            entered.set()
            await goes_on.wait()
            return await super().get_response(*given, **options)

    entered, goes_on = asyncio.Event(), asyncio.Event()
    fits = model_input_filter(MODEL, session=lambda context: context["id"], **OPTIONS)
    config = RunConfig(call_model_input_filter=fits)
    stub = Model(lambda text: [0] * (len(text) // 4), calls=TURN - 1)

    def started(name: str, turns: int) -> Any:
        running = Agent("w", instructions="Be good.", model=Waits(stub))
        return Runner.run(running, talk_of(turns), context={"id": name}, run_config=config, hooks=fits.hooks)

    async def talk() -> None:
        other = asyncio.create_task(started("b", 9))
        with pytest.raises(RuntimeError) as caught:
            await started("a", 25)
        await entered.wait()
        with pytest.raises(ValueError, match=r"several conversations .* a"):
            await fits.overflow(caught.value)
        with pytest.raises(ValueError, match="no model call"):
            await fits.overflow(caught.value, session="c")
        await fits.overflow(caught.value, session="a")
        goes_on.set()
        await other
        stub.calls = TURN - 1
        await started("a", 25)
        with pytest.raises(RuntimeError):
            await started("c", 25)
        await fits.overflow(caught.value)  # the others were answered

    asyncio.run(talk())
    windows = [fits.sessions.of(name).session.window for name in ("a", "b", "c")]
    assert [window < OPTIONS["window"] for window in windows] == [True, False, True]


def test_tools_and_handoffs_count() -> None:
    other = Agent("other", handoff_description="for the rest")
    found = tools_of(Agent("x", tools=[function_tool(look)], handoffs=[other, agents.handoff(other)]))
    assert [tool["name"] for tool in found] == ["look", "transfer_to_other", "transfer_to_other"]
    assert found[0]["parameters"]["properties"]


def test_the_page_runs(encode: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_page("openai-agents", model=Stub(Model(encode, 2_000_000, 2_000_000)), tools=[function_tool(look)])
    assert capsys.readouterr().out.startswith("gpt-5.5 ")


def test_the_sdks_own_session_compacts_by_tokens(encode: Any) -> None:
    """Its own decision asks for a compaction from ten items on; this one from the policy's trigger on."""
    from agents.memory import OpenAIResponsesCompactionSession

    from support.compacting_openai import Compacting
    from support.loopback import serving

    server = Compacting(Model(encode))
    due = compacts_when_due(MODEL, **OPTIONS)

    async def talk(many: int, words: int) -> None:
        said = [("user", "ask"), ("assistant", "answer")]
        items: Any = [{"role": role, "content": f"{what} {n} " * words} for n in range(many) for role, what in said]
        with serving(server) as url:
            client = openai.AsyncOpenAI(api_key="k", base_url=url, max_retries=0)
            session = OpenAIResponsesCompactionSession(
                "s",
                SQLiteSession("s"),
                client=client,
                model=MODEL,
                compaction_mode="input",
                should_trigger_compaction=due,
            )
            await session.add_items(items)
            await session.run_compaction()

    asyncio.run(talk(20, 3))
    assert server.did["on demand"] == 0
    asyncio.run(talk(40, 120))
    assert server.did["on demand"] == 1
    assert server.refused == []
