"""The verb audit: what it prints, its exit codes, and that no text of a session controls a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support import audited
from support.command import run
from support.format_cases import LINES
from trimtab.audit import items
from trimtab.cli import audit

DOCS = Path(__file__).resolve().parents[2] / "docs" / "command-line.md"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    Path("session.jsonl").write_text(audited.text())
    return tmp_path


def report(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("audit", *words, "--json").stdout)
    return found


def test_audit_prints_what_the_docs_show(home: Path) -> None:
    section = DOCS.read_text(encoding="utf-8").split("## What the agent's own compactions lost\n\n```text\n")[1]
    told = run("audit", "session.jsonl")
    assert told.stdout == section.split("```")[0]
    assert (told.returncode, told.stderr) == (0, "")
    assert all(len(line) <= 80 for line in told.stdout.splitlines())
    assert not (home / "home").exists()


def test_audit_names_each_lost_item_with_its_message_and_where_it_was_said_again(home: Path) -> None:
    (one,) = report("session.jsonl")["compactions"]
    (rule,) = [item for item in one["lost"] if item["kind"] == "rules"]
    assert rule == {"kind": "rules", "message": 0, "text": audited.RULE, "again": 54}
    assert one["kept"]["requests"] == {"kept": 2, "of": 2}
    assert one["reread"] == [{"tool": "Read", "file": "src/quarry/parse.py", "before": 3, "message": 52}]
    assert one["ours"]["lost"] == []
    assert one["ours"]["tokens_after"] <= one["tokens_after"] < one["tokens_before"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 0),
        (("--fail-on", "rules"), 1),
        (("--fail-on", "requests"), 0),
        (("--fail-on", "requests", "--fail-on", "tasks"), 1),
        (("--fail-on", "everything"), 64),
        (("--fail-on", "rules", "--json"), 1),
        (("--whole",), 64),
    ],
)
def test_audit_exits_with_1_only_for_the_kinds_that_are_named(home: Path, words: tuple[str, ...], code: int) -> None:
    assert run("audit", "session.jsonl", *words).returncode == code


def test_audit_of_a_session_without_a_compaction_says_so(home: Path) -> None:
    Path("plain.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in LINES["claude_code"](3)))
    told = run("audit", "plain.jsonl", "--fail-on", "rules")
    assert (told.returncode, told.stdout) == (0, "no compaction is in this file\n")
    assert report("plain.jsonl")["compactions"] == []


def test_audit_of_several_files_is_a_table(home: Path) -> None:
    Path("plain.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in LINES["claude_code"](3)))
    told = run("audit", "session.jsonl", "plain.jsonl", "missing.jsonl", "--fail-on", "rules")
    head, first, second, third, total = told.stdout.splitlines()
    assert head.split() == ["file", "messages", "compactions", "lost", "rules", "requests", "tasks", "files"]
    assert first.split() == ["session.jsonl", "56", "1", *"1 of 1 0 of 2 1 of 1 0 of 1".split()]
    assert second.split() == ["plain.jsonl", "9", "0"]
    assert third.endswith("no such file")
    assert total == "3 files, 65 messages"
    assert told.returncode == 65
    assert run("audit", "session.jsonl", "plain.jsonl", "--fail-on", "rules").returncode == 1
    (one, other) = report("session.jsonl", "plain.jsonl")["files"]
    assert (one["file"], len(one["compactions"]), other["compactions"]) == ("session.jsonl", 1, [])


def test_audit_prints_hostile_text_as_escapes(home: Path) -> None:
    more = "Always keep the \x1b[31mred\x07 lantern \u202e under\nthe table."
    Path("bad.jsonl").write_text(audited.text(more))
    told = run("audit", "bad.jsonl").stdout
    assert "Always keep the" in told
    assert not {"\x1b", "\x07", "\u202e"} & set(told)


def test_audit_prints_the_top_lost_items_and_counts_the_others(home: Path) -> None:
    told = run("audit", "session.jsonl", "--top", "1").stdout.splitlines()
    assert [line for line in told if line.startswith("  rule ")]
    assert "  and 3 more; --top 4 prints all" in told


def test_the_kinds_of_the_verb_are_those_of_the_items() -> None:
    assert audit.KINDS == items.KINDS


def test_compact_prints_what_it_kept_and_what_is_gone(home: Path) -> None:
    told = run("compact", "session.jsonl", "--whole", "--target-tokens", "900", "-o", "o.json").stdout
    assert "  kept        2 of 2 rules, " in told
    assert "\n  gone " not in told
    words = ("compact", "session.jsonl", "--whole", "--policy", "drop", "--target-tokens", "500", "-o", "p.json")
    dropped = run(*words).stdout
    assert "  gone        request #" in dropped
    assert all(len(line) <= 80 for line in dropped.splitlines() if line.startswith(("  kept", "  gone")))
    found = json.loads(run(*words[:-1], "q.json", "--json").stdout)
    assert set(found["kept"]) == {"rules", "requests", "tasks", "files"}
    assert {item["kind"] for item in found["lost"]} >= {"requests"}


@pytest.mark.shared
def test_audit_reads_the_recorded_compactions_of_two_agents(shared: Path, home: Path) -> None:
    names = {
        "claude-code/entireio+cli/2026-01-28-0276a600-2f22-4d2b-844c-3feb9c5aa108.jsonl": False,
        "codex/EntityProcess+agentv/019f03e0-321f-7eb2-83cc-b54ecd71be23.jsonl": True,
    }
    for name, sealed in names.items():
        found = report(str(shared / "data" / "transcripts" / name))["compactions"]
        assert [one["sealed"] for one in found] == [sealed, sealed]
        assert all(0 < one["tokens_after"] < one["tokens_before"] for one in found)
        assert all(one["ours"]["tokens_after"] < one["tokens_before"] for one in found)
