"""The adapter translates and computes nothing: this is read off its syntax trees, and watched while it runs."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import adapter
import pytest
from ops import zones
from test_conformance import AT_HAND, cases, evaluator

import trimtab

LIBRARY = Path(inspect.getfile(trimtab)).parent
FILES = [Path(adapter.__file__), *adapter.FILES]
TREES = {path.name: ast.parse(path.read_text()) for path in FILES}

COMPUTING = frozenset(
    "sum min max round abs pow divmod sorted any all map filter hash ord chr eval exec compile operator".split()
)
"""Builtins that compute without an operator."""

METHODS = frozenset(
    "count index find rfind rindex encode decode split rsplit splitlines bit_length sort accumulate reduce from_bytes "
    "translate format_map total_seconds as_integer_ratio hex".split()
)
"""Methods that measure or rearrange."""

MODULES = frozenset(
    "__future__ collections.abc contextlib copy dataclasses importlib itertools json pathlib sqlite3 sys tempfile "
    "types typing support trimtab".split()
)
"""Modules that the adapter may import: the library, generators of inputs, and containers."""

DUNDERS = frozenset("__init__ __len__ __eq__ __iter__ __call__ __hash__ __setitem__ __subclasses__ __name__".split())


def test_all_operations_stand_in_files_that_are_looked_at() -> None:
    found = {Path(inspect.getfile(inspect.unwrap(function))).resolve() for function in adapter.OPS.values()}
    assert found <= {path.resolve() for path in FILES}
    assert len(found) > 10


@pytest.mark.parametrize("name", TREES)
def test_the_adapter_computes_nothing(name: str) -> None:
    assert computed(TREES[name]) == []


SMUGGLED = """
n // 4
n * 2
-n
~n
n += 1
sum(given)
sorted(ids)
max(0, n)
any(given)
len(range(0, n, 4))
len([*range(n)])
text[::4]
"".join(map(str, given))
n.__add__(1)
operator.add(n, 1)
text.count("a")
text.encode()
text.split()
itertools.accumulate(given)
n > 0
n == 170_000
0.8 is n
text in ("shell", "gdb_wait")
text in {"shell": 1}
import math
from operator import floordiv
from functools import reduce
eval("1")
f"{n:>9}"
"""
"""A line each: what an adapter might compute with."""


@pytest.mark.parametrize("line", SMUGGLED.strip().splitlines())
def test_a_smuggled_computation_is_found(line: str) -> None:
    assert computed(ast.parse(line))


def computed(tree: ast.AST) -> list[str]:
    """Return the expressions of a file that may compute."""
    return [f"{node.lineno}: {ast.unparse(node)}" for node in ast.walk(tree) if _computes(node)]


def _computes(node: Any) -> bool:
    match node:
        case ast.BinOp() | ast.AugAssign():  # merges of mappings, sets and types make nothing that was not there
            return not isinstance(node.op, ast.BitOr | ast.BitAnd)
        case ast.UnaryOp():
            is_literal = isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)
            return not (isinstance(node.op, ast.Not) or is_literal)
        case ast.Slice():  # every fourth character of a text are a quarter of it
            return node.step is not None
        case ast.FormattedValue():
            return node.format_spec is not None
        case ast.Name():
            return node.id in COMPUTING
        case ast.Attribute():
            return node.attr.startswith("__") and node.attr not in DUNDERS
        case ast.Call():
            return _calls(node)
        case ast.Import():
            return any(alias.name not in MODULES for alias in node.names)
        case ast.ImportFrom():
            module = node.module or ""
            return not node.level and module not in MODULES and module.partition(".")[0] not in {"trimtab", "ops"}
        case ast.Compare():
            return _compares(node)
        case ast.Match():
            return True
    return False


def _calls(node: ast.Call) -> bool:
    called = ast.unparse(node.func)
    if called == "range":  # how often something is done, never a number that steps make
        return len(node.args) != 1
    if called == "len":  # of what came back, never of what was made to be measured
        return any(isinstance(part, ast.Name) and part.id == "range" for part in ast.walk(node.args[0]))
    measures = isinstance(node.func, ast.Attribute) and node.func.attr in METHODS
    return measures and not called.endswith(".counter().count")  # the library's, not a text's


def _compares(node: ast.Compare) -> bool:
    """Sameness is asked for alone; and of no constant but None, or a key in a mapping."""

    def constant(side: ast.expr) -> bool:
        held = isinstance(side, ast.Set | ast.List | ast.Tuple | ast.Dict)
        return held or (isinstance(side, ast.Constant) and not isinstance(side.value, bool | None))

    (operator,) = node.ops
    if not isinstance(operator, ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In | ast.NotIn):
        return True
    keyed = isinstance(operator, ast.In | ast.NotIn)
    return any(map(constant, node.comparators if keyed else [node.left, *node.comparators]))


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
    docs = {id(n.body[0].value) for tree in TREES.values() for n in ast.walk(tree) if _has_doc(n)}
    constants = [n for tree in TREES.values() for n in ast.walk(tree) if isinstance(n, ast.Constant)]
    held = {n.value for n in constants if id(n) not in docs}
    numbers = {value for value in held & wanted if isinstance(value, int | float) and not isinstance(value, bool)}
    texts = {value for value in held & wanted if isinstance(value, str) and value and value not in shape | paths | keys}
    assert numbers <= {0, 1}  # an index, and room for nothing
    assert texts <= set(zones.GROUPS) | KEYS


KEYS = {"session_id", "ContextOverflowError", "APIError"}
"""Keys of results that are columns of a table in an expectation, and OpenCode's two names of errors."""


def _has_doc(node: ast.AST) -> bool:
    holder = isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
    return holder and isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)


READ = {"triggers"}
"""Operations that read a value of the library's, and have nothing to call."""


@AT_HAND
def test_every_operation_calls_the_library() -> None:
    expand, called = evaluator().expand, {}
    for case in cases():
        if called.get(case["op"]):
            continue
        called[case["op"]] = False

        def watch(frame: Any, event: str, argument: Any, op: str = case["op"]) -> None:
            if event == "call":
                called[op] |= str(LIBRARY) in frame.f_code.co_filename
            elif event == "c_call":
                called[op] |= "trimtab" in str(getattr(argument, "__module__", ""))

        given = expand(case["input"])
        sys.setprofile(watch)
        try:
            adapter.run(case["op"], given)
        finally:
            sys.setprofile(None)
    assert {op for op, has in called.items() if not has} <= READ
    assert len(called) > 70


def test_no_function_of_the_library_has_the_name_of_an_operation_of_one_system() -> None:
    presets = {path.stem for path in (LIBRARY / "policies").glob("*.toml")}
    defined = set()
    for path in LIBRARY.rglob("*.py"):
        defined |= {n.name for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef)}
    systems = re.compile(r"seed00\d|spec09|goat|agentpg|sven|opencode")
    assert not {name for name in defined if systems.search(name)}
    assert {"spec09", "goat", "agentpg", "sven", "opencode"} <= presets
