"""The command line: what it prints, where, and its exit code."""

from __future__ import annotations

import errno
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import trimtab
from support.checker import check
from support.command import run
from support.format_cases import LINES
from support.models import CLAUDE_CHEAP, GPT, GPT_SPLIT
from support.transcripts import transcript
from trimtab.formats import EXAMPLE

TALK = " ".join(f"u:60 c{n} r{n}:200 a:90" for n in range(20))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def session(name: str = "s.json", messages: list | None = None) -> str:
    Path(name).write_text(json.dumps(transcript(TALK, provider="anthropic") if messages is None else messages))
    return name


def test_compact_writes_a_valid_smaller_list_and_restore_returns_the_original(home: Path) -> None:
    original = json.loads(Path(session()).read_text())
    done = run("compact", "s.json", "-o", "out.json", "--target-share", "0.5")
    assert done.returncode == 0
    assert done.stderr.count("no model is named: counted for") == 1
    smaller = json.loads(Path("out.json").read_text())
    assert check(smaller, "anthropic") == []
    assert "-> " in done.stdout
    assert str(home / "home" / "archive.db") in done.stdout
    (undo,) = [line.split("undo")[1].split() for line in done.stdout.splitlines() if "undo" in line]
    assert undo[:2] == ["trimtab", "restore"]
    back = run(*undo[1:], "-o", "back.json")
    assert back.returncode == 0
    assert json.loads(Path("back.json").read_text()) == original
    assert run("validate", "out.json").returncode == 0


def test_every_verb_prints_json(home: Path) -> None:
    session()
    count = json.loads(run("count", "s.json", "--json").stdout)
    assert count["messages"] == 80
    assert sum(count["kinds"].values()) == count["tokens"]
    plan = trimtab.Plan.from_json(run("plan", "s.json", "--json", "--target-share", "50%").stdout)
    assert plan.tokens_before == count["tokens"]
    report = json.loads(run("compact", "s.json", "-o", "o.json", "--json", "--target-share", "0.5").stdout)
    assert report["tokens_before"] == count["tokens"]
    assert report["tokens_after"] <= report["target"]
    assert json.loads(run("validate", "o.json", "--json").stdout) == []
    assert json.loads(run("restore", report["ref"], "-o", "b.json", "--json").stdout)["messages"] == 80


def test_data_goes_to_stdout_and_notes_to_stderr(home: Path) -> None:
    piped = run("compact", "-", "--target-share", "0.5", stdin=Path(session()).read_text())
    assert piped.returncode == 0
    assert check(json.loads(piped.stdout), "anthropic") == []
    assert "tokens (-" in piped.stderr


def test_an_output_named_jsonl_has_one_message_per_line(home: Path) -> None:
    assert run("compact", session(), "-o", "o.jsonl", "--target-share", "0.5").returncode == 0
    lines = [json.loads(line) for line in Path("o.jsonl").read_text().splitlines()]
    assert trimtab.read("o.jsonl").messages == lines


def test_compact_writes_a_session_under_its_target_unchanged(home: Path) -> None:
    done = run("compact", session(), "-o", "o.json")
    assert done.returncode == 0
    assert done.stdout.startswith("unchanged: already at or under the target")
    assert json.loads(Path("o.json").read_text()) == json.loads(Path("s.json").read_text())


def test_plan_check_exits_with_1_over_the_trigger(home: Path) -> None:
    session()
    assert run("plan", "s.json", "--check").returncode == 0
    over = run("plan", "s.json", "--check", "--window", "70k", "--model", "claude-3-5-haiku")
    assert over.returncode == 0
    assert run("plan", "s.json", "--check", "--window", "20k", "--model", "claude-3-5-haiku").returncode == 1


def test_pins_and_instructions_reach_the_compaction(home: Path) -> None:
    messages = transcript(TALK, provider="anthropic")
    messages[0] = {"role": "user", "content": "never rename the public API"}
    done = run("compact", session(messages=messages), "-o", "o.json", "--target-share", "0.3", "--pin", "public API")
    assert done.returncode == 0
    assert messages[0] in json.loads(Path("o.json").read_text())


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 64),
        (["explode"], 64),
        (["count"], 64),
        (["count", "s.json", "--colour"], 64),
        (["plan", "s.json", "--target-tokens", "-3"], 64),
        (["plan", "s.json", "--target-share", "150%"], 64),
        (["plan", "s.json", "--target-tokens", "inf"], 64),
        (["plan", "s.json", "--target-tokens", "1e400k"], 64),
        (["plan", "s.json", "--target-share", "1.0"], 64),
        (["plan", "s.json", "--target-tokens", "1.5k"], 0),
        (["plan", "s.json", "--window", "many"], 64),
        (["plan", "s.json", "--policy", "boldest"], 64),
        (["compact", "s.json", "--summarizer", "gpt"], 64),
        (["count", "missing.json"], 65),
        (["count", "."], 65),
        (["restore", "nothing"], 74),
        (["compact", "s.json", "--target-share", "0.5", "--archive", "sqlite:////dev/null/x.db"], 74),
        (["compact", "s.json", "--target-share", "0.5", "--archive", "sqlite:///"], 64),
        (["compact", "s.json", "--target-share", "0.5", "-o", "missing/o.json"], 74),
        (["--help"], 0),
        (["compact", "--help"], 0),
        (["--version"], 0),
    ],
)
def test_exit_codes_are_as_documented_and_never_two(home: Path, words: list[str], code: int) -> None:
    session()
    done = run(*words)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr or code == 0


BAD = {
    "not json": ("hello, world", "no JSON in it"),
    "an empty file": ("", "empty"),
    "an empty list": ("[]", "an empty list"),
    "a number": ("42", "messages"),
    "no role": ('[{"content": "x"}]', "messages[0]"),
    "content a number": ('[{"role": "user", "content": "x"}, {"role": "user", "content": 4}]', "messages[1].content"),
    "an orphan result": (json.dumps(transcript("u:5 a:5 u:5 r1:5", provider="anthropic")), "messages[3].content[0]"),
    "an id twice": (json.dumps(transcript("u:5 c1 r1:5 c1 r1:5 a:5", provider="anthropic")), "messages[3].content[0]"),
    "an orphan tool message": (json.dumps(transcript("u:5 r1:5 a:5", provider="openai_chat")), "messages[1]"),
    "an orphan output": (json.dumps(transcript("u:5 r1:5 a:5", provider="openai_responses")), "messages[1]"),
}


@pytest.mark.parametrize(("text", "words"), BAD.values(), ids=BAD)
def test_bad_input_is_reported_and_nothing_is_written(home: Path, text: str, words: str) -> None:
    Path("bad.json").write_text(text)
    Path("out.json").write_text("before")
    for verb in (["compact", "bad.json", "-o", "out.json", "--target-tokens", "100"], ["plan", "bad.json"]):
        done = run(*verb)
        assert done.returncode == 65, (done.stdout, done.stderr)
        assert words in done.stderr
        assert "hint: " in done.stderr
        assert done.stdout == ""
        piped = run(*(("-" if word == "bad.json" else word) for word in verb), stdin=text)
        assert (piped.returncode, piped.stdout) == (65, "")
    assert Path("out.json").read_text() == "before"
    assert {path.name for path in home.iterdir()} <= {"bad.json", "out.json", "home"}


def test_validate_reports_a_list_without_repairing_it(home: Path) -> None:
    Path("bad.json").write_text(BAD["an orphan result"][0])
    done = run("validate", "bad.json")
    assert done.returncode == 1
    assert "messages[3].content[0] unexpected_tool_use_id: unexpected `tool_use_id` found" in done.stdout
    assert "fix: " in done.stdout
    (problem,) = json.loads(run("validate", "bad.json", "--json").stdout)
    assert (problem["index"], problem["block"], problem["code"]) == (3, 0, "unexpected_tool_use_id")
    running = session("open.json", transcript("u:5 c1", provider="anthropic"))
    assert run("validate", running).returncode == 1
    assert run("validate", running, "--in-flight").returncode == 0
    code = {"type": "server_tool_use", "id": "s", "name": "code_execution", "input": {}}
    call = {"type": "tool_use", "id": "t", "name": "q", "input": {}, "caller": {"type": "code_execution_20250825"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "1"}
    said = {"user": "go", "assistant": [code, call]}
    talk = [{"role": role, "content": content} for role, content in said.items()]
    running = session("code.json", [*talk, {"role": "user", "content": [result]}])
    assert "container_required" in run("validate", running).stdout
    assert run("validate", running, "--container", "container_1").returncode == 0


@pytest.mark.parametrize("damage", ["junk", "pages"])
@pytest.mark.parametrize(
    "words", ["show s.json o.json", "plan o.json --target-share 0.5", "audit a.jsonl", "report o.json -o page.html"]
)
def test_a_verb_that_only_looks_goes_on_without_a_damaged_archive(home: Path, words: str, damage: str) -> None:
    run("demo", ".")
    Path("compacted.jsonl").rename("a.jsonl")
    assert run("compact", session(), "-o", "o.json", "--target-share", "0.3").returncode == 0
    archive = Path("home/archive.db")
    data = archive.read_bytes()
    archive.write_bytes(b"junk\n" if damage == "junk" else data[:100] + b"\xff" * (len(data) - 100))
    damaged = archive.read_bytes()
    done = run(*words.split())
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("without the archive: ") == 1
    assert done.stdout
    assert run("compact", "s.json", "-o", "p.json", "--target-share", "0.5").returncode == 74
    assert archive.read_bytes() == damaged
    if words.startswith("report"):
        assert run(*words.split(), "--archive", f"sqlite:///{archive}").returncode == 74


def test_doctor_reads_the_beginning_of_the_archive_and_checks_its_address(home: Path) -> None:
    archive = Path("home/archive.db")
    archive.parent.mkdir()
    for content, code in ((b"junk\n", 1), (b"", 0), (b"SQLite format 3\0", 0)):
        archive.write_bytes(content)
        assert run("doctor").returncode == code
    archive.write_bytes(b"junk\n")
    assert "is damaged or no archive" in run("doctor").stdout
    assert run("doctor", "--archive", "foo").returncode == 64


def test_restore_creates_no_archive(home: Path) -> None:
    assert run("restore", "abc", "--archive", f"sqlite:///{home / 'new.db'}").returncode == 74
    assert not (home / "new.db").exists()


def test_count_assumes_a_model_by_provider(home: Path) -> None:
    name = session(messages=transcript("s:5 u:60 c1 r1:60 a:5", provider="openai_chat"))
    assert json.loads(run("count", name, "--json").stdout)["model"] == GPT
    assert "counted for gpt-5.5" in run("count", name).stderr


def test_output_escapes_control_characters(home: Path) -> None:
    evil = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "\x1b[2Jx", "content": "x"}]}]
    done = run("validate", session(messages=evil))
    assert "\x1b" not in done.stdout
    assert "\\x1b[2J" in done.stdout


def test_a_closed_pipe_is_no_error(home: Path) -> None:
    session(messages=transcript(TALK, provider="anthropic"))
    trimtab = f"{sys.executable} -m trimtab compact s.json --target-share 0.9 2>err"
    command = f"{trimtab} | head -c 10 >/dev/null; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "0"
    assert "Traceback" not in Path("err").read_text()
    assert "BrokenPipe" not in Path("err").read_text()


@pytest.mark.parametrize("command", ["validate bad.json", "validate bad.json bad.json --json", "plan s.json --check"])
def test_a_reader_that_leaves_does_not_change_the_answer(home: Path, command: str) -> None:
    session(messages=transcript(" ".join(f"u:60 c{n} r{n}:200 a:90" for n in range(500)), provider="anthropic"))
    message = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "y"}]}
    session("bad.json", [message] * 2_000)
    given = " --window 20k --target-tokens 5k --top 9999" if "plan" in command else ""
    line = f"{shlex.quote(sys.executable)} -m trimtab {command}{given} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "1", done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("count s.json >&-", 0),
        ("count s.json <&- >&- 2>&-", 0),
        ("compact s.json -o o.json --target-share 0.5 >&-", 0),
        ("count missing.json 2>&-", 65),
        ("count - <&-", 65),
        ("hook pre-compact >&-", 0),
        ("hook pre-compact <&-", 0),
        ("statusline >&-", 0),
        ("statusline <&- 2>&-", 0),
    ],
)
def test_a_closed_stream_is_none_that_a_command_uses(home: Path, command: str, code: int) -> None:
    """Neither as a stream that is None, nor by a file that got its number."""
    session()
    done = subprocess.run(
        ["sh", "-c", f"exec {shlex.quote(sys.executable)} -m trimtab {command}"],
        input="{}",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    if "2>&-" in command:
        assert not done.stderr
        assert "missing.json" not in done.stdout


def test_an_interrupt_exits_with_130_and_writes_nothing(home: Path) -> None:
    code = (
        "import os, signal, sys, trimtab.cli.compact as c\n"
        "from trimtab.cli import main\n"
        "c.write = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.exit(main(['compact', 's.json', '-o', 'o.json', '--target-share', '0.5']))\n"
    )
    session()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert not Path("o.json").exists()
    assert signal.SIGINT == 2


def test_a_command_loads_its_own_verb_and_counting_no_numpy(home: Path) -> None:
    code = (
        "import sys; from trimtab.cli import main; main(['count', 's.json', '--json'])\n"
        "verbs = {f'trimtab.cli.{verb}' for verb in main.__globals__['VERBS']}\n"
        "print(*(verbs | {'numpy'}) & set(sys.modules))"
    )
    session()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "trimtab.cli.count"


def test_counting_loads_nothing_that_plans_stores_or_rebuilds(home: Path) -> None:
    code = (
        "import sys; from trimtab.cli import main; main(['count', 's.json', '--json'])\n"
        "print(*sorted(name for name in sys.modules if name.startswith('trimtab.')), file=sys.stderr)\n"
        "print(*{'hashlib', 'pickle', 'platform', 'statistics', 'tempfile', 'uuid'} & set(sys.modules))"
    )
    session()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("trimtab.") for name in done.stderr.splitlines()[-1].split()}
    parts = ("archive.archive", "archive.values", "archive.redact", "compaction.flow", "compaction.request")
    assert not loaded & {*parts, "compaction.apply", "compaction.summary", "session.shrink", "session.overflow"}
    assert not any(name.startswith(("archive.sql", "summarize.writers.client")) for name in loaded)
    assert not done.stdout.splitlines()[-1]


@pytest.mark.parametrize("words", [["--version"], ["hook", "session-start"], ["hook", "post-tool-use"]])
def test_a_command_that_an_agent_waits_for_loads_nothing_slow(words: list[str], home: Path) -> None:
    event = json.dumps({"session_id": "s", "source": "compact", "cwd": str(home), "tool_name": "Bash"})
    code = (
        "import sys; before = set(sys.modules); from trimtab.cli import main\n"
        f"assert main({words}) == 0\n"
        "slow = {'typing', 'shutil', 'hashlib', 'dataclasses', 'pathlib', 'subprocess', 'logging', 'importlib.util'}\n"
        "print('slow:', *slow & (set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], input=event, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "slow:"
    assert not done.stderr


def test_a_failed_write_keeps_the_existing_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trimtab.cli import files as _files

    Path("o.json").write_text("before")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        _files.write("o.json", "after")
    assert Path("o.json").read_text() == "before"
    assert [path.name for path in home.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_full_disk_is_named_with_the_output(home: Path, monkeypatch: pytest.MonkeyPatch, fault: int) -> None:
    from trimtab.cli import files as _files

    def fail(_: int) -> None:
        raise OSError(fault, os.strerror(fault))

    session()
    with monkeypatch.context() as patch:
        patch.setattr(_files.os, "fsync", fail)
        done = run("plan", "s.json", "--target-share", "0.3", "--summary", "-o", "p.md")
    assert done.returncode == 74
    assert done.stderr.splitlines()[-2:] == [
        f"trimtab: p.md: {os.strerror(fault).lower()}",
        "  check the output: its place, its mode, and the space that is left there",
    ]
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "trimtab", "count", "s.json"]
        told = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert told.returncode == 74
    assert "trimtab: no space left on device\n  check the output" in told.stderr


def test_demo_on_a_full_disk_leaves_no_part_of_a_session(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trimtab.cli import files as _files

    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(_files.os, "fsync", fail)
        assert run("demo").returncode == 74
    assert not [*Path("trimtab-demo").iterdir()]
    assert run("demo").returncode == run("demo").returncode == 0
    assert Path("trimtab-demo/session.jsonl").read_bytes() == EXAMPLE.read_bytes()


def test_a_pipe_whose_reader_has_gone_is_an_error_of_the_output(home: Path) -> None:
    large = [{"role": role, "content": f"{n} {'word ' * 4_000}"} for n in range(20) for role in ("user", "assistant")]
    done = run("compact", session(messages=large), "-o", "o.json", "--target-share", "0.3", "--session", "talk")
    assert done.returncode == 0, done.stderr
    (ref,) = [each["ref"] for each in json.loads(run("archive", "list", "--json").stdout)["sessions"]]
    os.mkfifo("pipe")
    with subprocess.Popen(["head", "-c", "1", "pipe"], stdout=subprocess.DEVNULL):
        done = run("restore", ref, "--session", "talk", "-o", "pipe")
    assert done.returncode == 74
    assert "cannot write pipe: its reader has gone" in done.stderr


def test_an_output_that_is_no_session_of_an_agent_is_replaced(home: Path) -> None:
    for text in ("[]", "notes", json.dumps(transcript("u:5 a:5", provider="anthropic"))):
        Path("o.json").write_text(text)
        assert run("compact", session(), "-o", "o.json", "--target-share", "0.5").returncode == 0


def test_the_output_of_compact_has_what_the_file_or_the_user_names(home: Path) -> None:
    tools = [{"name": "look", "description": "looks", "input_schema": {"type": "object"}}]
    messages = transcript(TALK, provider="anthropic")
    request = {"model": "claude-opus-4-6", "system": "be brief", "tools": tools, "messages": messages}
    Path("s.json").write_text(json.dumps(request))
    report = json.loads(run("compact", "s.json", "-o", "o.json", "--target-share", "0.5", "--json").stdout)
    made = json.loads(Path("o.json").read_text())
    assert list(made) == ["model", "system", "tools", "messages"]
    assert {**made, "messages": messages} == request
    found = trimtab.read("o.json")
    assert (found.model, found.system, found.tools, found.window) == (*list(request.values())[:3], None)
    count = json.loads(run("count", "o.json", "--json").stdout)
    assert (count["tokens"], count["next_prompt"]) == (report["tokens_after"], report["next_prompt"])
    assert report["next_prompt_before"] == json.loads(run("count", "s.json", "--json").stdout)["next_prompt"]
    given = ["--model", CLAUDE_CHEAP, "--window", "50k"]
    assert run("compact", "s.json", "-o", "o.json", "--target-share", "0.5", *given).returncode == 0
    made = json.loads(Path("o.json").read_text())
    assert (made["model"], made["window"]) == (CLAUDE_CHEAP, 50_000)
    again = json.loads(run("count", "o.json", "--json").stdout)
    assert (again["model"], again["window"], again["window_from"]) == (CLAUDE_CHEAP, 50_000, "file")
    assert run("compact", "s.json", "-o", "o.json", "--target-share", "0.5", "--list").returncode == 0
    assert isinstance(json.loads(Path("o.json").read_text()), list)
    assert json.loads(run("compact", "s.json", "--target-share", "0.5", "--list").stdout)[0]["role"] == "user"


def test_a_chat_with_system_text_beside_it_is_read_back_as_a_chat(home: Path) -> None:
    lines = [{"type": "session.start", "data": {"selectedModel": GPT_SPLIT}}]
    lines.append({"type": "system.message", "data": {"content": "be brief"}})
    for n in range(40):
        lines.append({"type": "user.message", "data": {"content": f"ask {n} " + "word " * 50}})
        lines.append({"type": "assistant.message", "data": {"content": f"look {n} " + "word " * 50}})
    Path("s.jsonl").write_text("\n".join(map(json.dumps, lines)))
    done = json.loads(run("compact", "s.jsonl", "-o", "o.json", "--target-share", "0.5", "--json").stdout)
    found = trimtab.read("o.json")
    assert (found.provider, found.system) == ("openai_chat", "be brief")
    assert json.loads(run("count", "o.json", "--json").stdout)["tokens"] == done["tokens_after"]


ELSEWHERE = "sqlite:///other place.db"


def typed(told: str, what: str) -> list[str]:
    """The words of the command that stands behind these words, or on the line below them."""
    return shlex.split(told.split(what, 1)[1].strip().partition("\n")[0])[1:]


def test_a_printed_command_names_the_archive_that_it_is_about(home: Path) -> None:
    lines = "".join(f"{json.dumps(line)}\n" for line in LINES["claude_code"](30))
    Path("session.jsonl").write_text(lines)
    beside = ("--archive", ELSEWHERE)
    for verb in (["rescue", "session.jsonl"], ["compact", "session.jsonl", "-o", "o.json"]):
        told = run(*verb, "--target-share", "0.5", *beside).stdout
        back = typed(told, "originals" if verb[0] == "rescue" else "undo")
        assert back[-2:] == [*beside]
        assert run(*back).returncode == 0
        shown = run("archive", "show", back[1], *beside).stdout
        for what in ("for the whole list:", "in reading order:"):
            assert run(*typed(shown, what)).returncode == 0
        listed = run("archive", "list", *beside).stdout
        look = shlex.join(typed(listed, "to look at one:")).replace("NAME", back[1])
        assert run(*shlex.split(look)).returncode == 0
    told = run("rescue", "session.jsonl", "--target-share", "0.5", "--archive", "memory").stdout
    assert "trimtab restore" not in told
    assert "--archive" not in run("compact", "session.jsonl", "-o", "o.json", "--target-share", "0.5").stdout


def test_a_printed_command_has_the_options_of_the_one_that_printed_it(home: Path) -> None:
    given = ["--window", "150000", "--model", CLAUDE_CHEAP, "--format", "anthropic", "--whole"]
    session()
    want = [*given[2:4], *given[:2], *given[4:]]
    shown = run("show", "s.json", *given).stdout
    assert typed(shown, "to see what would go for half of it:") == [*("plan", "s.json", "--target-share", "0.5"), *want]
    shown = run("show", "s.json", *given, "--policy", "goat").stdout
    assert typed(shown, "each edit with its reason:") == ["plan", "s.json", *want, "--policy", "goat"]
    beside = ["--pin", "a b", "--pin=-x", "--session", "talk", *("--archive", ELSEWHERE)]
    told = run("compact", "s.json", "-o", "o.json", *given, *beside).stdout
    assert typed(told, "all the same:") == [
        *("compact", "s.json", "-o", "OUT", "--target-share", "0.5", *want, *beside)
    ]
    planned = run("plan", "s.json", *given, "--from", "0", "--to", "7").stdout
    assert typed(planned, "brings them back:") == ["compact", "s.json", "-o", "OUT", *want, "--from", "0", "--to", "7"]


def test_the_command_that_applies_a_written_plan_reads_the_session_as_the_plan_did(home: Path) -> None:
    run("demo", ".")
    told = run("plan", "compacted.jsonl", "--whole", "--target-share", "0.2", "--summary", "-o", "p.md").stdout
    apply = typed(told, "edit the summary at its end, then")
    assert apply == ["apply", "compacted.jsonl", "--plan", "p.md", "-o", "OUT", "--whole"]
    assert f"trimtab {shlex.join(apply)}\n" in Path("p.md").read_text()
    done = run(*apply)
    assert done.returncode == 0, done.stderr


def test_a_session_under_its_target_says_what_to_type(home: Path) -> None:
    for verb in (["plan", session()], ["compact", "s.json", "-o", "o.json"]):
        told = run(*verb).stdout
        (typed,) = [line.split(": ", 1)[1] for line in told.splitlines() if "to compact it all the same" in line]
        assert typed == "trimtab compact s.json -o OUT --target-share 0.5"
        assert "all the same" not in run(*verb, "--target-share", "0.9").stdout
    done = run(*typed.split()[1:])
    assert "-> " in done.stdout.splitlines()[0]
    assert "  next prompt " in done.stdout.splitlines()[1]
