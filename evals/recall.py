"""Recall of the offline summary: the share of a session's later needs that it holds; ``make eval-recall``.

    python evals/recall.py [FOLDER] [--whole]

FOLDER holds Claude Code and Codex session files, by default the checkout's ``../shared/data/transcripts``. Each session
is cut at half of its tokens; the zone is the first half. A summary of the zone may have 2 % and 5 % of the zone's
tokens; so may head (the zone's first lines), tail (its last lines) and random (a seeded choice of its lines). In
setting ``a`` the summarizer sees the zone, and the second half is searched for what is needed. In setting ``b`` it also
sees the next 20 % of the messages, as the tail that stays, and only the messages behind that tail are searched.
``--whole`` also reads the messages before a session's own compactions.

``_recall.py`` defines the items. In the table ``all`` is found items over items, and ``kinds`` the mean of the four
kinds; each figure is a mean over sessions, and ``ratio`` divides by the best of the other three in that row. The
summarizer was tuned on the files at even positions of their sorted list; the odd ones are held out. Exits with 0 and a
reason if there are no sessions.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import _recall

import trimtab
from trimtab.summarize.ask import Ask
from trimtab.summarize.offline import offline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SEED = 20261121
SHARES = (0.02, 0.05)
ROWS = ("all", "kinds", *_recall.KINDS, "named")
RIVALS = ("head", "tail", "random")
MIN_ZONE = 8_000
MIN_ITEMS = 10


def extract(lines: list[str], limit: int, count: Callable[[str], int], *, last: bool = False) -> str:
    """The first lines that fit, or the last; the line after them is cut short."""
    kept: list[str] = []
    left = limit
    for line in reversed(lines) if last else lines:
        cost = count(line + "\n")
        if cost > left:
            size = len(line) * left // cost
            part = line[len(line) - size :] if last else line[:size]
            kept.append(part)
            break
        kept.append(line)
        left -= cost
    return "\n".join(reversed(kept) if last else kept)


def scattered(lines: list[str], limit: int, count: Callable[[str], int]) -> str:
    """A seeded choice of lines, in their order."""
    order = list(range(len(lines)))
    random.Random(SEED).shuffle(order)
    kept, left, misses = [], limit, 0
    for at in order:
        cost = count(lines[at] + "\n")
        misses += cost > left
        if cost <= left:
            kept.append(at)
            left -= cost
        elif misses > 50:
            break
    return "\n".join(lines[at] for at in sorted(kept))


@dataclass(slots=True)
class Session:
    """A session file cut at half of its tokens."""

    path: Path
    provider: Any
    messages: list[Any]
    cut: int
    tail: int
    tokens: int

    @classmethod
    def of(cls, path: Path, count: Callable[[str], int], *, whole: bool) -> Session | None:
        """The session, None if its zone is small."""
        read = trimtab.read(path, whole=whole)
        costs = [sum(map(count, _recall.texts([message]).lines)) for message in read.messages]
        half, seen, cut = sum(costs) / 2, 0, 0
        while cut < len(costs) and seen + costs[cut] <= half:
            seen += costs[cut]
            cut += 1
        if seen < MIN_ZONE:
            return None
        return cls(path, read.provider, read.messages, cut, cut + len(costs) // 5, seen)


@dataclass(slots=True)
class Scores:
    """Recall by setting, share, row and method, one figure a session; what the runs cost."""

    rows: dict[tuple[str, float, str, str], dict[int, float]] = field(default_factory=dict)
    fill: list[float] = field(default_factory=list)
    speed: list[tuple[float, int]] = field(default_factory=list)

    def add(self, at: int, setting: str, share: float, method: str, recall: dict[str, float]) -> None:
        """Notes a session's recall."""
        for row, value in recall.items():
            self.rows.setdefault((setting, share, row, method), {})[at] = value

    def mean(self, setting: str, share: float, row: str, method: str, half: int | None) -> float:
        """The mean over the sessions, or those of one parity."""
        found = self.rows.get((setting, share, row, method), {})
        return mean([value for at, value in found.items() if half is None or at % 2 == half] or [0.0])


def score(at: int, session: Session, scores: Scores, count: Callable[[str], int]) -> bool:
    """Summarizes a session every way; False if too little of its zone occurs again."""
    zone = session.messages[: session.cut]
    text = _recall.texts(zone)
    for setting, start in (("a", session.cut), ("b", session.tail)):
        items = _recall.Items.of(text, _recall.texts(session.messages[start:]))
        if sum(map(len, items.kinds.values())) < MIN_ITEMS:
            if setting == "a":
                return False
            continue
        after = tuple(session.messages[session.cut : start])
        for share in SHARES:
            limit = int(session.tokens * share)
            begun = time.perf_counter()
            summary = offline(Ask(tuple(zone), session.provider, limit, count, after=after))
            scores.speed.append((time.perf_counter() - begun, sum(map(len, text.lines))))
            scores.fill.append(count(summary) / limit)
            assert count(summary) <= limit, session.path
            scores.add(at, setting, share, "offline", items.recall(summary))
            scores.add(at, setting, share, "head", items.recall(extract(text.lines, limit, count)))
            scores.add(at, setting, share, "tail", items.recall(extract(text.lines, limit, count, last=True)))
            scores.add(at, setting, share, "random", items.recall(scattered(text.lines, limit, count)))
    return True


def table(scores: Scores, half: int | None) -> Iterator[str]:
    """The lines of the table over all sessions or those of one parity."""
    yield f"{'setting':8}{'size':>5}  {'row':11}{'offline':>8}" + "".join(f"{name:>8}" for name in RIVALS) + "   ratio"
    for setting in "ab":
        for share in SHARES:
            for row in ROWS:
                ours = scores.mean(setting, share, row, "offline", half)
                rivals = [scores.mean(setting, share, row, name, half) for name in RIVALS]
                ratio = f"{ours / max(rivals):8.2f}" if max(rivals) else "       -"
                cells = "".join(f"{value:8.3f}" for value in (ours, *rivals))
                yield f"{setting:8}{share:5.0%}  {row:11}{cells}{ratio}"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--whole", action="store_true")
    given = parser.parse_args()
    folder = given.folder or Path(__file__).resolve().parents[2] / "shared" / "data" / "transcripts"
    paths = sorted(path for kind in ("claude-code", "codex") for path in (folder / kind).rglob("*.jsonl"))
    if not paths:
        print(f"no sessions in {folder}: nothing measured")
        return
    count = trimtab.Counter("o200k_base").count
    digest, scores, used = hashlib.sha256(), Scores(), 0
    for at, path in enumerate(paths):
        session = Session.of(path, count, whole=given.whole)
        if session and score(at, session, scores, count):
            digest.update(hashlib.sha256(path.read_bytes()).digest())
            used += 1
    print(f"{used} of {len(paths)} sessions (zone of {MIN_ZONE} tokens, {MIN_ITEMS} items)", end="")
    print(f"{' read whole' if given.whole else ''}, sha256 {digest.hexdigest()[:16]}")
    print(f"trimtab {getattr(trimtab, '__version__', '?')}, Python {platform.python_version()}, seed {SEED}")
    seconds, size = map(sum, zip(*scores.speed, strict=True))
    print(f"summaries fill {mean(scores.fill):.0%} of their limit, the emptiest {min(scores.fill):.0%}", end="; ")
    print(f"{size / seconds / 1e6:.1f} MB/s of zone text\n")
    for half, name in ((None, "all sessions"), (0, "even sessions (tuned on)"), (1, "odd sessions (held out)")):
        print(name, *table(scores, half), sep="\n", end="\n\n")


if __name__ == "__main__":
    main()
