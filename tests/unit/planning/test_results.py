"""Calls, placeholders, what JSON holds, and a result told by its originals: the core against the slow way."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trimtab
from oracles import results as slow
from support.transcripts import PROVIDERS, specs, transcript
from trimtab import Kind, _core
from trimtab.planning.stages.sizes import PLACEHOLDER_TEXT

COUNTER = trimtab.Counter("o200k_base")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.tuples(st.integers()),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=2) | st.integers(), parts, max_size=3),
    max_leaves=6,
)


@given(st.lists(VALUES, max_size=5))
def test_what_json_cannot_hold_is_told_for_each_value(values: list[Any]) -> None:
    assert _core.not_json(values) == [place for place, value in enumerate(values) if not slow.is_json(value)]


def test_a_nested_number_that_is_none_is_not_json() -> None:
    assert _core.not_json([{"a": [1.5, {"b": math.nan}]}, {"a": "NaN"}, {"a": -math.inf}, object(), {1: 2}]) == [
        0,
        2,
        3,
        4,
    ]


@pytest.mark.parametrize("provider", PROVIDERS)
@given(data=st.data())
def test_the_calls_of_rows_are_those_of_their_messages(provider: str, data: st.DataObject) -> None:
    messages = transcript(data.draw(specs(provider)), provider)
    ledger = _core.Ledger.of(messages, counter=COUNTER, provider=provider)
    kind, owner, first = ledger.kind.tolist(), ledger.owner.tolist(), ledger.first.tolist()
    rows = [row for row in range(len(kind)) if kind[row] in {Kind.CALL, Kind.RESULT, Kind.TEXT}]

    def oracle(row: int) -> object:
        start = first[owner[row]]
        return slow.call(messages[owner[row]], row - start, kind[start:row].count(Kind.CALL))

    found = ledger.calls(messages, rows)
    assert found == [oracle(row) for row in rows]
    for row, call in zip(rows, found, strict=True):
        if kind[row] == Kind.CALL:
            assert call is not None
            path, key, _, arguments = call
            at: Any = messages[owner[row]]
            for step in path:
                at = at[step]
            assert at[key] is arguments


def test_a_call_out_of_range_is_an_error() -> None:
    messages = transcript("u c1 r1")
    ledger = _core.Ledger.of(messages, counter=COUNTER)
    with pytest.raises(ValueError, match="out of range"):
        ledger.calls(messages, [99])
    with pytest.raises((ValueError, IndexError)):
        ledger.calls(messages[:1], [1])


@pytest.mark.parametrize(
    "content",
    [None, 7, "x", [], [7], [{"type": "tool_use"}], [{"toolUse": 3}], [{"function_call": {"args": "x"}}]],
)
def test_a_message_of_another_shape_has_no_call_or_an_empty_one(content: object) -> None:
    messages = transcript("u c1 r1")
    ledger = _core.Ledger.of(messages, counter=COUNTER)
    for other in (
        {"content": content},
        {"parts": content},
        {"tool_calls": content},
        {"tool_calls": [{"function": content}]},
    ):
        changed = [messages[0], other, messages[2]]
        assert ledger.calls(changed, [1]) == [slow.call(other, 0, 0)]


@given(
    st.lists(st.tuples(st.integers(0, 2**53), st.text(max_size=70), st.text(max_size=90)), max_size=4),
    st.sampled_from(["", "restore 0af3", "recall ref=" + "0af3" * 5]),
)
def test_placeholders_are_the_longest_that_fit(removed: list[tuple[int, str, str]], back: str) -> None:
    assert slow.LIMIT == PLACEHOLDER_TEXT
    told = _core.placeholders(removed, back=back, limit=PLACEHOLDER_TEXT, counter=COUNTER)
    assert told == [slow.placeholder(*one, back, COUNTER.count) for one in removed]


@pytest.mark.parametrize("about", ["src/" + "深い/" * 30 + "a.py", "make  test\n\tand [all] the rest of it " * 3])
def test_a_placeholder_is_one_line_and_known_again(about: str) -> None:
    (told,) = _core.placeholders([(12_345, "Bash", about)], back="restore 0af3", limit=64, counter=COUNTER)
    assert told == slow.placeholder(12_345, "Bash", about, "restore 0af3", COUNTER.count)
    assert told.startswith("[trimtab: pruned 12,345 tokens of Bash ")
    assert "\n" not in told
    pruned = [{"role": "tool", "tool_call_id": "a", "content": told}]
    assert _core.Ledger.of(pruned, counter=COUNTER, provider="openai_chat").flags[0] & 128


@pytest.mark.parametrize("provider", PROVIDERS)
@given(data=st.data())
def test_a_result_is_told_by_its_originals_and_made_of_them_again(provider: str, data: st.DataObject) -> None:
    originals = transcript(data.draw(specs(provider)), provider)
    made: list[Any] = []
    for place, message in enumerate(originals):
        key = "parts" if "parts" in message else "content"
        blocks = message.get(key)
        match data.draw(st.integers(0, 5)):
            case 0:
                continue
            case 1 if isinstance(blocks, list) and blocks:
                kept = [block for block in blocks if data.draw(st.booleans())]
                made.append({**message, key: [*kept, {"type": "text", "text": f"new {place}"}]})
            case 2:
                made.append({**message, "role": "user", key: [{"text": ["new", (1, 2)]}, *(blocks or [])[:1]]})
            case 3:
                made.append({"role": "user", key: f"a summary of {place}"})
            case _:
                made.append(message)
    before = copy.deepcopy((originals, made))
    parts = _core.parts_of(originals, made)
    assert parts == slow.parts_of(originals, made)
    later = [*originals, {"role": "user", "content": "go on"}]
    again = _core.made_of(parts, later, len(originals))
    assert again == slow.made_of(parts, later, len(originals)) == [*slow.copy(made), later[-1]]
    assert (originals, made) == before
    known = {id(message) for message in originals}
    assert again is not None
    for old, new in zip(made, again, strict=False):
        assert (id(old) in known) == (new is old)


def test_a_result_of_blocks_is_not_made_of_a_text() -> None:
    originals = transcript("u:9 c1 r1:900 a:5")
    made = [
        originals[0],
        originals[1],
        {**originals[2], "content": [*originals[2]["content"], {"type": "text", "text": "x"}]},
    ]
    parts = _core.parts_of(originals, made)
    assert parts == [[0, 2], {"of": 2, "key": "content", "blocks": [0, {"type": "text", "text": "x"}]}]
    assert _core.made_of(parts, [*originals[:2], {"role": "user", "content": "the same"}], 3) is None


def test_a_message_that_holds_itself_is_an_error_and_not_a_hang() -> None:
    new: dict[str, Any] = {"role": "user", "content": []}
    new["content"].append(new)
    with pytest.raises(RecursionError):
        _core.parts_of([], [new])


TEXTS = st.text("ab \n\t\x1f\u2003é\ud800", max_size=9) | st.sampled_from(
    ["a b", "a b c", "é " * 999, "x" * 1_000 + " b c d"]
)
PARTS = st.recursive(
    TEXTS | st.integers(),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(TEXTS, parts, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from("abcdef"), PARTS), st.sets(st.sampled_from("abcdef")).map(tuple))
def test_fields_with_text_are_those_with_three_words(value: dict[str, Any], known: tuple[str, ...]) -> None:
    assert _core.worded([value], known) == slow.worded(value, known)


@pytest.mark.parametrize("number", [999, 1_000, 1_001, 5_000])
def test_a_field_of_many_values_is_taken_to_hold_text(number: int) -> None:
    value = {"a": [1] * number, "b": {"c": ["x"] * number, "d": "one two three"}}
    assert _core.worded([value], ()) == slow.worded(value, ())
