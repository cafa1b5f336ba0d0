"""What single questions cost, beside tiktoken; the second half of ``make bench-count``.

One call on 200 characters; "more than 2,000 tokens?" of 50 KB; texts made to be hard (a million of one character,
base64, random letters, combining marks, joined emoji), exact against tiktoken at a tenth of their length; a transcript
that was read before; the load of an encoding and what memory all corpora leave behind, each in a fresh process.
"""

from __future__ import annotations

import base64
import gc
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent))

import _corpora
import _rivals
import tiktoken

os.environ["TRIMTAB_THREADS"] = "1"  # no pool: whoever asks counts
import trimtab

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 7


def seconds(work: Callable[[], object], per: int = 1, rounds: int = ROUNDS) -> float:
    """Median of the CPU time of a round, for one of ``per``."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append((time.process_time() - start) / per)
    return statistics.median(times)


def met(text: str, counter: trimtab.Counter) -> float:
    """Median of the CPU time of counting a text that is new: a thread's tables begin empty and end with it."""
    times: list[float] = []
    for _ in range(ROUNDS):
        alone = threading.Thread(target=lambda: times.append(seconds(lambda: counter.count(text), rounds=1)))
        alone.start()
        alone.join()
    return statistics.median(times)


def taken_in_turns(ours: Callable[[], object], theirs: Callable[[], object], per: int = 1) -> tuple[float, float]:
    """Both medians, the two measured round by round."""
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for work, times in zip((ours, theirs), found, strict=True):
            start = time.process_time()
            work()
            times.append((time.process_time() - start) / per)
    return statistics.median(found[0]), statistics.median(found[1])


def hard(length: int) -> dict[str, str]:
    """Texts of about ``length`` characters that break other counters, by name."""
    rng = random.Random(_corpora.SEED)
    return {
        **{f"{name} x n": char * length for name, char in ONE_CHARACTER.items()},
        "base64": base64.b64encode(rng.randbytes(length * 3 // 4)).decode(),
        "random letters": "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=length)),
        "combining marks": ("e" + "\N{COMBINING ACUTE ACCENT}" * 9) * (length // 10),
        "joined emoji": "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}" * (length // 5),
    }


ONE_CHARACTER = {
    "space": " ",
    "newline": "\n",
    "tab": "\t",
    "a": "a",
    "A": "A",
    "0": "0",
    "dot": ".",
    "slash": "/",
    "equals": "=",
    "e acute": "\N{LATIN SMALL LETTER E WITH ACUTE}",
    "han": "\N{CJK UNIFIED IDEOGRAPH-4E2D}",
    "hangul": "\N{HANGUL SYLLABLE GA}",
    "acute": "\N{COMBINING ACUTE ACCENT}",
    "emoji": "\N{GRINNING FACE}",
    "joiner": "\N{ZERO WIDTH JOINER}",
    "nul": "\0",
}


def questions(encoding: str, rival: tiktoken.Encoding) -> None:
    counter = trimtab.Counter(encoding)
    texts = [text[:200] for text in _corpora.corpus("prose") if len(text) >= 200][:1_000]

    def each(count: Callable[[str], int]) -> Callable[[], object]:
        return lambda: [count(text) for text in texts]

    ours, theirs = taken_in_turns(each(counter.count), each(lambda t: len(rival.encode_ordinary(t))), len(texts))
    print(f"  200 characters, one call: {1e6 * ours:.2f} us, tiktoken {1e6 * theirs:.2f} us: {theirs / ours:.1f} x")

    text = next(text for text in _corpora.corpus("code") if len(text) >= 50_000)[:50_000]
    many = 200
    ours = seconds(lambda: [counter.exceeds(text, 2_000) for _ in range(many)], many)
    theirs = seconds(lambda: len(rival.encode_ordinary(text)) > 2_000)
    print(
        f"  exceeds(50 KB, 2,000): {1e6 * ours:.1f} us, a count by tiktoken {1e6 * theirs:.0f}: {theirs / ours:.0f} x"
    )


def adversaries(encoding: str, rival: tiktoken.Encoding) -> int:
    counter, worst, wrong = trimtab.Counter(encoding), (0.0, ""), []
    short, long = hard(100_000), hard(1_000_000)
    for name in short:
        tenth, all_ = met(short[name], counter), met(long[name], counter)
        worst = max(worst, (all_ / max(tenth, 1e-6), name))
        sample = short[name][:20_000]  # tiktoken takes minutes for some of them at full length
        if counter.count(sample) != len(rival.encode_ordinary(sample)):
            wrong.append(name)
    print(
        f"  {len(short)} hard texts: 1,000,000 characters take at most {worst[0]:.1f} x the time of 100,000 "
        f"({worst[1]}); mismatches {wrong or 0}"
    )
    return len(wrong)


def recounts(encoding: str) -> None:
    texts = _corpora.corpus("chat")
    plain = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]
    blocks = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": a}}]}
        if kind
        else {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": b}]}
        for n, (a, b) in enumerate(zip(texts[::2], texts[1::2], strict=True))
        for kind in (True, False)
    ]
    for name, messages, provider in (("string content", plain, "openai_chat"), ("blocks", blocks, "anthropic")):
        counter = trimtab.Counter(encoding)
        first = counter.per_message(messages, provider=provider)
        times = []
        for n in range(ROUNDS):
            messages.append({"role": "user", "content": f"one more {n}"})
            gc.collect()
            start = time.process_time()
            again = counter.per_message(messages, provider=provider)
            times.append((time.process_time() - start) / len(messages))
        if again[: len(first)].tolist() != first.tolist():
            msg = "a recount gave other numbers"
            raise SystemExit(msg)
        spread = f"{1e9 * min(times):.0f}-{1e9 * max(times):.0f}"
        bare = seconds(lambda given=messages: _touched(given), len(messages))
        print(
            f"  recount after one is appended, {name}: {1e9 * statistics.median(times):.0f} ns a message ({spread}); "
            f"a Python loop that only asks each text for its length: {1e9 * bare:.0f} ns"
        )


def _touched(messages: list[dict]) -> int:
    """What the machine charges for reaching every text of a list: the limit of whatever must notice a change."""
    reached = 0
    for message in messages:
        content = message["content"]
        if isinstance(content, str):
            reached += len(content)
            continue
        for block in content:
            reached += len(block["content"]) if "content" in block else len(block["input"]["command"])
    return reached


def alone(code: str) -> float:
    """What ``code`` prints, run by itself."""
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    return statistics.median(float(run.stdout) for run in runs)


def load(encoding: str) -> None:
    timed = f"import time, trimtab._core as c; t = time.perf_counter(); c.Counter({encoding!r}).count('a'); "
    print(f"  load and a first count: {alone(timed + 'print(1000 * (time.perf_counter() - t))'):.2f} ms")


def memory() -> None:
    """Resident memory of a process that has counted all corpora in both encodings, without their text."""
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).resolve().parent)!r})\n"
        "import json, os, trimtab, _rivals, _corpora\n"
        "def resident():\n"
        "    return int(open('/proc/self/statm').read().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 1e6\n"
        "before = resident()\n"
        "for name in _corpora.NAMES:\n"
        "    for encoding in _rivals.ENCODINGS:\n"
        "        with open(_rivals.FOLDER / f'{name}.json') as file:\n"
        "            trimtab.Counter(encoding).count_many(json.load(file))\n"
        "import gc, ctypes; gc.collect(); ctypes.CDLL(None).malloc_trim(0)\n"
        "print(resident() - before)\n"
    )
    print(f"memory after all corpora in both encodings: {alone(code):.0f} MB")


def main() -> int:
    os.environ["TIKTOKEN_CACHE_DIR"] = str(_rivals.FOLDER / "tiktoken")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    _rivals.vocabularies()
    wrong = 0
    for name in _corpora.NAMES:
        _rivals.write(name)
    for encoding in _rivals.ENCODINGS:
        rival = tiktoken.get_encoding(encoding)
        print(f"\n{encoding}: trimtab {trimtab.__version__}, tiktoken {tiktoken.__version__}, {ROUNDS} rounds")
        load(encoding)
        questions(encoding, rival)
        wrong += adversaries(encoding, rival)
        recounts(encoding)
    memory()
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
