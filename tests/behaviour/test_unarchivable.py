"""A value that JSON cannot hold, or an object that cannot be made again, is named by its place; nothing is lost."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import InitVar, dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel, model_validator

import trimtab
from support.models import CLAUDE
from support.transcripts import transcript

MODEL = CLAUDE
CYCLE: dict[str, Any] = {}
CYCLE["again"] = CYCLE


class Odd:
    pass


VALUES: dict[str, Any] = {
    "bytes": b"x",
    "NaN": math.nan,
    "infinity": -math.inf,
    "a set": {1},
    "a datetime": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    "a cycle": CYCLE,
    "a huge integer": 10**5000,
    "a key that is an integer": {1: 2},
    "a key that is a tuple": {(1, 2): 3},
    "a key that is None": {None: 1},
    "an object": Odd(),
    "a generator": (n for n in ()),
    "a complex number": 1j,
}
PLACES = {
    ".content[0].input.deep[1]": lambda value: {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"deep": [0, value]}}],
    },
    ".content[0].more": lambda value: {"role": "assistant", "content": [{"type": "text", "text": "hi", "more": value}]},
    ".content[0].source.data": lambda value: {
        "role": "assistant",
        "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": value}}],
    },
}


def around(message: Any) -> list[Any]:
    past = transcript("u:90 " + " ".join(f"c{n} r{n}:60 a:30 u:60" for n in range(20)))
    is_call = isinstance(message, dict) and message["content"][0] and "input" in message["content"][0]
    answers = [{"type": "tool_result", "tool_use_id": "t", "content": "1"}] if is_call else "so"
    return [*past, message, {"role": "user", "content": answers}]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("place", PLACES)
def test_a_value_that_json_cannot_hold_is_named(value: str, place: str) -> None:
    messages = around(PLACES[place](VALUES[value]))
    asked: list[Any] = []
    cm = trimtab.Compactor(MODEL, summarizer=lambda ask: asked.append(ask) or "a summary")
    for door in (cm.fit, cm.compact, lambda m: cm.compact(m, target_share=0.3)):
        with pytest.raises(trimtab.MessageError) as caught:
            door(messages)
        assert caught.value.index == len(messages) - 2
        assert caught.value.path.startswith(f"messages[{len(messages) - 2}]")
        assert caught.value.hint
    assert not asked
    assert cm.history() == []


@pytest.mark.parametrize("value", ["a set", "NaN", "a key that is an integer"])
def test_the_path_leads_to_the_value(value: str) -> None:
    messages = around(PLACES[".content[0].more"](VALUES[value]))
    with pytest.raises(trimtab.MessageError) as caught:
        trimtab.Compactor(MODEL).compact(messages, target_share=0.3)
    assert caught.value.path == f"messages[{len(messages) - 2}].content[0].more"


def test_what_json_can_hold_passes() -> None:
    deep: dict[str, Any] = {}
    for _ in range(150):
        deep = {"in": deep}
    for value in ("\ufffd", deep, "NaN", "Infinity", 2**70, 1e308, [None, True], (1, 2)):
        messages = around(PLACES[".content[0].more"](value))
        cm = trimtab.Compactor(MODEL)
        assert cm.fit(messages).messages is messages
        done = cm.compact(messages, target_share=0.3)
        assert cm.restore(done.ref)[-2]["content"][0]["more"] == (list(value) if isinstance(value, tuple) else value)


@dataclass
class Note:
    text: str


def test_an_object_in_a_field_that_is_not_counted_is_archived_as_its_dict() -> None:
    """``fit`` took it, and the compaction raised ``ArchiveError``."""
    messages = around({"role": "assistant", "content": "yes", "note": Note("hm")})
    cm = trimtab.Compactor(MODEL)
    assert cm.fit(messages).messages is messages
    done = cm.compact(messages, target_share=0.3)
    assert cm.restore(done.ref)[-2]["note"] == {"text": "hm"}
    assert any(message is messages[-2] for message in done.messages)


class Signed(BaseModel):
    role: str
    content: Any
    seal: str | None

    @model_validator(mode="before")
    @classmethod
    def sealed(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("content") == "made":
            given = {**given, "seal": "ours"}
        return given


class Unique(BaseModel):
    """Takes no second object of the same fields."""

    role: str
    content: Any

    @model_validator(mode="before")
    @classmethod
    def once(cls, given: Any) -> Any:
        if not isinstance(given, dict) or not given.get("content", "").startswith("first: "):
            raise ValueError("made by hand only")
        return {**given, "content": given["content"].removeprefix("first: ")}


@dataclass
class Loud:
    role: str
    content: Any
    volume: InitVar[int]
    heard: str = field(init=False, default="yes")

    def __post_init__(self, volume: int) -> None:
        self.heard = str(volume)


@pytest.mark.parametrize(
    "stranger", [Unique(role="assistant", content="first: x"), Loud("assistant", "x", volume=3)], ids=["model", "data"]
)
def test_an_object_that_cannot_be_made_again_is_named(stranger: Any) -> None:
    messages = around(stranger)
    cm = trimtab.Compactor(MODEL)
    for door in (cm.fit, lambda m: cm.compact(m, target_share=0.3)):
        with pytest.raises(trimtab.MessageError, match="cannot be made again") as caught:
            door(messages)
        assert (caught.value.index, caught.value.path) == (len(messages) - 2, f"messages[{len(messages) - 2}]")
    assert cm.history() == []


def test_a_field_that_is_none_and_required_comes_back() -> None:
    """New messages were dicts: a dump leaves None out, and the class asked for it."""
    messages = [
        Signed(role=m["role"], content=m["content"], seal=None) for m in around({"role": "assistant", "content": "x"})
    ]
    done = trimtab.Compactor(MODEL).compact(messages, target_share=0.3)
    assert {type(message) for message in done.messages} == {Signed}
