"""Show, plan and apply: parts that add up, edits with tool and reason, and a plan that is done as printed."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import trimtab
from support import format_cases
from support.command import run
from support.models import CLAUDE_BOUND
from trimtab import formats
from trimtab.ledger.contents import Contents
from trimtab.planning import Prune
from trimtab.planning.changes import stays

EXAMPLE = str(formats.EXAMPLE)
SMALL = ("--window", "60k")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answer(*words: str) -> dict[str, Any]:
    done = run(*words, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def adds_up(path: str, *options: str) -> dict[str, Any]:
    found = answer("show", path, *options)
    assert sum(part["tokens"] for part in found["parts"]) == found["next_prompt"]
    assert round(sum(part["percent"] for part in found["parts"]), 6) == 100
    assert found["next_prompt"] == answer("count", path)["next_prompt"]
    return found


@pytest.mark.parametrize("by", ["tool", "file", "turn", "message"])
def test_the_parts_of_the_next_prompt_add_up_to_100_percent(by: str) -> None:
    found = adds_up(EXAMPLE, "--by", by, "--top", "3")
    assert [part["name"] for part in found["parts"][3:]] == ["everything else", "system text and tools"]
    text = run("show", EXAMPLE, "--by", by, "--top", "3").stdout
    shares = [float(share) for share in re.findall(r"^ +([0-9.]+) % ", text, flags=re.M)]
    assert len(shares) == len(found["parts"])
    assert round(sum(shares), 6) == 100


def test_the_parts_add_up_in_every_format() -> None:
    for name in (*format_cases.LINES, *format_cases.WHOLES):
        wholes = format_cases.WHOLES.get(name)
        lines = [wholes(6)] if wholes else format_cases.LINES[name](6)
        Path(name).write_text("\n".join(map(json.dumps, lines)))
        adds_up(name)


@pytest.mark.shared
def test_the_parts_of_shared_sessions_add_up(shared: Path) -> None:
    files = [path for path in sorted((shared / "data" / "transcripts").rglob("*.json*")) if path.is_file()]
    for path in files[::12]:
        found = adds_up(str(path), "--top", "4")
        billed = found["not_in_file"] > 0
        assert ("not in the file" in {part["name"] for part in found["parts"]}) == billed, path


def test_a_session_of_which_a_policy_takes_nothing_is_shown() -> None:
    Path("s.json").write_text(json.dumps([{"role": "user", "content": "go"}]))
    for verb in ("show", "plan"):
        done = run(verb, "s.json", "--policy", "agentpg", "--target-share", "0.5")
        assert (done.returncode, "nothing can leave" in done.stdout) == (0, True), done.stderr


def test_show_names_the_largest_results_and_the_proposed_cut() -> None:
    text = run("show", EXAMPLE, *SMALL).stdout
    assert re.search(r"^ +46\.0 % +36,541 +█+ +Read \(15\)$", text, flags=re.M)
    assert re.search(r"^ +#32 +4,402  Read …\S+/planning/decide\.py · 1 ", text, flags=re.M)
    cost = answer("show", EXAMPLE, *SMALL)["cost"]
    price = trimtab.Model.named(CLAUDE_BOUND).price
    assert cost["input"] == pytest.approx(price.input * 79_477 / 1e6)
    assert f"costs ${cost['input']:.4f} a call as new input, ${cost['cache_read']:.4f} from the" in text
    assert answer("show", EXAMPLE, "--model", "no-such-model")["cost"] is None
    plan = answer("plan", EXAMPLE, *SMALL)
    assert f"proposed cut: {plan['tokens_before']:,} -> {plan['tokens_after']:,} tokens" in text
    assert text.splitlines()[-1] == f"  trimtab plan {EXAMPLE} --window 60000"
    assert all(len(line) <= 80 for line in text.splitlines()[3:-1])


@pytest.mark.parametrize(
    ("model", "past"),
    [("gpt-5.4", "272,000"), ("gemini-2.5-pro", "200,000"), ("claude-haiku-5-5", "100,000"), ("gpt-5.4-mini", None)],
)
def test_dollars_of_a_prompt_past_a_step_of_the_price_are_said_to_be_more(model: str, past: str | None) -> None:
    words = "alpha bravo charlie delta " * 60_000
    for name, tell in (("long.json", past), ("short.json", None)):
        content = words if name == "long.json" else "hi"
        messages = [{"role": role, "content": content} for role in ("user", "assistant", "user")]
        Path(name).write_text(json.dumps(messages))
        said = [line for line in run("show", name, "--model", model).stdout.splitlines() if "charges more" in line]
        assert said == ([f"  or more: past {tell} tokens the provider charges more"] if tell else [])
        lines = run("plan", name, "--model", model, "--target-share", "0.1").stdout.splitlines()
        assert sum("charges more" in line for line in lines) == (tell is not None), lines


def test_repeated_reads_name_the_old_results_and_the_newest() -> None:
    def read(ref: str) -> list[Any]:
        call = {"type": "tool_use", "id": ref, "name": "Read", "input": {"file_path": "/src/a.py"}}
        result = {"type": "tool_result", "tool_use_id": ref, "content": "word " * 300}
        return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]

    end = [{"role": "assistant", "content": "Read it."}, {"role": "user", "content": "Now mend it."}]
    session = [{"role": "user", "content": "go"}, *read("a"), *read("b"), *read("c"), *end]
    Path("s.json").write_text(json.dumps(session))
    (repeat,) = answer("show", "s.json")["repeats"]
    assert (repeat["messages"], repeat["newest"], repeat["argument"]) == ([2, 4], 6, "/src/a.py")
    text = run("show", "s.json").stdout
    assert "read again later: 2 old results of 1 file," in text
    assert "Read /src/a.py  #2, #4, again in #6" in text
    edits = answer("plan", "s.json", "--target-share", "0.65")["changes"]
    assert [(edit["message"], edit["why"]) for edit in edits] == [(n, "read again in message 6") for n in (2, 4)]
    text = run("plan", "s.json", "--target-share", "0.65").stdout
    assert "2 tool results become placeholders: the file was read again later" in text
    assert "#2  Read /src/a.py · again in #6" in text


def test_each_edit_of_a_plan_has_number_tool_argument_tokens_money_and_reason() -> None:
    plan = answer("plan", EXAMPLE, *SMALL)
    changes = plan["changes"]
    assert {change["edit"] for change in changes} == {"summarize", "prune", "truncate"}
    assert sum(change["tokens"] - change["after"] for change in changes) == plan["tokens_before"] - plan["tokens_after"]
    largest = {block["message"]: block for block in answer("show", EXAMPLE, "--top", "99")["largest"]}
    for change in changes[1:]:
        assert change["tool"], change
        assert change["why"], change
        assert change["saves"] > 0
        assert change["kind"] == "call" or change["message"] in largest
    text = run("plan", EXAMPLE, *SMALL).stdout
    assert "messages #0 to #96 become a summary: the oldest messages" in text
    assert re.search(r"^- +#110  Read …\S+openai_chat\.rs · 1 \S+.* 4,095 +\d+ +0\.\d{3}$", text, flags=re.M)
    assert "newer than these, and the oldest leave first" in text
    assert "rows" not in text
    assert text.splitlines()[-1] == f"  trimtab compact {EXAMPLE} -o OUT --window 60000"
    assert "trigger" not in text.split("\n\n", 1)[1]
    assert "\ntrigger " in run("plan", EXAMPLE, *SMALL, "--explain").stdout


def test_a_plan_that_is_applied_gives_the_list_that_compact_gives() -> None:
    assert run("compact", EXAMPLE, *SMALL, "-o", "compacted.json").returncode == 0
    plan = run("plan", EXAMPLE, *SMALL, "--json").stdout
    done = run("apply", EXAMPLE, *SMALL, "-o", "applied.json", stdin=plan)
    assert done.returncode == 0, done.stderr
    assert Path("applied.json").read_text() == Path("compacted.json").read_text()
    tokens = json.loads(plan)["tokens_after"]
    assert f"-> {tokens:,} tokens" in done.stdout.splitlines()[0]
    (undo,) = [line.split("undo")[1].split() for line in done.stdout.splitlines() if line.startswith("  undo")]
    assert run(*undo[1:], "-o", "back.json").returncode == 0


def test_a_plan_of_another_session_and_what_is_no_plan_are_refused() -> None:
    Path("other.json").write_text(json.dumps([{"role": "user", "content": "go"}]))
    Path("plan.json").write_text(run("plan", EXAMPLE, *SMALL, "--json").stdout)
    refused = run("apply", "other.json", "--plan", "plan.json", "-o", "o.json")
    assert (refused.returncode, Path("o.json").exists()) == (65, False)
    assert "made for another transcript" in refused.stderr
    assert run("apply", EXAMPLE, "-o", "o.json", stdin="hello").returncode == 65
    assert run("apply", EXAMPLE, "-o", "o.json", stdin=b"\xff").returncode == 65
    assert run("apply", "-", "-o", "o.json").returncode == 64


def test_compact_prints_the_summary_that_the_model_will_read() -> None:
    done = run("compact", EXAMPLE, *SMALL, "-o", "o.json")
    report = answer("compact", EXAMPLE, *SMALL, "-o", "o.json", "--force")
    assert report["summary"].startswith("## Rules")
    for line in report["summary"].splitlines():
        assert line in done.stdout
    assert json.dumps(report["summary"])[1:-1] in Path("o.json").read_text()


def test_control_characters_of_a_session_never_reach_the_terminal() -> None:
    hostile = "\x1b[2J\u202e\x07"
    call = {"type": "tool_use", "id": "a", "name": f"Re{hostile}ad", "input": {"file_path": f"/a{hostile}"}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": f"{hostile} word" * 300}
    session = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    Path("s.json").write_text(json.dumps([{"role": "user", "content": hostile}, *session, *session[:0]]))
    for verb in ("show", "plan"):
        for option in (["--by", "turn"], ["--by", "file"], []) if verb == "show" else ([],):
            text = run(verb, "s.json", "--target-share", "0.5", *option).stdout
            assert not set(hostile[:1] + hostile[4:]) & set(text), verb
            assert "/a\\x1b[2J" in text or "--by" in option or verb == "plan"


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_lines_fit_the_width(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for words in (["show", EXAMPLE], ["plan", EXAMPLE, "--explain"]):
        lines = run(*words, *SMALL).stdout.splitlines()
        assert [line for line in lines if len(line) > columns and not line.startswith("  trimtab ")] == []


def test_the_demo_writes_the_example_and_commands_that_work(home: Path) -> None:
    done = run("demo", "a b")
    assert done.returncode == 0
    assert (home / "a b" / "session.jsonl").read_bytes() == formats.EXAMPLE.read_bytes()
    commands = [line.split("trimtab ", 1)[1] for line in done.stdout.splitlines() if line.startswith("    trimtab ")]
    assert [command.split()[0] for command in commands] == ["show", "plan", "compact", "audit"]
    for command in commands:
        assert run(*shlex.split(command)).returncode == 0
    assert run("demo", "a b").returncode == 0
    (home / "a b" / "session.jsonl").write_text("mine")
    assert run("demo", "a b").returncode == 74
    assert (home / "a b" / "session.jsonl").read_text() == "mine"
    assert trimtab.example() == trimtab.read(formats.EXAMPLE)


def test_a_large_result_that_stays_has_the_rule_that_keeps_it() -> None:
    log = "error: the build failed on this line\n" * 400
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for n in range(30):
        call = {
            "type": "tool_use",
            "id": f"t{n}",
            "name": "skill" if n == 2 else "Bash",
            "input": {"command": f"make {n}"},
        }
        block = {"type": "tool_result", "tool_use_id": f"t{n}", "content": log[: 9_000 if n > 2 else 14_000]}
        failed = {"is_error": True} if n == 1 else {}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [block | failed]}]
        messages += [{"role": "assistant", "content": "next"}, {"role": "user", "content": "go on"}]
    cm = trimtab.Compactor(CLAUDE_BOUND, policy="opencode", archive="memory")
    contents = Contents.of(messages, cm.counter, "anthropic")
    pruned = contents.results[contents.results > contents.results[:3].max()]
    plan = replace(cm.plan(messages), edits=(Prune(tuple(sorted(pruned.tolist()))),))
    why = {change.argument: change.why for change in stays(plan, contents, cm.policy.prune)}
    assert why == {
        "make 0": "pinned, or of a message that is kept whole",
        "make 1": "an error, and the policy prunes none",
        "make 2": "the policy never prunes skill",
    }
