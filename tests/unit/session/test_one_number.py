"""One number for one thing: ``plan``, ``compact``, ``show``, ``--explain`` and the documents agree."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import trimtab
from support.command import run
from support.models import CLAUDE_BOUND
from trimtab import formats
from trimtab.messages.types import Charged
from trimtab.planning import Budget, Terms, Trigger
from trimtab.planning.savings import Rates, Savings

EXAMPLE = str(formats.EXAMPLE)
DOCS = Path(__file__).parents[3] / "docs"
GIVEN = [("--window", "100k"), ("--window", "40k"), ("--target-share", "0.3"), ("--policy", "sven", "--window", "60k")]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("given", GIVEN)
def test_plan_promises_the_tokens_the_prompt_and_the_edits_that_compact_prints(given: tuple[str, ...]) -> None:
    planned = run("plan", EXAMPLE, *given, "--top", "1").stdout
    shown = json.loads(run("show", EXAMPLE, *given, "--json").stdout)["plan"]
    printed = run("compact", EXAMPLE, *given, "-o", "printed.json").stdout
    made = json.loads(run("compact", EXAMPLE, *given, "-o", "out.json", "--json").stdout)
    before, after = made["tokens_before"], made["tokens_after"]
    assert f"messages: {before:,} -> {after:,} tokens" in planned
    assert (shown["tokens_before"], shown["tokens_after"]) == (before, after)
    assert shown["next_prompt_after"] == made["next_prompt"]
    line = re.findall(r"^  next prompt .*$", planned, re.MULTILINE)
    assert line == re.findall(r"^  next prompt .*$", printed, re.MULTILINE)
    assert f"{made['next_prompt_before']:,} -> {made['next_prompt']:,} tokens" in line[0]
    for what in ("tool call", "tool result"):
        becoming = re.findall(rf"^([\d,]+) {what}s? becomes? (?:a )?placeholder", planned, re.MULTILINE)
        pruned = re.findall(rf"^  pruned .*?([\d,]+) {what}", printed, re.MULTILINE)
        assert sum(int(number.replace(",", "")) for number in becoming) == int((pruned or ["0"])[0].replace(",", ""))
    assert made["pruned"] == sum(made["pruned_kinds"].values())


@pytest.mark.parametrize("given", GIVEN)
def test_explain_names_the_tokens_of_the_head_and_the_money_is_theirs(given: tuple[str, ...]) -> None:
    planned = run("plan", EXAMPLE, *given, "--top", "1", "--explain").stdout
    head = re.search(r"^messages: ([\d,]+) -> ([\d,]+) tokens", planned, re.MULTILINE)
    leave = re.search(r"^([\d,]+) tokens leave, ([\d,]+) behind them", planned, re.MULTILINE)
    assert head
    assert leave
    before, after, gone, behind = (int(number.replace(",", "")) for number in (*head.groups(), *leave.groups()))
    assert before - after == gone
    assert behind <= after
    assert re.findall(r"^compacted +(.*?)  ", planned, re.MULTILINE)[:2] == ["here, offline", "here, by a model"]
    saves = json.loads(run("plan", EXAMPLE, *given, "--json").stdout)["savings"]
    assert (saves["gain"], saves["rewrite"]) == (gone, behind)


def test_a_session_that_was_billed_for_another_vocabulary_is_counted_by_the_model_s_own() -> None:
    found, old = trimtab.example(), trimtab.Counter.for_model("claude-opus-4-5")
    tokens = old.per_message(found.messages, provider=found.provider)
    places = [at for at, message in enumerate(found.messages) if at and message["role"] == "assistant"]
    usage = [Charged(at, int(tokens[:at].sum()) + 9_000, 9) for at in places]
    counter = trimtab.Counter.for_model("claude-sonnet-5-5")
    for billed in ("claude-opus-4-5", "bedrock/us.anthropic.claude-opus-4-5-20251101-v1:0", "gpt-5.5", "deepseek-r1"):
        cm = trimtab.Compactor("claude-sonnet-5-5", archive="memory")
        cm.learn(replace(found, model=billed, usage=usage))
        size = cm.size(found.messages, system=found.system, tools=found.tools)
        assert cm.counter.explain() == counter.explain()
        assert (size.billed, size.prompt) == (0, trimtab.count(found.messages, model="claude-sonnet-5-5"))
    for billed in ("claude-opus-4-5", "our-deployment", "/no/such/folder"):  # nobody knows that these have another
        cm = trimtab.Compactor("claude-opus-4-6", archive="memory")
        cm.learn(replace(found, model=billed, usage=usage))
        assert cm.size(found.messages, system=found.system, tools=found.tools).billed == usage[-1].prompt


def test_a_plan_of_another_model_is_applied_with_the_tokens_of_the_model_that_is_named() -> None:
    model = ("--model", "gpt-5.5")
    Path("plan.json").write_text(run("plan", EXAMPLE, "--json", "--target-share", "0.2").stdout)
    counted = json.loads(run("count", EXAMPLE, "--json", *model).stdout)
    done = run("apply", EXAMPLE, "--plan", "plan.json", "-o", "o.json", *model)
    assert done.returncode == 0, done.stderr
    after = json.loads(run("count", "o.json", "--json").stdout)
    assert done.stdout.startswith(f"{counted['tokens']:,} -> {after['tokens']:,} tokens (")
    assert f"  next prompt {counted['next_prompt']:,} -> {after['next_prompt']:,} tokens, " in done.stdout
    same = json.loads(run("apply", EXAMPLE, "--plan", "plan.json", "-o", "o.json", "--json").stdout)
    assert same["tokens_before"] == trimtab.Plan.from_json(Path("plan.json").read_text()).tokens_before


def test_the_money_of_a_compaction_is_that_of_its_own_tokens() -> None:
    rates = Rates(dollars=3.0, read=0.1, write=1.25, cold=0.2, growth=700.0)
    bound, made = Savings.of(50_000, 20_000, rates), Savings.of(54_000, 16_000, rates)
    found = bound.made(54_000)
    assert (found.gain, found.rewrite, found.calls) == (made.gain, made.rewrite, made.calls)
    assert abs(found.least - made.least) <= 1
    assert found.a_call == pytest.approx(made.a_call)
    assert found.once == pytest.approx(made.once)
    unknown = Savings.of(50, 20, Rates(float("nan"), 0.1, 1.25)).made(60)
    assert (unknown.gain, unknown.rewrite, unknown.a_call) == (60, 10, None)


@pytest.mark.parametrize("policy", ["default", "sven", "goat", "opencode"])
@pytest.mark.parametrize("share", [0.5, 0.25, 0.1])
def test_a_plan_in_python_names_a_bound_and_says_so(policy: str, share: float) -> None:
    found = trimtab.example()
    cm = trimtab.Compactor(CLAUDE_BOUND, window=200_000, archive="memory", policy=policy)
    plan = cm.plan(found.messages, target_share=share)
    done = cm.compact(found.messages, plan=plan)
    assert done.tokens_after <= plan.tokens_after
    says = f"{plan.tokens_before:,} tokens -> at most {plan.tokens_after:,} (" in str(plan)
    assert says == bool(plan.edits)
    assert ("if that many are left: saves" in str(plan)) == bool(plan.savings)


def test_messages_that_stay_in_a_zone_are_not_among_those_that_leave() -> None:
    Path("s.json").write_text(
        json.dumps(
            [
                {"role": "user", "content": "go " * 20},
                {"role": "assistant", "content": "small " * 30},
                {"role": "user", "content": "KEEP " * 900},
                {"role": "assistant", "content": "fill " * 500},
                {"role": "user", "content": "more " * 500},
                {"role": "assistant", "content": "last"},
                {"role": "user", "content": "now"},
            ]
        )
    )
    printed = run("plan", "s.json", "--target-share", "0.6", "--model", CLAUDE_BOUND).stdout
    found = json.loads(run("plan", "s.json", "--target-share", "0.6", "--model", CLAUDE_BOUND, "--json").stdout)
    zone = next(edit for edit in found["edits"] if edit["edit"] in ("Summarize", "Drop"))
    change = next(change for change in found["changes"] if change["edit"] in ("summarize", "drop"))
    rows = re.findall(r"^- +(?:#(\d+) |and ([\d,]+) smaller).*? ([\d,]+)$", printed, re.MULTILINE)
    assert not {int(number) for number, _, _ in rows if number} & set(zone["keep"])
    assert sum(int(tokens.replace(",", "")) for _, _, tokens in rows) == change["tokens"]


def test_the_budget_adds_what_is_not_in_the_file_before_it_says_over() -> None:
    terms = Terms(window=200_000, output=32_000, system=1_000, tools=3_000)
    lines = Budget.of(terms, Trigger(), 0.4).explain(100_491, 48_653).splitlines()
    assert lines[-3] == "messages           100,491"
    assert lines[-1].split() == ["together", "149,144", *"over the trigger, 114 % of it".split()]
    assert "messages past this are compacted, a prompt past 134,400:" in "\n".join(lines)
    assert Budget.of(terms, Trigger(), 0.4).explain(100_491).endswith("100,491  below the trigger, 77 % of it")


def test_the_page_of_the_command_line_shows_the_plan_that_is_printed() -> None:
    run("demo")
    printed = run("plan", "trimtab-demo/session.jsonl", "--window", "100k", "--top", "2").stdout
    shown = (DOCS / "command-line.md").read_text(encoding="utf-8").split("## A plan\n\n```text\n")[1].split("```")[0]
    assert shown in printed
