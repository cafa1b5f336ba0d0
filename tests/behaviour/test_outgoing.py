"""Every list that ``fit`` and ``compact`` return is validated; only new messages are looked at."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import struct
import zlib
from dataclasses import replace
from typing import Any

import pytest

import trimtab
from support import transcripts
from support.models import CLAUDE, CLAUDE_BOUND, CLAUDE_MILLION
from trimtab import Ledger
from trimtab.policies import POLICIES

MODEL = CLAUDE
LIMIT = 100


def png(width: int = 1, height: int = 1, *, pad: int = 0) -> dict[str, Any]:
    """A picture of so many pixels, with ``pad`` bytes behind its end."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + b"IHDR" + header + struct.pack(">I", zlib.crc32(b"IHDR" + header))
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + chunk + bytes(pad)).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": [c if isinstance(c, dict) else {"type": "text", "text": c} for c in content]}


def shots(count: int, picture: dict[str, Any] | None = None, ids: str = "t") -> list[Any]:
    """A session in which a tool returns a picture and a line each time."""
    messages: list[Any] = [user("Click through the form, and never touch LICENSE.")]
    for n in range(count):
        call = {"type": "tool_use", "id": f"{ids}{n}", "name": "screenshot", "input": {"n": n}}
        messages.append({"role": "assistant", "content": [call]})
        content = [{"type": "text", "text": f"page {n}"}, picture or png(20, 20)]
        messages.append(user({"type": "tool_result", "tool_use_id": f"{ids}{n}", "content": content}))
    return messages


def asked(count: int, picture: dict[str, Any] | None = None) -> list[Any]:
    """A session in which each request has a picture."""
    out: list[Any] = []
    for n in range(count):
        out += [user(f"what is on page {n}?", picture or png(20, 20)), {"role": "assistant", "content": f"Form {n}."}]
    return [*out, user("and now?")]


def codes(messages: Any, model: str = MODEL) -> list[str]:
    return [problem.code for problem in trimtab.validate(messages, provider="anthropic", model=model, in_flight=True)]


def pictures(messages: Any) -> int:
    return json.dumps(list(messages)).count('"type": "image"')


@pytest.mark.parametrize("name", sorted(POLICIES))
@pytest.mark.parametrize("talk", [shots, asked])
def test_fit_removes_the_oldest_pictures_below_its_trigger(name: str, talk: Any) -> None:
    messages = talk(150, png(200, 200))
    before = json.dumps(messages)
    assert codes(messages) == ["too_many_images"]
    cm = trimtab.Compactor(MODEL, policy=name)
    fitted = cm.fit(messages)
    assert not codes(fitted.messages)
    assert 80 <= pictures(fitted.messages) <= LIMIT
    assert len(fitted.messages) == len(messages)
    assert pictures(fitted.messages[-170:]) == pictures(messages[-170:])  # the newest stay
    assert "page 0" in json.dumps(fitted.messages)  # and the text beside the oldest
    assert "a picture was left out here; it is archived" in json.dumps(fitted.messages[:5])
    assert json.dumps(messages) == before
    assert fitted.compaction is not None
    assert cm.restore(fitted.compaction.ref or "") == messages
    assert fitted.messages[-1] is messages[-1]
    again = cm.fit(fitted.messages)
    assert again.messages is fitted.messages
    assert asyncio.run(trimtab.Compactor(MODEL, policy=name).afit(messages)).messages == fitted.messages


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_compact_and_plan_leave_no_more_pictures_than_the_provider_takes(name: str) -> None:
    policy = replace(POLICIES[name], on_nothing="noop")
    for messages in (shots(150), asked(150)):
        cm = trimtab.Compactor(MODEL, policy=policy)
        plan = cm.plan(messages)
        done = cm.compact(messages)
        assert done.plan == plan
        assert not codes(done.messages)
        assert cm.restore(done.ref or "") == messages
        assert trimtab.Plan.from_json(plan.to_json()) == plan
        assert str(plan)
        assert cm.compact(messages, plan=plan).messages == done.messages


def test_a_longer_window_takes_more_pictures() -> None:
    messages = shots(150)
    assert trimtab.Compactor(CLAUDE_MILLION).fit(messages).messages is messages
    lowered = trimtab.Compactor(CLAUDE_MILLION, window=150_000)  # the caller's limit, not the provider's
    assert lowered.fit(messages).messages is messages


def test_pictures_leave_in_steps() -> None:
    cm, messages, changes = trimtab.Compactor(MODEL), shots(95), 0
    for step in shots(60, ids="s")[1:]:
        messages = [*messages, step]
        fitted = cm.fit(messages)
        assert not codes(fitted.messages)
        changes += fitted.messages is not messages
        messages = list(fitted.messages)
    assert changes <= 6


def test_pictures_of_the_last_request_leave_last_and_pinned_ones_never() -> None:
    one = [user(*[png(20, 20)] * 101, "compare these")]
    fitted = trimtab.Compactor(MODEL).fit(one)
    assert pictures(fitted.messages) == LIMIT
    assert fitted.messages[0]["content"][-1] == {"type": "text", "text": "compare these"}

    cm, messages = trimtab.Compactor(MODEL), asked(150)
    cm.pin(messages[0])
    fitted = cm.fit(messages)
    assert fitted.messages[0] is messages[0]
    assert not codes(fitted.messages)

    cm.pin("what is on page")
    with pytest.raises(trimtab.MessageError, match="too_many_images"):
        cm.fit(messages)


def texts(blocks: Any) -> list[str]:
    return [block.get("text", block["type"]) for block in blocks]


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_notices_of_tiny_pictures_bring_no_prompt_over_the_budget(name: str) -> None:
    for messages in (
        [user(*[png(20, 20)] * 60, f"Request {n}") for n in range(5)],
        [user(f"Request {n // 2}") if n % 2 else user(png(20, 20)) for n in range(600)],
        [GO, *({"role": "assistant", "content": "Go on."} if n % 2 else user(png(20, 20)) for n in range(620)), GO],
        [user({"type": "tool_result", "tool_use_id": f"t{n}", "content": [png(20, 20)]}) if n % 2 else
         {"role": "assistant", "content": [{**CALL, "id": f"t{n + 1}"}]} for n in range(240)],
    ):  # fmt: skip
        if messages[0]["role"] == "assistant":
            messages.insert(0, GO)
        room = max(trimtab.count(messages, model=MODEL) + 600, 4_000)
        cm = trimtab.Compactor(MODEL, policy=name, provider="anthropic", window=room + 500, max_output=500)
        fitted = cm.fit(messages)
        assert not codes(fitted.messages)
        assert trimtab.count(fitted.messages, model=MODEL) <= room
        assert fitted.compaction is not None
        assert cm.restore(fitted.compaction.ref or "") == messages


def test_neighbouring_pictures_share_a_notice_that_says_how_many_and_which() -> None:
    big = png(200, 200)
    messages = [
        user("one", big, big, big, "two", big, {**big, "cache_control": {"type": "ephemeral"}}, "three"),
        *[user(*[big] * 3)] * 4,
        {"role": "assistant", "content": [CALL]},
        user({"type": "tool_result", "tool_use_id": "z1", "content": [big, big, {"type": "text", "text": "x"}, big]}),
        user(png(20, 20), "tiny"),
        user(*[png(20, 20)] * 3),
        user(*[big] * 100, "now"),
    ]
    first, second, _, result, tiny, *rest = trimtab.Compactor(MODEL).fit(messages).messages
    ends = "were left out here"
    assert texts(first["content"]) == [
        "one",
        f"[trimtab: 3 pictures {ends} (1 to 3 of 5); they are archived]",
        "two",
        f"[trimtab: 2 pictures {ends} (4 to 5 of 5); they are archived]",
        "three",
    ]
    assert first["content"][3]["cache_control"] == {"type": "ephemeral"}
    assert texts(second["content"]) == [f"[trimtab: 12 pictures {ends}; they are archived]"]
    assert texts(result["content"][0]["content"]) == [
        f"[trimtab: 2 pictures {ends} (1 to 2 of 3); they are archived]",
        "x",
        "[trimtab: a picture was left out here (3 of 3); it is archived]",
    ]
    assert texts(tiny["content"]) == ["tiny"]
    assert [texts(message["content"])[-1] for message in rest] == ["now"]


def pictured(rng: random.Random) -> list[Any]:
    """A list with more pictures than the provider takes, of all sizes, in all places."""
    sizes = [png(side, side) for side in (20, 20, 100, 120, 400)]
    mark = {"cache_control": {"type": "ephemeral"}}
    marks = [mark] * rng.randrange(4)

    def blocks(most: int) -> list[Any]:
        kinds = rng.choices(("picture", "text"), (5, 1), k=rng.randrange(1, most))
        found = [
            rng.choice(sizes) if kind == "picture" else {"type": "text", "text": f"page {rng.random()}"}
            for kind in kinds
        ]
        return [block | marks.pop() if marks and rng.random() < 0.05 else block for block in found]

    out: list[Any] = [GO]
    while pictures(out) <= LIMIT + 10:
        kind = rng.choice(("user", "user", "whole", "call", "says"))
        if kind == "says" and out[-1]["role"] == "user":
            out.append({"role": "assistant", "content": "Go on."})
        elif kind == "call" and out[-1]["role"] == "user":
            ids = [f"c{len(out)}_{n}" for n in range(rng.randrange(1, 4))]
            out.append({"role": "assistant", "content": [{**CALL, "id": name} for name in ids]})
            out.append(user(*({"type": "tool_result", "tool_use_id": name, "content": blocks(6)} for name in ids)))
        elif kind in {"user", "whole"}:
            out.append(user(*(blocks(20) if kind == "user" else [rng.choice(sizes)] * rng.randrange(1, 4))))
    return [*out, GO]


@pytest.mark.parametrize("seed", range(40))
def test_a_plan_says_how_many_tokens_stay_where_pictures_leave(seed: int) -> None:
    messages = pictured(random.Random(seed))
    cm = trimtab.Compactor(MODEL)
    plan, fitted = cm.plan(messages), cm.fit(messages)
    done = fitted.compaction
    assert done is not None
    assert {type(edit) for edit in done.plan.edits} == {trimtab.planning.Prune}
    assert plan.tokens_after == done.plan.tokens_after == done.tokens_after
    assert done.tokens_after == Ledger.of(fitted.messages, counter=trimtab.Counter.for_model(MODEL)).total
    assert not codes(fitted.messages)
    assert cm.restore(done.ref or "") == messages
    assert cm.session("other").compact(messages, plan=plan).messages == fitted.messages


def test_large_pictures_among_many_leave_until_the_rest_may_be_large() -> None:
    messages = shots(24, png(2_500, 1_200))
    assert set(codes(messages)) == {"image_too_large_many"}
    fitted = trimtab.Compactor(CLAUDE_MILLION).fit(messages)
    assert not codes(fitted.messages)
    assert pictures(fitted.messages) == 20


def test_a_request_of_too_many_bytes_loses_its_oldest_pictures() -> None:
    messages = shots(12, png(900, 900, pad=2_400_000))
    assert codes(messages) == ["request_too_large"]
    for verb in ("fit", "compact"):
        out = getattr(trimtab.Compactor(MODEL), verb)(messages).messages
        assert not codes(out)
        assert 5 <= pictures(out) < 12


@pytest.mark.parametrize(
    ("picture", "code"), [(png(9_000, 10), "image_too_large"), (png(10, 10, pad=4_000_000), "image_too_heavy")]
)
@pytest.mark.parametrize("name", sorted(POLICIES))
def test_a_picture_that_no_provider_takes_is_named(name: str, picture: dict[str, Any], code: str) -> None:
    messages = [user("look", picture)]
    cm = trimtab.Compactor(MODEL, policy=name)
    for verb in (cm.fit, cm.compact, cm.plan):
        with pytest.raises(trimtab.MessageError, match=code) as raised:
            verb(messages)
        assert (raised.value.index, raised.value.path) == (0, "messages[0].content[1]")


def test_thinking_behind_a_removed_picture_is_stripped_where_it_is_bound() -> None:
    thought = {"type": "thinking", "thinking": "a form", "signature": "s"}
    messages = asked(650)
    messages[-2] = {"role": "assistant", "content": [thought, {"type": "text", "text": "Form."}]}
    fitted = trimtab.Compactor(CLAUDE_BOUND).fit(messages)
    assert not trimtab.validate(fitted.messages, provider="anthropic", model=CLAUDE_BOUND, original=messages)
    assert pictures(fitted.messages) <= 600


def test_a_hook_sees_the_pictures_that_leave_and_may_refuse() -> None:
    plans = []

    def hook(asked: trimtab.Review) -> trimtab.Verdict | None:
        plans.append(asked.plan)
        return trimtab.Verdict(refuse="no") if asked.plan else None

    messages = shots(150)
    fitted = trimtab.Compactor(MODEL, pre_compact=hook).fit(messages)
    assert fitted.messages is messages
    assert fitted.reason == "refused: no"
    assert "pictures, more than the provider takes" in str(plans[-1])


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_with_automatic_compaction_off_too_many_pictures_are_an_error(name: str) -> None:
    off = replace(POLICIES[name], trigger=replace(POLICIES[name].trigger, auto=False))
    with pytest.raises(trimtab.MessageError, match="too_many_images"):
        trimtab.Compactor(MODEL, policy=off).fit(shots(150))


# New messages are looked at in the first call that holds them.

CALL = {"type": "tool_use", "id": "z1", "name": "Bash", "input": {"command": "ls"}}
GO = {"role": "user", "content": "go"}
BAD: dict[str, tuple[list[Any], str, int]] = {
    "a wrong role": ([GO, {"role": "usr", "content": "x"}], "unknown_role", 1),
    "system text in the list": ([GO, {"role": "system", "content": "x"}], "system_role", 1),
    "an orphan": (
        [GO, user({"type": "tool_result", "tool_use_id": "zz", "content": "x"})],
        "unexpected_tool_use_id",
        1,
    ),
    "a call without a result": (
        [GO, {"role": "assistant", "content": [CALL]}, user("next")],
        "tool_use_without_result",
        1,
    ),
    "an empty text": ([GO, user("")], "empty_text_block", 1),
    "an assistant first": ([{"role": "assistant", "content": "hi"}, GO], "first_message_role", 0),
    "an object in a call": (
        [GO, {"role": "assistant", "content": [{**CALL, "input": {"x": object()}}]}],
        "not JSON",
        1,
    ),
    "an object beside the content": ([GO, {**GO, "meta": object()}], "not_json: object is not JSON", 1),
    "a set in a block": ([GO, user({"type": "text", "text": "x", "meta": {1}})], "not_json: set is not JSON", 1),
    "a number as a key": ([GO, {"role": "assistant", "content": [{**CALL, "input": {1: 2}}]}], "not_json", 1),
    "five cache markers": (
        [user(*({"type": "text", "text": w, "cache_control": {"type": "ephemeral"}} for w in "abcde"))],
        "too_many_cache_control",
        0,
    ),
}


@pytest.mark.parametrize("bad", sorted(BAD))
@pytest.mark.parametrize("name", sorted(POLICIES))
def test_fit_rejects_a_message_in_the_first_call_that_holds_it(name: str, bad: str) -> None:
    messages, code, index = BAD[bad]
    for when in ("before_call", "after_step", "after_tool_batch", "after_run"):
        with pytest.raises(trimtab.MessageError, match=code) as raised:
            trimtab.Compactor(MODEL, policy=name, provider="anthropic").fit(messages, when=when)
        assert raised.value.index == index
        assert raised.value.path.startswith(f"messages[{index}]")
        cm = trimtab.Compactor(MODEL, policy=name, provider="anthropic")
        before = shots(30)
        assert cm.fit(before, when=when).messages is before
        if index:  # behind many valid messages, its place is that in the whole
            with pytest.raises(trimtab.MessageError, match=code) as raised:
                cm.fit([*before, *messages[1:]], when=when)
            assert raised.value.index == len(before) + index - 1
    off = replace(POLICIES[name], trigger=replace(POLICIES[name].trigger, auto=False))
    with pytest.raises(trimtab.MessageError, match=code):
        trimtab.Compactor(MODEL, policy=off, provider="anthropic").fit(messages)


def test_what_only_the_end_may_not_be_is_no_error_before_the_list_grows() -> None:
    cm = trimtab.Compactor(CLAUDE_MILLION)
    ends = [GO, {"role": "assistant", "content": "I say "}]
    assert cm.fit(ends).messages is ends
    running = [GO, {"role": "assistant", "content": [CALL]}]
    assert cm.fit(running).messages is running
    with pytest.raises(trimtab.MessageError, match="tool_use_without_result"):
        cm.fit([*running, user("never mind")])


def test_an_edit_in_place_is_looked_at_again() -> None:
    cm, messages = trimtab.Compactor(MODEL), shots(12)
    cm.fit(messages)
    messages[3] = {"role": "usr", "content": "x"}
    with pytest.raises(trimtab.MessageError, match="unknown_role"):
        cm.fit(messages)


@pytest.mark.parametrize("provider", ["anthropic", "openai_chat", "openai_responses", "bedrock", "gemini"])
def test_a_growing_list_has_the_problems_of_the_whole(provider: Any) -> None:
    """Looking at new messages alone finds what looking at all of them finds."""
    end = {"final_assistant_whitespace", "prefill_unsupported", "thinking_last", "reasoning_without_item"}
    found = 0
    for seed in range(120):
        rng = random.Random(seed)
        whole = list(transcripts.transcript(spec(rng), provider))
        if seed % 2:
            del whole[rng.randrange(len(whole))]
        cm = trimtab.Compactor(CLAUDE_MILLION, provider=provider)
        stop = 0
        while stop < len(whole):
            stop = min(stop + rng.randrange(1, 5), len(whole))
            part = whole[:stop]
            problems = trimtab.validate(part, provider=provider, in_flight=True, model=CLAUDE_MILLION)
            problems = [p for p in problems if p.code not in end or p.index < len(part) - 1]
            if problems:
                with pytest.raises(trimtab.MessageError) as raised:
                    cm.fit(part)
                assert (raised.value.path, str(raised.value).split(": ")[1]) == (problems[0].path, problems[0].code)
                found += 1
                break
            assert cm.fit(part).messages is part
    assert found > 15


def spec(rng: random.Random) -> str:
    """A random session: requests, tool loops, parallel calls, thinking; now and then an id comes twice."""
    words, number = ["u:5"], 0
    for _ in range(rng.randrange(4, 14)):
        kind = rng.choice(["u:3", "a:4", "call", "call", "two", "think"])
        number += rng.random() < 0.97
        if kind == "call":
            words += [f"c{number}", f"r{number}:6"]
        elif kind == "two":
            number += 1
            words += [f"c{number - 1}+c{number}", f"r{number - 1}:4+r{number}:4"]
        elif kind == "think":
            number += 1
            words += [f"t:3+c{number}", f"r{number}:5"]
        else:
            words.append(kind)
    return " ".join(words)


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_an_asynchronous_summarizer_is_refused_at_once_without_an_event_loop(name: str) -> None:
    async def summarize(_: object) -> str:
        return "went well"

    async def hook(_: object) -> None:
        return None

    for options, what in (({"summarizer": summarize}, "the summarizer"), ({"pre_compact": hook}, "the hook")):
        cm = trimtab.Compactor(MODEL, policy=name, **options)
        for verb in (cm.fit, cm.compact, lambda m, at=cm: at.overflow("prompt is too long", m)):
            with pytest.raises(TypeError, match=f"{what} is asynchronous: use a(fit|compact|overflow)"):
                verb([GO])
        assert asyncio.run(cm.afit([GO])).messages == [GO]


def test_compact_names_the_message_that_cannot_be_archived() -> None:
    messages = [*shots(9), {"role": "user", "content": "hm", "meta": object()}]
    with pytest.raises(trimtab.MessageError, match=r"messages\[19\]\.meta: not_json: object is not JSON"):
        trimtab.Compactor(MODEL).compact(messages, target_share=0.5)


def coded(rounds: int, *, ends: bool) -> list[Any]:
    """A session of code executions that call the client's tool; the last one may still run."""
    messages: list[Any] = [user("Sum up every region, and never touch LICENSE.")]
    for n in range(rounds):
        code = {"type": "server_tool_use", "id": f"s{n}", "name": "code_execution", "input": {"code": "q()"}}
        caller = {"type": "code_execution_20250825", "tool_id": f"s{n}"}
        for k in range(2):
            call = {"type": "tool_use", "id": f"t{n}.{k}", "name": "query", "input": {"n": n}, "caller": caller}
            messages.append({"role": "assistant", "content": [call] if k else [code, call]})
            said = [{"type": "text", "text": "row " * 800}, {"type": "text", "text": "end", **MARK}]
            messages.append(user({"type": "tool_result", "tool_use_id": f"t{n}.{k}", "content": said}))
            said[1].pop("cache_control") if n < rounds - 1 else None
        if ends or n < rounds - 1:
            done = {"type": "code_execution_result", "stdout": "7", "stderr": "", "return_code": 0, "content": []}
            ran = {"type": "code_execution_tool_result", "tool_use_id": f"s{n}", "content": done}
            messages += [{"role": "assistant", "content": [ran, {"type": "text", "text": "It is 7."}]}, user("next")]
    return messages


MARK = {"cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize("name", sorted(POLICIES))
@pytest.mark.parametrize("ends", [True, False])
def test_a_code_execution_stays_whole_and_running_ones_are_no_error(name: str, ends: bool) -> None:
    messages = coded(12, ends=ends)
    policy = replace(POLICIES[name], on_nothing="noop")
    cm = trimtab.Compactor(MODEL, policy=policy, window=25_000, max_output=1_000)
    options: Any = {"provider": "anthropic", "model": MODEL, "in_flight": True}
    for done in (cm.fit(messages), cm.compact(messages)):
        assert trimtab.validate(done.messages, **options, container="container_1") == []
        found = {problem.code for problem in trimtab.validate(done.messages, **options)}
        assert found == (set() if ends else {"container_required"})  # the caller's request names it, as before
        assert json.dumps(done.messages).count('"caller"') == 2 * json.dumps(done.messages).count("server_tool_use")
    assert name != "default" or cm.compact(messages).messages != messages


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_fit_never_marks_an_empty_text(name: str) -> None:
    policy = replace(POLICIES[name], on_nothing="noop")
    for seed in range(20):
        dice = random.Random(seed)
        messages: list[Any] = [user("Read all files, and never touch LICENSE.")]
        for n in range(14):
            call = {"type": "tool_use", "id": f"t{n}", "name": "bash", "input": {"n": n}}
            sizes = dice.choices([1, 5, 2_000, 9_000], k=dice.randint(1, 3))
            said = [{"type": "text", "text": "word " * size} for size in sizes]
            dice.choice(said).update(MARK if n in {3, 9, 12} else {})
            messages.append({"role": "assistant", "content": [{"type": "text", "text": f"step {n}"}, call]})
            messages.append(user({"type": "tool_result", "tool_use_id": f"t{n}", "content": said}))
        cm = trimtab.Compactor(MODEL, policy=policy, window=40_000, max_output=1_000)
        for done in (cm.fit(messages), cm.fit(messages, when="after_run"), cm.compact(messages)):
            assert codes(done.messages) == []


def test_fit_names_an_empty_text_that_is_marked() -> None:
    messages = [user("hi"), {"role": "assistant", "content": "ho"}, user("go", {"type": "text", "text": "", **MARK})]
    with pytest.raises(trimtab.MessageError, match="cache_control cannot be set for empty text blocks") as raised:
        trimtab.Compactor(MODEL).fit(messages)
    assert raised.value.path == "messages[2].content[1]"
