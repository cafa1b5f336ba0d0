"""A summarizer on the command line: named, pointed somewhere, timed, and refused with what to do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support import command, loopback
from support.checker import check
from support.loopback import DIALECTS, Reply
from support.models import CLAUDE_HAIKU, GPT
from support.transcripts import transcript
from trimtab.summarize.writers import client

TALK = " ".join(f"u:60 c{n} r{n}:200 a:90" for n in range(20))
SUMMARY = "The tests were mended; nothing is open."


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    Path("s.json").write_text(json.dumps(transcript(TALK, provider="anthropic")))


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """A compaction of the session to half its tokens."""
    return command.run("compact", "s.json", "--model", GPT, "--target-share", "0.5", *words)


@pytest.mark.parametrize("kind", DIALECTS)
def test_a_model_writes_and_what_it_cost_is_said(httpserver, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dialect = DIALECTS[kind]
    seen = loopback.serve(httpserver, dialect, [Reply(dialect.body(SUMMARY))])
    monkeypatch.setenv(f"{kind.upper()}_API_KEY", "not-a-key")
    url = httpserver.url_for("" if kind == "anthropic" else "/v1").rstrip("/")
    options = ["--summarizer", kind, "--summarizer-url", url, "--summarizer-model", CLAUDE_HAIKU]
    done = run(*options, "--summarizer-timeout", "50", "-o", "out.json")
    assert done.returncode == 0, done.stderr
    assert f"by {kind}:claude-haiku-4-5" in done.stdout
    assert "billed      1,000 tokens in, 50 out, $0.0013" in done.stdout
    assert seen[0]["model"] == CLAUDE_HAIKU
    smaller = json.loads(Path("out.json").read_text())["messages"]
    assert SUMMARY in smaller[0]["content"]
    assert check(smaller, "anthropic") == []
    report = json.loads(run(*options, "-o", "again.json", "--json").stdout)
    assert report["usage"] == {"calls": 1, "input_tokens": 1000, "output_tokens": 50, "cost": 0.00125} | (
        {} if kind == "anthropic" else {"cache_read_input_tokens": 0}
    )


@pytest.mark.parametrize("kind", DIALECTS)
def test_a_charge_that_the_provider_did_not_tell_is_said_to_be_unknown(
    httpserver, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialect = DIALECTS[kind]
    loopback.serve(httpserver, dialect, [Reply(dialect.body(SUMMARY, usage=False))])
    monkeypatch.setenv(f"{kind.upper()}_API_KEY", "not-a-key")
    url = httpserver.url_for("" if kind == "anthropic" else "/v1").rstrip("/")
    options = ["--summarizer", kind, "--summarizer-url", url, "--summarizer-model", CLAUDE_HAIKU]
    done = run(*options, "--summarizer-timeout", "50", "-o", "out.json")
    assert done.returncode == 0, done.stderr
    assert "billed      unknown: the provider did not report it" in done.stdout
    assert SUMMARY in json.loads(Path("out.json").read_text())["messages"][0]["content"]
    report = json.loads(run(*options, "-o", "again.json", "--json").stdout)
    assert "output_tokens" not in report["usage"]
    assert "cost" not in report["usage"]


def test_a_program_writes() -> None:
    script = Path("sum.py")
    script.write_text("import sys\nprint(len(sys.stdin.read()) > 99, 'and', *sys.argv[1:])")
    done = run("--summarizer", f"cmd:{sys.executable} sum.py 'one word' two", "-o", "out.json")
    assert done.returncode == 0, done.stderr
    assert "True and one word two" in json.loads(Path("out.json").read_text())["messages"][0]["content"]


def test_a_failure_is_noted_and_the_offline_summary_written() -> None:
    done = run("--summarizer", "cmd:false", "-o", "out.json")
    assert done.returncode == 0
    assert "by offline" in done.stdout
    assert "note        cmd:false failed: exit code 1" in done.stdout


def test_without_a_fallback_a_failure_is_exit_code_69_and_nothing_is_written() -> None:
    done = run("--summarizer", "cmd:false", "--no-fallback", "-o", "out.json")
    assert done.returncode == 69
    assert done.stderr.startswith("trimtab: cmd:false failed: exit code 1\n  try again, or leave out --no-fallback")
    assert not Path("out.json").exists()


def test_its_time_is_over_when_it_is() -> None:
    options = ["--summarizer", "cmd:sleep 60", "--summarizer-timeout", "0.5", "--no-fallback"]
    done = run(*options)
    assert done.returncode == 69
    assert "no answer in time; the 0.5 s are over" in done.stderr


@pytest.mark.parametrize("kind", DIALECTS)
def test_a_client_that_is_not_installed_is_a_usage_error_that_says_what_to_type(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = client.find_spec
    monkeypatch.setattr(client, "find_spec", lambda name: None if name == kind else find(name))
    done = run("--summarizer", kind)
    assert done.returncode == 64
    needs = f'the summarizer {kind} needs the package {kind}: pip install "trimtab[{kind}]"'
    assert done.stderr == f"trimtab: {needs}\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--summarizer", "gpt"], "unknown summarizer 'gpt'"),
        (["--summarizer", "cmd:"], "name of a program"),
        (["--summarizer", "cmd:'"], "cannot read the summarizer"),
        (["--summarizer-url", "http://localhost"], "goes with --summarizer anthropic or openai"),
        (["--summarizer", "cmd:x", "--summarizer-model", "m"], "goes with --summarizer anthropic or openai"),
        (["--summarizer-timeout", "5"], "the offline one computes"),
        (["--summarizer", "cmd:x", "--summarizer-timeout", "0"], "is not a time"),
        (["--summarizer", "cmd:x", "--summarizer-timeout", "soon"], "is not a time"),
        (["--no-fallback", "--policy", "boldest"], "unknown policy"),
    ],
)
def test_a_wrong_option_is_a_usage_error(words: list[str], why: str) -> None:
    done = run(*words)
    assert done.returncode == 64
    assert why in done.stderr
    assert "Traceback" not in done.stderr


def test_the_help_stays_on_a_screen() -> None:
    assert len(run("--help").stdout.splitlines()) <= 50
