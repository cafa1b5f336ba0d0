"""The adapter of Inspect, in evaluations of agents of the real framework."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="make adapters installs inspect_ai")

from inspect_ai import Task
from inspect_ai import eval as run_eval
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentAudio,
    ContentDocument,
    ContentImage,
    ContentReasoning,
    ContentText,
    ContentToolUse,
)
from inspect_ai.model._model import collapse_consecutive_user_messages
from inspect_ai.tool import ToolCall, ToolCallError
from inspect_ai.util import store
from pydantic import TypeAdapter

import support.agents
import trimtab
from support.agent_inspect_ai import agent, chat, evaluate, look, turns
from support.agents import CALLS, MODEL, OPTIONS, RULE, Model, run_page
from trimtab.adapters.inspect_ai import CompactionTrimtab

pytestmark = pytest.mark.filterwarnings("ignore")  # Inspect leaves streams of anyio open

PNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkAAIABgAB"
WAV = "data:audio/wav;base64,UklGRg=="
PDF = "data:application/pdf;base64,JVBERi0x"
MESSAGES: TypeAdapter[list[Any]] = TypeAdapter(list[ChatMessage])


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: Any) -> None:
    monkeypatch.setenv("INSPECT_DISPLAY", "none")


@pytest.fixture(scope="module")
def encode(tiktoken_encoding: Any) -> Any:
    return tiktoken_encoding("o200k_base").encode_ordinary


class Summarizer:
    """Counts its calls; the rule is in the sample's input, which stays."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, ask: Any) -> str:
        self.calls += 1
        return "Everything so far was looked at."


def found(log: Any) -> list[Any]:
    """Return the compactions that Inspect noted in the sample's transcript."""
    return [event for event in log.samples[0].events if event.event == "compaction"]


def states(log: Any) -> dict[str, Any]:
    """Return the states of the sessions of a sample, by the session's name."""
    held = log.samples[0].store
    return {state["session"]: state for state in held.values() if isinstance(state, dict)}


@pytest.mark.slow
@pytest.mark.parametrize("collapses", [False, True])
def test_an_agent_stays_within_its_window(collapses: bool, encode: Any, tmp_path: Path) -> None:
    """250 calls, an overflow in the middle, and in each turn an agent that has only the sample and the archive."""
    stub, where, said = Model(encode), f"sqlite:///{tmp_path / 'archive.db'}", RULE + " Look at everything."
    used: list[CompactionTrimtab] = []

    def requests() -> Any:
        yield said
        while stub.calls < CALLS:
            yield f"Go on with part {stub.calls}."

    def compaction() -> CompactionTrimtab:
        used.append(CompactionTrimtab(MODEL, archive=where, **OPTIONS))
        return used[-1]

    model = chat(stub, collapses=collapses)
    log = asyncio.run(evaluate(model, said, turns(requests, compaction), tmp_path))
    stub.judge()
    assert len(used) > 5
    ((name, state),) = states(log).items()
    assert 5 <= len(used[-1].compactor.session(name, state).history(None)) < 80
    assert used[-1].compactor.archive.search("everything", session=name)
    assert {event.metadata["strategy"] for event in found(log)} == {"CompactionTrimtab"}


@pytest.mark.slow
@pytest.mark.parametrize("lowered", [OPTIONS["window"], 13_000])
def test_one_agent_goes_on_after_each_refusal(lowered: int, encode: Any, tmp_path: Path) -> None:
    """The threshold of a running agent is Inspect's to change: a window that gets smaller is found by refusals."""
    stub, summarizer = Model(encode, lowered=lowered), Summarizer()

    async def go_on(state: Any) -> Any:
        if state.output.message.tool_calls:
            return True
        return f"Go on with part {stub.calls}." if stub.calls < CALLS else False

    running = agent(CompactionTrimtab(MODEL, summarizer=summarizer, **OPTIONS), on_continue=go_on)
    log = asyncio.run(evaluate(chat(stub), RULE + " Look at everything.", running, tmp_path))
    assert (stub.invalid, stub.calls >= CALLS) == (0, True)
    assert max(stub.prompts) <= OPTIONS["window"] - OPTIONS["max_output"]
    assert max(stub.prompts[CALLS // 2 + 1 :]) <= lowered - OPTIONS["max_output"]
    assert stub.refused == sum(event.metadata["trigger"] == "forced" for event in found(log))
    assert 0 < summarizer.calls <= len(found(log)) < 80
    assert bool(stub.refused) is (lowered < OPTIONS["window"])
    assert "RULE-7" in str(stub.last)


def compacted(strategy: CompactionTrimtab, model: Any, messages: list[Any]) -> list[Any]:
    made, added = asyncio.run(strategy.compact(model, messages, []))
    assert added is None
    return made


def talk(*, result: str = "7 " * 9_000, **about: Any) -> list[Any]:
    call = ToolCall(id="a", function="look", arguments={"n": 7})
    return [
        ChatMessageSystem(content="Be good."),
        ChatMessageUser(content="see", source="input"),
        ChatMessageAssistant(content=[ContentReasoning(reasoning="hm", signature="x"), *about.pop("said", ())]),
        ChatMessageAssistant(content="", tool_calls=[call]),
        ChatMessageTool(content=result, tool_call_id="a", function="look", metadata={"kept": 1}, **about),
        ChatMessageAssistant(content="well"),
        ChatMessageUser(content="go on"),
    ]


def test_untouched_messages_stay_the_same_objects_and_edited_ones_keep_the_rest(encode: Any) -> None:
    given = talk()
    made = compacted(CompactionTrimtab(MODEL, **OPTIONS), chat(Model(encode)), given)
    assert [a is b for a, b in zip(made, given, strict=True)] == [True, True, True, True, False, True, True]
    assert (made[4].function, made[4].tool_call_id, made[4].metadata) == ("look", "a", {"kept": 1})
    assert made[4].id != given[4].id
    assert len(made[4].content) < 9_000


def test_contents_of_every_kind_are_read_and_written(encode: Any) -> None:
    searched = ContentToolUse(tool_type="web_search", id="w", name="search", arguments="{}", result="found")
    failed = ToolCallError("timeout", "took too long " * 3_000)
    given = talk(result="", error=failed, said=[ContentText(text="now"), searched])
    given[1].content = [ContentText(text="see"), ContentImage(image=PNG)]
    given[-1].content = [ContentAudio(audio=WAV, format="wav"), ContentDocument(document=PDF)]
    made = compacted(CompactionTrimtab(MODEL, **OPTIONS), chat(Model(encode)), given)
    kept = {message.id for message in made}
    assert {given[n].id for n in (0, 1, 6)} <= kept
    (cut,) = [message for message in made if message.role == "tool"]
    assert (cut.error.type, cut.content) == ("timeout", cut.error.message)
    assert len(cut.error.message) < len(failed.message)


def test_a_list_below_the_threshold_is_compacted_when_inspect_says_so(encode: Any) -> None:
    strategy, given = CompactionTrimtab(MODEL, **OPTIONS), talk(result=" ".join(map(str, range(2_000))))
    assert strategy.compactor.count([{"role": "user", "content": given[4].content}]) < strategy.threshold / 2
    made = compacted(strategy, chat(Model(encode)), given)
    assert len(made[4].content) < 0.7 * len(given[4].content)


class Dear(Model):
    """Bills more than its prompts have."""

    def answer(self, *arguments: Any, **options: Any) -> Any:
        answer = super().answer(*arguments, **options)
        return replace(answer, prompt=answer.prompt + 600)


async def called(model: Any, messages: list[Any], result: str) -> list[Any]:
    """Return the messages with an answer and the results of its calls."""
    answer = (await model.generate(messages)).message
    results = [ChatMessageTool(content=result, tool_call_id=call.id, function="look") for call in answer.tool_calls]
    return [*messages, answer, *results]


def state_of(messages: list[Any]) -> Any:
    """Return the state of a conversation from the store that there is outside of an evaluation."""
    return store().get(f"trimtab {store().get('trimtab')} {messages[1].id}")


def test_the_usage_of_the_last_call_is_recorded(encode: Any) -> None:
    async def run() -> int:
        model = chat(Dear(encode))
        said = [ChatMessageSystem(content="Be good."), ChatMessageUser(content="go " * 6_000, source="input")]
        messages = await called(model, said, "7 " * 9_000)
        await CompactionTrimtab(MODEL, **OPTIONS).compact(model, messages, [])
        return state_of(messages)["forecast"]["unseen"]

    assert 550 < asyncio.run(run()) < 650


def test_a_refusal_lowers_the_threshold_and_is_answered_once(encode: Any) -> None:
    async def run() -> None:
        model = chat(Model(encode, window=9_000, lowered=9_000))
        strategy = CompactionTrimtab(MODEL, window=15_000, max_output=2_000)
        assert strategy.threshold == 10_400
        messages = talk(result=" ".join(map(str, range(3_000))))
        output = await model.generate(messages)
        assert output.stop_reason == "model_length"
        smaller, _ = await strategy.compact(model, messages, [])
        assert (await model.generate(smaller)).stop_reason == "tool_calls"
        assert state_of(messages)["limits"][0] == 7_000
        assert strategy.threshold == CompactionTrimtab(MODEL, window=15_000, max_output=2_000).threshold == 4_000
        assert CompactionTrimtab(MODEL, **OPTIONS).threshold == 14_400

    asyncio.run(run())


def test_an_agent_ends_as_inspect_says_where_too_little_can_leave(encode: Any, tmp_path: Path) -> None:
    stub = Model(encode, window=2_100, lowered=2_100)
    log = asyncio.run(evaluate(chat(stub), "go " * 300, agent(CompactionTrimtab(MODEL, **OPTIONS)), tmp_path))
    assert (stub.calls, stub.refused) == (0, 1)
    assert log.samples[0].output.stop_reason == "model_length"


def test_another_error_of_the_model_is_raised(encode: Any, tmp_path: Path) -> None:
    class Broken(Model):
        def answer(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("rate limit reached")

    task = Task(dataset=[Sample(input="go")], solver=agent(CompactionTrimtab(MODEL)))
    (log,) = run_eval(task, model=chat(Broken(encode)), log_dir=str(tmp_path))
    assert "rate limit reached" in log.samples[0].error.message


def test_epochs_of_a_sample_do_not_mix(encode: Any, tmp_path: Path) -> None:
    stub, strategy = Model(encode), CompactionTrimtab(MODEL, **OPTIONS)
    said = [ChatMessageUser(content="Look at everything.")]
    task = Task(dataset=[Sample(input=said)], solver=agent(strategy), epochs=2)
    (log,) = run_eval(task, model=chat(stub), log_dir=str(tmp_path))
    names = [state["session"] for sample in log.samples for state in sample.store.values() if isinstance(state, dict)]
    histories = [{past.ref for past in strategy.compactor.session(name).history(None)} for name in names]
    assert len(set(names)) == len(names) == 2
    assert all(histories)
    assert not set.intersection(*histories)


@pytest.mark.parametrize("collapses", [False, True])
def test_a_checkpoint_of_list_and_store_is_enough_to_go_on(collapses: bool, encode: Any) -> None:
    """What Inspect sends from then on and the store are written as JSON, as its checkpoints are."""
    model, steps = chat(Model(encode), collapses=collapses), 0

    def grown(messages: list[Any], last: int) -> list[Any]:
        nonlocal steps
        for _ in range(last):
            steps += 1
            call = ToolCall(id=f"c{steps}", function="look", arguments={"n": steps})
            result = ChatMessageTool(content=support.agents.look(steps), tool_call_id=call.id, function="look")
            messages = [*messages, ChatMessageAssistant(content=f"step {steps}", tool_calls=[call]), result]
        return messages

    async def run() -> None:
        messages = grown(talk()[:2], 60)
        first = messages[1]
        for n in range(1, 5):
            strategy = CompactionTrimtab(MODEL, **OPTIONS)
            messages, _ = await strategy.compact(model, messages, [])
            assert state_of([first, first])["rounds"] == n
            assert [message.content for message in apart(messages)].count("see") == 1
            if collapses:
                messages = collapse_consecutive_user_messages(messages)
                assert not any(a.role == b.role == "user" for a, b in pairwise(messages))
            messages = grown(MESSAGES.validate_json(MESSAGES.dump_json(messages)), 30)
            store().set(key := f"trimtab {store().get('trimtab')} {first.id}", json.loads(json.dumps(store().get(key))))
        assert any("trimtab-summary" in message.text for message in messages)

    asyncio.run(run())


def apart(messages: list[Any]) -> list[Any]:
    return [message for message in messages if message.role == "user"]


def test_a_compactor_has_its_own_settings() -> None:
    with pytest.raises(TypeError, match="window"):
        CompactionTrimtab(trimtab.Compactor(MODEL), window=9_000)
    compactor = trimtab.Compactor(MODEL, provider="openai_chat", **OPTIONS)
    assert CompactionTrimtab(compactor).compactor is compactor


def test_the_page_runs(encode: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path))
    run_page("inspect-ai", model=chat(Model(encode)), tools=[look()])
    assert "gpt-5.5 success" in capsys.readouterr().out
