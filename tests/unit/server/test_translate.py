"""Plans in the words of a provider's server, and why some have none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.models import CLAUDE_BOUND, CLAUDE_MILLION, GPT
from trimtab import Compactor, Model
from trimtab.models.model import Price
from trimtab.server.translate import cleared_rows, results_of

SYSTEM = "You are an agent."


def step(n: int, name: str = "Read", words: int = 400) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"t{n}", "name": name, "input": {"path": f"f{n}.py"}}
    result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"line {n} " * words}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def chat(turns: int, words: int = 300) -> list[dict[str, Any]]:
    said = [("user", "ask"), ("assistant", "answer")]
    turned = [{"role": role, "content": f"{what} {n} " * words} for n in range(turns) for role, what in said]
    return [*turned, {"role": "user", "content": "and now?"}]


def past(cm: Compactor) -> list[dict[str, Any]]:
    """A chat past the trigger, within the input budget."""
    trigger = cm.budget(system=SYSTEM).trigger
    return next(made for n in range(2, 900) if cm.count(made := chat(n)) > trigger + 500)


def agent(steps: int, **known: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": "Fix it."}] + [m for n in range(steps) for m in step(n, **known)]


def compactor(**options: Any) -> Compactor:
    known: dict[str, Any] = {"window": 60_000, "max_output": 6_000, "provider": "anthropic", "server": "call"}
    return Compactor(options.pop("model", CLAUDE_BOUND), **known | options)


def test_results_are_cleared_from_the_oldest_on_by_the_policys_own_numbers() -> None:
    cm, messages = compactor(never_prune=["Skill"]), agent(60)
    whole = cm.count(messages, system=SYSTEM)
    fitted = cm.fit(messages, system=SYSTEM)
    assert fitted.server is not None
    assert fitted.messages is messages
    (edit,) = fitted.request["context_management"]["edits"]
    assert edit["type"] == "clear_tool_uses_20250919"
    assert edit["exclude_tools"] == ["Skill"]
    assert edit["clear_at_least"] == {"type": "input_tokens", "value": 20_000}
    assert 0 < edit["keep"]["value"] < 60
    assert edit["trigger"]["value"] <= whole
    assert fitted.request["betas"] == ["context-management-2025-06-27"]
    assert fitted.reason == "; ".join(fitted.server.does)
    assert fitted.server.explain().startswith("on the server ")


def test_what_is_cleared_stays_cleared_while_the_list_grows() -> None:
    cm, messages = compactor(), agent(60)
    fitted = cm.fit(messages)
    assert fitted.server is not None
    first, cleared = fitted.request["context_management"]["edits"][0], fitted.server.clears
    cm.record(answer(cm.count(messages), cleared=cleared))
    messages += step(60) + step(61)
    second = cm.fit(messages)
    assert second.server is not None
    assert not second.server.ref
    edit = second.request["context_management"]["edits"][0]
    assert edit == {**first, "keep": {"type": "tool_uses", "value": first["keep"]["value"] + 2}}


def answer(tokens: int, cleared: int | None = None, content: Any = ()) -> dict[str, Any]:
    edits = [] if not cleared else [{"type": "clear_tool_uses_20250919", "cleared_input_tokens": cleared}]
    return {
        "usage": {"input_tokens": tokens, "output_tokens": 9},
        "content": [{"type": "text", "text": "ok"}, *content],
        "stop_reason": "end_turn",
        "context_management": None if cleared is None else {"applied_edits": edits},
    }


def test_the_tokens_that_are_cleared_are_those_of_the_rows() -> None:
    cm, messages = (
        compactor(never_prune=["Skill"]),
        agent(30) + step(90, "Skill") + [m for n in range(31, 60) for m in step(n)],
    )
    cm.fit(messages)
    known, ledger = cm._session._memory.server.clearing, cm._session._memory.scan(messages)
    assert known is not None
    rows = cleared_rows(known, ledger)
    assert abs(sum(rows.values()) - known.tokens) <= len(rows)
    assert {ledger.id_of(int(ledger.pair[row])) for row in rows} == {f"t{n}" for n in range(known.uses)} - {
        "t90",
        "t30",
    }
    assert list(rows) == results_of(ledger, known.uses, known.tools).tolist()


def search(n: int) -> list[dict[str, Any]]:
    use = {"type": "server_tool_use", "id": f"s{n}", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": f"s{n}", "content": []}
    said = {"role": "user", "content": f"look for {n}"}
    return [said, {"role": "assistant", "content": [use, found, {"type": "text", "text": "found"}]}]


def test_the_servers_own_tools_count_among_the_uses_that_stay() -> None:
    front, behind = agent(30), agent(60)[61:]
    messages = [*front, *search(0), *search(1), *behind, *search(2), {"role": "user", "content": "go on"}]
    fitted = compactor().fit(messages)
    assert fitted.server is not None
    (edit,) = fitted.request["context_management"]["edits"]
    cleared = int(fitted.server.does[0].split("oldest ")[1].split()[0])
    assert 30 < cleared < 60  # behind the first two searches
    assert edit["keep"]["value"] == 60 - cleared + 1


def test_a_pinned_result_of_the_servers_own_tool_is_never_cleared() -> None:
    cm, found = compactor(), search(0)
    messages = [*agent(30), *found, *agent(60)[61:], {"role": "user", "content": "go on"}]
    cm.pin(found[1])
    assert cm.fit(messages).server is None


def test_a_pinned_result_is_never_cleared() -> None:
    cm, messages = compactor(), agent(60)
    cm.pin(messages[4])
    fitted = cm.fit(messages)
    assert fitted.server is None
    assert fitted.compaction is not None
    assert fitted.messages[4] is messages[4]


def test_a_summary_is_asked_for_in_the_call_with_the_providers_least_trigger() -> None:
    cm = compactor(window=110_000)
    messages = past(cm)
    fitted = cm.fit(messages)
    assert fitted.server is not None
    (edit,) = fitted.request["context_management"]["edits"]
    assert edit["type"] == "compact_20260112"
    assert edit["trigger"]["value"] >= 50_000
    assert fitted.request["betas"] == ["compact-2026-01-12"]
    assert cm.restore(fitted.server.ref) == messages


@pytest.mark.parametrize(
    ("options", "messages"),
    [
        ({"window": 40_000}, chat(30)),  # fewer tokens than the least trigger
        ({"policy": "drop"}, chat(70)),  # no server drops
        ({"provider": "bedrock"}, [{"role": m["role"], "content": [{"text": m["content"]}]} for m in chat(70)]),
        ({"provider": "openai_chat", "model": GPT}, chat(70)),
    ],
)
def test_what_no_server_can_is_done_here(options: dict[str, Any], messages: list[Any]) -> None:
    fitted = compactor(**options).fit(messages)
    assert fitted.server is None
    assert fitted.compaction is not None
    assert "context_management" not in fitted.request


def test_on_demand_ends_where_another_role_begins() -> None:
    cm = compactor(server="pass")
    messages = past(cm)
    fitted = cm.fit(messages)
    assert fitted.server is not None
    assert fitted.server.is_pass
    assert fitted.request["compaction"] == {"type": "summarize"}
    assert fitted.request["betas"] == ["compact-2026-09-04"]
    cut = len(fitted.request["messages"])
    assert cut == fitted.server.cut
    assert messages[cut]["role"] != messages[cut - 1]["role"]


def test_openai_is_asked_by_its_own_parameters() -> None:
    known = {"model": GPT, "provider": "openai_responses", "window": 60_000}
    cm = compactor(**known)
    fitted = cm.fit(past(cm), system=SYSTEM)
    assert fitted.server is not None
    (entry,) = fitted.request["context_management"]
    assert entry["type"] == "compaction"
    assert entry["compact_threshold"] >= 1_000
    alone = compactor(**known, server="pass").fit(past(cm), system=SYSTEM, tools=[{"type": "function", "name": "f"}])
    assert alone.server is not None
    assert sorted(alone.request) == ["input", "instructions"]


def test_thinking_is_cleared_where_older_turns_are_billed_for_it() -> None:
    def thought(n: int) -> list[dict[str, Any]]:
        made = step(n)
        made[0]["content"].insert(0, {"type": "thinking", "thinking": "hmm " * 40, "signature": f"s{n}"})
        return [*made, {"role": "assistant", "content": f"done {n}"}, {"role": "user", "content": f"next {n}"}]

    messages = [{"role": "user", "content": "Fix it."}, *[m for n in range(60) for m in thought(n)]]

    def edits(made: list[Any]) -> list[Any]:
        return compactor(model=CLAUDE_MILLION).fit(made).request["context_management"]["edits"]

    thinks, clears = edits(messages[:-2])  # the newest answer thinks: thinking is switched on
    assert thinks == {"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 1}}
    assert clears["type"] == "clear_tool_uses_20250919"
    assert [edit["type"] for edit in edits(messages)] == ["clear_tool_uses_20250919"]


def test_an_unknown_price_is_compacted_here() -> None:
    cm = compactor(model=replace(Model.named(CLAUDE_MILLION), price=Price()), server="auto")
    assert cm.fit(past(cm)).server is None
