"""The house: a folder is a floor, imports point down, and no files import each other in a circle."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import house

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "trimtab"
FILES = sorted(path for path in PACKAGE.rglob("*.py*") if path.suffix in {".py", ".pyi"})

ROOT_FILES = {
    "_core": 0,
    "errors": 0,
    "_log": 0,
    "_mask": 0,
    "_fork": 0,
    "_home": 0,
    "_lazy": 0,
    "_pickle": 0,
    "_repr": 0,
    "hooks": "summarize",
    "events": "audit",
    "__init__": "session",
}
"""Files of the root that others import: at the bottom, or right above a folder. Doors import everything."""


def folders() -> list[str]:
    """The packages from the bottom up, as CONTRIBUTING.md lists them."""
    tree = re.search(r"^python/trimtab/\n((?:  .*\n)+)", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.M)
    assert tree, "CONTRIBUTING.md lists the packages under python/trimtab/"
    return re.findall(r"^  (\w+)/", tree[1], flags=re.M)


def floor_of(room: str) -> float:
    """The floor of a folder by its place in the list, and of a file of the root by the folder below it."""
    order = folders()
    if room in order:
        return order.index(room) + 1.0
    below = ROOT_FILES.get(room, order[-1])
    return order.index(below) + 1.5 if isinstance(below, str) else float(below)


def module(path: Path) -> str:
    """The dotted name of a file below the package; a package's is that of its folder."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {module(path) for path in FILES}


def imported(path: Path) -> set[str]:
    """The modules of the package that a file imports, for types too."""
    folder = path.relative_to(PACKAGE).parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = [*folder[: len(folder) - node.level + 1], *(node.module.split(".") if node.module else ())]
        for alias in node.names:
            inner, outer = ".".join([*base, alias.name]), ".".join(base)
            found.add(inner if inner in MODULES else outer or "__init__")
    return found


def test_contributing_lists_every_package() -> None:
    assert sorted(folders()) == sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    room = module(path).split(".")[0]
    if room in {"__init__", "__main__"} or path.suffix == ".pyi":
        return  # the doors load everything; the stub names types alone
    above = {
        name for name in imported(path) if name.split(".")[0] != room and floor_of(name.split(".")[0]) > floor_of(room)
    }
    assert not above, f"{room} imports from above: {above}"


def test_files_do_not_import_each_other_in_circles() -> None:
    """A package's own ``__init__`` may name its files: they are its door."""
    needs = {
        module(path): {
            name for name in imported(path) if name != module(path) and not module(path).startswith(f"{name}.")
        }
        for path in FILES
        if module(path) not in {"__init__", "_core"}
    }
    needs = {name: found - {"__init__"} for name, found in needs.items()}
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as circle:
        pytest.fail(f"files import each other: {circle.args[1]}")


def test_the_root_holds_the_door_alone() -> None:
    names = {path.name for path in PACKAGE.iterdir() if path.is_file() and path.suffix != ".so"}
    door = {"__init__.py", "__init__.pyi", "__main__.py", "py.typed", "_core.pyi", "errors.py", "hooks.py", "events.py"}
    assert names == door | {"_fork.py", "_home.py", "_lazy.py", "_log.py", "_mask.py", "_pickle.py", "_repr.py"}


def test_nothing_that_a_tool_built_or_fetched_is_in_the_repository() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("needs the repository: this is a copy of its files")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in tracked if name.endswith((".whl", ".so", ".tar.gz", ".zip", ".pyc"))] == []


def test_only_tests_of_a_unit_reach_below_the_door() -> None:
    below = re.compile(r"from trimtab\.\w+\.\w+ import|from trimtab import .*\b_core\b|trimtab\._core")
    behaviour = (Path(__file__).parents[1] / "behaviour").glob("*.py")
    assert [path.name for path in behaviour if below.search(path.read_text(encoding="utf-8"))] == []


def test_each_preset_is_a_file_of_values() -> None:
    from trimtab.policies import POLICIES

    folder = PACKAGE / "policies"
    assert {path.stem for path in folder.glob("*.toml")} == set(POLICIES)
    assert [path.name for path in folder.glob("*.py")] == ["__init__.py"]
    assert {name: policy.name for name, policy in POLICIES.items()} == {name: name for name in POLICIES}


def test_deciding_reads_no_clock_no_file_and_no_chance() -> None:
    outside = {"time", "datetime", "random", "os", "pathlib", "io", "socket", "subprocess", "asyncio", "threading"}
    for path in FILES:
        if module(path).split(".")[0] != "planning":
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
    from trimtab.ledger import columns as _ledger

    source = (ROOT / "rust" / "core" / "src" / "ledger" / "kind.rs").read_text()
    for ours, theirs in (("Kind", "Kind"), ("Role", "Role"), ("RowFlag", "RowFlag"), ("MessageFlag", "MessageFlag")):
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
    assert [name for name in loaded if name.startswith("trimtab.")] == ["trimtab._core", "trimtab._lazy"]


def test_counting_needs_no_numpy() -> None:
    code = "import sys, trimtab; trimtab.Counter('o200k_base').count('x'); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_no_class_has_the_name_of_another() -> None:
    places: dict[str, list[str]] = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and path.suffix == ".py":
                places.setdefault(node.name, []).append(module(path))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    long = {}
    for path in FILES:
        source = path.read_text()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = house.body_lines(node, source.splitlines())
                if lines > house.LONG:
                    long[f"{module(path)}.{node.name}"] = lines
    assert long == {}
