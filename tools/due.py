"""Write the table of what ``fit`` does when into ``docs/policies.md``, from ``planning.due``; ``make docs``."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from trimtab.planning.due import Pressure, due
from trimtab.policies import DEFAULT
from trimtab.session.call import When

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).resolve().parent.parent / "docs" / "policies.md"
BLOCK = re.compile("(?<=<!-- due -->\n).*?(?=<!-- /due -->)", re.DOTALL)
MESSAGES = 100_000
"""Tokens of messages in the table: enough for pruning to pay."""

WORDS = {
    None: "-",
    "within_policy": "to the target",
    "within_budget": "to the budget",
    "within_bytes": "pictures, else to the budget",
    "prune": "prunes",
    "prune_if_cheaper": "prunes if it pays",
    "wait": "waits",
}
DANGERS = {
    (False, False): "",
    (True, False): "past the input budget or the danger line",
    (False, True): "past the provider's limit of bytes",
    (True, True): "past both",
}


def states() -> Iterator[tuple[str, Pressure, dict[str, bool | str]]]:
    """Yield each state of a prompt and a session, in words and as the arguments of ``due``."""
    for (danger, words), past, rests, is_writing in product(DANGERS.items(), *[(False, True)] * 3):
        passes = "a summary is being written" if is_writing and past and not any(danger) else ""
        told = [words or ("past the trigger" if past else "below the trigger")]
        told += ["the summarizer rests"] * rests + ["a summary is being written"] * is_writing
        pressed = Pressure(past, *danger)
        yield "; ".join(told), pressed, {"rests": rests, "is_writing": is_writing, "passes": passes}


def table() -> str:
    """A row a state, a column a moment; a state that does the same as a shorter one has no row."""
    moments = get_args(When)
    rows: dict[str, tuple[str, ...]] = {}
    for words, pressed, state in states():
        done = tuple(WORDS[due(DEFAULT, pressed, moment, MESSAGES, **state)[0]] for moment in moments)
        parts = set(words.split("; "))
        if not any(parts > {*shorter.split("; ")} and rows[shorter] == done for shorter in rows):
            rows[words] = done
    lines = [
        "| the prompt | " + " | ".join(f"`{moment}`" for moment in moments) + " |",
        "|---|" + "---|" * len(moments),
    ]
    return "\n".join([*lines, *(f"| {words} | {' | '.join(done)} |" for words, done in rows.items())]) + "\n"


if __name__ == "__main__":
    DOCS.write_text(BLOCK.sub(lambda _: table(), DOCS.read_text()))
