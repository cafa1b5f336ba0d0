"""The offline summary says that a command succeeded or failed only where a message or an exit code says so."""

from __future__ import annotations

import json

import pytest

import trimtab
from oracles.offline.parts import INTERRUPTED
from support.offline_cases import ask, sections
from support.runs import FAILED, MODELS, SUCCEEDED, ran, said
from support.transcripts import PROVIDERS
from trimtab.messages.envelope import enveloped
from trimtab.summarize.offline import offline
from trimtab.validity.repair import entries

MAKE = "make: *** [Makefile:2: all] Error 1"
TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nValueError: no number'
SHAPES = {
    "traceback": (TRACEBACK, "ValueError: no number"),
    "Error 1": (f"cc -c a.c\n{MAKE}", MAKE),
    "npm": ("npm ERR! code ELIFECYCLE\nnpm ERR! errno 1", "npm ERR! code ELIFECYCLE"),
    "not found": ("bash: line 1: frobnicate: command not found", "bash: line 1: frobnicate: command not found"),
}


def ending(messages, **more):
    """Return the summary's statement on the only command, without the command."""
    [line] = sections(offline(ask(messages, 1_000, **more)))["Commands"]
    return line.removeprefix("`make all`").removeprefix(": ")


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_compaction_quotes_an_error_and_does_not_say_ok(provider, shape):
    output, seen = SHAPES[shape]
    talk = [
        said(provider, role, f"{role} {n}: " + "words about the matter " * 60)
        for n in range(20)
        for role in ("assistant", "user")
    ]
    cm = trimtab.Compactor(MODELS[provider], provider=provider, policy="sven")
    done = cm.compact(
        [said(provider, "user", "Build it."), *ran(provider, "make all", output), *talk], target_share=0.3
    )
    [text] = [json.dumps(message, ensure_ascii=False) for message in done.messages if enveloped(message)]
    assert f"`make all`: output shows: {seen}" in text
    assert "`make all`: ok" not in text


@pytest.mark.parametrize("provider", SUCCEEDED)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_field_of_success_beside_an_error_is_no_ok(provider, shape):
    output, seen = SHAPES[shape]
    assert ending(ran(provider, "make all", output, **SUCCEEDED[provider])) == f"output shows: {seen}"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_output_without_errors_has_no_verdict(provider):
    assert ending(ran(provider, "make all", "cc -c a.c")) == ""
    assert ending(ran(provider, "make all", "12 passed in 0.3s")) == "output shows: 12 passed in 0.3s"


@pytest.mark.parametrize("provider", SUCCEEDED)
def test_a_field_of_the_message_is_a_verdict(provider):
    assert ending(ran(provider, "make all", "cc -c a.c", **SUCCEEDED[provider])) == "ok"
    assert ending(ran(provider, "make all", "3 passed in 1s", **SUCCEEDED[provider])) == "ok; 3 passed in 1s"
    assert ending(ran(provider, "make all", "cc -c a.c", **FAILED[provider])) == "failed"


def test_an_error_in_place_of_an_output_is_a_verdict_of_gemini():
    call, result = ran("gemini", "make all", "")
    result["parts"][0]["functionResponse"]["response"] = {"error": "the tool did not answer"}
    assert ending([call, result]) == "failed"
    result["parts"][0]["functionResponse"]["response"] = {"output": "done", "error": None}
    assert ending([call, result]) == ""


def test_a_completed_item_is_no_success():
    assert ending(ran("openai_responses", "make all", "done", status="completed")) == ""


CODES = {
    "Claude Code": "Exit code {}\ncc -c a.c",
    "Codex": "Chunk ID: 4f\nWall time: 0.1 seconds\nProcess exited with code {}\nOutput:\ncc -c a.c",
    "Codex, older": "Exit code: {}\nWall time: 0.1 seconds\nOutput:\ncc -c a.c",
    "Codex, fields": '{{"output": "cc -c a.c", "metadata": {{"exit_code": {}, "duration_seconds": 0.1}}}}',
    "Gemini CLI": "Command: make\nOutput: cc\nError: (none)\nExit Code: {}\nSignal: 0\nProcess Group PGID: 27431",
    "Copilot CLI": "cc -c a.c\n<shellId: 31 completed with exit code {}>",
    "OpenHands": "cc -c a.c\n[The command completed with exit code {}.]\n[Current working directory: /app]",
    "mini-swe-agent": "<returncode>{}</returncode>\n<output>\ncc -c a.c\n</output>",
}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("agent", CODES)
def test_an_exit_code_is_a_verdict(provider, agent):
    assert ending(ran(provider, "make all", CODES[agent].format(0))) == "ok"
    assert ending(ran(provider, "make all", CODES[agent].format(2))) == "exit 2"
    assert ending(ran(provider, "make all", CODES[agent].format(-9))) == "exit -9"


@pytest.mark.parametrize("agent", [name for name in CODES if "cc -c a.c" in CODES[name]])
def test_an_exit_code_of_zero_beside_an_error_is_told_as_both(agent):
    for output, seen in (SHAPES["Error 1"], SHAPES["npm"]):
        text = CODES[agent].format(0).replace("cc -c a.c", output.replace("\n", "\\n" if "fields" in agent else "\n"))
        assert ending(ran("openai_chat", "make all", text)) == f"exit 0; output shows: {seen}"


def test_exit_codes_of_a_hosted_shell_are_read():
    outputs = [{"stdout": "cc", "stderr": "", "outcome": {"type": "exit", "exit_code": code}} for code in (0, 3)]
    call = {"type": "shell_call", "call_id": "c", "action": {"commands": ["make all"]}}
    for found, told in ((outputs[:1], "ok"), (outputs, "exit 3")):
        assert ending([call, {"type": "shell_call_output", "call_id": "c", "output": found}]) == told


@pytest.mark.parametrize(
    "output",
    [
        "the last build had exit code 1 and was repeated",
        "set -e\nexit 1",
        "error_code: 3, exit code unknown",
        '{"exit_code": "1"}',
        '{"a": {"b": {"c": {"d": {"e": {"exit_code": 1}}}}}}',
        "cc\n" * 400 + "Exit code 1\n" + "cc\n" * 400,
    ],
)
def test_words_about_an_exit_code_are_no_exit_code(output):
    assert "exit" not in ending(ran("openai_chat", "make all", output))


def test_a_session_that_was_interrupted_has_no_result():
    assert entries.INTERRUPTED == INTERRUPTED
    told = sections(offline(ask(ran("anthropic", "make all", INTERRUPTED, is_error=True))))
    assert told["Commands"] == ["`make all`: no result"]
    assert "Errors" not in told


@pytest.mark.parametrize(("fields", "after"), [(FAILED["anthropic"], SUCCEEDED["anthropic"]), ({"is_error": True}, {})])
def test_a_failure_is_resolved_only_by_a_call_that_is_known_to_have_succeeded(fields, after):
    zone = ran("anthropic", "make all", MAKE, **fields)
    later = ran("anthropic", "make all", "cc -c a.c", 2, **after)
    known = bool(after)
    first = offline(ask(zone, 1_000))
    for told in (
        offline(ask(zone, 1_000, after=tuple(later))),
        offline(ask([], 1_000, after=tuple(later), previous=first)),
    ):
        [command], [error] = sections(told)["Commands"], sections(told)["Errors"]
        assert command == "`make all`: failed" + (", later ok" if known else ", a later call shows no failure")
        assert ("(resolved)" in error) is known


def test_a_line_without_a_verdict_is_updated_and_not_repeated():
    first = offline(ask(ran("anthropic", "make all", "cc -c a.c"), 1_000))
    again = offline(ask(ran("anthropic", "make all", MAKE, 2), 1_000, previous=first))
    assert sections(again)["Commands"] == [f"`make all`: output shows: {MAKE}"]
    last = offline(ask(ran("anthropic", "make all", "cc", 3, is_error=False), 1_000, previous=again))
    assert sections(last)["Commands"] == ["`make all`: ok"]


def test_a_script_is_told_with_its_output_and_without_a_verdict():
    script = "python3 - <<'EOF'\nprint(6 * 7)\nEOF"
    for fields, told in (({}, "output shows: 42"), ({"is_error": False}, "ok; 42"), ({"is_error": True}, "failed; 42")):
        [line] = sections(offline(ask(ran("anthropic", script, "42", **fields))))["Commands"]
        assert line == f"`python3 -` print(6 * 7): {told}"
