"""Dicts and lists are read without calls where their layout is known, and by the interpreter's functions elsewhere."""

from __future__ import annotations

import copy
import sys
from collections import OrderedDict
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trimtab
from support.models import CLAUDE
from support.transcripts import transcript
from trimtab import _core

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(
    not hasattr(_core, "_looks"), reason="needs a build with debug assertions (profile checked)"
)

SPEC = "u:40 t+c1+c2 r1:30+r2:5 a:9 u:3 c3 r3:12 a"
VALUES = ("said", "said again", "", 7, None, True, [], ["a"], {"a": "b"})


@contextmanager
def reading(*, without_calls: bool) -> Iterator[None]:
    """The core reads without calls, where it can, or by calls alone."""
    _core._looks(without_calls)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        _core._looks(True)  # type: ignore[attr-defined]


def test_the_layout_is_known_in_the_versions_that_were_looked_up() -> None:
    is_one = sys.implementation.name == "cpython" and (3, 11) <= sys.version_info < (3, 14)
    assert _core._looks(True) == is_one  # type: ignore[attr-defined]


def containers(value: Any) -> Iterator[Any]:
    """Yield all dicts and lists in a value, the outermost first."""
    if isinstance(value, dict | list):
        yield value
        for part in value.values() if isinstance(value, dict) else value:
            yield from containers(part)


def change(container: Any, how: str, place: int, value: Any) -> None:
    """Change a dict or a list in place."""
    if how == "grow":
        container.append(value) if isinstance(container, list) else container.update({f"new {place}": value})
        return
    if not container:
        return
    key = place % len(container) if isinstance(container, list) else [*container][place % len(container)]
    if how == "shrink":
        del container[key]
    elif how == "copy":
        container[key] = copy.deepcopy(container[key])
    elif how == "turn":
        other = [*container.items()][::-1] if isinstance(container, dict) else container[::-1]
        container.clear()
        container.update(other) if isinstance(container, dict) else container.extend(other)
    else:
        container[key] = value


changes = st.tuples(
    st.sampled_from(["set", "grow", "shrink", "copy", "turn"]),
    st.integers(0, 1000),
    st.integers(0, 6),
    st.sampled_from(VALUES),
)


def judged(session: Any, messages: list[Any]) -> Any:
    """What a session says of a list, or why it cannot."""
    try:
        return session.count(messages)
    except ValueError as refused:
        return str(refused)


@given(without_calls=st.booleans(), made=st.lists(changes, max_size=4))
def test_what_changes_in_place_is_noticed(without_calls: bool, made: list[tuple[str, int, int, Any]]) -> None:
    compactor = trimtab.Compactor(CLAUDE)
    session, messages = compactor.session("a"), transcript(SPEC)
    with reading(without_calls=without_calls):
        judged(session, messages)
        for how, where, place, value in made:
            found = [*containers(messages)]
            change(found[where % len(found)], how, place, value)
            assert judged(session, messages) == judged(compactor.session("b"), copy.deepcopy(messages))


def odd(kind: str) -> Any:
    """A message whose dict is no plain one."""
    said = {"role": "user", "content": "words " * 9}
    match kind:
        case "fields of an object":
            return vars(SimpleNamespace(**said))
        case "ordered":
            return OrderedDict(said)
        case "holes":
            many = {f"key {n}": n for n in range(300)} | said
            for n in range(300):
                del many[f"key {n}"]
            return many
        case "a key that is no text":
            return said | {"metadata": {1: "one", (2, 3): "two"}}
        case _:
            return said | {f"key {n}": str(n) for n in range(300)}


@pytest.mark.parametrize("without_calls", [True, False])
@pytest.mark.parametrize("kind", ["fields of an object", "ordered", "holes", "a key that is no text", "large"])
def test_dicts_of_every_kind_are_read_alike(kind: str, without_calls: bool) -> None:
    compactor = trimtab.Compactor(CLAUDE)
    session, messages = compactor.session("a"), [*transcript("u a"), odd(kind), *transcript("a u")]
    with reading(without_calls=without_calls):
        before = judged(session, messages)
        assert judged(session, messages) == before == judged(compactor.session("b"), [*messages])
        messages[2]["content"] = "other words " * 20
        after = judged(session, messages)
        assert after == judged(compactor.session("c"), [*messages])
        assert isinstance(before, str) or after > before
