"""What the parts of counting cost by themselves, and what memory does: the table of ``make bench-limits``.

``rust/core/examples/limits.rs`` measures; this writes its corpora. A cell is wall time of the fastest of nine rounds in
which the parts take turns, so that what else runs on the machine shows least.
"""

from __future__ import annotations

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
    files = [str(_rivals.FOLDER / f"{corpus}.json") for corpus in _corpora.NAMES]
    for encoding in sys.argv[1:] or _rivals.ENCODINGS:
        print(flush=True)
        subprocess.run([*RUN.split(), encoding, *files], check=True)


if __name__ == "__main__":
    main()
