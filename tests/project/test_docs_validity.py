"""``docs/validity.md``: its table is the sources', its example runs, its names are those that there are."""

import re
from pathlib import Path
from typing import get_args

import codes
from trimtab.messages import Repaired
from trimtab.models import Provider

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "validity.md").read_text()


def test_the_table_of_codes_is_what_the_sources_say():
    assert codes.BLOCK.search(TEXT)[0] == codes.table(), "run make docs"
    assert get_args(Provider) == codes.PROVIDERS


def test_every_code_in_the_sources_is_found():
    for path in codes.RULES.glob("*.rs"):
        source = path.read_text().split("#[cfg(test)]")[0]
        calls = len(re.findall(r"found\.(?:message|row)\(", source))
        named = len(re.findall(r'found\.(?:message|row)\(\s*\*?[^,"]+,\s*(?:"[a-z_]+"|code)', source))
        assert calls == named, path.name


def test_the_changes_are_those_that_are_documented():
    section = TEXT.split("## Repair")[1].split("## Thinking")[0]
    told = set(re.findall(r"`([a-z_]+)`", section))
    assert told == set(re.findall(r"``([a-z_]+)``", Repaired.__doc__.split("code: ")[1].split("id: ")[0]))
