"""What a newcomer reads: each word is explained where it stands, and each command that is printed works."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from support.claude_session import session
from support.command import run
from support.models import CLAUDE_BOUND
from support.transcripts import transcript
from trimtab import formats

EXAMPLE = str(formats.EXAMPLE)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def blank(folder: Path) -> Path:
    """A Claude Code session with a blank text and an open call, as it leaves them in its log."""
    messages = transcript("u:60 c1 r1:200 a:90 u:9 c2", provider="anthropic")
    messages.insert(1, {"role": "assistant", "content": [{"type": "text", "text": " "}]})
    return session(folder, messages)


@pytest.mark.parametrize("verb", ["show", "count", "plan"])
def test_the_usual_repairs_of_a_log_are_no_note_at_each_command(verb: str, home: Path) -> None:
    done = run(verb, str(blank(home)))
    assert done.returncode == 0
    assert "repaired" not in done.stderr


def test_what_writes_a_list_says_in_a_sentence_what_was_repaired(home: Path) -> None:
    done = run("compact", str(blank(home)), "-o", "out.json", "--target-share", "0.5")
    (note,) = [line for line in done.stderr.splitlines() if "repaired" in line]
    assert re.match(r"repaired \d places? that the provider would refuse: ", note)
    assert "interrupted result #" in note
    assert "blank text #" in note
    assert "repaired messages[" in run("validate", str(blank(home))).stderr


def test_the_repairs_of_a_list_are_told_by_whatever_counts_it(home: Path) -> None:
    Path("s.json").write_text(json.dumps(transcript("u:9 r7:9 a:9", provider="anthropic")))
    for verb in ("show", "count"):
        assert "repaired 1 place that the provider would refuse: orphan result #1" in run(verb, "s.json").stderr


@pytest.mark.parametrize("verb", ["show", "count", "plan"])
def test_the_verdict_says_in_a_sentence_what_the_trigger_is(verb: str) -> None:
    printed = run(verb, EXAMPLE, "--window", "100k", "--model", CLAUDE_BOUND).stdout
    assert "over the trigger of 54,400\n" in printed
    said = "  the trigger, past which a compaction is due, is 80% of the window without 32,000 for the answer\n"
    assert printed.count(said) == 1


def test_an_assumed_window_is_explained_with_the_option_that_names_it(home: Path) -> None:
    Path("s.json").write_text(json.dumps(transcript("u:9 a:9", provider="anthropic")))
    nobody = run("count", "s.json").stdout
    assert nobody.count("assumed: the file names neither a model nor a window; name them with --model and") == 1
    unknown = run("count", "s.json", "--model", "no-such-model").stdout
    assert "assumed: no table is sure of the window of no-such-model; name it with --window" in unknown
    assert "assumed" not in run("count", "s.json", "--model", CLAUDE_BOUND, "--window", "100k").stdout


def rescued(*words: str) -> list[str]:
    """The commands that ``rescue`` prints behind ``resume``."""
    done = run("rescue", *words, "--target-share", "0.4")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split("  resume      ")[1].split("  originals")[0]
    return [line.strip() for line in lines.splitlines()]


def sessions(claude: Path) -> list[str]:
    """The ids of the sessions that Claude Code finds when it is started in the working folder."""
    folder = claude / "projects" / re.sub(r"[^a-zA-Z0-9]", "-", os.fspath(Path.cwd()))
    return [path.stem for path in folder.glob("*.jsonl")]


def test_the_commands_of_rescue_bring_a_session_to_where_claude_looks_for_it(home: Path) -> None:
    elsewhere = home / "a copy"
    elsewhere.mkdir()
    path = session(elsewhere, transcript(" ".join(f"u:60 c{n} r{n}:200 a:90" for n in range(20))))
    *before, last = rescued(str(path))
    assert last.split()[:2] == ["claude", "--resume"]
    assert last.split()[2] not in sessions(home / "claude")
    for command in before:
        subprocess.run(shlex.split(command), check=True)
    assert last.split()[2] in sessions(home / "claude")


def test_rescue_in_the_agents_folder_prints_the_command_alone_in_the_projects_folder(home: Path) -> None:
    folder = home / "claude" / "projects" / re.sub(r"[^a-zA-Z0-9]", "-", os.fspath(home))
    folder.mkdir(parents=True)
    path = session(folder, transcript(" ".join(f"u:60 c{n} r{n}:200 a:90" for n in range(20))))
    path.write_text(path.read_text().replace('"/srv/of/somebody"', json.dumps(os.fspath(home))))
    (command,) = rescued(str(path))
    assert command.split()[2] in sessions(home / "claude")
    (home / "below").mkdir()
    os.chdir(home / "below")
    change, command = rescued(str(path))
    assert change == f"cd {home}"
