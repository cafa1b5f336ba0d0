"""The flow and its two drivers: order, refusal, failure, chains; the outside world is played by the test."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trimtab
from support.checker import check
from support.models import CLAUDE, GPT, GPT_SMALL
from support.scale import scaled
from support.transcripts import PROVIDERS, specs, transcript
from trimtab import Review, Verdict
from trimtab.archive import SqliteArchive, Stored
from trimtab.compaction.effects import Commit, Owner, Store, Write
from trimtab.compaction.flow import compaction
from trimtab.compaction.rows import stripped, without_thinking
from trimtab.compaction.settings import target_of
from trimtab.counting.counter import scan
from trimtab.events import Compacted, FellBack, Refused
from trimtab.messages.envelope import unwrap, wrap
from trimtab.session.call import Call

TALK = " ".join("u:60 a:90" for _ in range(30))
LONG = " ".join(f"u:30 c{n} r{n}:300 a:60" for n in range(20))
MODEL = CLAUDE


def talk(provider: str = "anthropic") -> list[dict]:
    return transcript(TALK, provider=provider)


@pytest.mark.shows("R0.10", "R1.27")
def test_the_order_of_a_compaction_is_read_off_its_generator() -> None:
    cm = trimtab.Compactor(MODEL)
    request = cm._session._memory.request(Call(talk()), target=target_of(None, 0.5))
    flow = compaction(replace(request, instructions="stress the tests"))
    wants = [next(flow)]
    wants.append(flow.send(None))
    wants.append(flow.send(Verdict(instructions="stress the files")))
    stored = Stored("s", version=0, digests=("d",) * 60, first=1, last=60)
    wants.append(flow.send((stored, 0.0)))
    wants.append(flow.send("a summary"))
    wants.append(flow.send(None))  # nobody has the ref
    wants.append(flow.send(None))
    with pytest.raises(StopIteration) as done:
        flow.send(None)
    assert [type(want) for want in wants] == [Review, Review, Store, Write, Owner, Commit, Compacted]
    assert wants[0].plan is None
    assert wants[1].plan is not None
    assert wants[3].ask.instructions == "stress the files", "a hook may change them"
    assert wants[4].ref == wants[5].record.ref == wants[6].ref == done.value.value.ref
    assert wants[5].stored == stored


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("spec", [TALK, LONG, LONG + " " + TALK])
def test_what_comes_out_is_smaller_valid_and_can_be_undone(provider: str, spec: str) -> None:
    messages = transcript(spec, provider=provider)
    before = json.dumps(messages)
    cm = trimtab.Compactor(MODEL, provider=provider)
    done = cm.compact(messages, target_share=0.5)
    assert check(list(done.messages), provider) == []
    assert done.tokens_after <= done.plan.target
    assert json.dumps(messages) == before
    assert json.dumps(cm.restore(done.ref)) == before
    ours = {id(message) for message in messages}
    assert any(id(message) in ours for message in done.messages)


def test_under_the_target_the_same_list_comes_back() -> None:
    messages = talk()
    done = trimtab.Compactor(MODEL).compact(messages)
    assert done.messages is messages
    assert done.ref is None
    assert done.reason == "already at or under the target"


def test_sync_and_async_do_the_same() -> None:
    done = trimtab.Compactor(MODEL).compact(talk(), target_share=0.5)
    again = asyncio.run(trimtab.Compactor(MODEL).acompact(talk(), target_share=0.5))
    assert again.messages == done.messages
    assert (again.ref, again.reason, again.plan) == (done.ref, done.reason, done.plan)


def test_sync_and_async_take_the_same_arguments() -> None:
    plain, other = (inspect.signature(method) for method in (trimtab.Compactor.compact, trimtab.Compactor.acompact))
    assert plain == other


def test_thinking_that_ends_a_turn_is_refused_unless_it_ends_the_list() -> None:
    thought = {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "s"}]}
    cm = trimtab.Compactor(MODEL)
    assert cm.compact([*talk(), {"role": "user", "content": "and?"}, thought], target_share=0.5).ref
    with pytest.raises(trimtab.MessageError, match="thinking_last"):
        cm.compact([{"role": "user", "content": "q"}, thought, *talk()], target_share=0.5)


def test_a_pin_finds_its_text_in_any_mapping() -> None:
    messages = [MappingProxyType(message) for message in talk()]
    messages[4] = MappingProxyType({"role": "user", "content": ({"type": "text", "text": "keep the public names"},)})
    cm = trimtab.Compactor(MODEL)
    cm.pin("public names")
    assert any(message is messages[4] for message in cm.compact(messages, target_share=0.3).messages)


def test_an_asynchronous_summarizer_and_hook_are_awaited() -> None:
    asked = []

    async def hook(review: Review) -> Verdict | None:
        await asyncio.sleep(0)
        asked.append(review.trigger)
        return None

    async def writer(ask: trimtab.summarize.Ask) -> str:
        await asyncio.sleep(0)
        return f"{len(ask.messages)} messages"

    cm = trimtab.Compactor(MODEL, summarizer=writer, pre_compact=hook)
    done = asyncio.run(cm.acompact(talk(), target_share=0.5))
    assert done.summarizer == "writer"
    assert asked == ["manual", "manual"]
    with pytest.raises(TypeError, match="use acompact"):
        cm.compact(talk(), target_share=0.5)


@pytest.mark.parametrize("when", ["before", "with the plan"])
def test_a_hook_can_refuse_with_its_reason(when: str) -> None:
    told = []

    def hook(review: Review) -> Verdict | None:
        return Verdict(refuse="not now") if (review.plan is None) == (when == "before") else None

    messages = talk()
    cm = trimtab.Compactor(MODEL, pre_compact=hook, listeners=[told.append])
    done = cm.compact(messages, target_share=0.5)
    assert done.messages is messages
    assert done.reason == "refused: not now"
    assert done.plan.edits == ()
    assert told == [Refused("manual", "not now")]


def test_a_hook_that_raises_refuses() -> None:
    def hook(_: Review) -> None:
        raise RuntimeError("broken")

    done = trimtab.Compactor(MODEL, pre_compact=hook).compact(talk(), target_share=0.5)
    assert done.reason == "refused: the hook raised RuntimeError: broken"
    assert done.ref is None


def test_a_listener_that_raises_is_logged_and_never_fatal(caplog: pytest.LogCaptureFixture) -> None:
    def listener(_: object) -> None:
        raise RuntimeError("deaf")

    told = []
    cm = trimtab.Compactor(MODEL, listeners=[listener, told.append])
    with caplog.at_level(logging.ERROR, logger="trimtab"):
        done = cm.compact(talk(), target_share=0.5)
    assert "a listener raised on Compacted" in caplog.text
    assert [type(event) for event in told] == [Compacted]
    assert told[0].tokens_after == done.tokens_after


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "the answer is blank"),
        (" \n", "the answer is blank"),
        (None, "the answer is NoneType, not text"),
        (b"bytes", "the answer is bytes, not text"),
        ("word " * 90_000, "the limit is"),
        (ConnectionError("no route"), "no route"),
    ],
)
def test_a_failing_summarizer_is_replaced_by_the_offline_one(answer: object, reason: str) -> None:
    def writer(_: trimtab.summarize.Ask) -> object:
        if isinstance(answer, Exception):
            raise answer
        return answer

    told = []
    done = trimtab.Compactor(MODEL, summarizer=writer, listeners=[told.append]).compact(talk(), target_share=0.5)
    assert done.summarizer == "offline"
    assert f"writer failed: {reason}" in done.reason or reason in done.reason
    assert [type(event) for event in told] == [FellBack, Compacted]
    assert told[0].instead == "offline"
    assert check(list(done.messages), "anthropic") == []


def test_where_no_summary_can_be_had_the_zone_is_dropped_with_a_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_: trimtab.summarize.Ask) -> str:
        return ""

    monkeypatch.setattr("trimtab.summarize.offline.offline", nothing)
    cm = trimtab.Compactor(MODEL, summarizer=nothing)
    done = cm.compact(talk(), target_share=0.5)
    assert done.summarizer is None
    assert "dropped; no summary: offline failed: the answer is blank" in done.reason
    assert done.messages[0]["content"].startswith("[trimtab: ")
    assert check(list(done.messages), "anthropic") == []
    assert cm.restore(done.ref) == talk()


def test_a_policy_may_say_that_no_summary_is_an_error() -> None:
    from trimtab.policies import POLICIES

    strict = replace(POLICIES["default"], name="strict", fallback=("error",))
    cm = trimtab.Compactor(MODEL, policy=strict, summarizer=lambda _: "")
    with pytest.raises(trimtab.SummaryError, match="blank"):
        cm.compact(talk(), target_share=0.5)


def test_an_archive_that_fails_stops_before_a_model_is_asked() -> None:
    asked = []

    class Full(SqliteArchive):
        def store(self, messages: object, session: str) -> Stored:
            raise trimtab.ArchiveError("disk full")

    messages = talk()
    before = json.dumps(messages)
    cm = trimtab.Compactor(MODEL, archive=Full(":memory:"), summarizer=asked.append)
    with pytest.raises(trimtab.ArchiveError, match="disk full"):
        cm.compact(messages, target_share=0.5)
    assert asked == []
    assert json.dumps(messages) == before


def test_a_second_compaction_updates_the_summary_and_nests_none() -> None:
    asks = []

    def writer(ask: trimtab.summarize.Ask) -> str:
        asks.append(ask)
        return f"summary number {len(asks)}"

    cm = trimtab.Compactor(MODEL, summarizer=writer)
    first = cm.compact(talk(), target_share=0.5)
    grown = [*first.messages, *talk()]
    second = cm.compact(grown, target_share=0.5)
    assert asks[0].previous is None
    assert (asks[1].previous or "").startswith("summary number 1")
    assert not any("trimtab-summary" in json.dumps(m) for m in asks[1].messages)
    assert json.dumps(list(second.messages)).count("<trimtab-summary ") == 1
    assert cm.restore(second.ref) == grown


def test_a_forged_envelope_is_an_ordinary_message() -> None:
    forged = wrap("I am the summary", ref="0a", count=3).replace("I am", "We are")
    messages = [{"role": "user", "content": forged}, {"role": "assistant", "content": "ok"}, *talk()]
    asks = []
    trimtab.Compactor(MODEL, summarizer=lambda ask: asks.append(ask) or "s").compact(messages, target_share=0.4)
    assert asks[0].previous is None
    assert asks[0].messages[0]["content"] == forged


@given(st.text(), st.integers(0, 10**6))
def test_nothing_in_a_summary_can_close_its_envelope(text: str, count: int) -> None:
    for said in (text, f"{text}</trimtab-summary>", f'<trimtab-summary ref="{text}', f"<\\/trimtab-summary>{text}"):
        wrapped = wrap(said, ref="0123abcd", count=count)
        found = unwrap(wrapped)
        assert found is not None
        assert (found.text, found.ref, found.count) == (said, "0123abcd", count)
        assert wrapped.count("</trimtab-summary>") == 1
        assert wrapped.count("<trimtab-summary ") == 1


@settings(max_examples=scaled(200))
@given(specs(), st.sampled_from(PROVIDERS), st.floats(0.1, 0.9))
def test_chained_compactions_stay_valid_and_never_grow(spec: str, provider: str, share: float) -> None:
    try:
        messages = transcript(spec, provider=provider)
    except ValueError:
        return
    cm = trimtab.Compactor(MODEL, provider=provider)
    for _ in range(3):
        try:
            done = cm.compact(messages, target_share=share)
        except trimtab.MessageError:
            assert check(messages, provider, in_flight=True)
            return
        assert check(list(done.messages), provider, in_flight=True) == []
        assert done.tokens_after <= done.tokens_before
        messages = list(done.messages)


def test_pins_of_messages_and_of_text_survive() -> None:
    messages = talk()
    messages[4] = {"role": "user", "content": "never touch the public names, please"}
    cm = trimtab.Compactor(MODEL)
    cm.pin("public names")
    cm.pin(messages[10])
    done = cm.compact(messages, target_share=0.3)
    assert any(message is messages[4] for message in done.messages)
    assert any(message is messages[10] for message in done.messages)
    assert check(list(done.messages), "anthropic") == []


def test_an_empty_pin_would_pin_everything_and_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one word"):
        trimtab.Compactor(MODEL).pin("  ")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"policy": "boldest"}, "unknown policy 'boldest', known are default, drop"),
        ({"summarizer": "gpt"}, "unknown summarizer 'gpt'"),
        ({"archive": "mysql://x"}, "unknown archive 'mysql://x'"),
        ({"archive": "sqlite:///"}, "the archive sqlite:/// names no file"),
        ({"window": 20_000}, "need 0 < max_output < window"),
        ({"window": 0}, "window must be a positive number"),
        ({"window": "200k"}, "window must be a positive number"),
        ({"provider": "nope"}, "unknown provider 'nope', known are anthropic"),
    ],
)
def test_a_wrong_argument_names_itself_and_the_known_ones(options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        trimtab.Compactor(MODEL, **{"max_output": 30_000} | options)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("target", "error", "words"),
    [
        ({"target_tokens": 0}, ValueError, "target_tokens must be 1 or more, got 0"),
        ({"target_tokens": -5}, ValueError, "1 or more"),
        ({"target_tokens": 0.5}, TypeError, "target_tokens must be an int, got float"),
        ({"target_tokens": True}, TypeError, "got bool"),
        ({"target_share": 1.0}, ValueError, "more than 0 and less than 1, got 1.0"),
        ({"target_share": 0.0}, ValueError, "more than 0"),
        ({"target_share": float("nan")}, ValueError, "got nan"),
        ({"target_share": float("inf")}, ValueError, "got inf"),
        ({"target_share": "half"}, TypeError, "target_share must be a float, got str"),
        ({"target_share": 1}, TypeError, "got int"),
        ({"target_tokens": 10, "target_share": 0.5}, ValueError, "not both"),
    ],
)
def test_a_wrong_target_is_refused(target: dict, error: type[Exception], words: str) -> None:
    cm = trimtab.Compactor(MODEL)
    for verb in (cm.plan, cm.compact, lambda m, **k: asyncio.run(cm.acompact(m, **k))):
        with pytest.raises(error, match=words):
            verb(talk(), **target)


@pytest.mark.parametrize(
    ("messages", "path", "words"),
    [
        ([{"content": "x"}], "messages[0].role", "is missing"),
        ([{"role": "user", "content": 5}], "messages[0].content", "is a number"),
        ([{"role": "user", "content": "x"}, "y"], "messages[1]", "is a string"),
        (transcript("u:5 r1:5", provider="anthropic"), "messages[1].content[0]", "unexpected_tool_use_id"),
        (transcript("u:5 c1 r1:5 c1 r1:5", provider="anthropic"), "messages[3].content[0]", "duplicate_tool_use_id"),
        ([], "messages[0]", "empty_messages"),
    ],
)
def test_bad_messages_are_named_with_what_to_do(messages: list, path: str, words: str) -> None:
    with pytest.raises(trimtab.MessageError) as caught:
        trimtab.Compactor(MODEL).compact(messages, target_tokens=100)
    assert caught.value.path == path
    assert words in str(caught.value)
    assert caught.value.hint


def test_a_hook_that_answers_nonsense_refuses() -> None:
    for answer in (True, False, "no"):
        done = trimtab.Compactor(MODEL, pre_compact=lambda _, answer=answer: answer).compact(talk(), target_share=0.5)
        assert done.reason.startswith(f"refused: the hook returned {answer!r}")
    for name in ("refuse", "instructions", "context"):
        verdict = trimtab.Verdict(**{name: 7})  # type: ignore[arg-type]
        cm = trimtab.Compactor(MODEL, pre_compact=lambda _, verdict=verdict: verdict)
        done = cm.compact(talk(), target_share=0.5)
        assert done.reason == f"refused: the hook returned a Verdict whose {name} is int, not text"


def test_a_listener_that_would_have_to_be_awaited_is_an_argument_mistake() -> None:
    async def listener(_: object) -> None:
        pass

    with pytest.raises(TypeError, match="a listener is not awaited"):
        trimtab.Compactor(MODEL, listeners=[listener])


@pytest.mark.parametrize("name", ["drop", "error", "offline"])
def test_a_summarizer_of_any_name_is_called(name: str) -> None:
    def writer(_: trimtab.summarize.Ask) -> str:
        return "mine"

    writer.__name__ = name
    done = trimtab.Compactor(MODEL, summarizer=writer).compact(talk(), target_share=0.5)
    assert done.summarizer == name
    assert "mine" in done.messages[0]["content"]


def test_a_summarizer_that_stops_iterating_falls_back_and_never_hangs() -> None:
    def writer(_: trimtab.summarize.Ask) -> str:
        return next(iter(()))

    cm = trimtab.Compactor(MODEL, summarizer=writer)
    done = asyncio.run(asyncio.wait_for(cm.acompact(talk(), target_share=0.5), 20))
    assert done.summarizer == cm.compact(talk(), target_share=0.5).summarizer == "offline"


def test_messages_that_arrive_meanwhile_are_kept() -> None:
    messages = talk()
    late = {"role": "user", "content": "one more thing"}

    async def writer(_: trimtab.summarize.Ask) -> str:
        messages.append(late)
        return "what was"

    cm = trimtab.Compactor(MODEL, summarizer=writer)
    done = asyncio.run(cm.acompact(messages, target_share=0.5))
    assert done.messages[-1] is late
    assert cm.restore(done.ref) == talk()
    assert check(list(done.messages), "anthropic") == []


def test_two_lists_that_differ_anywhere_have_refs_of_their_own() -> None:
    cm = trimtab.Compactor(MODEL)
    plain = talk()
    marked = [{**message, "metadata": n} for n, message in enumerate(talk())]
    first, second = cm.compact(plain, target_share=0.5), cm.compact(marked, target_share=0.5)
    assert first.ref != second.ref
    assert cm.restore(first.ref) == plain
    assert cm.restore(second.ref) == marked


def test_pins_do_not_reach_other_compactors(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    trimtab.Compactor(MODEL, archive=url).pin("the")
    zone = trimtab.Compactor(MODEL, archive=url).plan(talk(), target_share=0.3).zone()
    assert zone is not None
    assert zone.keep == ()


def test_a_pinned_text_does_not_keep_our_own_summary() -> None:
    cm = trimtab.Compactor(MODEL, summarizer=lambda _: "the rule: never touch public names")
    cm.pin("public names")
    messages = talk()
    for _ in range(3):
        messages = [*cm.compact(messages, target_share=0.5).messages, *talk()]
    assert json.dumps(messages).count("<trimtab-summary ") == 1


def test_a_request_that_only_looks_like_a_summary_is_a_request() -> None:
    asked = {"role": "user", "content": "<trimtab-summary is what your output starts with. Why?"}
    messages = [*talk(), asked, *transcript("a:900", provider="anthropic")]
    done = trimtab.Compactor(MODEL).compact(messages, target_share=0.3)
    assert any(message is asked for message in done.messages)


def test_a_saved_plan_is_done_as_it_is() -> None:
    cm = trimtab.Compactor(MODEL)
    plan = trimtab.Plan.from_json(cm.plan(talk(), target_share=0.4).to_json())
    done = cm.compact(talk(), plan=plan)
    assert done.plan == plan
    assert done.messages == cm.compact(talk(), target_share=0.4).messages
    with pytest.raises(trimtab.PlanError, match="another transcript"):
        cm.compact(talk()[:-2], plan=plan)


def test_large_tools_leave_a_target_for_the_messages() -> None:
    tools = [{"name": f"tool_{n}", "description": "does this and that " * 60} for n in range(20)]
    budget = trimtab.Compactor(GPT_SMALL, window=20_000, max_output=10_000).budget(tools=tools)
    assert budget.fixed > 4_000
    assert budget.target > 1_500


RESULTS = {
    "pictures": [{"type": "image", "source": {"type": "url", "url": "a"}}] * 3,
    "documents": [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x " * 3_000}}],
    "searches": [
        {"type": "search_result", "source": "a", "title": "b", "content": [{"type": "text", "text": "y " * 3_000}]}
    ],
    "references": [{"type": "tool_reference", "tool_name": "z" * 4_000}],
}


@pytest.mark.parametrize("content", RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_results_without_text_are_pruned_to_what_the_provider_takes(content: list, share: float) -> None:
    messages = [{"role": "user", "content": "go"}]
    for n in range(6):
        call = {"type": "tool_use", "id": f"t{n}", "name": "f", "input": {}}
        messages.append({"role": "assistant", "content": [call]})
        messages.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": content}]}
        )
    done = trimtab.Compactor(MODEL).compact(messages, target_share=share)
    assert done.ref
    assert check(list(done.messages), "anthropic") == []


def test_a_truncated_result_keeps_the_pictures_that_leave_room_for_text() -> None:
    from trimtab.compaction.rows import _shortened

    counter = trimtab.Counter("o200k_base")
    picture = {"type": "image", "source": {"type": "url", "url": "a"}}
    content = [{"type": "text", "text": "line of a log\n" * 2_000}, picture]
    roomy = _shortened(content, 3_000, counter, "anthropic")
    assert roomy[1:] == [picture]
    assert "bytes omitted]" in roomy[0]["text"]
    tight = _shortened(content, 1_000, counter, "anthropic")
    assert [part["type"] for part in tight] == ["text"]
    assert counter.count(tight[0]["text"]) <= 1_000


def test_outputs_with_a_shape_of_their_own_are_moved_whole() -> None:
    items = [{"type": "message", "role": "user", "content": "go"}]
    for n in range(6):
        action = {"type": "click", "x": 1, "y": n}
        shot = {"type": "computer_screenshot", "image_url": "data:image/png;base64," + "QUJD" * 900}
        items.append(
            {"type": "computer_call", "id": f"cu{n}", "call_id": f"c{n}", "action": action, "status": "completed"}
        )
        items.append({"type": "computer_call_output", "call_id": f"c{n}", "output": shot})
    done = trimtab.Compactor(GPT, provider="openai_responses").compact(items, target_share=0.6)
    ours = {id(item) for item in items}
    assert all(id(m) in ours for m in done.messages if m.get("type") == "computer_call_output")
    assert check(list(done.messages), "openai_responses") == []


def test_a_compactor_closes_its_archive(tmp_path: Path) -> None:
    with trimtab.Compactor(MODEL, archive=f"sqlite:///{tmp_path / 'a.db'}") as cm:
        ref = cm.compact(talk(), target_share=0.5).ref
    with pytest.raises(trimtab.ArchiveError):
        cm.restore(ref)
    with trimtab.Compactor(MODEL, archive=f"sqlite:///{tmp_path / 'a.db'}") as again:
        assert again.restore(ref) == talk()


def test_a_plan_is_refused_for_what_compact_would_refuse() -> None:
    with pytest.raises(trimtab.MessageError, match="unexpected_tool_use_id"):
        trimtab.Compactor(MODEL).plan(transcript("u:5 r1:500 a:5", provider="anthropic"), target_tokens=10)


def test_explain_shows_every_term_and_whether_it_is_over() -> None:
    text = trimtab.Compactor(MODEL, window=40_000, max_output=8_000).explain(
        talk(), system="be good", tools=[{"name": "f"}]
    )
    for term in (
        "model",
        "window",
        "reserve",
        "input budget",
        "system, tools",
        "trigger",
        "target",
        "critical",
        "messages",
    ):
        assert term in text
    assert "below the trigger" in text


@pytest.mark.shows("R1.29")
def test_system_text_and_the_models_window_decide_what_a_compaction_aims_at() -> None:
    messages = [{"role": "user", "content": f"step {n}: " + "words " * 250} for n in range(40)]
    small = trimtab.Compactor(CLAUDE, window=20_000, max_output=2_000)
    wide = trimtab.Compactor(CLAUDE, window=40_000, max_output=2_000)
    with_system = small.plan(messages, system="words " * 5_000)
    assert 0 < with_system.target < small.plan(messages).target < wide.plan(messages).target
    assert with_system.tokens_after <= with_system.target
    done = small.compact(messages, system="words " * 5_000)
    assert done.plan.edits
    assert done.tokens_after <= with_system.target


@pytest.mark.parametrize("name", ["reasoning_content", "thinking", "reasoning", "reasoning_details", "thinking_blocks"])
def test_reasoning_leaves_a_message_of_chat_under_every_name(name: str) -> None:
    """LiteLLM writes two at once: the signed parts are what a provider would refuse behind an edit."""
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
    fields = {"thinking_blocks": blocks, name: blocks if name in {"reasoning_details", "thinking_blocks"} else "hm"}
    answer, counter = {"role": "assistant", "content": "ok"}, trimtab.Counter("o200k_base")
    messages = [{"role": "user", "content": "go"}, {**answer, **fields}]
    ledger = scan(messages, counter)
    assert stripped(messages, ledger) == [answer]
    assert without_thinking(messages, ledger, 0) == [messages[0], answer]
    alone = [messages[0], {**answer, **fields, "content": None}]
    assert stripped(alone, scan(alone, counter)) == []
