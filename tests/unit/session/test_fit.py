"""The gate before a call: nothing below the trigger, a valid smaller list above it, and what calls were charged."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

import trimtab
from support import transcripts
from support.models import CLAUDE, GPT_SMALL
from trimtab import events, hooks
from trimtab.messages.types import text_of, whole_calls
from trimtab.policies import POLICIES
from trimtab.summarize import Function, Limits, render

MODEL = CLAUDE


def talk(rounds: int = 24) -> list[Any]:
    return transcripts.transcript(" ".join(f"u:{30 + n} a:20+c{n} r{n}:150 a:25" for n in range(rounds)) + " u:9")


def made(policy: Any = "default", **options: Any) -> trimtab.Compactor:
    return trimtab.Compactor(MODEL, policy=policy, **{"window": 8_000, "max_output": 1_000} | options)


def test_below_the_trigger_the_very_same_list_comes_back() -> None:
    messages = talk(3)
    fitted = made().fit(messages, system="rules")
    assert fitted.messages is messages
    assert fitted.request == {"messages": messages, "system": "rules"}
    assert fitted.compaction is None
    assert not fitted.reason


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_above_the_trigger_each_preset_gives_a_smaller_valid_list(name: str) -> None:
    messages = talk()
    cm = made(replace(POLICIES[name], trigger=replace(POLICIES[name].trigger, window=None, fixed_window=False)))
    moment: Any = cm.policy.trigger.when[0]
    fitted = cm.fit(messages, when=moment)
    if fitted.compaction is None:
        assert name.startswith("agentpg")  # 40,000 tokens are protected there, and no compaction touches them
        assert "nothing can leave" in fitted.reason
        return
    assert fitted.messages is not messages
    assert fitted.compaction.tokens_after < fitted.compaction.tokens_before
    assert not trimtab.validate(fitted.messages, provider="anthropic")
    assert asyncio.run(made(cm.policy).afit(messages, when=moment)).messages == fitted.messages


def test_auto_off_switches_every_automatic_path_off() -> None:
    for name, policy in POLICIES.items():
        off = replace(policy, trigger=replace(policy.trigger, auto=False))
        messages = talk()
        for when in ("before_call", "after_step", "after_tool_batch", "after_run", "on_overflow"):
            assert made(off).fit(messages, when=when).messages is messages, name


def test_a_moment_that_there_is_not_is_named() -> None:
    with pytest.raises(ValueError, match="when must be one of before_call"):
        made().fit([], when="sometimes")  # type: ignore[arg-type]


def test_usage_in_any_providers_form_is_learned_from() -> None:
    cm = made("sven", window=200_000)
    messages = talk(2)
    cm.fit(messages)
    counted = cm._session._memory.sizes.forecast.counted
    cm.record({"prompt_tokens": 2 * counted, "completion_tokens": 7})
    assert cm._session._memory.sizes.forecast.factor == pytest.approx(1.2)
    cm.record({"input_tokens": counted, "cache_read_input_tokens": counted, "output_tokens": 1})
    assert cm._session._memory.sizes.forecast.factor == pytest.approx(0.8 * 1.2 + 0.4)
    with pytest.raises(ValueError, match="no prompt tokens"):
        cm.record({"total": 3})


@pytest.mark.shows("R4.9")
def test_what_a_step_was_charged_triggers_seed_004() -> None:
    cm = trimtab.Compactor(GPT_SMALL, policy="opencode", window=100_000, max_output=32_000)
    messages = transcripts.transcript("u:40 " + "a:60 u:60 " * 20, "openai_chat")
    cm.record({"input_tokens": 68_000, "output_tokens": 0})
    assert cm.fit(messages, when="after_step").compaction is None
    cm.record({"input_tokens": 68_001, "output_tokens": 0})
    fitted = cm.fit(messages, when="after_step")
    assert fitted.compaction is not None
    assert [m["role"] for m in fitted.messages[:2]] == ["user", "assistant"]
    assert fitted.messages[0]["content"] == "What did we do so far?"


def test_a_charge_says_what_a_lean_estimate_does_not() -> None:
    """Pictures and thinking cost nothing by a quarter of the bytes: the provider's number stands against that."""
    messages = talk(12)
    for name in ("spec09", "goat"):
        cm = made(name, window=20_000)
        assert cm.fit(messages).compaction is None
        cm.record({"input_tokens": 19_000, "output_tokens": 0})
        assert cm.fit(messages).compaction is None, "the window less what is kept for the answer, not more"
        cm.record({"input_tokens": 19_001, "output_tokens": 0})
        assert cm.fit(messages[:-2]).compaction is None, "it has become less"
        assert cm.fit(messages).compaction is not None


def test_runs_with_nothing_to_prune_do_not_switch_compaction_off() -> None:
    """``opencode`` prunes after each run: where three ended with nothing old enough, nothing was compacted again."""
    cm, messages = made("opencode", window=20_000), talk(12)
    for stop in range(4, 41, 4):
        assert cm.fit(messages[:stop], when="after_run").compaction is None
    cm.record({"input_tokens": 19_500, "output_tokens": 0})
    fitted = cm.fit(messages, when="after_step")
    assert fitted.compaction is not None, fitted.reason


def test_a_summarizer_that_failed_three_times_in_a_row_is_tried_every_fourth_time() -> None:
    asked: list[Any] = []

    def fails(ask: Any) -> str:
        asked.append(ask)
        if len(asked) < 5:
            raise RuntimeError("down")
        return "went well"

    told: list[Any] = []
    cm = made(summarizer=Function(fails, limits=Limits(tries=1), window=200_000), listeners=[told.append])
    counts = []
    for _ in range(13):
        done = cm.compact(talk(), target_share=0.2)
        counts.append(len(asked))
        assert done.summarizer == ("offline" if done.failed else "fails")
    assert counts == [1, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 6, 7]
    reasons = [event.reason for event in told if isinstance(event, events.FellBack)]
    assert sum("not asked, it failed too often in a row" in reason for reason in reasons) == 6


def test_a_failed_summary_never_raises_out_of_the_gate_and_is_asked_for_in_every_fourth_round() -> None:
    def fails(_: object) -> str:
        raise RuntimeError("down")

    messages = talk()
    strict = replace(POLICIES["default"], fallback=("error",))
    room = made(strict).count(messages) * 10 // 9  # past the trigger, below the danger line
    cm = made(strict, window=room + 1_000, summarizer=Function(fails, limits=Limits(tries=1)))
    asked = ["down" in cm.fit(messages).reason for _ in range(11)]
    assert asked == [True] * 3 + [False, False, False, True] * 2
    assert "failed too often in a row" in cm.fit([*messages, *messages[:1]]).reason
    with pytest.raises(trimtab.SummaryError, match="down"):
        cm.compact(messages)


@pytest.mark.shows("R3.40")
def test_events_are_told_in_the_presets_order_with_their_payloads() -> None:
    for name in ("spec09", "goat", "sven"):
        told: list[Any] = []
        cm = made(name, listeners=[told.append], window=11_000).session("s1")
        cm.fit(talk(), turn=3, when="after_tool_batch" if name == "sven" else "before_call")
        assert tuple(e.name for e in told if isinstance(e, events.Step)) == cm.policy.order
        for event in told:
            if isinstance(event, events.CompactBoundary):
                body = event.payload()
                assert body["subtype"] == "compact_boundary"
                assert body["compact_metadata"]["trigger"] == "auto"
                assert body["session_id"] == "s1"
                assert len(body["uuid"]) == 36
            if isinstance(event, events.ContextCompacted):
                assert event.payload()["turn"] == 3
                assert str(event).startswith("[sven:context:compacted:structured] ")
                assert str(event).endswith(" tokens (tool round 3)")


def test_a_hook_adds_context_and_instructions_to_what_a_model_is_asked() -> None:
    asked: list[Any] = []

    def write(ask: Any) -> str:
        asked.append(ask)
        return "a summary"

    cm = made(
        "goat",
        summarizer=Function(write),
        pre_compact=lambda _: hooks.Verdict(instructions="the tests", context="branch: main"),
    )
    cm.compact(talk())
    words = render(asked[0]).text
    assert "the tests" in words
    assert "branch: main" in words
    assert asked[0].model == "claude-haiku-4-5-20251001"


def test_calls_of_an_answer_that_was_cut_are_taken_out_before_the_budget_is_looked_at() -> None:
    cut = {"type": "tool_use", "id": "t1", "name": "f", "input_raw": '{"a": 1'}
    whole = {"type": "tool_use", "id": "t2", "name": "f", "input": {"a": 1}}
    answer = {"role": "assistant", "content": [{"type": "text", "text": "a"}, cut, whole]}
    assert whole_calls(answer)["content"] == [answer["content"][0], whole]
    messages = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, cut]},
    ]
    fitted = made("goat", window=200_000).fit(messages, when="on_length")
    assert fitted.messages[-1] == {"role": "assistant", "content": [{"type": "text", "text": "a"}]}
    chat = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a"'}}
    assert whole_calls({"role": "assistant", "content": "a", "tool_calls": [chat]}) == {
        "role": "assistant",
        "content": "a",
    }


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_arguments_that_nothing_can_read_are_those_of_an_answer_that_was_cut(provider: str) -> None:
    deep = "[" * 100_000
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": deep}}
    block = {"type": "tool_use", "id": "1", "name": "f", "input_raw": deep}
    told = {"content": "a", "tool_calls": [call]} if provider == "openai" else {"content": [block]}
    fitted = made("goat", window=200_000).fit(
        [{"role": "user", "content": "q"}, {"role": "assistant", **told}], when="on_length"
    )
    assert deep not in str(fitted.messages[-1])


@pytest.mark.shows("R2.26")
def test_statistics_say_which_messages_stay_and_why() -> None:
    messages = [{**message, "id": str(n)} for n, message in enumerate(talk(20))]
    messages[2]["is_preserved"] = True
    found = made("agentpg", window=200_000).stats(messages)
    assert found.messages == len(messages)
    assert found.total == sum(found.tokens.values())
    assert found.groups["compactable"] == ()
    assert not found.due
    tight = replace(
        POLICIES["agentpg"], keep=replace(POLICIES["agentpg"].keep, keepers=POLICIES["agentpg"].keep.keepers[1:])
    )
    found = made(tight, window=200_000).stats(messages)
    assert len(found.groups["recent"]) >= 10
    assert 2 in found.groups["preserved"]
    assert set(found.kept) | set(found.groups["compactable"]) == set(range(len(messages)))


@pytest.mark.shows("R3.36", "R3.38")
def test_a_tools_output_is_cut_by_the_category_of_the_tool() -> None:
    cm = made("sven")
    log = "".join(f"line {n}\n" for n in range(5_000))
    shell, grep = cm.ingest("shell", log), cm.ingest("grep", log)
    assert shell.startswith("line 0\n")
    assert "line 4999" in shell
    assert "line 4999" not in grep
    assert "omitted" in shell
    assert cm.ingest("shell", "short") == "short"
    assert made().ingest("shell", log) is log


def test_a_zone_larger_than_its_summarizer_is_summarized_whole_in_parts() -> None:
    import threading

    facts = ("FACT-AT-THE-START", "FACT-IN-THE-MIDDLE", "FACT-AT-THE-END")
    messages: list[Any] = []
    for n in range(400):
        fact = {3: facts[0], 200: facts[1], 380: facts[2]}.get(n, "")
        messages += [
            {"role": "user", "content": f"step {n} {fact} " + "words " * 60},
            {"role": "assistant", "content": f"did {n} " + "more words " * 60},
        ]
    seen: list[str] = []
    running, most, lock = 0, 0, threading.Lock()

    def write(ask: Any) -> str:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            seen.append(render(ask).text)
        found = [fact for fact in facts if fact in seen[-1]]
        with lock:
            running -= 1
        return "summary " + " ".join(found)

    cm = trimtab.Compactor(GPT_SMALL, summarizer=Function(write), window=6_000, max_output=500)
    done = cm.compact(messages, target_tokens=2_000)
    assert len(seen) > 10
    assert all(any(fact in text for text in seen) for fact in facts)
    assert all(fact in (done.summary or "") for fact in facts)
    assert most <= 4
    assert cm.restore(done.ref or "") == messages
    again = asyncio.run(
        trimtab.Compactor(GPT_SMALL, summarizer=Function(write), window=6_000, max_output=500).acompact(
            messages, target_tokens=2_000
        )
    )
    assert again.summary == done.summary
    assert "FACT" in text_of(done.messages[0].get("content"))


def test_a_summary_without_the_required_headings_is_asked_for_once_more_and_then_taken() -> None:
    asked: list[Any] = []
    headings = POLICIES["sven"].summarize.template.topics  # type: ignore[union-attr]

    def bare(ask: Any) -> str:
        asked.append(ask)
        return "no headings here"

    def second(ask: Any) -> str:
        asked.append(ask)
        return "bare" if ask.correction is None else "\n".join(f"## {name}\nx" for name in headings)

    assert made("sven", window=40_000, summarizer=Function(bare)).compact(talk()).summary == "no headings here"
    assert [bool(ask.correction) for ask in asked] == [False, True]
    assert "Active Task" in asked[1].correction
    done = made("sven", window=40_000, summarizer=Function(second)).compact(talk())
    assert (done.summary or "").startswith("## Active Task")
