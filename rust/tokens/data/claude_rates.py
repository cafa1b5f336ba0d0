"""Fits the rates by which Claude's tokens are estimated without the vocabularies, and says how wrong they are.

    .venv/bin/python rust/tokens/data/claude_rates.py [PAIRS.jsonl] [--write]

PAIRS holds texts with the tokens that a provider charged; ../shared/data/pairs.jsonl where none is given. The exact
encodings' counts of its texts teach the rates: tokens of each kind of piece (claude/features.rs), none negative,
each text weighted by one over its tokens. Printed are the errors against what was charged when no repository is
estimated by rates that its own texts taught: five parts of the repositories, each estimated by the other four. What the
grammar adds to the texts is the library's own, as it counts without the vocabularies. The exact counts' errors stand
beside them: what the texts do not show no rate can learn. The rows are those of ``tools/score_counts.py``; "text alone"
is held against the exact count. With --write the rates that all texts teach are written.
"""

import argparse
import collections
import hashlib
import json
import pathlib
import statistics
import sys
from dataclasses import replace
from functools import cache

import numpy as np

from trimtab import Counter, Model, _core

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "evals"))

from pairs import said  # noqa: E402

PAIRS = HERE.parents[3] / "shared" / "data" / "pairs.jsonl"
RATES = HERE.parent / "src" / "claude" / "rates.rs"
FAMILIES = ("claude-old", "claude-new")
PARTS = 5
PRIOR = 0.1  # the weight of what a kind begins at, beside the relative errors of thousands of texts
LETTERS = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9.5])  # of the words of the first kinds
# Rounds in which large errors weigh less; by what is printed, the old family is the worse for them.
ROUNDS = {"claude-old": 0, "claude-new": 8}
BEYOND_ASCII = slice(30, 33)  # letters of words that have one beyond ASCII
KINDS = ("delta", "delta_minus_output")
ASKED = {
    ("claude-old", "delta", "rates"): "  goal 3 and 18 %",
    ("claude-new", "delta_minus_output", "rates"): "  goal 5 and 20 %",
}


def text_of(value: object) -> str:
    """Return the text of a value in the prompt."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def texts_of(pair: dict) -> list[str]:
    """The texts of a pair, apart from what its grammar writes around them."""
    texts = []
    for block in pair["content_blocks"]:
        match block["type"]:
            case "text":
                texts.append(block["text"])
            case "tool_use":
                given = block["input"] if isinstance(block["input"], dict) else {"input": block["input"]}
                texts += [block.get("name") or "", *given, *map(text_of, given.values())]
            case "tool_result":
                content = block["content"]
                parts = [content] if isinstance(content, str) else content or []
                texts += [p if isinstance(p, str) else p.get("text", "") for p in parts]
    return texts


@cache
def counter_of(model: str, how: str) -> Counter:
    """The library's counter for a model, by its vocabulary or " by rates"."""
    known = Model.named(model)
    return Counter.for_model(replace(known, prompt=replace(known.prompt, encoding=known.prompt.encoding + how)))


def counted(pair: dict, how: str = "") -> int:
    """Return the library's count of a pair."""
    return int(counter_of(pair["model"], how).per_message(said(pair)).sum())


def fitted(family: str, features: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Rates that begin at one token a piece, and at a letter's share of a small word for letters beyond ASCII.

    Of least squared relative error, or of least error where it is more than 5 % of a text.
    """
    weight, begin = 1 / np.maximum(tokens, 40), np.ones(features.shape[1])
    rates = weighted(features, tokens, weight, begin)
    words = features[:, : len(LETTERS)].sum(axis=0)
    begin[BEYOND_ASCII] = words @ rates[: len(LETTERS)] / (words @ LETTERS)
    rates = weighted(features, tokens, weight, begin)
    for _ in range(ROUNDS[family]):
        less = 1 / np.maximum(np.abs(features @ rates - tokens) * weight, 0.05)
        rates = weighted(features, tokens, weight * np.sqrt(less / less.mean()), begin)
    return rates


def weighted(features: np.ndarray, tokens: np.ndarray, weight: np.ndarray, begin: np.ndarray) -> np.ndarray:
    """Rates of least squared weighted error, none negative: a kind whose rate would be is left out.

    A rate stays where it begins as far as few texts say otherwise.
    """
    kept = np.arange(features.shape[1])
    while True:
        rows = np.vstack([features[:, kept] * weight[:, None], PRIOR * np.eye(len(kept))])
        found = np.linalg.lstsq(rows, np.append(tokens * weight, PRIOR * begin[kept]), rcond=None)[0]
        if (found >= 0).all():
            rates = np.zeros(features.shape[1])
            rates[kept] = found
            return rates
        kept = kept[found >= 0]


def part_of(pair: dict) -> int:
    """Which part a repository is in."""
    return hashlib.sha256(pair["source"]["repo"].encode()).digest()[0] % PARTS


def main() -> None:
    """Fits, prints and writes."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("pairs", nargs="?", type=pathlib.Path, default=PAIRS)
    asked.add_argument("--write", action="store_true")
    options = asked.parse_args()
    with options.pairs.open(encoding="utf-8") as lines:
        pairs = [p for p in map(json.loads, lines) if p.get("content_blocks")]
    repositories = {pair["source"]["repo"] for pair in pairs}
    print(f"{len(pairs):,} pairs of {len(repositories)} repositories, {len(_core._features(''))} kinds")
    texts = [texts_of(pair) for pair in pairs]
    owner = np.repeat(np.arange(len(pairs)), list(map(len, texts)))
    texts = [text for found in texts for text in found]
    features = np.array([_core._features(text) for text in texts], dtype=float)
    parts = np.array([part_of(pair) for pair in pairs])
    written = {}
    for family in FAMILIES:
        tokens = _core.Counter(family).count_many(texts).astype(float)
        exact = np.bincount(owner, tokens, len(pairs))
        by_rates = np.bincount(owner, _core.Counter(f"{family} by rates").count_many(texts), len(pairs))
        large = tokens >= 20
        written[family] = fitted(family, features[large], tokens[large])
        errors = collections.defaultdict(list)
        for part in range(PARTS):
            taught = large & (parts[owner] != part)
            estimate = np.bincount(owner, features @ fitted(family, features[taught], tokens[taught]), len(pairs))
            for at in np.flatnonzero(parts == part):
                pair, want = pairs[at], pairs[at]["actual_tokens"]
                if pair["family"] == family and pair["kind"] in KINDS and want > 0:
                    grammar = counted(pair, " by rates") - by_rates[at]
                    for name, count in (("rates", estimate[at] + grammar), ("exact", counted(pair))):
                        errors[pair["kind"], name].append(100 * (count - want) / want)
                    if exact[at] >= 100:
                        errors["text alone", "rates"].append(100 * (estimate[at] / exact[at] - 1))
        for (kind, by), found in sorted(errors.items()):
            size = sorted(map(abs, found))
            asked = ASKED.get((family, kind, by), "")
            print(
                f"{family} {kind:18} {by:5} n {len(found):5}  median {statistics.median(size):5.2f} %"
                f"  p95 {size[int(0.95 * len(size))]:6.2f} %  bias {statistics.mean(found):+6.2f} %{asked}"
            )
    if options.write:
        lines = ["//! Tokens of each kind of piece, in thousandths; made by `data/claude_rates.py`.\n"]
        lines.append("use super::features::KINDS;\n")
        for family, rates in written.items():
            numbers = ", ".join(str(round(1000 * rate)) for rate in rates)
            lines.append(f"pub const {family[7:].upper()}: [u32; KINDS] = [{numbers}];")
        RATES.write_text("\n".join(lines) + "\n")
        print(f"{RATES.name} written; run cargo fmt")


if __name__ == "__main__":
    main()
