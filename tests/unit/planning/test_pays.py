"""Pruning that pays: by the model's prices, by the cache hits in the usage, and by the time since the last call."""

import json
import math
from dataclasses import replace

import pytest

from support.models import CLAUDE_MILLION
from support.transcripts import PROVIDERS, transcript
from trimtab import Compactor, Counter, Model, Plan, Transcript, Usage
from trimtab.messages import BilledCall
from trimtab.models.model import Price
from trimtab.planning import Prune

SONNET = CLAUDE_MILLION  # $3, read .30, written 3.75: 0.1 and 1.25 of the input price
STEP = 6_400
WORDS = STEP * 6_400 // 17_430
"""Size of a result of ``STEP`` tokens, as ``transcript`` spells it."""


def tokens(messages):
    return int(Counter.for_model(SONNET).per_message(messages).sum())


class Loop:
    """An agent's loop: each call reads a file of ``STEP`` tokens, and the provider bills its cache."""

    def __init__(self, model=SONNET, *, warm=lambda call: True, pause=30.0, cached=True, hourly=False, **options):
        self.now, self.pause, self.warm, self.cached, self.hourly = 1_000_000.0, pause, warm, cached, hourly
        self.cm = Compactor(model, clock=lambda: self.now, **options)
        self.messages, self.calls, self.pruned, self.sent = transcript("u:9"), 0, [], []

    def step(self, pause=None):
        """Go through one call; ``pause`` seconds pass before it. Return the fitted input."""
        self.now += self.pause if pause is None else pause
        fitted = self.cm.fit(self.messages)
        self.messages, self.calls = list(fitted.messages), self.calls + 1
        if fitted.compaction:
            self.pruned.append((fitted.compaction.saved, fitted.compaction))
        prompt = tokens(self.messages)
        same = 0
        for old, new in zip(self.sent, self.messages, strict=False):
            if old is not new:
                break
            same += 1
        read = tokens(self.messages[:same]) if self.cached and same and self.warm(self.calls) else 0
        self.sent = self.messages
        write = prompt - read if self.cached else 0
        self.cm.record(
            {
                "input_tokens": 0 if self.cached else prompt,
                "cache_read_input_tokens": read,
                "cache_creation_input_tokens": write,
                "cache_creation": {"ephemeral_1h_input_tokens": write * self.hourly},
            }
        )
        self.messages = [*self.messages, *transcript(f"u:9 c{self.calls} r{self.calls}:{WORDS}")[1:]]
        return fitted

    def run(self, calls, pause=None):
        for _ in range(calls):
            self.step(pause)
        return self


def test_a_warm_cache_is_pruned_in_steps_of_the_least_cost():
    loop = Loop().run(40)
    gains = [gain for gain, _ in loop.pruned]
    # The window of 40,000 and the calls and texts between: sqrt(2 * 1.15 * P * 6,400 / 0.1).
    assert 2 <= len(gains) <= 3
    assert all(70_000 <= gain <= 100_000 for gain in gains), gains
    for _, done in loop.pruned:
        (edit,) = done.plan.edits
        assert isinstance(edit, Prune)
        saved = done.plan.savings
        rule = math.sqrt(2 * 1.15 * saved.rewrite * saved.growth / 0.1)
        assert saved.least == math.ceil(rule)
        assert saved.gain >= saved.least
        assert saved.a_call == pytest.approx(saved.gain * 0.3 / 1e6, rel=1e-6)
        assert saved.once == pytest.approx(saved.rewrite * 3.45 / 1e6, rel=1e-6)
        assert saved.calls == math.ceil(saved.once / saved.a_call)


def test_a_cache_that_has_expired_is_pruned_at_the_floor():
    loop = Loop().run(12)
    assert not loop.pruned, "a warm cache: about 35,000 tokens behind the window do not pay"
    loop.step(pause=299)
    assert not loop.pruned
    loop.step(pause=301)
    ((gain, done),) = loop.pruned
    assert 20_000 <= gain <= 60_000
    assert done.plan.savings.cold == 1.0
    assert done.plan.savings.once == 0.0


def test_below_the_floor_nothing_is_pruned_even_with_a_cold_cache():
    loop = Loop().run(8)
    loop.step(pause=4_000)
    assert not loop.pruned


def test_one_miss_proves_nothing_and_half_of_them_lower_the_amount():
    once = Loop(warm=lambda call: call != 6).run(13)
    assert not once.pruned
    half = Loop(warm=lambda call: call % 2).run(13)
    assert half.pruned
    assert half.pruned[0][0] < 40_000
    assert half.pruned[0][1].plan.savings.cold == pytest.approx(0.5, abs=0.1)


def test_a_cache_of_an_hour_is_warm_after_ten_minutes():
    loop = Loop(hourly=True).run(12)
    loop.step(pause=600)
    assert not loop.pruned
    loop.step(pause=3_700)
    assert loop.pruned


def test_a_session_file_tells_how_long_its_agent_keeps_a_cache_and_so_what_a_rewrite_costs():
    messages = transcript("u:9 " + " ".join(f"c{n} r{n}:{WORDS}" for n in range(30)))

    def once(hourly):
        calls = [BilledCall(20, Usage(9, 5, 90_000, 2_000, hourly)), BilledCall(22, Usage(9, 5, 92_000))]
        cm = Compactor(SONNET)
        cm.learn(Transcript(messages, "anthropic", "claude_code", model=SONNET, calls=calls))
        return cm.plan(messages, target_share=0.5).savings.once

    assert once(2_000) == pytest.approx(once(0) * (2.0 - 0.1) / (1.25 - 0.1))


def test_nothing_is_pruned_below_the_trigger_while_no_usage_tells_of_a_cache():
    loop = Loop(cached=False).run(30)
    assert not loop.pruned
    silent = Compactor(SONNET)
    messages = transcript("u:9 " + " ".join(f"c{n} r{n}:{WORDS}" for n in range(30)))
    assert silent.fit(messages).messages is messages


def test_unknown_prices_are_said_and_the_floor_alone_decides():
    model = replace(Model.named(SONNET), price=Price())
    loop = Loop(model).run(14)
    gain, done = loop.pruned[0]
    assert 20_000 <= gain <= 30_000
    assert "prices are unknown" in str(done.plan)
    assert (done.plan.savings.a_call, done.plan.savings.once, done.plan.savings.calls) == (None, None, None)


def test_plan_shows_the_money_and_survives_json():
    messages = transcript("u:9 " + " ".join(f"c{n} r{n}:{WORDS}" for n in range(30)))
    plan = Compactor(SONNET).plan(messages, target_share=0.5)
    assert "saves $" in str(plan)
    assert "no usage tells whether it is warm: taken as warm" in str(plan)
    assert "paid back after" in str(plan)
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.savings.gain == plan.tokens_before - plan.tokens_after
    body = json.loads(plan.to_json())
    assert body["savings"]["cold"] is None
    assert Compactor(SONNET).plan(messages, target_tokens=10**6).savings is None


def test_a_state_goes_on_with_the_readings():
    loop = Loop().run(12)
    state = json.loads(json.dumps(loop.cm._session.state()))
    other = Compactor(SONNET, clock=lambda: loop.now + 301).session(state=state)
    assert other.fit(loop.messages).compaction


def test_pruned_lists_are_valid_and_restore_to_the_originals():
    loop = Loop()
    for _ in range(40):
        given = [*loop.messages]
        done = loop.step().compaction
        if done:
            assert loop.cm.restore(done.ref) == given


@pytest.mark.parametrize("provider", PROVIDERS)
def test_pins_skipped_tools_and_the_last_group_stay(provider):
    cm = Compactor(SONNET, provider=provider, clock=lambda: 0.0)
    messages = transcript("u:9 " + " ".join(f"c{n} r{n}:9000" for n in range(12)), provider)
    session = cm.session("a")
    session.pin(messages[2])
    now = 0.0
    for end in range(1, len(messages) + 1, 2):
        now += 1
        fitted = session.fit(messages[:end])
        session.record(
            {"input_tokens": 0, "cache_creation_input_tokens": 9_000 * end // 2 + 9, "cache_read_input_tokens": 0}
        )
        if fitted.compaction:
            assert messages[2] in fitted.messages
            assert list(fitted.messages)[-2:] == messages[end - 2 : end]
