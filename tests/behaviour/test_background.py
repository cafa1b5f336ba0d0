"""Compaction in the background: a summary starts below the trigger, and is put in its place at the trigger."""

from __future__ import annotations

import asyncio
import json
import pickle
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

import trimtab
from support.models import CLAUDE, CLAUDE_BOUND
from trimtab.events import BackedOff, Compacted, FellBack, Refused
from trimtab.hooks import Review, Verdict
from trimtab.policies import POLICIES

MODEL = CLAUDE
WINDOW = 20_000
"""The trigger is at 14,400 tokens, the danger line at 17,100, and a summary starts at 11,520."""

EARLY, DUE, DANGER = 12_000, 15_000, 17_500
LINE = "line {n}: the build went on in src/module_{n}.py and said nothing that anybody has to know\n"
SUMMARY = "The parser is mended; LICENSE was not touched."


def steps(start: int, count: int, lines: int = 12) -> list[Any]:
    """Return steps of an agent, whose results are too short to be pruned."""
    found: list[Any] = []
    for n in range(start, start + count):
        call = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": f"make file{n}"}}
        text = "".join(LINE.format(n=n + at) for at in range(lines))
        found.append({"role": "assistant", "content": [{"type": "text", "text": text}, call]})
        found.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": "done"}]})
    return found


def until(tokens: int, messages: list[Any] | None = None, cm: trimtab.Compactor | None = None) -> list[Any]:
    """Return the messages with steps behind them, up to this number of tokens."""
    grown = [*(messages or [{"role": "user", "content": "Mend the parser; never touch LICENSE."}])]
    n = len(grown)
    while (cm.count(grown) if cm else trimtab.count(grown, model=MODEL)) < tokens:
        grown += steps(n, 1)
        n += 2
    return grown


@dataclass
class Model:
    """A summarizer that answers when it is let."""

    free: threading.Event = field(default_factory=threading.Event)
    begun: threading.Event = field(default_factory=threading.Event)
    calls: int = 0
    fails: bool = False

    def __call__(self, ask: Any) -> str:
        self.calls += 1
        self.begun.set()
        assert self.free.wait(5)
        if self.fails:
            raise OSError("the model is away")
        return SUMMARY


def made(model: Any, **options: Any) -> trimtab.Compactor:
    known: dict[str, Any] = {"window": WINDOW, "max_output": 2_000, "background": True}
    return trimtab.Compactor(MODEL, summarizer=model, **known | options)


def ended(session: trimtab.Session | trimtab.Compactor) -> None:
    """Wait until the summary in the background is there."""
    for _ in range(600):
        if "is being written" not in session.explain():
            return
        threading.Event().wait(0.005)
    pytest.fail("the summary does not come")


@pytest.mark.parametrize("policy", ["default", "spec09"])
def test_a_summary_is_written_below_the_trigger_and_put_in_its_place_at_it(policy: str) -> None:
    model = Model()
    cm = made(model, policy=policy, window=100_000, max_output=10_000)
    when = cm.policy.trigger.when[0]
    budget = cm.budget()
    assert budget.early is not None
    early = until(budget.early + 2_000, cm=cm)
    first = cm.fit(early, when=when)
    assert (first.messages, first.compaction, first.reason) == (early, None, "")
    assert model.begun.wait(5)
    assert "is being written" in cm.explain()
    model.free.set()
    ended(cm)
    assert "waits for the trigger" in cm.explain()
    later = [*early, *steps(1_000, 1)]
    assert cm.fit(later, when=when).messages is later
    assert not cm.history()
    due = until(budget.trigger + 1_000, later, cm)
    fitted = cm.fit(due, when=when)
    assert fitted.compaction is not None
    assert fitted.compaction.summary == SUMMARY
    assert fitted.resumed_ref is None
    assert model.calls == 1
    assert not trimtab.validate(fitted.messages, provider="anthropic")
    tail = due[len(early) :]
    assert [id(message) for message in fitted.messages[-len(tail) :]] == [id(message) for message in tail]
    assert cm.restore(cm.history()[0].ref) == early


def test_a_list_that_comes_back_whole_gets_the_result_again() -> None:
    model = Model()
    model.free.set()
    session = made(model).session("a")
    early = until(EARLY)
    session.fit(early)
    ended(session)
    due = until(DUE, early)
    fitted = session.fit(due)
    again = session.fit(json.loads(json.dumps([*due, *steps(900, 1)])))
    assert fitted.compaction is not None
    assert again.resumed_ref == fitted.compaction.ref
    assert json.dumps(again.messages[: len(fitted.messages)]) == json.dumps(fitted.messages)
    assert [one.ref for one in session.history()] == [fitted.compaction.ref]


@pytest.mark.parametrize("model_id", [MODEL, CLAUDE_BOUND])
@pytest.mark.parametrize("carries", [True, False], ids=["carries", "whole"])
@pytest.mark.parametrize("name", [None, "a"])
def test_a_summary_that_starts_behind_a_cut_result_is_used(name: str | None, carries: bool, model_id: str) -> None:
    """The caller goes on with the list that it got, or hands in its own with the whole result again."""
    model, told = Model(), []
    model.free.set()
    options: dict[str, Any] = {"window": WINDOW, "max_output": 2_000, "background": True, "max_result_tokens": 400}
    session = trimtab.Compactor(model_id, summarizer=model, **options).session(name)
    session.on("refused")(told.append)

    def large(n: int) -> list[Any]:
        asked, answered = steps(n, 1)
        text = "".join(LINE.format(n=n + at) for at in range(90))
        asked["content"].insert(0, {"type": "thinking", "thinking": "hm", "signature": f"s{n}"})
        answered["content"][0]["content"] = text
        return [asked, answered]

    messages, n = [*until(EARLY - 1_000)], 1_000
    while True:
        messages, n = [*messages, *large(n)], n + 1
        fitted = session.fit(messages)
        if fitted.compaction and fitted.compaction.summary:
            break
        ended(session)
        messages = [*fitted.messages] if carries else messages
    assert (model.calls, told) == (1, [])
    assert SUMMARY in json.dumps(fitted.messages)
    kept = json.dumps(fitted.messages)
    assert f"module_{n - 1}.py" in kept
    assert f"module_{n + 44}.py" not in kept, "the newest result is cut in the list with the summary"
    assert not trimtab.validate(list(fitted.messages), provider="anthropic", model=model_id, original=messages)
    assert session.restore(fitted.compaction.ref or "") == messages
    session.close()


def test_a_prompt_passes_the_trigger_while_the_summary_is_written_and_never_the_danger_line() -> None:
    model = Model()
    cm = made(model)
    early = until(EARLY)
    cm.fit(early)
    due = until(DUE, early)
    passed = cm.fit(due)
    assert passed.messages is due
    assert "background" in passed.reason
    danger = until(DANGER, due)
    threading.Timer(0.2, model.free.set).start()
    fitted = cm.fit(danger)
    assert fitted.compaction is not None
    assert model.calls == 1
    assert cm.count(fitted.messages) < 16_000
    assert cm.restore(fitted.compaction.ref or "") == early


def test_a_list_that_jumps_over_the_trigger_passes_and_one_in_danger_is_compacted_at_once() -> None:
    model = Model()
    model.free.set()
    cm = made(model)
    assert cm.fit(until(DUE)).compaction is None
    cm = made(model)
    danger = until(DANGER)
    fitted = cm.fit(danger)
    assert fitted.compaction is not None
    assert cm.restore(fitted.compaction.ref or "") == danger


def test_a_changed_prefix_discards_the_summary_and_starts_another() -> None:
    model, told = Model(), []
    model.free.set()
    cm = made(model, listeners=[told.append])
    early = until(EARLY)
    cm.fit(early)
    ended(cm)
    changed = until(DUE, [{"role": "user", "content": "Mend the lexer."}, *early[1:]])
    fitted = cm.fit(changed)
    assert fitted.messages is changed
    assert [type(event) for event in told] == [Refused]
    assert "changed" in told[0].reason
    assert not cm.history()
    ended(cm)
    fitted = cm.fit([*changed, *steps(700, 1)])
    assert fitted.compaction is not None
    assert model.calls == 2
    assert cm.restore(fitted.compaction.ref or "") == changed


@pytest.mark.parametrize("kind", ["message", "text", "undo"])
def test_a_new_pin_or_an_undo_discards_the_summary(kind: str) -> None:
    model = Model()
    model.free.set()
    session = made(model).session("a")
    early = until(EARLY)
    session.fit(early)
    ended(session)
    due = until(DUE, early)
    if kind == "message":
        session.pin(early[3])
    elif kind == "text":
        session.pin("src/module_5.py")
    else:
        by_hand = session.compact(early)
        session.restore(by_hand.ref or "")
    before = len(session.history())
    fitted = session.fit(due)
    assert fitted.messages is due
    assert len(session.history()) == before


def test_originals_are_stored_before_the_model_is_asked_and_listed_after_the_swap() -> None:
    model = Model()
    cm = made(model)
    early = until(EARLY)
    asked: list[str] = []

    def summarize(ask: Any) -> str:
        archive: Any = cm.archive
        asked.extend(str(hit) for hit in archive.search("anybody", session=cm._session.id, limit=1))
        return model(ask)

    cm = made(summarize)
    model.free.set()
    cm.fit(early)
    ended(cm)
    assert not cm.history()
    assert cm.fit(until(DUE, early)).compaction is not None
    assert len(cm.history()) == 1


def test_the_hook_is_asked_in_the_callers_thread_when_the_summary_starts() -> None:
    threads, causes = [], []

    def hook(review: Review) -> Verdict | None:
        threads.append(threading.current_thread())
        causes.append((review.trigger, review.plan is not None))
        return None

    model = Model()
    model.free.set()
    cm = made(model, pre_compact=hook)
    early = until(EARLY)
    cm.fit(early)
    assert causes == [("auto", False), ("auto", True)]
    ended(cm)
    assert cm.fit(until(DUE, early)).compaction is not None
    assert len(causes) == 2
    assert set(threads) == {threading.current_thread()}


def test_a_hook_that_refuses_lets_the_prompt_pass_below_the_danger_line() -> None:
    model, told = Model(), []
    cm = made(model, pre_compact=lambda _: Verdict(refuse="not now"), listeners=[told.append])
    early = until(EARLY)
    assert cm.fit(early).messages is early
    due = until(DUE, early)
    fitted = cm.fit(due)
    assert fitted.messages is due
    assert "not now" in fitted.reason
    assert model.calls == 0
    assert {type(event) for event in told} == {Refused}


def test_a_summarizer_that_fails_is_replaced_and_told_at_the_swap() -> None:
    model, told = Model(fails=True), []
    model.free.set()
    cm = made(model, listeners=[told.append])
    early = until(EARLY)
    cm.fit(early)
    ended(cm)
    assert not told
    fitted = cm.fit(until(DUE, early))
    assert fitted.compaction is not None
    assert fitted.compaction.failed
    assert [type(event) for event in told] == [FellBack, Compacted]


def test_failures_in_the_background_make_a_policy_without_a_replacement_rest() -> None:
    model, told = Model(fails=True), []
    model.free.set()
    policy = trimtab.Policy(**{**vars_of("default"), "fallback": ("error",)})
    cm = made(model, listeners=[told.append], policy=policy)
    messages = until(EARLY)
    for n in range(40):
        fitted = cm.fit(messages)
        ended(cm)
        assert fitted.messages is messages
        messages = [*messages, *steps(500 + n, 1)]
        if cm.count(messages) > 16_500:
            break
    assert 2 <= model.calls <= 4
    assert {type(event) for event in told} == {Refused, BackedOff}
    assert "the model is away" in told[0].reason


def vars_of(name: str) -> dict[str, Any]:
    return {key: getattr(POLICIES[name], key) for key in POLICIES[name].__dataclass_fields__}


def test_closing_a_session_ends_its_summary() -> None:
    class Running:
        def __init__(self) -> None:
            self.begun, self.closed = threading.Event(), threading.Event()

        def call(self, ask: Any, seconds: float | None) -> str:
            self.begun.set()
            self.closed.wait(5)
            raise ConnectionError("closed")

        def close(self) -> None:
            self.closed.set()

    running = Running()

    class Writer:
        name, limits = "slow", trimtab.summarize.Limits(tries=1)

        def session(self) -> Running:
            return running

        def asession(self) -> Any:
            raise AssertionError

    session = made(Writer()).session("a")
    session.fit(until(EARLY))
    assert running.begun.wait(5)
    before = threading.active_count()
    session.close()
    session.close()
    assert running.closed.wait(5)
    for _ in range(400):
        if threading.active_count() < before:
            break
        threading.Event().wait(0.01)
    assert threading.active_count() < before


def test_a_compaction_by_hand_and_an_overflow_end_the_summary_in_the_background() -> None:
    model = Model()
    cm = made(model)
    early = until(EARLY)
    cm.fit(early)
    assert model.begun.wait(5)
    model.free.set()
    done = cm.compact(early, target_tokens=4_000)
    assert "background" not in cm.explain().split("critical")[1]
    assert done.ref is not None
    assert [one.ref for one in cm.history()] == [done.ref]


def test_an_asynchronous_summarizer_is_a_task_of_the_event_loop() -> None:
    free, names = asyncio.Event(), []

    async def summarize(ask: Any) -> str:
        names.append(threading.current_thread())
        await free.wait()
        return SUMMARY

    async def work() -> None:
        cm = made(summarize)
        early = until(EARLY)
        assert (await cm.afit(early)).messages is early
        due = until(DUE, early)
        assert (await cm.afit(due)).messages is due
        danger = until(DANGER, due)
        waiting = asyncio.ensure_future(cm.afit(danger))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        free.set()
        fitted = await waiting
        assert fitted.compaction is not None
        assert cm.restore(fitted.compaction.ref or "") == early

    asyncio.run(work())
    assert names == [threading.main_thread()]


def test_the_end_of_an_event_loop_ends_its_summary_and_the_next_call_starts_anew() -> None:
    calls = []

    async def summarize(ask: Any) -> str:
        calls.append(ask)
        if len(calls) == 1:
            await asyncio.sleep(60)
        return SUMMARY

    cm = made(summarize)
    early = until(EARLY)
    asyncio.run(_begin(cm, early, calls))
    danger = until(DANGER, early)
    fitted = asyncio.run(cm.afit(danger))
    assert fitted.compaction is not None
    assert len(calls) == 2


async def _begin(cm: trimtab.Compactor, messages: list[Any], calls: list[Any]) -> None:
    await cm.afit(messages)
    while not calls:  # noqa: ASYNC110 - the summarizer outlives this event loop
        await asyncio.sleep(0.005)


def test_a_session_s_state_is_small_json_while_a_summary_is_written() -> None:
    model = Model()
    cm = made(model)
    session, early = cm.session("a"), until(EARLY)
    session.fit(early)
    state = json.loads(json.dumps(session.state()))
    other = cm.session("a", state)
    model.free.set()
    assert other.fit(early).messages is early
    ended(other)
    assert other.fit(until(DUE, early)).compaction is not None


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, 1.5, "yes", 1, float("nan")])
def test_a_share_that_is_none_is_refused(share: Any) -> None:
    with pytest.raises(ValueError, match="background"):
        trimtab.Compactor(MODEL, background=share)


def test_the_share_is_explained_and_pickled() -> None:
    cm = pickle.loads(pickle.dumps(trimtab.Compactor(MODEL, background=0.5)))
    budget = cm.budget()
    assert budget.early == pytest.approx(budget.trigger / 2, abs=4)
    assert "50 % of the trigger" in cm.explain().replace("50%", "50 %")
    assert "background" not in trimtab.Compactor(MODEL).explain()


HANGING = """
import os, sys, threading
sys.path[:0] = {path!r}
import test_background as t
model = t.Model()
cm = t.made(model, archive=sys.argv[1])
early = t.until(t.EARLY)
cm.fit(early)
assert model.begun.wait(5)
"""
FORKED = """
child = os.fork()
if child == 0:
    model.free.set()
    fitted = cm.fit(t.until(t.DANGER, early))
    os._exit(0 if fitted.compaction is not None else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize("rest", ["", FORKED], ids=["exit", "fork"])
def test_a_summary_that_hangs_holds_no_process(rest: str) -> None:
    code = HANGING.format(path=[*sys.path]) + rest
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, "memory"], check=True, timeout=60)
