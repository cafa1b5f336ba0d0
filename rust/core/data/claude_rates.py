"""Fits the rates by which Claude's tokens are estimated without the vocabularies, and says how wrong they are.

    .venv/bin/python rust/core/data/claude_rates.py [PAIRS.jsonl] [--write]

PAIRS holds texts with the tokens that a provider charged; ../shared/data/pairs.jsonl where none is given. The exact
encodings' counts of its texts teach the rates: tokens of each kind of piece (text/claude/features.rs), none negative,
each text weighted by one over its tokens. Printed are the errors against what was charged when no repository is
estimated by rates that its own texts taught: five parts of the repositories, each estimated by the other four. What a
call or a result adds is that of a prompt's grammar, not fitted here. The exact encodings' errors stand beside them:
what the texts do not show no rate can learn. "Text alone" is held against the exact count. With --write the rates that
all texts teach are written.
"""

import argparse
import collections
import hashlib
import json
import pathlib
import statistics

import numpy as np

from trimtab import _core

HERE = pathlib.Path(__file__).resolve().parent
PAIRS = HERE.parents[3] / "shared" / "data" / "pairs.jsonl"
RATES = HERE.parent / "src" / "text" / "claude" / "rates.rs"
FAMILIES = ("claude-old", "claude-new")
PARTS = 5
KINDS = ("delta", "delta_minus_output")
# Tokens that markup adds, by family: a block of calls, a further call, a parameter, a result, one of several.
MARKUP = {"claude-old": (33, 16, 14.5, 11, 15), "claude-new": (39, 20, 19, 11, 15)}


def text_of(value: object) -> str:
    """What the model is sent for a value."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def texts_of(pair: dict) -> tuple[list[str], float]:
    """The texts of a pair and the tokens that its markup adds."""
    block_tokens, call_tokens, parameter, single, several = MARKUP.get(pair["family"], (0,) * 5)
    late = not any(name in pair["model"] for name in ("opus-4-7",)) and pair["family"] == "claude-new"
    texts, markup, calls, results = [], 0.0, 0, 0
    for block in pair["content_blocks"]:
        match block["type"]:
            case "text":
                texts.append(block["text"])
            case "tool_use":
                calls += 1
                given = block["input"] if isinstance(block["input"], dict) else {"input": block["input"]}
                texts += [block.get("name") or "", *given, *map(text_of, given.values())]
                markup += parameter * len(given)
            case "tool_result":
                results += 1
                content = block["content"]
                parts = [content] if isinstance(content, str) else content or []
                texts += [p if isinstance(p, str) else p.get("text", "") for p in parts]
                markup += 8 if block.get("is_error") else 0
    if calls:
        markup += block_tokens + call_tokens * (calls - 1) - (16 if late else 0)
    if results:
        markup += single - (7 if late else 0) if results == 1 else 13 + results * (several + 2)
    return texts, markup


def weighted(features: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Rates of least squared relative error, none negative: a kind whose rate would be is left out."""
    weight = 1 / np.maximum(tokens, 40)
    kept = np.flatnonzero(features.any(axis=0))
    while True:
        ridge = 1e-3 * np.eye(len(kept))
        rows = np.vstack([features[:, kept] * weight[:, None], ridge])
        found = np.linalg.lstsq(rows, np.append(tokens * weight, np.zeros(len(kept))), rcond=None)[0]
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
    print(f"{len(pairs):,} pairs of {len(repositories)} repositories, {len(_core.features(''))} kinds")
    read = [texts_of(pair) for pair in pairs]
    owner = np.repeat(np.arange(len(pairs)), [len(texts) for texts, _ in read])
    texts = [text for found, _ in read for text in found]
    features = np.array([_core.features(text) for text in texts], dtype=float)
    parts = np.array([part_of(pair) for pair in pairs])
    written = {}
    for family in FAMILIES:
        tokens = _core.Counter(family).count_many(texts).astype(float)
        exact = np.bincount(owner, tokens, len(pairs))
        large = tokens >= 20
        written[family] = weighted(features[large], tokens[large])
        errors = collections.defaultdict(list)
        for part in range(PARTS):
            taught = large & (parts[owner] != part)
            estimate = np.bincount(owner, features @ weighted(features[taught], tokens[taught]), len(pairs))
            for at in np.flatnonzero(parts == part):
                pair, want = pairs[at], pairs[at]["actual_tokens"]
                if pair["family"] == family and pair["kind"] in KINDS and want > 0:
                    for name, of in (("rates", estimate), ("exact", exact)):
                        errors[pair["kind"], name].append(100 * (of[at] + read[at][1] - want) / want)
                    if exact[at] >= 100:
                        errors["text alone", "rates"].append(100 * (estimate[at] / exact[at] - 1))
        for (kind, by), found in sorted(errors.items()):
            size = sorted(map(abs, found))
            print(
                f"{family} {kind:18} {by:5} n {len(found):5}  median {statistics.median(size):5.2f} %"
                f"  p95 {size[int(0.95 * len(size))]:6.2f} %  bias {statistics.mean(found):+6.2f} %"
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
