"""The pages for contributors: their paths exist, they touch four files, and what they tell to type works."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import trimtab

ROOT = Path(__file__).resolve().parents[2]
DEV = ROOT / "docs" / "dev"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = [
    DEV / f"{name}.md"
    for name in ("change-a-policy", "add-a-stage", "add-a-session-format", "add-a-rule", "add-a-framework")
]
MOST_FILES = 4
COPIED = ("python", "tests", "tools", "docs", "rust", "pyproject.toml", "zensical.toml", "README.md")
COPIED += ("CONTRIBUTING.md", "CHANGELOG.md", "Cargo.toml", "Cargo.lock")
"""What a page's commands read; the compiled core is linked."""

EDIT = re.compile(r"^`([\w./-]+)`:\n\n```(diff|py)\n(.*?)^```$", flags=re.M | re.S)
FOLDERS = "python|rust|tests|docs|tools|benches|evals|examples|requirements|fuzz"
NAMED = re.compile(rf"`((?:{FOLDERS})/[\w./-]*|[\w-]+\.(?:md|toml))`")
WRITTEN = {"requirements/adapter-parley.txt"}
"""Files of pages that a command writes."""

LIBRARIES = {".so", ".dylib", ".dll"}


class Edit(NamedTuple):
    """A change that a page shows: hunks of a file, or all of a new one."""

    path: str
    kind: str
    text: str

    @property
    def is_new(self) -> bool:
        """Whether the change makes a file."""
        return self.kind != "diff" or not (ROOT / self.path).exists()

    def applied(self, before: str | None) -> str:
        """Return the file behind the change; None stands for a file that is not there.

        Raises:
            ValueError: the file does not have the lines that a hunk replaces, or has them twice.
        """
        if self.kind != "diff":
            return self.text
        text = before or ""
        for hunk in self.text.split("@@\n"):
            lines = hunk.splitlines(keepends=True)
            old = "".join(line[1:] for line in lines if line[0] in " -")
            new = "".join(line[1:] for line in lines if line[0] in " +")
            if not old:
                text += new
            elif text.count(old) != 1:
                raise ValueError(f"{self.path} has this {text.count(old)} times:\n{old}")
            else:
                text = text.replace(old, new)
        return text


def edits(page: Path) -> list[Edit]:
    """Return the changes that a page shows, in its order."""
    return [Edit(path, kind, text) for path, kind, text in EDIT.findall(page.read_text())]


def tables(page: Path) -> list[list[str]]:
    """Return the files of each table of a page that says what to touch."""
    found = re.findall(r"^\| touch \| for \|\n\|---\|---\|\n((?:\|.*\n)+)", page.read_text(), flags=re.M)
    return [re.findall(r"^\| `([^`]+)` \|", rows, flags=re.M) for rows in found]


def commands(page: Path) -> list[tuple[dict[str, str], list[str]]]:
    """Return what a page runs with pytest or the tools: environment and arguments of Python."""
    found: list[tuple[dict[str, str], list[str]]] = []
    for line in re.findall(r"^\$ (.*)$", page.read_text(), flags=re.M):
        for part in line.split(" && "):
            words = shlex.split(part)
            if words[0] == "make" and "docs" in words:
                found += [({}, [f"tools/{name}.py"]) for name in ("codes", "due", "frameworks")]
            if "pytest" in words:
                given = dict(word.split("=") for word in words[: words.index("-m") - 1])
                found.append((given, ["-m", "pytest", "-p", "no:benchmark", *words[words.index("pytest") + 1 :]]))
    return found


def changes_the_core(page: Path) -> bool:
    """Return whether the core is to be built anew, which takes minutes."""
    return any(edit.path.startswith("rust/") for edit in edits(page))


def copied(folder: Path) -> Path:
    """Return a folder with what a contributor edits."""
    for name in COPIED:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        else:
            shutil.copy(source, target)
    core = Path(trimtab._core.__file__)
    (folder / "python" / "trimtab" / core.name).symlink_to(core)
    return folder


def build(folder: Path) -> None:
    """Build the core of a folder in place of the linked one."""
    command = ["cargo", "build", "--locked", "--quiet", "--profile", "checked", "--package", "trimtab-python"]
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target" / "ways"))
    environment = {**os.environ, "CARGO_TARGET_DIR": target, "PYO3_PYTHON": sys.executable}
    subprocess.run(command, cwd=folder, env=environment, check=True)
    core = folder / "python" / "trimtab" / Path(trimtab._core.__file__).name
    core.unlink()
    (built,) = (
        path
        for path in (Path(target) / "checked").iterdir()
        if path.stem.endswith("_core") and path.suffix in LIBRARIES
    )
    core.symlink_to(built)


def run(folder: Path, given: dict[str, str], arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, with its package in front of the installed one."""
    path = [str(folder / "python"), *(str(folder / each) for each in given.get("PYTHONPATH", "").split(":") if each)]
    environment = {**os.environ, "PYTHONPATH": ":".join(path)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def write(folder: Path, edit: Edit) -> None:
    target = folder / edit.path
    target.write_text(edit.applied(target.read_text() if target.exists() else None))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_touches_at_most_four_files_and_shows_no_other(page: Path) -> None:
    assert tables(page)
    assert all(1 < len(files) <= MOST_FILES for files in tables(page))
    assert {edit.path for edit in edits(page)} <= {*tables(page)[0]}


@pytest.mark.parametrize("page", [CONTRIBUTING, *PAGES], ids=lambda page: page.stem)
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    made = {edit.path for edit in edits(page) if edit.is_new}
    named = {path for path in NAMED.findall(page.read_text()) if "NAME" not in path} - made
    assert named
    assert [path for path in sorted(named - WRITTEN) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * changes_the_core(page), id=page.stem) for page in PAGES],
)
def test_a_page_that_is_followed_works_and_its_test_fails_without_the_rest(page: Path, tmp_path: Path) -> None:
    folder, shown, told = copied(tmp_path), edits(page), commands(page)
    assert shown
    assert told
    tests = [
        edit
        for edit in shown
        if edit.path.startswith(("tests/unit/", "tests/behaviour/", "tests/adapters/", "tests/support/format_cases"))
    ]
    assert tests
    for edit in tests:
        write(folder, edit)
    first = next(command for command in told if "pytest" in command[1])
    assert run(folder, *first).returncode != 0
    for edit in shown:
        if edit not in tests:
            write(folder, edit)
    if changes_the_core(page):
        build(folder)
    for edit in shown:
        if edit.kind == "py":
            assert run(folder, {}, ["-m", "ruff", "check", "--quiet", edit.path]).returncode == 0, edit.path
            assert run(folder, {}, ["-m", "ruff", "format", "--check", "--quiet", edit.path]).returncode == 0, edit.path
    for command in told:
        done = run(folder, *command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def test_a_hunk_whose_lines_are_not_in_the_file_is_an_error() -> None:
    hunk = Edit("a.py", "diff", " one\n-two\n+three\n@@\n+four\n")
    assert hunk.applied("zero\none\ntwo\n") == "zero\none\nthree\nfour\n"
    with pytest.raises(ValueError, match=r"a\.py has this 0 times"):
        hunk.applied("one\n")
