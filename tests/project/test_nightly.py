"""`make nightly` goes on where it was interrupted, and runs everything."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import nightly
import parts

ROOT = Path(__file__).resolve().parents[2]


def test_every_part_is_a_target_and_every_fuzz_target_is_in_one() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {name for part in nightly.PARTS for name in part.split("+")}
    fuzzed = {f"fuzz-{path.stem}" for path in (ROOT / "fuzz/fuzz_targets").glob("*.rs")}
    assert fuzzed == {name for name in targets if name.startswith("fuzz-")}
    for name in targets - fuzzed:
        assert re.search(rf"^(?:[a-z0-9-]+ )*{name}\b[^=\n]*:", makefile, flags=re.MULTILINE), name


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The targets that were run, in a folder of their own; one of them fails."""
    names: list[str] = []

    def together(targets: list[str]) -> bool:
        for name in targets:
            (tmp_path / f"{name}.log").write_text(f"9 {name} passed\nno number here\n")
        names.extend(targets)
        return "proof" not in targets

    monkeypatch.setattr(nightly, "together", together)
    monkeypatch.setattr(nightly, "KEPT", tmp_path)
    monkeypatch.setattr(nightly, "NOTES", tmp_path / "nightly.json")
    (tmp_path / "page.md").write_text(f"# Page\n{nightly.MARKS[0]}old\n{nightly.MARKS[1]}after\n")
    monkeypatch.setattr(nightly, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(nightly, "tree", lambda: "0123456789ab")
    monkeypatch.setenv("SECONDS", "as it was")
    return names


def test_a_part_that_passed_on_the_commit_is_not_run_again(
    ran: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    everything = [name for part in nightly.PARTS for name in part.split("+")]
    monkeypatch.setattr("sys.argv", ["nightly.py"])
    assert nightly.main() == 1
    assert ran == everything  # the part that failed stopped no other
    ran.clear()
    assert nightly.main() == 1
    assert ran == ["proof"]
    monkeypatch.setattr(nightly, "tree", lambda: "ba9876543210")
    monkeypatch.setattr("sys.argv", ["nightly.py", "slow", "fuzz-claude+fuzz-engine", "--write"])
    ran.clear()
    assert nightly.main() == 0
    assert ran == ["slow", "fuzz-claude", "fuzz-engine"]
    page = (tmp_path / "page.md").read_text()
    assert json.loads((tmp_path / "nightly.json").read_text())["slow"]["commit"] == "ba9876543210"
    assert "old" not in page
    assert page.endswith("after\n")
    assert "| passed: 9 fuzz-claude passed; 9 fuzz-engine passed |" in page
    assert "| FAILED: 9 proof passed |" in page
    (tmp_path / "nightly.json").unlink()  # another machine: the page's rows stay where a part was not run
    monkeypatch.setattr("sys.argv", ["nightly.py", "slow", "--write"])
    monkeypatch.setattr(nightly, "tree", lambda: "fedcba987654")
    assert nightly.main() == 0
    last = (tmp_path / "page.md").read_text()
    assert last == page.replace("ba9876543210", "fedcba987654", 1)


def test_with_changes_every_part_is_run(ran: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nightly, "tree", lambda: "")
    monkeypatch.setattr("sys.argv", ["nightly.py", "slow"])
    for _ in range(2):
        assert nightly.main() == 0
    assert ran == ["slow", "slow"]
    assert "with changes" in nightly.table()


def test_a_part_does_not_get_the_arguments_of_the_night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Makefile").write_text("slow:\n\t@echo all of it$(if $(ARGS), but $(ARGS))\n")
    monkeypatch.setattr(parts, "ROOT", tmp_path)
    monkeypatch.setattr(parts, "KEPT", tmp_path)
    monkeypatch.setenv("ARGS", "slow")
    monkeypatch.setenv("MAKEFLAGS", " -- ARGS=slow")
    monkeypatch.setenv("MAKEOVERRIDES", "ARGS=slow")
    assert parts.together(["slow"])
    assert (tmp_path / "slow.log").read_text() == "all of it\n"
