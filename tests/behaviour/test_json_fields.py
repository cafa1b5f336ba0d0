"""The fields of each command's ``--json`` are those that docs/command-line.md lists."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from support import audited
from support.batch_here import without_engine
from support.command import commands, run
from support.format_cases import LINES
from support.model_folders import make_folder
from support.transcripts import transcript
from trimtab.archive import SqliteArchive
from trimtab.cli import parser

ROOT = Path(__file__).resolve().parents[2]
SECTION = re.search(r"^## JSON\n(.*?)^## ", (ROOT / "docs/command-line.md").read_text(), flags=re.M | re.S)
ROWS = re.findall(r"^\| (`.*?) \| (.*?) \|$", SECTION[1], flags=re.M) if SECTION else []
TALK = " ".join(f"u:60 c{n} r{n}:200 a:90" for n in range(20))

WORDS = {
    "`show`": "show s.json",
    "`show` with `--cache`": "show billed.jsonl --cache",
    "`rebuilt` of `show` with `--cache`": "show billed.jsonl --cache",
    "`count`": "count s.json",
    "`kinds` of `count`": "count s.json",
    "`plan`": "plan s.json --target-share 0.5",
    "`ways` of `plan` with `--explain`": "plan s.json --window 6k --explain --model claude-sonnet-4-6",
    "`compact`": "compact s.json -o o.json --target-share 0.5 --session talk",
    "`apply`": "apply s.json --plan plan.json -o o.json",
    "`validate`": "validate bad.json",
    "`truncate`": "truncate s.json --lines 3",
    "`batch count`": "batch count s.json --model claude-sonnet-4-5 --out counted",
    "`batch validate`": "batch validate s.json --out checked",
    "`batch compact`": "batch compact s.json --model claude-sonnet-4-5 --out smaller",
    "`batch repair`": "batch repair s.json --out repaired",
    "`batch truncate`": "batch truncate s.json --lines 3 --out cut",
    "`restore`": "restore REF --session talk -o back.json",
    "`diff`": "diff REF --session talk",
    "`report`": "report s.json -o report.html",
    "`rescue`": "rescue claude.jsonl --target-share 0.5",
    "`audit`": "audit audited.jsonl",
    "`compactions` of `audit`": "audit audited.jsonl",
    "`archive list`": "archive list",
    "`sessions` of `archive list`": "archive list",
    "`totals` of `archive list`": "archive list",
    "`archive show` of a session": "archive show talk",
    "`archive show` of a ref": "archive show REF",
    "`archive log`": "archive log",
    "`archive search`": "archive search plan",
    "`archive verify`": "archive verify",
    "`archive export`": "archive export talk",
    "`archive prune`": "archive prune --keep 9",
    "`models add`": "models add mine ./own-model",
    "`models show`": "models show ./own-model",
    "`models list`": "models list",
    "`doctor`": "doctor",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the commands name, and an archive of one session."""
    found = tmp_path_factory.mktemp("json")
    (found / "s.json").write_text(json.dumps(transcript(TALK, provider="anthropic")))
    (found / "bad.json").write_text(json.dumps(transcript("u:5 a:5 u:5 r1:5", provider="anthropic")))
    (found / "claude.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in LINES["claude_code"](30)))
    usages = [{"input_tokens": 9, "cache_creation_input_tokens": 9_000}, {"input_tokens": 9_009}]
    lines = [
        {"parentUuid": None, "uuid": "u", "type": "user", "message": {"role": "user", "content": "Go."}},
        *(
            {"uuid": f"a{n}", "parentUuid": f"a{n - 1}" if n else "u", "type": "assistant", "message": {
                "role": "assistant", "id": f"m{n}", "content": [{"type": "text", "text": "On it."}], "usage": usage,
            }} for n, usage in enumerate(usages)
        ),
    ]  # fmt: skip
    (found / "billed.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (found / "audited.jsonl").write_text(audited.text())
    make_folder(found / "own-model")
    return found


def answer(folder: Path, words: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The JSON of a command."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TRIMTAB_HOME", str(folder / "home"))
    without_engine(monkeypatch)
    ref = json.loads(run(*WORDS["`compact`"].split(), "--json").stdout)["ref"]
    if "plan.json" in words:
        Path("plan.json").write_text(run("plan", "s.json", "--json", "--target-share", "0.4").stdout)
    if words == "models list":
        run(*WORDS["`models add`"].split())
    if "verify" in words:
        with SqliteArchive("home/archive.db") as archive:
            archive._db.execute("UPDATE compaction_events SET summary_content = 'y'")
    done = run(*words.replace("REF", ref).split(), "--json")
    if "verify" in words:
        Path("home/archive.db").unlink()
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[0] if "export" in words else done.stdout)


def documented(name: str) -> set[str]:
    """The fields in the row of a command."""
    (fields,) = [fields for names, fields in ROWS if name in names.split(", ")]
    found = set(re.findall(r"`(\w+)`", fields))
    if "the fields of `archive show` of a session" in fields:
        return documented("`archive show` of a session") | {"messages"}
    return found


@pytest.mark.parametrize("name", WORDS)
def test_the_fields_of_json_are_the_documented_ones(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    value = answer(folder, WORDS[name], monkeypatch)
    if " of `" in name and not name.startswith("`archive"):
        value = value[re.findall(r"`(\w+)`", name)[0]]
    assert set(value[0] if isinstance(value, list) else value) == documented(name)


def test_every_command_with_json_has_a_row() -> None:
    verbs = {words for words, each in commands(parser()) if "--json" in each._option_string_actions}
    listed = {re.findall(r"`([\w ]+)`", name)[-1] for names, _ in ROWS for name in names.split(", ")}
    assert listed == verbs
    assert {name for names, _ in ROWS for name in names.split(", ")} == set(WORDS)


def test_several_files_have_a_report_each_and_the_highest_exit_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = run("count", "s.json", "missing.json", "claude.jsonl", "--json")
    assert done.returncode == 65
    first, missing, last = json.loads(done.stdout)["files"]
    assert set(first) == {"file", *documented("`count`")}
    assert missing == {"file": "missing.json", "error": "no such file"}
    alone = json.loads(run("count", "claude.jsonl", "--json").stdout)
    assert last == {"file": "claude.jsonl", **alone}
    for verb in ("show", "plan"):
        done = run(verb, "s.json", "missing.json", "--target-share", "0.5", "--json")
        assert done.returncode == 65
        several = json.loads(done.stdout)["files"]
        assert several[0] == {
            "file": "s.json",
            **json.loads(run(verb, "s.json", "--target-share", "0.5", "--json").stdout),
        }
        assert several[1] == {"file": "missing.json", "error": "no such file"}
        assert len(run(verb, "s.json", "claude.jsonl").stdout.splitlines()) == 4
    done = run("validate", "s.json", "bad.json", "--json")
    assert done.returncode == 1
    assert [len(each["problems"]) for each in json.loads(done.stdout)["files"]] == [0, 1]
    lines = run("count", "s.json", "claude.jsonl", "missing.json").stdout.splitlines()
    assert lines[0].split()[:3] == ["file", "messages", "tokens"]
    assert lines[-1].startswith("3 files, ")
    assert lines[3].endswith("no such file")
    assert "s.json: no model is named" in run("count", "s.json", "claude.jsonl").stderr
    assert run("validate", "s.json", "bad.json", "--repair").returncode == 64
