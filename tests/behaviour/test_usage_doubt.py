"""A charge that is far off is not believed by itself: one that is doubled, and one of a prompt that was cut."""

from __future__ import annotations

import json
from typing import Any

import pytest

import trimtab
from trimtab import Usage
from trimtab.events import UsageIgnored
from trimtab.messages import Charged

HAIKU = "claude-haiku-4-5"
LINE = "some words of an agent's work, number {n}, and a few more of them.\n"


def talk(tokens: int, model: str = HAIKU, *, step: int = 2_000) -> list[dict[str, Any]]:
    """A talk of about so many tokens, in messages of about ``step``."""
    messages: list[dict[str, Any]] = []
    hundred = "".join(LINE.format(n=100 + n) for n in range(100))
    lines = round(100 * step / trimtab.count([{"role": "user", "content": hundred}], model=model))
    for turn in range(round(tokens / step)):
        words = "".join(LINE.format(n=turn * lines + n) for n in range(lines))
        messages.append({"role": ("user", "assistant")[turn % 2], "content": f"{turn}. {words}"})
    return messages


class Told:
    """A Compactor, with the events of usage that it did not believe."""

    def __init__(self, model: str = HAIKU, **options: Any) -> None:
        self.ignored: list[UsageIgnored] = []
        self.cm = trimtab.Compactor(model, summarizer="offline", **options)
        self.cm.on("usageignored")(self.ignored.append)

    def call(self, messages: list[Any], charge: int) -> Any:
        fitted = self.cm.fit(messages)
        self.cm.record({"input_tokens": charge, "output_tokens": 9})
        return fitted


HALF = talk(90_000)


@pytest.mark.parametrize("times", [2.0, 2.07])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_doubled_charge_compacts_nothing_and_is_an_event(times: float, is_first: bool) -> None:
    told, count = Told(), trimtab.count(HALF, model=HAIKU)
    if not is_first:
        told.call(HALF[:-2], trimtab.count(HALF[:-2], model=HAIKU))
    told.call(HALF, int(times * count))
    (event,) = told.ignored
    assert event.usage == Usage(int(times * count), 9)
    assert "are far more than the" in event.reason
    assert abs(told.cm.count(HALF) - count) < 10
    fitted = told.call(HALF, count)
    assert fitted.compaction is None
    assert len(told.ignored) == 1, "put right by the next charge"


@pytest.mark.parametrize("window", [60_000, 128_000, 1_000_000])
def test_a_first_charge_that_is_doubled_compacts_nothing_in_any_window(window: int) -> None:
    told, messages = Told(window=window, max_output=window // 10), talk(window * 43 // 100, step=window // 40)
    told.call(messages, int(2.07 * trimtab.count(messages, model=HAIKU)))
    assert len(told.ignored) == 1
    assert told.cm.fit(messages).compaction is None


def test_a_charge_of_four_times_in_a_large_window_is_not_believed() -> None:
    told, count = Told("claude-sonnet-5-5"), trimtab.count(HALF, model="claude-sonnet-5-5")
    told.call(HALF[:-2], trimtab.count(HALF[:-2], model="claude-sonnet-5-5"))
    told.call(HALF, 4 * count)
    assert len(told.ignored) == 1
    assert told.cm.count(HALF) < 1.01 * count


def test_a_charge_is_believed_when_the_next_one_is_as_far_off() -> None:
    """Tools that were loaded in the middle, and that nobody passes."""
    told, more = Told(), 70_000
    counts = [trimtab.count(HALF[:n], model=HAIKU) for n in (20, 22, 24, 26)]
    told.call(HALF[:20], counts[0])
    told.call(HALF[:22], counts[1] + more)
    assert told.cm.count(HALF[:22]) < counts[1] + 100
    told.call(HALF[:24], counts[2] + more)
    assert told.cm.count(HALF[:24]) == counts[2] + more
    told.call(HALF[:26], counts[3] + more)
    assert len(told.ignored) == 1


def test_two_charges_that_differ_and_one_that_is_recorded_twice_do_not_agree() -> None:
    told, count = Told(), trimtab.count(HALF[:20], model=HAIKU)
    told.call(HALF[:18], trimtab.count(HALF[:18], model=HAIKU))
    told.call(HALF[:20], 2 * count)
    told.cm.record({"input_tokens": 2 * count, "output_tokens": 9})
    told.call(HALF[:20], 4 * count)
    assert len(told.ignored) == 3
    assert abs(told.cm.count(HALF[:20]) - count) < 10


def test_a_charge_that_the_list_explains_is_believed() -> None:
    """The forecast holds 24,000 tokens of tools that are gone from this call on."""
    told = Told()
    told.call(HALF[:10], trimtab.count(HALF[:10], model=HAIKU) + 24_000)
    count = trimtab.count(HALF[:12], model=HAIKU)
    told.call(HALF[:12], count)
    assert not told.ignored
    assert told.cm.count(HALF[:12]) == count


def test_a_pasted_text_explains_a_prompt_of_twice_the_last_one() -> None:
    told = Told()
    told.call(HALF[:10], trimtab.count(HALF[:10], model=HAIKU))
    told.call(HALF[:40], trimtab.count(HALF[:40], model=HAIKU))
    assert not told.ignored


def test_a_doubt_goes_on_in_the_next_process() -> None:
    cm, more = trimtab.Compactor(HAIKU), 70_000
    state = None
    counts = [trimtab.count(HALF[:n], model=HAIKU) for n in (20, 22, 24)]
    for n, count in zip((20, 22, 24), counts, strict=True):
        session = cm.session("a", state)
        session.fit(HALF[:n])
        session.record({"input_tokens": count + more * (n > 20)})
        state = json.loads(json.dumps(session.state()))
    assert cm.session("a", state).count(HALF[:24]) == counts[2] + more
    del state["forecast"]["doubted"]
    assert cm.session("b", {**state, "session": "b"}).count(HALF[:24]) == counts[2] + more


# A server that cuts the prompt.

LOCAL, CUT = "qwen3-coder", 32_700


def test_a_charge_of_a_prompt_that_was_cut_is_not_believed() -> None:
    messages = talk(56_000, LOCAL)
    told, count = Told(LOCAL, window=128_000), trimtab.count(messages, model=LOCAL)
    for n in range(3):
        told.call(messages, CUT)
        assert told.cm.count(messages) == count
        assert len(told.ignored) == n + 1
    assert f"its 32,700 input tokens are far fewer than the {count:,} that were forecast" in told.ignored[0].reason


def test_an_agent_whose_server_cuts_its_prompts_is_counted_on() -> None:
    """The charge stays at the server's limit: each call was believed, and the list never compacted."""
    told, messages = Told(LOCAL, window=64_000, max_output=8_000), talk(60_000, LOCAL)
    for n in range(2, len(messages), 2):
        count = trimtab.count(messages[:n], model=LOCAL)
        fitted = told.call(messages[:n], min(count, CUT))
        if fitted.compaction is not None:
            break
        assert abs(told.cm.count(messages[:n]) - count) < 2_500
    assert 0.75 * 56_000 < count < 0.9 * 56_000
    assert told.ignored


def test_charges_below_the_count_that_grow_with_the_list_are_believed() -> None:
    """Another tokenizer than the one that was guessed, or a server that leaves old results out."""
    told = Told(LOCAL, window=128_000)
    messages = talk(60_000, LOCAL)
    for n in (20, 22, 24):
        told.call(messages[:n], trimtab.count(messages[:n], model=LOCAL) * 3 // 5)
    assert len(told.ignored) == 1
    assert told.cm.count(messages[:24]) == trimtab.count(messages[:24], model=LOCAL) * 3 // 5


# In files.


def claude_code(charges: list[int], model: str = HAIKU, step: int = 45_000) -> bytes:
    """A session whose messages grow by about ``step`` a call, billed so much."""
    lines: list[dict[str, Any]] = []
    for n, charge in enumerate(charges):
        words = {"role": "user", "content": "".join(LINE.format(n=n) for n in range(step // 16))}
        said: dict[str, Any] = {"id": f"m{n}", "role": "assistant", "model": model, "usage": {"input_tokens": charge}}
        said["content"] = [{"type": "text", "text": "a"}]
        before = f"a{n - 1}" if n else None
        lines.append({"type": "user", "message": words, "uuid": f"u{n}", "parentUuid": before, "sessionId": "s"})
        lines.append({"type": "assistant", "message": said, "uuid": f"a{n}", "parentUuid": f"u{n}", "sessionId": "s"})
    return "\n".join(map(json.dumps, lines)).encode()


@pytest.mark.parametrize(
    ("charges", "window"),
    [
        ([45_000, 90_000, 271_200], None),  # doubled, and then the file ends
        ([45_000, 271_200, 135_000], None),
        ([271_200, 90_000, 135_000], None),
        ([45_000, 90_000, 41_000_900], None),
        ([45_000, 170_000, 205_000], 1_000_000),  # the one before it is near
        ([45_000, 271_200, 290_000], 1_000_000),  # two agree
    ],
)
def test_one_charge_in_a_file_raises_no_window_by_itself(charges: list[int], window: int | None) -> None:
    found = trimtab.read(claude_code(charges))
    assert found.window == window
    cm = trimtab.Compactor(HAIKU)
    cm.learn(found)
    assert cm.window == (window or 200_000)


def test_one_charge_alone_in_a_file_that_lacks_its_prompt_has_nothing_against_it() -> None:
    cm = trimtab.Compactor("gpt-4o")
    found = written([300_000])
    found.messages[:] = [{"role": "user", "content": "go"}]
    cm.learn(found)
    assert cm.window == 300_000
    assert trimtab.read(claude_code([201_000], step=4_000)).window is None, "Claude Code has a default"


def test_after_a_doubled_charge_in_a_file_a_prompt_above_the_window_is_compacted() -> None:
    told = Told()
    told.cm.learn(trimtab.read(claude_code([45_000, 90_000, 271_200])))
    assert told.cm.window == 200_000
    assert ["exceed the window of 200,000" in event.reason for event in told.ignored] == [True]
    assert told.cm.fit(talk(271_000)).compaction is not None


def written(charges: list[int]) -> trimtab.Transcript:
    """A file of another agent, of a model with a window of 128,000."""
    messages = talk(30_000 * len(charges), "gpt-4o", step=15_000)
    usage = [Charged(2 * n + 1, charge, 9) for n, charge in enumerate(charges)]
    return trimtab.Transcript(messages, "openai_chat", "atif", model="gpt-4o", usage=usage)


@pytest.mark.parametrize(
    ("charges", "window"),
    [
        ([16_000, 47_000, 41_000_900], 128_000),
        ([16_000, 41_000_900, 41_030_900], 128_000),  # no model's window is 320 times what the tables say
        ([16_000, 47_000, 150_000], 128_000),
        ([41_000_900], 128_000),
        ([16_000, 140_000, 150_000], 150_000),
        ([16_000, 140_000, 150_000, 41_000_900], 150_000),
    ],
)
def test_in_a_file_of_any_agent_a_window_is_assumed_by_two_charges_that_agree(charges: list[int], window: int) -> None:
    cm = trimtab.Compactor("gpt-4o")
    cm.learn(written(charges))
    assert cm.window == window


def test_a_prompt_above_the_window_that_its_messages_explain_raises_it() -> None:
    found = written([16_000, 47_000])
    found.messages[:] = talk(150_000, "gpt-4o", step=50_000)
    found.usage[:] = [Charged(3, trimtab.count(found.messages, model="gpt-4o"), 9)]
    cm = trimtab.Compactor("gpt-4o")
    cm.learn(found)
    assert cm.window == found.usage[0].prompt


def test_a_file_with_a_doubled_charge_is_counted_by_the_right_one() -> None:
    counts: list[int] = []
    for charges in ([16_000, 47_000, 77_000], [16_000, 47_000, 2 * 77_000]):
        cm, found = trimtab.Compactor("gpt-4o", window=400_000), written(charges)
        cm.learn(found)
        counts.append(cm.count(found.messages))
    assert abs(counts[1] - counts[0]) < 2_000
