"""What a terminal is sent: wrapped by words, coloured where it has colours, and never controlled by a text."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import on_terminal, run
from support.transcripts import transcript
from trimtab.cli import VERBS
from trimtab.cli.terminal import cells, crop, table, wrap

TALK = " ".join(f"u:60 c{n} r{n}:200 a:90" for n in range(20))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    Path("s.json").write_text(json.dumps(transcript(TALK, provider="anthropic")))
    return tmp_path


def test_a_line_breaks_between_words_and_stands_under_its_text() -> None:
    line = "  archive     the original list can be restored from the archive"
    assert wrap(line, 40) == ["  archive     the original list can be", " " * 14 + "restored from the archive"]
    assert wrap(line, None) == wrap(line, 200) == [line]
    assert "".join(wrap(line, 30)).replace(" ", "") == line.replace(" ", "")


def test_a_long_word_and_a_command_stay_whole() -> None:
    path = "/" + "x" * 90
    assert wrap(f"written to {path} and kept", 40) == ["written to", f"  {path}", "  and kept"]
    command = "trimtab restore 3776d12dd005ecd3bb4f --session='a b' --archive sqlite:////tmp/x.db"
    assert wrap(f"  undo        {command}", 40)[-1].strip().endswith(command)


def test_wide_and_combining_characters_are_measured_in_cells() -> None:
    assert (cells("abc"), cells("日本"), cells("e\u0301")) == (3, 4, 1)
    assert crop("日本語の文", 6) == "日本…"


def test_a_table_fits_the_width_and_aligns_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [["a file with a very long name.jsonl", 1_234_567, "ok"], ["b", 12, ""]]
    monkeypatch.setenv("COLUMNS", "40")
    lines = table(["file", "tokens", "state"], rows, sys.stdout)
    assert all(cells(line) <= 40 for line in lines)
    assert lines[1].endswith("…  1,234,567  ok")
    assert lines[2].endswith("       12")
    monkeypatch.delenv("COLUMNS")
    assert "very long name.jsonl" in table(["file", "tokens", "state"], rows, sys.stdout)[1]


def test_columns_sets_the_width(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run("count", "s.json").stdout
    monkeypatch.setenv("COLUMNS", "60")
    told = run("count", "s.json").stdout
    assert max(map(len, told.splitlines())) <= 60 < max(map(len, whole.splitlines()))
    assert told.split() == whole.split()


def test_colour_is_for_terminals_unless_the_environment_says_otherwise(home: Path) -> None:
    words = ("count", "missing.json")
    assert "\x1b[31m" in on_terminal(*words)
    assert "\x1b" not in on_terminal(*words, NO_COLOR="1")
    assert "\x1b" not in on_terminal(*words, TERM="dumb")
    assert "\x1b" not in run(*words).stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORCE_COLOR", "1")
        assert "\x1b[31m" in run(*words).stderr
        patch.setenv("NO_COLOR", "1")
        assert "\x1b" not in run(*words).stderr


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_is_short_lines_with_a_usage_and_an_example(home: Path, verb: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        told = run(verb, "--help").stdout
    first, *lines = told.splitlines()
    assert first.startswith(f"usage: trimtab {verb} ")
    assert first.endswith("[options]")
    assert "codex" not in "\n".join(lines[:6])
    examples = told[told.index("examples:\n") :].splitlines()[1:]
    assert any("trimtab" in line and verb in line for line in examples)
    assert all(len(line) <= 80 for line in lines)


def test_doctor_shows_versions_places_and_extras(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("doctor", "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert report["vocabularies"] == ["o200k_base", "cl100k_base", "claude-old", "claude-new"]
    assert report["archive_bytes"] is None
    assert report["threads"] >= 1
    assert f"\nthreads       {report['threads']} (" in run("doctor").stdout
    assert report["extras"]["yaml"] is True
    assert not (home / "home").exists()
    assert "can be written" in run("doctor").stdout
    monkeypatch.setenv("TRIMTAB_HOME", "/dev/null/x")
    done = run("doctor")
    assert done.returncode == 1
    assert "name another place with --archive or TRIMTAB_HOME" in done.stdout
    server = ("doctor", "--archive", "postgresql://me:secret-word@127.0.0.1:1/db")
    assert "secret" not in run(*server).stdout
    assert "can be written" not in run(*server).stdout  # nobody has asked it
    assert json.loads(run(*server, "--json").stdout)["archive"] == "postgresql://[REDACTED]@127.0.0.1:1/db"


def test_doctor_sees_that_sqlite_cannot_write_beside_the_archive(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "home").mkdir()
    sqlite3.connect(home / "home" / "archive.db").close()
    monkeypatch.setattr("os.access", lambda place, _: Path(place).is_file())
    done = run("doctor")
    assert done.returncode == 1
    assert f"nothing can be created in {home / 'home'}, where SQLite writes beside archive.db" in done.stdout


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_pipe_of_any_encoding_gets_every_answer_and_files_are_utf_8(home: Path, encoding: str) -> None:
    messages = transcript(TALK, provider="anthropic")
    Path("s.json").write_text(json.dumps([{"role": "user", "content": "Grüße, 世界"}, *messages[1:]]))

    def piped(*words: str) -> bytes:
        command = [sys.executable, "-m", "trimtab", *words]
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        return subprocess.run(command, env=environment, capture_output=True, check=True).stdout

    shown = piped("show", "s.json", "--by", "message", "--top", "99").decode(encoding)
    assert ("Grüße, 世界" if encoding == "utf-8" else "\\u4e16\\u754c") in shown
    assert ("#" * 16 if encoding != "utf-8" else "█" * 16) in shown
    assert "Grüße, 世界" in piped("report", "s.json", "-o", "-").decode()


def test_a_version_is_told_without_loading_a_verb() -> None:
    code = "import sys; from trimtab.cli import main; main(['--version']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert not {f"trimtab.cli.{verb}" for verb in VERBS} & loaded
    assert not {"json", "dataclasses", "pathlib", "numpy", "trimtab.errors"} & loaded
