"""Fault injection into archives at length, and what they cost: ``make reliability``.

Prints a row for each scenario and writes them to ``target/reliability.json``. Exits with 1 if a guarantee was
broken. ``python -m faults.reliability sigkill disk`` runs the scenarios whose names begin so, ``--short`` few cases of
each.
"""

from __future__ import annotations

import argparse
import json
import logging
import platform
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trimtab
from faults.concurrency import concurrent
from faults.connection import dropped
from faults.disk import faulted, filled, flipped
from faults.hostile import hostile
from faults.outcome import MODEL, Outcome, conversation, words
from faults.sigkill import killed_postgres, killed_sqlite, migrated
from support.archives import first_archive, record, said
from support.postgres import Server, binaries
from trimtab.archive import PostgresArchive, SqliteArchive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from trimtab.archive import SqlArchive

ROOT = Path(__file__).resolve().parents[2]
SESSIONS = ROOT.parent / "shared" / "data" / "transcripts"
TURNS = 40
"""Responses of the model between two compactions of a recorded session."""


def recorded() -> list[list[dict[str, Any]]]:
    """The messages of every recorded session on this machine."""
    files = sorted(path for path in SESSIONS.rglob("*") if path.is_file() and path.name != "manifest.csv")
    return [trimtab.read(str(path), whole=True).messages for path in files]


def generated(count: int) -> Iterator[list[dict[str, Any]]]:
    """Conversations that also hold odd texts, and numbers that JSON can write in more than one way."""
    rng = random.Random(1)
    for number in range(count):
        messages = conversation(rng, rng.randrange(1, 12))
        text = "".join(map(chr, (rng.randrange(0x11_0000) for _ in range(8))))  # lone surrogates and NUL among them
        odd = {"n": [1.0, 1e300, -0.0, 10**30, True, None], "ü\u0000": {}, "": [[], text], "at": number % 7}
        yield [*messages, said(text), {"role": "user", "content": "", "extra": odd}]


def restored(open_archive: Callable[[], SqlArchive], count: int) -> Outcome:
    """Every list comes back equal, in Python and as JSON."""
    outcome, archive = Outcome(), open_archive()
    for number, messages in enumerate([*recorded(), *generated(count)]):
        archive.commit(archive.store(messages, f"s{number % 50}"), record(f"r{number}", exclusive=False))
        back = archive.load(f"r{number}")
        outcome.cases += 1
        outcome.check(back == messages and json.dumps(back) == json.dumps(messages), f"list {number} came back changed")
    outcome.check(not archive.verify(), "the hash chain is broken")
    archive.close()
    return outcome


def cost(rounds: int) -> Outcome:
    """Milliseconds to archive a compaction of 10,000 messages, about a million tokens."""
    outcome, rng, took = Outcome(cases=rounds), random.Random(2), []
    messages = conversation(rng, 10_000)[:10_000]
    outcome.counts["MB"] = round(len(json.dumps(messages)) / 1e6)
    outcome.counts["tokens"] = int(trimtab.Counter("o200k_base").per_message(messages).sum())
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            archive = SqliteArchive(Path(folder) / f"{number}.db")
            start = time.perf_counter()
            stored = archive.store(messages, "s")
            archive.commit(stored, record("r", preserved=tuple(range(9_000, 10_000))))
            took.append((time.perf_counter() - start) * 1000)
            archive.close()
    outcome.counts["median ms"], outcome.counts["best ms"] = round(statistics.median(took)), round(min(took))
    outcome.check(statistics.median(took) < 150, f"{statistics.median(took):.0f} ms")
    return outcome


def searched(count: int, rounds: int) -> Outcome:
    """Milliseconds to search ``count`` messages: rare and common words, one and several, in one and in all sessions."""
    outcome, rng, took = Outcome(), random.Random(3), []
    with tempfile.TemporaryDirectory() as folder:
        archive = SqliteArchive(Path(folder) / "archive.db")
        for number in range(count // 1000):
            messages = [said(f"number {number}x{n} {words(rng, 40)}") for n in range(1000)]
            archive.commit(archive.store(messages, f"s{number % 10}"), record(f"r{number}"))
        start = time.perf_counter()
        archive.search("first")
        outcome.counts["s to index all"] = round(time.perf_counter() - start)
        for number in range(rounds):
            queries = (f"7x{number}", words(rng, 1), words(rng, 3), words(rng, 8), f"{words(rng, 2)} absent")
            for query in queries:
                for session in (None, "s3"):
                    start = time.perf_counter()
                    archive.search(query, session=session)
                    took.append((time.perf_counter() - start) * 1000)
        archive.close()
    outcome.cases = len(took)
    outcome.counts["median ms"], outcome.counts["worst ms"] = round(statistics.median(took)), round(max(took))
    outcome.check(statistics.median(took) < 20, f"{statistics.median(took):.1f} ms")
    return outcome


def sized() -> Outcome:
    """Bytes of an archive of the recorded sessions, compacted every 40 responses, over those of distinct messages."""
    outcome, distinct = Outcome(), {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "archive.db"
        archive = SqliteArchive(path)
        for number, messages in enumerate(recorded()):
            distinct |= {json.dumps(message, ensure_ascii=False): None for message in messages}
            outcome.cases += _play(archive, f"s{number}", messages)
        archive.search("index all of it")
        archive.close()
        raw = sum(len(text.encode("utf-8", "surrogatepass")) for text in distinct)
        outcome.counts["MB of messages"], outcome.counts["MB of the file"] = raw // 10**6, path.stat().st_size // 10**6
        outcome.counts["percent"] = round(100 * path.stat().st_size / raw)
    outcome.check(outcome.counts["percent"] <= 110, f"{outcome.counts['percent']} % of the messages' bytes")
    return outcome


def _play(archive: SqlArchive, session: str, messages: list[dict[str, Any]]) -> int:
    """Plays a session message by message and compacts it every 40 responses. Returns the number of compactions."""
    cm = trimtab.Compactor(MODEL, archive=archive).session(session)
    held: list[Any] = []
    turns = done = 0
    for message in messages:
        held.append(message)
        turns += message.get("role") == "assistant" or message.get("type") in {"message", "function_call"}
        if turns < TURNS:
            continue
        try:
            compaction = cm.compact(held, target_share=0.4)
        except trimtab.MessageError:  # an open call: at the next message
            continue
        if compaction.ref:
            held, turns, done = list(compaction.messages), 0, done + 1
    return done


Scenarios = dict[str, tuple[str, "Callable[[], Outcome | None]"]]


def scenarios(server: Server, folder: Path, *, short: bool) -> Scenarios:
    """Return each scenario by name: its description, and a function that runs it."""
    size = (lambda _, few: few) if short else (lambda many, _: many)
    shared_file = partial(SqliteArchive, folder / "concurrent.db")
    return {
        "restore-memory": (
            "lists restored unchanged, memory",
            partial(restored, partial(SqliteArchive, ":memory:"), size(10_000, 200)),
        ),
        "restore-sqlite": (
            "lists restored unchanged, SQLite",
            partial(restored, partial(SqliteArchive, folder / "restore.db"), size(10_000, 100)),
        ),
        "restore-postgres": (
            "lists restored unchanged, PostgreSQL",
            partial(restored, partial(PostgresArchive, server.url, schema="restore"), size(10_000, 100)),
        ),
        "sigkill-sqlite": ("SIGKILL of a writer, SQLite", partial(killed_sqlite, size(1_000, 100))),
        "sigkill-postgres": (
            "SIGKILL of server and client, PostgreSQL",
            partial(killed_postgres, server, size(300, 30)),
        ),
        "disk": ("I/O error, full disk, torn write, failed fsync at each operation", partial(faulted, size(1, 7))),
        "full": ("a full tmpfs", filled),
        "concurrent-sqlite": (
            "8 processes and 8 threads compact one session, SQLite",
            partial(concurrent, shared_file, size(10_000, 320)),
        ),
        "concurrent-postgres": (
            "8 processes and 8 threads compact one session, PostgreSQL",
            partial(concurrent, partial(PostgresArchive, server.url, schema="concurrent"), size(10_000, 320)),
        ),
        "connection": ("connection dropped before, in, after a commit", partial(dropped, server, size(201, 12))),
        "migrate": ("SIGKILL before each statement of a migration", partial(migrated, first_archive, server)),
        "bit": ("a flipped bit", partial(flipped, size(500, 60))),
        "hostile": ("files flipped, cut, mixed, rows rewritten, under every verb", partial(hostile, size(5_000, 100))),
        "cost": ("10,000 messages archived in under 150 ms", partial(cost, size(9, 3))),
        "search": (
            f"{size(100_000, 10_000):,} messages searched in under 20 ms",
            partial(searched, size(100_000, 10_000), size(40, 5)),
        ),
        "size": ("recorded sessions archived in at most 110 % of their bytes", sized),
    }


def main() -> int:
    """Runs the named scenarios, or all; prints and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="beginnings of names; all scenarios where none is given")
    parser.add_argument("--short", action="store_true", help="few cases of each")
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # the connection pool warns of each connection that a scenario drops
    rows = []
    print(f"trimtab {trimtab.__version__}, SQLite {sqlite3.sqlite_version}, Python {platform.python_version()}")
    server = Server(binaries())
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name, (what, run) in scenarios(server, Path(folder), short=options.short).items():
                if options.names and not name.startswith(tuple(options.names)):
                    continue
                start = time.perf_counter()
                outcome = run()
                seconds = time.perf_counter() - start
                if outcome is None:
                    print(f"{what:62} not run: no tmpfs can be mounted here")
                    continue
                result = "; ".join(outcome.failures[:3]) or "ok"
                counts = ", ".join(f"{number:,} {of}" for of, number in outcome.counts.items())
                print(f"{what:62} {outcome.cases:7,}  {result} ({counts}) {seconds:.0f} s", flush=True)
                rows.append({"scenario": name, "cases": outcome.cases, "failures": outcome.failures, **outcome.counts})
    finally:
        server.stop()
    (ROOT / "target").mkdir(exist_ok=True)
    (ROOT / "target" / "reliability.json").write_text(json.dumps(rows, indent=1) + "\n")
    return int(any(row["failures"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
