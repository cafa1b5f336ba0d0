"""Lone surrogates: what goes out has none, and what is kept has them as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trimtab
from oracles.surrogates import has_surrogate, without
from support.models import CLAUDE, CLAUDE_BOUND, GPT
from support.transcripts import transcript
from trimtab import Compactor, _core, read
from trimtab.cli import main
from trimtab.messages.surrogates import changed, mended, sendable
from trimtab.planning.edits import Mend

HALF, OTHER, PAIR = "\ud83d", "\ude00", "\ud83d\ude00"
PROVIDERS = ["anthropic", "openai_chat", "openai_responses", "bedrock", "gemini"]
WINDOW = {"window": 60_000, "max_output": 4_000}


def damaged(provider, spec="u:40 c1 r1:60 a:40 u:9 c2 r2:30 a:9"):
    """A transcript with a half of a character in each third text, in keys and in a call's arguments."""
    count = 0

    def cut(text):
        nonlocal count
        count += len(text) > 12
        return text + HALF if len(text) > 12 and count % 3 == 0 else text

    return changed(transcript(spec, provider), cut)


def sent(value):
    """The value as an SDK's HTTP client writes it; raises where it cannot."""
    return json.dumps(value, ensure_ascii=False, default=str).encode()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_fit_lets_no_lone_surrogate_out_and_the_originals_are_restorable(provider):
    messages = damaged(provider)
    before = json.dumps(messages)
    with pytest.raises(UnicodeEncodeError):
        sent(messages)
    cm = Compactor(GPT, provider=provider, **WINDOW)
    fitted = cm.fit(messages)
    sent([*fitted.messages])
    assert fitted.compaction
    assert cm.restore(fitted.compaction.ref) == messages
    assert "replaced lone surrogates in" in fitted.compaction.reason
    assert json.dumps(messages) == before
    assert fitted.messages == without(messages)
    changes = [a is b for a, b in zip(messages, fitted.messages, strict=True)]
    assert changes == [not has_surrogate(message) for message in messages]
    assert fitted.compaction.tokens_after == fitted.compaction.tokens_before
    counts = {Compactor(GPT, provider=provider).count(each) for each in (messages, without(messages))}
    assert len(counts) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
def test_later_fits_of_the_given_list_let_none_out_and_store_nothing_twice(provider):
    messages, cm = damaged(provider), Compactor(GPT, provider=provider, **WINDOW)
    ref = cm.fit(messages).compaction.ref
    more = transcript("u:9", provider)
    for grown in (messages, [*messages, *more], [*messages, *more]):
        fitted = cm.fit(grown)
        sent([*fitted.messages])
        assert (fitted.compaction, fitted.resumed_ref) == (None, ref)
        assert fitted.messages == without(grown)
    cm.restore(ref)  # the result ends, and the list is decided on anew
    sent([*cm.fit(messages).messages])
    assert len(cm.history()) == 1


def test_a_half_that_comes_in_later_is_replaced_too_and_a_clean_list_is_the_same_object():
    cm = Compactor(CLAUDE_BOUND, **WINDOW)
    messages = [{"role": "user", "content": "hello"}]
    assert cm.fit(messages).messages is messages
    messages += [{"role": "assistant", "content": "hi"}, {"role": "user", "content": f"look {HALF}"}]
    fitted = cm.fit(messages)
    assert [message["content"] for message in fitted.messages] == ["hello", "hi", "look \ufffd"]
    assert fitted.messages[0] is messages[0]
    clean = [*fitted.messages]
    assert cm.fit(clean).compaction is None


def test_fit_replaces_halves_although_automatic_compaction_is_off():
    cm = Compactor(CLAUDE_BOUND, policy=_manual(), **WINDOW)
    sent([*cm.fit([{"role": "user", "content": HALF + "."}]).messages])


def _manual():
    from dataclasses import replace

    from trimtab.policies import DEFAULT

    return replace(DEFAULT, trigger=replace(DEFAULT.trigger, auto=False))


def test_compact_prune_and_overflow_let_none_out():
    messages = damaged("anthropic", " ".join(f"u:200 c{n} r{n}:900 a:200" for n in range(40)))
    whole = without(messages)
    for share in (0.3, 0.999):
        cm = Compactor(CLAUDE_BOUND, **WINDOW)
        done = cm.compact(messages, target_share=share)
        sent([*done.messages])
        assert cm.restore(done.ref) == messages
    sent(cm.prune(messages))
    fitted = Compactor(CLAUDE_BOUND, **WINDOW).overflow("prompt is too long: 54321 tokens > 30000 maximum", messages)
    sent([*fitted.messages])
    cm = Compactor(CLAUDE_BOUND, **WINDOW)
    cm.compact(whole, target_share=0.3)
    assert "Mend" not in cm.plan(whole, target_share=0.3).to_json()


def test_compact_of_a_list_at_its_target_replaces_halves_alone_and_says_so():
    messages, cm = damaged("anthropic"), Compactor(CLAUDE_BOUND, **WINDOW)
    plan = cm.plan(messages)
    (edit,) = plan.edits
    assert edit.messages == tuple(_core.surrogates(messages))
    assert "mend       " in str(plan)
    assert trimtab.Plan.from_json(plan.to_json()) == plan
    done = cm.compact(messages, plan=plan)
    assert done.messages == without(messages)
    assert done.outcome == "compacted"
    assert cm.restore(done.ref) == messages


def test_the_request_has_no_half_in_system_text_and_tools():
    tool = {"name": "f" + OTHER, "description": HALF, "input_schema": {"type": "object", "properties": {HALF: {}}}}
    fitted = Compactor(CLAUDE_BOUND, **WINDOW).fit(
        [{"role": "user", "content": f"a{HALF}"}], system=f"be good {HALF}", tools=[tool]
    )
    request = fitted.request
    sent(request)
    assert request["system"] == "be good \ufffd"
    assert request["tools"][0]["input_schema"]["properties"] == {"\ufffd": {}}
    clean = Compactor(CLAUDE_BOUND, **WINDOW).fit(messages := [{"role": "user", "content": PAIR[0:0] + "é"}])
    assert clean.request["messages"] is messages


@pytest.mark.parametrize("provider", PROVIDERS)
def test_validate_names_each_place_and_repair_mends_it(provider):
    messages = damaged(provider)
    problems = trimtab.validate(messages, provider=provider)
    assert {problem.code for problem in problems} == {"lone_surrogate"}
    assert sorted({problem.index for problem in problems}) == _core.surrogates(messages)
    done = trimtab.repair(messages, provider=provider)
    assert done.messages == without(messages)
    assert [(change.index, change.code) for change in done.changes] == [
        (index, "lone_surrogate") for index in _core.surrogates(messages)
    ]
    assert trimtab.validate(done.messages, provider=provider) == []
    again = trimtab.repair(done.messages, provider=provider)
    assert (again.messages is done.messages, again.changes) == (True, [])


def test_validate_names_the_block_and_repair_mends_other_faults_beside_it():
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": HALF}]
    messages = [{"role": "assistant", "content": "hi"}, {"role": "user", "content": blocks}]
    found = trimtab.validate(messages, provider="anthropic")
    assert [(problem.path, problem.code) for problem in found] == [
        ("messages[0]", "first_message_role"),
        ("messages[1].content[1]", "lone_surrogate"),
    ]
    done = trimtab.repair(messages, provider="anthropic")
    assert [(change.index, change.code) for change in done.changes] == [(0, "first_role"), (2, "lone_surrogate")]
    sent([*done.messages])


def test_a_pair_of_halves_becomes_its_character_and_tokens_are_those_counted_before():
    messages = [{"role": "user", "content": f"a{PAIR}b{HALF}"}]
    cm = Compactor(CLAUDE_BOUND, **WINDOW)
    before = cm.count(messages)
    fitted = cm.fit(messages)
    assert fitted.messages == [{"role": "user", "content": "a\U0001f600b\ufffd"}]
    assert cm.count(fitted.messages) == before


def test_keys_that_become_equal_lose_no_value():
    assert sendable(HALF) == sendable(OTHER) == "\ufffd"
    assert mended([{HALF: 1, OTHER: 2}])[0] == [{"\ufffd": 1, "\ufffd 2": 2}]


VALUES = st.recursive(
    st.one_of(st.none(), st.integers(), st.text(st.characters(codec=None, exclude_categories=())), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(st.characters(exclude_categories=())), inner)),
)


@given(st.lists(VALUES))
def test_surrogates_are_found_where_a_search_finds_them(values):
    assert _core.surrogates(values) == [index for index, value in enumerate(values) if has_surrogate(value)]
    made, found = mended(values)
    assert found == _core.surrogates(values)
    sent([*made])


CODE = {
    "parentUuid": None,
    "type": "user",
    "uuid": "u0",
    "message": {"role": "user", "content": f"look at {HALF} this"},
}


def session(turns=40):
    yield CODE
    for n in range(1, turns):
        role = "assistant" if n % 2 else "user"
        content = [{"type": "text", "text": f"{n} " + "words " * 60 + HALF}]
        more = {"id": f"m{n}", "model": CLAUDE} if n % 2 else {}
        message = {"role": role, "content": content, **more}
        yield {"parentUuid": f"u{n - 1}", "type": role, "uuid": f"u{n}", "message": message}


@pytest.mark.parametrize("share", ["0.5", "0.999"])
def test_rescue_copies_no_half_into_the_new_session_and_restores_all(share, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in session()))
    assert HALF in read(path).messages[0]["content"]
    assert main(["rescue", str(path), "--target-share", share]) == 0
    (made,) = (other for other in tmp_path.glob("*.jsonl") if other != path)
    lines = [json.loads(line) for line in made.read_text().splitlines()]
    sent(lines)
    assert _core.surrogates(lines) == []
    sent(read(made).messages)


def test_the_command_line_names_and_repairs_halves(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    path = tmp_path / "m.json"
    path.write_text(json.dumps([{"role": "user", "content": f"a{HALF}"}]))
    assert main(["validate", str(path)]) == 1
    assert "lone_surrogate" in capsys.readouterr().out
    assert main(["validate", "--repair", str(path)]) == 0
    assert json.loads(capsys.readouterr().out) == [{"role": "user", "content": "a\ufffd"}]
    assert main(["plan", str(path)]) == 0
    assert "lone surrogates" in capsys.readouterr().out
    assert main(["compact", str(path)]) == 0
    sent(json.loads(capsys.readouterr().out))


def test_messages_of_pydantic_models_and_frameworks_go_out_without_halves():
    pydantic = pytest.importorskip("pydantic")

    class Said(pydantic.BaseModel):
        role: str
        content: str

    fitted = Compactor(CLAUDE_BOUND, **WINDOW).fit([Said(role="user", content=f"a{HALF}")])
    assert fitted.messages == [Said(role="user", content="a\ufffd")]
    langchain = pytest.importorskip("langchain_core.messages")
    given = [
        langchain.HumanMessage("hi"),
        langchain.AIMessage("ok", id="x"),
        langchain.HumanMessage(f"a{HALF}", id="y"),
    ]
    fitted = Compactor(CLAUDE_BOUND, **WINDOW).fit(given)
    assert [message.content for message in fitted.messages] == ["hi", "ok", "a\ufffd"]
    assert (fitted.messages[0] is given[0], fitted.messages[2].id) == (True, "y")


def test_system_text_that_compact_writes_has_no_half(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    path, out = tmp_path / "m.json", tmp_path / "out.json"
    request = {
        "model": CLAUDE_BOUND,
        "system": f"be good {HALF}",
        "messages": [{"role": "user", "content": "hi"}],
    }
    path.write_text(json.dumps(request))
    assert main(["compact", str(path), "-o", str(out)]) == 0
    sent(json.loads(out.read_text()))


def test_a_message_is_not_known_by_what_replaced_its_surrogate():
    spoken = [("user", "one"), ("assistant", "x\ufffdy"), ("user", "two"), ("assistant", "k")]
    plain = [{"role": role, "content": content} for role, content in spoken]
    lone = [dict(message) for message in plain]
    lone[1]["content"] = "x\ud800y"
    cm = trimtab.Compactor(CLAUDE)
    for messages, found in ((plain, []), (lone, [1]), (plain, []), (lone, [1])):
        edits = cm.plan(messages).edits
        assert [index for edit in edits if isinstance(edit, Mend) for index in edit.messages] == found
    session = cm.session("a")
    for messages in (plain, lone, [*lone, {"role": "user", "content": "three"}]):
        assert session.fit(messages).messages[1]["content"] == "x\ufffdy"
