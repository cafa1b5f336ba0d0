"""JSONL to a ledger beside ``orjson.loads`` a line, and to counts beside counting alone; ``make bench-jsonl``.

Reading: both on one thread, interleaved, CPU time. Ours checks the whole of each line and fills the columns of a ledger
that reading can fill; texts stay where they are until they are counted. orjson makes objects, and no ledger.

End to end: CPU time, on as many threads, of the bytes of a file to the tokens of each message, and to a ledger, beside
that of counting the very same texts, which are Python strings already. The content's memo is of no use to either: a
counter has none for text. The ratio is of these times; ``most`` is what it would be if nothing but reading were done
besides. The last column is of rates, the file's bytes a second beside the text's: what stands around texts is read as
well. Generated text is of thirteen words, which no counter can take long for.

What limits that: milliseconds of the same file with its memory read once, copied once, its lines parsed and their
messages read, the same with a ledger of lengths in place of tokens, its texts counted alone, and all of it, to counts
and to a ledger.

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
from trimtab.formats import counts, scan

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
SESSIONS = ROOT.parent / "shared" / "data" / "transcripts"
ROUNDS = 15
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
    """What a ledger counts of messages that hold text, thinking, calls and results alone."""
    found = []
    for message in messages:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "tool_use":
                written = json.dumps(block["input"], ensure_ascii=False, separators=(",", ":"))
                found += [block["name"], written]
            elif block["type"] == "tool_result":
                given = block.get("content") or []
                found += [given] if isinstance(given, str) else [part["text"] for part in given]
            else:
                found.append(block[block["type"]])
    return found


def is_plain(message: dict) -> bool:
    """Whether a message holds nothing else."""
    content = message["content"]
    blocks = [] if isinstance(content, str) else content
    given = [part for block in blocks for part in (block.get("content") or []) if isinstance(part, dict)]
    known = ("text", "thinking", "tool_use", "tool_result")
    return all(b["type"] in known for b in blocks) and all(part["type"] == "text" for part in given)


def end_to_end(name: str, messages: list[dict]) -> list[str]:
    """Prints what reading costs beside the counting that it is for; gives lines of what limits it."""
    raw = "".join(f"{json.dumps(m, ensure_ascii=False)}\n" for m in messages).encode()
    said, room, limits = texts(messages), bytearray(raw), []
    length, place = trimtab.Counter.chars(), memoryview(room)
    total = sum(len(text.encode()) for text in said)
    for encoding in ("o200k_base", "cl100k_base"):
        counter = trimtab.Counter(encoding)
        ledger = scan(raw, counter=counter).ledger
        if (total, int(counter.count_many(said).sum())) != (int(ledger.bytes.sum()), int(ledger.tokens.sum())):
            raise AssertionError("not the same texts")
        if (ledger.per_message != counts(raw, counter=counter).per_message).any():
            raise AssertionError("not the same counts")
        works = {
            "reading": lambda: raw.find(b"\0"),
            "copying": lambda: place.__setitem__(slice(None), raw),
            "parsing": lambda: _core.survey(raw, provider="anthropic"),
            "lengths": lambda: scan(raw, counter=length),
            "counting": lambda counter=counter: counter.count_many(said),
            "counts": lambda counter=counter: counts(raw, counter=counter),
            "ledger": lambda counter=counter: scan(raw, counter=counter),
        }
        rounds = [{work: seconds(does) for work, does in works.items()} for _ in range(ROUNDS)]
        most = statistics.median(took["counting"] / (took["counting"] + took["parsing"]) for took in rounds)
        times = {work: statistics.median(took[work] for took in rounds) for work in works}
        for all_ in ("counts", "ledger"):
            ratios = sorted(took["counting"] / took[all_] for took in rounds)
            rates = (len(raw) / times[all_], total / times[all_], total / times["counting"])
            print(
                f"{name:10} {encoding:12} {all_:7} {len(raw) / 1e6:5.1f} {total / 1e6:5.1f} "
                + "".join(f"{rate / 1e6:8,.0f} " for rate in rates)
                + f"{statistics.median(ratios):6.2f} {ratios[0]:5.2f}-{ratios[-1]:4.2f} {most:5.2f} "
                f"{statistics.median(ratios) * len(raw) / total:6.2f}"
            )
        limits.append(f"{name:10} {encoding:12}" + "".join(f" {1e3 * took:8.2f}" for took in times.values()))
    return limits


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
    print("\nend to end; MB/s       to       file  text    file  of text counting  ratio      spread  most   file")
    limits = end_to_end("generated", made(40_000))
    for (name, provider), raw in inputs().items():
        if (name, provider) == ("shared", "anthropic"):
            limits += end_to_end(name, [message for message in map(json.loads, raw.splitlines()) if is_plain(message)])
    print("\nlimits; ms               reading  copying  parsing  lengths counting   counts   ledger", *limits, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
