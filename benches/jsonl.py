"""Reading JSONL, beside ``orjson.loads`` and beside counting; ``make bench-jsonl``.

Three tables of CPU time, of all threads together, in rounds of all columns by turns. The inputs are generated messages,
and recorded sessions where there are any.

- *Reading*: trimtab reads each line to sums of lengths by role and kind (``formats.sums``). orjson makes Python
  objects, and no sums.
- *End to end*: from the bytes of a file to the tokens of each message (``counts``), and to a ledger (``scan``), beside
  counting equal texts that are Python strings already. The ratio is of the times; ``most`` is the ratio that a reader
  would reach if nothing but parsing came on top; the last column is the ratio of rates, the file's bytes over the
  text's. The generated text has thirteen words, the fastest case of a counter.
- *Steps*: milliseconds of steps of that work: read the memory once, copy it once, parse, a ledger of lengths instead of
  tokens, count the texts alone, ``counts`` and ``scan``.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import _rivals
import orjson
from _transcripts import lines

import trimtab
from trimtab.formats import counts, scan, sums

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
SESSIONS = ROOT.parent / "shared" / "data" / "transcripts"
ROUNDS = 15
MESSAGES, FEW = 40_000, 2_000


def inputs(*, small: bool) -> dict[tuple[str, str], bytes]:
    """A file's bytes, by name and provider."""
    lists: dict[tuple[str, str], list] = {("generated", "anthropic"): lines(FEW if small else MESSAGES)}
    for path in sorted(SESSIONS.rglob("*"))[: 5 if small else None]:
        if path.is_file() and path.name != "manifest.csv":
            found = trimtab.read(path)
            lists.setdefault(("recorded", found.provider), []).extend(found.messages)
    return {key: "".join(f"{json.dumps(m, ensure_ascii=False)}\n" for m in ms).encode() for key, ms in lists.items()}


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def texts(messages: list[dict]) -> list[str]:
    """The texts that a ledger counts, of messages of text, thinking, calls and results."""
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
    """Whether a message has only text, thinking, calls and results of text."""
    content = message["content"]
    blocks = [] if isinstance(content, str) else content
    given = [part for block in blocks for part in (block.get("content") or []) if isinstance(part, dict)]
    known = ("text", "thinking", "tool_use", "tool_result")
    return all(b["type"] in known for b in blocks) and all(part["type"] == "text" for part in given)


def end_to_end(name: str, messages: list[dict], rounds: int) -> list[str]:
    """Prints the rows of the second table. Returns those of the third."""
    raw = "".join(f"{json.dumps(m, ensure_ascii=False)}\n" for m in messages).encode()
    found, steps = texts(messages), []
    length, copy = trimtab.Counter.chars(), memoryview(bytearray(raw))
    total = sum(len(text.encode()) for text in found)
    for encoding in ("o200k_base", "cl100k_base"):
        counter = trimtab.Counter(encoding)
        ledger = scan(raw, counter=counter).ledger
        if (total, int(counter.count_many(found).sum())) != (int(ledger.bytes.sum()), int(ledger.tokens.sum())):
            raise AssertionError("not the same texts")
        if (ledger.per_message != counts(raw, counter=counter).per_message).any():
            raise AssertionError("not the same counts")
        works = {
            "reading": lambda: raw.find(b"\0"),
            "copying": lambda: copy.__setitem__(slice(None), raw),
            "parsing": lambda: sums(raw, counter=length),
            "lengths": lambda: scan(raw, counter=length),
            "counting": lambda counter=counter: counter.count_many(found),
            "counts": lambda counter=counter: counts(raw, counter=counter),
            "scan": lambda counter=counter: scan(raw, counter=counter),
        }
        runs = [{work: seconds(does) for work, does in works.items()} for _ in range(rounds)]
        most = statistics.median(took["counting"] / (took["counting"] + took["parsing"]) for took in runs)
        times = {work: statistics.median(took[work] for took in runs) for work in works}
        for function in ("counts", "scan"):
            ratios = sorted(took["counting"] / took[function] for took in runs)
            rates = (len(raw) / times[function], total / times[function], total / times["counting"])
            print(
                f"{name:10} {encoding:12} {function:7} {len(raw) / 1e6:5.1f} {total / 1e6:5.1f} "
                + "".join(f"{rate / 1e6:8,.0f} " for rate in rates)
                + f"{statistics.median(ratios):6.2f} {ratios[0]:5.2f}-{ratios[-1]:4.2f} {most:5.2f} "
                f"{statistics.median(ratios) * len(raw) / total:6.2f}"
            )
        steps.append(f"{name:10} {encoding:12}" + "".join(f" {1e3 * took:8.2f}" for took in times.values()))
    return steps


def reading(name: str, provider: str, raw: bytes, rounds: int) -> None:
    """Prints a row of the first table."""
    split = raw.splitlines()
    pairs = []
    for _ in range(rounds):
        ours = seconds(lambda: sums(raw, counter=trimtab.Counter.chars(), provider=provider))
        theirs = seconds(lambda: [None for line in split if orjson.loads(line) is None])
        pairs.append((ours, theirs))
    ratios = sorted(theirs / ours for ours, theirs in pairs)
    ours, theirs = (len(raw) / 1e6 / statistics.median(times) for times in zip(*pairs, strict=True))
    digest = hashlib.sha256(raw).hexdigest()[:12]
    print(
        f"{name:10} {provider:17} {len(raw) / 1e6:5.1f} {len(raw) / len(split):7,.0f} {ours:8,.0f} {theirs:7,.0f} "
        f"{statistics.median(ratios):6.2f} {ratios[0]:5.2f}-{ratios[-1]:4.2f}  {digest}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--small", action="store_true", help="small inputs, to try the bench")
    options = parser.parse_args()
    version = importlib.metadata.version("orjson")
    print(f"{_rivals.machine()}, trimtab {trimtab.__version__}, orjson {version}, {options.rounds} rounds")
    files = inputs(small=options.small)
    print("\nReading; MB/s, B/line is bytes a line")
    print("messages   shape                MB  B/line  trimtab  orjson  ratio      spread  input")
    for (name, provider), raw in files.items():
        reading(name, provider, raw, options.rounds)
    print("\nEnd to end; MB and MB/s")
    print("messages   encoding     to       file  text    file  of text counting  ratio      spread  most  rates")
    steps = []
    for (name, provider), raw in files.items():
        if provider == "anthropic":
            messages = [message for message in map(json.loads, raw.splitlines()) if is_plain(message)]
            steps += end_to_end(name, messages, options.rounds)
    print("\nSteps; ms               reading  copying  parsing  lengths counting   counts     scan", *steps, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
