"""An agent that works for hundreds of turns against a server as strict as the provider: it refuses nothing."""

import asyncio

import anthropic
import pytest

import trimtab
from support.models import CLAUDE_BOUND, CLAUDE_NEW
from support.strict import PATH, SYSTEM, TOOLS, Agent, Strict
from trimtab.policies import POLICIES

BINDS, BINDS_NOT = CLAUDE_BOUND, CLAUDE_NEW
WINDOW = 200_000
"""The window that the documents are written for: their reserves (16,384 and 32,000 tokens), protected tokens (40,000),
and targets (80,000) are numbers. In a smaller window ``agentpg`` aims above its trigger, and the lean counts of
``spec09`` and ``goat`` (a quarter of the bytes, pictures nothing) pass it later than the provider's limit."""

OUTPUT = 4_000
LINES = (10, 100, 200, 400)
"""A batch of three such results is 24,000 tokens at most, less than each document leaves above its trigger."""

RUNS = {"agentpg": (10, 20, 40), "agentpg_summarization": (10, 20, 40)}
"""They look after a run alone, so that a whole run has to fit above the trigger: 30,000 tokens."""

TURNS, SHORT = 300, 40
MET = {"parallel batches", "pictures", "answers stopped", "tools stopped"}


def request(fitted, model):
    """The keywords of a call."""
    known = {"model": model, "max_tokens": OUTPUT, "tools": TOOLS, **fitted.request}
    return {**known, "thinking": {"type": "adaptive", **fitted.request.get("thinking", {})}}


def play(httpserver, policy, turns, *, model=BINDS, objects=False, thinking="strip", how="sync"):
    """The server after so many turns, the compactions, and what the agent met with."""
    server = Strict(model, WINDOW)
    httpserver.clear()
    httpserver.expect_request(PATH).respond_with_handler(server.handle)
    options = {"api_key": "k", "base_url": httpserver.url_for("/"), "max_retries": 0}
    sent = {"system": SYSTEM, "tools": TOOLS}
    rounds = []

    def kept(fitted):
        agent.messages = list(fitted.messages)
        rounds.extend([fitted.compaction] if fitted.compaction else [])
        return fitted

    def work(cm):
        with anthropic.Anthropic(**options) as client:
            for _ in range(turns):
                agent.goes_on()
                reply = client.beta.messages.create(**request(kept(cm.fit(agent.messages, **sent)), model))
                cm.record(reply.usage)
                for moment in agent.answered(reply):
                    kept(cm.fit(agent.messages, **sent, when=moment))

    async def awork(cm):
        async with anthropic.AsyncAnthropic(**options) as client:
            for _ in range(turns):
                agent.goes_on()
                fitted = kept(await cm.afit(agent.messages, **sent))
                reply = await client.beta.messages.create(**request(fitted, model))
                cm.record(reply.usage)
                for moment in agent.answered(reply):
                    kept(await cm.afit(agent.messages, **sent, when=moment))

    with trimtab.Compactor(model, policy=policy, window=WINDOW, thinking=thinking) as cm:
        agent = Agent(objects, cm.ingest, RUNS.get(policy, LINES))
        try:
            work(cm) if how == "sync" else asyncio.run(awork(cm))
        except anthropic.BadRequestError as error:
            pytest.fail(f"{policy}: refused at request {server.served}, {len(rounds)} compactions: {error.message}")
    assert server.refused == []
    assert server.served == turns
    return server, rounds, agent.met


@pytest.mark.parametrize("policy", POLICIES)
def test_no_policy_s_list_is_refused(httpserver, policy):
    is_async = list(POLICIES).index(policy) % 2
    _, rounds, _ = play(httpserver, policy, SHORT, objects=is_async, how="async" if is_async else "sync")
    assert rounds, "a run in which nothing was compacted shows nothing"


def test_three_hundred_turns_are_taken(httpserver):
    _, rounds, met = play(httpserver, "default", TURNS)
    assert len(rounds) > 5
    assert met.keys() == MET


def test_thinking_that_is_kept_behind_an_edit_is_marked_and_taken(httpserver):
    server, rounds, _ = play(httpserver, "default", SHORT, thinking="mark")
    assert rounds
    assert server.dropped, "the server was let drop what an edit broke"


def test_thinking_that_nothing_binds_is_kept_and_taken(httpserver):
    server, rounds, _ = play(httpserver, "default", SHORT, model=BINDS_NOT)
    assert rounds
    assert not server.dropped


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "thinking"), [(BINDS, "strip"), (BINDS, "mark"), (BINDS_NOT, "strip")], ids=["strip", "mark", "free"]
)
@pytest.mark.parametrize("how", ["sync", "async"])
@pytest.mark.parametrize("policy", POLICIES)
def test_three_hundred_turns_under_every_policy(httpserver, policy, how, model, thinking):
    options = {"model": model, "objects": how == "sync", "thinking": thinking, "how": how}
    server, rounds, met = play(httpserver, policy, TURNS, **options)
    ends = f"{server.served} taken, 0 refused, {len(rounds):3} compactions, longest prompt {server.largest:,}"
    thoughts = f"{len(server.signed)} thoughts, {server.dropped} dropped by the server"
    print(f"{policy:22} {how:5} {model:17} {thinking:5}: {ends}; {thoughts}; {dict(met)}", flush=True)
    assert len(rounds) >= 2
    assert met.keys() == MET


# That the server is as strict as it says


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([{"role": "assistant", "content": "hi"}], 'must use the "user" role'),
        ([{"role": "user", "content": " "}], "non-whitespace"),
        (
            [
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "Read", "input": {}}]},
                {"role": "user", "content": "well?"},
            ],
            "without `tool_result`",
        ),
        (
            [
                {"role": "user", "content": "go"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "hm", "signature": "forged"},
                        {"type": "text", "text": "so"},
                    ],
                },
                {"role": "user", "content": "on"},
            ],
            "Invalid `signature`",
        ),
        ([{"role": "user", "content": "word " * 240_000}], "prompt is too long"),
        (
            [{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 4}],
            "maximum of 4 blocks",
        ),
    ],
    ids=["first role", "blank", "open call", "forged thinking", "too long", "five markers"],
)
def test_the_server_refuses_what_the_provider_refuses(httpserver, messages, words):
    server = Strict(BINDS, WINDOW)
    httpserver.expect_request(PATH).respond_with_handler(server.handle)
    with (
        anthropic.Anthropic(api_key="k", base_url=httpserver.url_for("/"), max_retries=0) as client,
        pytest.raises(anthropic.BadRequestError, match=words),
    ):
        client.beta.messages.create(model=BINDS, max_tokens=9, messages=messages, system=SYSTEM, tools=TOOLS)


def test_the_server_knows_when_thinking_was_moved(httpserver):
    server = Strict(BINDS, WINDOW)
    httpserver.expect_request(PATH).respond_with_handler(server.handle)
    asked = [{"role": "user", "content": "go"}]
    with anthropic.Anthropic(api_key="k", base_url=httpserver.url_for("/"), max_retries=0) as client:
        call = {"model": BINDS, "max_tokens": 9, "system": SYSTEM}
        said = client.beta.messages.create(messages=asked, **call)
        while said.stop_reason != "end_turn":
            said = client.beta.messages.create(messages=asked, **call)
        later = [{"role": "assistant", "content": said.content}, {"role": "user", "content": "on"}]
        client.beta.messages.create(messages=[*asked, *later], **call)
        with pytest.raises(anthropic.BadRequestError, match="different conversation"):
            client.beta.messages.create(messages=[{"role": "user", "content": "stop"}, *later], **call)
