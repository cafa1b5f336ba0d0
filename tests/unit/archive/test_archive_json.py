"""The JSON of stored messages: equal to `json.dumps`, and decoded without loss."""

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
def test_encode_equals_json_dumps_with_its_sha_256(values: list) -> None:
    texts, digests = _core.dumps(values)
    assert [text.lower() for text in texts] == [json.dumps(value).lower() for value in values], "but for capitals"
    assert digests == [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    assert [json.dumps(decode(text)) for text in texts] == [json.dumps(value) for value in values]


@given(TEXT.filter(lambda text: not any("\ud7ff" < c < "\ue000" for c in text)))
def test_encode_equals_json_dumps_exactly_without_surrogates(text: str) -> None:
    assert _core.dumps([text])[0] == [json.dumps(text)]


@given(HALVES | TEXT, st.dictionaries(HALVES, HALVES, max_size=3))
def test_decode_returns_every_string_unchanged(text: str, more: dict) -> None:
    value = {"content": text, **more}
    ((written,), _) = encode([value])
    assert written.isascii()
    assert decode(written) == value
    assert json.dumps(decode(written)) == json.dumps(value)


class Word(enum.StrEnum):
    PLAN = "plan"


class Number(enum.IntEnum):
    SEVEN = 7


def test_encode_writes_subclasses_like_json_dumps() -> None:
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


def test_encode_rejects_deep_nesting_on_a_small_stack() -> None:
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


def test_encode_rejects_cycles_and_values_that_are_not_json() -> None:
    loop: list = []
    loop.append(loop)
    tuples: list = [(loop,)]
    tuples.append((tuples,))
    for value in (loop, tuples, {1: 2}, {"a": {3}}, b"x", 10**5000):
        with pytest.raises(trimtab.ArchiveError, match="archived as JSON"):
            encode([value])
