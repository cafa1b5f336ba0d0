"""80 columns hold whatever names a session has; commands and paths alone are longer, so that they can be copied."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.command import run
from support.models import CLAUDE_BOUND
from trimtab.cli.terminal import cells, wrap

FILE = f"{'a_session_file_of_sixty_characters'.ljust(55, 'x')}.json"
TOOLS = ("mcp__a_server_with_a_long_name__a_tool_with_a_longer_one".ljust(60, "x"), "名前" * 30)
PATHS = (f"{'a_long_directory/' * 12}a_file_with_a_long_name.py", "漢字" * 60, "\x1b[31m" * 30)
COMMANDS = ("trimtab", "claude", "cp", "cd", "mkdir")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    messages: list[dict] = [{"role": "user", "content": f"{'x' * 60} 漢字 " + "go " * 200}]
    for n in range(30):
        call = {"type": "tool_use", "id": f"t{n}", "name": TOOLS[n % 2], "input": {"file_path": PATHS[n % 3]}}
        text = {"type": "text", "text": f"{'漢字' * 60} ok {n}"}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"line {n}\n" * (100 + 40 * n)}
        messages += [{"role": "assistant", "content": [text, call]}, {"role": "user", "content": [result]}]
    Path(FILE).write_text(json.dumps({"model": CLAUDE_BOUND, "messages": messages}))


def too_wide(*words: str) -> list[str]:
    """The lines of stdout and stderr that are wider than 80 cells and no command, nor the archive's path."""
    done = run(*words)
    lines = [line for line in (*done.stdout.splitlines(), *done.stderr.splitlines()) if "archive.db" not in line]
    assert lines
    return [line for line in lines if cells(line) > 80 and not line.strip().startswith(COMMANDS)]


@pytest.mark.parametrize("window", [(), ("--window", "40k"), ("--target-share", "0.3")])
def test_no_line_about_a_session_with_long_names_is_wider_than_80_columns(window: tuple[str, ...]) -> None:
    verbs = [("show", "--by", by) for by in ("tool", "file", "turn", "message")]
    for verb in (*verbs, ("plan", "--explain"), ("compact", "-o", "out.json")):
        assert not too_wide(verb[0], FILE, *verb[1:], *window)
    assert not too_wide("count", FILE)
    assert not too_wide("validate", FILE)
    for verb in ("show", "count", "plan", "validate"):
        assert not too_wide(verb, FILE, FILE)


def test_no_line_about_the_archive_of_such_a_session_is_wider_than_80_columns() -> None:
    name = "a conversation of sixty characters ".ljust(60, "x")
    made = json.loads(run("compact", FILE, "-o", "o.json", "--target-share", "0.3", "--json", "--session", name).stdout)
    assert not too_wide("archive", "list")
    assert not too_wide("archive", "show", name)
    assert not too_wide("archive", "show", made["ref"], "--session", name)
    assert not too_wide("archive", "search", "line", "--session", name)
    assert not too_wide("archive", "verify")
    assert not too_wide("diff", made["ref"], "--session", name)


def test_a_script_without_spaces_breaks_anywhere() -> None:
    lines = wrap(f"    - {'漢字' * 40} end", 40)
    assert max(map(cells, lines)) <= 40
    assert "".join(line.strip() for line in lines).replace(" ", "") == f"-{'漢字' * 40}end"
