"""Hostile archives: bytes flipped, files cut, files mixed and rows rewritten, under every verb.

A verb gives what was stored, or raises ``ArchiveError``; a recall tool answers; a command exits with a code that it
documents.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import sqlite3
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trimtab
from faults.outcome import MODEL, Outcome, conversation, words
from trimtab.archive import Recall, SqliteArchive
from trimtab.archive.sqlite import Driver
from trimtab.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGE = 4096
COMMANDS_EVERY = 10
"""Archives between two that also the command line reads: a command takes longer than all methods together."""


class Log(Driver):
    """A driver that lets the archive keep a write-ahead log, whatever SQLite's version is."""

    version = (3, 51, 3)


def hostile(count: int, seed: int = 11) -> Outcome:
    """Archives that somebody changed, each under every verb."""
    outcome, rng = Outcome(), random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lists = _filled(folder / "one.db", rng, Driver())
        _filled(folder / "two.db", random.Random(12), Driver())
        one, two = (folder / "one.db").read_bytes(), (folder / "two.db").read_bytes()
        (folder / "s.json").write_text(json.dumps(conversation(rng, 24)))
        path = folder / "now.db"
        for number in range(count):
            for left in folder.glob("now.db*"):
                left.unlink()
            how, change = rng.choice(CHANGES)
            change(path, one, two, rng)
            outcome.cases += 1
            before = len(outcome.failures)
            for what, verb in _verbs(path, lists, rng, number):
                _try(outcome, f"{how} {number}, {what}", verb)
            outcome.counts[f"broken by {how}"] += len(outcome.failures) > before
    return outcome


def _filled(path: Path, rng: random.Random, driver: Driver) -> dict[str, tuple[str, list[Any]]]:
    """An archive of several compactions, some of them searched; session and messages of each ref."""
    lists = {}
    with SqliteArchive(path, driver) as archive:
        for number, session in enumerate(("s", "s", "t", "unnamed-1")):
            messages = conversation(rng, 30 + 9 * number)
            cm = trimtab.Compactor(MODEL, archive=archive).session(None if number == 3 else session)
            cm.pin(words(rng, 2))
            cm.pin(messages[1])
            lists[cm.compact(messages, target_share=0.4).ref or ""] = (cm.id, messages)
            archive.search("begin", limit=rng.randrange(3))
        archive.store(conversation(rng, 8), "s")
    return lists


def _flip(path: Path, one: bytes, _: bytes, rng: random.Random) -> None:
    data = bytearray(one)
    for _ in range(rng.choice([1, 1, 3, 50, 500])):
        place = rng.randrange(rng.choice([100, PAGE, len(data), len(data)]))
        data[place] = rng.choice([data[place] ^ 1 << rng.randrange(8), 0, 0xFF, rng.randrange(256)])
    path.write_bytes(data)


def _cut(path: Path, one: bytes, _: bytes, rng: random.Random) -> None:
    end = rng.choice([rng.randrange(len(one)), PAGE * rng.randrange(len(one) // PAGE), rng.randrange(200)])
    path.write_bytes(one[:end] + rng.choice([b"", b"", bytes(len(one) - end), rng.randbytes(300)]))


def _mix(path: Path, one: bytes, two: bytes, rng: random.Random) -> None:
    data = bytearray(one)
    for _ in range(rng.randrange(1, 6)):
        source = rng.choice([one, two, two, bytes(len(two)), rng.randbytes(len(two))])
        here, there = (PAGE * rng.randrange(len(raw) // PAGE) for raw in (data, source))
        size = PAGE * rng.randrange(1, 4)
        data[here : here + size] = source[there : there + size]
    path.write_bytes(data)


def _beside(path: Path, one: bytes, two: bytes, rng: random.Random) -> None:
    """A log or a journal of another archive, or of nobody, beside the file."""
    path.write_bytes(one)
    raw = rng.choice([two, rng.randbytes(PAGE), b"", bytes.fromhex("d9d505f920a163d7") + two[8:]])
    path.with_name(path.name + rng.choice(["-wal", "-journal", "-shm"])).write_bytes(raw[: rng.randrange(len(raw) + 1)])
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")


def _seeded(path: Path, rng: random.Random) -> sqlite3.Connection:
    """A connection whose SQL function ``random`` draws from ``rng``, so that a seed gives the same archives again."""
    db = sqlite3.connect(path, isolation_level=None)
    db.create_function("random", 0, lambda: rng.getrandbits(62))
    return db


def _rows(path: Path, one: bytes, _: bytes, rng: random.Random) -> None:
    """Rows that are gone, and values of another type or of another row."""
    path.write_bytes(one)
    db = _seeded(path, rng)
    names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'search'"
    tables = [name for (name,) in db.execute(names)]
    for _ in range(rng.choice([1, 2, 4, 8])):
        table = rng.choice([*tables, "pins", "compaction_events", "commits", "message_archive"])
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        column, by = rng.choice(columns), rng.choice(columns)
        some = f"WHERE {by} IN (SELECT {by} FROM {table} ORDER BY random() LIMIT {rng.choice([1, 1, 3, 100])})"
        with contextlib.suppress(sqlite3.Error):
            if rng.random() < 0.3:
                db.execute(f"DELETE FROM {table} {some}")
            elif rng.random() < 0.3:
                db.execute(f"UPDATE {table} SET {column} = (SELECT {by} FROM {table} ORDER BY random()) {some}")
            else:
                db.execute(f"UPDATE {table} SET {column} = ? {some}", (rng.choice(VALUES),))
    db.close()


def _lost(path: Path, one: bytes, _: bytes, rng: random.Random) -> None:
    """Originals that are gone, some with the commit or the messages that they belong to."""
    path.write_bytes(one)
    with contextlib.closing(_seeded(path, rng)) as db:
        refs = [ref for (ref,) in db.execute("SELECT id FROM compaction_events ORDER BY id")]
        ref = rng.choice(refs)
        gone = f"(SELECT id FROM message_archive WHERE compaction_event_id = '{ref}' ORDER BY random() LIMIT ?)"
        db.execute(f"DELETE FROM message_archive WHERE id IN {gone}", (rng.choice([0, 1, 27]),))
        for table, column, times in (("commits", "event_id", 2), ("summaries", "event_id", 1), ("messages", "id", 1)):
            if rng.randrange(3) < times:
                some = f"'{ref}'" if column == "event_id" else f"SELECT id FROM messages LIMIT {rng.randrange(9)}"
                db.execute(f"DELETE FROM {table} WHERE {column} IN ({some})")


VALUES = [
    *(None, 0, -1, 7, 2**62, 1.5, float("inf"), "", "x", "\0", "5", "null", "[]", "{}", "[1, null, {}]", '"\\ud800"'),
    *(b"", b"\xff\xfe", b"x" * 300, "[" * 100_000, "9" * 6_000, "2026-01-01", "0001-01-01T00:00:00+14:00", "NaN"),
    '{"role": "user", "content": "not what was stored"}',
]
CHANGES: list[tuple[str, Callable[[Path, bytes, bytes, random.Random], None]]] = [
    ("flip", _flip),
    ("flip", _flip),
    ("cut", _cut),
    ("mix", _mix),
    ("rows", _rows),
    ("lost", _lost),
    ("beside", _beside),
]


def _try(outcome: Outcome, where: str, verb: Callable[[], str]) -> None:
    """A verb does what it promises, or raises an ArchiveError."""
    try:
        broken = verb()
    except trimtab.ArchiveError:
        outcome.counts["refused"] += 1
    except Exception as error:  # noqa: BLE001 - any other error is what is looked for
        outcome.failures.append(f"{where}: {error!r:.300}")
    else:
        outcome.counts["answered"] += 1
        outcome.check(not broken, f"{where}: {broken}")


def _verbs(
    path: Path, lists: dict[str, tuple[str, list[Any]]], rng: random.Random, number: int
) -> Iterator[tuple[str, Callable[[], str]]]:
    """Each verb as a function that returns what is wrong, in an order in which those that change the file come last."""
    raw = {file: file.read_bytes() for file in path.parent.glob("now.db*")}
    driver = rng.choice([Driver(), Log()])
    opened: list[SqliteArchive] = []

    def use(verb: Callable[[SqliteArchive], object]) -> Callable[[], str]:
        """The verb on the open archive, or nothing where it cannot be opened."""
        return lambda: "" if not opened or verb(opened[0]) is not NotImplemented else "not implemented"

    def restored(ref: str, session: str, messages: list[Any]) -> str:
        found = opened[0].load(ref, session=session) if opened else messages
        return "" if found == messages else f"{len(found)} other messages of {len(messages)}"

    def removed(ref: str) -> str:
        past = [each for each in opened[0].history(limit=None) if each.ref == ref] if opened else []
        short = past and len(opened[0].archived(ref)) != past[0].messages_removed
        return "a part of what was removed" if short else ""

    def recalled() -> str:
        if not opened:
            return ""
        recall = Recall(opened[0], "s")
        given: list[Any] = [{"query": "begin"}, {"query": words(rng, 3)}, *({"message": n} for n in range(1, 60, 7))]
        return "" if all(isinstance(recall(each), str) for each in given) else "no text"

    def compacted(session: str | None) -> Callable[[SqliteArchive], object]:
        messages = conversation(random.Random(number), 20)

        def run(archive: SqliteArchive) -> object:
            cm = trimtab.Compactor(MODEL, archive=archive).session(session)
            done = cm.compact(messages, target_share=0.5)
            assert not done.ref or cm.restore(done.ref) == messages
            return cm.fit(messages)

        return run

    def open_it() -> str:
        opened.append(SqliteArchive(path, driver))
        return ""

    yield "open", open_it
    for ref, (session, messages) in lists.items():
        yield f"restore {session}", lambda ref=ref, of=session, m=messages: restored(ref, of, m)
        yield f"archived {session}", lambda ref=ref: removed(ref)
    yield "sessions", use(lambda archive: archive.sessions())
    yield "history", use(lambda archive: archive.history(limit=None))
    yield "totals", use(lambda archive: (archive.totals(), archive.totals("s")))
    yield "pins", use(lambda archive: [archive.pins(name) for name in ("s", "t", "unnamed-1")])
    yield "verify", use(lambda archive: archive.verify())
    yield "recall", recalled
    yield "search", use(lambda archive: archive.search("begin ba"))
    yield "prune, dry", use(lambda archive: archive.prune(keep=1, max_bytes=9, dry_run=True))
    yield "pin", use(lambda archive: (archive.pin("s", "text", "x"), archive.unpin("s", "text", "x")))
    yield "compact s", use(compacted("s"))
    yield "compact", use(compacted(None))
    yield "sweep", use(lambda archive: archive.sweep(timedelta(seconds=-1)))
    yield "prune", use(lambda archive: archive.prune(keep=1, older_than=timedelta(days=9), max_bytes=10**5))
    yield "forget", use(lambda archive: (archive.forget("t"), archive.forget("s")))
    yield "close", use(lambda archive: archive.close())
    if number % COMMANDS_EVERY:
        return
    for file in path.parent.glob("now.db*"):
        file.unlink()
    for file, data in raw.items():
        file.write_bytes(data)
    for line in _lines(path, lists, number):
        yield " ".join(line), lambda line=line: _command(line)


def _lines(path: Path, lists: dict[str, tuple[str, list[Any]]], number: int) -> Iterator[list[str]]:
    """Command lines on the archive; those that change it come last."""
    url = f"--archive=sqlite:///{path}"
    ref, (session, _) = list(lists.items())[number // COMMANDS_EVERY % len(lists)]
    yield ["restore", ref, url, *([] if session.startswith("unnamed-") else [f"--session={session}"])]
    for action in (["list"], ["show", "s"], ["show", ref], ["search", "begin"], ["verify"], ["export", session]):
        yield ["archive", *action, url]
        yield ["archive", *action, url, *([] if action[0] == "export" else ["--json"])]
    output = f"--output={path.parent / 'o.json'}"
    yield ["compact", str(path.parent / "s.json"), output, "--target-share=0.4", "--session=s", "--pin=begin", url]
    yield ["archive", "prune", "--keep=1", "--max-size=1", url]
    yield ["archive", "prune", "--forget=s", url]


def _command(line: list[str]) -> str:
    """A command exits with a code that it documents for an archive, and no traceback."""
    out, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
        code = main(line)
    return "" if code in {0, 1, 74} and "bug in trimtab" not in told.getvalue() else f"{code}: {told.getvalue()}"
