"""The file of a plan that a person edits: whatever stands below its line is the summary, to the character."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import trimtab
from support.command import run
from support.models import CLAUDE
from support.transcripts import transcript
from trimtab.cli.apply import LINE, from_text
from trimtab.messages.envelope import enveloped

TALK = " ".join(f"u:60 c{n} r{n}:200 a:90" for n in range(12))
PLAN = ("plan", "s.json", "--model", CLAUDE, "--target-share", "0.5", "--summary")
APPLY = ("apply", "s.json", "--model", CLAUDE, "--plan", "plan.md", "-o", "out.json")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    Path("s.json").write_text(json.dumps(transcript(TALK, provider="anthropic")))


def written(*words: str) -> str:
    """The file of a plan."""
    done = run(*PLAN, "-o", "plan.md", *words)
    assert done.returncode == 0, done.stderr
    assert "trimtab apply s.json --plan plan.md -o OUT" in done.stdout
    return Path("plan.md").read_text(encoding="utf-8")


def edit(text: str) -> None:
    """Put a text in place of the summary."""
    head = Path("plan.md").read_text(encoding="utf-8").partition(f"{LINE}\n")[0]
    Path("plan.md").write_text(f"{head}{LINE}\n{text}\n", encoding="utf-8", newline="")


def summary() -> str | None:
    """The summary in the written session."""
    messages = json.loads(Path("out.json").read_text())["messages"]
    found = [one.text for message in messages if (one := enveloped(message))]
    return found[0] if len(found) == 1 else None


def test_an_unchanged_file_does_what_compact_does() -> None:
    written()
    applied = run(*APPLY, "--json")
    assert applied.returncode == 0, applied.stderr
    report = json.loads(applied.stdout)
    assert report["summarizer"] == "given"
    done = run("compact", "s.json", "--model", CLAUDE, "--target-share", "0.5", "-o", "direct.json", "--json")
    direct = json.loads(done.stdout)
    assert Path("out.json").read_text() == Path("direct.json").read_text()
    same = {"tokens_before", "tokens_after", "summary", "reason", "ref", "messages_after"}
    assert {name: report[name] for name in same} == {name: direct[name] for name in same}


def test_an_edited_text_is_the_summary_and_is_counted_exactly() -> None:
    before = json.loads(written().partition("```json\n")[2].partition("\n```")[0])["tokens_after"]
    edit("# Mine\n\n- one rule, by hand: never touch `main`\n\n")
    done = run(*APPLY)
    assert done.returncode == 0, done.stderr
    assert "messages, by the given summary" in done.stdout
    assert summary() == "# Mine\n\n- one rule, by hand: never touch `main`\n\n"
    messages = json.loads(Path("out.json").read_text())["messages"]
    after = int(trimtab.Counter.for_model(CLAUDE).per_message(messages).sum())
    assert f" -> {after:,} tokens" in done.stdout
    assert after != before
    assert trimtab.validate(messages, provider="anthropic") == []


@given(st.text(alphabet=st.characters(codec="utf-8")) | st.just(f"a\n{LINE}\nb"))
@example("")
@example("\n")
@example("\r\n")
@example("```json\n{}\n```\n")
def test_all_below_the_line_is_the_text(text: str) -> None:
    head = f"# A plan\n\n```json\n{{}}\n```\n\n{LINE}\n"
    assert from_text(f"{head}{text}\n") == ("{}", text)
    assert from_text(f"\ufeff{head}{text}\n") == ("{}", text)
    if not text.endswith("\n"):
        assert from_text(f"{head}{text}") == ("{}", text)  # an editor left the last newline out
    windows = f"{head}{text}\n".replace("\r", "").replace("\n", "\r\n")
    assert from_text(windows) == ("{}", text.replace("\r", ""))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the given summary cannot be used: the summary is blank"),
        (" \n\t", "the given summary cannot be used: the summary is blank"),
        ("word " * 9_000, "the given summary cannot be used: the summary has 9,"),
    ],
)
def test_a_text_that_cannot_be_used_is_refused(text: str, told: str) -> None:
    written()
    edit(text)
    done = run(*APPLY)
    assert done.returncode == 65
    assert told in done.stderr
    assert not Path("out.json").exists()


def test_the_plan_of_a_changed_session_is_refused() -> None:
    written()
    messages = json.loads(Path("s.json").read_text())
    Path("s.json").write_text(json.dumps([*messages, {"role": "user", "content": "one more"}]))
    done = run(*APPLY)
    assert done.returncode == 65
    assert "the plan was made for another transcript" in done.stderr


def test_a_file_that_lost_a_part_is_refused_with_its_name() -> None:
    whole = written()
    for gone, told in (
        (f"{LINE}\n", "the line in front of the summary"),
        ("```json\n", "the block of JSON with the plan"),
        (whole, "not a plan: it is no JSON"),
    ):
        Path("plan.md").write_text(whole.replace(gone, ""))
        done = run(*APPLY)
        assert done.returncode == 65
        assert told in done.stderr


def test_a_plan_on_stdout_is_applied_from_stdin() -> None:
    made = run(*PLAN, "-o", "-")
    assert made.returncode == 0
    assert made.stdout.startswith("# A plan of trimtab\n")
    done = run(*APPLY[:4], "-o", "out.json", stdin=made.stdout)
    assert done.returncode == 0, done.stderr
    assert summary() == made.stdout.partition(f"{LINE}\n")[2][:-1]


def test_the_configured_summarizer_writes_it() -> None:
    made = written("--summarizer", "cmd:printf 'the tests were mended'")
    assert f"{LINE}\nthe tests were mended\n" in made
    assert " tokens by cmd:printf, at most" in made
    shown = run(*PLAN, "--summarizer", "cmd:printf 'the tests were mended'")
    assert "the summary that the cmd:printf summarizer writes" in shown.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("plan", "s.json", "-o", "plan.md"), "-o goes with --summary"),
        (("plan", "s.json", "--summarizer", "anthropic"), "--summarizer goes with --summary"),
        (("plan", "s.json", "--instructions", "short"), "--instructions goes with --summary"),
        (("plan", "s.json", "s.json", "--summary", "-o", "plan.md"), "-o takes the plan of one file"),
        (("plan", "s.json", "--summary", "-o", "s.json"), "s.json is the input"),
        ((*APPLY, "--summarizer", "anthropic"), "the file of the plan has its summary"),
        ((*APPLY, "--instructions", "short"), "the file of the plan has its summary"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words: tuple[str, ...], told: str) -> None:
    written()
    session = Path("s.json").read_text()
    done = run(*words)
    assert done.returncode == 64
    assert told in done.stderr
    assert Path("s.json").read_text() == session


def test_no_file_is_written_where_no_message_is_summarized() -> None:
    done = run("plan", "s.json", "--summary", "-o", "plan.md", "--target-tokens", "1m")
    assert done.returncode == 65
    assert "there is no summary to edit: already at or under the target" in done.stderr
    assert not Path("plan.md").exists()
