"""A list is read once a call, also where it is compacted; one that has grown meanwhile is read again."""

from __future__ import annotations

from typing import Any

import pytest

import house
import trimtab
from support.checker import check
from support.models import CLAUDE
from trimtab.counting import counter
from trimtab.session.call import Call

LENGTH = 61


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """The lists that the core reads."""
    lists: list[list[Any]] = []
    ledger_of = counter._core.Ledger.of

    class Ledger:
        @staticmethod
        def of(messages: Any, **options: Any) -> Any:
            lists.append([*messages])
            return ledger_of(messages, **options)

    monkeypatch.setattr(counter._core, "Ledger", Ledger)
    return lists


def small() -> trimtab.Session:
    return trimtab.Compactor(CLAUDE, window=20_000, max_output=2_000).session("a")


def test_fit_that_compacts_reads_the_list_once(readings: list[list[Any]]) -> None:
    given = house.messages(LENGTH - 1)
    done = small().fit(given)
    assert done.compaction is not None
    assert readings.count(given) == 1


def test_the_zones_of_a_list_are_read_off_one_ledger(readings: list[list[Any]]) -> None:
    given = house.messages(LENGTH - 1)
    assert small().stats(given).messages == LENGTH
    assert readings == [given]


def test_a_whole_history_is_compacted_again_by_the_ledger_of_the_result_in_its_place(readings: list[list[Any]]) -> None:
    session, given = small(), house.messages(LENGTH - 1)
    first = session.fit(given)
    whole = [*given, *house.messages(LENGTH - 1)[1:]]
    for place, message in enumerate(whole[LENGTH:]):  # ids of calls of their own
        for block in message["content"]:
            for name in ("id", "tool_use_id"):
                if name in block:
                    block[name] += f"_{place // 2}"
    readings.clear()
    second = session.fit(whole)
    assert first.compaction is not None
    assert second.compaction is not None
    assert readings.count(whole) == 1
    assert check([*second.messages], "anthropic") == []
    assert session.restore(second.compaction.ref or "") == whole


def test_a_list_that_has_grown_since_it_was_read_is_read_again() -> None:
    memory = small()._memory
    given = house.messages(LENGTH - 1)
    read = memory.resume(Call(given))
    given += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "Go on."}]
    request = memory.request(read)
    assert len(read.ledger) == LENGTH
    assert len(request.ledger) == len(request.originals) == LENGTH + 2
    assert request.origin.digest == request.ledger.digest
