"""No verb writes onto its input, its archive or an agent's session, unless it is forced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import trimtab
from support.command import commands, run
from support.format_cases import LINES, WHOLES
from support.transcripts import transcript
from trimtab.cli import parser
from trimtab.formats import LOGS

TALK = " ".join(f"u:60 c{n} r{n}:200 a:90" for n in range(20))
ARCHIVE = "home/archive.db"

WRITERS = {
    "compact": (["compact", "s.json", "--target-share", "0.4"], "s.json"),
    "plan": (["plan", "s.json", "--target-share", "0.4", "--summary"], "s.json"),
    "apply": (["apply", "s.json", "--plan", "PLAN"], "s.json"),
    "restore": (["restore", "REF"], ARCHIVE),
    "report": (["report", "s.json"], "s.json"),
    "archive export": (["archive", "export", "SESSION"], ARCHIVE),
}
"""Each command with ``-o FILE``: its words, and the file that it reads."""

FOLDER_WRITERS = {"rescue", "hook plugin"}
"""Commands whose ``-o`` is a folder; the files get names of their own."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.chdir(tmp_path)
    Path("s.json").write_text(json.dumps(transcript(TALK, provider="anthropic")))
    return tmp_path


def named(words: list[str]) -> list[str]:
    """The words, with the ref and the session of a compaction that is made for them."""
    if "PLAN" in words:
        Path("plan.json").write_text(run("plan", "s.json", "--json", "--target-share", "0.4").stdout)
        return [word.replace("PLAN", "plan.json") for word in words]
    if not {"REF", "SESSION"} & set(words):
        return words
    done = run("compact", "s.json", "-o", "o.json", "--target-share", "0.5", "--session", "talk", "--json")
    values = {"REF": [json.loads(done.stdout)["ref"], "--session", "talk"], "SESSION": ["talk"]}
    return [word for each in words for word in values.get(each, [each])]


def test_every_command_with_an_output_is_tested_here() -> None:
    found = {words for words, each in commands(parser()) if "--output" in each._option_string_actions}
    assert found == {*WRITERS, *FOLDER_WRITERS}


@pytest.mark.parametrize("name", ["same", "dot", "soft", "hard", "folder", "absolute"])
@pytest.mark.parametrize("writer", WRITERS)
def test_no_verb_replaces_its_input_under_any_name(home: Path, writer: str, name: str) -> None:
    words, read = WRITERS[writer]
    words = named(words)
    Path("soft.json").symlink_to(read)
    os.link(read, "hard.json")
    Path("folder").symlink_to(home, target_is_directory=True)
    names = {"same": read, "dot": f"./{read}", "soft": "soft.json", "hard": "hard.json", "folder": f"folder/{read}"}
    output = names.get(name, str(home / read))
    before = Path(read).read_bytes()
    archived = run("archive", "list", "--json").stdout
    done = run(*words, "-o", output)
    assert (done.returncode, done.stdout) == (64, "")
    advice = "name another output with -o, or replace it with --force"
    assert done.stderr.splitlines()[-2:] == [f"trimtab: {output} is the input", f"  {advice}"]
    assert Path(read).read_bytes() == before
    assert run("archive", "list", "--json").stdout == archived  # nothing was archived
    if read != ARCHIVE:
        assert run(*words, "-o", output, "--force").returncode == 0
        assert Path(output).read_bytes() != before


@pytest.mark.parametrize("agent", LOGS)
@pytest.mark.parametrize("writer", WRITERS)
def test_no_verb_replaces_a_session_of_an_agent(home: Path, writer: str, agent: str) -> None:
    lines = [WHOLES[agent](2)] if agent in WHOLES else [*LINES[agent](2)]
    Path("agent").write_text("\n".join(map(json.dumps, lines)))
    before = Path("agent").read_bytes()
    words = named(WRITERS[writer][0])
    done = run(*words, "-o", "agent")
    assert (done.returncode, done.stdout) == (64, "")
    assert "agent is an agent's session" in done.stderr
    assert Path("agent").read_bytes() == before
    assert run(*words, "-o", "agent", "--force").returncode == 0
    assert Path("agent").read_bytes() != before


@pytest.mark.parametrize("place", ["me/.claude/projects/-w/x.jsonl", "me/.codex/sessions/x.jsonl", "moved/x.jsonl"])
@pytest.mark.parametrize("writer", WRITERS)
def test_no_verb_replaces_a_file_in_an_agents_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch, writer: str, place: str
) -> None:
    """Also one that holds no session yet: the agent may be about to write it."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "moved")
    Path(place).parent.mkdir(parents=True)
    Path(place).write_text("")
    Path("soft.jsonl").symlink_to(place)
    words = named(WRITERS[writer][0])
    for output in (place, "soft.jsonl"):
        done = run(*words, "-o", output)
        assert (done.returncode, done.stdout) == (64, "")
        assert "is an agent's session" in done.stderr
    assert not Path(place).read_bytes()
    Path(place).unlink()
    assert run(*words, "-o", place).returncode == 0  # a new file replaces nothing


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_restore_does_not_replace_a_file_of_its_archive(home: Path, suffix: str) -> None:
    words = named(["restore", "REF"])
    beside = Path(ARCHIVE + suffix)
    beside.touch()
    assert run(*words, "-o", str(beside)).returncode == 64
    assert run(*words).returncode == 0


@pytest.mark.parametrize("output", [ARCHIVE, f"{ARCHIVE}-wal", "linked.db", "copy.db"])
@pytest.mark.parametrize(
    "words", [[*WRITERS["plan"][0]], [*WRITERS["compact"][0], "--archive", "memory"], [*WRITERS["report"][0]]]
)
def test_no_verb_replaces_an_archive_that_it_does_not_read(home: Path, words: list[str], output: str) -> None:
    assert run("compact", "s.json", "-o", "o.json", "--target-share", "0.4").returncode == 0
    archived = Path(ARCHIVE).read_bytes()
    os.link(ARCHIVE, "linked.db")
    Path("copy.db").write_bytes(archived)
    Path(f"{ARCHIVE}-wal").touch()
    words = [*words, "--archive", "sqlite:///other.db"] if words[0] == "report" else words
    run("compact", "s.json", "-o", "o.json", "--target-share", "0.4", "--archive", "sqlite:///other.db")
    before = Path(output).read_bytes()
    done = run(*words, "-o", output)
    assert (done.returncode, done.stdout) == (64, "")
    assert "name another output with -o" in done.stderr
    assert (Path(output).read_bytes(), Path(ARCHIVE).read_bytes()) == (before, archived)


@pytest.mark.parametrize("url", [None, "sqlite:///new.db"])
def test_compact_does_not_write_its_list_where_it_makes_the_archive(home: Path, url: str | None) -> None:
    place = ARCHIVE if url is None else url.removeprefix("sqlite:///")
    done = run(*WRITERS["compact"][0], "-o", f"./{place}", *(() if url is None else ("--archive", url)))
    assert (done.returncode, done.stdout) == (64, "")
    assert f"./{place} is the archive" in done.stderr
    assert not Path(place).exists()


def test_apply_does_not_replace_its_plan(home: Path) -> None:
    words = named(WRITERS["apply"][0])
    done = run(*words, "-o", "plan.json")
    assert done.returncode == 64
    assert "plan.json is the input" in done.stderr


def test_compact_does_not_replace_the_file_that_is_its_stdin(home: Path) -> None:
    command = [sys.executable, "-m", "trimtab", "compact", "-", "-o", "s.json", "--target-share", "0.5"]
    with Path("s.json").open() as file:
        done = subprocess.run(command, stdin=file, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (64, "")
    assert len(trimtab.read("s.json").messages) == 80


@pytest.mark.parametrize(
    "words", ["compact s.json --target-share 0.5", "validate s.json --repair", "truncate s.json --lines 5"]
)
def test_no_verb_appends_to_its_input_by_stdout(home: Path, words: str) -> None:
    before = Path("s.json").read_bytes()
    with Path("s.json").open("a") as file:
        command = [sys.executable, "-m", "trimtab", *words.split()]
        done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 64
    assert "stdout is the input" in done.stderr
    assert Path("s.json").read_bytes() == before


def test_rescue_writes_a_new_file_beside_its_input(home: Path) -> None:
    lines = "".join(f"{json.dumps(line)}\n" for line in LINES["claude_code"](30))
    Path("session.jsonl").write_text(lines)
    for _ in range(2):
        assert run("rescue", "session.jsonl", "--target-share", "0.5").returncode == 0
    assert Path("session.jsonl").read_text() == lines
    assert len([*home.glob("*.jsonl")]) == 3
    assert run("rescue", "session.jsonl", "--target-share", "0.5", "-o", "s.json").returncode == 74
