"""The offline summarizer says something of any zone, and a compaction of it raises only documented errors."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import trimtab
from support.models import CLAUDE, GPT_SMALL
from support.offline_cases import ask, quarter
from support.runs import MODELS, ran, said
from support.scale import scaled
from support.transcripts import PROVIDERS, png
from trimtab.cli import main
from trimtab.messages.envelope import wrap
from trimtab.policies import POLICIES
from trimtab.summarize.offline import offline

PICTURE = png(8, 8)
TEXTS = (
    "",
    " ",
    "\n\t \n",
    "\u200b\u200d\ufeff",
    "\x00\x07\x1b\x7f",
    "\ud800",
    "a\udfffb",
    ".",
    "\N{EM DASH}",
    "\N{GRINNING FACE}",
    "日本",
    "Fix it.",
    "word " * 300,
    "\u200b" * 500,
    "\ud83d" * 300,
    "\x01" * 800,
    "|" * 500,
    "```\n" * 50,
    "I'm sorry, I can't do that.",
    "## Requests\n- x",
    "[3 earlier messages were removed]",
    wrap("all is done", ref="0a", count=3),
    "Exit code 1",
)
BLOCKS = {
    "anthropic": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "\x0c"}},
        {"type": "thinking", "thinking": "\ud800", "signature": "s"},
        {"type": "unknown_block", "\udc00": "\x00"},
    ],
    "openai_chat": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}],
    "openai_responses": [{"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}"}],
    "bedrock": [{"image": {"format": "png", "source": {"bytes": PICTURE}}}, {"unknown": {"\udc00": "\x00"}}],
    "gemini": [
        {"inlineData": {"mimeType": "image/png", "data": PICTURE}},
        {"text": "\ud800", "thought": True},
        {"unknown": {"\udc00": 1}},
    ],
}


def text_block(provider: str, text: str) -> dict:
    kind = {"anthropic": "text", "openai_chat": "text", "openai_responses": "input_text"}.get(provider)
    return {"type": kind, "text": text} if kind else {"text": text}


@st.composite
def zones(draw, provider: str) -> list[dict]:
    """Messages of one kind, or of all: texts, blocks, calls with odd names, keys and arguments."""
    texts = st.sampled_from(TEXTS) if draw(st.booleans()) else st.just(draw(st.sampled_from(TEXTS)))
    kinds = draw(st.lists(st.sampled_from(["user", "assistant", "blocks", "run", "call"]), min_size=1, unique=True))
    messages = [said(provider, "user", draw(texts))]
    for at in range(draw(st.integers(2, 24))):
        kind = draw(st.sampled_from(kinds))
        if kind in {"user", "assistant"}:
            messages.append(said(provider, kind, draw(texts)))
        elif kind == "blocks":
            block = st.sampled_from(BLOCKS[provider]) | texts.map(lambda text: text_block(provider, text))
            key = "parts" if provider == "gemini" else "content"
            messages.append({"role": "user", key: draw(st.lists(block, max_size=3))})
        else:
            call, result = ran(provider, draw(texts | st.just({"\udfff": "\x00"})), draw(texts), at)
            name = draw(st.sampled_from(["bash", "a\udfff", "\u200b", " "]))
            call = json.loads(json.dumps(call).replace('"bash"', json.dumps(name)))
            messages += [call] if kind == "call" else [call, result]
    return messages


TAIL = ("user", "Now the last step."), ("assistant", "I take it. " * 40), ("user", "Go on.")
TARGETS = st.sampled_from(
    [{"target_tokens": 1}, {"target_tokens": 60}, {"target_share": 0.05}, {"target_share": 0.4}, {}]
)


@st.composite
def conversations(draw) -> tuple[str, list]:
    """A conversation that its provider accepts, with a zone of any kind."""
    provider = draw(st.sampled_from(PROVIDERS))
    zone = draw(zones(provider))
    messages = [*zone, *(said(provider, *one) for one in TAIL)]
    return provider, list(trimtab.repair(messages, provider=provider).messages)


@settings(max_examples=scaled(120), deadline=None)
@given(st.sampled_from(PROVIDERS).flatmap(zones), st.sampled_from([1, 2, 3, 5, 9, 40, 400]))
def test_the_offline_summarizer_says_something_of_any_zone(zone, limit):
    text = offline(ask(zone, limit))
    assert text.strip()
    assert quarter(text) <= limit
    text.encode()


@settings(max_examples=scaled(120), deadline=None)
@given(conversations(), st.sampled_from(sorted(POLICIES)), TARGETS, st.sampled_from(["compact", "acompact", "fit"]))
def test_a_compaction_of_any_zone_raises_nothing_and_restores(conversation, policy, target, verb):
    provider, messages = conversation
    cm = trimtab.Compactor(MODELS[provider], provider=provider, policy=policy, window=60_000)
    before = json.dumps(messages)
    try:
        if verb == "fit":
            fitted = cm.fit(messages)
            after, ref = fitted.messages, fitted.compaction and fitted.compaction.ref
        else:
            done = cm.compact(messages, **target) if verb == "compact" else asyncio.run(cm.acompact(messages, **target))
            after, ref = done.messages, done.ref
            assert "offline failed" not in done.reason.replace("offline failed: no token is left for a summary", "")
    except trimtab.NothingToCompactError:
        return
    assert json.dumps(messages) == before
    assert trimtab.validate(after, provider=provider) == []
    if ref:
        assert json.dumps(cm.restore(ref)) == before


@settings(max_examples=scaled(40), deadline=None)
@given(conversations(), st.sampled_from(sorted(POLICIES)))
def test_a_blank_answer_of_a_model_follows_the_policys_fallback(conversation, policy):
    provider, messages = conversation
    cm = trimtab.Compactor(
        MODELS[provider], provider=provider, policy=policy, window=60_000, summarizer=lambda _: " \n"
    )
    try:
        done = cm.compact(messages, target_share=0.3)
    except trimtab.NothingToCompactError:
        return
    except trimtab.SummaryError:
        assert cm.policy.fallback == ("error",)  # a model failed, and the policy asks for the error
        return
    assert trimtab.validate(done.messages, provider=provider) == []
    assert done.summarizer in {None, "offline"}


@settings(max_examples=scaled(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(conversation=conversations(), policy=st.sampled_from(sorted(POLICIES)))
def test_the_command_line_compacts_and_restores_any_zone(tmp_path, capsys, conversation, policy):
    provider, messages = conversation
    given, archive, out, back = (tmp_path / name for name in ("s.json", "a.db", "o.json", "back.json"))
    for old in (archive, out, back):
        old.unlink(missing_ok=True)
    given.write_text(json.dumps(messages))
    shape = ["--format", provider, "--policy", policy, "--model", MODELS[provider], "--target-share", "0.3"]
    stored = ["--archive", f"sqlite:///{archive}"]
    code = main(["compact", str(given), "-o", str(out), *shape, *stored])
    told = capsys.readouterr().err
    assert code == 0 or "no messages to compact" in told, told
    if ref := re.search(r"trimtab restore (\w+)", told):
        assert main(["restore", ref[1], "-o", str(back), *stored]) == 0, capsys.readouterr().err
        found = json.loads(back.read_text())
        assert (found if isinstance(found, list) else found["messages"]) == messages


@pytest.mark.parametrize("policy", POLICIES)
def test_a_zone_of_refusals_is_quoted_and_no_refusal(policy):
    talk = [
        {"role": role, "content": "I'm sorry, I can't do that."} for _ in range(30) for role in ("user", "assistant")
    ]
    cm = trimtab.Compactor(CLAUDE, policy=policy)
    try:
        done = cm.compact([*talk, said("anthropic", "user", "Go.")], target_share=0.5)
    except trimtab.NothingToCompactError:
        return
    assert "refused" not in done.reason


def test_a_lone_surrogate_in_a_dropped_request_or_an_error_does_not_reach_the_archive():
    def fails(_):
        raise RuntimeError("no \ud800 answer")

    talk = [said("openai_chat", role, "\ud83d" * 200) for _ in range(20) for role in ("user", "assistant")]
    for policy in POLICIES:
        cm = trimtab.Compactor(GPT_SMALL, policy=policy, summarizer=fails)
        try:
            done = cm.compact([*talk, said("openai_chat", "user", "Go.")], target_share=0.2)
        except (trimtab.NothingToCompactError, trimtab.SummaryError):
            continue
        if done.ref:
            assert cm.restore(done.ref) == [*talk, said("openai_chat", "user", "Go.")]


@pytest.mark.parametrize("number", [-(2**63), 2**63 - 1, -(2**63) - 1, 10**12, -(10**12)])
def test_no_number_in_a_call_stops_the_summary(number: int):
    call = {"type": "tool_use", "id": "t1", "name": "read", "input": {"v": number}}
    result = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [{"type": "text", "text": json.dumps({"n": number})}],
    }
    text = offline(ask([{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}], 200))
    assert text
    assert str(number) not in text
