"""The model that is asked for a summary, and what a request that reuses the session's cache sends."""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
from dataclasses import replace
from typing import Any

import anthropic
import openai
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

import trimtab
from support.loopback import DIALECTS
from support.models import CLAUDE_BOUND, CLAUDE_CHEAP, CLAUDE_HAIKU, CLAUDE_NEW, CLAUDE_OPUS, GPT, GPT_SPLIT
from support.transcripts import transcript
from trimtab import Model
from trimtab.compaction.effects import Write
from trimtab.compaction.handler import EffectHandler
from trimtab.events import Compacted, FellBack
from trimtab.policies import POLICIES
from trimtab.summarize import Anthropic, Function, Limits, OpenAI, Sizes, offers

SIZES = Sizes(zone=100_000, prompt=160_000, cached=150_000, answer=2_000)
BY_PRICE = POLICIES["default"].summarize
NAMED = POLICIES["spec09"].summarize
OWN = POLICIES["sven"].summarize


@pytest.fixture
def server() -> Any:
    """One that answers several at once."""
    with HTTPServer(threaded=True) as server:
        yield server


def found(writer: Any, stage: Any, session: str, sizes: Sizes = SIZES, *, reuse_cache: bool = False) -> list[Any]:
    made = offers(writer, writer.name, stage, session, Model.named(session), sizes, reuse_cache=reuse_cache)
    return [(offer.model, offer.reuse_cache, round(offer.cost, 4)) for offer in made]


def test_the_cheapest_of_cheap_model_same_model_and_cache_goes_first() -> None:
    # haiku 5.5: .10 and .50; sonnet 5.5: 2, 10 and .10 for what the cache has, in dollars a million. A request has
    # 2,000 tokens of task and state, and 3,000 of the messages behind the summary where the zone is sent alone.
    assert found(Anthropic(), BY_PRICE, CLAUDE_BOUND, reuse_cache=True) == [
        (CLAUDE_CHEAP, False, round((105_000 * 0.10 + 2_000 * 0.50) / 1e6, 4)),
        (CLAUDE_BOUND, True, round((12_000 * 2 + 150_000 * 0.10 + 2_000 * 10) / 1e6, 4)),
        (CLAUDE_BOUND, False, round((105_000 * 2 + 2_000 * 10) / 1e6, 4)),
    ]
    # gpt-5-nano reads its cache at .005, gpt-5-mini reads anew at .25
    assert found(OpenAI(), BY_PRICE, "gpt-5-nano", reuse_cache=True)[0] == ("gpt-5-nano", True, 0.0022)


def test_what_the_caller_names_is_asked_and_then_what_the_policy_names() -> None:
    assert found(Anthropic("claude-opus-5"), NAMED, CLAUDE_BOUND)[0][0] == "claude-opus-5"
    assert found(Anthropic(), NAMED, CLAUDE_BOUND)[0][0] == "claude-haiku-4-5-20251001"
    assert found(Anthropic(), OWN, CLAUDE_BOUND)[0][0] == CLAUDE_BOUND, "seed 003: the session's own"
    assert found(Anthropic(), OWN, GPT)[0][0] == CLAUDE_CHEAP, "which another provider does not have"
    assert found(OpenAI(base_url="http://localhost:1/v1"), OWN, GPT_SPLIT)[0][0] == "gpt-5.4-mini", "nor another server"
    assert found(OpenAI(), OWN, GPT_SPLIT)[0][0] == GPT_SPLIT
    (offer,) = offers(Function(str), "f", NAMED, GPT_SPLIT, Model.named(GPT_SPLIT), SIZES, reuse_cache=True)  # type: ignore[arg-type]
    assert (offer.author, offer.model, offer.reuse_cache) == ("f", "claude-haiku-4-5-20251001", False)


def test_a_retired_model_is_not_asked_and_that_is_said() -> None:
    stage = POLICIES["agentpg"].summarize
    assert stage is not None
    (offer,) = offers(Anthropic(), "", stage, CLAUDE_BOUND, Model.named(CLAUDE_BOUND), SIZES, reuse_cache=True)
    assert offer.model == CLAUDE_CHEAP
    assert str(offer) == "anthropic:claude-haiku-5-5, at most $0.0111; claude-3-5-haiku-20241022 is retired"


def test_a_price_that_is_not_known_is_above_every_other_and_a_ride_must_fit() -> None:
    assert found(OpenAI(), BY_PRICE, "gpt-9", reuse_cache=True)[0][0] == "gpt-5.4-mini"
    nan = found(OpenAI(), BY_PRICE, "gpt-9", reuse_cache=True)[1]
    assert math.isnan(nan[2])
    long = replace(SIZES, prompt=199_000)
    reusing = [reuse for _, reuse, _ in found(Anthropic(CLAUDE_HAIKU), BY_PRICE, CLAUDE_HAIKU, reuse_cache=True)]
    assert any(reusing)
    assert not any(r for _, r, _ in found(Anthropic(CLAUDE_HAIKU), BY_PRICE, CLAUDE_HAIKU, long, reuse_cache=True))


# --- through the providers' clients ---

SYSTEM = "You mend programs."
TOOL = {"name": "Read", "description": "reads a file", "input_schema": {"type": "object", "properties": {}}}
FUNCTION = {"type": "function", "function": {"name": "Read", "description": "reads", "parameters": {"type": "object"}}}


class Api:
    """A provider that answers everything, and keeps what it got, byte by byte."""

    def __init__(self, httpserver: Any, kind: str, answer: Any = "The tests were mended.") -> None:
        self.dialect = DIALECTS[kind]
        self.raw: list[bytes] = []
        self.running = self.most = 0
        self._answer, self._lock = answer, threading.Lock()
        base = httpserver.url_for("").rstrip("/")
        self.url = base if kind == "anthropic" else f"{base}/v1"
        httpserver.clear()
        httpserver.expect_request(self.dialect.path, method="POST").respond_with_handler(self._handle)

    def _handle(self, request: Request) -> Response:
        with self._lock:
            self.raw.append(request.get_data())
            self.running += 1
            self.most = max(self.most, self.running)
        time.sleep(0.05)
        with self._lock:
            self.running -= 1
        return Response(json.dumps(self.dialect.body(self._answer)), content_type="application/json")


def talk(shape: str) -> list[Any]:
    """Twelve tool turns and a new request; of Anthropic's with signed thinking and a picture."""
    turn = "u:9+i:300 t:30 c{0} r{0}:300 a:60 " if shape == "anthropic" else "u:9+i:300 c{0} r{0}:300 a:60 "
    return transcript("".join(turn.format(n) for n in range(12)) + "u:12", shape)


def charged(kind: str, tokens: int) -> dict[str, Any]:
    """A charge of which a cache gave nearly all."""
    if kind == "anthropic":
        return {"input_tokens": 20, "cache_read_input_tokens": tokens - 20, "output_tokens": 9}
    return {"prompt_tokens": tokens, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": tokens - 20}}


def agent(kind: str, api: Api, model: str, **options: Any) -> tuple[trimtab.Compactor, list[Any], dict[str, Any]]:
    """A session after one call, all of which its provider has in its cache."""
    shape = "anthropic" if kind == "anthropic" else "openai_chat"
    writer = (Anthropic if kind == "anthropic" else OpenAI)(model, api.url, "k", **options)
    told: list[Any] = []
    cm = trimtab.Compactor(model, provider=shape, summarizer=writer, listeners=[told.append])  # type: ignore[arg-type]
    beside: dict[str, Any] = {"system": SYSTEM, "tools": [TOOL if kind == "anthropic" else FUNCTION]}
    messages = talk(shape)
    sent = cm.fit(messages, **beside).request
    if kind == "anthropic":
        client = anthropic.Anthropic(base_url=api.url, api_key="k")
        client.messages.create(model=model, max_tokens=900, **sent)  # type: ignore[call-overload]
    else:
        openai.OpenAI(base_url=api.url, api_key="k").chat.completions.create(model=model, **sent)  # type: ignore[call-overload]
    cm.record(charged(kind, cm.count(messages, **beside)))
    return cm, told, beside


def part(raw: bytes, key: str) -> bytes:
    """Return the bytes of a key's value in a request body."""
    start = raw.index(f'"{key}":'.encode()) + len(key) + 3
    value, end = json.JSONDecoder().raw_decode(raw[start:].decode())
    assert value
    return raw[start : start + len(raw[start:].decode()[:end].encode())]


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
@pytest.mark.parametrize("path", ["compact", "acompact"])
def test_a_ride_sends_the_sessions_own_request_byte_by_byte_and_one_more_turn(
    httpserver: Any, kind: str, path: str
) -> None:
    api = Api(httpserver, kind)
    model = CLAUDE_OPUS if kind == "anthropic" else GPT_SPLIT
    cm, told, beside = agent(kind, api, model)
    shape = "anthropic" if kind == "anthropic" else "openai_chat"
    messages = [*talk(shape), *transcript("a:40 u:20", shape)]
    explained = cm.explain(messages, **beside)
    options: Any = {"target_share": 0.12, **beside}
    done = cm.compact(messages, **options) if path == "compact" else asyncio.run(cm.acompact(messages, **options))
    assert (done.summary or "").startswith("The tests were mended."), done.reason
    own, asked = api.raw
    for key in ("system", "tools", "model") if kind == "anthropic" else ("tools", "model"):
        assert part(own, key) == part(asked, key), key
    before = part(own, "messages")
    assert part(asked, "messages").startswith(before.removesuffix(b"]") + b",")
    *prefix, turn = json.loads(asked)["messages"]
    assert prefix == (messages if kind == "anthropic" else [{"role": "system", "content": SYSTEM}, *messages])
    assert turn["role"] == "user"
    assert "stay as they are" in turn["content"]
    (event,) = [event for event in told if isinstance(event, Compacted)]
    assert event.offer == done.offer
    assert done.offer is not None
    assert done.offer.reuse_cache
    assert f"{done.offer.author} reusing the session's cache, at most ${done.offer.cost:.4f}" in str(done.offer)
    assert "summary        " in explained
    assert " reusing the session's cache, at most $" in explained.split("summary        ")[1].splitlines()[0]
    assert done.usage["cost"] > 0
    if kind == "anthropic":
        assert b'"thinking"' in part(asked, "messages"), "thinking is part of the cached prompt"


def test_without_a_warm_cache_the_zone_goes_alone_as_data_and_without_thinking(httpserver: Any) -> None:
    api = Api(httpserver, "anthropic")
    cm, _, beside = agent("anthropic", api, CLAUDE_OPUS)
    cm.record({"input_tokens": 9_000, "output_tokens": 9})
    cm.count(talk("anthropic"), **beside)
    cm.record({"input_tokens": 9_000, "output_tokens": 9})
    done = cm.compact(talk("anthropic"), target_share=0.4, **beside)
    assert done.offer is not None
    assert not done.offer.reuse_cache
    body = json.loads(api.raw[-1])
    assert "tools" not in body
    assert len(body["messages"]) == 1
    assert "sig" not in json.dumps(body)


def test_a_list_that_has_changed_or_is_redacted_does_not_ride(httpserver: Any) -> None:
    api = Api(httpserver, "anthropic")
    cm, _, beside = agent("anthropic", api, CLAUDE_OPUS)
    changed = [{"role": "user", "content": "something else"}, *talk("anthropic")[1:]]
    done = cm.compact(changed, target_share=0.4, **beside)
    assert done.offer is not None
    assert not done.offer.reuse_cache
    writer = Anthropic(CLAUDE_OPUS, api.url, "k")
    hidden = trimtab.Compactor(CLAUDE_OPUS, summarizer=writer, redact=lambda text: text.replace("plan", "***"))
    messages = talk("anthropic")
    hidden.fit(messages, **beside)
    hidden.record(charged("anthropic", hidden.count(messages, **beside)))
    hidden.fit(messages, **beside)
    done = hidden.compact(messages, target_share=0.4, **beside)
    assert done.offer is not None
    assert not done.offer.reuse_cache
    assert b"plan" not in api.raw[-1]


def test_a_rides_options_go_along_and_an_answer_with_a_call_is_asked_for_anew(httpserver: Any) -> None:
    api = Api(httpserver, "anthropic")
    thinking = {"type": "enabled", "budget_tokens": 1_024}
    cm, _, beside = agent("anthropic", api, CLAUDE_OPUS, options={"thinking": thinking})
    replies = [api.dialect.tool_call("Let me look."), api.dialect.body("The tests were mended.")]

    def handle(request: Request) -> Response:
        api.raw.append(request.get_data())
        return Response(json.dumps(replies[len(api.raw) - 2]), content_type="application/json")

    httpserver.clear()
    httpserver.expect_request(api.dialect.path, method="POST").respond_with_handler(handle)
    done = cm.compact(talk("anthropic"), target_share=0.4, **beside)
    assert (done.summary or "").startswith("The tests were mended."), done.reason
    first, second = (json.loads(raw) for raw in api.raw[1:])
    assert first["thinking"] == second["thinking"] == thinking
    assert first["messages"][:-1] == second["messages"][:-1]
    assert "could not be used: the answer holds tool_use" in second["messages"][-1]["content"]


def fails_first(httpserver: Any, api: Api, refused: int, how: Any) -> None:
    """After the session's own call, so many are answered by ``how``, the rest as ever."""
    own = len(api.raw)

    def handle(request: Request) -> Response:
        api.raw.append(request.get_data())
        if len(api.raw) - own <= refused:
            response: Response = how()
            return response
        return Response(json.dumps(api.dialect.body("The tests were mended.")), content_type="application/json")

    httpserver.clear()
    httpserver.expect_request(api.dialect.path, method="POST").respond_with_handler(handle)


@pytest.mark.parametrize("path", ["compact", "acompact"])
@pytest.mark.parametrize("status", [400, 413])
@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_a_ride_that_is_refused_is_followed_by_the_zone_alone(
    httpserver: Any, kind: str, status: int, path: str
) -> None:
    api = Api(httpserver, kind)
    cm, told, beside = agent(kind, api, CLAUDE_OPUS if kind == "anthropic" else GPT_SPLIT)
    refusal = Response(json.dumps(api.dialect.error("not today")), status, content_type="application/json")
    fails_first(httpserver, api, 1, lambda: refusal)
    messages = talk("anthropic" if kind == "anthropic" else "openai_chat")
    options: Any = {"target_share": 0.12, **beside}
    done = cm.compact(messages, **options) if path == "compact" else asyncio.run(cm.acompact(messages, **options))
    assert (done.summary or "").startswith("The tests were mended."), done.reason
    assert "not today" in done.reason
    assert done.failed == ""
    _, reusing, plain = (json.loads(raw) for raw in api.raw)
    assert "tools" in reusing
    assert "tools" not in plain
    assert len(plain["messages"]) <= 2 < len(reusing["messages"])
    assert done.offer is not None
    assert not done.offer.reuse_cache
    assert done.summarizer == done.offer.author
    (fell,) = [event for event in told if isinstance(event, FellBack)]
    assert fell.instead == "plain"
    assert "not today" in fell.reason


def test_both_ways_failed_is_the_policys_fallback_and_both_are_told(httpserver: Any) -> None:
    api = Api(httpserver, "anthropic")
    cm, told, beside = agent("anthropic", api, CLAUDE_OPUS)
    fails_first(httpserver, api, 9, lambda: Response(json.dumps(api.dialect.error("broken")), 400))
    done = cm.compact(talk("anthropic"), target_share=0.12, **beside)
    assert (len(api.raw), done.summarizer, done.offer) == (3, "offline", None)
    assert [event.instead for event in told if isinstance(event, FellBack)] == ["plain", "offline"]
    assert "broken" in done.failed


def test_the_zone_alone_has_the_time_that_the_first_request_left() -> None:
    limits = Limits(seconds=60.0, tries=2)
    outside = EffectHandler(None, Function(lambda _: "", limits=limits), lambda _: None, ())  # type: ignore[arg-type]
    assert outside.limits(Write(None, None)) is limits  # type: ignore[arg-type]
    left = outside.limits(Write(None, None, time.monotonic() - 45.0))  # type: ignore[arg-type]
    assert left.seconds == pytest.approx(15.0, abs=5.0)
    assert left.tries == 2
    with pytest.raises(trimtab.SummaryError, match="the 60 s are over"):
        outside.limits(Write(None, None, time.monotonic() - 61.0))  # type: ignore[arg-type]


def test_the_policys_model_is_the_one_that_is_asked(httpserver: Any) -> None:
    api = Api(httpserver, "anthropic")
    writer = Anthropic(base_url=api.url, api_key="k")
    messages = talk("anthropic")
    asked = {}
    for name in ("default", "spec09", "goat", "sven", "opencode"):
        cm = trimtab.Compactor(CLAUDE_NEW, policy=name, summarizer=writer, window=9_000, max_output=900)
        assert cm.compact(messages).summary, name
        asked[name] = json.loads(api.raw[-1])["model"]
    assert asked == {
        "default": CLAUDE_CHEAP,
        "spec09": "claude-haiku-4-5-20251001",
        "goat": "claude-haiku-4-5-20251001",
        "sven": CLAUDE_NEW,
        "opencode": CLAUDE_NEW,
    }


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_a_zone_ten_times_the_summarizers_window_is_summarized_whole_in_bounded_calls(server: Any, kind: str) -> None:
    api = Api(server, kind)
    messages: list[Any] = transcript("u:300 a:300 " * 60 + "u:9", "openai_chat")
    facts = {2: "START-7319", 60: "MIDDLE-5501", 111: "END-9948"}
    for place, fact in facts.items():
        messages[place] = {**messages[place], "content": messages[place]["content"] + " " + fact}
    counter = trimtab.Counter.for_model(GPT_SPLIT)
    total = int(counter.per_message(messages, provider="openai_chat").sum())
    window = total // 11
    writer = (Anthropic if kind == "anthropic" else OpenAI)("some-model", api.url, "k", window=window)
    done = trimtab.Compactor(GPT_SPLIT, summarizer=writer).compact(messages, target_share=0.05)
    zone = done.plan.zone()
    assert zone is not None
    leaving = int(counter.per_message(messages[zone.start : zone.stop], provider="openai_chat").sum())
    assert leaving >= 10 * window
    assert (done.summary or "").startswith("The tests were mended."), done.reason
    sent = b"\n".join(api.raw).decode()
    assert all(fact in sent for fact in facts.values())
    assert len(api.raw) > 10
    assert 1 < api.most <= 4
    assert done.usage["calls"] == len(api.raw)
