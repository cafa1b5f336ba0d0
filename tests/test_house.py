"""The house: every module has its floor, and imports point down, for types too."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "trimtab"

FLOORS = {
    0: {"_core", "_errors", "_log", "_prompts"},
    1: {
        "_models",
        "_model_table",
        "_request",
        "_budget",
        "_check",
        "_estimate",
        "_counter",
        "_messages",
        "_objects",
        "_overflow",
        "_usage",
        "_meter",
        "_ledger",
        "_envelope",
        "_shapes",
        "_truncate",
        "_validate",
        "_repair",
        "_split",
    },
    2: {"_plan", "_policy", "_decide", "_stats", "stages", "policies"},
    3: {"config", "events", "hooks", "formats", "archive", "summarize"},
    4: {"_apply", "_wants", "_job", "_compaction", "_summary", "_rebuild", "_flow", "_drive"},
    5: {"__init__", "_compactor", "_conversation", "_measure", "_planner", "_gate", "queue"},
    6: {"cli", "__main__"},
}
FLOOR = {name: floor for floor, names in FLOORS.items() for name in names}


def module(path: Path) -> str:
    """The room that a file belongs to: its folder in the package, or the file itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def imported(path: Path) -> set[str]:
    """The rooms that a file imports from."""
    package = ("trimtab", *path.relative_to(PACKAGE).parts[:-1])
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            full = [*base, *(node.module or "").split(".")] if node.module else base
            if full[:1] != ["trimtab"]:
                continue
            found |= {full[1]} if len(full) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("trimtab.")}
    return found - {"__version__"}


FILES = sorted(path for path in PACKAGE.rglob("*.py*") if path.suffix in {".py", ".pyi"})


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_every_module_has_a_floor_and_imports_point_down(path: Path) -> None:
    room = module(path)
    assert room in FLOOR, f"{room} has no floor: say in tests/test_house.py where it belongs"
    above = {name for name in imported(path) - {room} if FLOOR.get(name, 99) > FLOOR[room]}
    assert not above, f"{room} (floor {FLOOR[room]}) imports from above: {above}"


def test_rooms_of_one_floor_do_not_import_each_other_in_circles() -> None:
    needs: dict[str, set[str]] = {}
    for path in FILES:
        room = module(path)
        needs.setdefault(room, set()).update(name for name in imported(path) if FLOOR.get(name) == FLOOR[room])

    def reach(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            for name in needs.get(todo.pop(), set()) - {start}:
                if name not in seen:
                    seen.add(name)
                    todo.append(name)
        return seen

    circles = {(a, b) for a in needs for b in reach(a) if a < b and a in reach(b)}
    assert not circles


@pytest.mark.parametrize("path", sorted((PACKAGE / "policies").glob("[!_]*.py")), ids=lambda p: p.name)
def test_a_preset_is_values_only(path: Path) -> None:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.IfExp, ast.For, ast.While, ast.Lambda)
    assert not [type(node).__name__ for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)]


def test_deciding_reads_no_clock_no_file_and_no_chance() -> None:
    outside = {"time", "datetime", "random", "os", "pathlib", "io", "socket", "subprocess", "asyncio", "threading"}
    for path in FILES:
        if FLOOR[module(path)] != 2:
            continue
        tree = ast.parse(path.read_text())
        names = {a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        names |= {(n.module or "").split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        assert not names & outside, path.name


def test_the_version_is_one_number() -> None:
    import trimtab

    cargo = (ROOT / "Cargo.toml").read_text()
    (number,) = re.findall(r'^version = "(.+)"$', cargo, flags=re.M)
    assert trimtab.__version__ == number
    assert f"## {number}" in (ROOT / "CHANGELOG.md").read_text()
    assert "version" not in re.findall(r"^(\w+) =", (ROOT / "pyproject.toml").read_text(), flags=re.M)


def test_the_core_knows_nothing_of_python() -> None:
    for path in (ROOT / "rust" / "core").rglob("*.rs"):
        assert "pyo3" not in path.read_text(), path.name
    assert "pyo3" not in (ROOT / "rust" / "core" / "Cargo.toml").read_text()


def test_names_of_ledger_numbers_are_the_cores() -> None:
    from trimtab import _ledger

    source = (ROOT / "rust" / "core" / "src" / "ledger" / "kind.rs").read_text()
    for ours, theirs in (("Kind", "Kind"), ("Role", "Role"), ("RowFlag", "RowFlag"), ("Mark", "MessageFlag")):
        body = re.search(rf"pub enum {theirs} \{{(.*?)\n\}}", source, flags=re.S)
        assert body
        variants = {name: int(number) for name, number in re.findall(r"^\s+(\w+) = (\d+),", body[1], flags=re.M)}
        named = {re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper(): number for name, number in variants.items()}
        assert {member.name: int(member) for member in getattr(_ledger, ours)} == named


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys; before = set(sys.modules); import trimtab; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "trimtab._core" in loaded
    heavy = {"numpy", "asyncio", "sqlite3", "logging", "dataclasses", "argparse", "hashlib"}
    assert not heavy & {name.split(".")[0] for name in loaded}
    assert [name for name in loaded if name.startswith("trimtab.")] == ["trimtab._core"]


def test_counting_needs_no_numpy() -> None:
    code = "import sys, trimtab; trimtab.Counter('o200k_base').count('x'); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
