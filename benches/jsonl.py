"""JSONL to a ledger, reading alone, beside ``orjson.loads`` a line; ``make bench-jsonl``.

Both on one thread, interleaved, CPU time. Ours checks the whole of each line, unescapes its texts and fills the
columns of a ledger; counting is not in the figure. orjson makes objects, and no ledger. The shared sessions'
messages where there are any, else generated ones; both are printed where both are there.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import random
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

import trimtab
from trimtab import _core

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
SESSIONS = ROOT.parent / "shared" / "data" / "transcripts"
ROUNDS = 9
WORDS = ("error", "file", "not", "found", "line", "def", "return", "self", "import", "path", "==", "value", "items")


def made(count: int) -> list[dict]:
    """Messages of about 500 bytes: what is said, calls and results, a third each."""
    rng = random.Random(0)

    def text(length: int) -> str:
        words = rng.choices(WORDS, k=length // 5)
        return " ".join(word + "\n" * (n % 9 == 8) for n, word in enumerate(words))

    def message(n: int) -> dict:
        if n % 3 == 0:
            return {"role": "user", "content": text(450)}
        if n % 3 == 1:
            call = {"type": "tool_use", "id": f"t{n}", "name": "bash", "input": {"command": text(150)}}
            return {"role": "assistant", "content": [{"type": "text", "text": text(180)}, call]}
        result = {"type": "tool_result", "tool_use_id": f"t{n - 1}", "content": text(400)}
        return {"role": "user", "content": [result]}

    return [message(n) for n in range(count)]


def inputs() -> dict[tuple[str, str], bytes]:
    """Text by name and provider."""
    lists: dict[tuple[str, str], list] = {("generated", "anthropic"): made(40_000)}
    for path in sorted(SESSIONS.rglob("*")):
        if path.is_file() and path.name != "manifest.csv":
            found = trimtab.read(path)
            lists.setdefault(("shared", found.provider), []).extend(found.messages)
    return {key: "".join(f"{json.dumps(m, ensure_ascii=False)}\n" for m in ms).encode() for key, ms in lists.items()}


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> int:
    version = importlib.metadata.version("orjson")
    print(f"trimtab {trimtab.__version__}, orjson {version}, Python {platform.python_version()}; {ROUNDS} rounds")
    print("MB/s       shape                MB  B/line  trimtab  orjson  ratio      spread  hash")
    for (name, provider), raw in inputs().items():
        lines = raw.splitlines()
        if _core.survey(raw, provider=provider) is None:
            print(f"{name} {provider}: a line is no message")
            return 1
        pairs = []
        for _ in range(ROUNDS):
            ours = seconds(lambda raw=raw, provider=provider: _core.survey(raw, provider=provider))
            theirs = seconds(lambda lines=lines: [None for line in lines if orjson.loads(line) is None])
            pairs.append((ours, theirs))
        ratios = sorted(theirs / ours for ours, theirs in pairs)
        ours, theirs = (len(raw) / 1e6 / statistics.median(times) for times in zip(*pairs, strict=True))
        digest = hashlib.sha256(raw).hexdigest()[:12]
        print(
            f"{name:10} {provider:17} {len(raw) / 1e6:5.1f} {len(raw) / len(lines):7,.0f} {ours:8,.0f} {theirs:7,.0f} "
            f"{statistics.median(ratios):6.2f} {ratios[0]:5.2f}-{ratios[-1]:4.2f}  {digest}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
