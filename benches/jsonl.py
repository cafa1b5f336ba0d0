"""JSONL to a ledger beside ``orjson.loads`` a line, and to counts beside counting alone; ``make bench-jsonl``.

Reading: both on one thread, interleaved, CPU time. Ours checks the whole of each line and fills the columns of a ledger
that reading can fill; texts stay where they are until they are counted. orjson makes objects, and no ledger.

End to end: CPU time of the bytes of a file to its messages' tokens, beside that of counting the very same texts, which
are Python strings already. The content's memo is of no use to either: a counter has none for text.

Generated messages, and the shared sessions' where they are there.
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
from trimtab.formats import scan

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


def texts(messages: list[dict]) -> list[str]:
    """What a ledger counts of messages that hold text, calls and results alone."""
    found = []
    for message in messages:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "tool_use":
                written = json.dumps(block["input"], ensure_ascii=False, separators=(",", ":"))
                found += [block["name"], written]
            else:
                found.append(block["text"] if block["type"] == "text" else block["content"])
    return found


def end_to_end(messages: list[dict], raw: bytes) -> None:
    """Prints what reading costs beside the counting that it is for."""
    print("\nend to end  MB of text   file to counts  texts to counts  ratio  spread     (MB/s of text)")
    for name in ("o200k_base", "cl100k_base"):
        counter, said, pairs = trimtab.Counter(name), texts(messages), []
        ledger = scan(raw, counter=counter).ledger
        total = sum(len(text.encode()) for text in said)
        if (total, int(counter.count_many(said).sum())) != (int(ledger.bytes.sum()), int(ledger.tokens.sum())):
            raise AssertionError("not the same texts")
        for _ in range(ROUNDS):
            whole = seconds(lambda counter=counter: scan(raw, counter=counter))
            pairs.append((whole, seconds(lambda counter=counter, said=said: counter.count_many(said))))
        ratios = sorted(alone / whole for whole, alone in pairs)
        whole, alone = (total / 1e6 / statistics.median(times) for times in zip(*pairs, strict=True))
        spread = f"{ratios[0]:.2f}-{ratios[-1]:.2f}"
        print(f"{name:12} {total / 1e6:9.1f} {whole:16,.0f} {alone:16,.0f} {statistics.median(ratios):6.2f}  {spread}")


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
    messages = made(40_000)
    end_to_end(messages, "".join(f"{json.dumps(m, ensure_ascii=False)}\n" for m in messages).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
