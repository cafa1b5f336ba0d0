"""CONTRIBUTING's walk through ``fit``: its hops come in that order, and no file below the trigger is left unnamed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trimtab
from support.models import CLAUDE_MILLION

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(trimtab.__file__).parent
SECTION = re.search(r"^## A walk through fit\n(.*?)^## ", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.M | re.S)
MOST_LINES = 40

Hop = tuple[str, str]


def hops(text: str) -> list[Hop]:
    """Return the files and functions that a text names, in its order."""
    return re.findall(r"`([\w/]+\.py)`\s+`(\w+)`", text)


def entered(call: Callable[[], object]) -> list[Hop]:
    """Return the files and functions of the package that a call enters, in its order."""
    found: list[Hop] = []

    def enter(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            found.append((str(path.relative_to(PACKAGE)), frame.f_code.co_name))

    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def missing(named: list[Hop], walked: list[Hop]) -> Hop | None:
    """Return the first hop that a walk does not make behind the hop that is named before it; None if it makes all."""
    rest = iter(walked)
    return next((hop for hop in named if hop not in rest), None)


def session() -> trimtab.Session:
    return trimtab.Compactor(CLAUDE_MILLION, window=20_000, max_output=2_000).session("walk")


def messages(tokens: int) -> list[Any]:
    """Return messages without a call, of at least so many tokens."""
    cm, made = trimtab.Compactor(CLAUDE_MILLION), []
    while not made or cm.count(made) < tokens:
        said = f"Step {len(made)}: the parser reads file_{len(made)}.py. " + "It says what it does. " * 40
        made += [{"role": "user", "content": said}, {"role": "assistant", "content": said}]
    return [*made, {"role": "user", "content": "Go on."}]


def walks(given: list[Any]) -> tuple[list[Hop], list[Hop]]:
    """Return what two calls with a list enter; another session has loaded the modules."""
    session().fit(given)
    one = session()
    return entered(lambda: one.fit(given)), entered(lambda: one.fit(given))


def parts() -> tuple[str, str]:
    assert SECTION, "CONTRIBUTING.md has a walk through fit"
    idle, _, compacts = SECTION[1].partition("\nA call that compacts")
    return idle, compacts


def test_the_walk_has_at_most_40_lines() -> None:
    assert SECTION
    assert len(SECTION[0].splitlines()) - 1 <= MOST_LINES


def test_fit_below_the_trigger_makes_the_named_hops_and_enters_no_other_file() -> None:
    named, (first, again) = hops(parts()[0]), walks(messages(1_000))
    assert missing(named, first) is None
    assert {file for file, _ in first} == {file for file, _ in named}
    assert {file for file, _ in again} <= {file for file, _ in named}


def test_fit_that_compacts_makes_the_named_hops_of_both_lists() -> None:
    given = messages(15_000)
    first, _ = walks(given)
    assert session().fit(given).compaction is not None
    idle, compacts = map(hops, parts())
    assert len(compacts) > 10
    assert missing([*idle[:-1], *compacts], first) is None


def test_a_hop_in_another_place_is_missing() -> None:
    walked = [("a.py", "f"), ("b.py", "g"), ("a.py", "f")]
    assert missing([("b.py", "g"), ("a.py", "f")], walked) is None
    assert missing([("b.py", "g"), ("b.py", "g")], walked) == ("b.py", "g")
    assert hops("by `a/b.py` `f`, then `c.py`\n   `g` and `h`") == [("a/b.py", "f"), ("c.py", "g")]
