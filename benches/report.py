"""CPU time and size of ``trimtab report`` on long sessions, each in a new process; ``make bench-report``.

Exits with 1 if a page is larger than its goal.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import _rivals
import _transcripts

import trimtab

GOALS = {5_000: (300, None), 100_000: (600, 5.0)}
"""Kilobytes of a page at most, by messages, and seconds of CPU."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="one round of the smaller session, to try the bench")
    options = parser.parse_args()
    print(f"{_rivals.machine()}, trimtab {trimtab.__version__}")
    large = 0
    for count, (most, seconds) in [*GOALS.items()][: 1 if options.small else None]:
        messages = _transcripts.anthropic(count)
        with tempfile.TemporaryDirectory() as folder:
            file, page = Path(folder, "session.json"), Path(folder, "report.html")
            file.write_text(json.dumps(messages))
            command = ["report", str(file), "--model", "claude-sonnet-5-5", "-o", str(page)]
            cpu = min(_cpu(command, folder) for _ in range(1 if options.small else options.rounds))
            size = page.stat().st_size / 1000
        goals = f"{most} KB" + (f", {seconds:.0f} s" if seconds else "")
        print(f"  {count:>7,} messages ({_transcripts.digest(messages)}): {cpu:5.2f} s, {size:4.0f} KB; goal: {goals}")
        large += size > most
    return int(large > 0)


def _cpu(command: list[str], folder: str) -> float:
    """Seconds of CPU of a command, from process start."""
    env = os.environ | {"TRIMTAB_HOME": str(Path(folder, "data"))}
    files = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    words = [sys.executable, "-m", "trimtab", *command]
    _, status, used = os.wait4(os.posix_spawn(sys.executable, words, env, file_actions=files), 0)
    assert status == 0
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
