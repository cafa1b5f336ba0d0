"""Arrow data in and out: each row equals what the one-call functions say of it, whatever stands beside it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from arro3.core import Table
from hypothesis import given
from hypothesis import strategies as st

import trimtab
from support.damage import damaged
from support.format_cases import LINES, WHOLES
from support.models import CLAUDE, GPT
from support.transcripts import PROVIDERS, messages, transcript
from trimtab import Kind, Role
from trimtab.formats import LOGS, AgentLog, scan_list
from trimtab.policies import POLICIES

arrow = trimtab.arrow

ASK, SAY = {"role": "user", "content": "naïve 日本"}, {"role": "assistant", "content": "done"}
LISTS = [transcript("u:40 c1:3+c2 r1:60+r2 a:90 u c3", provider) for provider in PROVIDERS]


def dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


FILES = [
    trimtab.formats.EXAMPLE.read_bytes(),
    *(b"\n".join(dumped(line) for line in make(3)) for make in LINES.values()),
    *(dumped(make(3)) for make in WHOLES.values()),
    *(dumped([*make(3)]) for make in LINES.values()),
    *map(dumped, LISTS),
    dumped({"messages": [ASK, SAY], "model": GPT, "system": "be brief"}),
]
"""Session files of every format, and lists of every provider."""

DAMAGED = [
    b"",
    b"plain text",
    b"\x80\xff\x00\x01",
    b"[]",
    b"{}",
    b"[1, 2]",
    b'[{"role": "user"}]',
    b'[{"role": "user", "content": 7}]',
    b'[{"content": "no role"}]',
    b"[" * 3_000,
    b"\xef\xbb\xbf",
    b'{"role": "user", "content": ',
]
"""Rows that hold no session."""

HALF = b'[{"role": "user", "content": "half \\ud83d"}]'
"""A lone surrogate, which UTF-8 has no bytes for."""


def session(value: bytes | list[dict[str, Any]]) -> trimtab.Transcript:
    """Return a row as a session, as the command line does: an agent's log is repaired, a list is not."""
    if isinstance(value, list):
        provider = trimtab._core.detect(value) or "openai_chat"
        return trimtab.Transcript(value, provider, provider)
    found = trimtab.read(value, repair=False)
    return trimtab.read(value) if found.format in LOGS else found


def tokens_of(found: trimtab.Transcript, model: str) -> dict[str, Any]:
    """Return a session's tokens, added up block by block."""
    ledger = trimtab.Ledger.of(found.messages, counter=trimtab.Counter.for_model(model), provider=found.provider)
    names = {
        **dict.fromkeys([Kind.RESULT, Kind.SERVER_RESULT], "results"),
        **dict.fromkeys([Kind.CALL, Kind.SERVER_CALL], "calls"),
        **dict.fromkeys([Kind.IMAGE, Kind.DOCUMENT], "pictures"),
        **dict.fromkeys([Kind.COMPACTION, Kind.OPAQUE], "other"),
        Kind.THINKING: "thinking",
    }
    said = {Role.USER: "user", Role.ASSISTANT: "assistant", Role.SYSTEM: "system"}
    kinds = dict.fromkeys([*said.values(), *names.values(), "message_overhead"], 0)
    each = ledger.per_message.tolist()
    kinds["message_overhead"] = sum(each) - int(ledger.tokens.sum())
    for kind, owner, tokens in zip(ledger.kind.tolist(), ledger.owner.tolist(), ledger.tokens.tolist(), strict=True):
        role = Role(ledger.role[owner])
        kinds[names.get(Kind(kind)) or said.get(role, "message_overhead")] += tokens
    tools, of = ledger.names
    used: dict[str, int] = {}
    for name, kind, tokens in zip(of, ledger.kind, ledger.tokens, strict=True):
        if Kind(kind) in {Kind.CALL, Kind.RESULT, Kind.SERVER_CALL, Kind.SERVER_RESULT}:
            used[tools[name]] = used.get(tools[name], 0) + int(tokens)
    by_tool = [{"tool": tool, "tokens": used[tool]} for tool in sorted(used)]
    return {"tokens": sum(each), "tokens_by_kind": kinds, "tokens_by_tool": by_tool, "tokens_by_message": each}


def loop(rows: list[Any], model: str | None, work: Any) -> list[dict[str, Any]]:
    """Return what a plain loop says row by row; no columns for a null row, an error for one that cannot be read."""
    said: list[dict[str, Any]] = []
    for row in rows:
        if row is None:
            said.append({})
            continue
        try:
            found = session(row)
            of = model or found.model
            here = {"format": found.format, "provider": found.provider, "model": of}
            said.append({**here, "messages": len(found.messages), "skipped": len(found.skipped), **work(found, of)})
        except Exception as error:  # noqa: BLE001 - whatever a row raises
            said.append({"error": str(error)})
    return said


def rows_of(result: Any) -> list[dict[str, Any]]:
    """Return a result's rows without what is null."""
    table = pa.table(result) if hasattr(result, "__arrow_c_stream__") else pa.record_batch(result)
    return [{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()]


def binary(rows: list[bytes | None]) -> pa.Table:
    return pa.table({"id": range(len(rows)), "session": pa.array(rows, pa.large_binary())})


@pytest.mark.parametrize("model", [CLAUDE, GPT])
def test_count_equals_a_loop_over_files_of_every_format(model: str) -> None:
    rows = [FILES[0], None, *DAMAGED, *FILES[1:], HALF]
    expected = loop(rows, model, tokens_of)
    assert rows_of(arrow.count(binary(rows), column="session", model=model)) == expected
    assert sum("tokens" in row for row in expected) == len(FILES) + 1


def test_count_takes_the_model_that_a_session_names() -> None:
    named, unnamed = rows_of(arrow.count(binary([FILES[0], dumped([ASK])]), column="session"))
    assert named["model"] == trimtab.read(FILES[0]).model
    assert named["tokens"] == sum(named["tokens_by_message"]) == sum(named["tokens_by_kind"].values())
    assert unnamed == {"error": "it names no model: name one (model=, --model)"}


@given(st.lists(st.sampled_from(PROVIDERS).flatmap(lambda name: st.one_of(messages(name), damaged(name))), max_size=4))
def test_count_equals_a_loop_over_any_lists(lists: list[list[dict[str, Any]]]) -> None:
    rows = [json.dumps(value).encode() for value in lists]
    assert rows_of(arrow.count(pa.array(rows, pa.binary()), model=CLAUDE)) == loop(rows, CLAUDE, tokens_of)


@pytest.mark.parametrize("text", [*FILES, *DAMAGED, HALF])
def test_a_list_is_counted_without_objects_only_where_read_changes_nothing(text: bytes) -> None:
    counter = trimtab.Counter.for_model(CLAUDE)
    ledger = scan_list(text, counter=counter)
    if ledger is not None:
        found = trimtab.read(text, repair=False)
        assert found.format == found.provider == ledger.provider
        assert trimtab.Ledger.of(found.messages, counter=counter, provider=found.provider).digests == ledger.digests


def test_which_lists_are_counted_without_objects() -> None:
    counter = trimtab.Counter.for_model(CLAUDE)
    plain = {
        name: scan_list(dumped(value), counter=counter) is not None
        for name, value in zip(PROVIDERS, LISTS, strict=True)
    }
    assert plain == {name: name in {"anthropic", "openai_chat", "bedrock"} for name in PROVIDERS}
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
    for value in (
        [{"role": "system", "content": "be brief"}, ASK, call],
        [{**ASK, "metrics": {}}],
        [{"role": "user", "content": None}, SAY],
        [{"role": "stranger", "content": "hi"}],
        {"messages": [ASK]},
    ):
        assert scan_list(dumped(value), counter=counter) is None, value


@pytest.mark.parametrize("text", [*FILES, *DAMAGED, HALF])
def test_a_log_is_counted_without_objects_as_read_returns_it(text: bytes) -> None:
    counter = trimtab.Counter.for_model(CLAUDE)
    log = AgentLog.of(text)
    ledger = log and log.ledger(counter)
    if log and ledger:
        found = trimtab.read(text)
        assert len(ledger) == log.messages - bool(found.repaired)
        plain = replace(found, messages=[], usage=[], left_out={}, system=None, repaired=[])
        assert replace(plain, window=None, default_window=None) == log.found
        same = trimtab.Ledger.of(found.messages, counter=counter, provider=found.provider)
        assert (ledger.provider, ledger.digests) == (same.provider, same.digests)
        assert ledger.per_message.tolist() == same.per_message.tolist()


def test_a_log_that_ends_with_thinking_is_counted_without_it() -> None:
    counter, ends = trimtab.Counter.for_model(CLAUDE), 0
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    lines = trimtab.formats.EXAMPLE.read_bytes().splitlines()
    for n, value in enumerate(map(json.loads, lines)):
        if value["type"] != "assistant":
            continue
        value["message"] |= {"content": [thought], "id": "last"}
        cut = b"\n".join([*lines[:n], json.dumps(value).encode()])
        log, found = AgentLog.of(cut), trimtab.read(cut)
        ledger = log and log.ledger(counter)
        if log and ledger and found.repaired:
            same = trimtab.Ledger.of(found.messages, counter=counter, provider=found.provider)
            assert (ledger.digests, ledger.total) == (same.digests, same.total)
            assert log.read(is_accepted=len(ledger) == log.messages) == found
            ends += 1
    assert ends > 10


@pytest.mark.parametrize("text", [*FILES, *DAMAGED, HALF])
def test_a_log_that_the_core_has_read_is_what_read_returns(text: bytes) -> None:
    if log := AgentLog.of(text):
        assert log.read() == trimtab.read(text)
        assert AgentLog.of(text, log.found.format).read() == log.read()  # type: ignore[union-attr]
        in_lines = AgentLog.of_lines(text)
        assert in_lines is None or (in_lines.found, in_lines.read()) == (log.found, log.read())


def test_which_logs_are_counted_without_objects() -> None:
    counter = trimtab.Counter.for_model(CLAUDE)
    logs = [log for log in map(AgentLog.of, [*FILES, *DAMAGED]) if log and log.ledger(counter)]
    assert {log.found.format for log in logs} == {"claude_code", "codex"}
    assert {log.found.format for log in map(AgentLog.of_lines, FILES) if log} == {"claude_code", "codex"}
    half = AgentLog.of(HALF)
    assert half is None or half.ledger(counter) is None


TEXTS = [dumped([ASK, SAY]).decode(), None, "no session", dumped([SAY]).decode()]
TYPES = [
    *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()),
    pa.dictionary(pa.int32(), pa.string()),
]


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_texts_of_every_type_are_read(kind: pa.DataType) -> None:
    column = pa.array(TEXTS).cast(kind)
    expected = loop([text and text.encode() for text in TEXTS], GPT, tokens_of)
    assert rows_of(arrow.count(column, model=GPT)) == expected
    assert rows_of(arrow.count(column.slice(1, 2), model=GPT)) == expected[1:3]


def test_data_of_every_kind_is_taken_and_comes_back_as_a_batch_or_a_table() -> None:
    array = pa.array(TEXTS)
    batch, table = pa.record_batch({"s": array}), pa.table({"s": pa.chunked_array([array[:1], array[1:]])})
    expected = rows_of(arrow.count(array, model=GPT))
    for data in (batch, table, table["s"], table.to_reader(), Table.from_arrow(table)):
        result = arrow.count(data, model=GPT)
        assert hasattr(result, "__arrow_c_stream__") == (data is not batch)
        assert rows_of(result) == expected
    assert pa.table(arrow.count(table, model=GPT))["tokens"].num_chunks == 2


MESSAGES = pa.struct(
    {
        "role": pa.string(),
        "content": pa.list_(
            pa.struct(
                {
                    "type": pa.string(),
                    "text": pa.string(),
                    "id": pa.string(),
                    "name": pa.string(),
                    "input": pa.struct({"path": pa.string(), "n": pa.int64()}),
                    "tool_use_id": pa.string(),
                    "content": pa.string(),
                }
            )
        ),
    }
)
BLOCKS = [
    {"role": "user", "content": [{"type": "text", "text": "read a"}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "Read", "input": {"path": "a", "n": 1}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "text of a"}]},
]


@pytest.mark.parametrize("kind", [pa.list_(MESSAGES), pa.large_list(MESSAGES)], ids=["list", "large_list"])
def test_lists_of_structs_are_messages_without_the_fields_that_are_null(kind: pa.DataType) -> None:
    rows = [BLOCKS, None, [], BLOCKS[:1], BLOCKS[:2]]
    expected = loop(rows, CLAUDE, tokens_of)
    expected[2] = {"error": "an empty list: need at least one message"}
    assert rows_of(arrow.count(pa.array(rows, kind), model=CLAUDE)) == expected
    problems = rows_of(arrow.validate(pa.array(rows, kind), model=CLAUDE))
    assert [[one["code"] for one in row.get("problems", [])] for row in problems] == [
        [],
        [],
        [],
        [],
        ["tool_use_without_result"],
    ]


def structs(**columns: pa.Array) -> pa.Array:
    """Sessions of one message each, whose fields are the columns."""
    of = pa.StructArray.from_arrays([*columns.values()], [*columns])
    return pa.ListArray.from_arrays(pa.array(range(len(of) + 1), pa.int32()), of)


@pytest.mark.parametrize("row", [0, 70])
def test_a_string_that_is_not_utf8_is_the_fault_of_its_row(row: int) -> None:
    texts, ends = b"a" * row + b"\xff" + b"a" * (79 - row), pa.array(range(81), pa.int32()).buffers()[1]
    said = pa.Array.from_buffers(pa.string(), 80, [None, ends, pa.py_buffer(texts)])
    found = rows_of(arrow.count(structs(role=pa.array(["user"] * 80), content=said), model=CLAUDE))
    assert [number for number, one in enumerate(found) if "error" in one] == [row]
    assert found[row]["error"].startswith("a string in it is not UTF-8: ")


def test_times_and_decimal_numbers_of_messages_are_texts() -> None:
    at = datetime(2023, 4, 9, 0, 2, 53, tzinfo=UTC)
    more = {"at": pa.array([at, at]), "day": pa.array([19_456, 2**31 - 1], pa.int32()).cast(pa.date32())}
    column = structs(
        role=pa.array(["user"] * 2), content=pa.array(["a"] * 2), cost=pa.array([Decimal("1.50")] * 2), **more
    )
    first, second = rows_of(arrow.repair(column, model=GPT))
    message = {"role": "user", "content": "a", "cost": "1.50", "at": "2023-04-09T00:02:53Z", "day": "2023-04-09"}
    assert json.loads(first["repaired"]) == [message]
    assert second["error"].startswith("cannot be read: ")  # no calendar has that day


@pytest.mark.parametrize("verb", [arrow.count, arrow.validate, arrow.repair, arrow.compact])
def test_a_column_of_nulls_alone_is_rows_of_nulls(verb: Any) -> None:
    assert rows_of(verb(pa.nulls(3))) == [{}, {}, {}]


def test_a_struct_that_is_null_is_a_row_of_nulls_whatever_it_hides() -> None:
    for said in (pa.array(TEXTS), pa.array([BLOCKS] * 4, pa.list_(MESSAGES)), pa.array(TEXTS).dictionary_encode()):
        hidden = pa.StructArray.from_arrays([said], ["s"], mask=pa.array([True, False, False, True]))
        expected = [{}, *rows_of(arrow.count(said[1:3], model=CLAUDE)), {}]
        assert rows_of(arrow.count(hidden, column="s", model=CLAUDE)) == expected
        assert rows_of(arrow.count(hidden.slice(2), model=CLAUDE)) == expected[2:]
        assert rows_of(arrow.count(pa.chunked_array([hidden, hidden[:0], hidden[1:]]), model=CLAUDE)) == [
            *expected,
            *expected[1:],
        ]


def test_validate_equals_a_loop() -> None:
    rows = [*FILES, None, *DAMAGED, HALF, dumped([SAY]), dumped([ASK, ASK, {"role": "assistant", "content": " "}])]

    def work(found: trimtab.Transcript, model: str | None) -> dict[str, Any]:
        problems = trimtab.validate(found.messages, provider=found.provider, model=model)
        return {"problems": [{name: getattr(one, name) for name in one.__slots__} for one in problems]}

    expected = loop(rows, CLAUDE, work)
    assert rows_of(arrow.validate(binary(rows), column="session", model=CLAUDE)) == expected
    assert sum(bool(row.get("problems")) for row in expected) >= 3


def test_repair_equals_a_loop_and_what_it_returns_has_no_problems() -> None:
    rows = [*FILES, None, *DAMAGED, HALF, *(dumped(value[:2]) for value in LISTS), dumped([SAY])]

    def work(found: trimtab.Transcript, model: str | None) -> dict[str, Any]:
        done = trimtab.repair(found.messages, provider=found.provider, model=model)
        changes = [{name: getattr(one, name) for name in ("index", "code", "id")} for one in done.changes]
        logged = [{name: getattr(one, name) for name in ("index", "code", "id")} for one in found.repaired]
        return {"repaired": done.messages, "changes": logged + changes}

    found = rows_of(arrow.repair(binary(rows), column="session", model=CLAUDE))
    again = pa.array([row.get("repaired") for row in found])
    problems = rows_of(arrow.validate(again, model=CLAUDE))
    for row in found:
        if "repaired" in row:
            row["repaired"] = json.loads(row["repaired"])
    assert found == loop(rows, CLAUDE, work)
    assert [row["problems"] for row in problems if row] == [[]] * sum("repaired" in row for row in found)


@pytest.mark.parametrize("policy", POLICIES)
def test_compact_equals_a_loop(policy: str) -> None:
    rows = [FILES[0], None, *DAMAGED[:4], *map(dumped, LISTS), dumped([SAY])]
    settings = {"policy": policy, "window": 60_000, "max_output": 8_000}

    def work(found: trimtab.Transcript, model: str | None) -> dict[str, Any]:
        cm = trimtab.Compactor(model, provider=found.provider, **settings)
        done = cm.compact(found.messages, system=found.system, tools=found.tools, target_share=0.4)
        sizes = {"tokens_before": done.tokens_before, "tokens_after": done.tokens_after}
        return {"compacted": done.messages, **sizes, "reason": done.reason, "plan": done.plan}

    found = rows_of(arrow.compact(binary(rows), column="session", model=CLAUDE, target_share=0.4, **settings))
    for row in found:
        if "plan" in row:
            row["compacted"] = json.loads(row["compacted"])
            row["plan"] = trimtab.Plan.from_json(row["plan"])
    assert found == loop(rows, CLAUDE, work)
    assert found[0]["tokens_after"] < found[0]["tokens_before"]


def test_truncate_equals_a_loop() -> None:
    texts = ["one\ntwo\nthree\nfour\n", "", None, "naïve " * 99, "x"]
    cut = [text and trimtab.truncate(text, lines=3, chars=50, category="head-tail") for text in texts]
    expected = [
        {} if text is None else {"text": short, "truncated": short != text}
        for text, short in zip(texts, cut, strict=True)
    ]
    for kind in (pa.string(), pa.binary(), pa.string_view()):
        data = pa.array(texts).cast(kind)
        assert rows_of(arrow.truncate(data, lines=3, chars=50, category="head-tail")) == expected
    assert rows_of(arrow.truncate(pa.array([b"\xff a"]), chars=9)) == [
        {"text": "\N{REPLACEMENT CHARACTER} a", "truncated": False}
    ]
    words = rows_of(arrow.truncate(pa.array(["word " * 500]), tokens=100, model=CLAUDE))
    counter = trimtab.Counter.for_model(CLAUDE)
    assert words == [{"text": trimtab.truncate("word " * 500, tokens=100, counter=counter), "truncated": True}]


@pytest.mark.parametrize("verb", [arrow.count, arrow.validate, arrow.repair, arrow.compact])
def test_the_schema_is_the_same_for_no_rows_null_rows_and_bad_rows(verb: Any) -> None:
    given_ = [pa.array(rows, pa.binary()) for rows in ([], [None], [b"?"], [dumped([ASK, SAY])])]
    schemas = [pa.record_batch(verb(data, model=CLAUDE)).schema for data in given_]
    assert schemas == schemas[:1] * 4
    assert schemas[0] == pa.table(verb(pa.chunked_array([], pa.string()), model=CLAUDE)).schema
    assert schemas[0].names[:5] == ["format", "provider", "model", "messages", "skipped"]
    assert schemas[0].names[-1] == "error"


def test_a_value_without_bytes_in_utf8_is_replaced_or_escaped() -> None:
    row = dumped([{"role": "user", "content": "x"}]).replace(b'"x"', b'"\\ud83d"')
    (repaired,) = rows_of(arrow.repair(pa.array([row]), model=CLAUDE))
    assert json.loads(repaired["repaired"])[0]["content"] == "\N{REPLACEMENT CHARACTER}"
    model = b'{"model": "m\\ud83d", "messages": [{"role": "user", "content": "x"}]}'
    (counted,) = rows_of(arrow.count(pa.array([model])))
    assert counted["model"] == "m\N{REPLACEMENT CHARACTER}"
    (compacted,) = rows_of(arrow.compact(pa.array([row]), model=CLAUDE))
    assert "compacted" in compacted or "error" in compacted


@pytest.mark.parametrize(
    ("data", "options", "kind", "says"),
    [
        ([1], {}, TypeError, "need Arrow data .* got list"),
        (pa.array([1]), {}, TypeError, "has type Int64: need strings or binary"),
        (pa.array([[1]]), {}, TypeError, "has type List"),
        (pa.array([["a"]], pa.list_view(pa.string())), {}, TypeError, "has type ListView"),
        (
            pa.array([[{"a": [("k", 1)]}]], pa.list_(pa.struct({"a": pa.map_(pa.string(), pa.int8())}))),
            {},
            TypeError,
            "Map",
        ),
        (pa.table({"a": ["x"], "b": ["y"]}), {}, ValueError, "name the column to read: the data has a, b"),
        (pa.table({"a": ["x"]}), {"column": "c"}, ValueError, "there is no column 'c': the data has a"),
        (pa.array(["x"]), {"column": "c"}, ValueError, "there is no column 'c': the data is one array of Utf8"),
        (pa.array(["x"]), {"format": "no"}, ValueError, "unknown format 'no', need one of"),
    ],
)
def test_an_argument_that_cannot_be_raises(data: Any, options: dict[str, Any], kind: type, says: str) -> None:
    for verb in (arrow.count, arrow.validate, arrow.repair, arrow.compact):
        with pytest.raises(kind, match=says):
            verb(data, model=CLAUDE, **options)


def test_settings_of_a_compaction_and_limits_of_a_cut_are_checked_before_a_row_is_read() -> None:
    rows = pa.array([], pa.string())
    for options, kind in [({"policy": "no"}, ValueError), ({"foo": 1}, TypeError), ({"target_share": 3.0}, ValueError)]:
        with pytest.raises(kind):
            arrow.compact(rows, model=CLAUDE, **options)
    with pytest.raises(ValueError, match="limit"):
        arrow.truncate(rows)
    with pytest.raises(TypeError, match="need strings or binary"):
        arrow.truncate(pa.array([[ASK]]), chars=3)


def test_a_model_of_ones_own_counts() -> None:
    own = replace(trimtab.Model.named(CLAUDE), name="mine")
    (row,) = rows_of(arrow.count(pa.array([dumped([ASK])]), model=own))
    assert (row["model"], row["tokens"]) == (
        "mine",
        trimtab.count([ASK], model=CLAUDE) - trimtab.count([], model=CLAUDE),
    )


@pytest.mark.parametrize("verb", [arrow.count, arrow.validate, arrow.repair, arrow.compact])
def test_a_model_that_cannot_be_raises_before_a_row_is_read(verb: Any) -> None:
    with pytest.raises(ValueError, match="no such folder or file"):
        verb(pa.array(["x"]), model="./missing")
    with pytest.raises(TypeError):
        verb(pa.array(["x"]), model=5)


def test_a_number_that_json_has_not_is_the_fault_of_its_row() -> None:
    call = {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1e999}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "b"}
    row = dumped([ASK, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}])
    (repaired,) = rows_of(arrow.repair(pa.array([row]), model=CLAUDE))
    assert "repaired" not in repaired
    assert "not JSON compliant" in repaired["error"]


def test_large_answers_about_a_table_are_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"s": [dumped([ASK, SAY]).decode(), None, "no session"] * 9})
    expected = rows_of(arrow.compact(table, model=CLAUDE))
    monkeypatch.setattr("trimtab.adapters.arrow.answers.MOST", 1_000)
    result = pa.table(arrow.compact(table, model=CLAUDE))
    assert result["plan"].num_chunks > 3
    assert rows_of(result) == expected
    (of_batch,) = table.to_batches()
    assert rows_of(arrow.compact(of_batch, model=CLAUDE)) == expected


def test_a_missing_library_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arro3.core", None)
    with pytest.raises(ImportError, match=r"pip install 'trimtab\[arrow\]'"):
        arrow.count(pa.array(["x"]), model=CLAUDE)


def test_the_library_for_arrow_is_loaded_with_the_first_call() -> None:
    code = "import sys, trimtab; trimtab.arrow.count; print('arro3' in sys.modules, 'pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
