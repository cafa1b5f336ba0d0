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
from support.models import CLAUDE
from support.transcripts import transcript
from trimtab.cli import main
from trimtab.formats.claude_code_fork import fork

WHEELS = Path(sys.prefix) / "wheels"
CWD = "/srv/of/somebody"


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


def session(folder: Path, messages: list[dict], session_id: str = "11111111-1111-4111-8111-111111111111") -> Path:
    """A Claude Code session of these messages, as it writes them."""
    lines, parent = [], None
    for n, message in enumerate(messages):
        name = f"00000000-0000-4000-8000-{n:012}"
        told = {"id": f"msg_{n}", "model": CLAUDE} if message["role"] == "assistant" else {}
        entry = {"parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": CWD, "version": "2.1.45"}
        stamp = f"2026-01-01T00:{n // 60:02}:{n % 60:02}.000Z"
        entry |= {"sessionId": session_id, "type": message["role"], "uuid": name, "timestamp": stamp}
        lines.append(json.dumps({**entry, "message": {**message, **told}}))
        parent = name
    path = folder / f"{session_id}.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


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
