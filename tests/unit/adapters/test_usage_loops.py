"""A server that calls the model several times for one answer adds up what it bills: the last time counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from anthropic.types.beta import BetaUsage

import trimtab
from trimtab import Usage
from trimtab.adapters.clients import _Tally

MODEL = "claude-sonnet-5-5"
ASK = [{"role": "user", "content": "Find out. " + "word " * 9_000}]
FIRST = 10_000


def search(n: int) -> list[dict[str, Any]]:
    """Blocks of one step of a server's loop."""
    call = {"type": "server_tool_use", "id": f"srvtoolu_{n}", "name": "web_search", "input": {"query": f"q{n}"}}
    found = {"type": "web_search_result", "url": f"https://e.org/{n}", "title": f"t{n}", "encrypted_content": "x" * 900}
    return [call, {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{n}", "content": [found]}]


def looped(times: int, growth: int = 3_000, *, kind: str = "message") -> dict[str, Any]:
    """The usage of an answer for which the model was called so many times; the last prompt is the longest."""
    entry = {"type": "message", "input_tokens": 10, "cache_creation_input_tokens": 0, "output_tokens": 40}
    calls = [{**entry, "cache_read_input_tokens": FIRST - 10 + n * growth} for n in range(times)]
    sums = {name: sum(call[name] for call in calls) for name in entry | calls[0] if name != "type"}
    calls[0]["type"] = kind
    return {**sums, "iterations": calls}


@pytest.mark.parametrize("times", [1, 2, 3, 6])
@pytest.mark.parametrize("make", [dict, BetaUsage.model_validate], ids=["dict", "BetaUsage"])
def test_the_next_prompt_follows_from_the_last_call_of_a_servers_loop(times: int, make: Any) -> None:
    usage, last = make(looped(times)), FIRST + (times - 1) * 3_000
    assert Usage.of(usage) == Usage(10, 40, last - 10, earlier=40 * (times - 1))
    cm = trimtab.Compactor(MODEL)
    cm.fit(ASK)
    cm.record(usage)
    assert cm.count(ASK) == last
    steps = [block for n in range(times - 1) for block in search(n)]
    answered = [*ASK, {"role": "assistant", "content": [*steps, {"type": "text", "text": "So it is."}]}]
    added = trimtab.count([{"role": "user", "content": "And now?"}], model=MODEL) if times > 1 else 0
    more = cm.count([*answered, {"role": "user", "content": "And now?"}])
    assert last < more < last + 40 + max(added, 40), "the answer but for its end is in the last prompt"


def test_a_compaction_on_the_server_and_an_advisor_are_no_prompts_of_the_conversation() -> None:
    compacted = looped(2, kind="compaction")
    assert Usage.of(compacted).prompt == FIRST + 3_000
    advised = looped(1)
    advised["iterations"].append({**advised["iterations"][0], "type": "advisor_message", "cache_read_input_tokens": 9})
    assert Usage.of(advised) == Usage(10, 40, FIRST - 10)
    alone = {**looped(1, kind="compaction"), "input_tokens": 7, "cache_read_input_tokens": 0}
    assert Usage.of(alone).prompt == 7, "without a call of the conversation, the top is all there is"


@pytest.mark.parametrize("calls", [[], None, "no list", [None], [{"type": "compaction"}]])
def test_calls_that_say_nothing_leave_the_top_as_it_is(calls: Any) -> None:
    usage = {"input_tokens": 500, "output_tokens": 9, "cache_read_input_tokens": 4_500, "iterations": calls}
    assert Usage.of(usage) == Usage(500, 9, 4_500)


def test_a_stream_tells_the_calls_of_a_loop_at_its_end() -> None:
    class Event:
        def __init__(self, usage: dict[str, Any]) -> None:
            self.usage = BetaUsage.model_validate(usage)

    tally = _Tally()
    tally.see(Event({"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": FIRST - 10}))
    tally.see(Event(looped(3)))
    assert Usage.of(tally.usage).prompt == FIRST + 6_000


def lines(usages: list[dict[str, Any]], make: Any) -> str:
    """A session file with one answer a usage."""
    return "\n".join(json.dumps(entry) for n, usage in enumerate(usages) for entry in make(n, usage))


def claude_code(n: int, usage: dict[str, Any]) -> list[dict[str, Any]]:
    said = {"id": f"m{n}", "role": "assistant", "model": MODEL, "content": [{"type": "text", "text": "a"}]}
    asked = {"role": "user", "content": f"q{n} " + "word " * 9_000}
    return [
        {"type": "user", "message": asked, "uuid": f"u{n}", "parentUuid": f"a{n - 1}" if n else None, "sessionId": "s"},
        {"type": "assistant", "message": said | {"usage": usage}, "uuid": f"a{n}", "parentUuid": f"u{n}"},
    ]


def pi(n: int, usage: dict[str, Any]) -> list[dict[str, Any]]:
    said = {"role": "assistant", "model": MODEL, "content": [{"type": "text", "text": "a"}], "usage": usage}
    asked = {"role": "user", "content": [{"type": "text", "text": f"q{n} " + "word " * 9_000}]}
    head = [{"type": "session", "id": "s", "cwd": "/"}] if n == 0 else []
    return [
        *head,
        {"type": "message", "id": f"u{n}", "parentId": f"a{n - 1}" if n else None, "message": asked},
        {"type": "message", "id": f"a{n}", "parentId": f"u{n}", "message": said},
    ]


def test_a_file_with_a_servers_loop_starts_from_its_last_call(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text(lines([looped(6, 300)], claude_code))
    found = trimtab.read(path)
    assert [(call.prompt, call.output, call.earlier) for call in found.usage] == [(FIRST + 1_500, 40, 200)]
    cm = trimtab.Compactor(MODEL)
    cm.learn(found)
    assert FIRST + 1_500 < cm.count(found.messages) <= FIRST + 1_540


def test_an_aggregated_turn_in_a_file_of_pi_is_its_total_less_its_output(tmp_path: Path) -> None:
    """``cacheRead`` adds up the calls of the turn; the total is that of the last one."""
    path = tmp_path / "session.jsonl"
    path.write_text(
        lines(
            [
                {"input": 12, "output": 40, "cacheRead": 9_900, "cacheWrite": 88, "totalTokens": 10_040},
                {"input": 70, "output": 90, "cacheRead": 819_661, "cacheWrite": 3_000, "totalTokens": 163_978},
            ],
            pi,
        )
    )
    assert [call.prompt for call in trimtab.read(path).usage] == [10_000, 163_888]


def test_a_state_of_an_earlier_release_goes_on_and_one_of_this_keeps_the_loop() -> None:
    cm = trimtab.Compactor(MODEL).session()
    cm.fit(ASK)
    cm.record(looped(3))
    state = json.loads(json.dumps(cm.state()))
    again = trimtab.Compactor(MODEL).session(state=state)
    said = [*ASK, {"role": "assistant", "content": [*search(0), *search(1), {"type": "text", "text": "So it is."}]}]
    assert again.count(said) == cm.count(said)
    for usage in (state["forecast"]["usage"], state["forecast"]["anchor"]["usage"]):
        del usage["earlier"]
    assert trimtab.Compactor(MODEL).session(state=state).count(ASK) == FIRST + 6_000
