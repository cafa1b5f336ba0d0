"""Counts that start from what was charged."""

import asyncio
import json
import statistics
from dataclasses import replace
from types import SimpleNamespace

import anthropic
import openai
import pytest
from werkzeug import Response

import trimtab
from support.models import CLAUDE_MILLION, GEMINI, GPT
from support.transcripts import transcript
from trimtab import Compactor, Counter, CountError, Model, Transcript, Usage, read
from trimtab.messages import Charged
from trimtab.planning import Keep, Messages
from trimtab.planning import forecast as forecasting
from trimtab.planning.forecast import ENOUGH, MAJORITY, Forecast
from trimtab.policies import POLICIES
from trimtab.session.learn import CHARGES
from trimtab.session.provider_count import KEPT

SONNET = CLAUDE_MILLION


def turns(count):
    """Prompts of a tool loop, each with one more call and its result."""
    messages = transcript("u:9 " + " ".join(f"c{n} r{n}:{20 + 7 * n}" for n in range(1, count + 1)))
    return [messages[: 1 + 2 * n] for n in range(count + 1)]


def charge(messages, model, more=0):
    """Return a charge that equals our own count, plus ``more`` tokens."""
    return Usage(int(Counter.for_model(model).per_message(messages).sum()) + more)


def test_the_next_prompt_is_the_last_charge_and_the_count_of_what_came_since():
    forecast, prompts = Forecast.of(SONNET), turns(3)
    assert forecast.count(prompts[0]) == charge(prompts[0], SONNET).prompt
    forecast.record({"input_tokens": 3, "cache_read_input_tokens": 20_000, "cache_creation_input_tokens": 7})
    grown = charge(prompts[1], SONNET).prompt - charge(prompts[0], SONNET).prompt
    assert forecast.count(prompts[1]) == 20_010 + grown
    assert "20,010  charged for the first 1 messages" in forecast.explain()


def test_a_change_of_what_was_sent_drops_the_anchor():
    forecast, prompts = Forecast.of(SONNET), turns(3)
    forecast.count(prompts[1])
    forecast.record(charge(prompts[1], SONNET, 5_000))
    changed = [{"role": "user", "content": "something else"}, *prompts[2][1:]]
    assert forecast.count(changed) == charge(changed, SONNET).prompt
    assert forecast.count(prompts[2]) == charge(prompts[2], SONNET).prompt + 5_000
    assert forecast.count(prompts[0]) == charge(prompts[0], SONNET).prompt, "a list cut behind the anchor"


def test_forecast_takes_the_vocabulary_that_the_charges_are_of():
    odd, forecast, off = "claude-opus-4-8", Forecast.of(SONNET), []
    for messages in turns(MAJORITY + 4):
        tokens, charged = forecast.count(messages), charge(messages, odd)
        off.append(tokens - charged.prompt)
        forecast.record(charged)
    assert all(off[1 : MAJORITY + 1])
    assert not any(off[MAJORITY + 1 :])
    assert forecast.counters[0].engine.endswith("claude-new")


def test_forecast_drops_a_vocabulary_that_never_was_closer():
    forecast = Forecast.of(SONNET)
    for messages in turns(12):
        forecast.count(messages)
        forecast.record(charge(messages, SONNET))
    assert [counter.engine.rsplit(" ", 1)[-1] for counter in forecast.counters] == ["claude-old"]


def test_record_reads_the_other_vocabulary_only_of_tool_turns_whose_messages_are_the_counted_ones():
    forecast, (first, second) = Forecast.of(SONNET), turns(2)[:2]
    forecast.count(first)
    forecast.record(charge(first, SONNET))
    assert not forecast.votes, "a turn that is compared with none before it"
    messages = list(second)
    forecast.count(messages)
    messages.append({"role": "assistant", "content": "the answer, appended before its charge is recorded"})
    forecast.record(charge(messages[:-1], "claude-opus-4-8"))
    assert [*forecast.votes] == [True]
    forecast.count(messages)
    messages[-1] = {"role": "assistant", "content": "another answer"}
    forecast.record(charge(messages, SONNET))
    assert len(forecast.votes) == 1
    forecast.count(messages)
    messages[:] = [None]
    forecast.record(Usage(1_234))
    assert (forecast.anchor.prompt, len(forecast.votes)) == (1_234, 1), "a list that nobody can read any more"


def test_the_other_vocabulary_reads_what_is_new_alone_until_it_takes_over(monkeypatch):
    lengths, scanned = [], forecasting.scan

    def scan(messages, *others):
        lengths.append(len(messages))
        return scanned(messages, *others)

    monkeypatch.setattr(forecasting, "scan", scan)
    forecast, lists = Forecast.of(SONNET), turns(MAJORITY + 3)
    for messages in lists:
        ledger = scanned(messages, forecast.counter, "anthropic")
        forecast.count(messages, ledger=ledger)
        forecast.record(charge(messages, "claude-opus-4-8"))
    # The list of the first vote that decides is read as a whole, and goes on from there.
    assert [length for length in lengths if length > 2] == [len(lists[MAJORITY])]


def test_an_offset_is_learned_only_where_turns_agree_on_it():
    for extra, learned in ((lambda n: -19, -19), (lambda n: 100 * (n == 3), 0), (lambda n: -n * n, 0)):
        forecast, more = Forecast.of(SONNET), 0
        for n, messages in enumerate(turns(ENOUGH + 3)):
            forecast.count(messages)
            more += extra(n)
            forecast.record(charge(messages, SONNET, more))
        assert forecast.offset == learned


def test_an_answer_with_hidden_thinking_is_what_its_output_was_charged():
    thinking = {"type": "thinking", "thinking": "", "signature": "s" * 4_000}
    call = {"type": "tool_use", "id": "a", "name": "Read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "one"}
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": [thinking, call]}]
    messages.append({"role": "user", "content": [result]})
    results = int(Counter.for_model(SONNET).per_message(messages)[2])
    forecast = Forecast.of(SONNET)
    forecast.count(messages[:1])
    forecast.record(Usage(1_000, output=777))
    assert forecast.count(messages) == 1_000 + 777 + results
    forecast.count(messages[:1])
    forecast.record(Usage(1_000, output=1))  # a placeholder: less than the call alone
    assert forecast.count(messages) == 1_000 + int(Counter.for_model(SONNET).per_message(messages)[1:].sum())


def test_a_compactor_goes_by_what_was_charged():
    cm, messages = Compactor(SONNET, window=20_000, max_output=2_000), transcript("u " + "u:40 a:40 " * 40 + "u")
    assert cm.count(messages) == trimtab.count(messages, model=SONNET)
    assert cm.fit(messages).messages is messages
    counted = cm.count(messages)
    cm.record({"input_tokens": counted + 10_000, "output_tokens": 5})  # tools that nobody told of
    longer = [*messages, *transcript("a:9 u:9")]
    assert cm.count(longer) > counted + 10_000
    assert "charged for the first" in cm.explain(longer)
    fitted = cm.fit(longer)
    assert fitted.compaction is not None
    assert len(fitted.messages) < len(longer)


def test_a_compactor_learns_what_a_session_file_s_calls_were_billed():
    assert Model.named(SONNET).prompt.encoding == "claude-old"
    messages, cm = turns(3)[-1], Compactor(SONNET)
    usage = [Charged(n, charge(messages[:n], SONNET, more=5_000).prompt, 9) for n in (1, 3, 5)]
    found = Transcript(messages, "anthropic", "claude_code", system="be brief", usage=usage)
    cm.learn(found)
    size = cm.size(messages, system="be brief")
    assert size.billed == usage[-1].prompt
    assert size.prompt == charge(messages, SONNET, more=5_000).prompt == cm.count(messages, system="be brief")
    assert size.counted == trimtab.count(messages, model=SONNET, system="be brief") < size.prompt
    assert f"{size.prompt - size.counted:,}  billed, and in no message" in cm.explain(messages, system="be brief")


@pytest.mark.shows("R0.39")
@pytest.mark.shared
def test_the_next_prompt_of_every_shared_session_is_known(shared):
    off = []
    for path in sorted((shared / "data" / "transcripts" / "claude-code").rglob("*.jsonl")):
        found = read(path)
        forecast = Forecast.of(found.model or SONNET)
        for charged in found.usage:
            tokens = forecast.count(found.messages[: charged.before], found.provider)
            if forecast.pending.loops:
                off.append(100 * abs(tokens - charged.prompt) / charged.prompt)
            forecast.record(Usage(charged.prompt, charged.output))
    assert len(off) > 1_000
    assert statistics.median(off) <= 0.02
    assert sorted(off)[int(0.95 * len(off))] <= 0.3


def counting(httpserver, answer, status=200):
    """A server on this machine that counts as the provider's endpoint does; what it was asked."""
    seen = []

    def handle(request):
        seen.append(request.get_json())
        return Response(json.dumps(answer), status, content_type="application/json")

    httpserver.expect_request("/v1/messages/count_tokens", method="POST").respond_with_handler(handle)
    return seen


def test_the_providers_count_is_asked_for_once_and_shown(httpserver):
    cm, messages = Compactor(SONNET), transcript("u:9 a:9 u:9")
    seen = counting(httpserver, {"input_tokens": 1_000})
    with anthropic.Anthropic(api_key="k", base_url=httpserver.url_for(""), max_retries=0) as client:
        assert "checked" not in cm.explain()
        found = cm.check(messages, client, system="Be brief.")
        assert cm.check([*messages], client, system="Be brief.") == found
        assert (found.answered, found.counted) == (1_000, trimtab.count(messages, model=SONNET, system="Be brief."))
        assert found.error == pytest.approx(found.counted / 1_000 - 1)
        assert cm.check(messages, client).counted != found.counted
    assert [(r["model"], r["messages"], r.get("system")) for r in seen] == [
        (SONNET, messages, "Be brief."),
        (SONNET, messages, None),
    ]
    assert "checked              1,000  by the provider" in cm.explain()
    assert cm.count(messages) == trimtab.count(messages, model=SONNET), "a check is no charge"


def test_the_providers_count_comes_through_the_asynchronous_client_too(httpserver):
    messages = transcript("u:9 a:9 u:9")
    seen = counting(httpserver, {"input_tokens": 77})

    async def both():
        async with anthropic.AsyncAnthropic(api_key="k", base_url=httpserver.url_for(""), max_retries=0) as client:
            cm = Compactor(SONNET)
            with pytest.raises(CountError, match="await acheck"):
                cm.check(messages, client)
            return [await cm.acheck(messages, client), await cm.acheck(messages, client)]

    first, second = asyncio.run(both())
    assert first == second
    assert (first.answered, len(seen)) == (77, 1)


def test_openais_endpoint_is_asked_for_items_of_responses(httpserver):
    seen = []

    def handle(request):
        seen.append(request.get_json())
        return Response('{"object": "response.input_tokens", "input_tokens": 41}', content_type="application/json")

    httpserver.expect_request("/v1/responses/input_tokens", method="POST").respond_with_handler(handle)
    items = transcript("u:9 a:5 c1 r1:9 u:9", provider="openai_responses")
    client = openai.OpenAI(api_key="k", base_url=httpserver.url_for("/v1"), max_retries=0)
    waiting = openai.AsyncOpenAI(api_key="k", base_url=httpserver.url_for("/v1"), max_retries=0)
    tools = [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}]
    cm = Compactor(GPT)
    found = cm.check(items, client, system="Be brief.", tools=tools)
    assert found == cm.check(items, client, system="Be brief.", tools=tools)
    assert found.answered == 41
    assert found.counted == trimtab.count(items, model=GPT, system="Be brief.", tools=tools)
    assert asyncio.run(cm.acheck(items[:1], waiting)).answered == 41
    client.close()
    assert seen == [
        {"model": GPT, "input": items, "instructions": "Be brief.", "tools": tools},
        {"model": GPT, "input": items[:1]},
    ]
    with pytest.raises(ValueError, match="messages of Chat Completions"):
        cm.check(transcript("u:9 c1 r1:9", provider="openai_chat"), client)


def test_a_count_that_the_provider_does_not_give_is_one_error_and_nothing_kept(httpserver):
    cm, messages = Compactor(SONNET), transcript("u:9")
    counting(httpserver, {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, 529)
    with anthropic.Anthropic(api_key="k", base_url=httpserver.url_for(""), max_retries=0) as client:
        for _ in range(2):
            with pytest.raises(CountError, match="token counting failed: .*busy"):
                cm.check(messages, client)
    assert "checked" not in cm.explain()
    with pytest.raises(ValueError, match=f"{GEMINI} has no counting endpoint"):
        Compactor(GEMINI).check(messages, client)
    silent = SimpleNamespace(messages=SimpleNamespace(count_tokens=lambda **_: SimpleNamespace(tokens=1)))
    with pytest.raises(CountError, match="got namespace"):
        cm.check(messages, silent)


def test_a_compactor_keeps_the_newest_answers_of_the_counting_endpoint():
    asked = []

    def count(**request):
        asked.append(request["messages"][0]["content"])
        return len(asked)

    cm, client = Compactor(SONNET), SimpleNamespace(messages=SimpleNamespace(count_tokens=count))
    texts = [f"text {n}" for n in range(KEPT + 3)]
    for text in [*texts, texts[3], texts[2]]:
        cm.check([{"role": "user", "content": text}], client)
    assert asked == [*texts, texts[2]]


FULL = "u:4000 a:4000 u:9 a:9 u:9"


@pytest.mark.shows("R2.35")
@pytest.mark.parametrize(("tokens", "compacts"), [(170_000, True), (169_999, False)])
@pytest.mark.parametrize("path", ["fit", "afit"])
def test_fit_asks_the_counting_endpoint_for_a_policy_that_asks_one(httpserver, tokens, compacts, path):
    """AgentPG compacts at 85 % of 200,000 tokens, as the provider counts them."""
    messages = transcript(FULL)
    seen = counting(httpserver, {"input_tokens": tokens})
    told = []
    policy = replace(POLICIES["agentpg"], keep=Keep((Messages(count=1),), min_messages=0), target=100)
    options = {"policy": policy, "listeners": [told.append]}
    if path == "fit":
        with anthropic.Anthropic(api_key="k", base_url=httpserver.url_for(""), max_retries=0) as client:
            cm = Compactor(SONNET, count_with=client, **options)
            fitted, _ = [cm.fit(messages, system="Be brief.", when="after_run") for _ in range(2)]
    else:

        async def fits():
            async with anthropic.AsyncAnthropic(api_key="k", base_url=httpserver.url_for(""), max_retries=0) as client:
                cm = Compactor(SONNET, count_with=client, **options)
                return [await cm.afit(messages, system="Be brief.", when="after_run") for _ in range(2)]

        fitted, _ = asyncio.run(fits())
    assert (fitted.compaction is not None) == compacts
    assert (fitted.messages is messages) == (not compacts)
    asked = [messages, [*fitted.messages]] if compacts else [messages]  # the result stands in for the list from then on
    assert [(r["model"], r["messages"], "system" in r) for r in seen] == [(SONNET, each, False) for each in asked]


def test_fit_never_asks_a_counting_endpoint_otherwise(httpserver):
    messages = transcript(FULL)
    seen = counting(httpserver, {"input_tokens": 190_000})
    with anthropic.Anthropic(api_key="k", base_url=httpserver.url_for(""), max_retries=0) as client:
        for name, policy in POLICIES.items():
            asks = policy.counter is not None and policy.counter.asks
            cm = Compactor(SONNET, policy=name, count_with=None if asks else client)
            for when in ("before_call", "after_step", "after_tool_batch", "after_run"):
                cm.fit(messages, when=when)
            cm.plan(messages)
            cm.count(messages)
    assert seen == []


@pytest.mark.shows("R2.36", "R2.49")
@pytest.mark.parametrize("model", [SONNET, GEMINI])
def test_fit_uses_the_estimate_where_the_counting_endpoint_fails(httpserver, caplog, model):
    messages = transcript(FULL)
    counting(httpserver, {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, 529)
    with anthropic.Anthropic(api_key="k", base_url=httpserver.url_for(""), max_retries=0) as client:
        cm = Compactor(model, policy="agentpg", provider="anthropic", count_with=client)
        assert cm.fit(messages, when="after_run").messages is messages
    assert "using the estimate" in caplog.text


def test_a_long_file_is_learned_from_its_newest_calls(monkeypatch):
    messages, usage = turns(200)[-1], []
    for n in range(200):
        prompt = 5_000 + int(Counter.for_model(SONNET).per_message(messages[: 1 + 2 * n]).sum())
        usage.append(Charged(1 + 2 * n, prompt, 9))
    found = Transcript(messages=messages, provider="anthropic", format="claude-code", usage=usage)
    every, newest = Compactor(SONNET), Compactor(SONNET)
    for charged in usage:
        every.count(messages[: charged.before])
        every.record(Usage(charged.prompt, charged.output))
    newest.learn(found)
    assert newest.explain() == every.explain()
    assert newest.count(messages) == every.count(messages) == charge(messages, SONNET, more=5_000).prompt
    read_lists = []
    counted = Forecast.count

    def count(self, messages, *more, **known):
        read_lists.append(len(messages))
        return counted(self, messages, *more, **known)

    monkeypatch.setattr(Forecast, "count", count)
    Compactor(SONNET).learn(found)
    assert len(read_lists) == CHARGES
