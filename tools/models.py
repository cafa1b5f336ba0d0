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
from typing import TYPE_CHECKING, Any, NamedTuple

import model_ends
from trimtab import Model
from trimtab.models.catalog import Row
from trimtab.models.ids import HOSTS, ModelId

if TYPE_CHECKING:
    from collections.abc import Callable

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


class Given(NamedTuple):
    """A row of a table.

    Attributes:
        text: the id in the table.
        named: the id, taken apart.
        row: the limits and prices of its name.
        alias: whether the id stands for another one of today.
    """

    text: str
    named: ModelId
    row: Row
    alias: bool


def of_litellm(wheel: Path) -> list[Given]:
    """Return LiteLLM's chat models; rows without a limit are left out."""
    with zipfile.ZipFile(wheel) as archive:
        table: dict[str, dict[str, Any]] = json.loads(archive.read(TABLE))
    found = []
    for text, own in table.items():
        row = table.get(own.get("alias_of", ""), own)
        given = row.get("max_input_tokens") or row.get("max_tokens")
        if row.get("mode") not in MODES or not given or int(given) < 2:
            continue
        name, host = ModelId.of(text), host_of(row["litellm_provider"])
        window, output, limit = limits(
            name, int(given), int(row.get("max_output_tokens") or row.get("max_tokens") or 0)
        )
        prices = [round(1e6 * row[kind], 6) if row.get(kind) else NAN for kind in PRICES]
        values = (window, output, limit, tuple(prices))
        found.append(Given(text, name, Row(host, _spelled(name, name.name), *values), "alias_of" in own))
    return found


def _spelled(named: ModelId, name: str) -> str:
    return ("ft:" if named.tuned else "") + name


def of_genai(wheel: Path) -> list[Given]:
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
            row = Row(host_of(provider.id), _spelled(name, name.name), window, output, limit, tuple(money))
            found.append(Given(f"{host_of(provider.id)}/{model.id}", name, row, model.id.startswith("~")))
    return found


def merged(*tables: list[Given]) -> list[Row]:
    """Return one row for each host and name: of the first table that has it, the one with the smallest window.

    A dated id, or one that ends in ``-latest``, has a row of its own where its window is another. An alias says nothing
    about the name without ``-latest``.
    """
    plain: dict[tuple[str, str], Row] = {}
    dated: dict[tuple[str, str], Row] = {}
    for table in tables:
        names: dict[tuple[str, str], Row] = {}
        dates: dict[tuple[str, str], Row] = {}
        for _, named, row, alias in table:
            if not alias:
                _keep(names, row)
            if named.dated_key != named.key:
                _keep(dates, row._replace(name=_spelled(named, named.dated)))
        plain, dated = names | plain, dates | dated
    for place, row in dated.items():
        name = plain.get((row.host, ModelId.of(row.name).key))
        if name is None or name.window != row.window:
            plain.setdefault(place, row)
    return [plain[place] for place in sorted(plain)]


def _keep(rows: dict[tuple[str, str], Row], row: Row) -> None:
    """Keep the smaller of two rows of one key, in the name that writes versions with dots."""
    known = rows.get((row.host, row.key), row)
    name = max(known.name, row.name, key=lambda name: name.count("."))
    rows[row.host, row.key] = min(known, row, key=lambda row: row.window)._replace(name=name)


def line(row: Row) -> str:
    """Return the line of a row."""
    prices = ["" if price != price else f"{price:g}" for price in row.prices]  # noqa: PLR0124 - NaN
    cells = [row.host, row.name, str(row.window), str(row.max_output), str(row.input_limit or ""), *prices]
    return "\t".join(cells).rstrip("\t") if any(prices) else "\t".join(cells[:5])


def check(litellm: list[Given], genai: list[Given]) -> int:
    """Print each id whose window here is another than in a table, and why; return how many are wrong.

    No id of LiteLLM's may have a larger window here, and none of genai-prices' may be assumed: there LiteLLM's number
    counts first.
    """
    return _check("LiteLLM", litellm, _why_not_litellm) + _check("genai-prices", genai, _why_not_genai(litellm))


def _check(table: str, rows: list[Given], why_not: Callable[[Given, Model], str]) -> int:
    why: Counter[str] = Counter()
    for given in rows:
        model = Model.named(given.text)
        mine, theirs = model.input_limit or model.window, given.row.input_limit or given.row.window
        if theirs in {mine, model.window}:
            why["equal"] += 1
            continue
        reason = why_not(given, model)
        why[reason] += 1
        print(f"{given.text:70} here {mine:>10,}, {table} {theirs:>10,}: {reason}")
    print(", ".join(f"{count:,} {reason}" for reason, count in why.most_common()), "\n")
    return sum(count for reason, count in why.items() if reason.isupper())


def _why_not_litellm(given: Given, model: Model) -> str:
    if (model.input_limit or model.window) > (given.row.input_limit or given.row.window):
        return "LARGER"
    ours = "a row of our own (models/own.tsv)" if model.source == "table" else None
    return ours or ("the smallest of rows that are one" if model.known else "assumed, as the id names no host")


def _why_not_genai(litellm: list[Given]) -> Callable[[Given, Model], str]:
    first = {(row.host, row.key): row for row in merged(litellm)}

    def why_not(given: Given, model: Model) -> str:
        ours = first.get((given.row.host, given.row.key))
        if ours and (ours.input_limit or ours.window) == (model.input_limit or model.window):
            return "LiteLLM has this number"
        return "a row of our own (models/own.tsv), or the maker's" if model.known else "ASSUMED"

    return why_not


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
