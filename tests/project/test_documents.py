"""Each block of a page runs alone, or says that it goes on; it prints what the page shows right after it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

from support.model_folders import make_folder

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python.*?^```", flags=re.DOTALL | re.MULTILINE)
GOES_ON = "```python\n# goes on from the block above\n"
CODE = Sybil(parsers=[PythonCodeBlockParser()], path=str(ROOT))
BY_ADAPTERS = {"frameworks", "engines", "batch"}
"""Pages whose code tests/adapters runs, with what it needs."""
DOCS = [page for page in sorted(ROOT.glob("docs/**/*.md")) if not {page.parent.name, page.stem} & BY_ADAPTERS]
PAGES = [page for page in [ROOT / "README.md", *DOCS] if BLOCK.search(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_block_runs_alone_or_says_that_it_goes_on_and_prints_what_follows_it(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    if page.stem == "open-models":
        make_folder(tmp_path / "Qwen3-8B")
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    document = CODE.parse(page)
    examples = list(document.examples())
    assert examples
    starts = {found.start() for found in BLOCK.finditer(document.text) if not found[0].startswith(GOES_ON)}
    printed, done = "", 0
    for example in examples:
        if any(done <= start <= example.region.start for start in starts):
            document.namespace.clear()
        done = example.region.start + 1
        example.evaluate()
        shown = re.match(
            r"(?:\n```)?\s*(?:It prints:?\s*)?```text\n(.*?)```", document.text[example.region.end :], flags=re.DOTALL
        )
        printed += capsys.readouterr().out
        if shown:
            assert printed == shown[1], f"{page.name}:{example.line}"
            printed = ""
