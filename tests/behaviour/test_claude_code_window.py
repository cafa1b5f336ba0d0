"""The window of a Claude Code session: assumed and said so, unless the file or the settings show it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_formats_claude_code import boundary, says, summary, text, user

import trimtab
from support.command import run

OPUS, HAIKU = "claude-opus-4-6", "claude-haiku-4-5"
"""Models of 1,000,000 and of 200,000 tokens."""

BETA = "context-1m-2025-08-07"


def calls(*prompts: int, model: str = OPUS, words: int = 1, **extra: Any) -> list[Any]:
    """A session of calls that were billed so many tokens, each after a request of so many words."""
    lines: list[Any] = []
    for n, prompt in enumerate(prompts):
        usage = {"input_tokens": prompt, "output_tokens": 9}
        before = f"a{n - 1}" if n else None
        answer = says(f"a{n}", f"u{n}", f"m{n}", text("done"), usage=usage, model=model)
        lines += [user(f"u{n}", before, "word " * words), answer | extra]
    return lines


def compacted(tokens: int, trigger: str = "auto") -> list[Any]:
    lines = [boundary("c", "a0", compactMetadata={"trigger": trigger, "preTokens": tokens}), summary("d", "c")]
    return [*lines, says("e", "d", "n", text("on"), usage={"input_tokens": 30_000}, model=OPUS)]


def read(lines: list[Any], path: Path | None = None) -> trimtab.formats.Transcript:
    data = "\n".join(map(json.dumps, lines)).encode()
    if path is None:
        return trimtab.read(data)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return trimtab.read(path)


def windows(lines: list[Any], path: Path | None = None) -> tuple[int | None, int | None]:
    found = read(lines, path)
    return found.window, found.default_window


def source(cm: trimtab.Compactor, lines: list[Any]) -> tuple[int, str]:
    cm.learn(read(lines))
    return cm.window, cm.model and next(line for line in cm.explain().splitlines() if line.startswith("window"))


def test_without_evidence_the_smaller_window_is_assumed_and_said_so(tmp_path: Path) -> None:
    lines = calls(150_000, 154_811)
    assert windows(lines) == (None, 200_000)
    window, line = source(trimtab.Compactor(OPUS), lines)
    assert window == 200_000
    assert line.endswith("assumed")
    path = tmp_path / "s.jsonl"
    read(lines, path)
    shown = run("count", str(path)).stdout.splitlines()
    assert "of the window 200,000 (assumed) of claude-opus-4-6, over the trigger" in shown[0]
    assert shown[1] == "  the file does not show which window the agent has; name a larger one with --window"
    counted = json.loads(run("count", str(path), "--json").stdout)
    assert (counted["window"], counted["window_from"], counted["over"]) == (200_000, "assumed", True)
    shown = run("count", str(path), "--window", "1m").stdout.splitlines()
    assert "window 1,000,000 of" in shown[0]
    assert "does not show" not in shown[1]


def test_the_smaller_of_the_agent_s_default_and_the_model_s_window_decides() -> None:
    assert source(trimtab.Compactor(HAIKU), calls(20_000, model=HAIKU))[0] == 200_000
    assert source(trimtab.Compactor("gpt-4o"), calls(20_000, model="gpt-4o"))[0] == 128_000
    assert source(trimtab.Compactor(OPUS, window=700_000), calls(20_000))[0] == 700_000
    profiled = trimtab.Compactor(OPUS)
    profiled.learn_window(500_000)
    assert source(profiled, calls(20_000))[0] == 500_000
    other = trimtab.Compactor("claude-opus-5-5")
    assert source(other, calls(20_000))[0] == 1_000_000, "a session of another model"


def test_a_session_that_is_learned_from_keeps_the_assumption_in_its_state() -> None:
    session = trimtab.Compactor(OPUS).session("one")
    session.learn(read(calls(150_000)))
    again = trimtab.Compactor(OPUS).session("one", json.loads(json.dumps(session.state())))
    assert again.window == 200_000


def test_what_a_compaction_writes_keeps_the_assumption(tmp_path: Path) -> None:
    read(calls(20_000, 21_000, 22_000, words=2_000), tmp_path / "s.jsonl")
    done = run("compact", str(tmp_path / "s.jsonl"), "-o", str(tmp_path / "o.json"), "--target-share", "0.5")
    assert done.returncode == 0, done.stderr
    found = trimtab.read(tmp_path / "o.json")
    assert (found.window, found.default_window) == (None, 200_000)
    assert not found.left_out
    counted = json.loads(run("count", str(tmp_path / "o.json"), "--json").stdout)
    assert (counted["window"], counted["window_from"]) == (200_000, "assumed")


@pytest.mark.parametrize(
    "lines",
    [
        [{"type": "system", "subtype": "init", "model": f"{OPUS}[1m]"}, *calls(20_000)],
        [*calls(20_000), user("x", "a0", "<local-command-stdout>Set model to opus[1m] (claude-opus-4-6[1m])")],
        [*calls(20_000), user("x", "a0", "<local-command-stdout>Set model to \x1b[1mOpus 4.6 (1M context)\x1b[22m")],
        calls(20_000, betas=["files-api-2025-04-14", BETA]),
        calls(20_000, headers={"anthropic-beta": f"oauth-2025-04-20, {BETA}"}),
        calls(20_000, request={"anthropic_beta": [BETA]}),
        [*calls(20_000), *compacted(930_000)],
        [*calls(20_000), *compacted(250_000, "manual")],
        calls(199_000, 203_000),
        calls(100_000, 260_000, 262_000),
        [*calls(20_000), {"type": "result", "modelUsage": {OPUS: {"contextWindow": 1_000_000}}}],
    ],
    ids=[
        "init",
        "model command",
        "model menu",
        "betas",
        "header",
        "request",
        "auto",
        "manual",
        "grown",
        "two",
        "result",
    ],
)
def test_evidence_of_the_larger_window_counts(lines: list[Any]) -> None:
    assert windows(lines) == (1_000_000, None)


def test_a_model_s_own_mark_is_no_assumption() -> None:
    lines = calls(20_000, model=f"{OPUS}[1m]")
    assert windows(lines) == (None, None)
    assert source(trimtab.Compactor(f"{OPUS}[1m]"), lines)[0] == 1_000_000


def test_a_later_choice_of_the_model_takes_the_mark_away() -> None:
    marked = {"type": "system", "subtype": "init", "model": f"{OPUS}[1m]"}
    chosen = {"type": "system", "content": "<local-command-stdout>Set model to \x1b[1mDefault (Opus 4.6)\x1b[22m"}
    assert windows([marked, *calls(20_000), chosen]) == (None, 200_000)
    assert windows([chosen, marked, *calls(20_000)]) == (1_000_000, None)
    quoted = user("x", "a0", "it said: <local-command-stdout>Set model to opus[1m]")
    assert windows([*calls(20_000), quoted]) == (None, 200_000)


def test_a_beta_flag_shows_nothing_of_a_model_that_it_does_not_widen() -> None:
    assert windows(calls(20_000, model=HAIKU, betas=[BETA])) == (None, 200_000)
    assert windows(calls(20_000, model="claude-sonnet-4-5", betas=[BETA])) == (1_000_000, None)
    for odd in (7, None, {}, [3], "", ["other"]):
        assert windows(calls(20_000, model="claude-sonnet-4-5", betas=odd)) == (None, 200_000)


@pytest.mark.parametrize(
    "prompts",
    [(150_000, 310_500, 151_000), (310_500,), (150_000, 41_000_900), (199_000, 412_000), (90_000, 372_000, 180_500)],
)
def test_one_absurd_charge_shows_no_larger_window(prompts: tuple[int, ...]) -> None:
    for model in (OPUS, HAIKU):
        assert windows(calls(*prompts, model=model)) == (None, 200_000)


def test_a_charge_that_the_messages_explain_shows_the_larger_window() -> None:
    assert windows(calls(260_000, words=220_000)) == (1_000_000, None)
    assert windows(calls(460_000, words=220_000)) == (None, 200_000)


def test_a_compaction_of_an_absurd_prompt_shows_no_window() -> None:
    for cause in ("auto", "manual"):
        assert windows([*calls(20_000), *compacted(41_000_900, cause)]) == (None, 200_000)
    assert windows([*calls(20_000), *compacted(150_000, "manual")]) == (None, 200_000)
    assert windows([*calls(20_000), *compacted(167_000)]) == (200_000, None)


def home(tmp_path: Path, **settings: Any) -> Path:
    """A session's path in Claude Code's own folder, which has these settings."""
    own = tmp_path / ".claude"
    own.mkdir()
    (own / "settings.json").write_text(json.dumps(settings))
    return own / "projects" / "-work-one" / "s.jsonl"


@pytest.mark.parametrize(
    ("settings", "window"),
    [
        ({"autoCompactWindow": 400_000}, 400_000),
        ({"autoCompactWindow": 400_000, "modelSettings": {OPUS: {"autoCompactWindow": 300_000}}}, 300_000),
        ({"autoCompactWindow": 400_000, "modelSettings": {"claude-opus-5": {"autoCompactWindow": 300_000}}}, 400_000),
        ({"autoCompactWindow": 400_000, "env": {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "250000"}}, 250_000),
        ({"autoCompactWindow": 20_000}, 100_000),
        ({"autoCompactWindow": 9_000_000}, 1_000_000),
        ({"autoCompactWindow": "auto"}, None),
        (
            {"autoCompactWindow": True, "modelSettings": [1], "env": {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "9" * 5_000}},
            None,
        ),
        ({}, None),
    ],
)
def test_the_compact_window_of_the_user_s_settings_counts(
    settings: dict[str, Any], window: int | None, tmp_path: Path
) -> None:
    assert windows(calls(20_000), home(tmp_path, **settings)) == (window, None if window else 200_000)


def test_a_compact_window_is_never_larger_than_the_window_that_is_known(tmp_path: Path) -> None:
    path = home(tmp_path, autoCompactWindow=400_000)
    assert windows(calls(20_000, model=HAIKU), path) == (200_000, None)
    assert windows([*calls(20_000), *compacted(167_000)], path) == (200_000, None)
    assert windows([*calls(20_000), *compacted(366_000)], path) == (400_000, None)


def test_the_project_s_settings_stand_above_the_user_s_and_those_in_the_file_hold_too(tmp_path: Path) -> None:
    path, project = home(tmp_path, autoCompactWindow=400_000), tmp_path / "work"
    (project / ".claude").mkdir(parents=True)
    lines = calls(20_000, cwd=str(project))
    assert windows(lines, path)[0] == 400_000
    (project / ".claude" / "settings.json").write_text('{"autoCompactWindow": 350000}')
    assert windows(lines, path)[0] == 350_000
    (project / ".claude" / "settings.local.json").write_text('{"autoCompactWindow": 300000}')
    assert windows(lines, path)[0] == 300_000
    (project / ".claude" / "settings.local.json").write_text("[not json")
    assert windows(lines, path)[0] == 350_000
    assert windows(calls(20_000, settings={"autoCompactWindow": 220_000})) == (220_000, None)
    assert windows(calls(20_000, cwd="\0"), path)[0] == 400_000


def test_a_file_elsewhere_takes_no_settings_of_this_machine(tmp_path: Path) -> None:
    home(tmp_path, autoCompactWindow=400_000)
    lines = calls(20_000, cwd=str(tmp_path))
    assert windows(lines, tmp_path / "copies" / "s.jsonl") == (None, 200_000)
    assert windows(lines) == (None, 200_000)


@pytest.mark.shared
def test_real_sessions_of_the_larger_models_have_the_window_that_they_compact_at_or_an_assumed_one(
    shared: Path,
) -> None:
    found = [trimtab.read(path) for path in sorted((shared / "data/transcripts/claude-code").rglob("*.jsonl"))]
    assert {(each.window, each.default_window) for each in found} == {(None, 200_000), (200_000, None)}
    assert sum(each.window == 200_000 for each in found) >= 15
