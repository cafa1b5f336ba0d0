"""What befalls an archive, and that nothing is lost: ``make reliability``; ``--short`` is what runs with the tests.

Prints a row a promise, with the points where a fault was done and what came of it, and writes it to
``target/reliability.json``. Exits with 1 where a promise was broken. Lanes can be named: ``reliability.py kills disk``.
"""

from __future__ import annotations

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

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from _crowds import crowded, disconnected  # noqa: E402
from _disks import faulted, filled, flipped  # noqa: E402
from _kills import killed_postgres, killed_sqlite, migrated  # noqa: E402
from _lane import Lane, record, said, talk, words  # noqa: E402

import trimtab  # noqa: E402
from support.archives import first_archive  # noqa: E402
from support.postgres import Server, binaries  # noqa: E402
from trimtab.archive import MemoryArchive, SqlArchive  # noqa: E402
from trimtab.archive.postgres import PostgresArchive  # noqa: E402
from trimtab.archive.sqlite import SqliteArchive  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SESSIONS = ROOT.parent / "shared" / "data" / "transcripts"
MODEL = "claude-sonnet-4-5"  # for files that name none
TURNS = 40


def shared() -> list[list[dict[str, Any]]]:
    """The messages of every shared session."""
    files = sorted(path for path in SESSIONS.rglob("*") if path.is_file() and path.name != "manifest.csv")
    return [trimtab.read(str(path), whole=True).messages for path in files]


def generated(count: int) -> Iterator[list[dict[str, Any]]]:
    """Lists of conversations, of odd texts, and of numbers that JSON has more than one spelling for."""
    chance = random.Random(1)
    for number in range(count):
        messages = talk(chance, chance.randrange(1, 12))
        text = "".join(map(chr, (chance.randrange(0x11_0000) for _ in range(8))))  # lone surrogates and NUL among them
        odd = {"n": [1.0, 1e300, -0.0, 10**30, True, None], "ü\u0000": {}, "": [[], text], "at": number % 7}
        yield [*messages, said(text), {"role": "user", "content": "", "extra": odd}]


def restored(open_archive: Callable[[], SqlArchive], count: int) -> Lane:
    """Every list comes back equal and the same as JSON."""
    lane, archive = Lane(), open_archive()
    for number, messages in enumerate([*shared(), *generated(count)]):
        archive.commit(archive.store(messages, f"s{number % 50}"), record(f"r{number}", exclusive=False))
        back = archive.load(f"r{number}")
        lane.points += 1
        lane.check(back == messages and json.dumps(back) == json.dumps(messages), f"list {number} is not what it was")
    lane.check(not archive.verify(), "the chain does not hold")
    archive.close()
    return lane


def cost(rounds: int) -> Lane:
    """Both transactions of a compaction of 10,000 messages that fill a window of a million tokens."""
    lane, chance, took = Lane(points=rounds), random.Random(2), []
    messages = talk(chance, 10_000)[:10_000]
    lane.notes["MB"] = round(len(json.dumps(messages)) / 1e6)
    lane.notes["tokens"] = int(trimtab.Counter("o200k_base").per_message(messages).sum())
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            archive = SqliteArchive(Path(folder) / f"{number}.db")
            start = time.perf_counter()
            stored = archive.store(messages, "s")
            archive.commit(stored, record("r", preserved=tuple(range(9_000, 10_000))))
            took.append((time.perf_counter() - start) * 1000)
            archive.close()
    lane.notes["median ms"], lane.notes["best ms"] = round(statistics.median(took)), round(min(took))
    lane.check(statistics.median(took) < 150, f"{statistics.median(took):.0f} ms")
    return lane


def searched(count: int, rounds: int) -> Lane:
    """Searches of so many archived messages: rare and common words, several at once, with and without a session."""
    lane, chance, took = Lane(), random.Random(3), []
    with tempfile.TemporaryDirectory() as folder:
        archive = SqliteArchive(Path(folder) / "archive.db")
        for number in range(count // 1000):
            messages = [said(f"number {number}x{n} {words(chance, 40)}") for n in range(1000)]
            archive.commit(archive.store(messages, f"s{number % 10}"), record(f"r{number}"))
        start = time.perf_counter()
        archive.search("first")
        lane.notes["s to index all"] = round(time.perf_counter() - start)
        for number in range(rounds):
            asked = (f"7x{number}", words(chance, 1), words(chance, 3), words(chance, 8), f"{words(chance, 2)} absent")
            for query in asked:
                for session in (None, "s3"):
                    start = time.perf_counter()
                    archive.search(query, session=session)
                    took.append((time.perf_counter() - start) * 1000)
        archive.close()
    lane.points = len(took)
    lane.notes["median ms"], lane.notes["worst ms"] = round(statistics.median(took)), round(max(took))
    lane.check(statistics.median(took) < 20, f"{statistics.median(took):.1f} ms")
    return lane


def sized() -> Lane:
    """The shared sessions, compacted every 40 turns, in one file: its bytes beside those of the distinct messages."""
    lane, distinct = Lane(), {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "archive.db"
        archive = SqliteArchive(path)
        for number, messages in enumerate(shared()):
            distinct |= {json.dumps(message, ensure_ascii=False): None for message in messages}
            lane.points += _turned(archive, f"s{number}", messages)
        archive.search("index all of it")
        archive.close()
        raw = sum(len(text.encode("utf-8", "surrogatepass")) for text in distinct)
        lane.notes["MB of messages"], lane.notes["MB of the file"] = raw // 10**6, path.stat().st_size // 10**6
        lane.notes["percent"] = round(100 * path.stat().st_size / raw)
    lane.check(lane.notes["percent"] <= 110, f"{lane.notes['percent']} % of the messages' bytes")
    return lane


def _turned(archive: SqlArchive, session: str, messages: list[dict[str, Any]]) -> int:
    """Grows a session message by message, and compacts it every 40 turns of the model; answers how often it did."""
    cm = trimtab.Compactor(MODEL, archive=archive, session=session)
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


def lanes(server: Server, folder: Path, *, short: bool) -> dict[str, tuple[str, Callable[[], Lane | None]]]:
    """Every lane: its name, what it shows, and how it is run."""
    n = (lambda _, few: few) if short else (lambda many, _: many)
    crowd = partial(SqliteArchive, folder / "crowd.db")
    return {
        "restore-memory": ("restored as it was, memory", partial(restored, MemoryArchive, n(10_000, 200))),
        "restore-sqlite": (
            "restored as it was, SQLite",
            partial(restored, partial(SqliteArchive, folder / "restore.db"), n(10_000, 100)),
        ),
        "restore-postgres": (
            "restored as it was, PostgreSQL",
            partial(restored, partial(PostgresArchive, server.url, schema="restore"), n(10_000, 100)),
        ),
        "kills-sqlite": ("SIGKILL of a writer, SQLite", partial(killed_sqlite, n(1_000, 100))),
        "kills-postgres": ("SIGKILL of server and client, PostgreSQL", partial(killed_postgres, server, n(300, 30))),
        "disk": ("I/O error, full, torn write, failed fsync at every n-th operation", partial(faulted, n(1, 7))),
        "full": ("a really full tmpfs", filled),
        "crowd-sqlite": ("8 processes and 8 threads, one session, SQLite", partial(crowded, crowd, n(10_000, 320))),
        "crowd-postgres": (
            "8 processes and 8 threads, one session, PostgreSQL",
            partial(crowded, partial(PostgresArchive, server.url, schema="crowd"), n(10_000, 320)),
        ),
        "cut": ("connection cut before, in, after a commit", partial(disconnected, server, n(201, 12))),
        "migrate": ("migration killed before every statement", partial(migrated, first_archive, server)),
        "flip": ("a flipped bit", partial(flipped, n(500, 60))),
        "cost": ("10,000 messages archived, under 150 ms", partial(cost, n(9, 3))),
        "search": ("100,000 messages searched, under 20 ms", partial(searched, 100_000, n(40, 5))),
        "size": ("shared sessions compacted every 40 turns, at most 110 %", sized),
    }


def main(arguments: list[str]) -> int:
    """Runs the lanes that are named, or all; prints and writes the table."""
    logging.disable(logging.WARNING)  # a pool tells of each connection that was cut: it is what is done here
    short, asked = "--short" in arguments, [word for word in arguments if not word.startswith("-")]
    rows, broken = [], 0
    print(f"SQLite {sqlite3.sqlite_version}, Python {platform.python_version()}, {'short' if short else 'whole'}")
    server = Server(binaries())
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name, (what, run) in lanes(server, Path(folder), short=short).items():
                if asked and not any(name.startswith(word) for word in asked):
                    continue
                start = time.perf_counter()
                lane = run()
                took = time.perf_counter() - start
                said_of = "unproven: no tmpfs here" if lane is None else "; ".join(lane.faults[:3]) or "nothing lost"
                lane = lane or Lane()
                notes = ", ".join(f"{number:,} {name}" for name, number in lane.notes.items())
                print(f"{what:62} {lane.points:7,}  {said_of} ({notes}) {took:.0f} s", flush=True)
                broken += bool(lane.faults)
                rows.append({"lane": name, "points": lane.points, "faults": lane.faults, **lane.notes})
    finally:
        server.stop()
    (ROOT / "target").mkdir(exist_ok=True)
    (ROOT / "target" / "reliability.json").write_text(json.dumps(rows, indent=1) + "\n")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
