"""``trimtab.arrow.count`` beside a loop of json and tiktoken in plain Python, on one core; ``make bench-arrow``.

Rows are sessions of 40 messages with tool calls, whose texts are passages of the corpus ``chat``. Each side gets an
Arrow table and returns the tokens of each row. The loop parses a row's JSON and encodes its texts; the kernel detects
each row's format and counts its whole prompt, by kind and by message. CPU time, in rounds of both sides by turns: each
round has rows of its own, so no side counts a text twice.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import _rivals
import pyarrow as pa
from _corpora import corpus, first_bytes, halves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROUNDS, SESSION = 5, 10
MEGABYTES, FEW = 8, 0.5
"""Text of each table; where the bench is only to be tried."""

MODELS = ("claude-sonnet-4-5", "gpt-5.5")
SCHEMA = pa.list_(pa.struct({"role": pa.string(), "content": pa.string()}))
"""Messages as columns: texts alone, as tables of chats have them."""


def turns(texts: list[str]) -> Iterator[dict[str, Any]]:
    """Yield messages in Anthropic's shape: a request, a call, its result, an answer, for every four texts."""
    for at in range(0, len(texts) - 3, 4):
        call = {"type": "tool_use", "id": f"toolu_{at}", "name": "Bash", "input": {"command": texts[at + 1]}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{at}", "content": texts[at + 2]}
        yield {"role": "user", "content": texts[at]}
        yield {"role": "assistant", "content": [{"type": "text", "text": "I run it."}, call]}
        yield {"role": "user", "content": [result]}
        yield {"role": "assistant", "content": [{"type": "text", "text": texts[at + 3]}]}


def inputs(megabytes: float) -> dict[str, pa.Table]:
    """Return tables with a column ``messages``, by what a row is."""
    most = 4 * SESSION
    both = halves(first_bytes(corpus("chat"), int(2e6 * megabytes)))  # of each its own: a cache knows none of the other
    texts, other = ([half[at : at + most] for at in range(0, len(half) - most, most)] for half in both)
    rows = [json.dumps([*turns(part)], ensure_ascii=False) for part in texts]
    chats = [[{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(part)] for part in other]
    return {
        "JSON text": pa.table({"messages": pa.array(rows, pa.large_string())}),
        "list of structs": pa.table({"messages": pa.array(chats, SCHEMA)}),
    }


def loop(table: pa.Table, encode: Callable[[str], list[int]]) -> list[int]:
    """Return the tokens of each row's texts: what one writes by hand."""
    found = []
    for row in table["messages"].to_pylist():
        messages = json.loads(row) if isinstance(row, str) else row
        found.append(sum(len(encode(text)) for message in messages for text in texts_of(message["content"])))
    return found


def texts_of(content: Any) -> Iterator[str]:
    """Yield the texts of a message."""
    if isinstance(content, str):
        yield content
        return
    for block in content:
        if block["type"] == "tool_use":
            yield json.dumps(block["input"])
        else:
            yield block.get("text") or block["content"]


def seconds(work: dict[str, Callable[[pa.Table], object]], tables: list[pa.Table]) -> dict[str, float]:
    """Return the CPU seconds of each for all tables but the first, by turns."""
    took = dict.fromkeys(work, 0.0)
    for number, table in enumerate(tables):
        for name, run in work.items():
            start = time.process_time()
            run(table)
            took[name] += (time.process_time() - start) * bool(number)
    return took


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="small inputs, to try the bench")
    options = parser.parse_args()
    os.environ["TRIMTAB_THREADS"] = "1"
    _rivals.write_vocabularies()
    os.environ["TIKTOKEN_CACHE_DIR"] = str(_rivals.FOLDER / "tiktoken")
    import arro3.core
    import tiktoken

    import trimtab

    encode = tiktoken.get_encoding("o200k_base").encode_ordinary
    print(_rivals.machine())
    print(
        f"trimtab {trimtab.__version__}, tiktoken {tiktoken.__version__}, arro3-core {arro3.core.__version__},", end=" "
    )
    print(f"pyarrow {pa.__version__}; one thread, CPU time of {ROUNDS} rounds\n")
    print(
        f"{'row':16} {'model':18} {'rows':>6} {'MB':>6}  {'input':16} {'kernel MB/s':>11} {'loop MB/s':>9} {'ratio':>6}"
    )
    for name, table in inputs(FEW if options.small else MEGABYTES).items():
        digest = hashlib.sha256(repr(table["messages"].to_pylist()).encode()).hexdigest()[:16]
        rows = table.num_rows // (ROUNDS + 1)
        tables = [table.slice(rows * number, rows) for number in range(ROUNDS + 1)]  # the first warms up
        size = sum(part.nbytes for part in tables[1:]) / 1e6
        for model in MODELS:

            def kernel(table: pa.Table, model: str = model) -> pa.Table:
                counted = pa.table(trimtab.arrow.count(table, column="messages", model=model))
                if failed := counted["error"].drop_null().to_pylist():
                    raise ValueError(f"{len(failed):,} rows failed, the first: {failed[0]}")
                return counted

            took = seconds({"kernel": kernel, "loop": lambda table: loop(table, encode)}, tables)
            rates = [size / took[side] for side in ("kernel", "loop")]
            shown = f"{rates[0]:11.0f} {rates[1]:9.1f} {rates[0] / rates[1]:5.1f}x"
            print(f"{name:16} {model:18} {table.num_rows:6,} {size:6.1f}  {digest} {shown}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
