"""`trimtab hook plugin` writes a plugin of Claude Code; the real program validates it in tests/adapters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import trimtab
from trimtab.cli import main


def written(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_files_of_a_plugin_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "plugin"
    assert main(["hook", "plugin", "-o", str(folder), "--truncate", "4000", "--tools", "Bash,Grep"]) == 0
    assert written(folder) == {
        *(".claude-plugin/plugin.json", ".claude-plugin/marketplace.json", ".mcp.json", "README.md"),
        *("hooks/hooks.json", "skills/recall/SKILL.md"),
    }
    manifest = read(folder / ".claude-plugin" / "plugin.json")
    assert (manifest["name"], manifest["version"]) == ("trimtab", trimtab.__version__)
    hooks = read(folder / "hooks" / "hooks.json")["hooks"]
    assert set(hooks) == {"PreCompact", "SessionStart", "PostToolUse"}
    assert hooks["PostToolUse"][0]["matcher"] == "Bash|Grep"
    said = capsys.readouterr().out
    assert f"/plugin marketplace add {folder}" in said
    assert "/plugin install trimtab@trimtab" in said
    text = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file())
    assert sys.executable not in text  # nothing of this machine: others install it


def test_its_commands_exit_with_0_with_and_without_the_program(tmp_path: Path) -> None:
    main(["hook", "plugin", "-o", str(tmp_path)])
    commands = [
        each["command"]
        for groups in read(tmp_path / "hooks" / "hooks.json")["hooks"].values()
        for group in groups
        for each in group["hooks"]
    ]
    program = tmp_path / "bin" / "trimtab"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$@"\nexit 3\n')
    program.chmod(0o755)
    for path, said in (("/usr/bin:/bin", ""), (f"{program.parent}:/usr/bin:/bin", "hook ")):
        for command in commands:
            done = subprocess.run(
                ["/bin/sh", "-c", command], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
            )
            assert (done.returncode, done.stderr) == (0, "")
            assert done.stdout.startswith(said)
            assert bool(done.stdout) == bool(said)


def test_a_folder_of_somebody_else_is_refused_and_ones_own_is_written_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    assert main(["hook", "plugin", "-o", str(own), "--truncate", "4000"]) == 0
    assert main(["hook", "plugin", "-o", str(own)]) == 0
    assert set(read(own / "hooks" / "hooks.json")["hooks"]) == {"PreCompact", "SessionStart"}
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    assert main(["hook", "plugin", "-o", str(other)]) != 0
    assert "no folder of this plugin" in capsys.readouterr().err
    assert written(other) == {"notes.txt"}
    assert main(["hook", "plugin", "-o", str(other / "notes.txt")]) != 0
