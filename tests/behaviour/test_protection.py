"""Always on: no usage, no failure and no moment lets a prompt pass that exceeds its input budget."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import trimtab
from support.checker import check
from support.models import CLAUDE, CLAUDE_BOUND
from support.transcripts import transcript
from trimtab import Usage, Verdict
from trimtab.cli import main
from trimtab.events import UsageIgnored
from trimtab.policies import POLICIES
from trimtab.summarize import Function, Limits

MODEL = CLAUDE
NAMES = sorted(POLICIES)
BINDS = CLAUDE_BOUND
ROOM = 7_000
TURNS = 60
ASCII = "line {n}: the build went on in src/module_{n}.py and said nothing that anybody has to know\n"
DIGITS = "{n} 8271639405 5517283940 6628394051 7739405162 8840516273 9951627384\n"
CHINESE = "第{n}行:构建在继续进行,没有报告任何需要知道的内容,文件已经被读取并且检查完毕。\n"
ONCE = Limits(tries=1, seconds=None)


def counted(messages: Any) -> int:
    """Tokens by the model's own counter."""
    return trimtab.count(list(messages), model=MODEL)


def made(policy: Any = "default", **options: Any) -> trimtab.Compactor:
    return trimtab.Compactor(MODEL, policy=policy, **{"window": 8_000, "max_output": 1_000} | options)


def steps(start: int, count: int, lines: int = 12, line: str = ASCII) -> list[Any]:
    """Calls, each with its result."""
    messages: list[Any] = []
    for n in range(start, start + count):
        call = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": f"make {n}"}}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": f"Step {n}."}, call]})
        text = "".join(line.format(n=n * 1_000 + k) for k in range(lines))
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": text}]})
    return messages


def talk(count: int, lines: int = 12, line: str = ASCII) -> list[Any]:
    return [{"role": "user", "content": "Mend the parser; never touch LICENSE."}, *steps(0, count, lines, line)]


class Loop:
    """An agent that calls ``fit`` in front of each call, sends what comes back, and records what it is charged."""

    def __init__(self, cm: trimtab.Compactor, first: str = "Mend the parser; never touch LICENSE.") -> None:
        self.cm, self.turn = cm, 0
        self.messages: list[Any] = [{"role": "user", "content": first}]
        self.prompts: list[int] = []
        self.reasons: list[str] = []

    def run(self, turns: int, charge: Any = None, lines: int = 12, line: str = ASCII, room: int = ROOM) -> Loop:
        """Play so many turns; ``charge`` returns the usage of a prompt with so many tokens, None records nothing."""
        for _ in range(turns):
            fitted = self.cm.fit(self.messages)
            self.messages = list(fitted.messages)
            self.prompts.append(counted(self.messages))
            self.reasons.append(fitted.reason)
            assert fitted.reason or self.prompts[-1] <= room, "silent"
            if charge is not None:
                self.cm.record(charge(self.prompts[-1]))
            self.messages += steps(self.turn, 1, lines, line)
            self.turn += 1
        return self

    def above(self, room: int = ROOM) -> int:
        return sum(prompt > room for prompt in self.prompts)


def honest(prompt: int) -> dict[str, int]:
    return {"input_tokens": prompt - prompt // 2, "cache_read_input_tokens": prompt // 2, "output_tokens": 60}


# 1. No charge switches it off.


@pytest.mark.parametrize(
    "usage",
    [
        {},
        {"total": 3},
        {"output_tokens": 9},
        None,
        True,
        {"input_tokens": True},
        {"input_tokens": -1},
        {"input_tokens": 2.5},
        {"input_tokens": "12"},
        {"input_tokens": 10**400},
        {"input_tokens": 2**53 + 1},
        {"input_tokens": 5, "output_tokens": -1},
        {"input_tokens": 5, "cache_read_input_tokens": False},
        {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": -3}},
        Usage(-5),
        Usage(10**400),
    ],
    ids=lambda usage: str(usage)[:40] if not isinstance(usage, Usage) else "a Usage",
)
def test_record_refuses_what_is_no_usage_and_learns_nothing(usage: Any) -> None:
    cm, messages = made(), talk(4)
    cm.fit(messages)
    with pytest.raises(ValueError, match=r"no prompt tokens|number of tokens from 0 to 2\*\*53"):
        cm.record(usage)
    assert cm.count(messages) == counted(messages)
    assert cm.fit(messages).messages is messages


def test_a_session_file_with_absurd_usage_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = []
    for n, tokens in enumerate((-5, 10**400, 2**60, 30)):
        usage = {"input_tokens": tokens, "output_tokens": -3}
        answer = {"id": f"m{n}", "role": "assistant", "content": [{"type": "text", "text": "a"}], "usage": usage}
        entries.append({"type": "user", "message": {"role": "user", "content": f"q{n}"}, "uuid": f"u{n}"})
        entries.append({"type": "assistant", "message": answer, "uuid": f"a{n}"})
    for n, entry in enumerate(entries):
        entry |= {"sessionId": "s", "parentUuid": entries[n - 1]["uuid"] if n else None}
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, entries)))
    assert [(charged.prompt, charged.output) for charged in trimtab.read(path).usage] == [(30, 0)]
    assert main(["count", str(path)]) == 0
    assert "the last recorded call was billed 30 tokens" in capsys.readouterr().out


def test_record_takes_the_largest_number_and_missing_fields() -> None:
    assert Usage.of({"input_tokens": 2**53, "cache_read_input_tokens": None}).prompt == 2**53
    assert Usage.of({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 12}}) == Usage(0, 0, 12)


@pytest.mark.parametrize(
    ("charge", "words"),
    [
        (0, "it has no input tokens"),
        (12, "its 12 input tokens are less than half of the"),
        (10**12, "exceed the window of 8,000: window= may have to be larger"),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_an_untrue_usage_is_ignored_with_a_warning_and_an_event(
    name: str, charge: int, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[Any] = []
    cm, messages = made(name, listeners=[told.append]), talk(4)
    cm.fit(messages)
    before = repr(cm._session._memory.sizes.forecast)
    with caplog.at_level(logging.WARNING, logger="trimtab"):
        cm.record({"input_tokens": charge, "output_tokens": 9})
    assert [event.usage for event in told] == [Usage(charge, 9)]
    assert isinstance(told[0], UsageIgnored)
    assert words in told[0].reason
    assert words in caplog.text
    assert repr(cm._session._memory.sizes.forecast) == before


def test_a_usage_above_the_count_alone_is_believed() -> None:
    """System text and tools that ``fit`` was not told of."""
    cm, messages = made(), talk(4)
    cm.fit(messages)
    cm.record({"input_tokens": 7_900})
    assert cm.count(messages) == 7_900
    assert cm.fit(messages).compaction is not None


CHARGES: dict[str, Any] = {
    "zero": lambda _: {"input_tokens": 0, "output_tokens": 0},
    "12": lambda _: {"input_tokens": 12, "output_tokens": 9},
    "far above the window": lambda _: {"input_tokens": 10**12},
    "just above a half": lambda prompt: {"input_tokens": prompt * 11 // 20},
    "another conversation's": lambda _: {"input_tokens": 3_100},
}


@pytest.mark.parametrize("charge", CHARGES)
@pytest.mark.parametrize("name", NAMES)
def test_no_usage_lets_a_prompt_above_the_input_budget_pass(name: str, charge: str) -> None:
    loop = Loop(made(name)).run(TURNS, CHARGES[charge])
    assert loop.above() == 0
    assert max(loop.prompts) > 1_500, "the agent worked"


def test_four_usages_far_above_the_window_do_not_stop_compaction() -> None:
    cm, messages = made(), talk(4)
    for _ in range(4):
        cm.fit(messages)
        cm.record({"input_tokens": 10**12})
    assert cm.fit(talk(40)).compaction is not None


# 2. No rest is for good.


@pytest.mark.parametrize("raises", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_hook_that_refused_is_asked_again_at_each_call(name: str, raises: bool) -> None:
    asked: list[Any] = []

    def hook(review: Any) -> Verdict | None:
        asked.append(review)
        if len(asked) > 5:
            return None
        if raises:
            raise RuntimeError("broken")
        return Verdict(refuse="tests run")

    cm, messages = made(name, pre_compact=hook), talk(60)
    for n in range(5):
        fitted = cm.fit(messages)
        assert fitted.messages is messages
        assert fitted.reason.startswith("refused: ")
        assert len(asked) == n + 1
    fitted = cm.fit(messages)
    assert fitted.compaction is not None
    assert counted(fitted.messages) <= ROOM


@pytest.mark.parametrize("name", NAMES)
def test_a_large_first_request_and_small_results_stay_within_the_input_budget(name: str) -> None:
    loop = Loop(made(name), first="Mend this file:\n" + "".join(ASCII.format(n=n) for n in range(250)))
    loop.run(40, honest, lines=4)
    assert loop.prompts[0] > ROOM * 0.7
    assert loop.above() == 0
    assert any("line 249" in json.dumps(message) for message in loop.messages), "the request stays"


@pytest.mark.parametrize("name", NAMES)
def test_a_model_that_fails_and_recovers_is_asked_again(name: str) -> None:
    asked: list[int] = []
    loop: Loop

    def write(_: Any) -> str:
        asked.append(loop.turn)
        if len(asked) <= 3:
            raise RuntimeError("down")
        return "went well"

    loop = Loop(made(name, summarizer=Function(write, limits=ONCE, window=200_000)))
    loop.run(160, honest)
    assert loop.above() == 0
    if name != "drop" and POLICIES[name].emergency is None:  # sven's summary begins behind a text, which is none here
        assert len(asked) > 3
        assert any("went well" in json.dumps(message) for message in loop.messages)


def test_a_model_that_is_down_is_asked_once_in_four_rounds_while_the_offline_summary_goes_on() -> None:
    asked: list[Any] = []

    def down(ask: Any) -> str:
        asked.append(ask)
        raise RuntimeError("down")

    for name in ("agentpg", "opencode", "default"):
        asked.clear()
        cm = made(name, summarizer=Function(down, limits=ONCE, window=200_000))
        for n in range(11):  # another list each time: nothing stands in for its beginning
            fitted = cm.fit([{"role": "user", "content": f"Mend the parser of module {n}."}, *steps(0, 60, 12)])
            assert fitted.compaction is not None
            assert counted(fitted.messages) <= ROOM
        assert len(asked) == 5, name


def test_the_moments_of_one_turn_are_one_round() -> None:
    asked: list[Any] = []

    def down(ask: Any) -> str:
        asked.append(ask)
        raise RuntimeError("down")

    messages = transcript("u:60 a:90 " * 30 + "u:9")
    strict = replace(POLICIES["default"], fallback=("error",))
    window = counted(messages) * 10 // 9 + 1_000  # past the trigger, below the danger line
    cm = made(strict, window=window, summarizer=Function(down, limits=ONCE, window=200_000))
    for turn in range(3):
        for when in ("before_call", "after_tool_batch", "after_run"):
            assert cm.fit(messages, when=when).reason  # type: ignore[arg-type]
        assert len(asked) == turn + 1
    assert cm._session._memory.rounds.failed == 3


@pytest.mark.parametrize("name", NAMES)
def test_one_result_above_the_window_is_cut_and_archived(name: str) -> None:
    cm = made(name)
    loop = Loop(cm).run(4, honest)
    loop.messages += steps(900, 1, lines=900)
    whole = list(loop.messages)
    assert counted(whole) > 2 * ROOM
    fitted = cm.fit(whole)
    assert counted(fitted.messages) <= ROOM
    assert fitted.compaction is not None
    assert cm.restore(fitted.compaction.ref or "") == whole
    assert not trimtab.validate(fitted.messages, provider="anthropic")
    loop.messages = list(fitted.messages)
    assert loop.run(40, honest).above() == 0


@pytest.mark.parametrize("name", NAMES)
def test_auto_off_and_a_refusal_win_and_the_reason_says_so(name: str) -> None:
    messages = talk(60)
    off = replace(POLICIES[name], trigger=replace(POLICIES[name].trigger, auto=False))
    fitted = made(off).fit(messages)
    assert fitted.messages is messages
    assert "automatic compaction is off" in fitted.reason
    assert not made(off).fit(talk(2)).reason
    fitted = made(name, pre_compact=lambda _: Verdict(refuse="tests run")).fit(messages)
    assert fitted.messages is messages
    assert fitted.reason == "refused: tests run"


# 3. Every policy protects at every moment.


@pytest.mark.parametrize("when", ["before_call", "after_step", "after_tool_batch", "after_run", "on_length"])
@pytest.mark.parametrize("name", NAMES)
def test_each_policy_protects_at_each_moment(name: str, when: Any) -> None:
    messages = talk(60)
    fitted = made(name).fit(messages, when=when)
    assert counted(messages) > ROOM >= counted(fitted.messages)
    assert not trimtab.validate(fitted.messages, provider="anthropic")
    assert "never touch LICENSE" in json.dumps(fitted.messages[:3])


@pytest.mark.parametrize("line", [ASCII, CHINESE, DIGITS], ids=["ascii", "chinese", "digits"])
@pytest.mark.parametrize("name", NAMES)
def test_each_policy_protects_whatever_the_text(name: str, line: str) -> None:
    loop = Loop(made(name)).run(TURNS, honest, line=line)
    assert loop.above() == 0
    assert max(loop.prompts) > ROOM // 3


@pytest.mark.parametrize("name", NAMES)
def test_each_policy_protects_at_its_own_window(name: str) -> None:
    cm = trimtab.Compactor(MODEL, policy=name)
    room = cm.window - cm.budget().reserve
    messages = talk(300, lines=30)
    assert counted(messages) > room
    fitted = cm.fit(messages)
    assert counted(fitted.messages) <= room
    again = trimtab.Compactor(MODEL, policy=name)
    assert asyncio.run(again.afit(messages)).messages == fitted.messages


@pytest.mark.parametrize("when", ["before_call", "after_step", "on_length", "on_overflow"])
@pytest.mark.parametrize("name", NAMES)
def test_open_calls_stay_and_a_loop_that_thought_once_shrinks(name: str, when: Any) -> None:
    """With thinking on, Anthropic refuses an open loop whose first message has none: here, every cut inside it."""
    for count, lines in ((40, 12), (200, 3)):
        messages = talk(count, lines)[:-1]
        thought = {"type": "thinking", "thinking": "Let me see.", "signature": "s" * 40}
        messages[1] = {**messages[1], "content": [thought, *messages[1]["content"]]}
        fitted = made(name).fit(messages, when=when)
        assert counted(fitted.messages) <= ROOM + 1_000 * (when == "on_overflow")
        assert fitted.messages[-1] == messages[-1]
        assert not check(list(fitted.messages), "anthropic", in_flight=True, thinking=True)


def test_a_pin_stays_under_each_policy() -> None:
    for name in NAMES:
        cm, messages = made(name), talk(60)
        cm.pin(messages[11])
        assert messages[11] in cm.fit(messages).messages, name


@pytest.mark.parametrize("name", NAMES)
def test_nothing_due_has_no_reason_at_any_moment(name: str) -> None:
    messages = talk(5)
    assert 1_000 < counted(messages) < 2_400
    cm = made(name)
    for when in ("before_call", "after_step", "after_tool_batch", "after_run", "on_length"):
        fitted = cm.fit(messages, when=when)  # type: ignore[arg-type]
        assert (fitted.messages, fitted.reason, fitted.compaction) == (messages, "", None)


@pytest.mark.parametrize(
    ("name", "when", "moments"),
    [
        ("goat", "after_tool_batch", "before_call, on_length"),
        ("agentpg", "before_call", "after_run"),
        ("default", "after_step", "before_call, after_tool_batch, after_run, on_length, on_overflow"),
        ("spec09", "after_run", "before_call"),
    ],
)
def test_past_the_trigger_at_another_moment_the_reason_names_the_moments(name: str, when: Any, moments: str) -> None:
    messages = [{"role": role, "content": "words of a plain text " * 60} for role in ("user", "assistant") * 10]
    window = next(n for n in range(7_200, 12_000, 100) if not made(name, window=n).stats(messages).due) - 100
    cm = made(name, window=window)
    assert cm.stats(messages).due
    assert counted(messages) <= window - 1_000
    fitted = cm.fit(messages, when=when)
    assert fitted.messages is messages
    assert fitted.reason == f"policy {name} compacts {moments}, not {when}"


def test_system_text_and_tools_above_the_window_are_named() -> None:
    for name in NAMES:
        messages = talk(4)
        fitted = made(name).fit(messages, system="rules and more rules " * 4_000)
        assert fitted.messages is messages
        assert "system text and tools have" in fitted.reason


@pytest.mark.shared
@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_session_is_protected_at_each_call(name: str, shared: Path) -> None:
    sessions = sorted(
        (shared / "data" / "transcripts" / "claude-code").rglob("*.jsonl"), key=lambda p: p.stat().st_size
    )
    found = next(found for path in sessions if counted((found := trimtab.read(path)).messages[:300]) > 60_000)
    cm, messages = made(name, provider=found.provider), []
    compactions = 0
    for message in found.messages[:300]:
        if message["role"] == "assistant" and messages:
            fitted = cm.fit(messages)
            messages = list(fitted.messages)
            compactions += fitted.compaction is not None
            assert not check(messages, found.provider, in_flight=True)
            assert fitted.reason or counted(messages) <= ROOM
            cm.record(honest(counted(messages)))
        messages.append(message)
    assert compactions > 3


# 5. The first record changes no threshold.


def first_compaction(policy: Any, moment: Any, *, records: bool) -> float:
    """Share of the window at which an agent's list is compacted first; the policy's moment comes every 36 turns."""
    cm = trimtab.Compactor(MODEL, policy=policy)
    messages = talk(0)
    for turn in range(90):
        fitted = cm.fit(messages)
        if fitted.compaction is None and turn % 36 == 35:
            fitted = cm.fit(messages, when=moment)
        if fitted.compaction is not None:
            return counted(messages) / cm.window
        if records:
            cm.record(honest(counted(messages)))
        messages += steps(turn, 1, lines=120)
    raise AssertionError("never compacted")


@pytest.mark.parametrize("parity", [False, True])
@pytest.mark.parametrize(
    ("name", "moment"), [("agentpg", "after_run"), ("agentpg_summarization", "after_run"), ("opencode", "after_step")]
)
def test_the_first_record_changes_no_threshold(name: str, moment: str, parity: bool) -> None:
    """With records it was the first moment past half of the window: a bill was added to a count that held it."""
    policy = replace(POLICIES[name], parity=parity)
    assert first_compaction(policy, moment, records=False) > 0.75
    assert first_compaction(policy, moment, records=True) > 0.75


def test_the_usage_of_another_list_is_not_this_lists() -> None:
    cm, messages = made("opencode"), talk(4)
    cm.fit(messages)
    cm.record({"input_tokens": 7_500})
    other = transcript("u:40 a:40 u:9")
    fitted = cm.fit(other, when="after_step")
    assert (fitted.messages, fitted.reason) == (other, "")


def test_system_text_and_tools_are_billed_but_are_no_messages() -> None:
    """AgentPG compares the tokens of the messages; a bill holds system text and tools too."""
    cm, messages = trimtab.Compactor(MODEL, policy="agentpg"), talk(4)
    system = "rules and more rules " * 10_000
    cm.fit(messages, system=system)
    billed = trimtab.count(messages, model=MODEL, system=system)
    before = cm.stats(messages, system=system).usage
    cm.record({"input_tokens": billed})
    cm.fit(messages, system=system)
    assert cm.stats(messages, system=system).usage == pytest.approx(before, abs=0.06)


@pytest.mark.parametrize("name", POLICIES)
def test_prune_removes_no_message(name: str) -> None:
    """``default`` dropped messages behind an empty notice where pruning alone did not reach the target."""
    spoken = [{"role": role, "content": f"{n} " + "go on " * 150} for n in range(20) for role in ("user", "assistant")]
    messages = [*spoken, *steps(0, 30), {"role": "user", "content": "last"}]
    pruned = made(name).prune(messages)
    assert len(pruned) == len(messages)
    assert pruned[: len(spoken)] == spoken
    assert counted(pruned) <= counted(messages)
    assert trimtab.validate(pruned, provider="anthropic") == []


@pytest.mark.parametrize("name", POLICIES)
def test_a_pinned_result_is_not_pruned(name: str) -> None:
    messages = [{"role": "user", "content": "start"}, *steps(0, 80)]
    cm = made(name)
    cm.pin(messages[2])
    assert cm.prune(messages)[2] == messages[2]
    assert messages[2] in cm.fit(messages, when="after_tool_batch").messages


@pytest.mark.parametrize("name", POLICIES)
def test_the_result_of_a_pinned_call_is_cut_where_it_is_above_the_window(name: str) -> None:
    """Only the pinned message is verbatim: its result of twice the window went out whole."""
    call, result = steps(0, 1, lines=2_000)
    messages = [{"role": "user", "content": "start"}, call, result]
    cm = made(name)
    cm.pin(call)
    fitted = cm.fit(messages)
    assert call in fitted.messages
    assert counted(fitted.messages) <= cm.budget().window - cm.budget().reserve
    assert cm.restore(fitted.compaction.ref) == messages  # type: ignore[union-attr]


@pytest.mark.parametrize("name", POLICIES)
def test_a_pinned_message_with_thinking_stays_after_its_thinking_was_removed(name: str) -> None:
    """Its digest changed with the first edit, and the second compaction removed it."""
    plan = {"type": "text", "text": "The plan is this."}
    pinned = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, plan]}
    cm = trimtab.Compactor(BINDS, policy=name, window=8_000, max_output=1_000)
    cm.pin(pinned)
    messages: list[Any] = [{"role": "user", "content": "start"}, pinned, {"role": "user", "content": "go on"}]
    for n in range(3):
        messages = list(cm.fit([*messages, *steps(60 * n, 60)]).messages)
        assert any(plan["text"] in str(message) for message in messages if message["role"] == "assistant"), n


@pytest.mark.parametrize(
    ("name", "model", "window", "share"), [("spec09", BINDS, 8_000, 1.5), ("sven", MODEL, 6_000, 2)]
)
def test_the_ref_of_two_compactions_in_one_call_restores_the_callers_list(
    name: str, model: str, window: int, share: float
) -> None:
    """Where the policy's stages left too much, the shared ones began with the list of these, which held a summary."""
    told: list[Any] = []
    cm = trimtab.Compactor(model, policy=name, window=window, max_output=window // 8, listeners=[told.append])
    messages: list[Any] = [{"role": "user", "content": "start"}]
    twice = 0
    for n in range(40):
        told.clear()
        fitted = cm.fit(messages)
        twice += sum(isinstance(event, trimtab.events.Compacted) for event in told) > 1
        if fitted.compaction is not None:
            assert cm.restore(fitted.compaction.ref or "") == messages
        messages = list(fitted.messages)
        cm.record({"input_tokens": int(share * trimtab.count(messages, model=model)), "output_tokens": 5})
        words = "".join(ASCII.format(n=k) for k in range(20))
        messages += [{"role": role, "content": f"{n} {words}"} for role in ("assistant", "user")]
    assert twice
