"""The crates: no circle of files in any of them, by the ``use`` lines of code that is no test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

RUST = Path(__file__).resolve().parents[2] / "rust"
CRATES = sorted(path.parent.parent for path in RUST.glob("*/src/lib.rs"))
USE = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? )?use\s+([\w:]+(?:\s*\{[^;]*\})?(?: as \w+)?);", re.MULTILINE)


def modules(src: Path) -> dict[tuple[str, ...], Path]:
    """The files of a crate by their module paths."""
    found = {}
    for path in src.rglob("*.rs"):
        parts = list(path.relative_to(src).with_suffix("").parts)
        if parts[-1] in {"mod", "lib"}:
            parts.pop()
        if parts[-1:] not in (["tests"], ["fuzzing"]):
            found[tuple(parts)] = path
    return found


def paths(tree: str) -> list[str]:
    """The paths of a ``use`` tree: ``a::{b, c::d}`` is ``a::b`` and ``a::c::d``."""
    if "{" not in tree:
        return [tree.split(" as ", maxsplit=1)[0].strip()]
    head, rest = tree.split("{", 1)
    inside, depth, items = rest[: rest.rindex("}")], 0, [""]
    for char in inside:
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            items.append("")
        else:
            items[-1] += char
    return [head.strip() + path for item in items if item.strip() for path in paths(item.strip())]


def code(path: Path) -> str:
    """A file without comments and tests."""
    return re.sub(r"//.*", "", path.read_text(encoding="utf-8").split("#[cfg(test)]")[0])


def resolved(full: list[str], known: dict[tuple[str, ...], Path]) -> tuple[str, ...]:
    """The module of a path, through the names that a module takes from its children."""
    rest = []
    while tuple(full) not in known:
        rest.insert(0, full.pop())
    if rest and known[tuple(full)].name in {"mod.rs", "lib.rs"}:
        for tree in USE.findall(code(known[tuple(full)])):
            for name in paths(" ".join(tree.split())):
                if name.split("::")[-1] == rest[0] and (*full, name.split("::")[0]) in known:
                    return resolved([*full, *name.split("::")], known)
    return tuple(full)


def used(module: tuple[str, ...], path: Path, known: dict[tuple[str, ...], Path]) -> set[tuple[str, ...]]:
    """The modules that a file uses, its own parent excepted."""
    found = set()
    for tree in USE.findall(code(path)):
        for name in paths(" ".join(tree.split())):
            parts = name.split("::")
            if parts[0] == "crate":
                full = parts[1:]
            elif parts[0] in {"self", "super"}:
                full = list(module)
                while parts and parts[0] in {"self", "super"}:
                    full = full[:-1] if parts.pop(0) == "super" else full
                full += parts
            elif (*module, parts[0]) in known:
                full = [*module, *parts]
            else:
                continue
            found.add(resolved(full, known))
    return found - {module, module[:-1], ()}


def circles(graph: dict[tuple[str, ...], set[tuple[str, ...]]]) -> list[set[tuple[str, ...]]]:
    """Modules that use each other, directly or by way of others."""

    def reached(start: tuple[str, ...]) -> set[tuple[str, ...]]:
        seen, work = set(), [start]
        while work:
            for module in graph[work.pop()] - seen:
                seen.add(module)
                work.append(module)
        return seen

    reach = {module: reached(module) for module in graph}
    groups = {
        frozenset({module, *(other for other in reach[module] if module in reach[other])})
        for module in graph
        if module in reach[module]
    }
    return [set(group) for group in groups]


@pytest.mark.parametrize("crate", CRATES, ids=lambda path: path.name)
def test_no_files_of_a_crate_use_each_other_in_a_circle(crate: Path) -> None:
    known = modules(crate / "src")
    found = circles({module: used(module, path, known) for module, path in known.items()})
    assert [sorted("::".join(module) for module in circle) for circle in found] == []


def test_a_circle_is_found() -> None:
    graph = {("a",): {("b",)}, ("b",): {("c",)}, ("c",): {("a",)}, ("d",): {("a",)}}
    assert circles(graph) == [{("a",), ("b",), ("c",)}]


def test_a_tree_of_uses_is_its_paths() -> None:
    assert paths("a::{b, c::{d, e as f}}") == ["a::b", "a::c::d", "a::c::e"]
