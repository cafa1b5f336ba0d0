"""Work that takes over a second says on stderr what goes on, and stdout has the answer alone."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from test_interrupts import home, refs

from trimtab.cli import main
from trimtab.cli import progress as _progress

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["home"]

SAID = {
    "count s.json": ["reading s.json", "counting"],
    "plan s.json": ["reading s.json", "planning"],
    "validate s.json": ["reading s.json", "validating"],
    "validate s.json --repair": ["reading s.json", "repairing"],
    "compact s.json -o out --target-share 0.5": ["reading s.json", "compacting"],
    "rescue claude.jsonl -o rescued --target-share 0.5": ["reading claude.jsonl", "compacting", "writing"],
    "truncate text --lines 5": ["reading"],
    "restore REF --session talk -o out": ["restoring REF"],
    "archive list": ["listing"],
    "archive show talk": ["looking it up"],
    "archive show REF": ["looking it up"],
    "archive search fox": ["searching"],
    "archive verify": ["verifying"],
    "archive export talk -o out": ["exporting"],
    "archive prune --keep 9": ["pruning"],
}


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("words", SAID)
def test_each_verb_says_what_takes_its_time(
    words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if all work took as long as it takes to say so."""
    told = threading.Event()
    line, leave = _progress.Progress._line, _progress.Progress.__exit__

    def tell(self: _progress.Progress, seconds: float) -> str:
        threading.Timer(0.01, told.set).start()
        return line(self, seconds)

    def wait(self: _progress.Progress, *exception: object) -> None:
        assert told.wait(60)
        told.clear()
        leave(self, *exception)

    ref = refs()[-1]
    quiet = [*words.replace("REF", ref).split()]
    capsys.readouterr()
    assert main(quiet) in (0, 1)
    answer = capsys.readouterr().out
    monkeypatch.setattr(_progress, "AFTER", 0.001)
    monkeypatch.setattr(_progress.Progress, "_line", tell)
    monkeypatch.setattr(_progress.Progress, "__exit__", wait)
    assert main(quiet) in (0, 1)
    got = capsys.readouterr()
    assert [what.replace("REF", ref) for what in SAID[words]] == [
        said.split(" (")[0].split(":")[0] for said in got.err.splitlines() if said.endswith(" s)")
    ]
    if not words.startswith(("compact", "rescue")):  # these name what they made
        assert got.out == answer


def test_what_is_quick_says_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (home / "s.json").exists()
    capsys.readouterr()
    assert main(["archive", "list"]) == 0
    assert capsys.readouterr().err == ""
