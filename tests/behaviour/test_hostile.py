"""Escape sequences, bidirectional marks and control characters reach the terminal by no way."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from support.command import commands, on_terminal, run
from support.format_cases import LINES
from support.transcripts import transcript
from trimtab.cli import parser
from trimtab.cli import progress as _progress

EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202eevil\u2066\x7f\r\x08\x00x"
NAME = EVIL.replace("\x00", "")
"""The same as an argument or the name of a file, which have no NUL."""

TALK = " ".join(f"u:60 c{n} r{n}:200 a:90" for n in range(20))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    messages = transcript(TALK, provider="anthropic")
    messages[0] = {"role": "user", "content": f"first request {EVIL}"}
    messages[1]["content"][0] |= {"name": EVIL, "input": {"path": EVIL, EVIL: EVIL}}
    messages[2]["content"][0]["content"] = f"found {EVIL} " * 300
    request = {"model": f"claude-{EVIL}", "system": EVIL, "messages": messages}
    for name in ("s.json", NAME):
        Path(name).write_text(json.dumps(request))
    broken = [*messages[:2], {"role": EVIL, "content": EVIL}]
    Path("broken.json").write_text(json.dumps(broken))
    lines = [*LINES["claude_code"](30)]
    Path("claude.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines) + f"{EVIL}\n" + '{"a": \x1b}\n')
    return tmp_path


def harmless(*words: str, code: int | None = None) -> str:
    """Run a command; check what it printed, and return it."""
    done = run(*words)
    for told in (done.stdout, done.stderr):
        bad = {c for c in told if not (c.isprintable() or c in "\n\t")}
        assert not bad, (words, bad)
    assert done.returncode != 2
    assert "bug in trimtab" not in done.stderr, done.stderr
    assert code is None or done.returncode == code, done.stderr
    return done.stdout + done.stderr


SESSIONS = {
    "show": [],
    "count": [],
    "plan": ["--target-share", "0.4"],
    "compact": ["-o", "o.json", "--target-share", "0.4"],
    "validate": [],
    "rescue": [],
}


@pytest.mark.parametrize("verb", SESSIONS)
@pytest.mark.parametrize("file", ["s.json", NAME, "broken.json", "claude.jsonl", f"missing {NAME}"])
@pytest.mark.parametrize("extra", [(), ("--json",), ("--model", NAME), ("--json", "--model", NAME)])
def test_sessions_and_their_names_are_harmless(home: Path, verb: str, file: str, extra: tuple[str, ...]) -> None:
    harmless(verb, file, *SESSIONS[verb], *extra)


def test_messages_as_json_are_harmless(home: Path) -> None:
    assert "first request" in harmless("compact", "s.json", "--target-share", "0.9", code=0)
    assert "first request" in harmless("validate", "s.json", "--repair", code=0)
    ref = json.loads(run("compact", "s.json", "-o", NAME + "o", "--target-share", "0.4", "--json").stdout)["ref"]
    assert "first request" in harmless("restore", ref, code=0)
    assert json.loads(run("restore", ref).stdout)[0]["content"] == f"first request {EVIL}"


@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_the_archive_is_harmless(home: Path, extra: tuple[str, ...]) -> None:
    words = ("--target-share", "0.4", "--pin", NAME, "--session", "talk")
    harmless("compact", NAME, "-o", "o.json", *words, code=0)
    ref = json.loads(run("archive", "list", "--json").stdout)["sessions"][0]["ref"]
    for action in (["list"], ["show", "talk"], ["show", ref], ["search", "found"], ["search", NAME], ["verify"]):
        harmless("archive", *action, *extra)
    harmless("archive", "export", "talk", *extra)
    harmless("archive", "export", "talk", "-o", f"{NAME}.jsonl", *extra)
    harmless("diff", ref, "--session", "talk", *extra, code=0)
    harmless("restore", ref, "--session", "talk", "-o", f"{NAME}.back", *extra, code=0)


@pytest.mark.parametrize("command", [words for words, _ in commands(parser()) if words])
def test_arguments_are_harmless_in_every_command(home: Path, command: str) -> None:
    """Each option of each command with a hostile value, a hostile option, and a hostile argument."""
    (found,) = [each for words, each in commands(parser()) if words == command]
    words = command.split()
    harmless(*words, f"--{NAME}")
    harmless(*words, NAME, NAME, NAME, f"--{NAME}={NAME}")
    for action in found._actions:
        if action.option_strings and action.nargs != 0:
            many = (
                []
                if words[0] in {"hook", "mcp"}
                else ["s.json"] * sum(not each.option_strings and each.nargs is None for each in found._actions)
            )
            harmless(*words, *many, f"{action.option_strings[-1]}={NAME}")


def test_an_unknown_verb_and_an_unknown_place_are_harmless(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "invalid choice" in harmless(NAME, code=64)
    harmless("--" + NAME, code=64)
    monkeypatch.setenv("TRIMTAB_HOME", str(home / NAME))
    for words in (["doctor"], ["archive", "list"], ["compact", "s.json", "-o", "o.json", "--target-share", "0.4"]):
        harmless(*words)
    monkeypatch.setenv("TRIMTAB_HOME", f"/dev/null/{NAME}")
    harmless("doctor", code=1)
    harmless("compact", "s.json", "--target-share", "0.4", code=74)


def test_a_name_with_line_ends_makes_no_lines_of_its_own(home: Path) -> None:
    told = harmless("count", "x\ntrimtab: all is well\n", code=65)
    assert "\ntrimtab: all is well" not in told
    assert len(told.splitlines()) <= 3
    assert "\nall is well" not in harmless("restore", "x\nall is well", code=74)


def test_progress_is_harmless() -> None:
    line = _progress.Progress(f"reading {NAME}\n", 10, step=NAME)._line(3)
    assert all(c.isprintable() for c in line)


def test_progress_says_how_fast_and_how_long(tmp_path: Path) -> None:
    progress = _progress.Progress("counting", 40_000_000)
    [*progress.track([b"x" * 10_000_000])]
    assert progress._line(2.0) == "counting: 10 of 40 MB, 5.0 MB/s, 6 s left (2 s)"
    assert _progress.Progress("compacting", step="planning")._line(3) == "compacting: planning (3 s)"
    file = tmp_path / "file"
    file.write_bytes(b"x" * 3_000_000)
    with file.open("rb", buffering=0) as source:
        source.read(1_000_000)
        progress = _progress.Progress("reading").follow(source.fileno())
        assert progress._line(1.0) == "reading: 1 of 3 MB, 1.0 MB/s, 2 s left (1 s)"
        source.seek(0)
        assert progress._line(2.0).startswith("reading: 1 of 3 MB, 0.5 MB/s")
    assert progress._line(3.0).startswith("reading: 1 of 3 MB")


def test_truncate_shows_escapes_on_a_terminal_and_passes_them_in_a_pipe(home: Path) -> None:
    Path("log").write_text(f"{EVIL}\nb\n")
    assert "\x1b[2J" not in on_terminal("truncate", "log", "--lines", "5")
    assert "\\x1b[2J" in on_terminal("truncate", "log", "--lines", "5")
    assert run("truncate", "log", "--lines", "5").stdout.startswith("\x1b[2J")


@pytest.mark.parametrize("verb", ["truncate", "restore"])
def test_an_error_is_at_most_three_lines_and_says_what_to_do(home: Path, verb: str) -> None:
    for words in (
        [verb],
        [verb, "missing", "--tokens", "3"],
        ["count", "missing"],
        ["count", "."],
        ["compact", "s.json", "-o", "nowhere/o.json", "--target-share", "0.4"],
        ["compact", "s.json", "-o", ".", "--target-share", "0.4"],
        ["compact", "s.json", "--policy", "bold"],
        ["compact", "s.json", "--summarizer", "cmd:false", "--no-fallback", "--target-share", "0.4"],
        ["restore", "nothing"],
        ["diff", "nothing"],
        ["archive", "show", "nothing"],
        ["archive", "list", "--archive", "ftp://x"],
        ["compact", "s.json", "--archive", "sqlite:////dev/null/x.db", "--target-share", "0.4"],
        ["validate", "s.json", "s.json", "--repair"],
        ["hook", "explode"],
        ["mcp", "--explode"],
    ):
        done = run(*words)
        lines = [line for line in done.stderr.splitlines() if not line.startswith("no model is named")]
        assert done.returncode not in (0, 1, 2), words
        assert 2 <= len(lines) <= 3, (words, lines)
        assert lines[0].startswith("trimtab"), (words, lines)
        assert all(line.startswith("  ") for line in lines[1:]), (words, lines)


EXTRAS = {
    "mcp": ("mcp", ["mcp"]),
    "anthropic": ("anthropic", ["compact", "s.json", "--summarizer", "anthropic", "--target-share", "0.4"]),
    "openai": ("openai", ["compact", "s.json", "--summarizer", "openai", "--target-share", "0.4"]),
    "postgres": ("psycopg", ["archive", "list", "--archive", "postgresql://localhost/x"]),
}


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_missing_extra_names_the_command_that_installs_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, extra: str
) -> None:
    package, words = EXTRAS[extra]
    for name in [package, *(loaded for loaded in sys.modules if loaded.startswith((f"{package}.", f"{package}_")))]:
        monkeypatch.setitem(sys.modules, name, None)
    for ours in ("trimtab.archive.postgres", "trimtab.adapters.recall_server"):
        monkeypatch.delitem(sys.modules, ours, raising=False)
    done = run(*words)
    assert done.returncode in (64, 74)
    assert re.search(rf"pip install ['\"]trimtab\[{extra}\]", done.stderr), done.stderr
    assert len([line for line in done.stderr.splitlines() if "no model is named" not in line]) <= 3


@pytest.mark.parametrize("verb", ["hook", "mcp"])
def test_a_verb_that_leaves_by_itself_does_not_exit_with_2(
    home: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    def leave(options: object) -> int:
        raise SystemExit(2)

    monkeypatch.setattr(f"trimtab.cli.{verb}.run", leave)
    assert run(verb, *(["install"] if verb == "hook" else [])).returncode == 64
