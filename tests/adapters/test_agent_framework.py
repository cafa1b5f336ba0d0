"""The adapter of Microsoft's Agent Framework, in agents of the real framework."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("agent_framework", reason="make adapters installs agent-framework-core")

from agent_framework import (
    Agent,
    AgentSession,
    ChatMiddleware,
    ChatResponse,
    CompactionProvider,
    CompactionStrategy,
    Content,
    InMemoryHistoryProvider,
    Message,
    TokenizerProtocol,
    TruncationStrategy,
    included_messages,
)
from agent_framework.exceptions import ChatClientException

import trimtab
from support.agent_framework_stub import Chat, agent
from support.agents import CALLS, MODEL, OPTIONS, RULE, Model, Summarizer, look, run_page
from trimtab.adapters.agent_framework import CompactionChatMiddleware, ExactTokenizer, FittingStrategy

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture(scope="module")
def encode(tiktoken_encoding: Any) -> Any:
    return tiktoken_encoding("o200k_base").encode_ordinary


async def turn(running: Any, text: Any, session: Any, *, stream: bool = False) -> None:
    if stream:
        assert [update async for update in running.run(text, session=session, stream=True)]
    else:
        await running.run(text, session=session)


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
def test_an_agent_stays_within_its_window(stream: bool, encode: Any) -> None:
    """250 calls, an overflow in the middle, and in each turn a process that has only the stored session."""
    stub, summarizer, archive = Model(encode), Summarizer(), trimtab.archive.open_archive("memory")

    async def run() -> AgentSession:
        said, session = RULE + " Look at everything.", AgentSession(session_id="talk")
        while stub.calls < CALLS:
            middleware = CompactionChatMiddleware(MODEL, summarizer=summarizer, archive=archive, **OPTIONS)
            await turn(agent(stub, middleware), said, session, stream=stream)
            session = AgentSession.from_dict(json.loads(json.dumps(session.to_dict())))
            said = f"Go on with part {stub.calls}."
        return session

    state = asyncio.run(run()).state["trimtab"]
    stub.judge()
    assert state["rounds"] >= 5
    assert summarizer.calls <= state["rounds"]
    assert state["forecast"]["usage"] is not None
    assert archive.search("everything", session="talk")


def test_untouched_messages_stay_the_same_objects_and_edited_ones_keep_the_rest(encode: Any) -> None:
    class Looks(ChatMiddleware):
        async def process(self, context: Any, call_next: Any) -> None:
            seen.append([*context.messages])
            await call_next()

    seen: list[Any] = []
    given = [
        Message("system", ["Be brief."]),
        Message("user", ["see"]),
        Message(
            "assistant",
            [Content.from_text_reasoning(text="hm"), Content.from_function_call("a", "look", arguments='{"n": 1}')],
        ),
        Message("tool", [Content.from_function_result("a", result="7 " * 9_000)], additional_properties={"kept": 1}),
        Message("assistant", ["well"]),
        Message("user", ["go on", Content.from_uri(f"data:image/png;base64,{PNG}", media_type="image/png")]),
    ]
    client = Chat(stub=Model(encode), middleware=[Looks(), CompactionChatMiddleware(MODEL, **OPTIONS), Looks()])
    asyncio.run(client.get_response(given))
    before, after = seen
    same = [a is b for a, b in zip(after, before, strict=True)]
    assert same == [True, True, True, False, True, True]
    assert after[3].additional_properties == {"kept": 1}
    assert after[3].contents[0].call_id == "a"
    assert len(after[3].contents[0].result) < 9_000
    asyncio.run(client.get_response(given[5:]))
    assert all(a is b for a, b in zip(seen[3], seen[2], strict=True))


def test_pictures_of_a_result_count_and_an_edited_result_keeps_the_rest(encode: Any) -> None:
    class Looks(ChatMiddleware):
        async def process(self, context: Any, call_next: Any) -> None:
            seen.append([*context.messages])
            await call_next()

    seen: list[Any] = []
    picture = Content.from_uri(f"data:image/png;base64,{PNG}", media_type="image/png")
    parts = [Content.from_text("7 " * 9_000), picture]
    result = Content.from_function_result("a", id="kept", result=parts, exception="kept")
    given = [
        Message("user", ["see"]),
        Message("assistant", [Content.from_function_call("a", "look", arguments="{}")]),
        Message("tool", [result]),
        Message("assistant", ["well"]),
        Message("user", ["go on"]),
    ]
    compaction = CompactionChatMiddleware(MODEL, **OPTIONS)
    client = Chat(stub=Model(encode), middleware=[compaction, Looks()])
    asyncio.run(client.get_response(given))
    (edited,) = seen[0][2].contents
    assert (edited.call_id, edited.id, edited.exception) == ("a", "kept", "kept")
    assert len(edited.result) < 9_000
    assert result.items == parts
    (done,) = compaction.compactor.archive.history()
    assert PNG in json.dumps(compaction.compactor.archive.load(done.ref))


@pytest.mark.parametrize("way", ["middleware", "strategy"])
def test_a_conversation_that_the_service_holds_passes_as_it_is(way: str, encode: Any) -> None:
    """The service is sent new messages alone: a result comes without its call."""

    class Holding(Chat):
        def _inner_get_response(self, *, messages: Any, **_: Any) -> Any:
            sent.append([message.role for message in messages])
            is_call = len(sent) % 2 == 1
            call = Content.from_function_call(f"call_{len(sent)}", "look", arguments='{"n": 1}')

            async def whole() -> ChatResponse:
                said = [call if is_call else Content.from_text("done")]
                return ChatResponse(messages=[Message("assistant", said)], conversation_id="resp_1")

            return whole()

    sent: list[list[str]] = []
    guards: dict[str, Any] = {
        "middleware": {"middleware": [CompactionChatMiddleware(MODEL, **OPTIONS)]},
        "strategy": {"compaction_strategy": FittingStrategy(MODEL, **OPTIONS)},
    }
    running = Agent(client=Holding(stub=Model(encode)), tools=[look], **guards[way])
    asyncio.run(running.run("go"))
    assert sent == [["user"], ["tool"]]


def test_another_error_of_the_model_is_raised_and_a_floor_is_noted(encode: Any) -> None:
    class Broken(Model):
        def answer(self, *_: Any, **__: Any) -> Any:
            raise ChatClientException("rate limit reached")

    with pytest.raises(ChatClientException, match="rate limit"):
        asyncio.run(agent(Broken(encode), CompactionChatMiddleware(MODEL)).run("go"))
    with pytest.raises(ChatClientException, match="maximum context length") as caught:
        asyncio.run(agent(Model(encode, 2_100, 2_100), CompactionChatMiddleware(MODEL)).run("go " * 300))
    assert "trimtab" in caught.value.__notes__[0]


def test_two_sessions_of_one_agent_do_not_mix(encode: Any) -> None:
    middleware = CompactionChatMiddleware(MODEL, **OPTIONS)
    running = agent(Model(encode, lowered=20_000), middleware)
    for name in ("a", "b"):
        asyncio.run(running.run(f"for {name}", session=AgentSession(session_id=name)))
    histories = [middleware.compactor.session(name).history(None) for name in ("a", "b")]
    assert all(histories)
    assert not {past.ref for past in histories[0]} & {past.ref for past in histories[1]}


def test_the_tokenizer_serves_the_frameworks_own_strategies(encode: Any) -> None:
    tokenizer = ExactTokenizer(MODEL)
    assert isinstance(tokenizer, TokenizerProtocol)
    assert tokenizer.count_tokens("hello world") == len(encode("hello world"))
    strategy = TruncationStrategy(max_n=14_400, compact_to=7_000, tokenizer=tokenizer)
    stub = Model(encode, lowered=20_000)
    asyncio.run(agent(stub, compaction_strategy=strategy, tokenizer=tokenizer).run("go"))
    assert stub.refused == 0


@pytest.mark.slow
@pytest.mark.parametrize("where", ["agent", "provider"])
def test_a_strategy_keeps_an_agent_within_its_window(where: str, encode: Any) -> None:
    """A strategy sees no refusal, so the window stays what it is; ``provider`` compacts the stored history too."""
    stub, archive = Model(encode, lowered=OPTIONS["window"]), trimtab.archive.open_archive("memory")
    strategy = FittingStrategy(MODEL, instructions="Be good.", tools=[look], archive=archive, **OPTIONS)
    assert isinstance(strategy, CompactionStrategy)
    history = InMemoryHistoryProvider(skip_excluded=True)
    stored = CompactionProvider(before_strategy=strategy, after_strategy=strategy, history_source_id=history.source_id)
    providers = [history, stored] if where == "provider" else [history]
    running = agent(stub, compaction_strategy=strategy, context_providers=providers)

    async def run() -> AgentSession:
        session = AgentSession(session_id="talk")
        await running.run(RULE + " Look at everything.", session=session)
        while stub.calls < CALLS:
            await running.run(f"Go on with part {stub.calls}.", session=session)
        return session

    session = asyncio.run(run())
    assert (stub.refused, stub.invalid, stub.findings) == (0, 0, [])
    assert max(stub.prompts) <= OPTIONS["window"] - OPTIONS["max_output"]
    assert "RULE-7" in json.dumps(stub.last, default=str)
    messages = session.state[history.source_id]["messages"]
    assert len(messages) >= CALLS if where == "agent" else len(included_messages(messages)) < CALLS


def test_a_strategy_excludes_edits_and_adds_in_place(encode: Any) -> None:
    messages = [
        Message("system", ["Be brief."]),
        Message("user", ["see"]),
        Message("assistant", [Content.from_function_call("a", "look", arguments='{"n": 1}')]),
        Message("tool", [Content.from_function_result("a", result="7 " * 9_000)], additional_properties={"kept": 1}),
        Message("assistant", ["well " * 900]),
        *(Message(role, [f"{n} more " * 900]) for n in range(9) for role in ("user", "assistant")),
        Message("user", ["go on"]),
    ]
    given, strategy = [*messages], FittingStrategy(MODEL, **OPTIONS)
    assert asyncio.run(strategy(messages))
    left = included_messages(messages)
    assert [message for message in messages if any(message is each for each in given)][:2] == given[:2]
    assert all(any(message is each for each in messages) for message in given if message.contents[0].type == "text")
    assert left[0] is given[0]
    assert left[-1] is given[-1]
    assert len(left) < len(given)
    assert any("trimtab-summary" in message.text for message in left)
    assert {message.additional_properties["_exclude_reason"] for message in messages if message not in left} == {
        "trimtab"
    }
    again = [*messages]
    assert not asyncio.run(strategy(messages))
    assert again == messages
    assert not asyncio.run(strategy([Message("system", ["alone"])]))


def test_a_compactor_takes_no_keywords_beside_it() -> None:
    with pytest.raises(TypeError, match="window"):
        CompactionChatMiddleware(trimtab.Compactor(MODEL), window=9_000)


def test_the_page_runs(encode: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_page("agent-framework", client=Chat(stub=Model(encode)), tools=[look])
    assert capsys.readouterr().out.startswith("gpt-5.5 ")
