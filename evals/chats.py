"""What compactions keep of short chats with small talk: ``make eval-chats``. No model, one run.

Of what must be known, by weight, at 15, 25 and 40 % of the tokens, after one round and after three; beside it the
newest messages alone in the same number of tokens, and old decisions that stand there without the new one.
"""

from __future__ import annotations

import argparse
import platform

import _chats

import trimtab

MODEL = "claude-sonnet-4-5"
SHARES = (0.15, 0.25, 0.40)


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
    while start and trimtab.count(messages[start - 1 :], model=MODEL, provider="openai_chat") <= target:
        start -= 1
    return messages[start:]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="1-40")
    parser.add_argument("--show", type=int, default=None)
    given = parser.parse_args()
    first, last = map(int, given.seeds.split("-"))
    chats = [_chats.chat(seed) for seed in range(first, last + 1)]
    costs = [trimtab.count(one.messages, model=MODEL, provider="openai_chat") for one in chats]
    print(f"{len(chats)} chats of {sum(costs) / len(costs):.0f} tokens, seeds {given.seeds}", end="; ")
    print(f"trimtab {trimtab.__version__}, Python {platform.python_version()}")
    print(f"{'':14}" + "".join(f"{share:>7.0%}" for share in SHARES))
    for name, rounds in (("one round", 1), ("three rounds", 3), ("newest", 0)):
        kinds = {kind: [[0.0, 0.0] for _ in SHARES] for kind in _chats.KINDS}
        over = 0
        for one, cost in zip(chats, costs, strict=True):
            for at, share in enumerate(SHARES):
                target = int(cost * share)
                held = compacted(one.messages, target, rounds) if rounds else newest(one.messages, target)
                text = text_of(held)
                over += trimtab.count(held, model=MODEL, provider="openai_chat") > target
                for fact in one.facts:
                    kinds[one.kind][at][0] += fact.weight * fact.kept(text)
                    kinds[one.kind][at][1] += fact.weight
        rows = {**kinds, "all": [[sum(k[at][n] for k in kinds.values()) for n in (0, 1)] for at in range(len(SHARES))]}
        for kind, cells in rows.items():
            print(
                f"{name if kind == 'all' else '  ' + kind:14}"
                + "".join(f"{100 * a / max(b, 1):6.0f} %"[:7] for a, b in cells),
                end="",
            )
            print(f"   {over} over the target" if kind == "all" and over else "")


if __name__ == "__main__":
    main()
