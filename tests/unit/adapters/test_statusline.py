"""The status line of Claude Code: the prompt of ``trimtab count`` by the end of a file, and never an error."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import trimtab
from trimtab.adapters.claude_code.statusline import compaction_limit, counter_of, next_prompt, status_line

MODEL = "claude-opus-4-6"
USAGE = {"input_tokens": 3, "cache_read_input_tokens": 21_000, "cache_creation_input_tokens": 450, "output_tokens": 60}


def line(number: int, role: str, content: object, *, follows: int | None = None, **more: Any) -> dict[str, Any]:
    """Return a line of a session; an answer has usage, and its id is that of its number unless ``answer`` names one."""
    answer = {"id": f"m{more.pop('answer', number)}", "model": MODEL, "usage": USAGE} if role == "assistant" else {}
    before = number - 1 if follows is None else follows
    return {
        "parentUuid": f"u{before}" if before >= 0 else None,
        "uuid": f"u{number}",
        "type": role,
        "isSidechain": False,
        "message": {"role": role, "content": content, **answer, **more.pop("message", {})},
        **more,
    }


def call(ref: str) -> dict[str, Any]:
    """Return a block with a call."""
    return {"type": "tool_use", "id": ref, "name": "Bash", "input": {"command": f"make {ref}"}}


def result(ref: str, text: str = "all is well " * 40) -> list[dict[str, Any]]:
    """Return the blocks of a message with one result."""
    return [{"type": "tool_result", "tool_use_id": ref, "content": text}]


OPENING = [line(0, "user", "Repair the parser."), line(1, "assistant", [{"type": "text", "text": "I look at it."}])]
ENDS: dict[str, list[dict[str, Any]]] = {
    "an answer": [],
    "a request": [line(2, "user", "And now the lexer, please.")],
    "two requests": [line(2, "user", "And now the lexer."), line(3, "user", "Without a new dependency.")],
    "parallel calls": [
        line(2, "user", "Run both."),
        line(3, "assistant", [{"type": "text", "text": "Both."}]),
        line(4, "assistant", [call("a")], answer=3),
        line(5, "assistant", [call("b")], answer=3),
        line(6, "user", result("a"), follows=4),
        line(7, "user", result("b", "no"), follows=5),
    ],
    "results between the calls of an answer": [
        line(2, "user", "Run both."),
        line(3, "assistant", [{"type": "text", "text": "Both."}, call("a")]),
        line(4, "user", result("a")),
        line(5, "assistant", [call("b")], answer=3),
        line(6, "user", result("b", "no")),
    ],
    "hidden thinking": [
        line(2, "user", "Think."),
        line(3, "assistant", [{"type": "thinking", "thinking": "", "signature": "c2ln" * 90}]),
        line(4, "assistant", [call("a")], answer=3, message={"usage": {**USAGE, "output_tokens": 900}}),
        line(5, "user", result("a")),
    ],
    "lines that are never sent": [
        line(2, "user", "Go on."),
        {"type": "progress", "uuid": "u3", "parentUuid": "u2", "data": {"type": "hook_progress"}},
        line(4, "assistant", [{"type": "text", "text": "overloaded"}], follows=3, isApiErrorMessage=True),
        line(5, "user", "a task of a helper", isSidechain=True, follows=-1),
        {"type": "file-history-snapshot", "snapshot": {}},
    ],
    "a rewind": [
        line(2, "user", "Write it in Fortran, " * 30),
        line(3, "assistant", [{"type": "text", "text": "IMPLICIT NONE " * 50}]),
        line(4, "user", "Rather in C.", follows=1),
    ],
    "a chain that breaks": [line(2, "user", "Go on.", follows=40)],
    "an answer of several calls": [
        line(2, "user", "Search."),
        line(
            3,
            "assistant",
            [{"type": "text", "text": "Found."}],
            message={"usage": {**USAGE, "iterations": [{**USAGE, "type": "message"}, {**USAGE, "type": "message"}]}},
        ),
    ],
}
"""Lines behind the opening."""

COMPACTED = [
    *OPENING,
    line(2, "user", "word " * 2_000),
    line(3, "assistant", [{"type": "text", "text": "read"}], message={"usage": {**USAGE, "input_tokens": 150_000}}),
    {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "u4",
        "parentUuid": None,
        "logicalParentUuid": "u3",
        "compactMetadata": {"trigger": "manual", "preTokens": 171_453},
    },
    line(5, "user", "This session is continued. " * 20, isCompactSummary=True, isVisibleInTranscriptOnly=True),
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of data and a user of its own."""
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CLAUDE_CODE_AUTO_COMPACT_WINDOW", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("DISABLE_AUTO_COMPACT", "DISABLE_COMPACT"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def written(folder: Path, lines: list[dict[str, Any]], end: str = "") -> str:
    """Write a session; return its path."""
    path = folder / "session.jsonl"
    path.write_text("".join(f"{json.dumps(each, separators=(',', ':'))}\n" for each in lines) + end)
    return str(path)


def counted(path: str) -> int:
    """Return the next prompt of the whole session, as ``trimtab count`` says it."""
    found = trimtab.read(path)
    cm = trimtab.Compactor(found.model or MODEL, provider=found.provider)
    cm.learn(found)
    return cm.size(found.messages).prompt


def state(path: str, **more: Any) -> dict[str, Any]:
    """Return what Claude Code says of a session."""
    window = {"context_window_size": 200_000, "used_percentage": 99}
    return {"transcript_path": path, "model": {"id": MODEL}, "context_window": window, **more}


def run(given: bytes, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the command as Claude Code does."""
    env = {**os.environ, "PYTHONPATH": str(Path(trimtab.__file__).parents[1])}
    program = [sys.executable, "-m", "trimtab", "statusline"]
    return subprocess.run(program, input=given, check=False, timeout=60, env=env, **options)


@pytest.mark.parametrize("end", ENDS)
def test_the_end_of_a_session_has_the_prompt_of_the_whole(end: str, tmp_path: Path) -> None:
    path = written(tmp_path, [*OPENING, *ENDS[end]])
    made = next_prompt(path, MODEL)
    assert (made.tokens, made.is_least) == (counted(path), False)


def test_every_beginning_of_a_session_has_the_prompt_of_the_whole(tmp_path: Path) -> None:
    lines = [*OPENING, *ENDS["parallel calls"][:3]]
    rest = [line(5, "user", result("a")), line(6, "assistant", [{"type": "text", "text": "Done."}])]
    for length in (2, 3, 4, 7):
        path = written(tmp_path, [*lines, *rest][:length])
        assert next_prompt(path, MODEL).tokens == counted(path), length


def test_a_line_that_is_half_written_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, [*OPENING, *ENDS["a request"]])
    whole = next_prompt(path, MODEL).tokens
    assert next_prompt(written(tmp_path, [*OPENING, *ENDS["a request"]], '{"type":"user","mess'), "").tokens == whole


def test_after_a_compaction_the_prompt_is_at_least_the_summary_and_what_was_always_sent(tmp_path: Path) -> None:
    path = written(tmp_path, COMPACTED)
    counter = trimtab.Counter.for_model(MODEL)
    summary = int(counter.per_message([COMPACTED[-1]["message"]], provider="anthropic").sum())
    first = int(counter.per_message([OPENING[0]["message"]], provider="anthropic").sum())
    made = next_prompt(path, MODEL)
    assert (made.tokens, made.is_least) == (21_453 - first + summary, True)
    assert status_line(state(path)).startswith(f"next prompt at least {made.tokens:,} tokens · ")
    cut = written(tmp_path, COMPACTED[1:])  # its first call had messages that the file lacks
    assert next_prompt(cut, MODEL).tokens == summary
    answered = written(tmp_path, [*COMPACTED, line(6, "assistant", [{"type": "text", "text": "I go on."}])])
    assert next_prompt(answered, MODEL).is_least is False


def test_a_compaction_that_kept_messages_counts_these_too(tmp_path: Path) -> None:
    kept = {"headUuid": "u2", "tailUuid": "u3", "anchorUuid": "u5"}
    boundary = {**COMPACTED[4], "compactMetadata": {"trigger": "auto", "preservedSegment": kept}}
    path = written(tmp_path, [*COMPACTED[:4], boundary, {**COMPACTED[5], "parentUuid": "u4"}])
    counter = trimtab.Counter.for_model(MODEL)
    first = int(counter.per_message([OPENING[0]["message"]], provider="anthropic").sum())
    made = next_prompt(path, MODEL)
    assert len(trimtab.read(path).messages) == 3
    assert (made.tokens, made.is_least) == (21_453 - first + counted(path), True)
    listed = {"anchorUuid": "u4", "uuids": ["u0", "u1"]}  # in front of the summary
    boundary["compactMetadata"] = {"trigger": "manual", "preservedMessages": listed}
    path = written(tmp_path, [*COMPACTED[:4], boundary, {**COMPACTED[5], "parentUuid": "u4"}])
    assert len(trimtab.read(path).messages) == 3
    made = next_prompt(path, MODEL)
    assert (made.tokens, made.is_least) == (counted(path), False)


def test_what_was_typed_while_the_agent_worked_counts(tmp_path: Path) -> None:
    typed = {"type": "queued_command", "prompt": "leave the tests alone, whatever they say"}
    last = line(len(OPENING), "user", "")
    del last["message"]
    before = counted(written(tmp_path, OPENING))
    path = written(tmp_path, [*OPENING, {**last, "type": "attachment", "attachment": typed}])
    assert next_prompt(path, MODEL).tokens == counted(path) > before


def test_the_line_has_the_prompt_its_share_and_what_is_left(tmp_path: Path) -> None:
    path = written(tmp_path, OPENING)
    tokens = counted(path)
    share = f"next prompt {tokens:,} tokens · {100 * tokens / 200_000:.1f} % of 200,000"
    assert status_line(state(path)) == f"{share} · {167_000 - tokens:,} until compaction"
    small = state(path, context_window={"context_window_size": 50_000})
    assert status_line(small).endswith("% of 50,000 · compaction is due")
    for wide in ({"model": {"id": f"{MODEL}[1m]"}}, {"exceeds_200k_tokens": True}):
        assert "% of 1,000,000" in status_line({**state(path), "context_window": None, **wide})
    assert status_line(state(str(tmp_path / "none.jsonl"))) == "next prompt: no message yet"
    assert len(status_line(state(path))) <= 80


def test_settings_and_variables_lower_the_place_of_the_compaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = {"workspace": {"project_dir": str(tmp_path / "work")}}
    user, project = tmp_path / ".claude/settings.json", tmp_path / "work/.claude/settings.json"
    for path in (user, project):
        path.parent.mkdir(parents=True)
    assert compaction_limit(event, 1_000_000) == 967_000
    user.write_text('{"autoCompactWindow": 400000}')
    assert compaction_limit(event, 1_000_000) == 367_000
    project.write_text('{"autoCompactWindow": 300000}')
    assert compaction_limit(event, 1_000_000) == 267_000
    assert compaction_limit(event, 200_000) == 167_000
    monkeypatch.setenv("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "250000")
    assert compaction_limit(event, 1_000_000) == 217_000
    monkeypatch.setenv("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "50")
    assert compaction_limit(event, 1_000_000) == 115_000
    user.write_text('{"autoCompactEnabled": false}')
    assert compaction_limit(event, 1_000_000) == 0
    user.write_text("{}")
    monkeypatch.setenv("DISABLE_AUTO_COMPACT", "1")
    assert compaction_limit(event, 1_000_000) == 0


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"key": 1, "fields": {}}'])
def test_a_damaged_file_of_a_grammar_changes_nothing(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, [*OPENING, *ENDS["a request"]])
    tokens = next_prompt(path, MODEL).tokens
    [kept] = (tmp_path / "data/claude-code/grammars").iterdir()
    whole = kept.read_text()
    kept.write_text(text)
    assert next_prompt(path, MODEL).tokens == tokens
    assert kept.read_text() == whole
    changed = json.loads(whole)
    changed["fields"]["user"] = 900
    kept.write_text(json.dumps(changed))
    assert next_prompt(path, MODEL).tokens == tokens


def test_a_folder_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "file"))
    counter, grammar = counter_of(MODEL)
    assert counter.count("hello") == 1
    assert grammar.encoding == "claude-old"


def test_whatever_comes_the_line_is_short_and_the_exit_code_0(tmp_path: Path) -> None:
    path = written(tmp_path, OPENING)
    whole = json.dumps(state(path)).encode()
    rng = random.Random(45)
    given = [b"", b"null", b"[]", b"\xff\xfe", b'{"transcript_path": 5}', b'{"transcript_path": "/"}']
    for _ in range(6):
        at = rng.randrange(len(whole))
        given.append(whole[:at] + bytes([rng.randrange(256)]) + whole[at + rng.randrange(3) :])
    for raw in given:
        done = run(raw, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b""), raw
        assert done.stdout.startswith(b"next prompt")
        assert done.stdout.count(b"\n") == 1
        assert len(done.stdout) <= 90


def test_the_line_is_utf_8_in_any_locale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = json.dumps(state(written(tmp_path, OPENING))).encode()
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    told = run(given, capture_output=True).stdout.decode()
    assert " · " in told
    assert told.endswith(" until compaction\n")


def test_a_closed_pipe_and_a_full_disk_are_silent(tmp_path: Path) -> None:
    given = json.dumps(state(written(tmp_path, OPENING))).encode()
    read, written_to = os.pipe()
    os.close(read)
    done = run(given, stdout=written_to, stderr=subprocess.PIPE)
    os.close(written_to)
    assert (done.returncode, done.stderr) == (0, b"")
    if Path("/dev/full").exists():
        with Path("/dev/full").open("wb") as full:
            done = run(given, stdout=full, stderr=subprocess.PIPE)
        assert (done.returncode, done.stderr) == (0, b"")


def test_hostile_files_print_a_line_alone(tmp_path: Path) -> None:
    rng = random.Random(46)
    whole = Path(written(tmp_path, [*OPENING, *ENDS["parallel calls"]])).read_bytes()
    path = tmp_path / "hostile.jsonl"
    for _ in range(60):
        at = rng.randrange(len(whole))
        path.write_bytes(whole[:at] + bytes([rng.randrange(256)]) + whole[at + rng.randrange(40) :])
        try:
            said = status_line(state(str(path)))
        except (trimtab.MessageError, ValueError):
            continue
        assert said.startswith("next prompt ")
        assert said.isprintable()
