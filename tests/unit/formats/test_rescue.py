"""A forked Claude Code session: its own reader and the official one read it back as it was compacted."""

from __future__ import annotations

import importlib
import io
import json
import sys
import tarfile
import types
from pathlib import Path

import pytest

import trimtab
from support.checker import check
from support.claude_session import CWD, session
from support.models import CLAUDE
from support.transcripts import transcript
from trimtab.cli import main
from trimtab.formats.claude_code_fork import fork

WHEELS = Path(sys.prefix) / "wheels"


@pytest.fixture(scope="session")
def official(tmp_path_factory: pytest.TempPathFactory) -> types.ModuleType:
    """The reader of ``claude-agent-sdk``, from its source; the rest of the package stays out."""
    sources = sorted(WHEELS.glob("claude_agent_sdk-*.tar.gz"))
    assert sources, "make fetches it: pip download --no-deps --no-binary :all: claude-agent-sdk"
    folder = tmp_path_factory.mktemp("sdk")
    with tarfile.open(sources[-1]) as archive:
        archive.extractall(folder, filter="data")
    (package,) = folder.glob("*/src/claude_agent_sdk")
    for name, where in (("claude_agent_sdk", package), ("claude_agent_sdk._internal", package / "_internal")):
        module = types.ModuleType(name)
        module.__path__ = [str(where)]
        sys.modules[name] = module
    return importlib.import_module("claude_agent_sdk._internal.sessions")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder where Claude Code looks for its sessions."""
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    folder = tmp_path / "claude" / "projects" / CWD.replace("/", "-")
    folder.mkdir(parents=True)
    return folder


def officially(official: types.ModuleType, path: Path) -> list[dict]:
    """The messages that the official reader finds in a session."""
    return [{"role": m.type, "content": m.message["content"]} for m in official.get_session_messages(path.stem)]


def as_blocks(messages: list[dict]) -> list[dict]:
    """The messages, an assistant's text as a block."""
    return [
        {**m, "content": [{"type": "text", "text": m["content"]}]}
        if m["role"] == "assistant" and isinstance(m["content"], str)
        else m
        for m in messages
    ]


def test_a_rescued_session_is_read_back_by_both_readers(
    project: Path, official: types.ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    path = session(
        project,
        transcript(
            " ".join(f"u:60 c{n}+d{n} r{n}:200+q{n}:90 a:90" for n in range(20)).replace("d", "c9").replace("q", "r9")
        ),
    )
    before = path.read_bytes()
    assert officially(official, path)
    assert main(["rescue", str(path), "--target-share", "0.4", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    fork_path = Path(report["output"])
    assert path.read_bytes() == before, "never in place"
    assert fork_path.parent == project
    found = trimtab.read(fork_path)
    assert found.repaired == found.skipped == []
    assert found.model == CLAUDE
    assert check(found.messages, "anthropic") == []
    assert officially(official, fork_path) == found.messages
    entries = [json.loads(line) for line in fork_path.read_text().splitlines()]
    assert entries[0]["subtype"] == "compact_boundary"
    assert entries[0]["parentUuid"] is None
    assert entries[0]["compactMetadata"]["preTokens"] == report["tokens_before"]
    assert [entry.get("isCompactSummary", False) for entry in entries] == [n == 1 for n in range(len(entries))]
    assert {entry["sessionId"] for entry in entries} == {report["session"]} != {path.stem}
    ids = [entry["uuid"] for entry in entries]
    assert [entry["parentUuid"] for entry in entries] == [None, *ids[:-1]]
    assert not set(ids) & {json.loads(line)["uuid"] for line in before.splitlines()}
    assert main(["restore", report["ref"], "-o", str(project / "back.json")]) == 0
    assert json.loads((project / "back.json").read_text()) == trimtab.read(path).messages
    assert main(["rescue", str(fork_path), "--target-share", "0.4"]) == 0, "and again"


def test_a_session_from_stdin_is_rescued_into_the_folder_that_is_named(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = session(project, transcript(" ".join(f"u:60 c{n} r{n}:200 a:90" for n in range(20))))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert main(["rescue", "-", "--target-share", "0.4", "--json", "-o", str(tmp_path)]) == 0
    output = Path(json.loads(capsys.readouterr().out)["output"])
    assert output.parent == tmp_path
    assert main(["rescue", str(path), "--target-share", "0.4", "--json"]) == 0
    beside = Path(json.loads(capsys.readouterr().out)["output"])
    said = [list(trimtab.read(file).messages[1:]) for file in (output, beside)]  # a summary names its own ref
    assert said[0] == said[1] != []


def test_a_session_that_goes_on_after_its_rescue_is_whole(project: Path, official: types.ModuleType) -> None:
    messages = transcript(" ".join("u:60 a:90" for _ in range(30)))
    path = session(project, messages)
    done = trimtab.Compactor(CLAUDE).compact(messages, target_share=0.4)
    name, text = fork(
        path.read_bytes(), done.messages, tokens_before=done.tokens_before, tokens_after=done.tokens_after
    )
    last = json.loads(text.splitlines()[-1])
    more = {**last, "type": "user", "parentUuid": last["uuid"], "uuid": "22222222-2222-4222-8222-222222222222"}
    more["message"] = {"role": "user", "content": "go on"}
    grown = project / f"{name}.jsonl"
    grown.write_text(text + json.dumps(more) + "\n")
    expected = [*as_blocks(list(done.messages)), more["message"]]
    assert officially(official, grown) == trimtab.read(grown).messages == expected


def test_a_fork_of_what_is_no_session_is_refused(project: Path) -> None:
    user = {"role": "user", "content": "x"}
    tokens = {"tokens_before": 2, "tokens_after": 1}
    with pytest.raises(trimtab.MessageError, match="no line of a Claude Code session"):
        fork(b'[{"role": "user", "content": "x"}]', [user], **tokens)
    path = session(project, [user])
    with pytest.raises(trimtab.MessageError, match="begins with a user message"):
        fork(path.read_bytes(), [{"role": "assistant", "content": "x"}], **tokens)
    with pytest.raises(trimtab.MessageError, match="no role 'system'"):
        fork(path.read_bytes(), [user, {"role": "system", "content": "x"}], **tokens)


def test_the_session_of_a_subagent_is_rescued_as_one_of_its_own(
    project: Path, official: types.ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    path = session(project, transcript(" ".join(f"u:60 c{n} r{n}:200 a:90" for n in range(20))))
    lines = [json.loads(line) | {"isSidechain": True, "agentId": "a1"} for line in path.read_text().splitlines()]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert main(["rescue", str(path), "--target-share", "0.4", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    found = trimtab.read(report["output"])
    assert (found.model, len(found.messages)) == (CLAUDE, len(officially(official, Path(report["output"]))))
    assert report["tokens_after"] < report["tokens_before"]


def test_what_needs_no_rescue_or_is_no_session_is_said(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = session(project, [{"role": "user", "content": "short"}])
    assert main(["rescue", str(path)]) == 1
    assert "nothing to rescue" in capsys.readouterr().out
    other = project / "list.json"
    other.write_text(json.dumps([{"role": "user", "content": "x"}]))
    assert main(["rescue", str(other)]) == 65
    assert main(["rescue", "-"]) == 64
    assert sorted(p.name for p in project.iterdir()) == [path.name, "list.json"]


@pytest.mark.shared
def test_every_shared_session_is_rescued_and_read_back(
    shared: Path, project: Path, official: types.ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    rescued = 0
    for path in sorted((shared / "data" / "transcripts" / "claude-code").rglob("*.jsonl")):
        capsys.readouterr()
        if main(["rescue", str(path), "--target-share", "0.5", "-o", str(project), "--json"]) == 0:
            report = json.loads(capsys.readouterr().out)
            found = trimtab.read(report["output"])
            assert found.repaired == [], path.name
            assert officially(official, Path(report["output"])) == found.messages, path.name
            rescued += 1
    assert rescued > 20


def compacted(folder: Path) -> Path:
    """A session of 9 messages, which a compaction replaced by a summary, and 4 more."""
    path = session(folder, transcript("u:60 a:90 u:50 c1 r1:200 a:90 u:40 c2 r2:90"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    shared = {name: lines[-1][name] for name in ("isSidechain", "cwd", "version", "sessionId")}

    def line(number: int, parent: str | None, **more: object) -> dict[str, object]:
        stamp = f"2026-01-01T02:00:{number:02}.000Z"
        return {**shared, "uuid": f"later-{number}", "parentUuid": parent, "timestamp": stamp, **more}

    logical = {"logicalParentUuid": lines[-1]["uuid"], "compactMetadata": {"trigger": "auto", "preTokens": 900}}
    lines.append(line(0, None, type="system", subtype="compact_boundary", **logical))
    summary = {"role": "user", "content": "What went before."}
    lines.append(line(1, "later-0", type="user", isCompactSummary=True, message=summary))
    for number, message in enumerate(transcript("a:20 u:30 a:20"), 2):
        told = {"id": f"later_{number}", "model": CLAUDE} if message["role"] == "assistant" else {}
        lines.append(line(number, f"later-{number - 1}", type=message["role"], message={**message, **told}))
    path.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    return path


def reopened(path: Path, at: int, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[dict, list[dict]]:
    """The report on a fork at a message, and the fork's lines."""
    capsys.readouterr()
    assert main(["rescue", str(path), "--at", str(at), "--json", *more]) == 0
    report = json.loads(capsys.readouterr().out)
    return report, [json.loads(line) for line in Path(report["output"]).read_text().splitlines()]


def test_a_session_is_reopened_before_its_compaction(
    project: Path, official: types.ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    path = compacted(project)
    before, whole = path.read_bytes(), trimtab.read(path, whole=True)
    assert (len(whole.messages), whole.compactions) == (13, [9])
    for at in (0, 1, 5, 8):
        report, entries = reopened(path, at, capsys)
        found = trimtab.read(report["output"])
        assert found.messages == as_blocks(whole.messages[: at + 1]) == officially(official, Path(report["output"]))
        assert {entry["type"] for entry in entries} <= {"user", "assistant"}, "no boundary"
        assert not any(entry.get("isCompactSummary") for entry in entries)
        assert (report["ref"], report["tokens_before"]) == (None, report["tokens_after"])
    assert path.read_bytes() == before


def test_behind_a_compaction_a_fork_begins_with_its_summary(
    project: Path, official: types.ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    path = compacted(project)
    whole = trimtab.read(path, whole=True)
    report, entries = reopened(path, 11, capsys)
    assert trimtab.read(report["output"]).messages == as_blocks(whole.messages[9:12])
    assert officially(official, Path(report["output"])) == as_blocks(whole.messages[9:12])
    assert entries[0]["subtype"] == "compact_boundary"
    assert entries[1]["isCompactSummary"] is True


def test_a_fork_behind_a_compaction_has_the_messages_that_it_kept(
    project: Path, official: types.ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    path = compacted(project)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for anchor, order in (("later-0", [0, 1, 9, 10, 11]), ("later-1", [7, 8, 9, 10, 11])):
        uuids = [line["uuid"] for line in (lines[:2] if anchor == "later-0" else lines[7:9])]
        boundary = next(line for line in lines if line["uuid"] == "later-0")
        boundary["compactMetadata"]["preservedMessages"] = {"anchorUuid": anchor, "uuids": uuids}
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        whole = trimtab.read(path, whole=True)
        report, _ = reopened(path, 11, capsys)
        want = as_blocks([whole.messages[at] for at in order])
        assert trimtab.read(report["output"]).messages == want == officially(official, Path(report["output"])), anchor


def test_a_fork_at_a_message_that_has_an_open_call_names_the_nearest_others(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = compacted(project)
    for at, advice in ((3, "--at 2 and --at 4"), (7, "--at 6 and --at 8")):
        assert main(["rescue", str(path), "--at", str(at)]) == 64
        assert advice in capsys.readouterr().err
    for at in (13, -1):
        assert main(["rescue", str(path), "--at", str(at)]) == 64
        error = capsys.readouterr().err
        assert "there are #0 to #12" in error
        assert "compactions stand before: #9" in error
    assert len(list(project.iterdir())) == 1


def test_a_fork_at_a_message_may_be_smaller_too(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = session(project, transcript(" ".join(f"u:60 c{n} r{n}:200 a:90" for n in range(20))))
    report, entries = reopened(path, 59, capsys, "--target-share", "0.4")
    assert report["tokens_after"] < report["tokens_before"]
    assert entries[0]["subtype"] == "compact_boundary"
    assert trimtab.read(report["output"]).messages[-1:] == as_blocks(trimtab.read(path).messages[59:60])
    assert main(["restore", report["ref"], "-o", str(project / "back.json")]) == 0
    assert json.loads((project / "back.json").read_text()) == trimtab.read(path).messages[:60]


def test_a_session_from_stdin_is_reopened(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = compacted(project)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert main(["rescue", "-", "--at", "8", "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("messages #0 to #8, ")
