"""What all adapters share: sessions by conversation, one call at a time, and calls that survive an overflow."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import trimtab
from support.models import CLAUDE, GPT
from trimtab.adapters.mirror import call, mirrored, returned, text_of
from trimtab.adapters.sessions import RETRIES, Sessions, opening

MODEL = CLAUDE
MESSAGES = [{"role": "user", "content": f"step {n}: " + "words " * 300} for n in range(60)]


class Provider:
    """A model whose real window is smaller than the one that its caller knows."""

    def __init__(self, limit: int, say: str = "prompt is too long: {0} tokens > {1} maximum") -> None:
        self.limit, self.say, self.sent = limit, say, []

    def __call__(self, fitted: trimtab.Fitted[Any]) -> int:
        self.sent.append(trimtab.count(fitted.messages, model=MODEL))
        if self.sent[-1] > self.limit:
            raise RuntimeError(self.say.format(self.sent[-1], self.limit))
        return self.sent[-1]

    async def later(self, fitted: trimtab.Fitted[Any]) -> int:
        return self(fitted)


def sessions(**options: Any) -> Sessions:
    return Sessions(MODEL, {"window": 40_000, "max_output": 2_000, **options})


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("say", ["prompt is too long: {0} tokens > {1} maximum", "context_length_exceeded"])
def test_a_call_after_a_refusal_sends_a_smaller_list(say: str, is_async: bool) -> None:
    provider, conversation = Provider(16_000, say), sessions().of("a")
    if is_async:
        answered = asyncio.run(conversation.acall(provider.later, MESSAGES))
    else:
        answered = conversation.call(provider, MESSAGES)
    assert 1 < len(provider.sent) <= RETRIES + 1
    assert answered == provider.sent[-1] <= 16_000
    assert provider.sent == sorted(provider.sent, reverse=True)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_run_whose_conversation_another_run_compacts_meanwhile_goes_on(is_async: bool, tmp_path: Any) -> None:
    """Each has a session of its own, as after two checkpoints of a thread; the other compacts during the summary."""
    left, where = [1], f"sqlite:///{tmp_path / 'a.db'}"

    def summarize(_: Any) -> str:
        if left[0]:
            left[0] -= 1
            others = sessions(archive=where, window=14_000)
            with others.compactor:
                assert len(others.of("a").fit(MESSAGES[1:]).messages) < len(MESSAGES)
        return "a summary"

    mine = sessions(archive=where, window=14_000, summarizer=summarize)
    with mine.compactor:
        conversation = mine.of("a")
        fitted = asyncio.run(conversation.afit(MESSAGES)) if is_async else conversation.fit(MESSAGES)
        assert left == [0]
        assert "a summary" in str(fitted.messages)
        assert len(mine.compactor.session("a").history(None)) == 2


@pytest.mark.parametrize("is_async", [False, True])
def test_another_error_is_raised_as_it_is(is_async: bool) -> None:
    provider, conversation = Provider(0, "rate limit"), sessions().of("a")
    call = conversation.acall(provider.later, MESSAGES) if is_async else None
    with pytest.raises(RuntimeError, match="rate limit"):
        asyncio.run(call) if call else conversation.call(provider, MESSAGES)
    assert len(provider.sent) == 1


def test_a_refusal_of_a_list_that_cannot_shrink_raises_the_providers_error_with_a_note() -> None:
    provider = Provider(50)
    with pytest.raises(RuntimeError, match="too long") as caught:
        sessions().of("a").call(provider, MESSAGES[:1])
    assert "too little can leave" in caught.value.__notes__[0]


def test_a_frameworks_own_error_counts_as_a_refusal_whatever_its_text() -> None:
    class ContextOverflowError(Exception):
        pass

    messages = sessions().of("a").overflow(ContextOverflowError("no"), MESSAGES).messages
    assert trimtab.count(messages, model=MODEL) < trimtab.count(MESSAGES, model=MODEL)
    with pytest.raises(ValueError, match="says nothing about"):
        sessions().of("a").overflow(RuntimeError("no"), MESSAGES)


def test_a_refusal_inside_a_group_is_one() -> None:
    """As of a fallback, all of whose models refused."""
    group = ExceptionGroup("all models failed", [OSError("no"), RuntimeError("prompt is too long")])
    assert sessions().of("a").overflow(group, MESSAGES).messages


def test_a_conversation_is_found_by_its_id_or_by_its_state() -> None:
    known = sessions()
    first = known.of("a")
    first.fit(MESSAGES)
    state = first.state()
    assert known.of("a") is known.of("a", state) is first
    assert known.of("b") is not first
    earlier = known.of("a", {**state, "rounds": 9})
    assert earlier is not first
    assert earlier.session.state()["rounds"] == 9
    unnamed = known.of()
    assert known.of(None, unnamed.state()) is unnamed
    assert known.of() is not unnamed


def test_a_state_of_another_model_starts_anew_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    state = sessions().of("a").state()
    other = Sessions(GPT, {}).of("a", state)
    assert (other.session.id, other.session.model) == ("a", GPT)
    assert "is not used" in caplog.text


def test_ids_that_are_no_session_names_get_one() -> None:
    known = sessions()
    ids = [7, "", " ", "a\nb", "unnamed-x", "\ud800"]
    assert len({known.of(each).session.id for each in ids}) == len(ids)
    assert known.of(7).session.id == "7"


def test_only_the_newest_conversations_stay_in_memory() -> None:
    known = Sessions(MODEL, {}, most=2)
    first, second = known.of("a"), known.of("b")
    assert known.of("a") is first
    known.of("c")
    assert known.of("a") is first
    assert known.of("b") is not second


def test_a_cleared_conversation_is_forgotten() -> None:
    known = sessions()
    first = known.of("a")
    known.forget("a")
    assert known.of("a") is not first


def test_the_opening_names_a_conversation_without_an_id() -> None:
    system = {"role": "system", "content": "It is noon."}
    assert opening([system, *MESSAGES]) == opening(MESSAGES[:1])
    assert opening(MESSAGES) != opening(MESSAGES[1:])


def test_an_adapter_names_the_shape_and_the_caller_or_a_compactor_another() -> None:
    asked = [{"role": "user", "content": "go"}]
    for sessions, provider in (
        (Sessions(GPT, {}), "openai_chat"),
        (Sessions(GPT, {}, "anthropic"), "anthropic"),
        (Sessions(GPT, {"provider": "openai_chat"}, "anthropic"), "openai_chat"),
        (Sessions(trimtab.Compactor(GPT, provider="openai_chat"), {}, "anthropic"), "openai_chat"),
    ):
        assert sessions.compactor.plan(asked).provider == provider


def test_a_compactor_takes_no_settings_beside_it() -> None:
    cm = trimtab.Compactor(MODEL)
    assert Sessions(cm, {}).compactor is cm
    with pytest.raises(TypeError, match="window"):
        Sessions(cm, {"window": 9_000})


def test_two_tasks_of_one_conversation_wait_for_each_other() -> None:
    async def slow(ask: Any) -> str:
        await asyncio.sleep(0.02)
        return "all went well"

    async def run() -> list[Any]:
        conversation = sessions(summarizer=slow).of("a")
        return await asyncio.gather(*(conversation.afit(MESSAGES) for _ in range(3)))

    made = asyncio.run(run())
    assert all(trimtab.count(fitted.messages, model=MODEL) < 38_000 for fitted in made)


def test_usage_without_tokens_is_no_error() -> None:
    conversation = sessions().of("a")
    for usage in (None, {}, {"input_tokens": 0}):
        conversation.fit(MESSAGES)
        conversation.record(usage)


def test_mirrored_messages_come_back_as_what_they_were() -> None:
    def change(original: Any, message: Any) -> Any:
        return ("changed", original, message["content"])

    given = [["user", f"step {n}: " + "words " * 300] for n in range(60)]
    plain = mirrored(given, lambda each: {"role": each[0], "content": each[1]})
    edited = [{**plain[0], "content": "less"}, {"role": "user", "content": "new"}, *plain[-2:]]
    made = returned(plain, edited, change, lambda message: ("new", message["content"]))
    assert made[:2] == [("changed", given[0], "less"), ("new", "new")]
    assert made[2] is given[-2]
    fitted = sessions(window=15_000).of("a").fit(plain)
    assert fitted.compaction is not None
    back = returned(plain, fitted.messages, change, lambda message: message["content"])
    assert back[-1] is given[-1]
    assert any("[trimtab" in str(each) or "<trimtab" in str(each) for each in back)


def test_a_call_is_written_as_json_and_text_is_found_in_any_content() -> None:
    assert call(None, "look", {"n": 1}) == {
        "id": "",
        "type": "function",
        "function": {"name": "look", "arguments": '{"n": 1}'},
    }
    assert call("a", "look", "{}")["function"]["arguments"] == "{}"
    assert text_of([{"type": "text", "text": "a"}, {"type": "image_url"}]) == "a\n"
    assert (text_of("b"), text_of(None)) == ("b", "")
