"""The walk through ``fit`` in CONTRIBUTING.md is the way that a call takes."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import house
import trimtab
from support.models import CLAUDE_MILLION

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
SECTION = TEXT[TEXT.index("## A walk through fit") : TEXT.index("## How the code reads")]
BELOW, COMPACTS = SECTION.split("Where a compaction is due")


def named(text: str) -> list[str]:
    """Return the files of the package that the steps name, in order, each once."""
    steps = "".join(line for line in text.splitlines(keepends=True) if re.match(r"\d\.|   ", line))
    return [*dict.fromkeys(re.findall(r"`([a-z]+/[a-z_/]+\.py)`", steps))]


def entered(call: Callable[[], object]) -> list[str]:
    """Return the files of the package that a call enters, in order, each once."""
    found: dict[str, None] = {}

    def enter(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(house.PACKAGE):
            found[path.relative_to(house.PACKAGE).as_posix()] = None

    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [*found]


def fits(**options: Any) -> list[str]:
    """Return the files that a second ``fit`` enters: what is loaded with the first is no part of the walk."""
    given = house.messages(60)
    for name in "ab":
        session = trimtab.Compactor(CLAUDE_MILLION, **options).session(name)
        if not options:
            session.fit(given)
        found = entered(lambda session=session: session.fit(given))
    return found


def test_every_file_of_the_walk_is_there() -> None:
    files = named(SECTION)
    assert len(files) > 12
    assert [file for file in files if not (house.PYTHON / file).is_file()] == []
    assert all((ROOT / name).is_file() for name in re.findall(r"`((?:tests|tools|docs)/[\w/]+\.\w+)`", SECTION))


def test_below_the_trigger_fit_enters_the_files_of_the_walk_and_no_other() -> None:
    assert fits() == named(BELOW)


def test_a_fit_that_compacts_enters_the_files_of_the_walk_in_order() -> None:
    found, steps = fits(window=20_000, max_output=2_000), named(COMPACTS)
    assert [file for file in found if file in steps] == [file for file in steps if file in found]
    assert [file for file in steps if file not in found] == []
