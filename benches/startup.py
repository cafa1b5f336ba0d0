"""Cost of an import, of the first calls and of memory, each in new processes; ``make bench-startup``.

Exits with 1 if ``import trimtab`` takes 30 ms or more.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import _corpora
import _rivals

import trimtab

LIMIT = 30
"""Milliseconds of ``import trimtab``."""

GOALS = {
    "hook session-start": "60",
    "hook post-tool-use": "60",
    "hook pre-compact": "60, and 60 a MB",
    "statusline": "30",
}
"""Milliseconds of CPU by command of Claude Code."""

USAGE = {"input_tokens": 5, "cache_read_input_tokens": 90_000, "cache_creation_input_tokens": 0, "output_tokens": 480}
"""Usage of the last answer in the session file."""

IMPORT = "import trimtab"
STEPS = {
    IMPORT: "import trimtab",
    "+ Counter, first count": "import trimtab; trimtab.Counter('o200k_base').count('hello')",
    "+ Compactor": "import trimtab; trimtab.Compactor('claude-sonnet-4-5')",
    "+ first plan (numpy)": "import trimtab; trimtab.Compactor('gpt-5.5').plan([{'role': 'user', 'content': 'x'}])",
    "import tiktoken": "import tiktoken",
    "+ encoding, first count": "import tiktoken; tiktoken.get_encoding('o200k_base').encode_ordinary('hello')",
    "import numpy": "import numpy",
}
TIMED = """
import time
start = time.perf_counter()
{code}
print(1000 * (time.perf_counter() - start))
"""
RESIDENT = """
import ctypes, gc, os, sys
sys.path.insert(0, {folder!r})
import _rivals, trimtab
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
before = resident()
for encoding in {encodings!r}:
    for corpus in {corpora!r}:
        trimtab.Counter(encoding).count_many(_rivals.read_corpus(corpus))
gc.collect()
ctypes.CDLL(None).malloc_trim(0)
print(resident() - before)
"""


def printed(code: str, rounds: int) -> float:
    """Median of the number that ``code`` prints, in a new process each."""
    env = os.environ | {"TIKTOKEN_CACHE_DIR": str(_rivals.FOLDER / "tiktoken")}
    command = [sys.executable, "-c", code]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True, env=env) for _ in range(rounds)]
    return statistics.median(float(run.stdout) for run in runs)


def hook_times(rounds: int) -> dict[str, float]:
    """Median CPU time in ms of each command of Claude Code from process start, the session file of 1 MB."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        session, event = Path(folder, "session.jsonl"), Path(folder, "event.json")
        line = json.dumps({"uuid": "u", "type": "user", "message": {"role": "user", "content": "Never " + "x " * 480}})
        answer = {"role": "assistant", "id": "m", "content": [{"type": "text", "text": "x " * 480}], "usage": USAGE}
        last = json.dumps({"uuid": "a", "parentUuid": "u", "type": "assistant", "message": answer})
        session.write_text(f"{line}\n" * (1_000_000 // len(line)) + f"{last}\n")
        output = {"stdout": "line of the build\n" * 4_000, "stderr": ""}
        names = {"session_id": "s", "transcript_path": str(session), "cwd": folder, "source": "compact"}
        event.write_text(
            json.dumps(
                {
                    **names,
                    "tool_name": "Bash",
                    "tool_use_id": "t",
                    "tool_response": output,
                    "model": {"id": "claude-opus-4-6"},
                }
            )
        )
        env = os.environ | {"TRIMTAB_HOME": str(Path(folder, "data"))}
        return {name: statistics.median(_cpu(name, event, env) for _ in range(rounds)) for name in GOALS}


def _cpu(name: str, event: Path, env: dict[str, str]) -> float:
    files = [(os.POSIX_SPAWN_OPEN, 0, str(event), os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    command = [sys.executable, "-m", "trimtab", *name.split()]
    _, status, used = os.wait4(os.posix_spawn(sys.executable, command, env, file_actions=files), 0)
    assert status == 0
    return 1000 * (used.ru_utime + used.ru_stime)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--small", action="store_true", help="small corpora, to try the bench")
    options = parser.parse_args()
    _rivals.write_vocabularies()
    for name in _corpora.NAMES:
        texts = _corpora.corpus(name)
        _rivals.write_corpus(name, _corpora.first_bytes(texts, _corpora.SMALL) if options.small else texts)
    versions = _rivals.versions()
    print(f"{_rivals.machine()}, trimtab {trimtab.__version__}, tiktoken {versions.get('tiktoken', 'missing')}")
    print(f"medians of {options.rounds} processes each")
    times = {name: printed(TIMED.format(code=code), options.rounds) for name, code in STEPS.items()}
    for name, ms in times.items():
        print(f"  {name:26} {ms:7.1f} ms")
    for name, ms in hook_times(options.rounds).items():
        print(f"  trimtab {name:18} {ms:7.1f} ms of CPU; goal: {GOALS[name]}")
    folder = str(Path(__file__).resolve().parent)
    for encoding in _rivals.ENCODINGS:
        first = "import trimtab._core as core\n" + TIMED.format(code=f"core.Counter({encoding!r}).count('a')")
        print(f"  load of {encoding}, first count: {printed(first, options.rounds):5.2f} ms")
    code = RESIDENT.format(folder=folder, encodings=_rivals.ENCODINGS, corpora=_corpora.NAMES)
    print(f"  memory after all corpora in both encodings, without their text: {printed(code, 3):.0f} MB")
    return int(times[IMPORT] >= LIMIT)


if __name__ == "__main__":
    sys.exit(main())
