"""The README's code runs, its commands work, and it names the verbs and targets that there are."""

from __future__ import annotations

import os
import re
import subprocess
from html import unescape
from pathlib import Path

import pytest

from support.command import run

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PICTURE = ROOT / "docs" / "show.svg"
COMMANDS = [line[2:] for line in re.findall(r"^\$ .*$", README, flags=re.M)]


def test_the_readmes_commands_work_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    verbs = [command.split() for command in COMMANDS if command.startswith("trimtab ")]
    assert len(verbs) >= 4
    assert "(docs/show.svg)" in README
    for words in verbs:
        done = run(*words[1:])
        assert done.returncode == 0, (words, done.stderr)
        if words[1] == "show":
            shown = re.sub(r"<[^>]+>", "", "\n".join(re.findall(r"<text .*</text>", PICTURE.read_text())))
            assert (
                unescape(shown).split() == f"$ {' '.join(words)} {done.stdout}".split()
            )  # lines of a terminal are shorter


def test_the_readme_shows_what_audit_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    shown = re.search(r"^\$ trimtab (audit .*)\n```\n\n```text\n(.*?)```", README, flags=re.M | re.S)
    assert shown
    assert run("demo").returncode == 0
    assert run(*shown[1].split()).stdout == shown[2]


def test_the_documents_name_targets_that_the_makefile_has() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    named = {name for page in pages for name in re.findall(r"`make ([a-z-]+)[` ]", page.read_text())}
    assert {"demo", "slow", "bench-count"} <= named
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}  # rustc hangs under libfaketime
    line = ["make", "--dry-run", *named]
    done = subprocess.run(line, cwd=ROOT, env=plain, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_readme_names_the_verbs_and_exit_codes_that_there_are() -> None:
    from trimtab import cli

    verbs = {"show", "count", "plan", "compact", "apply", "validate", "truncate", "restore", "archive", "rescue"}
    verbs |= {"hook", "mcp", "doctor", "completion", "demo", "diff", "report", "statusline", "audit", "batch", "models"}
    (action,) = (a for a in cli.parser()._actions if a.dest == "verb")
    assert set(action.choices) == verbs
    assert set(re.findall(r"\btrimtab (\w+)", README)) - {"count", "the", "in"} <= verbs
    for code in (cli.OK, cli.NO, cli.USAGE, cli.DATA, cli.UNAVAILABLE, cli.IO, cli.INTERRUPTED):
        assert re.search(rf"\b{code}\b", README)
    assert 2 not in (cli.OK, cli.NO, cli.USAGE, cli.DATA, cli.IO, cli.INTERRUPTED)


def test_everything_public_has_a_docstring_and_a_home() -> None:
    import trimtab

    for name in trimtab.__all__:
        value = getattr(trimtab, name)
        assert name in {"Message", "__version__"} or value.__doc__, name


def test_every_public_method_and_column_says_what_it_gives() -> None:
    import trimtab

    for owner in (
        trimtab.Counter,
        trimtab.Ledger,
        trimtab.Compactor,
        trimtab.Plan,
        trimtab.Model,
        trimtab.planning.Budget,
    ):
        for name in dir(owner):
            value = getattr(owner, name)
            field = name in getattr(owner, "__dataclass_fields__", ())  # told in the docstring of the class
            if not name.startswith("_") and not field and (callable(value) or hasattr(value, "__get__")):
                assert value.__doc__, f"{owner.__name__}.{name}"
    columns = ("owner", "kind", "tokens", "pair", "bytes", "chars", "utf16", "flags", "role", "marks", "first", "safe")
    for name in columns:
        array = getattr(trimtab.Ledger.of([], counter=trimtab.Counter("o200k_base")), name)
        assert f": {array.dtype}, shape (" in getattr(trimtab.Ledger, name).__doc__, name
