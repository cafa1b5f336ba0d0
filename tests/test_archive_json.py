"""The JSON in which messages are kept: what `json.dumps` writes, and what comes back of it."""

from __future__ import annotations

import enum
import hashlib
import json
import threading
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trimtab
from trimtab import _core
from trimtab.archive.sql.codec import decode, encode

TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
PARTS = ["\\", "u", "D83D", "\ud83d", "\ude00", "\U0001f600", '"', "\x7f"]
HALVES = st.lists(st.sampled_from(PARTS), max_size=12).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=4))
def test_it_is_what_json_writes_and_its_sha_256(values: list) -> None:
    texts, digests = _core.dumps(values)
    assert [text.lower() for text in texts] == [json.dumps(value).lower() for value in values], "but for capitals"
    assert digests == [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    assert [json.dumps(decode(text)) for text in texts] == [json.dumps(value) for value in values]


@given(TEXT.filter(lambda text: not any("\ud7ff" < c < "\ue000" for c in text)))
def test_without_surrogates_it_is_that_to_the_letter(text: str) -> None:
    assert _core.dumps([text])[0] == [json.dumps(text)]


@given(HALVES | TEXT, st.dictionaries(HALVES, HALVES, max_size=3))
def test_every_string_comes_back_as_it_stood(text: str, more: dict) -> None:
    value = {"content": text, **more}
    ((written,), _) = encode([value])
    assert written.isascii()
    assert decode(written) == value
    assert json.dumps(decode(written)) == json.dumps(value)


class Word(enum.StrEnum):
    PLAN = "plan"


class Number(enum.IntEnum):
    SEVEN = 7


def test_types_below_those_of_json_are_what_json_writes() -> None:
    value = OrderedDict(word=Word.PLAN, number=Number.SEVEN, both=(Word.PLAN, True, None, float("inf")))
    assert (
        encode([value])[0]
        == [json.dumps(value)]
        == ['{"word": "plan", "number": 7, "both": ["plan", true, null, Infinity]}']
    )


def nested(depth: int) -> object:
    value: object = {}
    for _ in range(depth):
        value = [value]
    return value


def test_nesting_has_an_end_that_a_small_stack_reaches() -> None:
    done: list[object] = []

    def work() -> None:
        done.append(decode(encode([nested(400)])[0][0]) == nested(400))
        for value in (nested(401), nested(100_000)):
            with pytest.raises(trimtab.ArchiveError, match="deeper than 400 levels"):
                encode([value])
        done.append("refused")

    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert done == [True, "refused"]


def test_what_contains_itself_and_what_is_no_json_is_refused() -> None:
    loop: list = []
    loop.append(loop)
    tuples: list = [(loop,)]
    tuples.append((tuples,))
    for value in (loop, tuples, {1: 2}, {"a": {3}}, b"x", 10**5000):
        with pytest.raises(trimtab.ArchiveError, match="archived as JSON"):
            encode([value])
