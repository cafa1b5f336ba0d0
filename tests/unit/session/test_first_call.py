"""A message that would fail a hundred turns later is an error in the first call that holds it, for every provider."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import anthropic
import openai
import pytest

import trimtab
from support.models import CLAUDE_NEW
from support.transcripts import PROVIDERS, transcript
from trimtab.policies import POLICIES

TALK = "u:9 " + " ".join(f"c{n} r{n}:20" for n in range(12)) + " a:5"
LONG = "u:9 " + " ".join(f"u:30 a:20 c{n} r{n}:300 a:60" for n in range(60)) + " u:9"


def says(provider: str, role: str, value: Any = "hi") -> dict[str, Any]:
    """A message of one text in a provider's shape; ``value`` may be what JSON cannot say."""
    if provider == "gemini":
        return {"role": role, "parts": [{"text": value}]}
    if provider == "bedrock":
        return {"role": role, "content": [{"text": value}]}
    return {"role": role, "content": value, **({"type": "message"} if provider == "openai_responses" else {})}


def orphan(provider: str) -> dict[str, Any]:
    """A result whose call is nowhere."""
    return transcript("u:9 c77 r77:5", provider)[-1]


def unserialisable(provider: str) -> dict[str, Any]:
    """A call whose arguments hold an object, where the shape has them as values; else a field of the message."""
    call = transcript("u:9 c55 r55:5", provider)[1]
    blocks = call.get("parts", call.get("content"))
    holder = {"gemini": "functionCall", "bedrock": "toolUse"}.get(provider)
    if provider == "anthropic":
        blocks[0]["input"] = {"x": object()}
    elif holder:
        blocks[0][holder]["args" if provider == "gemini" else "input"] = {"x": object()}
    else:
        call["metadata"] = {"x": object()}
    return call


ORPHAN = "unexpected_tool_use_id|orphan_tool|output_without_call|function_response_position"
WRONG: dict[str, tuple[Callable[[str], dict[str, Any]], str]] = {
    "a wrong role": (lambda provider: says(provider, "usr"), "unknown_role"),
    "an orphan": (orphan, ORPHAN),
    "an object": (unserialisable, "not JSON"),
}


def first(cm: trimtab.Compactor, path: str, messages: Any, **options: Any) -> trimtab.Fitted[Any]:
    return cm.fit(messages, **options) if path == "fit" else asyncio.run(cm.afit(messages, **options))


@pytest.mark.parametrize("path", ["fit", "afit"])
@pytest.mark.parametrize("wrong", sorted(WRONG))
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("named", [True, False])
def test_a_wrong_message_is_named_in_the_first_call_that_holds_it(
    provider: str, wrong: str, path: str, named: bool
) -> None:
    make, code = WRONG[wrong]
    options: Any = {"provider": provider} if named else {}
    for policy in POLICIES:
        cm, before = trimtab.Compactor(CLAUDE_NEW, policy=policy, **options), transcript(TALK, provider)
        assert first(cm, path, before).messages is before
        with pytest.raises(trimtab.MessageError, match=code) as raised:
            first(cm, path, [*before, make(provider)])
        assert raised.value.index == len(before)
        assert raised.value.path.startswith(f"messages[{len(before)}]")
        assert raised.value.hint
        assert first(cm, path, before).messages is before


@pytest.mark.parametrize("path", ["fit", "afit"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_only_new_messages_are_looked_at(provider: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from trimtab.session import decision

    looked: list[int] = []
    since: list[int] = []
    searches: list[int] = []
    not_json, validate, surrogates = decision._core.not_json, decision._core.validate, decision._core.surrogates

    def counted(messages: Any) -> Any:
        looked.append(len(messages))
        return not_json(messages)

    def validated(ledger: Any, **options: Any) -> Any:
        since.append(options["since"])
        return validate(ledger, **options)

    def searched(messages: Any) -> Any:
        searches.append(len(messages))
        return surrogates(messages)

    core = SimpleNamespace(not_json=counted, validate=validated, surrogates=searched)
    monkeypatch.setattr(decision, "_core", core)
    cm, messages = trimtab.Compactor(CLAUDE_NEW, provider=provider), transcript(TALK, provider)  # type: ignore[arg-type]
    for stop in (11, 11, 15, len(messages)):
        first(cm, path, messages[:stop])
    assert looked == [11, 4, len(messages) - 15], "a call of the core for all new messages"
    assert since == [0, 11, 15]
    assert not searches, "the ledger knows lone surrogates; no message is searched for them"


class Awaited:
    """A callable object; its ``summarize`` is a method of the same kind."""

    async def __call__(self, ask: Any, words: str = "The tests were mended.") -> str:
        return words

    async def summarize(self, ask: Any) -> str:
        return "The tests were mended."


async def awaited(ask: Any, words: str = "The tests were mended.") -> str:
    return words


ASYNC: dict[str, Any] = {
    "a function": awaited,
    "a callable object": Awaited(),
    "a bound method": Awaited().summarize,
    "a partial": partial(awaited, words="The tests were mended."),
    "a partial of a partial": partial(partial(awaited), words="The tests were mended."),
    "a partial of an object": partial(Awaited(), words="The tests were mended."),
    "a value": trimtab.summarize.Function(partial(Awaited()), label="mine"),
}


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("kind", sorted(ASYNC))
def test_an_asynchronous_summarizer_is_a_type_error_under_fit_and_works_under_afit(kind: str, policy: str) -> None:
    messages, hi = transcript(LONG), [{"role": "user", "content": "hi"}]
    rules = replace(POLICIES[policy], on_nothing="noop")
    cm = trimtab.Compactor(CLAUDE_NEW, policy=rules, summarizer=ASYNC[kind], window=12_000, max_output=1_000)
    for _ in range(2):
        with pytest.raises(TypeError, match="the summarizer is asynchronous: use afit"):
            cm.fit(hi)
    with pytest.raises(TypeError, match="the summarizer is asynchronous: use acompact"):
        cm.compact(messages)
    with pytest.raises(TypeError, match="the summarizer is asynchronous: use aoverflow"):
        cm.overflow("prompt is too long", messages)
    assert asyncio.run(cm.afit(hi)).messages is hi
    done = asyncio.run(cm.acompact(messages, target_share=0.3))
    if not policy.startswith("agentpg") and rules.summarize is not None:  # agentpg protects 40,000 tokens
        assert (done.summary or "").startswith("The tests were mended."), done.reason


@pytest.mark.parametrize("kind", sorted(ASYNC))
def test_an_asynchronous_hook_and_listener_of_any_kind_are_found(kind: str) -> None:
    function = getattr(ASYNC[kind], "function", ASYNC[kind])
    cm = trimtab.Compactor(CLAUDE_NEW, pre_compact=function)
    with pytest.raises(TypeError, match="the hook is asynchronous: use afit"):
        cm.fit([{"role": "user", "content": "hi"}])
    with pytest.raises(TypeError, match="a listener is not awaited"):
        trimtab.Compactor(CLAUDE_NEW, listeners=[function])


@pytest.mark.parametrize("asks", [True, False])
def test_an_asynchronous_counting_client_is_a_type_error_where_fit_asks_it(asks: bool) -> None:
    hi = [{"role": "user", "content": "hi"}]
    policy: Any = replace(POLICIES["agentpg"], on_nothing="noop")
    assert policy.counter.asks
    policy = policy if asks else replace(policy, counter=replace(policy.counter, asks=False))
    for client in (anthropic.AsyncAnthropic(api_key="k"), openai.AsyncOpenAI(api_key="k")):
        cm = trimtab.Compactor(CLAUDE_NEW, policy=policy, count_with=client)
        if not asks:
            assert cm.fit(hi).messages is hi
            continue
        with pytest.raises(TypeError, match="the counting client is asynchronous: use afit"):
            cm.fit(hi)
        assert asyncio.run(cm.afit(hi)).messages is hi
        assert cm.compact(hi).messages is hi
    for client in (anthropic.Anthropic(api_key="k"), openai.OpenAI(api_key="k")):
        assert trimtab.Compactor(CLAUDE_NEW, policy=policy, count_with=client).fit(hi).messages is hi


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_a_providers_summarizer_has_a_client_of_either_kind(kind: str) -> None:
    hi = [{"role": "user", "content": "hi"}]
    cm = trimtab.Compactor(CLAUDE_NEW, summarizer=kind)
    assert cm.fit(hi).messages is hi
    assert asyncio.run(cm.afit(hi)).messages is hi
    client = {"anthropic": anthropic.AsyncAnthropic, "openai": openai.AsyncOpenAI}[kind](api_key="k")
    with pytest.raises(ValueError, match="unknown summarizer"):
        trimtab.Compactor(CLAUDE_NEW, summarizer=client)
