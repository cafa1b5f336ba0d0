"""What an import and the first calls cost, each in a fresh process; ``make bench-startup``."""

from __future__ import annotations

import statistics
import subprocess
import sys

import trimtab

ROUNDS = 11
STEPS = {
    "import trimtab": "import trimtab",
    "+ Counter, first count": "import trimtab; trimtab.Counter('o200k_base').count('hello')",
    "+ Compactor": "import trimtab; trimtab.Compactor('claude-sonnet-4-5')",
    "+ first plan (numpy)": "import trimtab; trimtab.Compactor('gpt-5.5').plan([{'role': 'user', 'content': 'x'}])",
    "import tiktoken": "import tiktoken",
    "import numpy": "import numpy",
}


def milliseconds(code: str) -> float:
    """Median of the time that ``code`` takes in a process that does nothing else."""
    timed = f"import time; t = time.perf_counter()\n{code}\nprint(time.perf_counter() - t)"
    command = [sys.executable, "-c", timed]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(ROUNDS)]
    return 1000 * statistics.median(float(run.stdout) for run in runs)


def main() -> int:
    print(f"trimtab {trimtab.__version__}, Python {sys.version.split()[0]}, median of {ROUNDS} processes each")
    times = {name: milliseconds(code) for name, code in STEPS.items()}
    for name, ms in times.items():
        print(f"  {name:26} {ms:7.1f} ms")
    return int(times["import trimtab"] > 50)


if __name__ == "__main__":
    sys.exit(main())
