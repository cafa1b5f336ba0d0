"""The tag that keeps a span: its name in code, files, environment and command line, and what stays in a session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import trimtab
from support.command import run
from support.models import CLAUDE, GPT
from trimtab import config
from trimtab.policies import POLICIES


def talk(marked: str) -> list[dict[str, Any]]:
    """Forty turns, the second of which has a marked text."""
    texts = [f"Step {n}. {'Look again. ' * 12}{marked if n == 2 else ''}" for n in range(40)]
    return [{"role": "user" if n % 2 == 0 else "assistant", "content": text} for n, text in enumerate(texts)]


def first(messages: Any) -> str:
    return str(messages[0]["content"])


@pytest.mark.parametrize("policy", sorted({*POLICIES} - {"agentpg", "agentpg_summarization", "opencode", "spec09"}))
def test_a_span_stays_under_every_policy_that_compacts_the_list(policy: str) -> None:
    cm = trimtab.Compactor(CLAUDE, policy=policy, window=9_000, max_output=1_000)
    done = cm.compact(talk("<keep>never push\nto main</keep>"), target_share=0.3)
    assert done.ref is not None
    assert '<trimtab-kept message="2">never push\nto main</trimtab-kept>\n' in "".join(
        map(str, map(text, done.messages))
    )


def text(message: Any) -> str:
    return str(message["content"])


@pytest.mark.parametrize("name", ["pin", "k-1", "KEEP_it"])
def test_the_name_is_that_of_the_argument(name: str) -> None:
    messages = talk(f"<keep>not this</keep> <{name}>this one</{name}>")
    done = trimtab.Compactor(CLAUDE, keep_tag=name).compact(messages, target_share=0.3)
    assert '<trimtab-kept message="2">this one</trimtab-kept>' in first(done.messages)
    assert ">not this<" not in first(done.messages).partition("</trimtab-kept>\n")[0]


def test_an_empty_name_keeps_nothing() -> None:
    done = trimtab.Compactor(CLAUDE, keep_tag="").compact(talk("<keep>not this</keep>"), target_share=0.3)
    assert "trimtab-kept" not in first(done.messages)


@pytest.mark.parametrize("name", ["a b", "1a", "<keep>", "kéep", "x" * 41, "trimtab-kept", "Trimtab-x", "a\n", 7])
def test_another_name_is_refused(name: Any) -> None:
    with pytest.raises(ValueError, match="keep_tag"):
        trimtab.Compactor(CLAUDE, keep_tag=name)


def test_files_and_the_environment_name_it(tmp_path: Path) -> None:
    path = tmp_path / "trimtab.toml"
    path.write_text('[policy]\nkeep_tag = "pin"\n')
    assert config.load(path).keep_tag == "pin"
    assert config.load(path, environ={"TRIMTAB_POLICY_KEEP_TAG": "hold"}).keep_tag == "hold"
    path.write_text('[policy]\nkeep_tag = "a b"\n')
    with pytest.raises(trimtab.ConfigError, match="keep_tag must be a name of ASCII letters"):
        config.load(path)


def test_the_command_line_names_it_and_a_plan_goes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    Path("s.json").write_text(json.dumps(talk("<pin>never push</pin>")))
    common = ("s.json", "--model", CLAUDE, "--keep-tag", "pin")
    done = run("compact", *common, "--target-share", "0.3", "-o", "out.json")
    assert done.returncode == 0, done.stderr
    assert '<trimtab-kept message="2">never push</trimtab-kept>' in first(
        json.loads(Path("out.json").read_text())["messages"]
    )
    plan = run("plan", *common, "--target-share", "0.3", "--summary", "-o", "plan.md")
    assert "--keep-tag pin" in plan.stdout
    applied = run("apply", "s.json", "--model", CLAUDE, "--plan", "plan.md", "-o", "again.json")
    assert applied.returncode == 0, applied.stderr
    assert Path("again.json").read_text() == Path("out.json").read_text()


@pytest.mark.parametrize("tag", ["pin", "keep", ""])
def test_a_plan_keeps_its_name_wherever_it_is_applied(tag: str) -> None:
    messages = talk("<keep>not this</keep> <pin>this one</pin>")
    cm = trimtab.Compactor(CLAUDE, keep_tag=tag)
    plan = trimtab.Plan.from_json(cm.plan(messages, target_share=0.3).to_json())
    assert ("keep_tag" in json.loads(plan.to_json())) is (tag != "keep")
    for other in ("keep", "pin", ""):
        applied = trimtab.Compactor(CLAUDE, keep_tag=other).compact(messages, plan=plan)
        assert first(applied.messages).count("</trimtab-kept>") == (tag != "")
        assert ("this one</trimtab-kept>" in first(applied.messages)) is (tag == "pin")


@pytest.mark.parametrize("name", ["a b", "trimtab-kept", 7, None])
def test_a_plan_with_another_name_is_refused(name: Any) -> None:
    body = json.loads(trimtab.Compactor(CLAUDE).plan(talk(""), target_share=0.3).to_json())
    with pytest.raises(trimtab.PlanError, match="keep_tag"):
        trimtab.Plan.from_json(json.dumps(body | {"keep_tag": name}))


def test_what_stood_before_a_providers_own_compaction_stays_behind_its_block() -> None:
    signed: dict[str, Any] = {"type": "compaction", "content": "What was said.", "signature": "c2lnbmVk"}
    block = {"role": "assistant", "content": [signed]}
    before = {"role": "user", "content": "Begin. <keep>never push</keep>"}
    messages = [before, block, *talk("<keep>ask first</keep>"), {"role": "user", "content": "Go on."}]
    done = trimtab.Compactor(CLAUDE, provider="anthropic").compact(messages, target_share=0.3)
    assert done.messages[0] == block
    written = text(done.messages[1])
    for position, span in ((0, "never push"), (4, "ask first")):
        assert f'<trimtab-kept message="{position}">{span}</trimtab-kept>' in written
    assert trimtab.validate(done.messages, provider="anthropic") == []


def test_what_stands_before_openais_compaction_stays_there() -> None:
    block = {"type": "compaction", "id": "cmp_1", "encrypted_content": "c2VhbGVk" * 40}
    before = {"role": "user", "content": "Begin. <keep>never push</keep>"}
    messages = [before, block, *talk("<keep>ask first</keep>"), {"role": "user", "content": "Go on."}]
    done = trimtab.Compactor(GPT, provider="openai_responses").compact(messages, target_share=0.3)
    assert list(done.messages[:2]) == [before, block]
    written = text(done.messages[2])
    assert written.count("</trimtab-kept>") == 1
    assert '<trimtab-kept message="4">ask first</trimtab-kept>' in written
    assert trimtab.validate(done.messages, provider="openai_responses") == []


def test_fit_keeps_it_in_every_later_round() -> None:
    cm = trimtab.Compactor(CLAUDE, window=3_000, max_output=500)
    messages: list[Any] = [{"role": "user", "content": "Begin. <keep>never push</keep>"}]
    compactions = 0
    for n in range(60):
        fitted = cm.fit(messages)
        compactions += fitted.compaction is not None
        messages = list(fitted.messages)
        whole = "".join(map(text, messages))
        assert whole.count("never push") == 1
        said = {"role": "assistant", "content": f"Said {n}. <keep>mine</keep> {'words ' * 40}"}
        messages += [said, {"role": "user", "content": f"Go on with step {n}. " + "more words " * 40}]
    assert compactions > 2
    assert ">mine</trimtab-kept>" not in whole


def test_what_was_kept_counts_a_span_as_a_rule() -> None:
    cm = trimtab.Compactor(CLAUDE)
    done = cm.compact(talk("<keep>Never push to main.</keep>"), target_share=0.3)
    assert [(item.message, item.text) for item in done.kept.there if item.kind == "rules"] == [
        (2, "Never push to main.")
    ]
    again = cm.compact([*done.messages, *talk("")], target_share=0.2)
    assert [item.text for item in again.kept.there if item.kind == "rules"] == ["Never push to main."]


def test_a_span_has_its_number_in_the_whole_history() -> None:
    cm = trimtab.Compactor(CLAUDE, window=3_000, max_output=500)
    history: list[Any] = []
    numbers: set[str] = set()
    for n in range(60):
        keeps = f"<keep>rule {n}</keep>" if n in {3, 30} else ""
        history.append({"role": "user", "content": f"Go on with step {n}. {keeps}" + "more words " * 40})
        messages = cm.fit(history).messages
        numbers |= {part.partition("</")[0] for part in first(messages).split("<trimtab-kept message=")[1:]}
        history.append({"role": "assistant", "content": f"Said {n}. {'words ' * 40}"})
    assert numbers == {'"6">rule 3', '"60">rule 30'}
