"""A session: one conversation's memory, its state as JSON, and its last result in the place of what it was made of."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import threading
import tracemalloc
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import trimtab
from support.models import CLAUDE, GPT
from support.scale import scaled
from trimtab.archive import open_archive
from trimtab.archive.redact import secrets
from trimtab.policies import POLICIES

MODEL = CLAUDE
WINDOW = 20_000
LINE = "{n} 8271639405 5517283940 6628394051 the build went on in src/module_{n}.py\n"


def made(policy: Any = "default", **options: Any) -> trimtab.Compactor:
    return trimtab.Compactor(MODEL, policy=policy, **{"window": WINDOW, "max_output": 2_000} | options)


def steps(start: int, count: int, lines: int = 12) -> list[Any]:
    found: list[Any] = []
    for n in range(start, start + count):
        call = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": f"cat file{n}.py"}}
        found.append({"role": "assistant", "content": [{"type": "text", "text": f"File {n}."}, call]})
        text = "".join(LINE.format(n=n + at) for at in range(lines))
        found.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": text}]})
    return found


def history(count: int = 60) -> list[Any]:
    return [{"role": "user", "content": "Mend the parser; never touch LICENSE."}, *steps(0, count)]


def parsed(messages: Any) -> Any:
    return json.loads(json.dumps(messages))


# The last result stands in for the messages that it was made of


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_a_list_that_comes_back_whole_is_compacted_once(policy: str) -> None:
    session, messages = made(policy).session("a"), history()
    first = session.fit(messages)
    assert first.compaction is not None
    assert first.resumed_ref is None
    grown = [*parsed(messages), *steps(60, 1)]
    for again in (session.fit(grown), asyncio.run(session.afit(parsed(grown)))):
        assert again.compaction is None
        assert not again.reason
        assert again.resumed_ref == first.compaction.ref
        assert json.dumps(again.messages) == json.dumps([*first.messages, *grown[len(messages) :]])
        assert not trimtab.validate(again.messages, provider="anthropic")
    assert session.count(grown) == session.count(again.messages)
    assert session.plan(grown).tokens_before < trimtab.count(again.messages, model=MODEL)
    assert len(session.history()) == 1


def test_a_plan_of_a_list_that_comes_back_whole_can_be_applied_to_it() -> None:
    session, messages = made().session("a"), history()
    session.fit(messages)
    plan = session.plan(messages, target_tokens=1_000)
    done = session.compact(messages, plan=plan)
    assert done.plan.digest == plan.digest
    assert session.fit(messages).resumed_ref == done.ref
    assert session.restore(done.ref or "") == messages


def test_an_overflow_compacts_the_list_that_was_sent_and_restores_the_one_that_was_given() -> None:
    session, messages = made().session("a"), history()
    sent = session.fit(messages).messages
    tokens = session.count(sent)
    fitted = session.overflow(f"prompt is too long: {tokens} tokens > {tokens // 2} maximum", messages)
    assert fitted.compaction is not None
    assert trimtab.count(fitted.messages, model=MODEL) <= tokens // 2
    assert session.fit(messages).resumed_ref == fitted.compaction.ref
    assert session.restore(fitted.compaction.ref or "") == messages


def test_a_reminder_behind_the_history_costs_no_summary_a_call() -> None:
    asked = []
    with trimtab.Compactor(
        MODEL, window=20_000, max_output=2_000, summarizer=lambda ask: asked.append(1) or "S."
    ) as cm:
        session, messages = cm.session("a"), [{"role": "user", "content": "go"}]
        for n in range(120):
            session.fit([*messages, {"role": "user", "content": f"It is {n} o'clock."}])
            messages.append({"role": "assistant", "content": f"answer {n} " + "this and that " * 60})
            messages.append({"role": "user", "content": f"go on {n}"})
        assert 1 <= len(asked) <= 4
        assert session.fit(messages).resumed_ref is not None
        assert cm.session("a", session.state()).fit(messages).resumed_ref is not None


@pytest.mark.parametrize("place", [0, 7, 60])
def test_a_change_in_place_of_any_message_is_noticed(place: int) -> None:
    session, messages = made().session("a"), history()
    assert session.fit(messages).compaction
    message = messages[place]
    if isinstance(message["content"], str):
        message["content"] += " And the tests."
    else:
        message["content"][0]["text" if place % 2 else "content"] += " changed"
    fitted = session.fit(messages)
    assert fitted.resumed_ref is None
    assert fitted.compaction is not None
    assert session.restore(fitted.compaction.ref or "") == messages


def test_a_cache_marker_that_moves_is_no_change() -> None:
    session, messages = made().session("a"), history()
    first = session.fit(messages)
    marked = parsed(messages)
    marked[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    again = session.fit(marked)
    assert again.resumed_ref is not None
    assert again.messages[-1] is marked[-1]
    assert len(again.messages) == len(first.messages)


def test_the_callers_change_of_a_result_does_not_reach_the_next_one() -> None:
    session, messages = made().session("a"), history()
    first = session.fit(messages)
    was = parsed(first.messages)
    for message in first.messages:
        if not any(message is given for given in messages):
            message["content"] = "mine"  # type: ignore[index]
    assert parsed(session.fit(messages).messages) == was


def test_restore_ends_the_result_so_that_an_undo_stays_undone(tmp_path: Path) -> None:
    cm, messages = made(archive=f"sqlite:///{tmp_path / 'a.db'}"), history(30)
    session = cm.session("a")
    ref = session.compact(messages, target_share=0.2).ref or ""
    assert session.fit(messages).resumed_ref == ref
    assert session.restore(ref) == messages
    for later in (session, cm.session("a"), cm.session("a", session.state())):
        assert later.fit(messages).resumed_ref is None


def test_an_archive_that_cannot_be_written_gives_the_originals_and_ends_the_result_here(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cm, messages = made(archive=f"sqlite:///{tmp_path / 'a.db'}"), history(30)
    session = cm.session("a")
    ref = session.compact(messages, target_share=0.2).ref or ""
    cm.archive._db.execute("PRAGMA query_only = ON")  # type: ignore[attr-defined]
    assert session.restore(ref) == messages
    assert "cannot note" in caplog.text
    assert session.fit(messages).resumed_ref is None
    assert cm.session("a").restore(ref) == messages


@pytest.mark.parametrize("what", ["message", "text"])
def test_a_new_pin_ends_the_result(what: str) -> None:
    session, messages = made().session("a"), history()
    first = session.fit(messages)
    assert "File 3." not in json.dumps(first.messages)
    session.pin(messages[7] if what == "message" else "File 3.")
    again = session.fit(messages)
    assert again.resumed_ref is None
    assert any(message is messages[7] for message in again.messages)


@pytest.mark.parametrize("where", ["memory", "file"])
def test_a_pin_and_an_undo_through_another_session_object_end_the_result(where: str, tmp_path: Path) -> None:
    cm, messages = made(archive="memory" if where == "memory" else f"sqlite:///{tmp_path / 'a.db'}"), history()
    one, other = cm.session("a"), (cm if where == "memory" else made(archive=cm.archive)).session("a")
    assert "File 3." not in json.dumps(one.fit(messages).messages)
    other.pin("File 3.")
    again = one.fit(messages)
    assert again.resumed_ref is None
    assert "File 3." in json.dumps(again.messages)
    ref = again.compaction.ref  # type: ignore[union-attr]
    assert one.fit(messages).resumed_ref == other.fit(messages).resumed_ref == ref
    cm.session("b").fit(history(59))
    assert one.fit(messages).resumed_ref == ref, "another session's compaction ends nothing"
    other = cm.session("a")
    other.pin("File 5.")
    ref = one.fit(messages).compaction.ref  # type: ignore[union-attr]
    other.restore(ref)  # made after the pin
    assert one.fit(messages).resumed_ref is None


def test_a_pin_of_another_thread_while_the_archive_is_asked_ends_the_result(tmp_path: Path) -> None:
    cm = made(archive=f"sqlite:///{tmp_path / 'a.db'}")
    session, messages, archive = cm.session("a"), history(), cm.archive
    assert session.fit(messages).compaction
    stands = archive.stands

    def meanwhile(ref: str, name: str) -> bool:
        archive.stands = stands  # type: ignore[method-assign]
        session.pin("File 3.")
        return stands(ref, name)

    archive.stands = meanwhile  # type: ignore[method-assign]
    again = session.fit(messages)
    assert again.resumed_ref is None
    assert "File 3." in json.dumps(again.messages)


@pytest.mark.parametrize("name", [None, "a"])
def test_a_pin_of_a_listener_ends_the_result_that_it_is_told_of(name: str | None) -> None:
    session, messages = made().session(name), history()
    session.on("compacted")(lambda _: session.pin("File 3."))
    assert session.fit(messages).compaction
    again = session.fit(messages)
    assert again.resumed_ref is None
    assert "File 3." in json.dumps(again.messages)


def test_a_result_with_a_redacted_text_stands_though_the_archive_has_none(caplog: pytest.LogCaptureFixture) -> None:
    session = made(redact=lambda text: text.replace("file3", "[gone]")).session("a")
    ref = session.fit(history()).compaction.ref  # type: ignore[union-attr]
    assert session.archive.view("a") is None
    assert session.fit(history()).resumed_ref == ref
    session.archive.close()
    assert session.fit(history()).resumed_ref == ref, "an archive that is out of reach stops no call"
    assert "is not known" in caplog.text


def test_a_flag_that_pins_a_message_which_left_ends_the_result() -> None:
    session, messages = made("agentpg").session("a"), history()
    first = session.fit(messages, when="after_run")
    assert session.fit(messages, when="after_run").resumed_ref
    gone = next(n for n, message in enumerate(messages) if not any(message is kept for kept in first.messages))
    messages[gone]["is_preserved"] = True
    assert session.fit(messages, when="after_run").resumed_ref is None


@dataclass
class Said:
    role: str
    content: Any


def test_objects_come_back_as_objects() -> None:
    session = made().session("a")
    messages = [Said(**message) for message in history()]
    first = session.fit(messages)
    anew = [*copy.deepcopy(messages), *[Said(**message) for message in steps(60, 1)]]
    again = session.fit(anew)
    assert again.resumed_ref == first.compaction.ref  # type: ignore[union-attr]
    assert {type(message) for message in again.messages} == {Said}
    assert again.messages[-1] is anew[-1]
    assert [*again.messages[:-2]] == [*first.messages]


def test_objects_of_an_sdk_come_back_with_their_result() -> None:
    types = pytest.importorskip("anthropic.types")
    session, found = made().session("a"), []
    for message in history():
        content = message["content"]
        if message["role"] == "assistant":
            content = [types.TextBlock(**content[0]), types.ToolUseBlock(**content[1])]
        found.append({**message, "content": content})
    first = session.fit(found)
    again = session.fit(copy.deepcopy(found))
    assert again.resumed_ref == first.compaction.ref  # type: ignore[union-attr]
    assert again.compaction is None
    assert len(again.messages) == len(first.messages)


def test_an_error_about_a_new_message_names_its_place_in_the_callers_list() -> None:
    session, messages = made().session("a"), history()
    session.fit(messages)
    wrong = [*messages, {"role": "assistant", "content": "Done."}, {"role": "user", "content": {1, 2}}]
    with pytest.raises(trimtab.MessageError) as raised:
        session.fit(wrong)
    assert raised.value.index == len(wrong) - 1
    orphan = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "nobody", "content": "x"}]}
    with pytest.raises(trimtab.MessageError) as raised:
        session.fit([*messages, {"role": "assistant", "content": "Done."}, orphan])
    assert raised.value.index == len(messages) + 1
    assert f"messages[{len(messages) + 1}]" in raised.value.path


class Keeping:
    """An agent that goes on from the list that ``fit`` handed back."""

    def __init__(self, policy: str) -> None:
        self.session = made(policy).session("a")
        self.messages = [{"role": "user", "content": "Mend the parser; never touch LICENSE."}]
        self.prompts: list[str] = []
        self.compactions = 0

    def call(self, n: int) -> None:
        moment: Any = POLICIES[self.session.policy.name].trigger.when[0]
        fitted = self.session.fit(parsed(self.messages), system="rules", when=moment)
        self.compactions += fitted.compaction is not None
        self.prompts.append(json.dumps(fitted.messages))
        tokens = trimtab.count(fitted.messages, model=MODEL, system="rules")
        assert tokens <= WINDOW
        self.session.record({"input_tokens": tokens, "output_tokens": 30})
        self.goes_on(fitted.messages, steps(n, 1 + n % 3, 10 + n % 17))

    def goes_on(self, sent: Any, new: list[Any]) -> None:
        self.messages = [*sent, *new]

    def reuse(self) -> float:
        """Share of the bytes of all prompts that begin as the prompt before."""
        shared = 0
        for before, now in zip(self.prompts, self.prompts[1:], strict=False):
            same = (at for at, (a, b) in enumerate(zip(before, now, strict=False)) if a != b)
            shared += next(same, min(len(before), len(now)))
        return shared / sum(map(len, self.prompts))


class Stateless(Keeping):
    """A hook that is handed the whole history at every call."""

    def goes_on(self, sent: Any, new: list[Any]) -> None:
        self.messages = [*self.messages, *new]


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_a_hook_that_hands_in_the_whole_history_pays_as_a_loop_that_keeps_its_list(policy: str) -> None:
    keeping, stateless = Keeping(policy), Stateless(policy)
    for n in range(0, 120 * 3, 3):
        keeping.call(n)
        stateless.call(n)
    assert keeping.compactions >= 4
    assert stateless.compactions <= keeping.compactions + 1
    assert stateless.reuse() >= keeping.reuse() - 0.03


# In another process: from the state, or from the archive


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_a_session_goes_on_from_its_state_in_another_process(policy: str) -> None:
    session, messages = made(policy).session("a"), history()
    first = session.fit(messages, system="rules")
    session.record({"input_tokens": session.count(first.messages, system="rules"), "output_tokens": 9})
    state = parsed(session.state())
    assert len(json.dumps(state)) < len(json.dumps(messages)) // 2
    later = made(policy).session("a", state)
    assert later.state() == state
    grown = [*messages, *steps(60, 1)]
    ours, theirs = session.fit(grown, system="rules"), later.fit(grown, system="rules")
    assert json.dumps(ours.messages) == json.dumps(theirs.messages)
    assert (ours.resumed_ref, ours.reason) == (theirs.resumed_ref, theirs.reason)
    assert session.count(grown, system="rules") == later.count(grown, system="rules")


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_a_named_session_goes_on_from_a_file_without_its_state(policy: str, tmp_path: Path) -> None:
    url, messages = f"sqlite:///{tmp_path / 'a.db'}", history()
    with made(policy, archive=url) as cm:
        first = cm.session("a").fit(messages)
    assert first.compaction is not None
    grown = [*messages, *steps(60, 1)]
    with made(policy, archive=url) as cm:
        assert cm.session("b").fit(grown).resumed_ref is None
        again = cm.session("a").fit(grown)
        assert again.resumed_ref == first.compaction.ref
        assert json.dumps(again.messages[: len(first.messages)]) == json.dumps(first.messages)
        cm.archive.forget("a")  # type: ignore[attr-defined]
        assert cm.session("a").fit(grown).resumed_ref is None


def test_a_cut_result_is_cut_once_whichever_session_object_reads_the_list(tmp_path: Path) -> None:
    cm, messages = (
        made(archive=f"sqlite:///{tmp_path / 'a.db'}", max_result_tokens=800),
        [*history(0), *steps(0, 1, 90)],
    )
    with cm:
        first = cm.session("a").fit(messages).compaction
        assert first is not None
        again = cm.session("a").fit([*messages, *steps(1, 1)])
        assert (again.resumed_ref, again.compaction) == (first.ref, None)
        cm.session("a").ingest("Bash", "an output of its own\n" * 2_000)
        assert cm.session("a").fit([*messages, *steps(1, 1)]).resumed_ref == first.ref
        assert len(cm.session("a").history()) == 2


def test_a_compaction_behind_a_cut_counts_the_list_that_its_ref_restores() -> None:
    session, messages = made(max_result_tokens=800).session("a"), [*history(), *steps(60, 1, 90)]
    done = session.fit(messages).compaction
    assert done is not None
    assert done.summary
    assert session.restore(done.ref or "") == messages
    cut, last = session.history()[::-1]
    assert done.tokens_before == cut.original_tokens > last.original_tokens == cut.compacted_tokens


def thinking(start: int, count: int) -> list[Any]:
    found = steps(start, count)
    for n, message in enumerate(found[::2], start):
        message["content"].insert(0, {"type": "thinking", "thinking": "hm", "signature": f"s{n}"})
    return found


def test_a_model_that_binds_thinking_takes_no_result_with_thinking_of_one_that_does_not(tmp_path: Path) -> None:
    options: Any = {"window": WINDOW, "max_output": 2_000, "archive": f"sqlite:///{tmp_path / 'a.db'}"}
    messages = [*history(1)[:1], *thinking(0, 60)]
    with trimtab.Compactor("claude-sonnet-4-6", **options) as cm:
        before = cm.session("a").fit(messages)
    assert "'thinking'" in str(before.messages)
    binds = trimtab.Compactor("claude-opus-5-5", **options)
    with binds as cm:
        after = cm.session("a").fit(messages)
        assert after.resumed_ref is None
        assert not trimtab.validate(list(after.messages), provider="anthropic", model=binds.model, original=messages)
        grown = [*messages, *thinking(60, 60)]
        again = cm.session("a").fit(grown)  # its own result has thinking of the steps behind the one before
        assert cm.session("a").fit([*grown, *thinking(120, 1)]).resumed_ref == again.compaction.ref  # type: ignore[union-attr]


def test_a_state_keeps_a_window_that_a_refusal_lowered() -> None:
    session = made().session("a")
    session.overflow("prompt is too long: 21346 tokens > 12000 maximum", history())
    assert session.window == 12_000
    assert made().session("a", session.state()).window == 12_000
    assert made().session("b").window == WINDOW


def test_a_session_without_a_name_goes_on_under_its_own() -> None:
    cm = made()
    session = cm.session()
    ref = session.fit(history()).compaction.ref or ""  # type: ignore[union-attr]
    again = cm.session(state=session.state())
    assert again.id == session.id
    assert again.restore(ref) == history()


def test_a_session_whose_originals_were_in_memory_says_that_they_are_gone(caplog: pytest.LogCaptureFixture) -> None:
    session = made().session("a")
    ref = session.fit(history()).compaction.ref or ""  # type: ignore[union-attr]
    state = session.state()
    later = made().session("a", state)
    assert "ended with their process" in caplog.text
    with pytest.raises(trimtab.ArchiveError, match="no compaction"):
        later.restore(ref)


def test_the_pins_of_an_archive_in_memory_go_on_with_the_state() -> None:
    session, messages = made(redact=secrets).session("a"), history()
    session.pin(messages[2])
    session.pin("File 5.")
    state = parsed(session.state())
    later = made(redact=secrets).session("a", state)
    assert later.state() == state
    fitted = later.fit(messages)
    assert messages[2] in fitted.messages
    assert messages[11] in fitted.messages
    assert messages[13] not in fitted.messages
    with pytest.raises(trimtab.ConfigError, match=r"state\.pins"):
        made().session("a", changed(state, pins=[["text", " "]]))


def test_pins_of_a_file_are_in_no_state(tmp_path: Path) -> None:
    session = made(archive=f"sqlite:///{tmp_path / 'a.db'}").session("a")
    session.pin("File 5.")
    assert "pins" not in session.state()


def test_a_text_that_redact_removes_is_in_no_state_and_in_no_archive(tmp_path: Path) -> None:
    url, key = f"sqlite:///{tmp_path / 'a.db'}", "sk-" + "a1" * 20
    cm, messages = made(archive=url, redact=secrets), [*history(4), *steps(900, 1, 900)]
    messages[-1]["content"][0]["content"] = f"the key is {key}\n" + messages[-1]["content"][0]["content"]
    session = cm.session("a")
    first = session.fit(messages)
    assert key in json.dumps(first.messages)  # the beginning of a result that was cut
    assert session.fit(messages).resumed_ref == first.compaction.ref  # type: ignore[union-attr]
    assert key not in json.dumps(session.state())
    cm.close()
    assert all(key.encode() not in file.read_bytes() for file in tmp_path.iterdir())


def changed(state: dict[str, Any], **new: Any) -> dict[str, Any]:
    return {**state, **new}


def test_a_state_that_does_not_fit_is_an_error_that_names_what_differs() -> None:
    session = made().session("a")
    session.fit(history())
    session.record({"input_tokens": 9_000, "output_tokens": 9})
    state = session.state()
    forecast = state["forecast"]
    cases = {
        "version 2": changed(state, version=2),
        "version None": {},
        "session 'b'": changed(state, session="b"),
        f"model 'gpt-5.5', not of '{MODEL}'": changed(state, model=GPT),
        "policy 'goat', not of 'default'": changed(state, policy="goat"),
        "state.turn cannot be -1": changed(state, turn=-1),
        "state.rounds cannot be True": changed(state, rounds=True),
        "state.verified cannot be": changed(state, verified=[1]),
        "state.view cannot be": changed(state, view={**state["view"], "parts": [[5, 4]]}),
        "state.view cannot be {'ref'": changed(state, view={**state["view"], "made": 2**100}),
        "state.forecast.anchor has no 'usage'": changed(
            state, forecast={**forecast, "anchor": {k: v for k, v in forecast["anchor"].items() if k != "usage"}}
        ),
        "got str": json.dumps(state),
        "got list": [state],
    }
    for words, wrong in cases.items():
        with pytest.raises(trimtab.ConfigError, match=words):
            made().session("a", wrong)  # type: ignore[arg-type]
    later = {"crowded", "pressed", "resting"}  # earlier releases wrote none of them
    assert made().session("a", {key: state[key] for key in state.keys() - later}).state() == state
    for key in state.keys() - {"version"} - later:
        with pytest.raises(trimtab.ConfigError, match=f"state has no '{key}'"):
            made().session("a", {name: value for name, value in state.items() if name != key})
    assert made().session("a", state).state() == state


@pytest.mark.parametrize("seed", range(scaled(8)))
def test_a_state_with_any_value_changed_is_read_or_refused(seed: int) -> None:
    session = made().session("a")
    session.fit(history())
    session.record({"input_tokens": 9_000, "output_tokens": 9})
    state = session.state()

    def places(value: Any) -> Any:
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            yield value, key
            yield from places(value[key])

    for number in range(seed, sum(1 for _ in places(state)), 11):
        wrong = parsed(state)
        holder, key = [*places(wrong)][number]
        holder[key] = [None, -1, 10**30, "x", [], {}, True, 1.5][seed]
        try:
            later = made().session("a", wrong)
        except ValueError:
            continue
        fitted = later.fit([*history(), *steps(60, 1)])
        assert not trimtab.validate(fitted.messages, provider="anthropic")


# A Compactor is settings


def test_making_a_compactor_or_a_session_opens_no_archive(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    cm = made(archive=f"sqlite:///{file}")
    with cm.session() as session:
        session.fit(history(3))
    assert not file.exists()
    cm.session("a").fit(history(3))  # the first call of a named session asks whether there is a result to go on with
    assert file.exists()
    with pytest.raises(ValueError, match="unknown archive"):
        made(archive="ftp://somewhere")


def test_a_compactor_can_be_pickled_and_what_cannot_is_named(tmp_path: Path) -> None:
    cm = made("goat", archive=f"sqlite:///{tmp_path / 'a.db'}", betas=["context-1m-2025-08-07"])
    cm.session("a").compact(history(), target_share=0.3)
    again = pickle.loads(pickle.dumps(cm))
    assert repr(again) == repr(cm)
    assert len(again.session("a").history()) == 1
    assert pickle.loads(pickle.dumps(made())).window == WINDOW
    for name, value in {
        "summarizer": lambda _: "x",
        "redact": lambda text: text,
        "pre_compact": lambda _: None,
        "archive": open_archive("memory"),
        "listeners": [lambda _: None],
        "count_with": threading.Lock(),
    }.items():
        with pytest.raises(TypeError, match=f"cannot pickle a Compactor with {name}="):
            pickle.dumps(made(**{name: value}))
    used = made()
    used.fit(history())
    with pytest.raises(TypeError, match="archive='memory' that holds originals"):
        pickle.dumps(used)
    with pytest.raises(TypeError, match=r"state\(\)"):
        pickle.dumps(used.session("a"))


def test_a_closed_session_says_so_and_the_archive_stays_open() -> None:
    cm = made()
    with cm.session("a") as session:
        ref = session.fit(history()).compaction.ref or ""  # type: ignore[union-attr]
    session.close()
    with pytest.raises(ValueError, match="session 'a' is closed"):
        session.fit(history())
    assert cm.session("a").restore(ref) == history()


def test_sessions_in_threads_never_see_each_others_memory() -> None:
    cm, failures = made(), []

    def talk(name: str) -> None:
        try:
            session = cm.session(name)
            messages: list[Any] = [{"role": "user", "content": f"I am {name}."}]
            for n in range(30):
                fitted = session.fit(messages, system=name)
                others = {f"I am {other}." for other in "abcd" if other != name}
                assert not any(other in json.dumps(fitted.messages) for other in others)
                assert f"I am {name}." in json.dumps(fitted.messages)
                session.record({"input_tokens": session.count(fitted.messages, system=name), "output_tokens": 9})
                messages = [*messages, *steps(n, 1, 20)]
            assert {past.session for past in session.history()} == {name}
        except Exception as error:  # noqa: BLE001 - told by the thread that waits
            failures.append(error)

    threads = [threading.Thread(target=talk, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_cancelled_afit_ends_with_its_thread_and_leaves_the_session_free() -> None:
    working, go_on = threading.Event(), threading.Event()

    def redact(text: str) -> str:
        working.set()
        assert go_on.wait(30)
        return text

    async def cancelled() -> None:
        with made(redact=redact).session("a") as session:
            task = asyncio.create_task(session.afit(history()))
            assert await asyncio.to_thread(working.wait, 30)
            for _ in range(2):  # one more while it waits for its thread
                task.cancel()
                await asyncio.sleep(0.02)
            assert not task.done()
            go_on.set()
            with pytest.raises(asyncio.CancelledError) as kept:
                await task
            fitted = await session.afit(history())
            assert fitted.compaction is not None
            assert kept.value is not None  # and with it the frames of the first call

    asyncio.run(asyncio.wait_for(cancelled(), 60))


def test_a_compactor_is_small() -> None:
    made()  # what all share
    tracemalloc.start()
    try:
        kept = [made() for _ in range(20)]
        assert tracemalloc.get_traced_memory()[0] / len(kept) < 30_000
    finally:
        tracemalloc.stop()
