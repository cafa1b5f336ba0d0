"""Which window counts: the caller's, a refusal's, the session file's, the framework's profile's, then the tables'."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest

import trimtab
from support.models import CLAUDE, GPT_SMALL, GPT_SPLIT
from trimtab import Model
from trimtab.messages import Charged
from trimtab.models.model import SOURCES
from trimtab.policies import POLICIES

UNKNOWN = "a-model-of-one-s-own"


def talk(tokens: int) -> list[dict[str, str]]:
    """Requests and answers of about so many tokens."""
    rng = random.Random(7)
    words = [rng.choice(["alpha ", "beta ", "gamma ", "delta "]) for _ in range(tokens)]
    roles = ("user", "assistant")
    return [
        {"role": roles[n % 2], "content": "".join(words[at : at + 400])} for n, at in enumerate(range(0, tokens, 400))
    ]


def told(model: str, window: int | None = None, **options: Any) -> trimtab.formats.Transcript:
    lines = {"model": model, "messages": [{"role": "user", "content": "go"}], **options}
    return trimtab.read(json.dumps(lines | ({"window": window} if window else {})).encode())


def source(cm: Any) -> str:
    line = next(line for line in cm.explain().splitlines() if line.startswith("window"))
    return next(name for name, words in SOURCES.items() if line.endswith(words))


def test_the_sources_of_a_window_stand_above_each_other_in_their_order() -> None:
    """Each is told last to first and first to last: the same one counts."""
    says = {
        "argument": {"window": 150_000},
        "refusal": "prompt is too long: 101000 tokens > 100000 maximum",
        "file": told(GPT_SMALL, 120_000),
        "profile": 110_000,
    }
    for first in range(len(says)):
        names = [*says][first:]
        for order in (names, names[::-1]):
            cm = trimtab.Compactor(GPT_SMALL, **(says["argument"] if names[0] == "argument" else {}))  # type: ignore[arg-type]
            for name in order:
                if name == "refusal" and names[0] != "argument":
                    cm.overflow(says["refusal"], talk(30_000))
                elif name == "file":
                    cm.learn(says["file"])  # type: ignore[arg-type]
                elif name == "profile":
                    cm.learn_window(says["profile"])  # type: ignore[arg-type]
            assert source(cm) == names[0]
            assert cm.window == {"argument": 150_000, "refusal": 100_000, "file": 120_000, "profile": 110_000}[names[0]]
    assert source(trimtab.Compactor(GPT_SMALL)) == "table"
    assert source(trimtab.Compactor("deepseek-r1")) == "public"
    assert source(trimtab.Compactor(UNKNOWN)) == "assumed"
    assert source(trimtab.Compactor(UNKNOWN, policy="spec09")) == "policy"
    assert source(trimtab.Compactor("claude-sonnet-4-5", betas=["context-1m-2025-08-07"])) == "argument"
    assert source(trimtab.Compactor(Model.named(GPT_SMALL).limited(99_000))) == "argument"


def test_a_public_table_alone_does_not_raise_the_window_of_our_own_row() -> None:
    own = Model.named(CLAUDE)
    routed = Model.named("openrouter/anthropic/claude-sonnet-4.5")
    assert (routed.window, routed.source) == (own.window, "table")
    smaller = Model.named("github_copilot/gpt-4o")
    assert smaller.window < Model.named(GPT_SMALL).window
    assert smaller.source == "public"


def test_a_refusal_lowers_the_window_of_the_caller_and_raises_one_of_a_table() -> None:
    said = trimtab.Compactor(GPT_SMALL, window=60_000)
    said.overflow("prompt is too long: 71000 tokens > 50000 maximum", talk(70_000))
    assert (said.window, source(said)) == (50_000, "refusal")
    for options, window in (({}, 140_000), ({"window": 60_000}, 60_000)):
        cm, messages = trimtab.Compactor(UNKNOWN, **options), talk(150_000)  # type: ignore[arg-type]
        fitted = cm.overflow("This model's maximum context length is 140000 tokens, you requested 151000.", messages)
        assert cm.window == window
        assert cm.count(fitted.messages) < window
        if not options:
            assert "window raised from 128,000 (assumed) to 140,000 tokens (the provider's limit)" in fitted.reason
    within = trimtab.Compactor(GPT_SMALL)
    within.overflow("maximum context length is 999999 tokens", talk(20_000))
    assert within.window == 128_000, "our own count is within the window: it is not what was wrong"


def test_a_limit_that_a_refusal_states_holds_for_all_sessions_of_the_model() -> None:
    cm, messages = trimtab.Compactor(GPT_SMALL), talk(30_000)
    early = cm.session("early")
    cm.session("one").overflow("prompt is too long: 30100 tokens > 20000 maximum", messages)
    for session in (early, cm.session("late")):
        fitted = session.fit(messages)
        assert session.window == 20_000
        assert session.count(fitted.messages) < 20_000
    guessed = trimtab.Compactor(GPT_SMALL)
    guessed.session("one").overflow("prompt is too long", messages)
    other = guessed.session("other")
    assert other.fit(messages).messages is messages
    assert other.window == 128_000


def test_a_guess_of_one_session_is_not_told_to_others_by_a_limit_that_is_stated_later() -> None:
    cm, messages = trimtab.Compactor(GPT_SMALL), talk(30_000)
    one = cm.session("one")
    fitted = one.overflow("prompt is too long", messages)
    guess = one.window
    one.overflow("This model's maximum context length is 100000 tokens.", [*fitted.messages])
    assert one.window == guess
    other = cm.session("other")
    other.fit(messages)
    assert other.window == 100_000


def test_a_billed_prompt_above_the_window_is_kept_in_the_state() -> None:
    lines = {
        "model": GPT_SMALL,
        "messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "so"}],
    }
    transcript = trimtab.read(json.dumps(lines).encode())
    transcript = replace(transcript, usage=[Charged(1, 300_000, 9)])
    for policy in ("default", "spec09", "agentpg"):
        session = trimtab.Compactor(GPT_SMALL, policy=policy).session("a")
        session.learn(transcript)
        assert (session.window, source(session)) == (300_000, "assumed")
        assert trimtab.Compactor(GPT_SMALL, policy=policy).session("a", session.state()).window == 300_000
    said = trimtab.Compactor(GPT_SMALL, window=90_000)
    said.learn(transcript)
    assert said.window == 90_000


def test_a_later_guess_below_a_stated_limit_stays() -> None:
    cm, messages = trimtab.Compactor(GPT_SMALL), talk(30_000)
    messages = [*cm.overflow("prompt is too long: 30100 tokens > 20000 maximum", messages).messages]
    cm.overflow("prompt is too long", messages)
    lowered = cm.window
    assert lowered < 20_000
    cm.fit(messages)
    assert cm.window == lowered


def test_a_state_keeps_the_window_and_its_source() -> None:
    def made(**options: Any) -> trimtab.Session:
        return trimtab.Compactor(GPT_SMALL, **options).session("a")

    for teach, window, name in (
        (lambda one: one.learn_window(90_000), 90_000, "profile"),
        (lambda one: one.learn(told(GPT_SMALL, 80_000)), 80_000, "file"),
        (lambda one: one.overflow("prompt is too long: 30100 tokens > 20000 maximum", talk(30_000)), 20_000, "refusal"),
    ):
        session = made()
        teach(session)
        state = json.loads(json.dumps(session.state()))
        again = trimtab.Compactor(GPT_SMALL).session("a", state)
        assert (again.window, source(again)) == (window, name)
        again = trimtab.Compactor(GPT_SMALL, window=10_000).session("a", state)
        assert (again.window, source(again)) == (10_000, "argument")
        with pytest.raises(trimtab.ConfigError, match=r"state\.limits cannot be"):
            trimtab.Compactor(GPT_SMALL).session("a", state | {"limits": [1, 2, "hearsay"]})
    assert made().state()["limits"] is None


def test_a_profile_may_state_the_input_limit_of_the_table() -> None:
    cm = trimtab.Compactor(GPT_SPLIT)
    cm.learn_window(272_000)
    assert (cm.window, cm.budget().input_budget) == (400_000, 272_000)
    cm.learn_window(500_000)
    assert (cm.window, cm.budget().input_budget) == (500_000, 372_000)
    for wrong in (0, -3, 1, "128k", None, 1.5):
        with pytest.raises(ValueError, match="window|max_output"):
            cm.learn_window(wrong)  # type: ignore[arg-type]
    assert cm.window == 500_000


def test_a_file_of_another_model_says_nothing_about_the_window() -> None:
    cm = trimtab.Compactor(GPT_SMALL)
    cm.learn(told("gpt-4.1", 64_000))
    assert cm.window == 128_000
    cm.learn(told("openai/gpt-4o-2024-08-06", 64_000))
    assert cm.window == 64_000


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_a_profile_leaves_a_window_that_a_policy_fixes_and_a_file_does_not(policy: str) -> None:
    cm = trimtab.Compactor(GPT_SMALL, policy=policy)
    before = cm.window
    cm.learn_window(90_000)
    assert cm.window == (before if POLICIES[policy].trigger.fixed_window else 90_000)
    cm.learn(told(GPT_SMALL, 80_000))
    assert (cm.window, source(cm)) == (80_000, "file")


def test_a_second_limit_that_a_refusal_states_does_not_raise_the_first() -> None:
    messages = talk(20_000)
    for limits in ((8_000, 12_000), (12_000, 8_000)):
        cm = trimtab.Compactor(GPT_SMALL)
        session = cm.session("one")
        for limit in limits:
            session.overflow(f"prompt is too long: 20100 tokens > {limit} maximum", messages)
            assert session.window <= limit
        assert session.window == 8_000
        other = cm.session("other")
        other.fit(messages)
        assert other.window == 8_000


def test_a_stated_limit_without_room_for_messages_is_taken_by_no_session() -> None:
    cm, messages = trimtab.Compactor(GPT_SMALL), talk(4_000)
    tools = [{"type": "function", "function": {"name": "look", "description": "It looks. " * 300, "parameters": {}}}]
    session = cm.session("one")
    with pytest.raises(trimtab.OverflowedError, match="no room for messages"):
        session.overflow("prompt is too long: 5000 tokens > 500 maximum", messages, tools=tools)
    assert session.window == 128_000
    assert session.fit(messages, tools=tools).messages is messages
    assert session.window == 128_000
    cm.session("small").overflow(
        "prompt is too long: 5000 tokens > 1000 maximum", [{"role": "user", "content": "go " * 200}] * 9
    )
    assert session.fit(messages, tools=tools).messages is messages  # its tools alone have more
    assert session.window == 128_000
