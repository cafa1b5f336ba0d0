"""Prune order: pictures and superseded reads leave before older results."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
import trimtab
from support.checker import check
from support.models import CLAUDE
from support.scale import scaled
from support.transcripts import PROVIDERS, png, transcript
from trimtab import Plan, validate
from trimtab._core import PRUNED
from trimtab.planning import Prune

O200K = trimtab.Counter("o200k_base")
READ = st.tuples(st.sampled_from(["/a", "/b"]), st.sampled_from([None, 1, 2]), st.booleans(), st.booleans())


def reading(reads: list[Any], provider: str) -> list[Any]:
    """A transcript of reads, each with its result, in a provider's shape: ``(file, part, failed, pruned)``."""
    out: list[Any] = [{"role": "user", "content": "go"}]
    for n, (file, part, failed, pruned) in enumerate(reads):
        asked = {"file_path": file} | ({} if part is None else {"offset": part})
        said = PRUNED + "9 tokens]" if pruned else f"{n} of the file"
        if provider == "anthropic":
            call = {"type": "tool_use", "id": f"c{n}", "name": "Read", "input": asked}
            result = {"type": "tool_result", "tool_use_id": f"c{n}", "content": said, "is_error": failed}
            out += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        elif provider == "openai_chat":
            function = {"name": "read_file", "arguments": json.dumps(asked)}
            out.append(
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": f"c{n}", "type": "function", "function": function}],
                }
            )
            out.append({"role": "tool", "tool_call_id": f"c{n}", "content": said})
        elif provider == "openai_responses":
            call = {"type": "function_call", "call_id": f"c{n}", "name": "mcp__fs__read_file"}
            out.append(call | {"arguments": json.dumps(asked)})
            out.append({"type": "function_call_output", "call_id": f"c{n}", "output": said})
        elif provider == "bedrock":
            state = {"status": "error"} if failed else {}
            result = {"toolUseId": f"c{n}", "content": [{"text": said}], **state}
            use = {"toolUse": {"toolUseId": f"c{n}", "name": "read", "input": asked}}
            out += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [{"toolResult": result}]}]
        else:
            out.append({"role": "model", "parts": [{"functionCall": {"name": "ReadFile", "args": asked}}]})
            answer = {"functionResponse": {"name": "ReadFile", "response": {"result": said}}}
            out.append({"role": "user", "parts": [answer]})
    return out


@settings(max_examples=scaled(150))
@given(st.lists(READ, max_size=8), st.sampled_from(PROVIDERS), st.integers(0, 9))
def test_superseded_means_a_newer_read_of_the_same_file_or_part_that_went_well(
    reads: list[Any], provider: Any, cut: int
) -> None:
    says_errors = provider in {"anthropic", "bedrock"}
    marks = provider != "gemini"  # there a result is JSON, which hides the mark
    known = [(file, part, failed and says_errors, pruned and marks) for file, part, failed, pruned in reads]
    messages = reading(reads, provider)
    if provider in {"bedrock", "gemini"}:
        messages[0] = {"role": "user", "content": [{"text": "go"}]} if provider == "bedrock" else gemini("go")
    ledger = trimtab.Ledger.of(messages, counter=O200K, provider=provider)
    results = [row for row in range(len(ledger.kind)) if ledger.kind[row] == trimtab.Kind.RESULT]
    newer = {results[old]: results[new] for old, new in oracle.superseded(known).items()}
    assert ledger.superseded.tolist() == [newer.get(row, -1) for row in range(len(ledger.kind))]
    first = trimtab.Ledger.of(messages[:cut], counter=O200K, provider=provider)
    assert first.extend(messages[cut:]).superseded.tolist() == ledger.superseded.tolist()


def gemini(text: str) -> Any:
    return {"role": "user", "parts": [{"text": text}]}


def planned(messages: list[Any], provider: Any, need: int) -> tuple[trimtab.Ledger, Plan]:
    """The plan that takes off so many tokens."""
    cm = trimtab.Compactor(CLAUDE, provider=provider)
    ledger = trimtab.Ledger.of(messages, counter=trimtab.Counter.for_model(CLAUDE), provider=provider)
    return ledger, cm.plan(messages, target_tokens=int(ledger.total - need))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_old_pictures_go_first_and_leave_a_text(provider: Any) -> None:
    spec = "u:20 c1 r1:800 a:9 u:5+i:900 a:9 u:20+i:1200 a:9 " + "u:30 a:120 " * 12 + "u:9+i:700 a:9"
    messages = transcript(spec, provider)
    before = json.dumps(messages)
    ledger, plan = planned(messages, provider, 10)
    (edit,) = plan.edits
    assert isinstance(edit, Prune)
    assert edit.why == "images"
    (row,) = edit.rows
    assert row == ledger.pictured[0]
    assert "1 old picture, before all else" in str(plan)
    cm = trimtab.Compactor(CLAUDE, provider=provider)
    done = cm.compact(messages, plan=plan)
    assert json.dumps(messages) == before
    assert not validate(done.messages, provider=provider)
    assert not check(done.messages, provider)
    assert PRUNED in json.dumps(done.messages, ensure_ascii=False)
    assert json.dumps(done.messages).count(png(900, 100)) == 0
    assert done.tokens_after <= plan.target
    assert cm.restore(done.ref or "") == messages
    changed = [index for index, message in enumerate(done.messages) if message is not messages[index]]
    assert changed == [int(ledger.owner[row])]


def test_the_last_requests_picture_stays() -> None:
    messages = transcript("u:20 a:900 u:9+i:700 a:9 c1 r1:700 c2 r2:20 a:9", "anthropic")
    ledger, plan = planned(messages, "anthropic", 100)
    assert all(ledger.pictured[0] not in edit.rows for edit in plan.edits if isinstance(edit, Prune))


def test_a_result_that_holds_a_picture_is_pruned_whole_and_before_older_results() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png(900, 600)}}
    messages = transcript("u:20 c1 r1:800 a:9 c2 r2:10 a:9 " + "u:30 a:120 " * 12 + "u:9", "anthropic")
    shot = next(m for m in messages if isinstance(m["content"], list) and "call_2" in str(m) and m["role"] == "user")
    shot["content"][0]["content"] = [{"type": "text", "text": "the screen"}, picture]
    ledger, plan = planned(messages, "anthropic", 200)
    assert [(edit.why, edit.rows) for edit in plan.edits if isinstance(edit, Prune)] == [
        ("images", (int(ledger.pictured[0]),))
    ]


def test_a_picture_keeps_its_cache_marker() -> None:
    messages = transcript("u:5+i:900 a:9 " + "u:30 a:120 " * 12 + "u:9", "anthropic")
    messages[0]["content"][1]["cache_control"] = {"type": "ephemeral"}
    _, plan = planned(messages, "anthropic", 10)
    done = trimtab.Compactor(CLAUDE).compact(messages, plan=plan)
    assert done.messages[0]["content"][1]["cache_control"] == {"type": "ephemeral"}
    assert done.messages[0]["content"][1]["type"] == "text"


def test_what_was_read_again_goes_before_what_is_older() -> None:
    def call(n: int, name: str, asked: dict[str, Any]) -> list[Any]:
        use = {"type": "tool_use", "id": f"c{n}", "name": name, "input": asked}
        result = {"type": "tool_result", "tool_use_id": f"c{n}", "content": f"line {n} of it\n" * 60}
        return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]

    messages = [
        {"role": "user", "content": "mend it"},
        *call(1, "Bash", {"command": "ls"}),
        *call(2, "Read", {"file_path": "/a"}),
        *call(3, "Read", {"file_path": "/b"}),
        *call(4, "Read", {"file_path": "/a"}),
        *transcript("u:30 a:200 " * 14 + "u:9", "anthropic"),
    ]
    ledger, plan = planned(messages, "anthropic", 200)
    pruned = [edit for edit in plan.edits if isinstance(edit, Prune)]
    assert [(edit.why, [ledger.id_of(row) for row in edit.rows]) for edit in pruned] == [("superseded", ["c2"])]
    assert "of files that were read again later" in str(plan)
    _, more = planned(messages, "anthropic", 800)
    whys = {ledger.id_of(row): edit.why for edit in more.edits if isinstance(edit, Prune) for row in edit.rows}
    assert whys == {"c2": "superseded", "c1": ""}
    assert Plan.from_json(more.to_json()) == more


def test_a_plan_names_no_reason_that_there_is_not() -> None:
    _, plan = planned(transcript("u:5+i:900 a:9 " + "u:30 a:120 " * 12 + "u:9", "anthropic"), "anthropic", 10)
    with pytest.raises(trimtab.PlanError, match="why of Prune is 'mood'"):
        Plan.from_json(plan.to_json().replace('"why": "images"', '"why": "mood"'))
