"""The hooks for claude-agent-sdk: called as the SDK calls them, and by the real program that its wheel carries."""

from __future__ import annotations

import asyncio
import json
import os
import time
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk", reason="make adapters installs claude-agent-sdk")

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, query
from test_claude_code_program import Api, program

import trimtab
from support.agents import look, run_page
from trimtab.adapters.claude_agent import hooks
from trimtab.archive import open_archive


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PYTHONPATH", str(Path(trimtab.__file__).parents[1]))
    return tmp_path / "data"


def called(matchers: list[HookMatcher], event: dict[str, Any]) -> Any:
    return asyncio.run(matchers[0].hooks[0](event, None, None))


def archived(home: Path, words: str) -> list[Any]:
    """What the archive finds, once the copy is in it."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if (home / "archive.db").exists() and not list((home / "claude-code/waiting").glob("*")):
            with open_archive(f"sqlite:///{home}/archive.db") as archive:
                if found := archive.search(words):
                    return list(found)
        time.sleep(0.1)
    return []


def test_a_session_is_archived_before_its_compaction(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    lines = [
        {"type": "user", "uuid": "a", "parentUuid": None, "message": {"role": "user", "content": "Bake the marzipan."}},
        {"type": "assistant", "uuid": "b", "parentUuid": "a", "message": {"role": "assistant", "content": "Done."}},
    ]
    file.write_text("".join(json.dumps({"sessionId": "s1", **line}) + "\n" for line in lines))
    event = {"hook_event_name": "PreCompact", "session_id": "s1", "transcript_path": str(file), "trigger": "auto"}
    made = hooks()
    assert list(made) == ["PreCompact"]
    assert called(made["PreCompact"], event) == {}
    assert len(archived(home, "marzipan")) == 1


def test_an_output_is_cut_in_its_own_form(home: Path) -> None:
    whole = look(1) * 20
    response = {"stdout": whole, "stderr": "", "interrupted": False, "isImage": False}
    event = {"hook_event_name": "PostToolUse", "session_id": "s1", "tool_name": "Bash", "tool_response": response}
    made = hooks(truncate=500)["PostToolUse"]
    output = called(made, {**event, "tool_use_id": "t1"})["hookSpecificOutput"]["updatedToolOutput"]
    assert {key: output[key] for key in ("stderr", "interrupted", "isImage")} == {
        "stderr": "",
        "interrupted": False,
        "isImage": False,
    }
    assert trimtab.Counter("claude-new").count(output["stdout"]) <= 500
    assert output["stdout"].endswith(whole[-20:])
    kept = next((home / "claude-code/outputs").rglob("*.txt"))
    assert str(kept) in output["stdout"]
    assert kept.read_text() == whole
    assert called(made, {**event, "tool_name": "Read"}) == {}


@pytest.mark.parametrize("event", [{}, {"session_id": 3}, {"session_id": "s", "transcript_path": "/nowhere"}])
def test_damaged_events_are_no_error(event: dict[str, Any]) -> None:
    for matchers in hooks(truncate=10).values():
        assert called(matchers, event) == {}
    with pytest.raises(ValueError, match="at least 1"):
        hooks(truncate=0)


@pytest.mark.skipif(program() is None, reason="this wheel of claude-agent-sdk has no program")
def test_the_program_archives_before_its_compaction(home: Path, tmp_path: Path) -> None:
    api = type("OneApi", (Api,), {"requests": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), api)
    Thread(target=server.serve_forever, daemon=True).start()
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    env = {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "HOME": str(tmp_path / "home"),
    }

    async def said(prompt: str, **options: Any) -> None:
        known: dict[str, Any] = {"cwd": tmp_path / "project", "env": env, "hooks": hooks(), "setting_sources": []}
        async for _ in query(prompt=prompt, options=ClaudeAgentOptions(**known, **options)):
            pass

    asyncio.run(said("Bake the marzipan, and never push to release."))
    asyncio.run(said("/compact", continue_conversation=True))
    server.shutdown()
    server.server_close()
    assert [hit.role for hit in archived(home, "marzipan")] == ["user"]


def test_an_event_that_is_no_object_is_no_error(home: Path) -> None:
    for matchers in hooks(truncate=500).values():
        for matcher in matchers:
            assert asyncio.run(matcher.hooks[0](None, None, {"signal": None})) == {}


def test_the_page_runs() -> None:
    names = run_page("claude-agent", options={"max_turns": 3})
    assert set(names["settings"].hooks) == {"PreCompact", "PostToolUse"}
    assert os.environ["TRIMTAB_HOME"]
