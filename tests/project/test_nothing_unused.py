"""No function of the library serves one preset alone, or nobody."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import trimtab
from support import transcripts
from support.models import CLAUDE
from trimtab.policies import POLICIES
from trimtab.summarize import Function, Limits

PACKAGE = Path(trimtab.__file__).parent
DECIDING = ("planning", "compaction", "session", "events", "hooks")
FAMILIES = {name: name.split("_")[0] for name in POLICIES}
"""The two presets of a document are one."""

FIELDS = ("trigger", "keep", "prune", "summarize", "place", "counter", "ingest", "order", "on_nothing", "failure")


def talk() -> list[Any]:
    turns = " ".join(f"u:{30 + n}+i:300 a:20+c{n} r{n}:{150 + 40 * n} a:25" for n in range(24))
    return transcripts.transcript(turns + " u:9")


def reached(policy: Any) -> set[str]:
    """The functions of deciding and doing that a policy's moments run through, with a summarizer and without."""
    seen: set[CodeType] = set()

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    def fails(_: object) -> str:
        raise RuntimeError("down")

    eager = replace(policy, trigger=replace(policy.trigger, fixed_window=False, window=None))
    sys.setprofile(look)
    try:
        for write in (lambda _: "went [well]", fails):
            cm = trimtab.Compactor(
                CLAUDE,
                policy=eager,
                window=12_000,
                max_output=900,
                summarizer=Function(write, limits=Limits(tries=1, seconds=None), window=100_000),
            )
            messages: list[Any] = talk()
            cm.ingest("Bash", "line\n" * 9_000)
            cm.prune(messages)
            cm.stats(messages)
            for when in ("before_call", "after_step", "after_tool_batch", "after_run"):
                cm.record({"input_tokens": 10_000, "output_tokens": 50})
                messages = [*cm.fit(messages, when=when).messages]
            cm.fit([*talk(), *transcripts.transcript("c99 r99:9000")])  # a result above the window
            cm.fit(talk(), when="on_overflow")
            try:
                cm.compact(talk(), target_share=0.3)
            except trimtab.Error:
                assert eager.fallback[0] == "error" or eager.on_nothing == "error"
    finally:
        sys.setprofile(None)
    return {name for code in seen if (name := deciding(code))}


def deciding(code: CodeType) -> str:
    """``file.function`` of code in a package that decides; empty for other code."""
    if not code.co_filename.startswith(str(PACKAGE)):
        return ""
    place = Path(code.co_filename).relative_to(PACKAGE).with_suffix("").parts
    return f"{place[-1]}.{code.co_qualname}" if place[0] in DECIDING else ""


def crossed(name: str) -> list[Any]:
    """Other policies, each with one stage of this preset's."""
    own, out = POLICIES[name], []
    for base in (POLICIES["spec09"], POLICIES["agentpg"]):
        if FAMILIES[base.name] == FAMILIES[name]:
            continue
        out += [replace(base, name="mine", **{field: getattr(own, field)}) for field in FIELDS if field != "keep"]
        if not own.keep.fill_target:
            out.append(replace(base, name="mine", keep=own.keep))
        out.append(replace(base, name="mine", emergency=own.emergency, fallback=own.fallback))
    return out


@pytest.mark.skipif(sys.version_info < (3, 11), reason="functions have no qualified names before 3.11")
def test_what_one_preset_reaches_another_reaches_too_or_any_policy_with_its_stages() -> None:
    assert reached(POLICIES["sven"])  # what an import runs is nobody's
    by_preset = {name: reached(policy) for name, policy in POLICIES.items()}
    families: dict[str, set[str]] = {}
    for name, names in by_preset.items():
        for function in names:
            families.setdefault(function, set()).add(FAMILIES[name])
    alone = {function: held for function, held in families.items() if len(held) == 1}
    assert len(families) > 150, "the runs reach most of the library"
    left = {function for function in alone if not function.endswith("<module>")}
    for name in POLICIES:
        mine = {function for function in left if alone[function] == {FAMILIES[name]}}
        if mine and name not in {"default", "drop"}:
            for policy in crossed(name):
                left -= reached(policy) & mine
    fills = reached(replace(POLICIES["drop"], name="mine"))
    fills |= reached(replace(POLICIES["agentpg"], name="mine", summarize=POLICIES["default"].summarize))
    assert not left - fills, sorted(left - fills)
