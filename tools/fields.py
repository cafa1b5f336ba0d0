"""Print how the usage of each sender is read, of its package's own class where that is installed; ``make fields``.

With ``--docs``, write the table of ``docs/counting.md``.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

from support.usages import SAMPLES
from trimtab import Usage
from trimtab.messages.senders import SENDERS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "counting.md"
BEGIN, END = "<!-- senders -->\n", "<!-- /senders -->\n"
HOLDS = {
    "inside": "holds what the cache gave and took",
    "outside": "is beside what the cache gave and took",
    "either": "holds what the cache gave, where that is no more",
}


def table() -> str:
    """A row a sender: its prompt's field, what that holds, and the total that decides."""
    rows = ["| sender | prompt tokens | | total |", "|---|---|---|---|"]
    for sender in SENDERS:
        total = ", ".join(f"`{name}`" for name in sender.total)
        holds = HOLDS[sender.cache] if sender.read or sender.write else "says nothing of a cache"
        rows.append(f"| {sender.names} | `{sender.prompt}` | {holds} | {total} |")
    return "\n".join(rows) + "\n"


def page(text: str) -> str:
    """The page with a new table."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + table() + END + rest.partition(END)[2]


def lines() -> list[str]:
    """A line a sender: who made the usage, and the numbers read from it."""
    made = [f"{'sender':28} {'read from':32} {'prompt':>8} {'read':>8} {'written':>8} {'output':>8}"]
    for sample in SAMPLES:
        source, usage = "plain dict", sample.plain
        if sample.is_installed and sample.make is not None:
            source, usage = f"{sample.package} {version(sample.package)}", sample.make()
        elif sample.make is not None:
            source = f"plain dict, no {sample.package}"
        found = Usage.of(usage)
        numbers = (found.prompt, found.cache_read, found.cache_write, found.output)
        wrong = "" if numbers == (50_000, sample.read, sample.written, sample.output) else "  WRONG"
        made.append(f"{sample.sender:28} {source:32}" + "".join(f" {number:8,}" for number in numbers) + wrong)
    return made


if __name__ == "__main__":
    if "--docs" in sys.argv[1:]:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print("\n".join(told := lines()))
        sys.exit(any(line.endswith("WRONG") for line in told))
