"""What compactions keep of short chats with small talk: ``make eval-chats``. No model, one run.

    python evals/chats.py [--seeds 1-40] [--written]

Of what must be known, by weight, at 15, 25 and 40 % of the tokens, after one round and after three; beside it the
newest messages alone in the same number of tokens, and how many lists are over the target.
``--written`` takes the chats of ``written/``, by file.
"""

from __future__ import annotations

import argparse
import platform
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import _chats
import _written

import trimtab

if TYPE_CHECKING:
    from collections.abc import Iterable

MODEL = "claude-sonnet-4-5"
SHARES = (0.15, 0.25, 0.40)
ROUNDS = {"one round": 1, "three rounds": 3, "newest": 0}
ALL = "all"


@dataclass(slots=True)
class Kept:
    """The weight of the facts that are kept and of all, by kind of chat, and how many lists are over their target."""

    got: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    of: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    over: int = 0

    def add(self, one: _chats.Chat, text: str) -> None:
        """Counts the facts of a chat of which a text is left."""
        for kind in (one.kind, ALL):
            self.got[kind] += sum(fact.weight * fact.kept(text) for fact in one.facts)
            self.of[kind] += sum(fact.weight for fact in one.facts)

    def percent(self, kind: str = ALL) -> float:
        """The share of the weight that is kept, in percent."""
        return 100 * self.got[kind] / max(self.of[kind], 1)


def count(messages: list[dict[str, str]]) -> int:
    """The tokens of a list."""
    return trimtab.count(messages, model=MODEL, provider="openai_chat")


def text_of(messages: list[dict[str, str]]) -> str:
    """A list's texts, in lower case."""
    return "\n".join(str(message["content"]) for message in messages).lower()


def compacted(messages: list[dict[str, str]], target: int, rounds: int) -> list[dict[str, str]]:
    """The list after its messages came in some parts, with a compaction behind each."""
    cm = trimtab.Compactor(MODEL, provider="openai_chat")
    held: list[dict[str, str]] = []
    for part in range(rounds):
        held += messages[len(messages) * part // rounds : len(messages) * (part + 1) // rounds]
        if cm.count(held) > target:
            held = list(cm.compact(held, target_tokens=target).messages)
    return held


def newest(messages: list[dict[str, str]], target: int) -> list[dict[str, str]]:
    """The newest messages within the target."""
    start = len(messages)
    while start and count(messages[start - 1 :]) <= target:
        start -= 1
    return messages[start:]


def kept(made: Iterable[_chats.Chat], share: float, rounds: int) -> Kept:
    """What is kept of chats at a share of their tokens; with no rounds, by the newest messages alone."""
    out = Kept()
    for one in made:
        target = int(count(one.messages) * share)
        held = compacted(one.messages, target, rounds) if rounds else newest(one.messages, target)
        out.over += count(held) > target
        out.add(one, text_of(held))
    return out


def show(label: str, made: list[_chats.Chat]) -> None:
    """Prints the table of some chats."""
    mean = sum(count(one.messages) for one in made) / len(made)
    print(f"{len(made)} chats of {mean:.0f} tokens, {label}", end="; ")
    print(f"trimtab {trimtab.__version__}, Python {platform.python_version()}")
    print(f"{'':14}" + "".join(f"{share:>7.0%}" for share in SHARES))
    for name, rounds in ROUNDS.items():
        cells = [kept(made, share, rounds) for share in SHARES]
        for kind in (*_chats.KINDS, ALL):
            row = f"{name if kind == ALL else '  ' + kind:14}"
            print(row + "".join(f"{cell.percent(kind):6.0f} %"[:7] for cell in cells), end="")
            over = sum(cell.over for cell in cells)
            print(f"   {over} over the target" if kind == ALL and over else "")


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", help="FIRST-LAST, by default 1-40; or the places in each file, by default all")
    parser.add_argument("--written", action="store_true", help="the chats of written/, by file")
    given = parser.parse_args()
    first, last = map(int, (given.seeds or ("1-999" if given.written else "1-40")).split("-"))
    if given.written:
        for name in _written.NAMES:
            if made := _written.chats(name)[first - 1 : last]:
                show(name, made)
    else:
        show(f"seeds {first}-{last}", [_chats.chat(seed) for seed in range(first, last + 1)])


if __name__ == "__main__":
    main()
