"""The adapter of OpenHands, in conversations of the real framework."""

from __future__ import annotations

import asyncio
import json
import os
from importlib.util import find_spec
from typing import Any
from uuid import UUID

import pytest

if find_spec("openhands") is None:
    pytest.skip("make adapters installs openhands-sdk", allow_module_level=True)
os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENHANDS_SUPPRESS_BANNER": "1"}  # it fetches a table at import

from litellm import RateLimitError
from openhands.sdk import LLM, Tool
from openhands.sdk.context.condenser import PipelineCondenser
from openhands.sdk.context.condenser.base import CondenserBase, NoCondensationAvailableException
from openhands.sdk.context.view import View
from openhands.sdk.conversation import DefaultConversationVisualizer
from openhands.sdk.conversation.exceptions import ConversationRunError
from openhands.sdk.event import CondensationRequest
from openhands.sdk.llm import ImageContent

import trimtab
from support.agent_openhands import (
    TALK,
    Chat,
    agent,
    answer,
    chat,
    conversation,
    result,
    said,
    system,
)
from support.agents import CALLS, MODEL, OPTIONS, RULE, Model, Summarizer, run_page
from trimtab.adapters.openhands import TrimtabCondensation, TrimtabCondenser, TrimtabMessage

BYTES = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PNG = f"data:image/png;base64,{BYTES}"
LONG = "7 " * 9_000

pytestmark = pytest.mark.filterwarnings("ignore")  # of LiteLLM and what it imports


@pytest.fixture(scope="module")
def encode(tiktoken_encoding: Any) -> Any:
    return tiktoken_encoding("o200k_base").encode_ordinary


def messages(view: View) -> list[TrimtabMessage]:
    return [event for event in view.events if isinstance(event, TrimtabMessage)]


def applied(made: Any, events: list[Any]) -> list[Any]:
    """Return the events after a condensation, which another process reads in the same way."""
    assert isinstance(made, TrimtabCondensation)
    resulting = made.apply(events)
    stored = TrimtabCondensation.model_validate_json(made.model_dump_json())
    read = View.from_events([*events, stored]).events
    assert [event.model_dump() for event in read] == [event.model_dump() for event in resulting]
    return resulting


@pytest.mark.slow
@pytest.mark.parametrize("how", ["run", "arun"])
def test_an_agent_stays_within_its_window(how: str, encode: Any, tmp_path: Any) -> None:
    """250 calls, an overflow in the middle, and in each turn a process that has only the log and the archive."""
    stub, summarizer, where = Model(encode), Summarizer(), f"sqlite:///{tmp_path / 'archive.db'}"

    async def run() -> int:
        says, done = RULE + " Look at everything.", 0
        while stub.calls < CALLS:
            condenser = TrimtabCondenser(MODEL, summarizer=summarizer, archive=where, **OPTIONS)
            with condenser.compactor as cm:
                talk = conversation(agent(chat(stub), condenser=condenser), tmp_path)
                talk.send_message(says)
                await talk.arun() if how == "arun" else talk.run()
                cold = View.from_events(talk.state.events)
                assert [event.id for event in cold.events] == [event.id for event in talk.state.view.events]
                talk.close()
                done = len(cm.session(str(TALK)).history(None))
                found = cm.archive.search("everything", session=str(TALK))
            says = f"Go on with part {stub.calls}."
        assert found
        return done

    compactions = asyncio.run(run())
    stub.judge()
    assert 5 <= compactions < 80
    assert summarizer.calls <= compactions


def test_a_resumed_conversation_goes_on_from_the_state_in_its_log(encode: Any, tmp_path: Any) -> None:
    stub = Model(encode, lowered=20_000)
    for turn in range(3):
        stub.window = stub.lowered = 20_000 if turn == 0 else 9_000
        talk = conversation(agent(chat(stub), condenser=TrimtabCondenser(MODEL, **OPTIONS)), tmp_path)
        talk.send_message("Go on.")
        refused = stub.refused
        talk.run()
        talk.close()
        assert sum(bool(message.state) for message in messages(talk.state.view)) == 1
        assert (stub.refused > refused) == (turn == 1)
    assert stub.findings == []


def test_untouched_events_stay_the_same_objects_and_edited_ones_keep_the_rest() -> None:
    calls, more = answer("one", "a", "b", reasoning="hm"), answer("two", "c")
    events = [
        system(),
        said("see"),
        *calls,
        result(calls[0], LONG, ImageContent(image_urls=[PNG])),
        result(calls[1], "small"),
        *more,
        result(more[0], "small too"),
        said("go on", ImageContent(image_urls=[PNG])),
    ]
    view = View(events=[*events])
    resulting = applied(TrimtabCondenser(MODEL, **OPTIONS).condense(view), events)
    assert view.events == events
    assert [event for event in resulting if not isinstance(event, TrimtabMessage)] == [*events[:2], *events[6:]]
    assert all(a is b for a, b in zip(resulting[-3:], events[-3:], strict=True))
    sent, cut, small = (event.message for event in resulting[2:5])
    assert (sent.reasoning_content, [call.id for call in sent.tool_calls]) == ("hm", ["a", "b"])
    assert (cut.role, cut.name, cut.tool_call_id) == ("tool", "look", "a")
    assert len(cut.content[0].text) < 9_000
    assert small == events[5].to_llm_message()
    assert TrimtabCondenser(MODEL, **OPTIONS).condense(small_view := View(events=events[6:])) is small_view


def test_a_block_of_thinking_is_one_unit() -> None:
    first, second, third = answer("one", "a", thinking="hm"), answer("two", "b"), answer("three", "c", thinking="so")
    events = [
        system(),
        said("see"),
        *first,
        result(first[0], LONG),
        *second,
        result(second[0], "small"),
        *third,
        result(third[0], "small"),
    ]
    resulting = applied(TrimtabCondenser(MODEL, **OPTIONS).condense(View(events=[*events])), events)
    assert [isinstance(event, TrimtabMessage) for event in resulting] == [False, False, *[True] * 4, False, False]
    assert resulting[2].message.thinking_blocks[0].signature == "signed"


def test_arguments_are_cut_and_thinking_that_is_signed_with_them_leaves() -> None:
    long = "word " * 3_000
    rounds = [answer(f"{n}", f"{n}", thinking="hm", arguments=f'{{"n": "{long}"}}') for n in range(8)]
    events = [system(), said("see"), *(each for (call,) in rounds for each in (call, result(call, "small")))]
    resulting = applied(TrimtabCondenser("claude-sonnet-5-5", **OPTIONS).condense(View(events=[*events])), events)
    sent = [event.to_llm_message() for event in resulting if event.to_llm_message().role == "assistant"]
    assert len(sent) == 8
    assert not any(message.thinking_blocks for message in sent)
    assert all(len(json.loads(message.tool_calls[0].arguments)["n"]) < 100 for message in sent[:4])


def test_a_request_of_the_user_leaves_half_and_a_window_as_it_is(encode: Any, tmp_path: Any) -> None:
    condenser = TrimtabCondenser(MODEL, **OPTIONS)
    talk = conversation(agent(chat(Model(encode)), condenser=PipelineCondenser(condensers=[condenser])), tmp_path)
    talk.send_message("hi")
    talk.condense()
    assert not talk.state.view.unhandled_condensation_request
    assert len(talk.state.view) == 2
    talk.run()
    before = len(talk.state.view)
    talk.condense()
    assert len(talk.state.view) < before
    assert not talk.state.view.unhandled_condensation_request
    assert next(message.state for message in messages(talk.state.view) if message.state)["limits"] is None


def test_one_condensation_is_not_followed_by_another() -> None:
    condenser, last = TrimtabCondenser(MODEL, **OPTIONS), said("go on")
    for kind in (TrimtabCondensation, View):
        rounds = [answer(f"{kind.__name__}{n}", f"{kind.__name__}{n}") for n in range(30)]
        events = [system("0"), said("see"), *(each for (call,) in rounds for each in (call, result(call, "7 " * 600)))]
        assert isinstance(made := condenser.condense(View(events=[*events, last])), kind)
    assert made.events[-1] is last
    assert messages(made)


def test_too_little_can_leave_after_a_refusal(encode: Any, tmp_path: Any) -> None:
    talk = conversation(
        agent(chat(Model(encode, 2_300, 2_300)), condenser=TrimtabCondenser(MODEL, **OPTIONS)), tmp_path
    )
    talk.send_message("go " * 3_000)
    with pytest.raises(ConversationRunError, match="nothing can leave") as caught:
        talk.run()
    assert isinstance(caught.value.__cause__, NoCondensationAvailableException)


def test_another_error_of_the_model_requests_nothing(encode: Any, tmp_path: Any) -> None:
    class Broken(Model):
        def answer(self, *given: Any, **options: Any) -> Any:
            if self.calls == 40:
                raise RateLimitError("slow down", llm_provider="openai", model="gpt-4o")
            return super().answer(*given, **options)

    condenser = TrimtabCondenser(MODEL, window=100_000, max_output=2_000)  # more than twice the prompt
    talk = conversation(agent(chat(Broken(encode, 100_000, 100_000)), condenser=condenser), tmp_path)
    talk.send_message("go")
    talk.run()
    talk.send_message("go on")
    with pytest.raises(ConversationRunError, match="slow down"):
        talk.run()
    assert not [event for event in talk.state.events if isinstance(event, CondensationRequest)]
    talk.condense()
    assert next(message.state for message in messages(talk.state.view) if message.state)["limits"] is None


def test_the_usage_of_each_answer_is_recorded_once(encode: Any, tmp_path: Any, monkeypatch: Any) -> None:
    stub, recorded = Model(encode), []
    monkeypatch.setattr(trimtab.Session, "record", lambda _, usage: recorded.append(usage["input_tokens"]))
    talk = conversation(agent(chat(stub), condenser=TrimtabCondenser(MODEL, **OPTIONS)), tmp_path)
    talk.send_message("go")
    talk.run()
    assert recorded == stub.prompts[:-1]


def test_the_models_own_window_counts_where_no_table_has_the_model(encode: Any, tmp_path: Any) -> None:
    condenser, stub = TrimtabCondenser("of-my-own", max_output=2_000), Model(encode, 17_000, 17_000)
    talk = conversation(agent(chat(stub, max_input_tokens=17_000), condenser=condenser), tmp_path)
    talk.send_message("go")
    talk.run()
    assert (stub.refused, stub.findings) == (0, [])


def test_two_conversations_of_one_agent_do_not_mix(encode: Any, tmp_path: Any) -> None:
    condenser = TrimtabCondenser(MODEL, **OPTIONS)
    running = agent(chat(Model(encode, lowered=20_000)), condenser=condenser)
    names = [UUID(int=1), UUID(int=2)]
    for name in names:
        talk = conversation(running, tmp_path, name)
        talk.send_message(f"for {name}")
        talk.run()
    histories = [condenser.compactor.session(str(name)).history(None) for name in names]
    assert all(histories)
    assert not {past.ref for past in histories[0]} & {past.ref for past in histories[1]}


def test_a_fork_has_a_session_of_its_own(encode: Any, tmp_path: Any, monkeypatch: Any) -> None:
    model, condenser = (
        chat(Model(encode)),
        TrimtabCondenser(trimtab.Compactor(MODEL, provider="openai_chat", **OPTIONS)),
    )
    monkeypatch.setattr(LLM, "_atransport_call", lambda _, **options: Chat._atransport_call(model, **options))
    talk = conversation(agent(model, condenser=condenser), tmp_path)
    talk.send_message("go")
    talk.run()
    fork = talk.fork()
    assert [event.id for event in fork.state.view.events] == [event.id for event in talk.state.view.events]
    fork.send_message("go on")
    asyncio.run(fork.arun())
    assert fork.agent.condenser.compactor is condenser.compactor
    assert condenser.compactor.session(str(fork.id)).history(None)
    assert model._stub.findings == []


def test_a_stored_agent_has_the_model_and_the_plain_options() -> None:
    given = TrimtabCondenser(MODEL, summarizer=Summarizer(), **OPTIONS)
    stored = given.model_dump(mode="json")
    assert stored == {"kind": "TrimtabCondenser", "model": MODEL, "options": OPTIONS}
    revived = CondenserBase.model_validate(stored)
    assert isinstance(revived, TrimtabCondenser)
    assert revived.compactor.window == OPTIONS["window"]
    with pytest.raises(TypeError, match="window"):
        TrimtabCondenser(trimtab.Compactor(MODEL), window=9_000)


def test_a_condensation_is_shown_like_those_of_openhands(capsys: pytest.CaptureFixture[str]) -> None:
    made = TrimtabCondensation(forgotten_event_ids={"a"}, summary="What was seen.", llm_response_id="ref")
    DefaultConversationVisualizer().on_event(made)
    assert "What was seen." in capsys.readouterr().out


def test_the_page_runs(encode: Any, capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    place = str(tmp_path)
    run_page("openhands", llm=chat(Model(encode)), tools=[Tool(name="look")], workspace=place, folder=place)
    assert "gpt-5.5 " in capsys.readouterr().out
