"""Claude Code's hooks under damaged events, closed pipes and full disks: no refusal, and no changed session file."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import trimtab

EVENTS = ("pre-compact", "session-start", "post-tool-use")
SMALL_DISK = """
import os, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
os.execv(sys.executable, [sys.executable, "-m", "trimtab", "hook", *sys.argv[2:]])
"""
"""Runs a hook whose files cannot grow over some bytes: writes fail as they do on a full disk."""


def events(home: Path, rng: random.Random) -> bytes:
    """Return an event of any kind, most often damaged: cut, with other bytes, or with values of other types."""
    event: dict[str, Any] = {
        "session_id": f"s-{rng.randrange(5)}",
        "transcript_path": str(home / "session.jsonl"),
        "cwd": str(home),
        "trigger": "auto",
        "source": rng.choice(["compact", "startup", "clear", "resume"]),
        "tool_name": "Bash",
        "tool_use_id": "toolu_1",
        "tool_response": {"stdout": "line of the build\n" * rng.randrange(4_000), "stderr": "", "interrupted": False},
    }
    kind = rng.randrange(4)
    if kind == 0:
        return json.dumps(event).encode()
    if kind == 1:
        odd = (None, 5, [], {}, "", "\0", "../../etc", "a" * 5_000, "\ud800", [[["x" * 9_000]]], float("nan"), 10**400)
        for name in rng.sample(sorted(event), rng.randrange(1, 4)):
            event[name] = rng.choice(odd)
        return json.dumps(event).encode()
    raw = bytearray(json.dumps(event).encode())
    if kind == 2:
        return bytes(raw[: rng.randrange(len(raw))])
    for _ in range(rng.randrange(1, 20)):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    return bytes(raw)


@pytest.mark.parametrize("runs", [24, pytest.param(1_000, marks=pytest.mark.slow)])
def test_no_run_refuses_or_changes_a_session(runs: int, tmp_path: Path) -> None:
    rng = random.Random(23)
    session = tmp_path / "session.jsonl"
    lines = [
        {"uuid": f"u{n}", "type": "user", "message": {"role": "user", "content": f"Never do {n}. {'x' * 200}"}}
        for n in range(50)
    ]
    session.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    before = session.read_bytes()
    root = str(Path(trimtab.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": root, "TRIMTAB_HOME": str(tmp_path / "data")}
    env.pop("CLAUDE_PROJECT_DIR", None)
    for number in range(runs):
        words = [rng.choice(EVENTS)]
        words += ["--truncate", "100"] * (words[0] == "post-tool-use")
        how, raw = rng.choice(["plain", "full", "closed", "small disk"]), events(tmp_path, rng)
        program = [sys.executable, "-m", "trimtab", "hook", *words]
        given: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        ends: list[int] = []
        if how == "full":
            ends = [os.open("/dev/full", os.O_WRONLY)]
        elif how == "closed":
            read, written = os.pipe()
            os.close(read)
            ends = [written]
        elif how == "small disk":
            program = [sys.executable, "-c", SMALL_DISK, str(rng.choice([0, 100, 4_096])), *words]
        if ends:
            given = {"stdout": ends[0], "stderr": ends[0]}
        done = subprocess.run(program, input=raw, env=env, timeout=60, check=False, **given)
        for end in ends:
            os.close(end)
        assert done.returncode == 0, (number, how, words, raw[:500], done.stderr)
        assert session.read_bytes() == before
        if done.stdout:
            json.loads(done.stdout)
