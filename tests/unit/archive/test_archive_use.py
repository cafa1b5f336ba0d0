"""Archives in use: recall, pins, conflicts, redaction and the verb archive."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from pathlib import Path

import pytest

import trimtab
from support.archives import KINDS, commit, opened, query, said
from support.models import CLAUDE
from support.transcripts import transcript
from trimtab.archive import Archive, Recall, SqliteArchive, open_archive
from trimtab.archive.redact import secrets
from trimtab.cli import main

MODEL = CLAUDE
SECRET = "sk-" + "a1B2" * 8


def talk() -> list[dict]:
    return transcript(" ".join("u:60 a:90" for _ in range(30)))


@pytest.mark.parametrize("kind", KINDS)
def test_recall_finds_and_returns_summarized_messages(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    archive = opened(kind, tmp_path, request.getfixturevalue("postgres").url if kind == "postgres" else None)
    messages = talk()
    messages[3] = {"role": "assistant", "content": "the flag is called xylophone-mode \ud800"}
    with trimtab.Compactor(MODEL, archive=archive) as shared:
        cm = shared.session("s")
        done = cm.compact(messages, target_share=0.3)
        commit(archive, "other", [said("xylophone of another session")], session="t")
        assert messages[3] not in done.messages
        recall = cm.recall_tool()
        found = recall({"query": "what was the xylophone flag"})
        assert "assistant, archived" in found
        assert "xylophone-mode" in found
        assert "another session" not in found
        number = int(found[1 : found.index("]")])
        whole = recall(json.dumps({"message": number}))
        assert json.loads(whole) == {"role": "assistant", "content": "the flag is called xylophone-mode ?"}
        assert [past.ref for past in cm.history()] == [done.ref]


def test_recall_answers_any_arguments() -> None:
    recall = Recall(open_archive("memory"), "s")
    for asked in (
        {},
        {"query": ""},
        {"query": 3},
        {"message": True},
        "[]",
        "not json",
        {"message": 10**30},
        {"message": -1},
    ):
        assert recall(asked)
    assert "no archived message 7" in recall({"message": 7})
    assert "any of these words" in recall({"query": "x"})


def test_recall_shortens_a_long_message_in_its_middle() -> None:
    archive = open_archive("memory")
    commit(archive, "r", [said("begin " + "middle " * 9_000 + "end")])
    recall = Recall(archive, "s")
    (hit,) = archive.search("begin")
    answer = recall({"message": hit.id})
    assert len(answer) < 20_100
    assert answer.startswith('{"role": "user", "content": "begin')
    assert answer.endswith('end"}')
    assert "bytes omitted; give offset to read on from a character]" in answer
    parts, offset = [], 0
    while offset is not None:
        part, _, follows = recall({"message": hit.id, "offset": offset}).partition("\n[")
        parts.append(part)
        offset = int(follows.rpartition(" ")[2].rstrip("]")) if follows else None
    assert json.loads("".join(parts)) == said("begin " + "middle " * 9_000 + "end")


def test_recall_definition_has_each_providers_shape() -> None:
    recall = Recall(open_archive("memory"), "s")
    schemas = [
        recall.definition("anthropic")["input_schema"],
        recall.definition("openai_chat")["function"]["parameters"],
        recall.definition("openai_responses")["parameters"],
        recall.definition("bedrock")["toolSpec"]["inputSchema"]["json"],
        recall.definition("gemini")["functionDeclarations"][0]["parameters"],
    ]
    assert all(schema == schemas[0] for schema in schemas)
    assert set(schemas[0]["properties"]) == {"query", "message", "ref", "offset"}
    with pytest.raises(ValueError, match="unknown provider"):
        recall.definition("x")


def test_compactor_names_what_a_custom_archive_lacks() -> None:
    class Own(Archive):
        store = commit = load = pin = pins = close = None  # what every archive has

    cm = trimtab.Compactor(MODEL, archive=Own())
    with pytest.raises(trimtab.ArchiveError, match="Own cannot search"):
        cm.recall_tool()
    with pytest.raises(trimtab.ArchiveError, match="Own has no history"):
        cm.history()
    with pytest.raises(TypeError, match=r"must be a URL or a trimtab.archive.Archive, got list"):
        trimtab.Compactor(MODEL, archive=[])


def test_a_named_session_finds_its_pins_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with trimtab.Compactor(MODEL, archive=url) as shared:
        cm = shared.session("s")
        cm.pin(talk()[4])
    with trimtab.Compactor(MODEL, archive=url) as shared:
        again, other = shared.session("s"), shared.session()
        assert 4 in again.plan(talk(), target_share=0.3).zone().keep
        assert 4 not in other.plan(talk(), target_share=0.3).zone().keep


def test_afit_of_a_named_session_asks_a_remote_archive_in_a_thread() -> None:
    asked = []

    class Remote(SqliteArchive):
        remote = True

        def view(self, session: str) -> dict | None:
            asked.append(threading.current_thread())
            return super().view(session)

        def stands(self, ref: str, session: str) -> bool:
            asked.append(threading.current_thread())
            return super().stands(ref, session)

    async def twice() -> None:
        session = trimtab.Compactor(MODEL, archive=Remote(":memory:")).session("s")
        await session.acompact(talk(), target_share=0.3)
        assert (await session.afit(talk())).messages != talk()
        assert (await trimtab.Compactor(MODEL, archive=session.archive).session("s").afit(talk())).messages != talk()

    asyncio.run(twice())
    assert len(asked) >= 2
    assert threading.main_thread() not in asked


def test_afit_opens_an_archive_in_a_thread(tmp_path: Path) -> None:
    opened_by, url = [], f"sqlite:///{tmp_path / 'a.db'}"

    def hook(event: str, args: tuple) -> None:  # it can never be removed: it listens to this file alone
        if event == "sqlite3.connect" and str(tmp_path) in repr(args):
            opened_by.append(threading.current_thread())

    sys.addaudithook(hook)
    asyncio.run(trimtab.Compactor(MODEL, archive=url).session("s").afit(talk()))
    assert opened_by
    assert threading.main_thread() not in opened_by


def test_compact_after_another_compaction_is_a_conflict_and_changes_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    other = trimtab.Compactor(MODEL, archive=url).session("s")

    def overtaken(_: trimtab.summarize.Ask) -> str:
        other.compact(talk(), target_share=0.4)
        return "too late"

    messages = talk()
    with pytest.raises(trimtab.ConflictError, match="compacted by another process"):
        trimtab.Compactor(MODEL, archive=url, summarizer=overtaken).session("s").compact(messages, target_share=0.3)
    assert messages == talk()
    assert len(other.history()) == 1


@pytest.mark.parametrize(
    ("name", "policy", "keep"), [("s", "default", 1), ("s", "drop", 0), (None, "default", 1), (None, "drop", 0)]
)
def test_a_list_whose_compaction_retention_removed_is_archived_anew(
    tmp_path: Path, name: str | None, policy: str, keep: int
) -> None:
    first, url = talk(), f"sqlite:///{tmp_path / 'a.db'}"
    second = [{**message, "content": f"other {message['content']}"} for message in first]
    with trimtab.Compactor(MODEL, policy=policy, archive=url) as shared:
        session = shared.session(name)
        old = session.compact(first, target_share=0.3)
        session.compact(second, target_share=0.3)
        assert old.ref in shared.archive.prune(keep=keep).events
        again = [session.compact(first, target_share=0.3)]
        again.append(session.compact(first, target_share=0.3))
        assert again[0].ref == again[1].ref != old.ref
        assert session.restore(again[0].ref) == first
        assert session.history()[0].ref == again[0].ref
        assert shared.archive.verify() == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_that_is_compacted_again_is_the_sessions_latest(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    archive = opened(kind, tmp_path, request.getfixturevalue("postgres").url if kind == "postgres" else None)
    session, first = trimtab.Compactor(MODEL, archive=archive).session("s"), talk()
    done = session.compact(first, target_share=0.3)
    session.compact([{**message, "content": f"other {message['content']}"} for message in first], target_share=0.3)
    assert session.compact(first, target_share=0.3).ref == done.ref
    assert query(archive, "SELECT event_id FROM summaries") == query(archive, "SELECT event_id FROM views")
    assert archive.prune(keep=1).events == (), "the older one stands in the latest list"
    assert session.restore(done.ref) == first
    archive.close()


@pytest.mark.parametrize("kind", KINDS)
def test_two_sessions_without_a_name_own_what_each_compacted(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    archive = opened(kind, tmp_path, request.getfixturevalue("postgres").url if kind == "postgres" else None)
    shared, messages = trimtab.Compactor(MODEL, policy="sven", archive=archive), [*talk(), said("a flag-7")]
    one, other = shared.session(), shared.session()
    log = "".join(f"line {n} zebra{n}\n" for n in range(20_000))
    done = [each.compact(messages, target_share=0.3) for each in (one, other)]
    outputs = [each.ingest("shell", log) for each in (one, other)]
    assert outputs[1] != outputs[0] == one.ingest("shell", log)
    assert outputs[1] == other.ingest("shell", log)
    archive.forget(one.history()[0].session)
    assert other.restore(done[1].ref) == messages
    assert [past.strategy for past in other.history()] == ["ingest", done[1].strategy]
    assert "flag-7" in other.recall_tool()({"query": "flag 7"})
    assert "zebra77" in other.recall_tool()({"query": "zebra77"})
    archive.close()


@pytest.mark.parametrize("removed", [True, False])
def test_a_ref_that_is_no_sessions_any_more_takes_no_commit(tmp_path: Path, removed: bool) -> None:
    with SqliteArchive(tmp_path / "a.db") as archive:
        commit(archive, "r", [said("one")])
        if removed:
            archive.prune(keep=0)
        with pytest.raises(trimtab.ConflictError, match="compact again"):
            commit(archive, "r", [said("one")], "s" if removed else "other")


def test_redacted_text_is_neither_stored_nor_summarized(tmp_path: Path) -> None:
    asked = []

    def writer(ask: trimtab.summarize.Ask) -> str:
        asked.append(ask)
        return "a summary"

    messages = talk()
    for n in (2, 58):
        messages[n] = {"role": "user", "content": [{"type": "text", "text": f"my key is {SECRET}"}]}
    path = tmp_path / "a.db"
    with trimtab.Compactor(MODEL, archive=f"sqlite:///{path}", redact=secrets, summarizer=writer) as cm:
        done = cm.compact(messages, target_share=0.3)
        assert done.messages[-2] is messages[58], "what stays is not changed"
        back = cm.restore(done.ref)
    assert back[2]["content"][0]["text"] == "my key is [REDACTED]"
    assert [b for n, b in enumerate(back) if n not in {2, 58}] == [
        m for n, m in enumerate(messages) if n not in {2, 58}
    ]
    assert SECRET not in json.dumps([*asked[0].messages, *asked[0].after])
    assert SECRET.encode() not in path.read_bytes()


@pytest.mark.parametrize(
    "secret",
    [
        "AKIA" + "Q" * 16,
        "ghp_" + "x" * 36,
        "github_pat_" + "x" * 30,
        "xoxb-" + "1" * 20,
        SECRET,
        "AIza" + "y" * 35,
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_secrets_of_a_known_form_are_redacted(secret: str) -> None:
    assert secrets(f"before {secret} after") == "before [REDACTED] after"


@pytest.mark.parametrize(
    ("url", "redacted"),
    [
        ("redis://:hunter2@cache:6379/0", "redis://[REDACTED]@cache:6379/0"),
        ("postgres://me:p@ss-word@db/x", "postgres://[REDACTED]@db/x"),
        ("amqp://u:p:q@h and mail@h", "amqp://[REDACTED]@h and mail@h"),
        ("https://oauth-token-of-24-chars@host/x", "https://[REDACTED]@host/x"),
        ("https://me@host/x", "https://me@host/x"),
    ],
)
def test_a_password_in_a_url_is_redacted_as_a_whole(url: str, redacted: str) -> None:
    assert secrets(url) == redacted == secrets(redacted)


def test_a_text_without_secrets_is_unchanged() -> None:
    text = "risk-free sk-8 tasks, AKIA, https://host/path:80@x ghp_short"
    assert secrets(text) == text


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    Path("s.json").write_text(json.dumps(talk()))
    assert main(["compact", "s.json", "-o", "o.json", "--target-share", "0.4", "--session", "work"]) == 0
    with SqliteArchive(tmp_path / "archive.db") as archive:
        commit(archive, "second", [said("about xylophones")], session="play", summary="x")
    return tmp_path


def test_the_default_archive_is_in_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRIMTAB_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    Path("s.json").write_text(json.dumps(talk()))
    for named, folder in ((str(tmp_path / "xdg"), tmp_path / "xdg"), ("", tmp_path / ".local" / "share")):
        monkeypatch.setenv("XDG_DATA_HOME", named)
        assert main(["compact", "s.json", "-o", "o.json", "--target-share", "0.4"]) == 0
        file = folder / "trimtab" / "archive.db"
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.parent.stat().st_mode & 0o777 == 0o700


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """Run an archive command; return its stdout."""
    capsys.readouterr()
    assert main(["archive", *words]) == code
    return capsys.readouterr().out


def test_archive_verb_lists_shows_searches_and_verifies(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = told(capsys, "list")
    names = [line.split()[0] for line in listed.splitlines() if " compaction" in line]
    assert names == ["play", "work", "2"]  # latest first, and the sums
    assert "2 sessions, 2 compactions" in listed
    as_json = json.loads(told(capsys, "list", "--json"))
    assert [session["session"] for session in as_json["sessions"]] == ["play", "work"]
    (past,) = json.loads(told(capsys, "show", "work", "--json"))
    assert told(capsys, "show", "work").startswith(past["ref"])
    left = told(capsys, "show", past["ref"]).splitlines()
    assert len([line for line in left if line.startswith("[")]) == past["messages_removed"]
    assert left[0].startswith(past["ref"])
    assert len(json.loads(told(capsys, "show", past["ref"], "--json"))) == past["messages_removed"]
    assert told(capsys, "search", "xylophones").startswith("second [")
    assert json.loads(told(capsys, "search", "xylophones", "--session", "work", "--json", code=1)) == []
    assert told(capsys, "verify") == "no damage found: 2 compactions\n"
    assert json.loads(told(capsys, "verify", "play", "--json")) == []
    told(capsys, "show", "nothing", code=74)
    told(capsys, "verify", "nothing", code=74)


def test_archive_verify_reports_a_changed_row(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with SqliteArchive(home / "archive.db") as archive:
        archive._db.execute("UPDATE compaction_events SET summary_content = 'y' WHERE id = 'second'")
    assert "session play, compaction 1 (second): the event" in told(capsys, "verify", code=1)
    assert len(json.loads(told(capsys, "verify", "--json", code=1))) == 1


def test_archive_export_writes_every_compaction_with_its_messages(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = told(capsys, "export", "work").splitlines()
    assert json.loads(line)["messages"] == talk()
    told(capsys, "export", "work", "-o", "work.jsonl")
    assert Path("work.jsonl").read_text() == line + "\n"
    told(capsys, "export", "nothing", code=74)


def test_archive_prune_removes_only_what_the_options_name(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--older-than, --keep, --max-size or --forget" in _error(capsys, "prune", code=64)
    _error(capsys, "prune", "--older-than", "soon", code=64)
    _error(capsys, "prune", "--max-size", "big", code=64)
    for limit in (("--keep", "9"), ("--older-than", "90d"), ("--max-size", "1GB"), ("--session", "play")):
        assert "--forget removes all" in _error(capsys, "prune", "--forget", "work", *limit, code=64)
    assert told(capsys, "prune", "--keep", "0", "--dry-run") == "would remove 1 compactions, 1 messages (47 bytes)\n"
    assert told(capsys, "prune", "--older-than", "1d", "--max-size", "1GB").startswith("removed 0 compactions")
    gone = json.loads(told(capsys, "prune", "--keep", "0", "--json"))
    assert gone["events"] == ["second"], "the summary of work is in use"
    told(capsys, "prune", "--forget", "work")
    assert told(capsys, "list") == "0 sessions, 0 compactions, 0 tokens saved\n"  # nothing empty is listed


def _error(capsys: pytest.CaptureFixture[str], *words: str, code: int) -> str:
    capsys.readouterr()
    assert main(["archive", *words]) == code
    return capsys.readouterr().err
