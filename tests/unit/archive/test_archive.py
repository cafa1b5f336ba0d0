"""One suite for every kind of archive."""

from __future__ import annotations

import json
import random
import re
import sqlite3
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trimtab
from faults.reliability import generated
from support.archives import KINDS, columns, commit, indexes, opened, query, record, said
from support.models import CLAUDE, CLAUDE_CHEAP, GPT_SPLIT
from support.scale import scaled
from support.transcripts import transcript
from trimtab.archive import Recall, SqlArchive, SqliteArchive
from trimtab.archive.sql.statements import format_time
from trimtab.errors import ArchiveError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trimtab.archive.sql.statements import Steps


@pytest.fixture(params=KINDS)
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlArchive]:
    url = request.getfixturevalue("postgres").url if request.param == "postgres" else None
    archive = opened(request.param, tmp_path, url)
    yield archive
    archive.close()


def test_load_returns_a_list_in_order_with_repeats(archive: SqlArchive) -> None:
    messages = [*transcript("u:5 c1 r1:9 a:5", provider="anthropic"), {"role": "user", "content": "again"}] * 2
    commit(archive, "r1", messages)
    assert archive.load("r1") == messages
    assert json.dumps(archive.load("r1")) == json.dumps(messages)


def test_load_ignores_later_changes_of_the_callers_objects(archive: SqlArchive) -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "before"}]}]
    commit(archive, "r1", messages)
    messages[0]["content"][0]["text"] = "after"
    assert archive.load("r1")[0]["content"][0]["text"] == "before"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=()), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=scaled(300))
@given(st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": JSON}), max_size=6))
def test_load_returns_any_json_unchanged(messages: list) -> None:
    archive = SqliteArchive(":memory:")
    commit(archive, "r", messages)
    assert archive.load("r") == messages
    assert json.dumps(archive.load("r")) == json.dumps(messages)


@pytest.mark.parametrize("value", [{1: "int key"}, {1: "NaN"}, {1, 2}, b"bytes", object()])
def test_store_rejects_values_that_are_not_json(archive: SqlArchive, value: object) -> None:
    with pytest.raises(trimtab.ArchiveError, match="archived as JSON|come back"):
        archive.store([{"role": "user", "content": value}], "s")


def test_load_returns_lone_surrogates_unchanged(archive: SqlArchive) -> None:
    high, low = "\ud83d", "\ude00"
    texts = [
        high + low,
        "\U0001f600",
        f"{high}{high}{low}{low}",
        f"\\uD83D\\uDE00 \\\\{high + low}",
        f"{low}{high}\U0001f600\0",
    ]
    messages = [{"role": "user", "content": text, text: [text]} for text in texts]
    commit(archive, "r1", messages)
    assert archive.load("r1") == messages
    assert len(messages[0]["content"]) == 2
    assert archive.archived("r1")[0].message == archive.fetch(archive.archived("r1")[0].id) == messages[0]
    assert archive.verify() == []
    archive.pin("s", "text", high + low)
    assert archive.pins("s") == [("text", high + low)]
    archive.unpin("s", "text", "\U0001f600")
    assert archive.pins("s") == [("text", high + low)]
    archive.unpin("s", "text", high + low)
    assert archive.pins("s") == []


def test_commit_of_the_same_ref_twice_keeps_the_first(archive: SqlArchive) -> None:
    commit(archive, "r1", [{"role": "user", "content": "first"}])
    commit(archive, "r1", [{"role": "user", "content": "second"}])
    assert archive.load("r1") == [{"role": "user", "content": "first"}]


def test_load_rejects_an_unknown_ref(archive: SqlArchive) -> None:
    with pytest.raises(trimtab.ArchiveError, match="no compaction 'nope'"):
        archive.load("nope")


def test_commit_without_its_originals_fails_and_changes_nothing(archive: SqlArchive) -> None:
    stored = archive.store([said("soon gone")], "s")
    archive.sweep(timedelta(seconds=-1))
    with pytest.raises(trimtab.ArchiveError, match="1 originals of r1 are not stored any more"):
        archive.commit(stored, record("r1"))
    with pytest.raises(trimtab.ArchiveError, match="no compaction"):
        archive.load("r1")
    assert archive.sessions()[0].version == 0


def test_load_returns_tuples_and_mappings_as_lists_and_dicts(archive: SqlArchive) -> None:
    messages = [MappingProxyType({"role": "user", "content": ({"type": "text", "text": "NaN", "n": float("nan")},)})]
    commit(archive, "r1", messages)
    assert json.dumps(archive.load("r1")) == json.dumps([{"role": "user", "content": list(messages[0]["content"])}])


def test_threads_share_an_archive(archive: SqlArchive) -> None:
    def work(n: int) -> None:
        for k in range(20):
            commit(archive, f"r{n}-{k}", [said(f"{n} {k % 3}")], session=f"s{n}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(archive.load(f"r{n}-{k}")[0]["content"] == f"{n} {k % 3}" for n in range(4) for k in range(20))


def test_history_returns_every_column_latest_first(archive: SqlArchive) -> None:
    talk = [said("one"), said("two", "assistant"), said("three")]
    commit(archive, "r1", talk)
    commit(
        archive,
        "r2",
        talk,
        strategy="summarization",
        tokens_before=900,
        tokens_after=300,
        preserved=(2,),
        summary="all went well",
        summarizer=CLAUDE_CHEAP,
        duration_ms=1234,
    )
    latest, first = archive.history("s")
    assert (first.ref, first.strategy, first.messages_removed, first.summary, first.model) == (
        "r1",
        "hybrid",
        3,
        None,
        None,
    )
    assert latest.created_at >= first.created_at
    assert latest.created_at.tzinfo is UTC
    assert (latest.ref, latest.session, latest.strategy) == ("r2", "s", "summarization")
    assert (latest.original_tokens, latest.compacted_tokens, latest.messages_removed) == (900, 300, 2)
    assert (latest.summary, latest.model, latest.duration_ms) == ("all went well", CLAUDE_CHEAP, 1234)
    assert [past.ref for past in archive.history("s", limit=1)] == ["r2"]
    assert archive.history("another") == []
    assert len(archive.history()) == 2


@pytest.mark.shows("R2.44")
def test_archived_returns_only_the_removed_messages(archive: SqlArchive) -> None:
    talk = [said("one"), said("two", "assistant"), said("three"), said("one")]
    commit(archive, "r1", talk, preserved=(1, 3))
    left = archive.archived("r1")
    assert [original.message for original in left] == [talk[0], talk[2]]
    assert {(original.ref, original.session) for original in left} == {("r1", "s")}
    assert not {original.id for original in left} & set(archive.history("s")[0].preserved)
    assert [archive.fetch(original.id) for original in left] == [talk[0], talk[2]]
    with pytest.raises(trimtab.ArchiveError, match="no compaction 'r9'"):
        archive.archived("r9")


def test_totals_are_sums_of_one_session_or_of_all(archive: SqlArchive) -> None:
    for n in range(3):
        commit(
            archive, f"r{n}", [said(f"{n}"), said("kept")], tokens_before=100 * n + 50, tokens_after=10, preserved=(1,)
        )
    commit(archive, "other", [said("x")], session="t", tokens_before=7, tokens_after=3)
    totals = archive.totals("s")
    assert (totals.tokens_saved, totals.messages_archived, totals.compactions) == (420, 3, 3)
    assert (archive.totals().tokens_saved, archive.totals().compactions) == (424, 4)
    assert archive.totals("nobody").compactions == 0


def test_columns_and_indexes_equal_the_published_schema(archive: SqlArchive) -> None:
    assert columns(archive, "compaction_events") == [
        *("id", "session_id", "strategy", "original_tokens", "compacted_tokens", "messages_removed"),
        *("summary_content", "preserved_message_ids", "model_used", "duration_ms", "created_at"),
    ]
    assert columns(archive, "message_archive") == [
        *("id", "compaction_event_id", "session_id", "original_message", "archived_at"),
    ]
    assert indexes(archive, "compaction_events") == [["session_id", "created_at DESC"]]
    assert indexes(archive, "message_archive") == [["compaction_event_id"], ["session_id", "archived_at DESC"]]


def test_deleting_an_event_or_a_session_deletes_its_rows(archive: SqlArchive) -> None:
    def count(table: str) -> int:
        return query(archive, f"SELECT count(*) FROM {table}")[0][0]

    commit(archive, "r1", [said("one"), said("two")], summary="s", live=("r1",))
    commit(archive, "r2", [said("three")], summary="t", live=("r1", "r2"))
    archive.pin("s", "text", "x")
    assert [count(table) for table in ("compaction_events", "message_archive", "summaries")] == [2, 3, 2]
    query(archive, "DELETE FROM compaction_events WHERE id = 'r1'")
    assert [count(table) for table in ("compaction_events", "message_archive", "summaries")] == [1, 1, 1]
    query(archive, "DELETE FROM sessions WHERE id = 's'")
    tables = ("compaction_events", "message_archive", "summaries", "commits", "pins")
    assert [count(table) for table in tables] == [0] * 5


def test_no_lock_is_held_while_a_model_is_called(archive: SqlArchive) -> None:
    def writer(_: trimtab.summarize.Ask) -> str:
        commit(archive, "meanwhile", [said("of another session")], session="other")
        assert archive.sessions()[0].messages > 0, "the originals are stored before the model is asked"
        assert archive.history("s") == []
        return "what was said"

    cm = trimtab.Compactor(CLAUDE, archive=archive, summarizer=writer).session("s")
    messages = transcript(" ".join("u:60 a:90" for _ in range(30)))
    done = cm.compact(messages, target_share=0.3)
    assert {past.ref for past in archive.history()} == {"meanwhile", done.ref}
    assert any(done.ref in json.dumps(message) for message in done.messages), "the envelope carries the reference"
    assert cm.restore(done.ref) == messages


def test_load_returns_unusual_texts_and_numbers_unchanged(archive: SqlArchive) -> None:
    for number, messages in enumerate(generated(40)):
        commit(archive, f"r{number}", messages, session=f"s{number % 7}")
        back = archive.load(f"r{number}")
        assert back == messages
        assert json.dumps(back) == json.dumps(messages)
    assert archive.verify() == []


def test_commit_after_another_compaction_of_the_session_is_a_conflict(archive: SqlArchive) -> None:
    talk = [said("one"), said("two")]
    mine, theirs = archive.store(talk, "s"), archive.store(talk, "s")
    archive.commit(theirs, record("theirs"))
    with pytest.raises(trimtab.ConflictError, match="version 1, not 0.*take its latest messages"):
        archive.commit(mine, record("mine"))
    assert [past.ref for past in archive.history("s")] == ["theirs"]
    archive.commit(archive.store(talk, "s"), record("mine"))
    archive.commit(mine, record("late", exclusive=False))
    assert [past.ref for past in archive.history("s")] == ["late", "mine", "theirs"]
    assert archive.sessions()[0].version == 3
    assert archive.verify() == []


def test_commit_repeated_after_a_lost_answer_counts_once(archive: SqlArchive) -> None:
    stored = archive.store([said("one")], "s")
    archive.commit(stored, record("r1"))
    archive.commit(stored, record("r1"))
    archive.commit(archive.store([said("one")], "s"), record("r1"))
    assert archive.totals("s").compactions == 1
    assert archive.sessions()[0].version == 1


def test_pins_belong_to_one_session(archive: SqlArchive) -> None:
    archive.pin("s", "text", "the \0 \ud800 plan")
    archive.pin("s", "text", "the \0 \ud800 plan")
    archive.pin("s", "message", "0a" * 8)
    assert sorted(archive.pins("s")) == [("message", "0a" * 8), ("text", "the \0 \ud800 plan")]
    assert archive.pins("t") == []
    archive.unpin("s", "text", "the \0 \ud800 plan")
    assert archive.pins("s") == [("message", "0a" * 8)]


def test_search_returns_messages_with_all_words_first_then_newest_first(archive: SqlArchive) -> None:
    commit(archive, "r1", [said("the parser broke on snake_case names"), said("nothing here", "assistant")])
    commit(archive, "r2", [said("src/parser.py has a Migration"), said("設定を読む")])
    commit(archive, "r3", [said("a migration of the parser, at last")], session="t")
    assert [(hit.ref, hit.role) for hit in archive.search("PARSER migration")] == [
        ("r3", "user"),
        ("r2", "user"),
        ("r1", "user"),
    ]
    assert [hit.ref for hit in archive.search("parser migration", session="s")] == ["r2", "r1"]
    assert [hit.ref for hit in archive.search("parser", limit=1)] == ["r3"]
    assert [hit.text for hit in archive.search("case")] == ["the parser broke on snake_case names"]
    assert [hit.ref for hit in archive.search("設定")] == ["r2"]
    assert archive.search("absent") == archive.search("") == archive.search('"*():') == []
    (hit,) = archive.search("nothing")
    assert archive.fetch(hit.id) == said("nothing here", "assistant")
    with pytest.raises(trimtab.ArchiveError, match="no archived message"):
        archive.fetch(hit.id, session="t")


def test_search_ignores_and_sweep_removes_originals_without_a_compaction(archive: SqlArchive) -> None:
    archive.store([said("an orphan")], "s")
    commit(archive, "r1", [said("a child")])
    assert archive.search("orphan") == []
    assert archive.sweep() == 0, "a model may still be at it"
    assert archive.sweep(timedelta(seconds=-1)) == 1
    assert archive.sweep(timedelta(seconds=-1)) == 0
    assert archive.load("r1") == [said("a child")]
    assert archive.verify() == []


def test_prune_by_age_keeps_compactions_with_a_current_summary(archive: SqlArchive) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for n in range(4):
        archive.now = lambda n=n: format_time(start + timedelta(days=n))
        live = {"summary": f"number {n}", "live": (f"r{n}",)}
        commit(archive, f"r{n}", [said(f"only in {n}"), said("in all")], **live)
    archive.now = lambda ago=timedelta(): format_time(start + timedelta(days=40) - ago)
    would = archive.prune(older_than=timedelta(days=38.5), dry_run=True)
    assert would.events == ("r0", "r1")
    assert len(archive.history()) == 4
    assert archive.prune(older_than=timedelta(days=38.5)) == would
    assert would.messages == 2
    assert archive.prune(older_than=timedelta(days=1)).events == ("r2",), "r3 is in the list that the session holds"
    assert archive.load("r3") == [said("only in 3"), said("in all")]
    with pytest.raises(trimtab.ArchiveError, match="no compaction 'r0'.*retention removed it at 2026-02-10"):
        archive.load("r0")
    assert archive.verify() == []
    assert [hit.ref for hit in archive.search("only")] == ["r3"]


def test_prune_removes_by_number_and_by_size(archive: SqlArchive) -> None:
    chance = random.Random(6)
    for session in "st":
        for n in range(4):
            commit(archive, f"{session}{n}", [said(chance.randbytes(20_000).hex())], session=session)
    assert archive.prune(keep=3, session="s").events == ("s0",)
    assert archive.prune(keep=3).events == ("t0",)

    def size() -> Steps[int]:
        [(size,)] = yield archive.dialect.size, ()
        return int(size)

    whole = archive.transact(size)
    limit = whole - 50_000
    would = archive.prune(max_bytes=limit, dry_run=True)
    assert archive.transact(size) == whole
    assert archive.prune(max_bytes=limit) == would
    assert would.events == ("s1", "s2", "s3")[: would.messages], "the oldest, each with a message of its own"
    assert would.bytes > would.messages * 40_000
    assert limit - 40_000 < archive.transact(size) <= limit, "and no more than need be"
    assert archive.prune(max_bytes=limit).events == ()
    assert len(archive.history()) == 6 - would.messages
    assert archive.verify() == []


def test_sizes_are_those_of_the_sessions_with_that_strategy_the_oldest_first(archive: SqlArchive) -> None:
    one, two = said("one"), said("two more words")
    for ref, messages, session in (("r1", [one, one], "b"), ("r2", [one, two], "a"), ("r3", [two], "other")):
        commit(archive, ref, messages, session, strategy="hybrid" if session == "other" else "copy")
    commit(archive, "r4", [two], "b")
    sizes = [len(json.dumps(message)) for message in (one, two)]
    assert [*archive.sizes("copy").items()] == [("b", sum(sizes)), ("a", sum(sizes))]
    assert archive.sizes("none") == {}


def test_forget_removes_all_of_a_session_and_nothing_of_others(archive: SqlArchive) -> None:
    commit(archive, "r1", [said("shared"), said("secretword of s")], summary="about s", live=("r1",))
    commit(archive, "r2", [said("shared"), said("word of t")], session="t")
    archive.store([said("copyonly")], "s")
    archive.pin("s", "text", "x")
    assert len(archive.search("secretword")) == 1
    assert archive.forget("s", dry_run=True).events == ("r1",)
    assert len(archive.search("secretword")) == 1
    gone = archive.forget("s")
    assert (gone.events, gone.messages) == (("r1",), 2)
    assert archive.search("secretword") == archive.search("copyonly") == archive.pins("s") == []
    assert [session.id for session in archive.sessions()] == ["t"]
    assert archive.load("r2") == [said("shared"), said("word of t")]
    assert archive.verify() == []
    with pytest.raises(trimtab.ArchiveError, match="no session 's'"):
        archive.forget("s")


FIRST = "SELECT min(id) FROM message_archive"
MESSAGE = "SELECT original_message FROM message_archive ORDER BY id LIMIT 1"
CHANGES = {
    "a message": (f"UPDATE messages SET body = '[]' WHERE id = ({MESSAGE} OFFSET 1)", "message 1: .* its digest"),
    "an order": (f"UPDATE message_archive SET original_message = ({MESSAGE} OFFSET 2) WHERE id = ({FIRST})", "order"),
    "a lost message": (f"DELETE FROM message_archive WHERE id = ({FIRST})", "order of its messages"),
    "a number": ("UPDATE compaction_events SET original_tokens = 1 WHERE id = 'r1'", "changed after the commit"),
    "a summary": ("UPDATE compaction_events SET summary_content = 'lies' WHERE id = 'r1'", "changed after the commit"),
    "a link": ("UPDATE commits SET link = 'ff' WHERE event_id = 'r1'", "the chain breaks here"),
    "a lost event": ("DELETE FROM compaction_events WHERE id = 'r1'", "its event is missing"),
    "a lost commit": ("DELETE FROM commits WHERE event_id = 'r1'", "compaction 1: it is missing|its commit is missing"),
    "a lost end": ("DELETE FROM commits WHERE event_id = 'r2'", "2 compactions were committed, 1 are stored"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_verify_names_the_place_of_each_change(archive: SqlArchive, change: str) -> None:
    commit(archive, "r1", [said("one"), said("two"), said("three")], summary="s1")
    commit(archive, "r2", [said("four")])
    assert archive.verify() == archive.verify("s") == []
    statement, what = CHANGES[change]

    def tamper() -> Iterator:
        yield statement, ()

    archive.transact(tamper)
    faults = archive.verify()
    assert faults
    assert any(fault.where.startswith("session s") for fault in faults)
    assert any(re.search(what, f"{fault.where}: {fault.what}") for fault in faults)
    with pytest.raises(trimtab.ArchiveError, match="no session 'x'"):
        archive.verify("x")


@pytest.mark.parametrize("name", ["", " ", "a\nb", "\ud800", 7])
def test_every_method_rejects_a_session_without_a_printable_name(archive: SqlArchive, name: object) -> None:
    commit(archive, "r1", [said("secret")])
    for call in (
        lambda: archive.store([], name),
        lambda: archive.pin(name, "text", "x"),
        lambda: archive.load("r1", session=name),
        lambda: archive.search("secret", session=name),
        lambda: archive.fetch(1, session=name),
        lambda: archive.history(name),
        lambda: archive.totals(name),
        lambda: archive.verify(name),
        lambda: archive.prune(keep=0, session=name),
        lambda: archive.forget(name),
        lambda: Recall(archive, name),
    ):
        with pytest.raises(ValueError, match="a session's name"):
            call()
    with pytest.raises(ValueError, match="a session's name"):
        archive.store([], None)
    assert archive.load("r1") == [said("secret")]


def test_load_for_a_session_finds_its_own_compactions(archive: SqlArchive) -> None:
    for ref, session in (("r1", "s"), ("r2", "t"), ("r3", "unnamed-1"), ("r4", "unnamed-2"), ("first", "first")):
        commit(archive, ref, [said(ref)], session=session)
    readable = {"s": {"r1"}, "t": {"r2"}, "u": set(), "unnamed-1": {"r3", "r4", "first"}, None: set(REFS)}
    for session, refs in readable.items():
        for ref in REFS:
            if ref in refs:
                assert archive.load(ref, session=session) == [said(ref)]
            else:
                with pytest.raises(
                    trimtab.ArchiveError, match=f"no compaction '{ref}' in this archive, or.*any_session"
                ):
                    archive.load(ref, session=session)
    archive.prune(keep=0, session="s")
    with pytest.raises(trimtab.ArchiveError, match="no compaction 'r1' in this archive; retention removed it"):
        archive.load("r1", session="s")
    with pytest.raises(trimtab.ArchiveError, match="no compaction 'r1' in this archive, or"):
        archive.load("r1", session="t")


REFS = ("r1", "r2", "r3", "r4", "first")


def test_prune_of_a_session_leaves_uncommitted_originals_of_others(archive: SqlArchive) -> None:
    mine, theirs = archive.store([said("mine")], "s"), archive.store([said("theirs")], "t")
    assert archive.prune(session="s", older_than=timedelta(seconds=-1)).messages == 1
    archive.commit(theirs, record("r2"))
    with pytest.raises(trimtab.ArchiveError, match="not stored any more"):
        archive.commit(mine, record("r1"))


def test_a_negative_number_is_rejected_and_a_huge_one_is_no_limit(archive: SqlArchive) -> None:
    commit(archive, "r1", [said("word")])
    for call in (
        lambda n: archive.search("word", limit=n),
        lambda n: archive.history(limit=n),
        lambda n: archive.prune(keep=n),
        lambda n: archive.prune(max_bytes=n),
    ):
        with pytest.raises(ValueError, match="must be 0 or more, got -1"):
            call(-1)
        with pytest.raises(TypeError):
            call("1")
        call(10**30)
    assert archive.prune(older_than=timedelta.max).events == ()
    assert [hit.ref for hit in archive.search("word", limit=10**30)] == [past.ref for past in archive.history()]


@pytest.mark.parametrize("kept", [3, 29, 30])
def test_load_gives_all_messages_or_an_error(archive: SqlArchive, kept: int) -> None:
    messages = [said(f"{n}") for n in range(30)]
    commit(archive, "r1", messages, preserved=(28, 29))
    query(archive, "DELETE FROM commits RETURNING 1")
    last = query(archive, "SELECT id FROM message_archive ORDER BY id")[kept - 1][0]
    query(archive, "DELETE FROM message_archive WHERE id > ? RETURNING 1", last)
    with pytest.raises(
        trimtab.ArchiveError, match="is damaged: .*" + ("its commit" if kept == 30 else f"{kept} of its")
    ):
        archive.load("r1")
    assert any("its commit is missing" in fault.what for fault in archive.verify("s"))
    if kept == 3:
        with pytest.raises(trimtab.ArchiveError, match="is damaged: 3 of the 28 removed messages are stored"):
            archive.archived("r1")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE pins SET value = '7'",
        "UPDATE pins SET value = NULL",
        "UPDATE pins SET value = X'00ff'",
        "UPDATE pins SET kind = X'ff'",
        """UPDATE pins SET kind = 'message', value = '"\\ud800"'""",
        "UPDATE pins SET value = replace(hex(zeroblob(50000)), '00', '[[')",
        "UPDATE compaction_events SET original_tokens = 'many'",
        "UPDATE compaction_events SET id = X'00', created_at = 5",
        "UPDATE compaction_events SET preserved_message_ids = '[null]'",
        "UPDATE compaction_events SET preserved_message_ids = replace(hex(zeroblob(50000)), '00', '[[')",
        "UPDATE compaction_events SET summary_content = CAST(X'ff' AS TEXT)",
        "UPDATE sessions SET id = X'73', created_at = 'x'",
        "UPDATE sessions SET version = 'x'",
        "UPDATE messages SET body = X'00', digest = id",
        "UPDATE messages SET body = 'null'",
        "UPDATE message_archive SET archived_at = NULL",
    ],
)
def test_a_value_of_another_type_is_an_archive_error(tmp_path: Path, statement: str) -> None:
    archive = SqliteArchive(tmp_path / "a.db")
    cm = trimtab.Compactor(CLAUDE, archive=archive).session("s")
    cm.pin("step 7")
    messages = [said(f"step {n} " + "word " * 60, ("user", "assistant")[n % 2]) for n in range(40)]
    ref = cm.compact(messages, target_share=0.4).ref
    archive._db.execute("PRAGMA foreign_keys = OFF")
    archive._db.execute("PRAGMA ignore_check_constraints = ON")
    with suppress(sqlite3.IntegrityError):
        archive._db.execute(statement)
    recall = cm.recall_tool()
    refused = 0
    for call in (
        lambda: cm.restore(ref) == messages,
        lambda: archive.archived(ref),
        cm.history,
        archive.sessions,
        archive.totals,
        archive.verify,
        lambda: archive.pins("s"),
        lambda: archive.search("step"),
        lambda: [archive.fetch(n) for n in range(1, 41)],
        lambda: recall({"query": "step"}),
        lambda: recall({"message": 3}),
        lambda: cm.compact([*messages, *messages], target_share=0.4),
        lambda: cm.fit(messages),
        lambda: archive.prune(keep=0),
        lambda: archive.forget("s"),
    ):
        try:
            assert call() is not False
        except trimtab.ArchiveError:
            refused += 1
    assert refused or "NULL" in statement
    archive.close()


def test_load_returns_an_empty_list(archive: SqlArchive) -> None:
    commit(archive, "r1", [])
    assert archive.load("r1") == []
    assert archive.verify() == []


def test_overview_and_changes_tell_what_a_person_asks(archive: SqlArchive) -> None:
    first = [{"role": "user", "content": "<environment> x"}, {"role": "user", "content": "mend\nthe parser"}]
    commit(archive, "aaaa1111", first, session="one")
    commit(archive, "aaaa2222", [*first, {"role": "assistant", "content": "done"}], session="one")
    commit(archive, "bbbb", [{"role": "user", "content": "other"}], session="two")
    archive.describe("aaaa1111", "/w/s.jsonl", GPT_SPLIT)
    archive.describe("aaaa2222", "/w/t.jsonl", GPT_SPLIT)
    archive.describe("nothing", "/w/u.jsonl", GPT_SPLIT)
    archive.pin("empty", "text", "x")
    two, one = archive.overview()
    assert (two.session, two.ref, two.file, two.request) == ("two", "bbbb", "", "other")
    assert (one.session, one.ref, one.compactions, one.messages) == ("one", "aaaa2222", 2, 3)
    assert (one.file, one.model, one.request) == ("/w/t.jsonl", GPT_SPLIT, "mend the parser")
    assert one.first_at <= one.last_at
    assert one.bytes > 0
    assert archive.matching("aaaa") == ["aaaa1111", "aaaa2222"]
    assert archive.matching("") == archive.matching("\0") == archive.matching("zz") == []
    assert archive.changes("aaaa2222").before == "aaaa1111"
    assert archive.changes("aaaa1111").before == ""
    with pytest.raises(ArchiveError, match="no compaction 'zz'"):
        archive.changes("zz")
    archive.forget("one")
    assert [each.session for each in archive.overview()] == ["two"]
    assert query(archive, "SELECT count(*) FROM origins") == [(0,)]
