"""``on``: listeners by the name of an event, of a Compactor and of a session, plain and asynchronous."""

from __future__ import annotations

import asyncio
import logging
import pickle
import re
from typing import Any, get_args

import pytest

import trimtab
from support.models import CLAUDE_MILLION
from trimtab import Compactor, events

MODEL = CLAUDE_MILLION
NAMES = {kind.__name__.lower() for kind in (*get_args(events.Event), *events.Step.__subclasses__())}


def talk(count: int = 40) -> list[Any]:
    return [{"role": "user", "content": f"step {n}: " + "words " * 60} for n in range(count)]


def small(**options: Any) -> Compactor:
    return Compactor(MODEL, window=4_000, max_output=400, **options)


def test_every_event_has_its_class_name_in_lower_case() -> None:
    assert set(events.KINDS) == NAMES
    for name in NAMES:
        Compactor(MODEL).on(name)


def test_an_unknown_event_lists_those_that_there_are() -> None:
    for name in ("compact", "Compacted", "", "error"):
        for teller in (Compactor(MODEL), Compactor(MODEL).session("a")):
            with pytest.raises(ValueError, match=f"unknown event '{name}', known are compacted, refused"):
                teller.on(name)
    with pytest.raises(TypeError, match="a listener must be a function, got 3"):
        Compactor(MODEL).on("compacted")(3)  # type: ignore[type-var]


def test_a_decorated_function_is_told_its_event_and_stays_a_function() -> None:
    cm = small()
    told: list[Any] = []

    @cm.on("compacted")
    def listen(event: events.Compacted) -> None:
        told.append(event)

    cm.on("refused")(told.append)
    done = cm.compact(talk(), target_share=0.5)
    assert callable(listen)
    assert [event.ref for event in told] == [done.ref]


def test_a_step_is_told_to_listeners_of_its_kind_and_of_all_steps() -> None:
    cm = small(policy="goat", provider="openai_chat", summarizer=lambda _: "what was done")
    told: list[Any] = []
    kinds: list[Any] = []
    cm.on("step")(told.append)
    cm.on("compactboundary")(kinds.append)
    cm.compact(talk())
    assert [event.name for event in told] == list(cm.policy.order)
    assert [type(event) for event in kinds] == [trimtab.events.CompactBoundary]


def test_listeners_of_a_compactor_hear_all_sessions_and_those_of_a_session_its_own() -> None:
    cm = small()
    all_of_them: list[Any] = []
    one: list[Any] = []
    first, second = cm.session("a"), cm.session("b")
    first.on("compacted")(one.append)
    cm.on("compacted")(all_of_them.append)
    for teller in (first, second, cm):
        teller.compact(talk(), target_share=0.5)
    assert len(all_of_them) == 3
    assert one == all_of_them[:1]


def test_a_coroutine_is_awaited_in_its_turn_under_the_asynchronous_methods() -> None:
    cm, order = small(), []
    cm.on("compacted")(lambda _: order.append("first"))

    @cm.on("compacted")
    async def listen(event: events.Compacted) -> None:
        await asyncio.sleep(0)
        order.append(event.trigger)

    cm.on("compacted")(lambda _: order.append("last"))

    async def run() -> None:
        await cm.acompact(talk(), target_share=0.5)
        await cm.session("a").afit(talk(70))
        await cm.session("b").aoverflow("prompt is too long: 9999 tokens > 3000 maximum", talk(70))

    asyncio.run(run())
    assert order == [word for cause in ("manual", "auto", "auto") for word in ("first", cause, "last")]


@pytest.mark.parametrize("where", ["compactor", "session", "later"])
def test_blocking_methods_refuse_an_asynchronous_listener_as_they_refuse_a_hook(where: str) -> None:
    async def listen(_: object) -> None:
        raise AssertionError

    cm = small()
    session = cm.session("a")
    (session if where == "session" else cm).on("compacted")(listen)
    session = cm.session("b") if where == "later" else session
    with pytest.raises(TypeError, match="a listener is asynchronous: use afit"):
        session.fit(talk(2))
    with pytest.raises(TypeError, match="a listener is asynchronous: use acompact"):
        session.compact(talk())
    with pytest.raises(TypeError, match="a listener is asynchronous: use aoverflow"):
        session.overflow("prompt is too long: 9999 tokens > 3000 maximum", talk())
    if where == "session":
        cm.session("b").fit(talk(2))
        cm.fit(talk(2))


def test_the_event_of_record_takes_plain_functions_alone() -> None:
    async def listen(_: object) -> None:
        raise AssertionError

    cm = small()
    with pytest.raises(TypeError, match="record and learn tell usageignored, and await nothing"):
        cm.on("usageignored")(listen)
    told: list[Any] = []
    cm.on("usageignored")(told.append)
    cm.fit(talk(2))
    cm.record({"input_tokens": 0, "output_tokens": 3})
    assert [type(event) for event in told] == [trimtab.events.UsageIgnored]


@pytest.mark.parametrize("method", ["compact", "acompact"])
def test_what_a_listener_raises_is_logged_without_its_text_and_changes_nothing(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    cm, told = small(), []

    @cm.on("compacted")
    def listen(_: object) -> None:
        raise KeyError("the user's secret plan") from ValueError("step 3: words")

    cm.on("compacted")(told.append)
    with caplog.at_level(logging.DEBUG, logger="trimtab"):
        found: Any = getattr(cm, method)(talk(), target_share=0.5)
        done = asyncio.run(found) if method == "acompact" else found
    assert [event.ref for event in told] == [done.ref]
    assert "a listener raised on Compacted: KeyError from ValueError" in caplog.text
    assert "in listen" in caplog.text
    assert "secret plan" not in caplog.text.replace('raise KeyError("the user\'s secret plan")', "")
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="trimtab.details"):
        asyncio.run(cm.acompact(talk(), target_share=0.5))
    assert 'KeyError: "the user\'s secret plan"' in caplog.text


def test_a_plain_function_that_returns_a_coroutine_is_logged_by_blocking_methods(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def later(_: object) -> None:
        raise AssertionError

    cm = small()
    cm.on("compacted")(lambda event: [later(event)][0])
    assert cm.compact(talk(), target_share=0.5).ref
    assert "a listener of Compacted is asynchronous" in caplog.text


def heard(event: Any) -> None:
    HEARD.append(event)


HEARD: list[Any] = []


def test_listeners_go_through_pickle_with_their_compactor() -> None:
    cm = small()
    cm.on("compacted")(heard)
    copy = pickle.loads(pickle.dumps(cm))
    done = copy.compact(talk(), target_share=0.5)
    assert [event.ref for event in HEARD] == [done.ref]
    cm.on("compacted")(lambda _: None)
    with pytest.raises(TypeError, match=r"cannot pickle a Compactor with listener=<function"):
        pickle.dumps(cm)


def test_each_event_is_logged_by_its_numbers(caplog: pytest.LogCaptureFixture) -> None:
    cm = small(pre_compact=lambda review: trimtab.Verdict(refuse="no") if review.instructions == "busy" else None)
    with caplog.at_level(logging.DEBUG, logger="trimtab"):
        done = cm.compact(talk(), target_share=0.5)
        cm.compact(talk(), target_share=0.5, instructions="busy")
        cm.fit(talk(2))
        cm.record({"input_tokens": 0, "output_tokens": 3})
    lines = [f"{record.levelname} {record.getMessage()}" for record in caplog.records]
    assert lines[0] == (
        f"INFO compacted (manual, hybrid): {done.tokens_before} tokens before, {done.tokens_after} after, "
        f"summarizer offline, ref {done.ref}"
    )
    assert lines[1] == "INFO not compacted (manual): refused, or not smaller"
    assert re.match("WARNING the recorded usage is ignored: ", lines[2])
    assert len(lines) == 3
