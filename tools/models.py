"""Write ``python/trimtab/models/catalog.tsv`` from two public tables; ``make data``.

LiteLLM's table (``model_prices_and_context_window_backup.json``) gives most rows, genai-prices the others. Both are
under the MIT licence (NOTICE) and lie in their wheels, which ``make data`` downloads. Ids are taken apart by
``trimtab.models.ids``: dates, regions and tags are gone, and of rows that become one the smallest window stays.

``make data-check`` compares the windows with those of genai-prices and says why they differ, and names what recommends
a model that ends (``model_ends.py``); nothing is written.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import model_ends
from trimtab import Model
from trimtab.models.catalog import Row
from trimtab.models.ids import HOSTS, ModelId

ROOT = Path(__file__).resolve().parent.parent
CATALOG = ROOT / "python/trimtab/models/catalog.tsv"
TABLE = "litellm/model_prices_and_context_window_backup.json"
MODES = {"chat", "responses", "completion"}
NAN = float("nan")

PRICES = (
    "input_cost_per_token",
    "output_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
)

OTHER_NAMES = {
    "aws": "bedrock",
    "google": "gemini",
    "text-completion-openai": "openai",
    "text-completion-codestral": "mistral",
    "cohere_chat": "cohere",
    "qwen_ai_platform": "dashscope",
    "qwencloud": "dashscope",
    "azure_text": "azure",
}
"""Hosts whose name in a table is no prefix of an id."""

SHARED = {400_000, 1_050_000}
"""OpenAI's windows: where input and output limits add up to one of these, the input has a limit of its own."""


def host_of(name: str) -> str:
    """Return a table's host as our ids name it."""
    name = name.split("-", maxsplit=1)[0] if name.startswith("vertex_ai") else name
    return OTHER_NAMES.get(name) or HOSTS.get(name, name)


def limits(name: ModelId, given: int, output: int) -> tuple[int, int, int | None]:
    """Return window, output limit and separate input limit, from the input limit and the output limit of a table.

    Gemini's documentation states input and output limits apart, and so does OpenAI's from GPT-5 on; elsewhere the input
    limit is the window.
    """
    apart = (name.maker == "gemini" and name.name.startswith("gemini")) or (
        name.maker == "openai" and given + output in SHARED
    )
    if apart and output:
        return given + output, output, given
    return given, min(output, max(given // 2, 1)), None


def of_litellm(wheel: Path) -> list[Row]:
    """Return LiteLLM's chat models; rows without a limit are left out."""
    with zipfile.ZipFile(wheel) as archive:
        table: dict[str, dict[str, Any]] = json.loads(archive.read(TABLE))
    found = []
    for text, row in table.items():
        given = row.get("max_input_tokens") or row.get("max_tokens")
        if row.get("mode") not in MODES or not given or int(given) < 2:
            continue
        name = ModelId.of(text)
        window, output, limit = limits(
            name, int(given), int(row.get("max_output_tokens") or row.get("max_tokens") or 0)
        )
        prices = [round(1e6 * row[kind], 6) if row.get(kind) else NAN for kind in PRICES]
        found.append(Row(host_of(row["litellm_provider"]), name.key, window, output, limit, tuple(prices)))
    return found


def of_genai(wheel: Path) -> list[Row]:
    """Return the models of genai-prices that have a window."""
    sys.path.insert(0, str(wheel))
    from genai_prices.data import providers

    found = []
    for provider in providers:
        if provider.id.startswith("huggingface_"):
            continue  # a router before hosts that have rows of their own
        for model in provider.models:
            if not model.context_window:
                continue
            name = ModelId.of(model.id)
            window, output, limit = limits(name, int(model.context_window), 0)
            kinds = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")
            prices = [getattr(model.prices, kind, None) for kind in kinds]
            money = [
                float(price) if isinstance(price, int | float) or type(price).__name__ == "Decimal" else NAN
                for price in prices
            ]
            found.append(Row(host_of(provider.id), name.key, window, output, limit, tuple(money)))
    return found


def merged(*tables: list[Row]) -> list[Row]:
    """Return one row for each host and key: of the first table that has it, the one with the smallest window."""
    found: dict[tuple[str, str], Row] = {}
    for table in tables:
        new: dict[tuple[str, str], Row] = {}
        for row in table:
            place = (row.host, row.key)
            if place not in found and (place not in new or row.window < new[place].window):
                new[place] = row
        found |= new
    return [found[place] for place in sorted(found)]


def line(row: Row) -> str:
    """Return the line of a row."""
    prices = ["" if price != price else f"{price:g}" for price in row.prices]  # noqa: PLR0124 - NaN
    cells = [row.host, row.key, str(row.window), str(row.max_output), str(row.input_limit or ""), *prices]
    return "\t".join(cells).rstrip("\t") if any(prices) else "\t".join(cells[:5])


def check(litellm: list[Row], genai: list[Row]) -> int:
    """Print each model whose window here is another than in genai-prices, and why; return how many have no reason."""
    first = {(row.host, row.key): row for row in litellm}
    why: Counter[str] = Counter()
    for row in merged(genai):
        model = Model.named(f"{row.host}/{row.key}")
        mine = model.input_limit or model.window
        if row.window in {mine, model.window}:
            why["equal"] += 1
            continue
        ours = first.get((row.host, row.key))
        if ours is not None and (ours.input_limit or ours.window) == mine:
            reason = "LiteLLM has this number"
        elif model.known:
            reason = "a row of our own (models/table.py), or the maker's"
        else:
            reason = "assumed"
        why[reason] += 1
        print(f"{row.host:20} {row.key:48} here {mine:>10,}, genai-prices {row.window:>10,}: {reason}")
    print(", ".join(f"{count:,} {reason}" for reason, count in why.most_common()))
    return why["assumed"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("litellm", type=Path, help="LiteLLM's wheel")
    parser.add_argument("genai", type=Path, help="genai-prices' wheel")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args()
    litellm, genai = of_litellm(options.litellm), of_genai(options.genai)
    if options.check:
        wrong = check(litellm, genai)
        return min(wrong + model_ends.check(options.litellm, TABLE), 1)
    sources = ", ".join("-".join(wheel.name.split("-")[:2]) for wheel in (options.litellm, options.genai))
    today = dt.datetime.now(tz=dt.UTC).date()
    rows = merged(litellm, genai)
    head = [
        f"# From {sources} (MIT), {today}; written by tools/models.py, not by hand.",
        "# host, id, window, output limit, input limit; dollars per million tokens: input, output, cache",
    ]
    CATALOG.write_text("\n".join([*head, *map(line, rows)]) + "\n")
    print(f"{len(rows):,} rows from {sources}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
