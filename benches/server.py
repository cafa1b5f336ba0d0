"""Agents of 1,000 turns whose provider's server compacts, beside the same agents compacted here; ``make bench-server``.

Every way plays the same agent against the same strict server (``tests/support/compacting.py`` and
``compacting_openai.py``): thresholds, what stands before a compaction dropped, signatures checked, refusals. Printed
are its calls and its own passes, the tokens that it billed, their price by the model tables, and the same by the
library's account; requests that it refused, prompts over the window, messages that cannot be restored, and prompts
that lacked the pinned rule.
"""

from __future__ import annotations

import argparse
import collections
import sys
from pathlib import Path

import tiktoken
from tiktoken_ext import openai_public

import trimtab
from trimtab._core import Counter
from trimtab.models.model import priced
from trimtab.validity import parameters

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.agents import OPTIONS
from support.models import CLAUDE_BOUND, CLAUDE_MILLION, GPT
from support.served import LEAST, WINDOW, Played, play, play_openai

WAYS = (("", "here, offline"), ("call", "in the call"), ("pass", "on demand"), ("auto", "the cheapest"))
KINDS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


def money(usage: collections.Counter[str], model: str) -> float:
    """The US dollars of a usage."""
    return priced({kind: usage[kind] for kind in KINDS}, model).get("cost", float("nan"))


def row(name: str, played: Played, model: str) -> str:
    """One way, as a row of the table."""
    server = played.server
    passes: collections.Counter[str] = collections.Counter()
    for entry in server.passes:
        passes.update({kind: entry.get(kind, 0) for kind in KINDS})
    theirs = collections.Counter({kind: server.usage[kind] + passes[kind] for kind in KINDS})
    ours = collections.Counter({kind: played.spent[kind] + played.spent[f"pass {kind}"] for kind in KINDS})
    agree = "equal" if all(theirs[kind] == ours[kind] for kind in KINDS) else f"{sum(ours.values()):,}"
    prompt = sum(theirs[kind] for kind in KINDS[:3])
    did = server.did
    cells = (
        name,
        f"{did['cleared']:,}",
        f"{did['in a call'] + did['on demand']:,}",
        f"{prompt:,}",
        f"{theirs['cache_read_input_tokens'] / max(prompt, 1):.1%}",
        f"{money(theirs, model):.2f}",
        agree,
        f"{len(server.refused)}",
        f"{len(played.lost)}",
        f"{did['without the rule']}",
    )
    return "| " + " | ".join(cells) + " |"


HEAD = (
    "| way | calls with results cleared | passes | prompt tokens | from the cache | dollars | our account | refused |"
    " lost | without the rule |\n|---|---|---|---|---|---|---|---|---|---|"
)


def main() -> None:
    """Play all ways, and print a table a model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=1_000)
    options = parser.parse_args()
    parameters.LEAST[parameters.COMPACT] = LEAST
    print(f"trimtab {trimtab.__version__}, window {WINDOW:,}, {options.turns:,} turns, least trigger {LEAST:,}")
    for model in (CLAUDE_MILLION, CLAUDE_BOUND):
        print(f"\n{model}\n\n{HEAD}")
        for way, name in WAYS:
            print(row(name, play(way, options.turns, model, faults=0.02), model), flush=True)
    print(f"\n{GPT}, a window of {OPTIONS['window']:,}\n\n{HEAD}")
    openai_public.load_tiktoken_bpe = lambda *_, **__: _ranks()  # tiktoken's own would fetch the vocabulary
    encode = tiktoken.get_encoding("o200k_base").encode_ordinary
    for way, name in WAYS:
        print(row(name, play_openai(way, options.turns, encode, posted=True), GPT), flush=True)


def _ranks() -> dict[bytes, int]:
    """The vocabulary of OpenAI's models; nothing is fetched."""
    return {token: rank for rank, token in enumerate(Counter("o200k_base").vocabulary("o200k_base"))}


if __name__ == "__main__":
    main()
