"""Jobs over many sessions, done by the real engines: the same rows whoever does them, and whoever is killed."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("daft", reason="make adapters installs the engines")
pytest.importorskip("ray", reason="make adapters installs the engines")

import pyarrow.parquet as pq

import trimtab
from trimtab.adapters.batch import Done, run

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Daft leaves pipes open

ROOT = Path(__file__).parents[2]
MODEL = "claude-sonnet-4-5"
TABLES = ("sessions", "messages", "quarantine")
KILLS = int(os.environ.get("BATCH_KILLS", "50"))
"""How often the job, and how often a worker, is killed by the slow test."""

QUIET = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0", "PYTHONUNBUFFERED": "1"}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of 1 MB a part, with a bad one and a damaged one among them."""
    folder = tmp_path_factory.mktemp("in")
    pick = random.Random(7)
    for number in range(24):
        words = " ".join(str(pick.randrange(10**6)) for _ in range(40_000))
        messages = [{"role": "user", "content": words}, {"role": "assistant", "content": f"answer {number}"}]
        (folder / f"{number:02}.json").write_text(json.dumps(messages))
    (folder / "bad.json").write_bytes(b"cut off {")
    lines = trimtab.formats.EXAMPLE.read_bytes().splitlines(keepends=True)
    (folder / "session.jsonl").write_bytes(b"".join([*lines[:9], b"damaged\n", *lines[9:]]))
    return folder


def tables(out: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of each table, part after part."""
    return {
        name: [row for part in sorted((out / name).glob("*.parquet")) for row in pq.read_table(part).to_pylist()]
        for name in TABLES
    }


@pytest.fixture(scope="module")
def expected(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What one worker in one process makes of the files."""
    out = tmp_path_factory.mktemp("expected") / "out"
    done = run("count", [str(inputs)], str(out), model=MODEL, workers=1, part_mb=1)
    assert (done.rows, done.bad, done.places) == (26, 1, 2)
    found = tables(out)
    for row in found["sessions"]:
        if row["error"] is None:
            read = trimtab.read(row["path"], repair="logs")
            counter = trimtab.Counter.for_model(MODEL)
            assert row["tokens"] == counter.per_message(read.messages, provider=read.provider).sum()
    return found


def command(inputs: Path, out: Path, *more: str) -> list[str]:
    words = ["batch", "count", str(inputs), "--model", MODEL, "--out", str(out), "--part-mb", "1", *more]
    return [sys.executable, "-m", "trimtab", *words]


def started(inputs: Path, out: Path, *more: str) -> subprocess.Popen[bytes]:
    """The command, as a group of processes of its own."""
    return subprocess.Popen(
        command(inputs, out, *more),
        env={**os.environ, **QUIET},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def test_workers_do_not_change_the_rows(inputs: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    for workers in (2, 3):
        out = tmp_path / str(workers)
        assert run("count", [str(inputs)], str(out), model=MODEL, workers=workers, part_mb=1).rows == 26
        assert tables(out) == expected
    assert not [*tmp_path.glob("*/.work-*")]


def test_ray_makes_the_same_rows(inputs: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    job = started(inputs, tmp_path / "out", "--engine", "ray", "--workers", "2", "--json")
    said = job.communicate(timeout=120)[0].decode()
    assert job.returncode == 0, said
    assert tables(tmp_path / "out") == expected
    assert json.loads(said[said.index("{\n") : said.rindex("}") + 1])["rows"] == 26


def test_the_page_runs() -> None:
    text = (ROOT / "docs" / "batch.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S)
    names: dict[str, Any] = {}
    exec(compile(block, "batch.md", "exec"), names)
    assert names["sessions"].num_rows == names["done"].rows == 3


def children(pid: int) -> list[int]:
    """The processes that a process has started, as the system lists them."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


def killed(inputs: Path, out: Path, pick: random.Random, *, worker: bool) -> bool:
    """Kill the job, or one of its workers, at a random moment; return whether it was still at work."""
    job = started(inputs, out, "--workers", "2")
    time.sleep(0.3 + pick.random() * 2.0)
    whom = pick.choice(children(job.pid) or [job.pid]) if worker else job.pid
    with suppress(ProcessLookupError):
        os.kill(whom, signal.SIGKILL)
    said = job.communicate(timeout=60)[0]
    if worker:
        assert job.returncode in (0, -signal.SIGKILL), said
        return b"in 0 parts" not in said
    return job.returncode == -signal.SIGKILL


def after_kills(inputs: Path, expected: dict[str, Any], folder: Path, times: int) -> None:
    """Kill jobs and workers, and go on: nothing is there twice, and nothing is lost."""
    pick = random.Random(26)
    hit = 0
    for number in range(times):
        for worker in (False, True):
            out = folder / f"{number}-{worker}"
            hit += killed(inputs, out, pick, worker=worker)
            done = subprocess.run(command(inputs, out, "--workers", "2"), capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            assert tables(out) == expected
            assert not [*out.glob(".work-*")]
    assert hit > times // 2, "most were killed at work"


def test_a_job_goes_on_after_kills(inputs: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    after_kills(inputs, expected, tmp_path, 2)


@pytest.mark.slow
def test_a_job_goes_on_after_many_kills(inputs: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    after_kills(inputs, expected, tmp_path, KILLS)


def test_an_interrupt_ends_the_job_and_its_workers(inputs: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    job = started(inputs, out, "--workers", "2")
    while not [*out.glob("sessions/*")]:
        time.sleep(0.02)
    workers = children(job.pid)
    os.killpg(job.pid, signal.SIGINT)
    said = job.communicate(timeout=30)[0].decode()
    assert job.returncode == 130, said
    assert "Traceback" not in said
    until = time.monotonic() + 20
    while any(Path(f"/proc/{worker}/exe").exists() for worker in workers):
        assert time.monotonic() < until, "a worker outlives the job"
        time.sleep(0.1)
    assert not [*out.glob(".work-*")]
    assert run("count", [str(inputs)], str(out), model=MODEL, part_mb=1) != Done()
    assert tables(out) == expected
