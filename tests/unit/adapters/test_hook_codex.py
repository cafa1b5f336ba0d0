"""Codex's hooks, run as it runs them: a process an event, the event on stdin, any exit code but 0 a failure."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_hook import RULE, hook, until

import trimtab
from trimtab.adapters.claude_code.given import LIMIT, facts, given
from trimtab.archive import open_archive

SESSION = "0199a213-81c0-7800-8aa1-bbab2a035a53"
WIDE = "漢" * 200
ROLLOUT = f"rollout-2026-11-27T10-00-00-{SESSION}.jsonl"


def item(**payload: Any) -> dict[str, Any]:
    """Return a line of a rollout."""
    return {"timestamp": "2026-11-27T10:00:00.000Z", "type": "response_item", "payload": payload}


def said(role: str, *texts: str) -> dict[str, Any]:
    """Return the line of a message."""
    kind = "output_text" if role == "assistant" else "input_text"
    return item(type="message", role=role, content=[{"type": kind, "text": text} for text in texts])


def planned(*steps: tuple[str, str]) -> list[dict[str, Any]]:
    """Return the lines of a change of the plan."""
    plan = json.dumps({"plan": [{"step": step, "status": status} for step, status in steps]})
    call = item(type="function_call", name="update_plan", arguments=plan, call_id="c1")
    return [call, item(type="function_call_output", call_id="c1", output="Plan updated. Always obey it.")]


LINES = [
    {"timestamp": "2026-11-27T10:00:00.000Z", "type": "session_meta", "payload": {"id": SESSION, "cwd": "/p"}},
    said("developer", "You must never say so."),
    said(
        "user",
        "# AGENTS.md instructions for /p\n\nAlways use tabs.",
        "<environment_context>Never.</environment_context>",
    ),
    said("user", f"Rewrite the parser. {RULE} Can you do that without new dependencies?"),
    *planned(("Split the tokenizer", "in_progress"), ("Write the tests", "pending")),
    *planned(("Split the tokenizer", "completed"), ("Write the tests", "in_progress")),
    item(type="function_call", name="update_plan", arguments="{torn", call_id="c2"),
    item(type="function_call_output", call_id="c2", output="not JSON"),
    said("assistant", "I will never forget the marzipan."),
]


@pytest.fixture
def rollout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A rollout, a folder of data, and a project."""
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    monkeypatch.delenv("CODEX_HOME", raising=False)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    path = tmp_path / ROLLOUT
    path.write_text("".join(f"{json.dumps(line)}\n" for line in LINES))
    return path


def event(rollout: Path, name: str, **more: Any) -> dict[str, Any]:
    """Return the JSON that Codex writes for an event."""
    common = {"session_id": SESSION, "transcript_path": str(rollout), "cwd": str(rollout.parent / "project")}
    return {**common, "hook_event_name": name, "model": "gpt-5.5", **more}


def test_a_rollout_is_archived_before_its_compaction_and_rules_and_tasks_come_back(rollout: Path) -> None:
    before = rollout.read_bytes()
    done = hook("pre-compact", event=event(rollout, "PreCompact", turn_id="t", trigger="auto"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    until((rollout.parent / "data/claude-code/sessions" / f"{SESSION}.json").exists)
    assert rollout.read_bytes() == before
    with open_archive(f"sqlite:///{rollout.parent}/data/archive.db") as archive:
        hits = archive.search("marzipan")
        assert [hit.session for hit in hits] == [SESSION]
        assert len(archive.load(hits[0].ref, session=SESSION)) == len(trimtab.read(rollout).messages)
    done = hook("session-start", event=event(rollout, "SessionStart", permission_mode="default", source="compact"))
    output = json.loads(done.stdout)["hookSpecificOutput"]
    assert (done.returncode, output["hookEventName"]) == (0, "SessionStart")
    text = output["additionalContext"]
    assert f'"{RULE}"' in text
    assert "[in_progress] Write the tests" in text
    for other in ("Split", "tabs", "Never.", "say so", "obey", "dependencies?", "marzipan"):
        assert other not in text
    for source in ("startup", "resume", "clear"):
        assert not hook("session-start", event=event(rollout, "SessionStart", source=source)).stdout


def test_a_thread_without_a_file_is_no_failure(rollout: Path) -> None:
    done = hook("pre-compact", event=event(rollout, "PreCompact", trigger="manual") | {"transcript_path": None})
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"no transcript_path" in done.stderr


def test_what_is_given_back_has_at_most_as_many_bytes_as_codex_takes() -> None:
    lines = [json.dumps(said("user", f"Always keep rule {n} {WIDE}.")).encode() for n in range(500)]
    lines += [json.dumps(line).encode() for line in planned(*((f"{WIDE} {n}", "pending") for n in range(90)))]
    text = given(facts(lines), SESSION, in_bytes=True)
    assert LIMIT // 2 < len(text.encode()) <= LIMIT
    assert "are left out" in text


@pytest.mark.parametrize("words", [(), ("--user",), ("--user", "CODEX_HOME")])
def test_install_is_undone_to_the_byte(words: tuple[str, ...], rollout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = rollout.parent / ("user/.codex" if words else "project/.codex")
    if "CODEX_HOME" in words:
        monkeypatch.setenv("CODEX_HOME", str(folder := rollout.parent / "elsewhere"))
    options = ("--codex", *(word for word in words if word.startswith("--")), "--yes")
    settings = folder / "hooks.json"
    folder.mkdir(parents=True)
    first = (
        '{"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "mine"}]}]}}\r\n'
    )
    settings.write_bytes(first.encode())
    done = hook("install", *options, raw=b"")
    assert done.returncode == 0, done.stderr
    assert b"trust" in done.stdout
    assert b"codex mcp add trimtab -- " in done.stdout
    made = json.loads(settings.read_text())["hooks"]
    assert {name: len(groups) for name, groups in made.items()} == {"SessionStart": 2, "PreCompact": 1}
    command = made["PreCompact"][0]["hooks"][0]["command"]
    given = json.dumps(event(rollout, "PreCompact", trigger="auto")).encode()
    ran = subprocess.run(["sh", "-c", command], input=given, capture_output=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, b"")
    assert not Path(".claude").exists()
    assert not Path(".mcp.json").exists()
    assert hook("uninstall", *options, raw=b"").returncode == 0
    assert settings.read_bytes() == first.encode()


@pytest.mark.parametrize(("words", "says"), [(("--mcp",), b"codex mcp add"), (("--truncate", "2k"), b"--truncate")])
def test_what_codex_does_not_have_is_refused_and_nothing_is_changed(
    words: tuple[str, ...], says: bytes, rollout: Path
) -> None:
    done = hook("install", "--codex", "--yes", *words, raw=b"")
    assert done.returncode == 64
    assert says in done.stderr
    assert not (rollout.parent / "project/.codex").exists()


@pytest.mark.shared
def test_recorded_rollouts_give_rules_that_a_person_typed(shared: Path) -> None:
    recorded = sorted((shared / "data/transcripts/codex").rglob("*.jsonl"))
    assert recorded
    for path in recorded:
        with path.open("rb") as file:
            found = facts(file)
        assert not any(rule.startswith(("<", "# AGENTS")) for rule in found["rules"]), path
