"""Inputs near those of the cases: a key left out, another number, a message twice or gone, another role, odd text.

Whatever comes of it, it is an answer or an error that says what is wrong; and where a slow version says what is right,
it is that. (Of whole transcripts it is asked in ``test_mutations``: the slow ones know no lone results and no roles of
another system.)
"""

from __future__ import annotations

import copy
import inspect
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import adapter
import pytest
from test_conformance import AT_HAND, cases, evaluator
from test_mutations import RIGHT, same

import trimtab

ROUNDS = 3
"""Changes of each case."""

KEPT = frozenset({"type", "op", "call_id", "tool_calls", "tool_call", "tool_result", "$repeat", "$concat", "$lines"})
"""Keys that say what a thing is: without them it is another thing."""

CLEAR = (trimtab.Error, ValueError, trimtab.MessageError)
ODD = ("", " ", "\u00e9\u4f60\U0001f600", "line\r\nline", "\x00", '{"a', "[object]", "0", "\u202e" * 9)
ROLES = ("user", "assistant", "tool", "system", "model", "developer")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every place in an input, with what stands there."""
    yield path, value
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in pairs:
        yield from places(part, (*path, key))


def droppable(op: str, path: tuple[Any, ...]) -> bool:
    """Whether what stands there may be left out."""
    if isinstance(path[-1], int) or path[-1] in KEPT or any(key in KEPT and "$" in str(key) for key in path):
        return False
    named = inspect.signature(adapter.OPS[op]).parameters.get(path[0])
    return len(path) > 1 or named is None or named.default is not inspect.Parameter.empty


def _without(at: Any, key: Any, chance: random.Random) -> None:
    del at[key]


def _number(at: Any, key: Any, chance: random.Random) -> None:
    at[key] = max(at[key] + chance.choice((-1, 1, 7)), 0) if isinstance(at[key], int) else at[key] * chance.random()


def _twice(at: Any, key: Any, chance: random.Random) -> None:
    at[key].insert(chance.randrange(len(at[key])), copy.deepcopy(chance.choice(at[key])))


def _gone(at: Any, key: Any, chance: random.Random) -> None:
    at[key].pop(chance.randrange(len(at[key])))


def _role(at: Any, key: Any, chance: random.Random) -> None:
    at[key] = chance.choice(ROLES)


def _odd(at: Any, key: Any, chance: random.Random) -> None:
    at[key] = chance.choice(ODD)


def ways(op: str, given: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], Callable[..., None]]]:
    """Yield the possible changes of an input: a path, and a function that changes it."""
    for path, value in places(given):
        if not path or any(str(key).startswith("$") for key in path):
            continue
        if droppable(op, path):
            yield path, _without
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield path, _number
        if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
            yield path, _twice
            yield path, _gone
        if path[-1] == "role":
            yield path, _role
        elif path[-1] in {"content", "text", "output", "message"} and isinstance(value, str):
            yield path, _odd


def nearby(case: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The case's input with one or two things about it changed."""
    given = copy.deepcopy(case["input"])
    for _ in range(chance.choice((1, 1, 2))):
        open_to = list(ways(case["op"], given))
        if not open_to:
            break
        path, change = chance.choice(open_to)
        at: Any = given
        for key in path[:-1]:
            at = at[key]
        change(at, path[-1], chance)
    expanded: dict[str, Any] = evaluator().expand(given)
    return expanded


@AT_HAND
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_an_input_near_a_case_has_an_answer_or_a_clear_error(seed: int) -> None:
    chance, answered = random.Random(seed), Counter[str]()
    for case in cases():
        given = nearby(case, chance)
        before = copy.deepcopy(given)
        try:
            got = adapter.run(case["op"], given)
        except CLEAR as error:
            if not str(error):
                pytest.fail(f"{case['name']}: an error without words for {given}")
            continue
        finally:
            assert given == before, case["name"]
        answered[case["op"]] += 1
        if complete(case["op"], given):
            want = RIGHT[case["op"]](**given)
            assert same(got, want), (case["name"], given, got, want)
    assert len(answered) > 75
    assert answered.total() > 0.8 * len(cases())


def complete(op: str, given: dict[str, Any]) -> bool:
    """Whether there is a slow version, and it has all that it asks for."""
    if op not in RIGHT or ("messages" in given and "estimate" not in op):
        return False
    try:
        inspect.signature(RIGHT[op]).bind(**given)
    except TypeError:
        return False
    return True
