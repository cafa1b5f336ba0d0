"""Environments are installed from exact versions with hashes that the ranges of pyproject.toml hold."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from packaging.requirements import Requirement

import environment
from lock import LOCKS, ROOT, locks

FILES = sorted(LOCKS.glob("*.txt"))
PINS = {path.stem: dict(re.findall(r"^([^=\s]+)==([^\s;]+)", path.read_text(), re.MULTILINE)) for path in FILES}


def test_each_environment_has_its_file_and_no_file_is_left_over() -> None:
    assert {path.stem for path in FILES} == set(locks())


@pytest.mark.parametrize("name", PINS)
def test_the_ranges_hold_the_exact_versions(name: str) -> None:
    wanted = [Requirement(line) for line in locks()[name].requirements]
    assert wanted
    for one in wanted:
        found = PINS[name][one.name.lower().replace("_", "-")]
        assert one.specifier.contains(found, prereleases=True), f"{one} and {found}: make lock"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_package_has_hashes_and_no_file_names_a_registry(path) -> None:
    text = path.read_text()
    entries = re.split(r"\n(?=\S)", text.strip())
    assert [entry for entry in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}", entry)] == []
    assert "://" not in text
    assert "index-url" not in text


def test_pyproject_names_no_package_twice_in_an_extra() -> None:
    from lock import name_of, project

    for extra, lines in project().items():
        names = [name_of(line) for line in lines]
        assert len(names) == len(set(names)), extra


def test_cargo_and_maturin_take_the_locked_versions() -> None:
    recipes = re.findall(
        r"^\t.*(?:cargo (?:test|clippy|bench|build)|maturin build).*$", (ROOT / "Makefile").read_text(), re.M
    )
    assert len(recipes) > 8
    assert [line for line in recipes if "--locked" not in line] == []


def client(said: str) -> list[str]:
    return [sys.executable, "-c", f"import sys; print({said!r}, file=sys.stderr); sys.exit(1)"]


def test_a_fault_of_the_network_is_tried_three_times_and_named(monkeypatch, capsys) -> None:
    monkeypatch.setattr(environment, "PAUSE", 0)
    with pytest.raises(SystemExit, match="dev.txt: the network failed 3 times"):
        environment.run(client("error: connection timed out"), "dev.txt")
    assert capsys.readouterr().err.count("connection timed out") == 3


def test_another_hash_is_named_in_one_line_at_once(capsys) -> None:
    said = "  x Failed to read numpy\n  Hash mismatch for numpy==2.4.0\n\n  Expected:\n    sha256:00"
    with pytest.raises(SystemExit) as stop:
        environment.run(client(said), "dev.txt")
    assert str(stop.value) == "dev.txt does not install: Hash mismatch for numpy==2.4.0"
    assert not capsys.readouterr().err


@pytest.mark.parametrize(("target", "code"), [("passes", 0), ("fails", 1)])
def test_parts_print_seconds_and_stop_at_the_first_that_fails(target: str, code: int, tmp_path) -> None:
    rules = "passes:\n\t@echo 3 passed in 1 s\nfails:\n\t@seq 100; false\nnever:\n\t@echo never\n"
    (tmp_path / "Makefile").write_text(rules)
    (tmp_path / "tools").mkdir()
    script = tmp_path / "tools" / "parts.py"
    script.write_text((ROOT / "tools" / "parts.py").read_text())
    last = "passes" if target == "passes" else "never"
    done = subprocess.run([sys.executable, script, target, last], capture_output=True, text=True, check=False)
    assert done.returncode == code
    lines = done.stdout.splitlines()
    if code:
        assert re.fullmatch(r"fails: FAILED in \d+ s", lines[-1])
        assert len(lines) == 41
        assert "100" in lines
        assert "never" not in done.stdout
    else:
        assert [re.sub(r"\d+ s$", "N s", line) for line in lines[:2]] == ["3 passed in N s", "passes: passed in N s"]
