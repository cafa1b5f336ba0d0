"""The verdict on a session file: its next prompt, against the agent's own window, with what is assumed."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from test_formats_claude_code import boundary, says, summary, text, user

import trimtab
from support import billed, format_cases
from support.command import run
from support.models import CLAUDE, GPT

SOUND = 20_000
"""Tokens that a call of a short session was billed: most of them system text and tools."""

ODD = (0, -5, -(2**70), 1.5, "many", None, True, [], 2**53, 2**53 + 1, 2**70, 1, 12)
"""Billed prompts that a file may state."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def counted(path: str | Path, *options: str) -> dict[str, Any]:
    """The answer of ``count --json``, which holds together: nothing is negative, and the parts add up."""
    done = run("count", str(path), "--json", *options)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    numbers = [value for value in (*found.values(), *found["kinds"].values()) if type(value) in (int, float)]
    assert min(numbers) >= 0, found
    assert sum(found["kinds"].values()) == found["tokens"]
    assert found["tokens"] + found["system_and_tools"] + found["not_in_file"] == found["next_prompt"]
    return found


def headline(path: str | Path, *options: str) -> str:
    return run("count", str(path), *options).stdout.splitlines()[0]


def saved(name: str, content: bytes | str) -> str:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def claude(*lines: Any) -> str:
    return saved("claude.jsonl", "\n".join(map(json.dumps, lines)))


@pytest.mark.parametrize("name", billed.FORMATS)
def test_the_next_prompt_has_what_was_billed_and_is_not_in_the_file(name: str) -> None:
    path = saved("s", billed.session(name, 3, lambda turn: SOUND + 100 * turn))
    found = counted(path)
    assert found["format"] == name
    assert found["last_billed"] == SOUND + 200
    assert SOUND + 200 < found["next_prompt"] < SOUND + 400
    assert found["not_in_file"] > SOUND
    assert found["not_known"] == []
    assert headline(path).startswith(f"next prompt: {found['next_prompt']:,} tokens, ")
    assert f"{found['not_in_file']:,} of the next prompt are not in the file" in run("count", path).stdout


@pytest.mark.parametrize("name", billed.FORMATS)
@pytest.mark.parametrize("prompt", ODD, ids=str)
def test_no_billed_number_makes_a_part_negative(name: str, prompt: Any) -> None:
    for prompts in ([prompt] * 3, [SOUND, prompt, prompt], [prompt, SOUND, SOUND]):
        path = saved("s", billed.session(name, 3, prompts.__getitem__))
        found = counted(path)
        assert found["next_prompt"] <= found["window"] or found["window_from"] != "table"
        assert "-" not in headline(path).replace(found["model"], "")


def test_a_usage_that_cannot_be_true_is_named_and_ignored() -> None:
    path = saved("s", billed.session("atif", 40, lambda _: 1))
    done = run("count", path)
    assert "40 billed calls in the file are ignored; the last: its 1 input tokens are less than half" in done.stderr
    assert counted(path)["last_billed"] == 0


def test_a_session_over_the_trigger_by_what_is_not_in_the_file_fails_the_check() -> None:
    path = saved("s", billed.session("codex", 3, lambda turn: 200_000 + 100 * turn))
    found = counted(path)
    assert found["tokens"] < 1_000 < found["trigger"] < 200_000
    assert found["over"]
    done = run("plan", path, "--check", "--explain")
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == headline(path)
    assert ", over the trigger of " in headline(path)
    assert "over the trigger, " in done.stdout.splitlines()[-1]
    assert run("plan", path, "--check", "--json").returncode == 1
    assert (
        run("plan", path, "--check", "--policy", "goat").returncode == 0
    )  # goat's own trigger sees the messages alone


def agree(path: str, *given: str) -> None:
    """``plan``, ``compact``, and ``count`` and ``validate`` of its output agree to the token."""
    plan = json.loads(run("plan", path, "--json", *given).stdout)
    done = json.loads(run("compact", path, "-o", "o.json", "--json", *given).stdout)
    assert (plan["tokens_before"], plan["tokens_after"]) == (done["tokens_before"], done["tokens_after"])
    assert counted(path)["tokens"] == done["tokens_before"]
    after = counted("o.json")
    assert (after["tokens"], after["window"]) == (done["tokens_after"], done["window"])
    assert run("validate", "o.json").returncode == 0


@pytest.mark.parametrize("given", [["--target-share", "0.5"], []], ids=["half", "default"])
def test_plan_compact_and_count_agree_in_every_format(given: list[str]) -> None:
    for name in (*format_cases.LINES, *format_cases.WHOLES):
        wholes = format_cases.WHOLES.get(name)
        lines = [wholes(30)] if wholes else format_cases.LINES[name](30)
        agree(saved("s", "\n".join(map(json.dumps, lines))), *given)


def test_codex_names_its_window() -> None:
    path = saved("s", billed.session("codex", 2, lambda _: SOUND))
    assert trimtab.read(path).window == 258_400
    found = counted(path, "--model", GPT)
    assert (found["window"], found["window_from"]) == (1_050_000, "table")  # not the file's model
    lines = [
        {"type": "turn_context", "payload": {"model": GPT}},
        *map(json.loads, Path(path).read_text().splitlines()),
    ]
    path = saved("s", "\n".join(map(json.dumps, lines)))
    found = counted(path)
    assert (found["window"], found["window_from"], found["model"]) == (258_400, "file", GPT)
    assert "% of the window 258,400 (the agent's own) of gpt-5.5, below the trigger" in headline(path)
    assert counted(path, "--window", "100k")["window"] == 100_000
    started = {"type": "event_msg", "payload": {"type": "task_started", "model_context_window": 121_600}}
    assert trimtab.read("\n".join(map(json.dumps, [*lines, started])).encode()).window == 121_600


OPUS = "claude-opus-4-6"


def asked(prompt: int, model: str = OPUS) -> list[Any]:
    usage = {"input_tokens": prompt, "output_tokens": 9}
    return [user("a", None, "go"), says("b", "a", "m", text("done"), usage=usage, model=model)]


def again(prompt: int, model: str = OPUS) -> list[Any]:
    """A second call after ``asked``."""
    usage = {"input_tokens": prompt, "output_tokens": 9}
    return [user("a2", "b", "on"), says("b2", "a2", "m2", text("done"), usage=usage, model=model)]


def compacted(tokens: int, cause: str = "auto") -> list[Any]:
    metadata = {"trigger": cause, "preTokens": tokens}
    lines = [boundary("c", "b", compactMetadata=metadata), summary("d", "c")]
    return [*lines, says("e", "d", "n", text("on"), usage={"input_tokens": 30_000}, model=OPUS)]


@pytest.mark.parametrize(
    ("lines", "window", "source"),
    [
        (asked(SOUND), 200_000, "assumed"),
        ([*asked(SOUND), *compacted(167_000)], 200_000, "file"),
        ([*asked(SOUND), *compacted(930_000)], 1_000_000, "file"),
        ([*asked(SOUND), *compacted(930_000), *compacted(167_000)], 200_000, "file"),
        ([*asked(SOUND), *compacted(50_000, "manual")], 200_000, "assumed"),
        ([*asked(300_000, CLAUDE), *again(301_000, CLAUDE)], 1_000_000, "file"),
        (asked(SOUND, f"{OPUS}[1m]"), 1_000_000, "table"),
        ([{"type": "system", "subtype": "init", "model": "claude-sonnet-4-5[1m]"}, *asked(SOUND)], 1_000_000, "file"),
        ([*asked(SOUND), {"type": "result", "modelUsage": {OPUS: {"contextWindow": 200_000}}}], 200_000, "file"),
        ([*asked(SOUND), {"type": "result", "modelUsage": {"other": {"contextWindow": 200_000}}}], 200_000, "assumed"),
        ([*asked(SOUND), {"type": "result", "modelUsage": {OPUS: {"contextWindow": -3}}}], 200_000, "assumed"),
    ],
    ids=itertools.count(),
)
def test_claude_code_s_window_is_the_one_its_session_shows(lines: list[Any], window: int, source: str) -> None:
    found = counted(claude(*lines))
    assert (found["window"], found["window_from"]) == (window, source)


def test_other_agents_name_their_windows_too() -> None:
    events = [*format_cases.LINES["openhands"](2)]
    events[-1]["llm_metrics"] = {"accumulated_token_usage": {"context_window": 272_000}}
    assert trimtab.read("\n".join(map(json.dumps, events)).encode()).window == 272_000
    for kind in ("session.usage_info", "session.truncation"):
        events = [*format_cases.LINES["copilot_cli"](2), {"type": kind, "data": {"tokenLimit": 128_000}}]
        assert trimtab.read("\n".join(map(json.dumps, events)).encode()).window == 128_000


def test_a_call_that_was_billed_more_than_the_table_s_window_shows_that_it_is_another(home: Path) -> None:
    usage = {"prompt_tokens": 300_000, "completion_tokens": 9}
    whole = format_cases.WHOLES["mini_swe_agent"](1)
    whole["info"]["config"] = {"model": {"model_name": "openai/gpt-4o"}}
    whole["messages"][1]["extra"] = {"response": {"usage": usage, "model": "openai/gpt-4o"}}
    found = counted(saved("s", json.dumps(whole)))
    assert (found["window"], found["window_from"]) == (300_000, "assumed")
    assert found["next_prompt"] >= 300_000
    assert "window 300,000 (assumed)" in headline("s")


@pytest.mark.parametrize("role", ["system", "user"])
def test_a_list_that_is_too_large_for_objects_lacks_what_a_small_one_lacks(
    monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    messages = [{"role": role, "content": "be brief " * 100}, {"role": "user", "content": "go on " * 400}]
    path = saved("s.json", json.dumps(messages))
    small, told = counted(path, "--model", GPT), run("count", path, "--model", GPT).stdout
    monkeypatch.setattr("trimtab.cli.input.LARGE", 1_000)
    assert counted(path, "--model", GPT) == small
    assert run("count", path, "--model", GPT).stdout == told
    assert ("without system text" in told) == (role == "user")


def test_what_is_assumed_or_missing_stands_in_the_headline() -> None:
    path = saved("s", json.dumps([*format_cases.LINES["openai_chat"](2)]))
    first, second = run("count", path).stdout.splitlines()[:2]
    assert first.startswith("next prompt: at least ")
    assert "window 1,050,000 (assumed) of gpt-5.5, a model that is assumed" in first
    assert second == "  without system text and tools: the file has none, and no billed call that shows them"
    assert counted(path)["not_known"] == ["system text", "tools"]
    assert "(assumed)" not in headline(path, "--model", GPT)
    assert "window 128,000 (assumed) of no-such-model," in headline(path, "--model", "no-such-model")
    plan = run("plan", path, "--model", "no-such-model", "--explain").stdout
    assert plan.splitlines()[0] == headline(path, "--model", "no-such-model")
    assert "input and output together, assumed" in plan
    told = {"model": GPT, "tools": [{"type": "function", "function": {"name": "f"}}]}
    told["messages"] = [{"role": "system", "content": "be brief"}, *format_cases.LINES["openai_chat"](2)]
    assert headline(saved("s", json.dumps(told))).startswith("next prompt: 1")


def recorded(shared: Path) -> list[Path]:
    """The sessions beside the project."""
    transcripts = shared / "data" / "transcripts"
    files = [path for path in sorted(transcripts.rglob("*")) if path.is_file() and path.parent != transcripts]
    assert len(files) >= 100
    return files


@pytest.mark.shared
def test_the_verdict_on_every_shared_session_is_possible(shared: Path) -> None:
    windows = set()
    for path in recorded(shared):
        found = counted(path)
        windows.add((found["window_from"], found["window"]))
        assert found["next_prompt"] <= found["window"], path
        assert not found["last_billed"] or found["next_prompt"] >= found["last_billed"], path
    assert {("file", 200_000), ("file", 258_400), ("file", 121_600), ("file", 272_000)} < windows


@pytest.mark.shared
@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_plan_compact_and_count_agree_on_shared_sessions(shared: Path, step: int) -> None:
    for path in recorded(shared)[::step]:
        agree(str(path), "--target-share", "0.5")
        agree(str(path))


def test_plan_compact_and_count_agree_on_the_example_session() -> None:
    example = str(trimtab.formats.EXAMPLE)
    agree(example, "--target-share", "0.5")
    agree(example, "--window", "100k")
