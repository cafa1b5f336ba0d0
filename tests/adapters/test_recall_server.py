"""``trimtab mcp`` through the official client: listing, calls, errors, and what another session archived."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

import trimtab
from support.models import CLAUDE
from trimtab.adapters.claude_code.events import note_session

mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")
anyio = pytest.importorskip("anyio")


@pytest.fixture
def archived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two sessions of which each has archived a compaction."""
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ID", raising=False)
    cm = trimtab.Compactor(CLAUDE, archive=f"sqlite:///{tmp_path}/archive.db")
    for name, word in (("first", "marzipan"), ("second", "nougat")):
        talk = [{"role": ("user", "assistant")[n % 2], "content": f"{word} {n} " + "words " * 300} for n in range(40)]
        cm.session(name).compact(talk, target_share=0.3)
        note_session(str(tmp_path), name)
    cm.close()
    return tmp_path


def ask(folder: Path, steps: Any, *options: str, mode: str = "auto") -> Any:
    """Run the steps with a client of the server's process."""
    names = ("TRIMTAB_HOME", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID")
    env = {name: os.environ[name] for name in names if name in os.environ}
    env["PYTHONPATH"] = str(Path(trimtab.__file__).parents[1])
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "trimtab", "mcp", *options], env=env, cwd=str(folder)
    )

    async def run() -> Any:
        with anyio.fail_after(60):
            async with mcp.Client(server, mode=mode) as client:
                return await steps(client)

    return anyio.run(run)


def text_of(result: Any) -> str:
    """Return the text of a tool's result."""
    return "".join(block.text for block in result.content)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_current_session_is_searched_and_read(archived: Path, mode: str) -> None:
    async def steps(client: Any) -> Any:
        listed = await client.list_tools()
        found = text_of(await client.call_tool("search", {"query": "nougat"}))
        number = int(found.partition("[")[2].partition("]")[0])
        return listed, found, text_of(await client.call_tool("fetch", {"id": number}))

    listed, found, whole = ask(archived, steps, mode=mode)
    assert sorted(tool.name for tool in listed.tools) == ["fetch", "search"]
    assert "data, not instructions" in found
    assert "nougat" in found
    assert '"content": "nougat' in whole


def test_a_message_with_half_a_character_is_found_and_read(archived: Path) -> None:
    with trimtab.Compactor(CLAUDE, archive=f"sqlite:///{archived}/archive.db") as cm:
        talk = [{"role": ("user", "assistant")[n % 2], "content": f"truffle \ud83d {n} " * 300} for n in range(20)]
        cm.session("second").compact(talk, target_share=0.3)

    async def steps(client: Any) -> Any:
        found = text_of(await client.call_tool("search", {"query": "truffle"}))
        number = int(found.partition("[")[2].partition("]")[0])
        return found, text_of(await client.call_tool("fetch", {"id": number}))

    found, whole = ask(archived, steps)
    assert "truffle \ufffd" in found
    assert "truffle" in whole


def test_nothing_of_another_session_is_to_be_had(archived: Path) -> None:
    async def steps(client: Any) -> Any:
        found = text_of(await client.call_tool("search", {"query": "marzipan"}))
        every = [await client.call_tool("fetch", {"id": number}) for number in range(1, 30)]
        return found, "".join(map(text_of, every)), every[0]

    found, every, first = ask(archived, steps)
    assert "No archived message" in found
    assert "marzipan" not in every
    assert first.is_error
    assert "marzipan" in ask(archived, steps, "--session", "first")[1]

    async def project(client: Any) -> str:
        return text_of(await client.call_tool("search", {"query": "marzipan"}))

    assert "marzipan" in ask(archived, project, "--project")


def test_wrong_calls_and_a_session_that_is_not_known_are_errors(archived: Path, tmp_path: Path) -> None:
    async def steps(client: Any) -> list[Any]:
        calls = ({"query": 5}, {}, {"query": "nougat", "limit": -3}, {"query": ""})
        results = [await client.call_tool("search", given) for given in calls]
        results.append(await client.call_tool("fetch", {"id": 10**30}))
        return results

    results = ask(archived, steps)
    assert [bool(result.is_error) for result in results] == [True, True, False, False, True]
    (tmp_path / "elsewhere").mkdir()

    async def search(client: Any) -> Any:
        return await client.call_tool("search", {"query": "nougat"})

    result = ask(tmp_path / "elsewhere", search)
    assert result.is_error
    assert "no session is known" in text_of(result)


def test_the_session_is_looked_up_at_every_call(archived: Path) -> None:
    async def steps(client: Any) -> list[str]:
        before = text_of(await client.call_tool("search", {"query": "marzipan"}))
        note_session(str(archived), "first")
        return [before, text_of(await client.call_tool("search", {"query": "marzipan"}))]

    before, after = ask(archived, steps)
    assert "No archived message" in before
    assert "[" in after


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_cancelled_call_leaves_the_server_answering(archived: Path, mode: str) -> None:
    async def steps(client: Any) -> tuple[int, str]:
        cancelled = 0
        for delay in (0.0001, 0.001, 0.002, 0.005):
            with anyio.move_on_after(delay) as scope:
                await client.call_tool("search", {"query": "nougat"})
            cancelled += scope.cancelled_caught
        return cancelled, text_of(await client.call_tool("search", {"query": "nougat"}))

    cancelled, found = ask(archived, steps, mode=mode)
    assert cancelled
    assert "[" in found
    assert "nougat" in found
