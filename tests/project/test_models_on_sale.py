"""Defaults name models of our own table, no page names one that ended, and ``make data-check`` sees which end next.

Nothing here reads the calendar or a table that its publisher may change: those are ``tools/model_ends.py``'s.
"""

from __future__ import annotations

import datetime as dt
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import model_ends
from model_ends import PAGES, ROOT, defaults, end_of, first_days, is_preset, named
from support import models
from trimtab.models import ModelId
from trimtab.models.catalog import own_rows
from trimtab.models.model import retired

DAY = dt.date(2026, 11, 25)


def ended(names: list[str]) -> list[str]:
    return [name for name in names if retired(name)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_recommends_no_model_that_has_ended(page: Path) -> None:
    assert is_preset(page) or not ended(named(page))


def test_documents_name_the_models_of_one_list() -> None:
    """A model's end changes its line in ``support/models.py``, and this names the pages that follow."""
    known = {ModelId.of(model).key for name, model in vars(models).items() if name.isupper()}
    documents = [page for page in PAGES if page.suffix == ".md"]
    others = {page.name: {name for name in named(page) if ModelId.of(name).key not in known} for page in documents}
    assert not {page: names for page, names in others.items() if names}


def test_the_pages_name_models() -> None:
    assert len([model for page in PAGES for model in named(page)]) >= 15
    assert ended(["claude-3-5-haiku-20241022", "claude-sonnet-5-5"]) == ["claude-3-5-haiku-20241022"]


def test_defaults_are_models_of_our_own_table_that_have_not_ended() -> None:
    names = [name for place in defaults().values() for name in place]
    assert len(names) >= 7
    assert not ended(names)
    assert {ModelId.of(name).name for name in names} <= {*own_rows()}


def test_the_last_days_of_an_sdk_are_read_as_it_writes_them() -> None:
    table = {"claude-a-1-20250101": "January 22nd, 2027", "claude-b": "some day"}
    assert model_ends.of_anthropic(table) == {"claude-a-1-20250101": dt.date(2027, 1, 22)}
    source = '''ChatModel: TypeAlias = Literal["gpt-a", "gpt-b"]
"""Deprecated values:

- "gpt-a", "gpt-a-2025-08-07",
  "gpt-c":
  Announced shutdown date: 2026-12-11. See
  https://host.example/deprecations for details.
- "gpt-d": Not a supported model ID. Retained for SDK compatibility.
- "gpt-e": Announced shutdown
  date: 2026-03-26. See more.
"""
'''
    first, last = dt.date(2026, 12, 11), dt.date(2026, 3, 26)
    assert model_ends.of_openai(source) == {"gpt-a": first, "gpt-a-2025-08-07": first, "gpt-c": first, "gpt-e": last}


def test_the_last_days_of_a_public_table_are_those_on_the_maker_s_own_host(tmp_path: Path) -> None:
    rows: dict[str, dict[str, Any]] = {
        "gpt-a": {"litellm_provider": "openai", "mode": "chat", "deprecation_date": "2026-12-01"},
        "azure/gpt-a": {"litellm_provider": "azure", "mode": "chat", "deprecation_date": "2026-01-01"},
        "gemini/gemini-a": {"litellm_provider": "gemini", "mode": "chat", "deprecation_date": "2027-01-01"},
        "gpt-image": {"litellm_provider": "openai", "mode": "image_generation", "deprecation_date": "2026-01-01"},
        "gpt-b": {"litellm_provider": "openai", "mode": "chat"},
    }
    with zipfile.ZipFile(tmp_path / "table.whl", "w") as wheel:
        wheel.writestr("table.json", json.dumps(rows))
    days = {"gpt-a": dt.date(2026, 12, 1), "gemini-a": dt.date(2027, 1, 1)}
    assert model_ends.of_litellm(tmp_path / "table.whl", "table.json") == days


def test_of_two_last_days_the_first_counts_and_a_name_lives_as_long_as_its_last_id() -> None:
    days = first_days(
        {
            "one": {"gpt-a": dt.date(2027, 1, 1), "gpt-4o-2024-05-13": dt.date(2026, 1, 1)},
            "two": {"gpt-a": dt.date(2026, 12, 1), "gpt-4o-2024-08-06": dt.date(2027, 2, 1)},
        }
    )
    assert end_of("openai/gpt-a", days) == (dt.date(2026, 12, 1), "two")
    assert end_of("openai:gpt-4o-2024-05-13", days) == (dt.date(2026, 1, 1), "one")
    assert end_of("gpt-4o", days) == (dt.date(2027, 2, 1), "two")
    assert end_of("gpt-4o-2024-11-20", days) == (dt.date(2027, 2, 1), "two")
    assert end_of("gpt-b", days) is None


def test_what_ends_within_the_notice_is_named_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, preset = tmp_path / "page.md", tmp_path / "policies" / "preset.toml"
    preset.parent.mkdir()
    for path in (page, preset):
        path.write_text('cm = Compactor("claude-a-20260101", model="gpt-b")\n')
    monkeypatch.setattr(model_ends, "ROOT", tmp_path)
    monkeypatch.setattr(model_ends, "PAGES", [page, preset])
    monkeypatch.setattr(model_ends, "defaults", lambda: {"defaults": ["gpt-b", "gpt-c"]})

    def told(days: dict[str, dt.date]) -> list[str]:
        return [line.split(" (")[0] for line in model_ends.changes(first_days({"table": days}), DAY)]

    soon, later = DAY + dt.timedelta(days=13), DAY + dt.timedelta(days=14)
    assert told({"claude-a": soon, "gpt-b": later, "gpt-c": soon}) == [
        f"page.md: names claude-a-20260101, which ends on {soon}",
        f"defaults: names gpt-c, which ends on {soon}",
    ]
    assert told({"gpt-b": later}) == []
    assert told({"gpt-b": DAY - dt.timedelta(days=1)})[2:] == [
        "models/table.py: RETIRED lacks gpt-b of preset.toml, which ended on 2026-11-24"
    ]
