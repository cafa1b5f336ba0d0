"""The adapter translates and computes nothing: this is read off its syntax tree."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import adapter
from test_conformance import AT_HAND, cases

TREE = ast.parse(Path(adapter.__file__).read_text())


def test_the_adapter_does_no_arithmetic() -> None:
    merges = (ast.BitOr,)  # of mappings and types: nothing comes of it that was not there
    found = [n for n in ast.walk(TREE) if isinstance(n, ast.BinOp | ast.AugAssign) and not isinstance(n.op, merges)]
    assert not [(n.lineno, ast.unparse(n)) for n in found]
    sums = {"sum", "min", "max", "round", "abs", "pow", "divmod"}
    calls = [n for n in ast.walk(TREE) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    assert not [(n.lineno, n.func.id) for n in calls if n.func.id in sums]


def test_the_adapter_compares_with_no_constant_but_none() -> None:
    def constant(node: ast.expr) -> bool:
        return isinstance(node, ast.Constant) and node.value is not None

    sides = [(n, [n.left, *n.comparators]) for n in ast.walk(TREE) if isinstance(n, ast.Compare)]
    keys = (ast.In, ast.NotIn)  # whether a mapping has a key: a question of shape
    wrong = [n for n, parts in sides if any(map(constant, parts)) and not isinstance(n.ops[0], keys)]
    assert not [(n.lineno, ast.unparse(n)) for n in wrong]
    assert not [n.lineno for n in ast.walk(TREE) if isinstance(n, ast.Match)]


def leaves(value: Any) -> set[Any]:
    """The values at the ends."""
    if isinstance(value, dict):
        return set().union(*(leaves(part) for part in value.values())) if value else set()
    if isinstance(value, list):
        return set().union(*(leaves(part) for part in value)) if value else set()
    return {value}


def words(value: Any) -> set[str]:
    """The keys, roles, types and statuses of an input: what its shape is told in."""
    if isinstance(value, dict):
        named = {
            value[key] for key in ("role", "type", "status", "tool", "category") if isinstance(value.get(key), str)
        }
        return set(value) | named | set().union(*(words(part) for part in value.values()))
    if isinstance(value, list):
        return set().union(*(words(part) for part in value)) if value else set()
    return set()


@AT_HAND
def test_the_adapter_holds_no_value_that_a_case_expects() -> None:
    published = cases()
    shape = set().union(*(words(case["input"]) for case in published))
    paths = {part for case in published for row in case["expect"].get("assert", ()) for part in row[0].split(".")}
    keys = set().union(*(words(case["expect"].get("value")) for case in published))
    wanted = set()
    for case in published:
        wanted |= leaves(case["expect"].get("value"))
        wanted |= {leaf for row in case["expect"].get("assert", ()) for leaf in leaves(row[2])}
    docs = {id(n.body[0].value) for n in ast.walk(TREE) if _has_doc(n)}
    held = {n.value for n in ast.walk(TREE) if isinstance(n, ast.Constant) and id(n) not in docs}
    numbers = {value for value in held & wanted if isinstance(value, int | float) and not isinstance(value, bool)}
    texts = {value for value in held & wanted if isinstance(value, str) and value and value not in shape | paths | keys}
    assert numbers <= {0, 1}  # an index, and room for nothing
    assert texts <= set(adapter.GROUPS) | KEYS


KEYS = {"session_id"}
"""Keys of results that are columns of a table in an expectation."""


def _has_doc(node: ast.AST) -> bool:
    holder = isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
    return holder and isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)


def test_no_function_of_the_library_has_the_name_of_an_operation_of_one_system() -> None:
    import trimtab

    ours = {path.stem for path in Path(inspect.getfile(trimtab)).parent.rglob("*.py")}
    defined = set()
    for path in Path(inspect.getfile(trimtab)).parent.rglob("*.py"):
        defined |= {n.name for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef)}
    systems = re.compile(r"seed00\d|spec09|goat|agentpg|sven|opencode")
    assert not {name for name in defined if systems.search(name)}
    assert {"spec09", "goat", "agentpg", "sven", "opencode"} <= ours
