"""Jobs over 10,000 files: how fast, how much memory, and the same rows whoever does them; ``make bench-batch``.

The files are cut from the shared sessions (``_batch_corpus.py``). Each row is the command line in a process of its own:
its CPU time with that of its workers, and the time on the clock. The loop is what one writes by hand: for each file the
same engine calls a function that parses the lines by json and encodes their texts by tiktoken.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import _rivals
import pyarrow.parquet as pq
from _batch_corpus import write

FILES, FEW = 10_000, 200
SIZE = 21_000
"""Bytes asked of a file: a window ends behind the line that reaches them, so that files have 42 KB on average."""

MODEL, LOOP = "claude-sonnet-4-5", "loop"
LARGE, SMALL = 5_000, 50
"""Megabytes of the one file whose lines are sessions."""

TABLES = ("sessions", "messages", "quarantine")


@dataclass(frozen=True)
class Took:
    """What a command took: seconds of processors and of the clock, and the most memory of one of its processes."""

    processor: float
    clock: float
    memory: int

    def __str__(self) -> str:
        return f"{self.processor:7.1f} s CPU {self.clock:7.1f} s"


def memory_of(session: int) -> int:
    """Return the most memory that a process of a session has had, in bytes."""
    most = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            if int((folder / "stat").read_text().rpartition(")")[2].split()[3]) == session:
                status = (folder / "status").read_text()
                most = max(most, int(status.partition("VmHWM:")[2].split()[0]) << 10)
    return most


def run(command: list[str]) -> Took:
    """Run a command to its end.

    Raises:
        SystemExit: it failed.
    """
    began, most, ended = time.monotonic(), [0], threading.Event()
    environment = {**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
    with tempfile.TemporaryFile() as said:
        job = subprocess.Popen(command, env=environment, stdout=said, stderr=said, start_new_session=True)

        def watch() -> None:
            while not ended.wait(0.05):
                most[0] = max(most[0], memory_of(job.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        _, status, used = os.wait4(job.pid, 0)
        ended.set()
        watcher.join()
        if status:
            said.seek(0)
            raise SystemExit(said.read().decode())
    return Took(used.ru_utime + used.ru_stime, time.monotonic() - began, most[0])


def batch(verb: str, inputs: Path, out: Path, *more: str) -> Took:
    """Run a job from the command line."""
    words = ["batch", verb, str(inputs), "--model", MODEL, "--out", str(out), *more]
    return run([sys.executable, "-m", "trimtab", *words])


def rows(out: Path, table: str) -> list[dict[str, object]]:
    """Return a table's rows, part after part."""
    return [row for part in sorted((out / table).glob("*.parquet")) for row in pq.read_table(part).to_pylist()]


def loop(folder: Path) -> None:
    """Count the texts of a folder's files by json and tiktoken, on one worker of the same engine."""
    _rivals.write_vocabularies()
    os.environ["TIKTOKEN_CACHE_DIR"] = str(_rivals.FOLDER / "tiktoken")
    import daft
    import tiktoken

    encode = tiktoken.get_encoding("o200k_base").encode_ordinary

    def texts(value: object) -> list[str]:
        if isinstance(value, str):
            return [value]
        if isinstance(value, list):
            return [text for each in value for text in texts(each)]
        if isinstance(value, dict):
            if "content" in value:
                return texts(value["content"])
            named = [value.get(name) for name in ("text", "thinking", "output", "arguments")]
            called = [json.dumps(value["input"])] if "input" in value else []
            return called + [text for text in named if isinstance(text, str)]
        return []

    @daft.func(use_process=False)
    def count(path: str) -> int:
        tokens = 0
        with open(path, "rb") as file:  # noqa: PTH123
            for line in file:
                value = json.loads(line)
                for text in texts(value.get("message") or value.get("payload")):
                    tokens += len(encode(text))
        return tokens

    names = daft.from_pydict({"path": sorted(map(str, folder.iterdir()))})
    counted = names.select(count(daft.col("path")).alias("tokens")).to_pydict()["tokens"]
    print(sum(counted))


def large(path: Path, folder: Path, megabytes: int) -> None:
    """Write a file whose lines are sessions: lists of messages, made of the files' texts."""
    import trimtab

    names = sorted(folder.iterdir())
    with path.open("w") as file:
        number = 0
        while file.tell() < megabytes * 10**6:
            with suppress(trimtab.MessageError):
                found = trimtab.read(names[number % len(names)])
                file.write(json.dumps([{"role": "user", "content": f"number {number}"}, *found.messages]) + "\n")
            number += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="few files, to try the bench")
    parser.add_argument("--loop", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.loop:
        loop(options.loop)
        return 0
    print(_rivals.machine())
    names = ("trimtab", "daft", "ray", "pyarrow", "tiktoken")
    print(", ".join(f"{name} {version(name)}" for name in names))
    with tempfile.TemporaryDirectory() as name:
        return measure(Path(name), FEW if options.small else FILES, SMALL if options.small else LARGE)


def measure(work: Path, files: int, megabytes: int) -> int:
    """Print a row for each measure; return 1 where rows differ."""
    folder = work / "in"
    folder.mkdir()
    digest = write(folder, files, SIZE)
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{files:,} files, {size / 1e6:,.1f} MB, sha256 {digest[:16]}; {MODEL}\n")

    def told(name: str, took: Took, more: str = "") -> None:
        print(f"{name:38} {took} {size / 1e6 / took.processor:7.1f} MB/s of CPU  {more}", flush=True)

    one = batch("count", folder, work / "one", "--workers", "1")
    told("count, 1 worker", one)
    two = batch("count", folder, work / "two", "--workers", "2")
    told("count, 2 workers", two, f"{one.clock / two.clock:.2f} x one on the clock, goal 1.8")
    by_hand = run([sys.executable, __file__, "--loop", str(folder)])
    told("json + tiktoken on the same engine", by_hand, f"count is {by_hand.processor / one.processor:.1f} x, goal 12")
    smaller = batch("compact", folder, work / "smaller", "--workers", "1", "--target-share", "0.4")
    told("compact to 40 %, 1 worker", smaller)
    batch("count", folder, work / "ray", "--workers", "2", "--engine", "ray")
    same = [all(rows(work / "one", table) == rows(work / other, table) for table in TABLES) for other in ("two", "ray")]
    held = sum(path.stat().st_size for path in (work / "one").glob("*/*.parquet"))
    print(f"tables of count: {held / 1e6:,.1f} MB, {100 * held / size:.1f} % of the input")
    print(f"rows equal to those of 1 worker: 2 workers {same[0]}, Ray {same[1]}")
    path = work / "large.jsonl"
    large(path, folder, megabytes)
    most = batch("count", path, work / "large", "--workers", "2")
    held = path.stat().st_size / 1e6
    print(f"one file of {held:,.0f} MB, 2 workers: {most}, at most {most.memory / 1e6:,.0f} MB a process, goal 1,000")
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
