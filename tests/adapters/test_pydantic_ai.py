"""The pydantic-ai adapter, in agents of the real framework."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="make adapters installs pydantic-ai")

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, UsageLimits
from pydantic_ai import messages as ai
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.function import FunctionModel

import trimtab
from support.agent_pydantic_ai import agent, model
from support.agents import CALLS, MODEL, OPTIONS, RULE, Model, Summarizer, look, run_page
from trimtab.adapters.pydantic_ai import CompactionCapability

FREE = UsageLimits(request_limit=None)


@pytest.fixture(scope="module")
def encode(tiktoken_encoding: Any) -> Any:
    return tiktoken_encoding("o200k_base").encode_ordinary


@pytest.fixture(autouse=True)
def loop() -> Any:
    """``run_sync`` makes an event loop where there is none, and leaves it open."""
    made = asyncio.new_event_loop()
    asyncio.set_event_loop(made)
    yield
    asyncio.set_event_loop(None)
    made.close()


async def turn(running: Any, how: str, text: str, history: Any) -> Any:
    options = {"message_history": history, "conversation_id": "talk", "usage_limits": FREE}
    if how == "run":
        return (await running.run(text, **options)).all_messages()
    async with running.iter(text, **options) as run:
        async for node in run:
            if how == "stream" and Agent.is_model_request_node(node):
                async with node.stream(run.ctx) as events:
                    assert [event async for event in events]
    return run.result.all_messages()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["run", "iter", "stream"])
def test_an_agent_stays_within_its_window(how: str, encode: Any) -> None:
    """250 calls, an overflow in the middle, and in each turn a process that has only what was stored."""
    stub, summarizer = Model(encode), Summarizer()
    archive = trimtab.archive.open_archive("memory")
    stored: dict[str, Any] = {}

    async def run() -> list[Any]:
        said, history = RULE + " Look at everything.", None
        while stub.calls < CALLS:
            compaction = CompactionCapability(MODEL, summarizer=summarizer, archive=archive, **OPTIONS)
            if stored:
                compaction.restore("talk", json.loads(json.dumps(stored)))
            history = await turn(agent(stub, compaction), how, said, history)
            history = ai.ModelMessagesTypeAdapter.validate_json(ai.ModelMessagesTypeAdapter.dump_json(history))
            stored.update(compaction.state("talk"))
            said = f"Go on with part {stub.calls}."
        return history

    history = asyncio.run(run())
    stub.judge()
    assert stored["rounds"] >= 5
    assert summarizer.calls <= stored["rounds"]
    assert len(history) < 100
    assert archive.search("everything", session="talk")


@pytest.mark.slow
def test_a_conversation_goes_on_from_an_archive_on_disk(encode: Any, tmp_path: Any) -> None:
    """Without its state, and with a history that nobody shortened."""
    where, stub = f"sqlite:///{tmp_path / 'a.db'}", Model(encode, lowered=20_000)
    whole: list[Any] = []

    async def run() -> int:
        done = 0
        for n in range(4):
            compaction = CompactionCapability(MODEL, archive=where, **OPTIONS)
            with compaction.compactor as cm:
                found = await turn(agent(stub, compaction), "run", f"Go on {n}.", whole or None)
                done += len(cm.session("talk").history(None))
            whole[:] = found
        return done

    assert asyncio.run(run()) > 0
    assert stub.findings == []


def test_untouched_messages_stay_the_same_objects(encode: Any) -> None:
    stub = Model(encode, window=2_000_000, lowered=2_000_000)
    history = [
        ai.ModelRequest(parts=[ai.SystemPromptPart("Be good."), ai.UserPromptPart("go")]),
        ai.ModelResponse(parts=[ai.TextPart("yes")]),
    ]
    found = agent(stub, CompactionCapability(MODEL, window=2_000_000)).run_sync(
        "on", message_history=history, usage_limits=FREE
    )
    assert all(a is b for a, b in zip(found.all_messages(), history, strict=False))


def test_another_error_of_the_model_is_raised_and_a_floor_is_noted(encode: Any) -> None:
    def fails(*_: Any) -> Any:
        raise ModelHTTPError(429, "stub", {"message": "rate limit reached"})

    with pytest.raises(ModelHTTPError, match="429"):
        Agent(FunctionModel(fails), capabilities=[CompactionCapability(MODEL)]).run_sync("go")

    def refuses(*_: Any) -> Any:
        raise ModelHTTPError(400, "stub", {"message": "maximum context length is 10 tokens."})

    with pytest.raises(ModelHTTPError, match="400") as caught:
        Agent(FunctionModel(refuses), capabilities=[CompactionCapability(MODEL)]).run_sync("go")
    assert "trimtab" in caught.value.__notes__[0]


def test_a_run_that_waits_for_an_approval_goes_on(encode: Any) -> None:
    """The result that came before the approval shows the user something, and the one after it is in another request."""
    long, seen = 4_000, list[list[Any]]()

    def answer(messages: list[Any], _: Any) -> ai.ModelResponse:
        seen.append([*messages])
        calls = [ai.ToolCallPart(name, {"n": len(seen)}, f"{name}{len(seen)}") for name in ("see", "act")]
        return ai.ModelResponse(parts=[ai.TextPart("done")] if len(seen) % 2 == 0 else calls)

    running = Agent(
        FunctionModel(answer),
        system_prompt="Be good.",
        output_type=[str, DeferredToolRequests],
        capabilities=[CompactionCapability(MODEL, **OPTIONS)],
    )

    @running.tool_plain
    def see(n: int) -> ai.ToolReturn:
        return ai.ToolReturn(return_value=f"{n} " * long, content="Look at that.")

    @running.tool_plain(requires_approval=True)
    def act(n: int) -> str:
        return f"{n} " * long

    history: Any = None
    for n in range(4):
        asked = running.run_sync(f"go {n}", message_history=history)
        approved = DeferredToolResults(approvals={call.tool_call_id: True for call in asked.output.approvals})
        done = running.run_sync(message_history=asked.all_messages(), deferred_tool_results=approved)
        assert done.output == "done"
        history = done.all_messages()
        results = [part.tool_name for part in seen[-1][-1].parts if part.part_kind == "tool-return"]
        assert results == ["see", "act"]
        assert [part.content for part in done.new_messages()[0].parts if part.tool_name == "act"]
    assert "trimtab" in str(history)


def test_a_run_without_a_prompt_and_one_after_a_greeting_are_run(encode: Any) -> None:
    """The shape in which messages are read wants a message of the user in front, and something in it."""
    compaction = CompactionCapability(MODEL, **OPTIONS)
    running = agent(Model(encode, lowered=20_000), compaction)
    assert running.run_sync(usage_limits=FREE).output.startswith("Done")
    seen: list[list[Any]] = []

    def answer(messages: list[Any], _: Any) -> ai.ModelResponse:
        seen.append([*messages])
        return ai.ModelResponse(parts=[ai.TextPart("well " * 3_000)])

    greeted = Agent(FunctionModel(answer), capabilities=[compaction])
    history: Any = [greeting := ai.ModelResponse(parts=[ai.TextPart("Hello, how can I help?")])]
    for n in range(8):
        history = greeted.run_sync(f"go {n}", message_history=history).all_messages()
    assert seen[0][0] is greeting
    assert "trimtab-summary" in str(seen[-1][0])


def test_the_window_is_that_of_the_models_profile(encode: Any) -> None:
    for options, window in (({}, 20_000), ({"window": 18_000}, 18_000)):
        stub = Model(encode, lowered=20_000)
        compaction = CompactionCapability(MODEL, max_output=2_000, **options)
        profiled = FunctionModel(model(stub).function, model_name="stub", profile={"context_window": 20_000})
        running = Agent(profiled, system_prompt="Be good.", tools=[look], capabilities=[compaction])
        running.run_sync("go", usage_limits=FREE, conversation_id="a")
        assert compaction.sessions.of("a").session.window == window
        assert not stub.refused


def test_a_tools_output_is_cut_as_it_enters(encode: Any) -> None:
    def look(n: int) -> str:
        """Look."""
        return "".join(f"line {line}\n" for line in range(6_000))

    stub = Model(encode, window=100_000, lowered=100_000)
    stub.calls = 38
    cm = trimtab.Compactor(MODEL, policy="sven", window=100_000)
    running = Agent(model(stub), system_prompt="Be good.", tools=[look], capabilities=[CompactionCapability(cm)])
    found = running.run_sync("go").all_messages()
    results = [part for message in found for part in message.parts if part.part_kind == "tool-return"]
    assert results
    assert all(len(part.content) < 20_000 for part in results)
    assert cm.archive.search("5999", session=None)


def test_the_page_runs(encode: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_page("pydantic-ai", model=model(Model(encode)), tools=[look])
    assert capsys.readouterr().out.startswith("gpt-5.5 ")
