"""What the parts of counting cost by themselves, and what other designs do: the tables of ``make bench-limits``.

``rust/core/examples/limits.rs`` measures; this writes its corpora. A cell is CPU time on one core of the fastest of
nine rounds in which parts and designs take turns, so that what else runs on the machine shows least.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import _corpora
import _rivals

RUN = (
    "cargo",
    "run",
    "--quiet",
    "--release",
    "-p",
    "trimtab-core",
    "--features",
    "limits",
    "--example",
    "limits",
    "--",
)


def main() -> None:
    for corpus in _corpora.NAMES:
        _rivals.write(corpus)
    subprocess.run([*RUN[:1], "build", *RUN[2:-1]], check=True)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    files = [str(_rivals.FOLDER / f"{corpus}.json") for corpus in _corpora.NAMES]
    for encoding in sys.argv[1:] or _rivals.ENCODINGS:
        print(flush=True)
        subprocess.run([*RUN, encoding, *files], check=True)


if __name__ == "__main__":
    main()
