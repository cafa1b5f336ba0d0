"""The adapter of Google's ADK, in agents of the real framework."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("google.adk", reason="make adapters installs google-adk")

from google.adk.apps.app import EventsCompactionConfig
from google.adk.events.event import Event
from google.adk.sessions import InMemorySessionService
from google.genai import types

import trimtab
from support.agent_google_adk import RUNS, Gemini, runner
from support.agents import CALLS, MODEL, OPTIONS, RULE, Model, Summarizer, look, run_page
from trimtab.adapters.google_adk import RECORD, CompactionPlugin, EventsSummarizer

TALK = {"app_name": "app", "user_id": "ann", "session_id": "talk"}


@pytest.fixture(scope="module")
def encode(tiktoken_encoding: Any) -> Any:
    return tiktoken_encoding("o200k_base").encode_ordinary


async def turn(running: Any, text: str, *, streamed: bool = False) -> None:
    said = types.UserContent(text)
    about = {"user_id": "ann", "session_id": "talk", "run_config": RUNS[streamed]}
    assert [event async for event in running.run_async(new_message=said, **about)]


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [False, True])
def test_an_agent_stays_within_its_window(streamed: bool, encode: Any) -> None:
    """250 calls, an overflow in the middle, and in each turn a process that has only the session."""
    stub, summarizer, service = Model(encode), Summarizer(), InMemorySessionService()
    archive = trimtab.archive.open_archive("memory")

    async def run() -> Any:
        await service.create_session(**TALK)
        said = RULE + " Look at everything."
        while stub.calls < CALLS:
            plugin = CompactionPlugin(MODEL, summarizer=summarizer, archive=archive, **OPTIONS)
            await turn(runner(stub, service, plugin), said, streamed=streamed)
            said = f"Go on with part {stub.calls}."
        return await service.get_session(**TALK)

    session = asyncio.run(run())
    stub.judge()
    state = session.state["trimtab:looker"]
    assert state["rounds"] >= 5
    assert summarizer.calls <= state["rounds"]
    assert state["forecast"]["usage"] is not None
    assert archive.search("everything", session="talk looker")


def of_session(stub: Model, plugin: Any, **options: Any) -> Any:
    """Run a turn of a new session; return the session."""
    service = InMemorySessionService()

    async def run() -> Any:
        await service.create_session(**TALK)
        await turn(runner(stub, service, plugin, **options), "go")
        return await service.get_session(**TALK)

    return asyncio.run(run())


def test_untouched_contents_stay_the_same_objects(encode: Any) -> None:
    class Looks(CompactionPlugin):
        async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
            before = [*llm_request.contents]
            await super().before_model_callback(callback_context=callback_context, llm_request=llm_request)
            seen.append((before, [*llm_request.contents]))

    seen: list[Any] = []
    of_session(Model(encode), Looks(MODEL, **OPTIONS))
    assert any(a is not b for before, after in seen for a, b in zip(before, after, strict=False))
    assert all(after[-1] is before[-1] for before, after in seen)
    assert all(a is b for before, after in seen[:3] for a, b in zip(before, after, strict=True))


def test_a_smaller_request_is_sent_after_a_refusal_and_the_floor_is_noted(encode: Any) -> None:
    stub = Model(encode, 9_000, 9_000)
    plugin = CompactionPlugin(MODEL, **OPTIONS)
    of_session(stub, plugin)
    assert 1 <= stub.refused <= 4
    assert stub.findings == []
    assert stub.calls == 40
    with pytest.raises(Exception, match="maximum context length") as caught:
        of_session(Model(encode, 2_010, 2_010), CompactionPlugin(MODEL))
    assert "trimtab" in caught.value.__notes__[0]


def test_another_error_of_the_model_is_raised(encode: Any) -> None:
    class Broken(Model):
        def answer(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("rate limit reached")

    with pytest.raises(RuntimeError, match="rate limit"):
        of_session(Broken(encode), CompactionPlugin(MODEL))


def test_a_tools_output_is_cut_as_it_enters(encode: Any) -> None:
    def look(n: int) -> str:
        """Look."""
        return "".join(f"line {line}\n" for line in range(6_000))

    def read(n: int) -> dict[str, Any]:
        """Read."""
        return {"n": n, "text": look(n)}

    cm = trimtab.Compactor(MODEL, policy="sven", window=100_000, provider="gemini")
    for tool in (look, read):
        tool.__name__ = "look"
        stub = Model(encode, window=100_000, lowered=100_000)
        stub.calls = 38
        session = of_session(stub, CompactionPlugin(cm), tools=[tool])
        results = [part for event in session.events for part in event.content.parts if part.function_response]
        assert results
        assert all(len(str(part.function_response.response)) < 20_000 for part in results)
    assert cm.archive.search("5999", session=None)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL:UserWarning")
def test_adks_own_compaction_keeps_the_rule_without_a_model(encode: Any) -> None:
    """ADK compacts by its own count; the request of 200 calls ago is in the summary, and no list is refused for it."""
    stub, service = Model(encode, window=1_000_000, lowered=1_000_000), InMemorySessionService()
    summarizer = EventsSummarizer(MODEL, max_tokens=1_500)
    config = EventsCompactionConfig(summarizer=summarizer, token_threshold=14_400, event_retention_size=10)

    async def run() -> Any:
        await service.create_session(**TALK)
        said = RULE + " Look at everything."
        while stub.calls < CALLS:
            await turn(runner(stub, service, events_compaction_config=config), said)
            said = f"Go on with part {stub.calls}."
        return await service.get_session(**TALK)

    session = asyncio.run(run())
    made = [event.actions.compaction for event in session.events if event.actions.compaction]
    texts = [each.compacted_content.parts[0].text for each in made]
    assert len(texts) >= 3
    assert all(text.startswith(RECORD) and text.count(RECORD) == 1 for text in texts)
    assert all(len(encode(text)) <= 1_500 for text in texts)
    assert "RULE-7" in str(stub.last)
    assert stub.findings == []


@pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL:UserWarning")
def test_a_summary_is_updated_and_holds_no_credential() -> None:
    summarizer = EventsSummarizer(trimtab.Compactor(MODEL), max_tokens=300)

    def said(role: str, part: types.Part) -> Event:
        return Event(author=role, invocation_id="i", content=types.Content(role=role, parts=[part]))

    def text_of(event: Event | None) -> str:
        assert event is not None
        assert event.actions.compaction is not None
        return str(event.actions.compaction.compacted_content.parts[0].text)

    def summary(*events: Event) -> Event | None:
        made: Event | None = asyncio.run(summarizer.maybe_summarize_events(events=[*events]))
        return made

    answer = types.FunctionResponse(id="c", name="adk_request_credential", response={"token": "never-show-s3cret"})
    secret = said("user", types.Part(function_response=answer))
    first = summary(said("user", types.Part(text="Never push to main.")), secret)
    assert "Never push to main." in text_of(first)
    assert "s3cret" not in text_of(first)
    assert first is not None
    second = summary(first, said("model", types.Part(text="I changed src/a.py because sets lose the order.")))
    assert "Never push to main." in text_of(second)
    assert "src/a.py" in text_of(second)
    assert summary() is None
    assert summary(secret) is None


def test_a_compactor_takes_no_keywords_beside_it() -> None:
    with pytest.raises(TypeError, match="window"):
        CompactionPlugin(trimtab.Compactor(MODEL), window=9_000)


def test_the_page_runs(encode: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_page("google-adk", model=Gemini(stub=Model(encode)), tools=[look])
    assert capsys.readouterr().out.startswith("gpt-5.5 ")
