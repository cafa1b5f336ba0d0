"""The request's size in bytes is a budget beside tokens: it triggers, is planned for, and is lowered by a 413 alone."""

from __future__ import annotations

import base64
import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import trimtab
from oracle import request_bytes as sent
from support.models import GEMINI_UNSIGNED
from support.transcripts import png
from trimtab import Ledger, Plan
from trimtab.policies import POLICIES

MODEL, CHAT = "claude-sonnet-5-5", "gpt-5.5"
LIMIT = 32 * 2**20
MB = 1_000_000
WIDE = 8 * MB
"""A window that no list here fills: bytes alone decide."""

WORDS = [f"word{n}" if n % 3 else f"w{n}" for n in range(4_000)]


def prose(rng: random.Random, chars: int) -> str:
    return " ".join(rng.choices(WORDS, k=chars // 7))


def long_talk(size: int, each: int = 40_000) -> list[dict[str, Any]]:
    """A talk of ``size`` bytes of text."""
    rng, texts = random.Random(size), []
    while sum(map(len, texts)) < size:
        texts.append(prose(rng, each))
    talk = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]
    return [*talk[: len(talk) - len(talk) % 2], {"role": "user", "content": "And now the summary of all, please."}]


def blank_results(size: int, each: int = 400_000) -> list[dict[str, Any]]:
    """A session of calls whose results have many bytes and few tokens: sixteen blanks are one."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look through the tables."}]
    for n in range(size // each):
        call = {"type": "tool_use", "id": f"t{n}", "name": "Read", "input": {"page": n}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"page {n}\n" + " " * each}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return messages


def screenshots(count: int, size: int) -> list[dict[str, Any]]:
    """A session of calls whose results have a picture of ``size`` bytes each."""
    data = base64.b64encode(base64.b64decode(png(600, 400)) + bytes(size * 3 // 4)).decode()
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Book the flight."}]
    for n in range(count):
        call = {"type": "tool_use", "id": f"t{n}", "name": "click", "input": {"x": n}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": [{"type": "text", "text": "done"}, picture]}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return messages


@pytest.fixture(scope="module")
def forty() -> list[dict[str, Any]]:
    """A list of 40 MB of text."""
    messages = long_talk(40 * MB)
    assert sent(messages) > LIMIT
    return messages


def test_a_list_of_40_mb_is_compacted_by_fit(forty: list[dict[str, Any]]) -> None:
    cm = trimtab.Compactor(MODEL)
    started = time.perf_counter()
    fitted = cm.fit(forty)
    assert time.perf_counter() - started < 60  # 4 s on two slow cores
    assert fitted.compaction is not None
    assert sent(fitted.messages) < LIMIT
    assert cm.count(fitted.messages) < cm.window
    assert fitted.messages[-1] is forty[-1]
    assert not trimtab.validate(fitted.messages, provider="anthropic", model=MODEL)
    assert cm.fit(fitted.messages).messages is fitted.messages


def test_a_list_of_40_mb_is_planned_compacted_and_pruned(forty: list[dict[str, Any]]) -> None:
    cm = trimtab.Compactor(MODEL)
    plan = cm.plan(forty)
    assert plan.edits
    assert plan.bytes_before > plan.bytes_limit == LIMIT > plan.bytes_after
    assert plan.bytes_before == pytest.approx(sent(forty), rel=0.01)
    assert f"{plan.bytes_before:,} bytes -> {plan.bytes_after:,} (at most 33,554,432)" in str(plan)
    assert Plan.from_json(plan.to_json()) == plan
    done = cm.compact(forty, plan=plan)
    assert sent(done.messages) < plan.bytes_after
    assert cm.restore(done.ref or "") == forty
    assert cm.prune(forty) == forty  # no result is in it


def test_a_list_of_40_mb_is_repaired(forty: list[dict[str, Any]]) -> None:
    broken = [*forty[:4], {"role": "user", "content": [{"type": "text", "text": ""}]}, *forty[5:]]
    assert {problem.code for problem in trimtab.validate(broken, provider="anthropic")} > {"request_too_large"}
    done = trimtab.repair(broken, provider="anthropic")
    assert done.changes
    assert [p.code for p in trimtab.validate(done.messages, provider="anthropic")] == ["request_too_large"]
    assert trimtab.repair(forty, provider="anthropic").messages is forty


@pytest.mark.parametrize(
    "error", ["413 Request Entity Too Large", "prompt is too long: 9000000 tokens > 1000000 maximum"]
)
def test_an_overflow_of_a_list_of_40_mb_shrinks_it(error: str, forty: list[dict[str, Any]]) -> None:
    cm = trimtab.Compactor(MODEL)
    fitted = cm.overflow(error, forty)
    assert sent(fitted.messages) < LIMIT
    assert cm.window == 1_000_000
    assert not trimtab.validate(fitted.messages, provider="anthropic", model=MODEL)


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_under_each_policy_many_bytes_of_few_tokens_are_compacted(name: str) -> None:
    messages = blank_results(40 * MB)
    cm = trimtab.Compactor(MODEL, policy=name, window=WIDE)
    if cm.policy.counter is None:
        assert cm.count(messages) < WIDE * 0.5
    fitted = cm.fit(messages)
    assert sent(fitted.messages) < LIMIT
    assert fitted.compaction is not None
    assert not trimtab.validate(fitted.messages, provider="anthropic", model=MODEL)
    assert cm.restore(fitted.compaction.ref or "") == messages
    again = [*fitted.messages, {"role": "assistant", "content": "I go on."}, {"role": "user", "content": "Do."}]
    assert cm.fit(again).messages[-1] == again[-1]


def test_a_plan_by_bytes_holds_both_budgets() -> None:
    messages = [*blank_results(40 * MB), *long_talk(6 * MB)[1:]]
    cm = trimtab.Compactor(MODEL)
    for plan in (cm.plan(messages), cm.plan(messages, target_tokens=2_000_000)):
        assert plan.bytes_after <= LIMIT
        assert plan.tokens_after <= plan.target
        done = cm.session().compact(messages, plan=plan)
        assert sent(done.messages) <= plan.bytes_after
        assert done.tokens_after <= plan.tokens_after


def test_pictures_alone_leave_where_they_are_the_bytes() -> None:
    messages = screenshots(40, MB)
    cm = trimtab.Compactor(MODEL)
    assert cm.count(messages) < 60_000
    fitted = cm.fit(messages)
    assert fitted.compaction is not None
    assert {type(edit) for edit in fitted.compaction.plan.edits} <= {
        trimtab.planning.Prune,
        trimtab.planning.StripThinking,
    }
    assert len(fitted.messages) == len(messages)
    assert 0.85 * LIMIT < sent(fitted.messages) < LIMIT


def test_a_list_within_both_budgets_is_left_alone() -> None:
    messages = blank_results(30 * MB)
    assert trimtab.Compactor(MODEL, window=WIDE).fit(messages).messages is messages
    assert trimtab.Compactor(CHAT).plan(long_talk(40 * MB)[:-1] + long_talk(MB)).bytes_limit is None  # none is known


def test_what_cannot_leave_for_its_bytes_is_an_error_that_says_so() -> None:
    request = [{"role": "user", "content": "Sum up:" + " " * 40 * MB + "."}]
    cm = trimtab.Compactor(MODEL, window=WIDE)
    with pytest.raises(trimtab.MessageError, match="request_too_large") as raised:
        cm.fit(request)
    assert raised.value.path == "messages[0]"
    assert cm.compact(request).messages is request
    assert cm.plan(request).stays_heavy
    assert cm.prune(request) == request
    with pytest.raises(trimtab.OverflowedError, match="bytes"):
        cm.overflow("413 Payload Too Large", request)


def test_system_text_and_tools_count_in_the_request() -> None:
    messages = blank_results(33 * MB)
    assert not trimtab.validate(messages, provider="anthropic")
    system = " " * MB
    (problem,) = trimtab.validate(messages, provider="anthropic", system=system)
    assert problem.code == "request_too_large"
    cm = trimtab.Compactor(MODEL, window=WIDE)
    assert cm.fit(messages).messages is messages
    fitted = cm.fit(messages, system=system)
    assert sent(fitted.messages) + MB < LIMIT
    assert cm.size(fitted.messages, system=system).bytes < LIMIT


# A refusal of bytes lowers their limit alone.


def test_a_413_lowers_the_bytes_of_this_session_alone_and_fit_keeps_below() -> None:
    messages, server = long_talk(2 * MB), MB  # nginx takes a megabyte unless told otherwise
    cm = trimtab.Compactor(CHAT)
    window = cm.window
    assert cm.fit(messages).messages is messages
    tries = 0
    while sent(messages) > server:
        messages, tries = list(cm.overflow("413 Request Entity Too Large", messages).messages), tries + 1
        assert tries < 5
    limit = cm.size(messages).bytes_limit
    assert limit is not None
    assert limit < 2 * MB
    assert cm.window == window
    rng = random.Random(1)
    while sent(messages) < limit:
        messages += [{"role": "assistant", "content": prose(rng, 40_000)}, {"role": "user", "content": "More."}]
    assert cm.count(messages) < window * 0.7, "bytes are what is due, not tokens"
    fitted = cm.fit(messages)
    assert sent(fitted.messages) < limit
    assert fitted.compaction is not None


def test_a_stated_limit_of_bytes_holds_for_all_sessions_of_the_compactor() -> None:
    cm, messages = trimtab.Compactor(CHAT), long_talk(2 * MB)
    first, other = cm.session("a"), cm.session("b")
    fitted = first.overflow("Maximum request body size 1048576 exceeded, actual body size 2056562", messages)
    assert sent(fitted.messages) < 2**20
    assert "lowered to 1,048,576 bytes (the provider's limit)" in fitted.reason
    assert sent(other.fit(messages).messages) < 2**20
    assert other.size(messages).bytes_limit == 2**20
    assert trimtab.Compactor(CHAT).fit(messages).messages is messages


def test_a_session_that_goes_on_from_its_state_knows_the_limit() -> None:
    cm, messages = trimtab.Compactor(CHAT), long_talk(2 * MB)
    session = cm.session("a")
    session.overflow("Request size is too large. Request size is 2 MB. Max size is 1 MB", messages)
    state = json.loads(json.dumps(session.state()))
    assert state["request"] == MB
    later = trimtab.Compactor(CHAT).session("a", state)
    assert later.size(messages).bytes_limit == MB
    assert "request" not in cm.session("b").state() or cm.session("b").state()["request"] is None


def test_no_later_refusal_raises_the_limit_of_bytes() -> None:
    cm, messages = trimtab.Compactor(CHAT), long_talk(3 * MB)
    cm.overflow("the request body exceeds the limit of 1 MiB", messages)
    cm.overflow("the request body exceeds the limit of 2 MiB", messages)
    assert cm.size(messages).bytes_limit == 2**20


def gemini(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The screenshots in Gemini's shape."""
    out: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": "Book the flight."}]}]
    for message in messages[1:]:
        block = message["content"][0]
        if block["type"] == "tool_use":
            out.append({"role": "model", "parts": [{"functionCall": {"name": "click", "args": block["input"]}}]})
            continue
        data = block["content"][1]["source"]["data"]
        answer = {"name": "click", "response": {"output": "done"}}
        parts = [{"inlineData": {"mimeType": "image/png", "data": data}}]
        out.append({"role": "user", "parts": [{"functionResponse": {**answer, "parts": parts}}]})
    return out


def bedrock(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The screenshots in Bedrock's shape."""
    out: list[dict[str, Any]] = [{"role": "user", "content": [{"text": "Book the flight."}]}]
    for message in messages[1:]:
        block = message["content"][0]
        if block["type"] == "tool_use":
            use = {"toolUseId": block["id"], "name": "click", "input": block["input"]}
            out.append({"role": "assistant", "content": [{"toolUse": use}]})
            continue
        picture = {"image": {"format": "png", "source": {"bytes": block["content"][1]["source"]["data"]}}}
        result = {"toolUseId": block["tool_use_id"], "content": [{"text": "done"}, picture]}
        out.append({"role": "user", "content": [{"toolResult": result}]})
    return out


def chat(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The screenshots in the shape of Chat Completions: a picture follows its call in a message of the user."""
    out: list[dict[str, Any]] = [{"role": "user", "content": "Book the flight."}]
    for n, message in enumerate(messages[1:]):
        block = message["content"][0]
        if block["type"] == "tool_use":
            out.append({"role": "assistant", "content": f"I click {n}."})
            continue
        url = f"data:image/png;base64,{block['content'][1]['source']['data']}"
        out.append({"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]})
    return out


SHAPES = {
    "anthropic": (list, MODEL),
    "gemini": (gemini, GEMINI_UNSIGNED),
    "bedrock": (bedrock, MODEL),
    "openai_chat": (chat, CHAT),
}


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_a_413_of_screenshots_removes_bytes_in_each_shape(name: str) -> None:
    shape, model = SHAPES[name]
    messages, server = shape(screenshots(40, MB // 4)), 5 * 2**20  # Copilot takes 5 MB
    cm = trimtab.Compactor(model, provider=name)  # type: ignore[arg-type]
    tries = 0
    while sent(messages) > server:
        messages, tries = (
            list(cm.overflow('413 {"error":{"message":"failed to parse request"}}', messages).messages),
            tries + 1,
        )
        assert tries < 12
    assert not trimtab.validate(messages, provider=name, model=model)  # type: ignore[arg-type]
    stated = trimtab.Compactor(model, provider=name)  # type: ignore[arg-type]
    fitted = stated.overflow("Request too large (max 5MB)", shape(screenshots(40, MB // 4)))
    assert sent(fitted.messages) < 5 * MB


# Any session, any limit.


def any_session(rng: random.Random) -> list[dict[str, Any]]:
    """A session with long texts, long arguments, pictures, and results of many bytes and few tokens."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Begin: {prose(rng, rng.randrange(20, 3_000))}"}]
    for n in range(rng.randrange(3, 40)):
        kind = rng.randrange(6)
        if kind == 0:
            messages.append({"role": "assistant", "content": prose(rng, rng.randrange(10, 8_000))})
            messages.append({"role": "user", "content": prose(rng, rng.randrange(10, 8_000))})
            continue
        given = {"path": f"{n}.py"} | ({"text": prose(rng, rng.randrange(500, 30_000))} if kind == 1 else {})
        content: Any = prose(rng, rng.randrange(10, 30_000))
        if kind == 4:
            content = "rows\n" + " " * rng.randrange(1_000, 100_000)
        elif kind == 5:
            picture = base64.b64decode(png(rng.randrange(20, 900), rng.randrange(20, 700)))
            data = base64.b64encode(picture + bytes(rng.randrange(1_000, 80_000))).decode()
            source = {"type": "base64", "media_type": "image/png", "data": data}
            content = [{"type": "text", "text": "shot"}, {"type": "image", "source": source}]
        call = {"type": "tool_use", "id": f"t{n}", "name": "Write", "input": given}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": content}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return messages


@pytest.mark.parametrize("name", sorted(POLICIES))
@pytest.mark.parametrize("seed", range(5))
def test_any_session_gets_below_any_limit_of_bytes(seed: int, name: str) -> None:
    rng = random.Random(f"{seed} {name}")
    messages = any_session(rng)
    limit = int(sent(messages) * rng.uniform(0.1, 0.95))
    cm = trimtab.Compactor(MODEL, policy=name)
    fitted = cm.overflow(f"Request payload size exceeds the limit: {limit} bytes.", messages)
    assert fitted.compaction is not None
    assert sent(fitted.messages) <= limit * 1.01  # what stands around texts is about right
    assert sent(fitted.messages) <= fitted.compaction.plan.bytes_after * 1.02 + 300
    assert not trimtab.validate(fitted.messages, provider="anthropic", model=MODEL)
    assert cm.restore(fitted.compaction.ref or "") == messages
    assert fitted.messages[-1] == messages[-1] or "tool_result" in json.dumps(messages[-1])


# The size itself.


def mixed(rng: random.Random) -> list[dict[str, Any]]:
    """Messages of each kind, with texts that JSON escapes."""
    alphabet = ["plain ", 'say "x" ', "a\\b ", "line\n", "\t", "\x1b[0m", "é", "漢字", "😀"]
    messages: list[dict[str, Any]] = []
    for n in range(60):
        text = "".join(rng.choices(alphabet, k=rng.randrange(40, 400)))
        match rng.randrange(4):
            case 0:
                messages.append({"role": "user", "content": text})
            case 1:
                messages.append({"role": "assistant", "content": [{"type": "text", "text": text}]})
            case 2:
                call = {"type": "tool_use", "id": f"toolu_{n:020}", "name": "Read", "input": {"text": text}}
                messages.append({"role": "assistant", "content": [call]})
                parts = [{"type": "text", "text": text}]
                result = {"type": "tool_result", "tool_use_id": f"toolu_{n:020}", "content": parts}
                messages.append({"role": "user", "content": [result]})
            case _:
                source = {"type": "base64", "media_type": "image/png", "data": png(300, 200)}
                messages.append({"role": "user", "content": [{"type": "image", "source": source}]})
    return messages


@pytest.mark.parametrize("seed", range(12))
def test_the_bytes_of_a_request_are_those_of_its_json(seed: int) -> None:
    messages = mixed(random.Random(seed))
    for counter in (trimtab.Counter.for_model(MODEL), trimtab.Counter.chars()):
        ledger = Ledger.of(messages, counter=counter, provider="anthropic")
        assert ledger.request_bytes == pytest.approx(sent(messages), rel=0.03)
        assert sum(ledger.payload.tolist()) <= ledger.request_bytes
    half = Ledger.of(messages[:30], counter=trimtab.Counter.chars(), provider="anthropic")
    assert half.extend(messages[30:]).request_bytes == ledger.request_bytes
    size = trimtab.Compactor(MODEL).size(messages)
    assert (size.bytes, size.bytes_limit) == (ledger.request_bytes, LIMIT)


# The command line.


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, forty: list[dict[str, Any]]) -> Path:
    """The list of 40 MB as a file."""
    path = tmp_path_factory.mktemp("long") / "forty.json"
    path.write_text(json.dumps(forty))
    return path


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trimtab", *map(str, words)], capture_output=True, text=True, check=False, timeout=300
    )


def test_validate_repairs_a_file_of_40_mb_and_says_that_it_stays_too_large(
    file: Path, forty: list[dict[str, Any]]
) -> None:
    done = run("validate", file, "--format", "anthropic", "--repair")
    assert done.returncode == 0, done.stderr[-500:]
    assert json.loads(done.stdout) == forty
    assert "stays: messages[" in done.stderr
    assert "request_too_large" in done.stderr


def test_the_plan_of_a_file_shows_its_bytes(file: Path) -> None:
    done = run("plan", file, "--format", "anthropic", "--model", MODEL, "--check")
    assert done.returncode == 1, done.stderr[-500:]
    assert "bytes -> " in done.stdout
    assert "(at most 33,554,432)" in done.stdout
