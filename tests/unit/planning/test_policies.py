"""Presets: each decides what its document says, and whatever it does is valid."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
import trimtab
from support import transcripts
from support.models import CLAUDE
from support.scale import scaled
from trimtab import _core, config
from trimtab.counting import Calibration
from trimtab.planning import Messages, Terms, Tokens, Trigger, Turns
from trimtab.planning.stages.sizes import PLACEHOLDER
from trimtab.policies import POLICIES

PRESETS = sorted(POLICIES)


@st.composite
def columns(draw: Any) -> tuple[Any, ...]:
    """Costs, safe cuts, cuts, summaries, pins and head of a transcript."""
    n = draw(st.integers(0, 12))
    flags = st.lists(st.booleans(), min_size=n, max_size=n)
    costs = draw(st.lists(st.integers(0, 40), min_size=n, max_size=n))
    safe = [True, *draw(flags)]
    cuts = [s and c for s, c in zip(safe, [True, *draw(flags)], strict=True)]
    return costs, safe, cuts, draw(flags), draw(flags), draw(st.integers(0, min(n, 2)))


KEEPERS = st.lists(
    st.tuples(st.sampled_from(["tokens", "messages", "summaries", "pins"]), st.integers(0, 80)), max_size=4
)


@pytest.mark.shows("R2.27")
@settings(max_examples=scaled(400))
@given(columns(), KEEPERS, st.sampled_from(["own", "back", "forward"]), st.integers(0, 3))
def test_partition_means_each_keeper_takes_what_the_ones_before_it_left(
    table: tuple[Any, ...], keepers: list[tuple[str, int]], snap: str, least: int
) -> None:
    costs, safe, cuts, summary, pinned, head = table
    arrays = [np.array(costs, dtype="uint32"), *(np.array(c, dtype=bool) for c in (safe, cuts, summary, pinned))]
    zones = _core.partition(*arrays, keepers=keepers, snap=snap, head=head, least=least)
    rules = {"keepers": keepers, "snap": snap, "head": head, "least": least}
    assert zones.tolist() == oracle.partition(costs, safe, cuts, summary, pinned, **rules)


def test_the_default_prunes_no_result_that_is_smaller_than_a_placeholder() -> None:
    prune = POLICIES["default"].prune
    assert prune is not None
    assert prune.min_tokens == PLACEHOLDER


def test_a_keeper_or_a_snap_that_there_is_not_is_named() -> None:
    no = np.zeros(0, dtype=bool)
    cut = np.ones(1, dtype=bool)
    with pytest.raises(ValueError, match='unknown keeper "days"'):
        _core.partition(np.zeros(0, "uint32"), cut, cut, no, no, keepers=[("days", 1)])
    with pytest.raises(ValueError, match='unknown snap "up"'):
        _core.partition(np.zeros(0, "uint32"), cut, cut, no, no, keepers=[], snap="up")


def test_a_keeper_of_less_than_nothing_and_an_unknown_step_are_named_when_they_are_made() -> None:
    for made in (
        lambda: Tokens(count=-1),
        lambda: Tokens(window_share=-0.1),
        lambda: Messages(share=-1.0),
        lambda: Turns(count=-2),
    ):
        with pytest.raises(ValueError, match="need (count|window_share|share) >= 0, got -"):
            made()
    with pytest.raises(ValueError, match="falls back to 'guess'; steps are offline, drop"):
        replace(POLICIES["default"], fallback=("guess",))


@pytest.mark.shows("R0.30", "R1.28")
@settings(max_examples=scaled(100))
@given(st.lists(st.text(max_size=30), min_size=1, max_size=4), st.booleans(), st.integers(0, 5), st.integers(1, 9))
def test_an_estimate_drops_the_fraction_once_a_text_or_once_a_message(
    texts: list[str], joined: bool, least: int, per: int
) -> None:
    message = {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}
    for unit in ("bytes", "chars", "utf16"):
        for rounding in ("floor", "ceil", "half_up"):
            counter = trimtab.Counter(f"chars/{per} {unit} {rounding}", message=4, least=least, joined=joined)
            want = oracle.estimate(texts, unit=unit, rounding=rounding, joined=joined, message=4, least=least, per=per)
            assert counter.per_message([message], provider="anthropic").tolist() == [want]


def test_flat_numbers_stand_for_calls_results_and_pictures() -> None:
    counter = trimtab.Counter("chars/4 bytes floor", call=10, result=20, image=765, low=85)
    call = {"type": "function", "id": "1", "function": {"name": "f", "arguments": "{}"}}
    picture = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
    dim = {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}}
    talk = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "abcd"},
        {"role": "user", "content": [picture, dim]},
    ]
    assert counter.per_message(talk, provider="openai_chat").tolist() == [10, 21, 850]


def test_five_systems_fire_at_five_places() -> None:
    """A window of 200,000, an answer of 16,384, 10,000 of system text: where the documents differ."""

    def fires_at(trigger: Trigger) -> int:
        low, high = 0, 400_000
        while low < high:
            at = (low + high) // 2
            terms = Terms(window=200_000, output=16_384, messages=at, system=10_000, input=at)
            low, high = (low, at) if trigger.fires(terms) else (at + 1, high)
        return low

    found = {name: fires_at(POLICIES[name].trigger) for name in ("spec09", "goat", "agentpg", "sven", "opencode")}
    assert found == {"spec09": 133_617, "goat": 138_893, "agentpg": 170_000, "sven": 127_712, "opencode": 183_617}


def test_a_calibration_moves_slowly_and_never_leaves_its_bounds() -> None:
    calibration = Calibration()
    assert calibration.update(1.0, 130, 100) == pytest.approx(1.06)
    assert calibration.update(1.0, 10_000, 100) == 3.0
    assert calibration.update(0.5, 1, 100) == 0.5
    assert calibration.update(1.3, 5, 0) == 1.3
    assert calibration.update(1.3, 0, 5) == 1.3


def session(provider: str, rounds: int = 30) -> list[Any]:
    spec = " ".join(f"u:{20 + n} a:30+c{n} r{n}:{200 + 10 * n} a:25" for n in range(rounds))
    return transcripts.transcript(spec + " u:12", provider)


@pytest.mark.parametrize("provider", ["anthropic", "openai_chat", "openai_responses"])
@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_gives_back_a_smaller_valid_list_in_every_shape(name: str, provider: Any) -> None:
    messages = session(provider)
    cm = trimtab.Compactor(CLAUDE, provider=provider, window=12_000, max_output=2_000, policy=name)
    before = json.dumps(messages)
    seen: list[Any] = []
    while len(messages) > 2:
        try:
            done = cm.compact(messages)
        except trimtab.PlanError:
            assert name.startswith("agentpg")
            break
        assert not trimtab.validate(done.messages, provider=provider)
        if done.ref is None:
            break
        assert done.tokens_after < done.tokens_before
        assert cm.restore(done.ref) == messages
        seen.append(done)
        messages = [*done.messages]
    assert json.dumps(session(provider)) == before
    assert seen or name.startswith("agentpg")


@pytest.mark.parametrize("name", [name for name in PRESETS if not name.startswith("agentpg")])
def test_a_summary_is_not_summarized_alone(name: str) -> None:
    """To compact a compacted list again and again leaves most of what the first summary told."""
    messages: list[Any] = [
        {"role": "user", "content": "Never push to main; ask before deleting files. Mend the parser."}
    ]
    for n in range(40):
        asks = f"Now do task {n + 1}: change src/file_{n}.py, never touch LICENSE_{n}."
        messages.append({"role": "assistant", "content": f"I mended part {n}. {'words and more ' * 60}"})
        messages.append({"role": "user", "content": f"{asks} {'because ' * 40}"})
    session = trimtab.Compactor(CLAUDE, window=20_000, max_output=2_000, policy=name).session("a")
    told = []
    for _ in range(6):
        messages = [*session.compact(messages).messages]
        told.append(sum(f"LICENSE_{n}." in json.dumps(messages) for n in range(40)))
    assert told[0] >= 25
    assert told[-1] >= told[0] * 2 // 3


def test_nobody_is_asked_for_a_summary_that_could_not_be_smaller_than_what_it_replaces() -> None:
    asked: list[Any] = []

    def write(ask: Any) -> str:
        asked.append(ask)
        return "short"

    keys = {"strategy": "summarization", "protected_tokens": 20, "preserve_last_n": 1}
    cm = trimtab.Compactor(CLAUDE, policy=config.configure("agentpg", keys), summarizer=write)
    few = [{"role": ("user", "assistant")[n % 2], "content": "a few words"} for n in range(7)]
    done = cm.compact(few)
    assert (asked, done.ref, done.messages) == ([], None, few)
    assert "not make it smaller" in done.reason
    done = cm.compact([{"role": "user", "content": "many words " * 999}, *few[1:]])
    assert asked
    assert done.summary == "short"
