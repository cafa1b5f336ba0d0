"""The example session can be recorded again, is what it says, and the demo shows it."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import trimtab
from support.checker import check
from support.models import CLAUDE_BOUND

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
SESSION = trimtab.formats.EXAMPLE
MODEL = CLAUDE_BOUND


def files(*folders):
    """Return the bytes of each file in the folders, by path."""
    return {path: path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}


def start(name, *arguments, **environment):
    env = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | {key: str(value) for key, value in environment.items()}
    command = [sys.executable, EXAMPLES / name, *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def blocks(messages):
    return [block for message in messages if isinstance(message["content"], list) for block in message["content"]]


@pytest.fixture(scope="module")
def session():
    return trimtab.read(SESSION)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A run of the demo: exit code, output, errors, and the files that came of it."""
    folder = tmp_path_factory.mktemp("demo")
    before = files(EXAMPLES, folder)
    run = start("demo.py", TMPDIR=folder, HOME=folder, TRIMTAB_HOME=folder, XDG_DATA_HOME=folder)
    out, error = run.communicate(timeout=60)
    after = files(EXAMPLES, folder)
    return run.returncode, out, error, {path for path in before | after if before.get(path) != after.get(path)}


def test_the_session_reads_without_a_skipped_line_or_a_repair(session):
    assert (session.format, session.provider, session.model) == ("claude_code", "anthropic", MODEL)
    assert (session.skipped, session.repaired, session.usage) == ([], [], [])


def test_the_session_is_one_that_the_provider_takes(session):
    assert trimtab.validate(session.messages, provider="anthropic") == []
    assert check(session.messages, "anthropic") == []


def test_the_session_is_long_enough_to_need_compaction(session):
    assert 120 <= len(session.messages) <= 180
    assert 60_000 < trimtab.count(session.messages, model=MODEL) < 130_000
    assert SESSION.stat().st_size < 600_000


def test_the_session_has_what_a_session_has(session):
    calls = Counter(block["name"] for block in blocks(session.messages) if block["type"] == "tool_use")
    assert calls.keys() == {"Read", "Grep", "Glob", "Bash", "Edit", "Write"}
    assert any(block.get("is_error") for block in blocks(session.messages))
    parallel = [message for message in session.messages if message["role"] == "assistant" and calls_in(message) > 1]
    assert len(parallel) > 5


def calls_in(message):
    return sum(block["type"] == "tool_use" for block in blocks([message]))


@pytest.mark.parametrize("word", ["/work", "/root", "/tmp", "pythonhosted", "crates", "shared/", "usage"])
def test_the_session_tells_nothing_of_the_machine_it_was_recorded_on(word):
    lines = SESSION.read_text(encoding="utf-8").splitlines()
    if word == "usage":
        assert not any("usage" in json.loads(line)["message"] for line in lines)
    else:
        assert [line for line in lines if word in line] == []


@pytest.mark.slow
def test_recording_twice_gives_the_same_bytes(tmp_path):
    targets = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    runs = [start("record.py", "--out", target) for target in targets]
    assert [(run.communicate(timeout=300)[1], run.returncode) for run in runs] == [("", 0)] * 2
    one, two = (target.read_bytes() for target in targets)
    assert one == two
    recorded, committed = trimtab.read(one), trimtab.read(SESSION)
    assert len(recorded.messages) == len(committed.messages)
    assert [calls_in(message) for message in recorded.messages] == [calls_in(m) for m in committed.messages]


def test_the_demo_finds_everything_right(demo):
    code, out, error, _ = demo
    assert (code, error) == (0, "")
    assert out.count("   ok     ") == 7
    assert "FAILED    " not in out


@pytest.mark.parametrize(
    "words",
    [
        "calls",
        "results",
        "input budget",
        "plan by default",
        "before",
        "after",
        "pruned",
        "summarized",
        "kept",
        "Requests",
        "the provider would accept it",
        "each still with its result",
        "are the same objects",
        "byte for byte",
        "trimtab plan trimtab-demo/session.jsonl --target-share 0.5",
        "trimtab compact trimtab-demo/session.jsonl -o smaller.json --target-share 0.5",
        "trimtab restore REF",
    ],
)
def test_the_demo_says_what_a_reader_looks_for(demo, words):
    assert words in demo[1]


def test_the_demo_is_plain_text_of_eighty_columns_where_nobody_watches(demo):
    assert "\x1b" not in demo[1]
    assert max(map(len, demo[1].splitlines())) <= 80


def test_the_demo_leaves_no_file_behind(demo):
    assert demo[3] == set()


def test_the_demo_fails_where_a_check_does(tmp_path):
    demo = tmp_path / "demo.py"
    demo.write_text((EXAMPLES / "demo.py").read_text().replace('"TT-318"', '"TT-319"'))
    run = subprocess.run([sys.executable, demo], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (1, "")
    assert "FAILED what it needs is still there" in run.stdout
