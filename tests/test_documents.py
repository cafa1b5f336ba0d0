"""The code of each page runs, from top to bottom, and prints what the page shows right after it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

ROOT = Path(__file__).parents[1]
CODE = Sybil(parsers=[PythonCodeBlockParser()], path=str(ROOT))
DOCS = [page for page in sorted(ROOT.glob("docs/**/*.md")) if page.parent.name != "frameworks"]  # by tests/adapters
PAGES = [page for page in [ROOT / "README.md", *DOCS] if "```python" in page.read_text()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs_and_prints_what_follows_it(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    document = CODE.parse(page)
    examples = list(document.examples())
    assert examples
    printed = ""
    for example in examples:
        example.evaluate()
        shown = re.match(
            r"(?:\n```)?\s*(?:It prints:?\s*)?```text\n(.*?)```", document.text[example.region.end :], flags=re.DOTALL
        )
        printed += capsys.readouterr().out
        if shown:
            assert printed == shown[1], f"{page.name}:{example.line}"
            printed = ""
