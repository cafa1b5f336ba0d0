"""An argument of a wrong type or value is an error that names it, where it is given and not where it is used."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import trimtab
from support.models import CLAUDE
from trimtab.policies import POLICIES
from trimtab.summarize import Function, Limits

TALK = [{"role": ("user", "assistant")[n % 2], "content": f"step {n}: " + "words " * 50} for n in range(41)]


async def awaited(value: Any) -> Any:
    return value


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("pre_compact", "x"),
        ("redact", "secrets"),
        ("redact", awaited),
        ("clock", 5),
        ("clock", awaited),
        ("listeners", ["x"]),
        ("listeners", "x"),
    ],
)
def test_a_function_of_a_compactor_that_is_none_is_an_error_when_it_is_made(name: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"^{name} must be a "):
        trimtab.Compactor(CLAUDE, **{name: wrong})


def test_a_summarizer_that_cannot_be_called_is_an_error_when_it_is_made() -> None:
    with pytest.raises(TypeError, match="function must be a function, got 5"):
        Function(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("turn", ["5", 4.5, float("nan"), -1, True, 2**60])
def test_a_turn_that_no_state_can_hold_is_refused(turn: Any) -> None:
    with pytest.raises(ValueError, match="turn must be a number of tool batches"):
        trimtab.Compactor(CLAUDE).fit(TALK, turn=turn)


def test_a_window_that_no_state_can_hold_is_refused() -> None:
    with pytest.raises(ValueError, match=r"window must be a positive number of tokens, at most 2\*\*53"):
        trimtab.Compactor(CLAUDE, window=2**53 + 1)
    session = trimtab.Compactor(CLAUDE).session("a")
    with pytest.raises(ValueError, match="window must be"):
        session.learn_window(2**200)
    assert session.state()["limits"] is None


@pytest.mark.parametrize("tries", [1.5, float("nan"), float("inf"), "3"])
def test_a_number_of_tries_is_whole(tries: Any) -> None:
    with pytest.raises(TypeError, match="tries must be an int"):
        Limits(tries=tries)


def test_redact_that_returns_no_text_is_an_error_that_says_so() -> None:
    cm = trimtab.Compactor(CLAUDE, redact=lambda _: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="redact must return the text that may be stored, got NoneType"):
        cm.compact(TALK, target_share=0.5)
    with pytest.raises(TypeError, match="redact must return"):
        cm.pin("a text")


@pytest.mark.parametrize("failure", ["{x}", "{", "{0}", "{cause.x}", 5])
def test_a_format_of_failures_that_fails_is_an_error_when_the_policy_is_made(failure: Any) -> None:
    with pytest.raises(ValueError, match="failure must be a format with {author} and {cause} alone"):
        replace(POLICIES["default"], failure=failure)


@pytest.mark.parametrize("model", [None, 5])
def test_a_model_that_is_none_is_an_error_that_names_it(model: Any) -> None:
    for call in (lambda: trimtab.count(TALK, model=model), lambda: trimtab.Counter.for_model(model)):
        with pytest.raises(TypeError, match="model must be an id or a Model"):
            call()
    with pytest.raises(TypeError, match="name must be a model's id"):
        trimtab.Model.named(model)


@pytest.mark.parametrize("messages", [None, 5, {"role": "user", "content": "x"}, iter(TALK)])
def test_messages_that_are_no_list_are_an_error_that_names_them(messages: Any) -> None:
    session = trimtab.Compactor(CLAUDE).session()
    for call in (
        session.plan,
        session.compact,
        session.prune,
        session.fit,
        lambda given: trimtab.repair(given, provider="anthropic"),
        lambda given: trimtab.validate(given, provider="anthropic"),
    ):
        with pytest.raises(TypeError, match="messages must be a list or a tuple"):
            call(messages)


def test_a_limit_beyond_all_numbers_of_the_core_limits_nothing() -> None:
    counter, text = trimtab.Counter("o200k_base"), "words and words " * 20
    assert trimtab.truncate(text, tokens=10**30) is text
    assert trimtab.split(TALK, keep_last=10**30) == 0
    assert trimtab.split(TALK, keep=10**30, counter=counter) == 0
    with pytest.raises(TypeError, match="keep and keep_last must be integers, got float"):
        trimtab.split(TALK, keep_last=1.5)  # type: ignore[call-overload,arg-type,unused-ignore]


def test_a_scan_takes_any_bytes_and_names_what_it_cannot_take() -> None:
    counter, text = trimtab.Counter("o200k_base"), json.dumps(TALK).encode()
    whole = trimtab.formats.scan(text, counter=counter).ledger
    for given in (bytearray(text), memoryview(text)):
        assert trimtab.formats.scan(given, counter=counter).ledger.digest == whole.digest
    with pytest.raises(TypeError, match="source must be a path, bytes or chunks of bytes, got int"):
        trimtab.formats.scan(5, counter=counter)  # type: ignore[arg-type]
