"""Documents, examples and defaults name models that are on sale."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import pytest

from trimtab.cli.input import DEFAULT_MODEL, DEFAULT_MODELS
from trimtab.models.ids import ModelId
from trimtab.models.model import _ALIASES
from trimtab.models.table import RETIRED
from trimtab.summarize import Anthropic, OpenAI

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *(path for folder in ("python", "examples", "evals") for path in sorted((ROOT / folder).rglob("*.py"))),
]

ENDS = {
    "claude-sonnet-4-5": "2026-11-30",
    "gpt-3.5-turbo": "2026-10-23",
    "gpt-4": "2026-10-23",
    "gpt-4-turbo": "2026-10-23",
    "gpt-4.1-nano": "2026-10-23",
    "gpt-5-codex": "2026-07-23",
    "gpt-5": "2026-12-11",
    "gpt-5-mini": "2026-12-11",
    "gpt-5-nano": "2026-12-11",
    "gpt-4o": "2027-01-14",
    "gpt-4o-mini": "2027-01-14",
    "gpt-4.1": "2027-01-14",
    "gpt-4.1-mini": "2027-01-14",
    "gpt-5.1": "2027-04-01",
    "gpt-5.3-codex": "2027-04-01",
    "o1": "2026-10-23",
    "o3-mini": "2026-10-23",
    "o4-mini": "2026-10-23",
    "o3": "2026-12-11",
}
"""Last days of models, by the name of an id. Source: ``deprecation_date`` in LiteLLM 1.109.1's public table; our own
table has those that have ended before (``RETIRED``)."""

NOTICE = dt.timedelta(days=14)
"""A document is changed this long before its model's end."""

RECOMMENDS = re.compile(
    r"""(?:Compactor|for_model|Model\.named|Anthropic|OpenAI)\(\s*["']([a-z][\w.:/\[\]-]+)["']"""
    r"""|\bmodel=["']([a-z][\w.:/\[\]-]+)["']|--(?:summarizer-)?model[ =]([a-z][\w.:/-]+)"""
)
"""An id in a call, or in an option of the command line."""


def end_of(text: str) -> dt.date | None:
    """The last day of a model, if it is known."""
    name = ModelId.of(text).name
    return dt.date.min if name in RETIRED else dt.date.fromisoformat(ENDS[name]) if name in ENDS else None


def named(page: Path) -> list[str]:
    return [next(filter(None, found)) for found in RECOMMENDS.findall(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_recommends_no_model_that_ends(page: Path) -> None:
    today = dt.datetime.now(tz=dt.UTC).date()
    policies = page.parent.name == "policies"  # a preset keeps the model of the document that it follows
    ended = {model for model in named(page) if (end := end_of(model)) and end < today + NOTICE}
    assert policies or not ended


def test_the_pages_name_models() -> None:
    assert len([model for page in PAGES for model in named(page)]) >= 15
    assert end_of("claude-3-5-haiku-20241022") == dt.date.min
    assert end_of("anthropic/claude-sonnet-4.5") == dt.date(2026, 11, 30)
    assert end_of("claude-sonnet-5-5") is None


def test_defaults_are_on_sale() -> None:
    defaults = [*DEFAULT_MODELS.values(), DEFAULT_MODEL, Anthropic().cheap, OpenAI().cheap]
    assert not [name for name in (*defaults, *map(_ALIASES.get, ("opus", "sonnet", "haiku"))) if end_of(str(name))]
