"""The door: what is public is reachable, named for the package, short in a notebook, and fails by name."""

from __future__ import annotations

import ast
import asyncio
import inspect
import pickle
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import trimtab
from support.models import CLAUDE
from trimtab.policies import POLICIES

MODEL = CLAUDE
LONG = [{"role": ("user", "assistant")[n % 2], "content": f"step {n} " + "word " * 300} for n in range(200)]
PACKAGES = "archive compaction config counting errors events formats hooks models planning policies session summarize"
PUBLIC = {name: getattr(trimtab, name) for name in trimtab.__all__} | {
    f"{package}.{name}": getattr(getattr(trimtab, package), name)
    for package in trimtab.MORE
    for name in getattr(trimtab, package).__all__
}
"""The public names: the door's, and those of packages with names of their own."""
CLASSES = list(
    dict.fromkeys(
        value for value in PUBLIC.values() if isinstance(value, type) and value.__module__.startswith("trimtab")
    )
)


@pytest.mark.parametrize("name", PACKAGES.split())
def test_a_package_is_there_without_an_import_of_its_own(name: str) -> None:
    code = f"import trimtab; print(trimtab.{name}.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"trimtab.{name}"


def test_the_door_is_one_list_of_at_most_45_names() -> None:
    """The stub is what type checkers read; its names are the table's."""
    stub = ast.parse(Path(__file__).parents[2].joinpath("python/trimtab/__init__.pyi").read_text(encoding="utf-8"))
    named = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert named - trimtab.PACKAGES == set(trimtab.__all__)
    assert named >= trimtab.PACKAGES
    assert len(trimtab.__all__) <= 45
    assert dir(trimtab) == sorted(trimtab.__all__)


@pytest.mark.parametrize("package", ["", *trimtab.MORE])
def test_a_stub_has_the_names_of_its_package(package: str) -> None:
    file = Path(__file__).parents[2] / "python/trimtab" / package / "__init__.pyi"
    for node in ast.parse(file.read_text(encoding="utf-8")).body if file.exists() else ():
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            home = import_module(".".join(filter(None, ("trimtab", package, node.module))))
            assert getattr(getattr(trimtab, package) if package else trimtab, alias.name) is (
                getattr(home, alias.name) if node.module else getattr(trimtab, alias.name)
            )


def test_a_name_of_a_package_may_be_written_without_it() -> None:
    for name, value in PUBLIC.items():
        assert getattr(trimtab, name.rpartition(".")[2]) is value or name.rpartition(".")[2] in trimtab.__all__
    with pytest.raises(AttributeError, match="module 'trimtab' has no attribute 'Cut'"):
        _ = trimtab.Cut


@pytest.mark.parametrize("name", sorted(set(trimtab.__all__) - {"__version__"}))
def test_a_public_class_or_function_is_named_for_the_package(name: str) -> None:
    value = getattr(trimtab, name)
    if inspect.isfunction(value) or (isinstance(value, type) and name not in {"Message", "RequestOptions"}):
        assert value.__module__ == "trimtab"
        assert pickle.loads(pickle.dumps(value)) is value


def test_every_exception_is_public() -> None:
    found = {name for name, value in vars(trimtab.errors).items() if isinstance(value, type)}
    assert {name for name in found if name.endswith("Error")} <= set(trimtab.__all__)


def made() -> dict[str, Any]:
    """A value of each public class that may hold much."""
    cm = trimtab.Compactor(MODEL, archive="memory")
    done = cm.compact(LONG, target_share=0.3)
    rows = tuple(range(5_000))
    zone = trimtab.planning.Summarize(0, 5_000, 2_000, rows)
    ask: list[trimtab.summarize.Ask] = []
    trimtab.Compactor(MODEL, summarizer=lambda one: ask.append(one) or "a summary").compact(LONG, target_share=0.3)
    several = [*POLICIES.values(), *(POLICIES[name].keep for name in POLICIES)]
    stages = [s for p in POLICIES.values() for s in (p.prune, p.summarize, p.place, p.ingest, p.emergency, p.trigger)]
    values = [
        *(cm, done, done.plan, cm.fit(LONG), cm.stats(LONG), cm.budget(), cm.policy, cm.archive, ask[0], zone),
        *(trimtab.Model.named(MODEL), trimtab.Counter("o200k_base"), trimtab.Counter.for_model(MODEL)),
        *(trimtab.repair(LONG, provider="anthropic"), trimtab.Transcript(LONG, "anthropic", "anthropic")),
        *(
            trimtab.planning.Prune(rows),
            trimtab.planning.Truncate(rows, 5),
            trimtab.planning.StripThinking(rows),
            trimtab.planning.Drop(0, 9, "n" * 999),
        ),
        *(trimtab.summarize.Answer("word " * 999), trimtab.Ledger.of(LONG, counter=trimtab.Counter.for_model(MODEL))),
        *(trimtab.Problem(0, 0, "c" * 999, "m" * 999, "f" * 999), *several, *(s for s in stages if s is not None)),
    ]
    return {f"{type(value).__name__}-{n}": value for n, value in enumerate(values)}


MADE = made()


@pytest.mark.parametrize("name", MADE)
def test_a_repr_never_floods(name: str) -> None:
    text = repr(MADE[name])
    assert len(text) <= 200
    assert type(MADE[name]).__name__ in text


@pytest.mark.parametrize("name", ["Plan", "Policy", "Budget", "Model"])
def test_values_are_pickled(name: str) -> None:
    value = next(value for key, value in MADE.items() if key.startswith(f"{name}-"))
    assert pickle.loads(pickle.dumps(value)) == value


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_no_public_signature_has_a_private_parameter(kind: type) -> None:
    for name, function in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_") or name == "__init__":
            assert not [word for word in inspect.signature(function).parameters if word.startswith("_")], name


def test_an_unknown_session_is_an_error_of_its_own() -> None:
    archive = trimtab.Compactor(MODEL).archive
    for verb in (archive.forget, archive.verify):
        with pytest.raises(trimtab.SessionError, match="no session 'nobody'"):
            verb("nobody")


def test_a_second_compaction_of_a_named_session_meanwhile_is_refused() -> None:
    refused = []

    def meanwhile(_: trimtab.summarize.Ask) -> str:
        with pytest.raises(trimtab.BusyError, match="'talk' is being compacted") as caught:
            cm.compact(LONG, target_share=0.3)
        refused.append(caught.value)
        with pytest.raises(trimtab.BusyError):
            asyncio.run(cm.acompact(LONG, target_share=0.3))
        return "a summary"

    cm = trimtab.Compactor(MODEL, summarizer=meanwhile).session("talk")
    done = cm.compact(LONG, target_share=0.3)
    assert done.ref
    assert refused
    assert cm.compact([*done.messages, *LONG], target_share=0.5).ref, "the next one is free again"


def test_an_unnamed_compactor_serves_several_conversations_at_once() -> None:
    inner = []

    def meanwhile(_: trimtab.summarize.Ask) -> str:
        if not inner:
            inner.append(None)
            inner[0] = cm.compact(LONG[:100], target_share=0.3)
        return "a summary"

    cm = trimtab.Compactor(MODEL, summarizer=meanwhile)
    assert cm.compact(LONG, target_share=0.3).ref
    assert inner[0].ref


def test_an_overflow_is_told_from_a_limit_of_the_rate() -> None:
    assert trimtab.is_overflow("prompt is too long: 213462 tokens > 200000 maximum")
    assert not trimtab.is_overflow("Too many requests. Please slow down.")


def documented(*texts: str | None) -> set[str]:
    """The names that docstrings explain in Args or Attributes, or mention as code."""
    text = "\n".join(text or "" for text in texts)
    return {*re.findall(r"^ +(\w+): ", text, flags=re.M), *re.findall(r"``(\w+)", text)}


def parameters(function: Any) -> set[str]:
    """The names that a caller may pass, without a mapping of further options."""
    found = inspect.signature(function).parameters.values()
    return {one.name for one in found if one.kind is not one.VAR_KEYWORD and one.name not in {"self", "cls", "args"}}


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_parameter_and_member_of_a_public_class_is_documented(kind: type) -> None:
    assert kind.__doc__
    if "__init__" in vars(kind):
        init = vars(kind)["__init__"]
        assert parameters(init) <= documented(kind.__doc__, init.__doc__)
    for name, member in inspect.getmembers(kind):
        if not name.startswith("_") and (inspect.isroutine(member) or isinstance(member, property)):
            assert inspect.getdoc(member), name


@pytest.mark.parametrize("name", sorted(name for name in vars(trimtab.Compactor) if not name.startswith("_")))
def test_every_parameter_of_a_compactors_method_is_documented(name: str) -> None:
    """An asynchronous method refers to its blocking form, which has the same parameters."""
    method = vars(trimtab.Compactor)[name]
    if inspect.iscoroutinefunction(method):
        blocking = vars(trimtab.Compactor)[name[1:]]
        assert str(method.__doc__).startswith(f"``{name[1:]}`` with ")
        assert inspect.signature(method).parameters == inspect.signature(blocking).parameters
    elif inspect.isfunction(method):
        assert parameters(method) <= documented(method.__doc__)


@pytest.mark.parametrize("name", [name for name, value in PUBLIC.items() if inspect.isfunction(value)])
def test_every_parameter_of_a_public_function_is_documented(name: str) -> None:
    function = PUBLIC[name]
    assert parameters(function) <= documented(function.__doc__)
