"""A range of messages is replaced by a summary alone: nothing else changes, and the list stays valid."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trimtab
from support.checker import check
from support.command import run
from support.models import CLAUDE, GPT
from support.transcripts import transcript

if TYPE_CHECKING:
    from pathlib import Path

PARTS = ("u:40", "a:60", "c{0} r{0}:200", "c{0} d{0} r{0}:90 s{0}:90")
MODELS = {"anthropic": CLAUDE, "openai_chat": GPT, "openai_responses": GPT}
LONG = "u:30 " + " ".join(f"c{n} r{n}:300" for n in range(12)) + " a:30 u:30"


def listed(provider: str, seed: int) -> list[dict]:
    """A valid list of calls, parallel ones too, and texts."""
    drawn = random.Random(seed)
    parts = [drawn.choice(PARTS[:3]).format(n) for n in range(12)]
    return transcript("u " + " ".join(parts), provider=provider)


@given(st.sampled_from(sorted(MODELS)), st.integers(0, 10_000), st.data())
def test_what_is_outside_stays_as_it_is_and_the_list_is_valid(provider: str, seed: int, data: st.DataObject) -> None:
    messages = listed(provider, seed)
    start = data.draw(st.integers(0, len(messages) - 1))
    stop = data.draw(st.integers(start + 1, len(messages)))
    cm = trimtab.Compactor(MODELS[provider], provider=provider, archive="memory")
    try:
        plan = cm.plan(messages, span=(start, stop))
    except trimtab.PlanError as error:
        near = re.search(r"; messages (\d+) to (\d+) can$", str(error))
        if near:
            start, stop = int(near[1]), int(near[2]) + 1
            plan = cm.plan(messages, span=(start, stop))  # what is named is so
        else:
            return
    done = cm.compact(messages, plan=plan)
    if not plan.edits:
        assert "would not make it smaller" in plan.reason
        return
    behind = len(messages) - stop
    assert [*done.messages[:start]] == messages[:start]
    assert [*done.messages[len(done.messages) - behind :]] == messages[stop:]
    assert check([*done.messages], provider) == check(messages, provider) == []
    assert done.tokens_after < done.tokens_before
    assert cm.restore(done.ref) == messages


def test_a_summary_stands_in_place_of_the_range_and_pins_of_it_stay_behind_it() -> None:
    messages = transcript(LONG, provider="anthropic")
    cm = trimtab.Compactor(CLAUDE, archive="memory")
    done = cm.compact(messages, plan=cm.plan(messages, span=(5, 15)))
    assert len(done.messages) == len(messages) - 9
    assert done.summary
    assert done.summary in done.messages[5]["content"]
    cm.pin(messages[8])
    pinned = cm.compact(messages, plan=cm.plan(messages, span=(5, 15)))
    assert messages[7] in pinned.messages
    assert messages[8] in pinned.messages


def test_ends_that_part_a_call_from_its_result_are_refused_with_the_nearest() -> None:
    messages = transcript(LONG, provider="anthropic")
    with pytest.raises(trimtab.PlanError, match=r"messages 6 to 15 cannot leave alone: .*; messages 5 to 16 can$"):
        trimtab.Compactor(CLAUDE).plan(messages, span=(6, 16))


def test_system_text_in_front_stays() -> None:
    messages = [{"role": "system", "content": "be brief"}, *transcript(LONG, provider="openai_chat")]
    with pytest.raises(trimtab.PlanError, match="what is in front of message 1 stays; messages 1 to 11 can"):
        trimtab.Compactor(GPT).plan(messages, span=(0, 12))


@pytest.mark.parametrize(
    ("span", "error", "words"),
    [
        ((3, 3), ValueError, "ends from 0 to 27, got 3 and 3"),
        ((-1, 3), ValueError, "got -1 and 3"),
        ((0, 99), ValueError, "got 0 and 99"),
        ((0, True), TypeError, "two ints, got int and bool"),
        ((1.0, 3), TypeError, "got float and int"),
    ],
)
def test_a_span_that_is_none_is_refused(span: tuple, error: type[Exception], words: str) -> None:
    messages = transcript(LONG, provider="anthropic")
    assert len(messages) == 27
    with pytest.raises(error, match=words):
        trimtab.Compactor(CLAUDE).plan(messages, span=span)


def test_a_span_and_a_target_are_two_wishes() -> None:
    with pytest.raises(ValueError, match="a span or a target, not both"):
        trimtab.Compactor(CLAUDE).plan(transcript(LONG), span=(1, 3), target_share=0.5)


def test_a_range_that_one_of_several_files_lacks_is_told_in_its_row(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("short.json", "long.json")]
    for path, talk in zip(paths, ("u:30 a:30 u:30", LONG), strict=True):
        path.write_text(json.dumps(transcript(talk, provider="anthropic")))
    words = ("plan", *map(str, paths), "--model", CLAUDE, "--json", "--from", "5")
    done = run(*words, "--to", "14")
    short, long = json.loads(done.stdout)["files"]
    assert done.returncode == 65
    assert "a span of 3 messages has ends from 0 to 3, got 5 and 15" in short["error"]
    assert long["tokens_after"] < long["tokens_before"]
    assert run(*words).returncode == 64


def test_the_commands_take_a_range_with_both_ends_included(tmp_path: Path) -> None:
    messages, file, out = transcript(LONG, provider="anthropic"), tmp_path / "list.json", tmp_path / "out.json"
    file.write_text(json.dumps(messages))
    shown = run("plan", str(file), "--model", CLAUDE, "--from", "5", "--to", "14")
    assert "--from 5 --to 14" in shown.stdout
    ends = ("--from", "5", "--to", "14", "-o", str(out), "--archive", "memory")
    done = run("compact", str(file), "--model", CLAUDE, *ends)
    assert done.returncode == 0, done.stderr
    written = json.loads(out.read_text())["messages"]
    assert written[:5] == messages[:5]
    assert written[6:] == messages[15:]
    for words, said in [
        (("--from", "5"), "a range has two ends: give --from and --to"),
        (("--from", "6", "--to", "5"), "--from 6 is behind --to 5"),
        (("--from", "6", "--to", "14"), "messages 5 to 14 can"),
        (("--from", "5", "--to", "14", "--target-share", "0.5"), "a span or a target, not both"),
    ]:
        refused = run("compact", str(file), "--model", CLAUDE, *words, "-o", str(out), "--force")
        assert refused.returncode != 0
        assert said in refused.stderr
