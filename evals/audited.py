"""Agreement of ``trimtab audit`` with a table made by hand; ``make eval-audited``.

    python evals/audited.py [--list]

``audited.toml`` says which rules, requests and files stood in front of compactions in the recorded sessions of the
checkout's ``../shared/data/transcripts``, and which stand behind them; its head says how they were chosen and judged.
Agreed is an item that audit has too, with the same verdict; the agreement is their share of all items that the table or
audit has. Prints a line a kind for the compactions by which audit was mended, and for those kept for checking;
``--list`` prints each disagreement. Exits with 0 and a reason if there are no sessions, with 1 if a session has other
words than were judged.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trimtab
from trimtab import _core
from trimtab.audit.boundaries import boundaries
from trimtab.summarize.text import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trimtab.audit.items import Item

ROOT = Path(__file__).resolve().parents[1]
SESSIONS = ROOT.parent / "shared" / "data" / "transcripts"
TABLE = Path(__file__).with_suffix(".toml")
KINDS = ("rules", "requests", "files")
SETS = {
    "first": "audit was mended by them",
    "second": "compared after that; two more causes were mended by them",
    "check": "kept for checking; two false rules were mended by them",
}


@dataclass(frozen=True, slots=True)
class Judged:
    """An item of the table.

    Attributes:
        kind: one of ``KINDS``.
        message: number of its message.
        digest: the start of a SHA-256.
        flat: of a rule, its words.
        stands: whether it stands behind the compaction.
    """

    kind: str
    message: int
    digest: str
    flat: str
    stands: bool

    def is_item(self, item: Item) -> bool:
        """Whether audit's item is this one."""
        if self.kind != item.kind:
            return False
        if self.kind == "files":
            return digest(item.text) == self.digest
        flat = " ".join(words(item.text))
        return item.message == self.message and (self.flat in flat or flat in self.flat or self.kind == "requests")


def digest(text: str) -> str:
    """The start of the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def judged(row: str, texts: dict[int, str], *, stands: bool) -> Judged:
    """A row of the table, with the words that it names in the session.

    Raises:
        ValueError: the session has other words there.
    """
    kind, message, expected, *span = row.split()
    spoken = words(texts.get(int(message), ""))
    if span:
        first, many = map(int, span[0].split("+"))
        spoken = spoken[first : first + many]
    flat = " ".join(spoken)
    if kind != "files" and digest(flat) != expected:
        msg = f"message {message} has other words than were judged; use the sessions that {TABLE.name} was made of"
        raise ValueError(msg)
    return Judged(kind, int(message), expected, flat, stands)


def compared(one: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield kind, result and description of each item of a boundary that the table or audit has."""
    found = trimtab.read(SESSIONS / one["file"], whole=True)
    kept = list(boundaries(found))[one["number"] - 1].kept
    items = [(item, stands) for stands in (True, False) for item in (kept.there if stands else kept.lost)]
    texts: dict[int, str] = {}
    for at, _, _, text in _core.entries(found.messages):
        texts[at] = f"{texts[at]}\n{text}" if at in texts else text
    table = [
        judged(row, texts, stands=stands) for stands in (True, False) for row in one["stands" if stands else "lost"]
    ]
    for row in table:
        verdicts = {stands for item, stands in items if row.is_item(item)}
        result = "agreed" if verdicts == {row.stands} else "verdict" if verdicts else "missed"
        yield row.kind, result, f"{row.kind} of message {row.message}, {'stands' if row.stands else 'lost'} by hand"
    for item, stands in items:
        if item.kind in KINDS and not any(row.is_item(item) for row in table):
            told = f"{item.kind} of message {item.message}, {'stands' if stands else 'lost'} by audit"
            yield item.kind, "extra", f"{told}: {item.text[:100]!r}"


def table(results: list[tuple[str, str]]) -> Iterator[str]:
    """Yield a line a kind."""
    yield f"{'kind':10}{'judged':>8}{'missed':>8}{'other verdict':>15}{'not judged':>12}{'agreed':>8}{'agreement':>11}"
    for kind in KINDS:
        many = Counter(result for one, result in results if one == kind)
        by_hand = many.total() - many["extra"]
        share = f"{100 * many['agreed'] / max(many.total(), 1):.1f} %"
        counts = f"{by_hand:8,}{many['missed']:8,}{many['verdict']:15,}{many['extra']:12,}{many['agreed']:8,}"
        yield f"{kind:10}{counts}{share:>11}"


def main() -> int:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print each disagreement")
    options = parser.parse_args()
    if not SESSIONS.is_dir():
        print(f"skipped: no recorded sessions at {SESSIONS.relative_to(ROOT.parent)}")
        return 0
    every = tomllib.loads(TABLE.read_text(encoding="utf-8"))["boundary"]
    print(f"trimtab {trimtab.__version__}, {len(every)} compactions judged by hand in {TABLE.name}")
    for name, about in SETS.items():
        chosen = [one for one in every if one["set"] == name]
        results: list[tuple[str, str]] = []
        print(f"\n{len(chosen)} compactions, {about}")
        for one in chosen:
            for kind, result, described in compared(one):
                results.append((kind, result))
                if options.list and result != "agreed":
                    print(f"  {one['file'][-40:]} {one['number']}: {result}: {described}")
        print(*table(results), sep="\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        sys.exit(str(error))
