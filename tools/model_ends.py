"""Say which documents, examples and defaults name a model that ends, and when; a part of ``make data-check``.

Last days are from LiteLLM's table (``deprecation_date``) and from the tables of the installed SDKs: ``anthropic`` warns
by one of its own, and ``openai`` names the days in the text under its list of models. Of several days the first counts.
"""

from __future__ import annotations

import datetime as dt
import importlib
import inspect
import json
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from trimtab.cli.input import DEFAULT_MODEL, DEFAULT_MODELS
from trimtab.models.ids import ModelId
from trimtab.models.model import retired
from trimtab.models.table import ALIASES
from trimtab.summarize import Anthropic
from trimtab.summarize import OpenAI as OpenAIWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

Ends: TypeAlias = dict[str, tuple[dt.date, str]]
"""Last days by id, each with the table that has it."""

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *(path for folder in ("python", "examples", "evals") for path in sorted((ROOT / folder).rglob("*.py"))),
    *sorted((ROOT / "python" / "trimtab" / "policies").glob("*.toml")),
]

NOTICE = dt.timedelta(days=14)
"""A document is changed this long before its model's end."""

RECOMMENDS = re.compile(
    r"""(?:Compactor|for_model|Model\.named|Anthropic|OpenAI)\(\s*["']([a-z][\w.:/\[\]-]+)["']"""
    r"""|\bmodel ?= ?["']([a-z][\w.:/\[\]-]+)["']|--(?:summarizer-)?model[ =]([a-z][\w.:/-]+)"""
)
"""An id in a call, or in an option of the command line."""

_OPENAI_ITEM = re.compile(r'^- ((?:\s*"[\w.-]+",?)+):\s+Announced\s+shutdown\s+date:\s+(\d{4}-\d\d-\d\d)', re.MULTILINE)
_MONTH = re.compile(r"(\w+) (\d+)\w*, (\d{4})")
_MODES = {"chat", "responses", "completion"}


def named(page: Path) -> list[str]:
    """Return the ids that a page names."""
    return [next(filter(None, found)) for found in RECOMMENDS.findall(page.read_text("utf-8"))]


def is_preset(page: Path) -> bool:
    """Return whether a page is a preset: it keeps the model of the document it follows, and ``RETIRED`` replaces it."""
    return page.parent.name == "policies" and page.suffix == ".toml"


def defaults() -> dict[str, list[str]]:
    """Return the ids that stand for "no model named", by the place that has them."""
    return {
        "cli/input.py": [DEFAULT_MODEL, *DEFAULT_MODELS.values()],
        "summarize/writers": [Anthropic().cheap, OpenAIWriter().cheap],
        "models/table.py, ALIASES": [ALIASES[name] for name in ("opus", "sonnet", "haiku")],
    }


def of_litellm(wheel: Path, table: str) -> dict[str, dt.date]:
    """Return the last days on the makers' own hosts by LiteLLM's table."""
    with zipfile.ZipFile(wheel) as archive:
        rows: dict[str, dict[str, Any]] = json.loads(archive.read(table))
    found = {}
    for text, row in rows.items():
        name = ModelId.of(text)
        own = name.maker == row.get("litellm_provider") and not name.tuned
        if own and row.get("mode") in _MODES and (day := row.get("deprecation_date")):
            found[text.rpartition("/")[2]] = dt.date.fromisoformat(day)
    return found


def of_anthropic(table: dict[str, str]) -> dict[str, dt.date]:
    """Return the last days of the SDK's table, which has them as "November 30th, 2026"."""
    days = {}
    for name, text in table.items():
        if found := _MONTH.fullmatch(text):
            day = dt.datetime.strptime(" ".join(found.groups()), "%B %d %Y").replace(tzinfo=dt.UTC)
            days[name] = day.date()
    return days


def of_openai(source: str) -> dict[str, dt.date]:
    """Return the last days in the text under the SDK's list of models."""
    found = _OPENAI_ITEM.findall(source)
    return {name: dt.date.fromisoformat(day) for names, day in found for name in re.findall(r'"([\w.-]+)"', names)}


def of_sdks() -> dict[str, dict[str, dt.date]]:
    """Return the last days that the installed SDKs know, by the SDK.

    Raises:
        SystemExit: an SDK has its table no longer where it was; the line says what to change.
    """
    places = (("anthropic", "anthropic._data"), ("openai", "openai.types.shared.chat_model"))
    found = {}
    for name, path in places:
        try:
            module = importlib.import_module(path)
            days = (
                of_anthropic(module.DEPRECATED_MODELS) if name == "anthropic" else of_openai(inspect.getsource(module))
            )
        except (ImportError, AttributeError) as error:
            raise SystemExit(f"{name}: no table of deprecated models ({error}); change tools/model_ends.py") from None
        found[f"{name} {importlib.import_module(name).__version__}"] = days
    return found


def first_days(tables: dict[str, dict[str, dt.date]]) -> Ends:
    """Return the first of the last days of each id, and the table that has it.

    A name without a day of its own ends with the last of its dated ids.
    """
    days: Ends = {}
    for source, table in tables.items():
        for text, day in table.items():
            days[text.lower()] = min((day, source), days.get(text.lower(), (day, source)))
    dated: Ends = {}
    for text, day_of in days.items():
        if (name := ModelId.of(text).name) not in days:
            dated[name] = max(day_of, dated.get(name, day_of))
    return days | dated


def end_of(text: str, ends: Ends) -> tuple[dt.date, str] | None:
    """Return the last day of a model, and the table that has it; None if none has one."""
    return ends.get(re.split("[/:]", text.lower())[-1]) or ends.get(ModelId.of(text).name)


def changes(ends: Ends, today: dt.date) -> Iterator[str]:
    """Yield what to change: a line for each place that names a model that has ended or ends within ``NOTICE``."""
    places = {str(page.relative_to(ROOT)): named(page) for page in PAGES if not is_preset(page)} | defaults()
    for place, names in places.items():
        for name in sorted({*names}):
            if (end := end_of(name, ends)) and end[0] < today + NOTICE:
                yield f"{place}: names {name}, which ends on {end[0]} ({end[1]}): name another one"
    for page in filter(is_preset, PAGES):
        for name in named(page):
            if not retired(name) and (end := end_of(name, ends)) and end[0] < today:
                yield f"models/table.py: RETIRED lacks {name} of {page.name}, which ended on {end[0]} ({end[1]})"


def check(wheel: Path, table: str) -> int:
    """Print what to change by today's date; return the number of lines."""
    tables = {"-".join(wheel.name.split("-")[:2]): of_litellm(wheel, table)} | of_sdks()
    found = [*changes(first_days(tables), dt.datetime.now(tz=dt.UTC).date())]
    print(*found, sep="\n", end="\n" if found else "")
    counts = ", ".join(f"{len(days)} of {source}" for source, days in tables.items())
    print(f"{len(found)} places name a model that ends; last days: {counts}")
    return len(found)
