"""A model in a folder: what is counted, planned and sent has the tokens of the prompt that its server renders."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import trimtab
from support.command import run
from support.model_folders import TOOLS, conversation, make_folder
from trimtab import Compactor, Counter, CountError, Model

SYSTEM = "You repair programs. Never touch the folder migrations."


def long_conversation(turns: int) -> list[dict[str, Any]]:
    """Return a conversation of many turns of calls and results."""
    made: list[dict[str, Any]] = []
    for seed in range(turns):
        made += conversation(seed, 1, system=False)[:-1]
    return [*made, {"role": "user", "content": "and now the next file"}]


def is_past(model: Model, messages: Any, **beside: Any) -> bool:
    return trimtab.count(messages, model=model, **beside) > model.window - model.max_output


@pytest.mark.parametrize("template", ["tags", "texts"])
def test_an_agent_never_sends_more_than_its_window_holds(tmp_path: Path, template: str) -> None:
    model = Model.from_folder(make_folder(tmp_path / "m", template, window=3_000))
    cm, history, compactions = Compactor(model, archive="memory"), [], 0
    for seed in range(60):
        history += conversation(seed, 1, system=False)[:-1]
        history.append({"role": "user", "content": "and now the next file"})
        fitted = cm.fit(history, system=SYSTEM, tools=TOOLS)
        assert not is_past(model, fitted.messages, system=SYSTEM, tools=TOOLS), fitted.reason
        compactions += fitted.compaction is not None
        history = [*fitted.messages]
    assert compactions > 2


@pytest.mark.parametrize("template", ["tags", "sliced", "texts"])
def test_plans_and_compactions_say_what_the_prompt_has(tmp_path: Path, template: str) -> None:
    model = Model.from_folder(make_folder(tmp_path / "m", template, window=9_000))
    cm, counter, messages = Compactor(model, archive="memory"), Counter.for_model(model), long_conversation(60)
    assert cm.count(messages, system=SYSTEM, tools=TOOLS) == trimtab.count(
        messages, model=model, system=SYSTEM, tools=TOOLS
    )
    plan = cm.plan(messages)
    assert plan.tokens_before == int(counter.per_message(messages).sum())
    done = cm.compact(messages, plan=plan)
    assert done.tokens_before == plan.tokens_before
    assert done.tokens_after == int(counter.per_message(done.messages).sum())
    assert cm.size(done.messages).prompt == trimtab.count(done.messages, model=model)


def test_what_a_session_decides_by_is_exact_near_the_trigger(tmp_path: Path) -> None:
    """Two windows, one token apart, on both sides of the trigger."""
    messages = long_conversation(40)
    folder = make_folder(tmp_path / "m")
    sent = trimtab.count(messages, model=Model.from_folder(folder), system=SYSTEM, tools=TOOLS)
    for window in (5 * sent // 4 - 1, 5 * sent // 4 + 1):
        cm = Compactor(Model.from_folder(folder, window=window + 1, max_output=1), archive="memory")
        rule = cm.policy.trigger
        fitted = cm.fit(messages, system=SYSTEM, tools=TOOLS)
        assert (fitted.compaction is not None) == (sent / window > rule.share)


def test_a_list_that_the_template_refuses_is_estimated_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Model.from_folder(make_folder(tmp_path / "refusing", "sliced", window=2_000))
    messages = [*long_conversation(30), {"role": "system", "content": "Stop."}, {"role": "user", "content": "go"}]
    with pytest.raises(CountError, match="a system message must come first"):
        trimtab.count(messages, model=model)
    with caplog.at_level(logging.WARNING, "trimtab"):
        fitted = Compactor(model, archive="memory").fit(messages)
    assert fitted.compaction is not None
    assert "the chat template of refusing cannot render some messages, which are estimated" in caplog.text
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    (tmp_path / "session.json").write_text(json.dumps(messages))
    done = run("count", str(tmp_path / "session.json"), "--model", str(tmp_path / "refusing"))
    assert "an estimate: the chat template of refusing cannot render these messages" in done.stderr


def test_a_counter_without_a_template_says_where_one_comes_from() -> None:
    with pytest.raises(ValueError, match=r"Model\.from_folder reads one"):
        Counter("o200k_base").rendered([{"role": "user", "content": "x"}])


def test_objects_of_a_framework_are_read_as_their_dicts(tmp_path: Path) -> None:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    model = Model.from_folder(make_folder(tmp_path / "m"))
    call = {"id": "a", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}}
    dicts = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "x.py"},
    ]
    objects = [
        HumanMessage("go"),
        AIMessage("", tool_calls=[{"id": "a", "name": "ls", "args": {"path": "."}}]),
        ToolMessage("x.py", tool_call_id="a"),
    ]
    assert trimtab.count(objects, model=model) == trimtab.count(dicts, model=model)


def test_the_command_line_takes_a_folder_for_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    folder, messages = make_folder(tmp_path / "own-model", window=9_000), long_conversation(60)
    session = tmp_path / "session.json"
    session.write_text(json.dumps(messages))
    total = trimtab.count(messages, model=Model.from_folder(folder))
    done = run("count", str(session), "--model", str(folder))
    assert f"{total:,} tokens" in done.stdout
    assert "prompts of the chat template of own-model" in done.stdout
    report = json.loads(run("count", str(session), "--model", str(folder), "--json").stdout)
    assert (report["next_prompt"], report["window"]) == (total, 9_000)
    assert report["tokens"] + report["system_and_tools"] == total
    out = tmp_path / "out.json"
    run("compact", str(session), "--model", str(folder), "-o", str(out))
    made = json.loads(out.read_text())
    left = made["messages"] if isinstance(made, dict) else made
    assert trimtab.count(left, model=Model.from_folder(folder)) < total
    wrong = run("count", str(session), "--model", str(tmp_path / "nowhere"))
    assert "no such folder or file" in wrong.stderr


def test_models_are_named_listed_shown_and_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    folder = make_folder(tmp_path / "own-model")
    assert "no model is named yet" in run("models", "list").stdout
    added = run("models", "add", "mine", str(folder), "--window", "3k")
    assert added.returncode == 0
    assert added.stdout.startswith(f"mine is {folder}\n  window      3,000 tokens, 750 of them")
    assert "reads texts and lists of parts, arguments of calls as objects" in added.stdout
    assert run("models", "list").stdout == f"mine  {folder}  (window 3,000)\n"
    listed = json.loads(run("models", "list", "--json").stdout)
    assert listed == [{"name": "mine", "place": str(folder), "window": 3_000}]
    shown = json.loads(run("models", "show", "mine", "--json").stdout)
    assert (shown["model"], shown["window"], shown["contents"]) == ("own-model", 3_000, "either")
    session = tmp_path / "session.json"
    session.write_text(json.dumps(conversation(1)))
    counted = json.loads(run("count", str(session), "--model", "mine", "--json").stdout)
    assert (counted["model"], counted["window"]) == ("mine", 3_000)
    assert "vocabulary  o200k_base" in run("models", "show", "gpt-5.5").stdout
    assert run("models", "remove", "mine").returncode == 0
    assert run("models", "list").stdout.startswith("no model is named yet")
    for words in (("remove", "mine"), ("add", "mine", str(tmp_path / "nowhere")), ("show", "hf:no/where")):
        assert run("models", *words).returncode == 64


def test_a_template_that_hides_which_message_it_is_at_is_shared_among_them(tmp_path: Path) -> None:
    source = "{% for n in range(messages | length) %}<|start|>{{ messages[n].content }}<|end|>{% endfor %}"
    model = Model.from_folder(make_folder(tmp_path / "m", source, window=2_000))
    messages = [{"role": "user", "content": f"step {n} " + "the user reads a file " * 9} for n in range(60)]
    found = Counter.for_model(model).rendered(messages)
    assert min(found.messages) > 20
    assert found.total == trimtab.count(messages, model=model) > 2_000
    fitted = Compactor(model, archive="memory").fit(messages)
    assert fitted.compaction is not None
    assert not is_past(model, fitted.messages)


def test_tools_are_counted_where_a_template_takes_no_system_text(tmp_path: Path) -> None:
    source = (
        "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}"
        "<|start|>{{ m.content }}{% if loop.last and tools %}{{ tools | tojson }}{% endif %}<|end|>{% endfor %}"
    )
    model = Model.from_folder(make_folder(tmp_path / "m", source))
    cm, messages = Compactor(model, archive="memory"), [{"role": "user", "content": "go"}]
    total = trimtab.count(messages, model=model, tools=TOOLS)
    assert cm.count(messages, tools=TOOLS) == cm.size(messages, tools=TOOLS).prompt == total
    assert min(cm.size(messages, tools=TOOLS).fixed) >= 0


def test_what_json_cannot_hold_and_an_empty_list_are_refused_by_name(tmp_path: Path) -> None:
    model = Model.from_folder(make_folder(tmp_path / "m"))
    for value in ({1}, b"x", object()):
        with pytest.raises(CountError, match="JSON cannot hold"):
            trimtab.count([{"role": "user", "content": "x", "extra": value}], model=model)
    with pytest.raises(CountError, match="there are no messages to render"):
        trimtab.count([], model=model)
    with pytest.raises(CountError, match="system text is a text"):
        trimtab.count([{"role": "user", "content": "x"}], model=model, system=5)
    with pytest.raises(ValueError, match="values of JSON"):
        Model.from_folder(tmp_path / "m", quick=object())
    assert Model.from_folder(tmp_path / "m", documents=[{"title": "a"}]).template is not None


def test_a_folder_that_goes_away_is_an_error_for_a_count_and_an_estimate_for_a_session(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "m", window=2_000)
    model = Model.from_folder(folder)
    cm, messages = Compactor(model, archive="memory"), long_conversation(40)
    (folder / "tokenizer.json").unlink()
    with pytest.raises((CountError, OSError), match=r"tokenizer\.json"):
        trimtab.count(messages, model=model)
    assert cm.fit(messages).compaction is not None
    cm.record({"prompt_tokens": 900, "completion_tokens": 5})
