"""What docs/security.md names as its evidence is there, and the page says where unsafe code stands."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()


def test_every_promise_names_evidence_that_is_there() -> None:
    rows = [
        line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ") and "shown by" not in line
    ]
    assert len(rows) > 20
    for promised, evidence in rows:
        named = re.findall(r"`([\w./]+)`", evidence)
        assert named, promised
        assert [name for name in named if not (ROOT / name).is_file()] == [], promised


def test_each_threat_says_what_is_not_promised_or_has_promises() -> None:
    threats = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:-1]
    assert len(threats) == 7
    assert all("| promised | shown by |" in threat for threat in threats)
    assert sum("Not promised: " in threat for threat in threats) >= 5


def test_unsafe_code_stands_where_the_page_says() -> None:
    found = set()
    for path in (ROOT / "rust").rglob("*.rs"):
        code = re.sub(r"//.*", "", path.read_text())
        if re.search(r"\bunsafe\b(?!_code)", code):
            found.add(path.relative_to(ROOT / "rust").as_posix())
    border = {f"python/src/{name}.rs" for name in ("layout", "mapped", "raw")}
    assert {name for name in found if not name.startswith("simd/src/")} == border
    assert all(f"rust/{name}" in PAGE for name in ("simd/src", *border))


def test_the_report_page_of_the_repository_leads_to_the_page() -> None:
    assert "../docs/security.md" in (ROOT / ".github" / "SECURITY.md").read_text()
