"""Write ``docs/dev/requirements.md``: the cases and tests that show each requirement of the documents; ``make docs``.

Published conformance cases and our own name their requirements; ``TESTS`` names tests for the requirements that a case
does not show well.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict

from ops.table import PLAYED as OPS_PLAYED
from test_conformance import ROOT, cases
from test_own import CASES

from conformance import DIFFERS

OUT = ROOT / "docs" / "dev" / "requirements.md"
LISTED = ROOT.parent / "shared" / "REQUIREMENTS.md"

HEAD = """# Requirements

What five documents ask of a context manager, and what shows that trimtab does it: the conformance cases that name a
requirement (`make test` runs them where the cases are at hand), our own cases (`tests/conformance/own*.py`, in
parentheses), and tests by file and name. Made by `make docs`.

"""

PARITY = """
## Without parity

The cases run with `parity`, which leaves out the rules that no document has: a compaction shrinks or refuses, the last
request stays, a summary travels in an envelope, only a valid list is compacted. With it {total} of {total} published
cases hold. Without it, as users get the policies, {held} hold, and these differ. `make conformance` prints both rates.

| case | why it differs without parity |
|---|---|
{rows}
"""

PLAYED = """
## The test in the agent's place

The loop of an agent is no part of trimtab. These operations of the cases play a part of it; their cases show the rest.

| operation | what the test does itself |
|---|---|
{rows}
"""

ORDER = """
## Told orders

A preset's `order` is the order in which the steps of a compaction are told, as its document lists them, once all are
done. What is done has one order under every preset: the plan, the hook, the hook again with the plan, the originals
into the archive, the model, the new list and its validation, the commit, the events. These rows show a told order.

| requirement | told | where what is done differs, and why |
|---|---|---|
{rows}
"""

PLANNED = "The plan is made before the hook is asked, so that nobody is asked where nothing can leave."
BEHIND = "Both are told behind the commit: what a failure could take back is not announced."

TOLD = {
    "R0.10": ("`PreCompact`, then the split", PLANNED),
    "R0.17": ("`pre_tokens` behind the summary", "Tokens are counted once, before anything changes."),
    "R0.20": (
        "the boundary behind the rebuilt list",
        "The commit stands in between: a list that is refused has no boundary.",
    ),
    "R0.21": ("`SessionStart` last", "Nothing differs."),
    "R0.38": ("`PreCompact` first, `SessionStart` last", PLANNED),
    "R1.2": ("`SessionStart`, then the boundary", BEHIND),
    "R1.14": ("`PreCompact` first", PLANNED),
    "R1.22": ("rebuilt list, `SessionStart`, boundary", BEHIND),
    "R2.13": (
        "count, partition, strategy, event, archive, delete, summary",
        "Originals are archived before the model is asked, so that a crash loses none.",
    ),
    "R3.43": ("gate, push, model, calibrate, tools, truncate, gate", "It is the agent's loop, which the test plays."),
}
"""Rows that show the order in which something is told: that order, and how it differs from the order of doing."""

TESTS = {
    "R0.30": "test_policies: an estimate drops the fraction once a text or once a message",
    "R0.39": "test_forecast: the next prompt of every shared session is known",
    "R1.27": "test_compactor: the order of a compaction is read off its generator",
    "R1.28": "test_policies: an estimate drops the fraction once a text or once a message",
    "R1.29": "test_compactor: system text and the models window decide what a compaction aims at",
    "R2.26": "test_gate: statistics say which messages stay and why",
    "R2.27": "test_policies: partition means each keeper takes what the ones before it left",
    "R2.44": "test_archive: archived returns only the removed messages",
    "R2.54": "test_config: every recommended setting is valid",
    "R3.36": "test_gate: a tools output is cut by the category of the tool",
    "R3.38": "test_gate: a tools output is cut by the category of the tool",
    "R3.40": "test_gate: events are told in the presets order with their payloads",
    "R4.9": "test_gate: what a step was charged triggers seed 004",
    "R4.10": "test_queue: a marker is answered by a summary that is the pivot",
    "R4.12": "test_queue: a marker is answered by a summary that is the pivot",
    "R4.16": "test_queue: a marker is answered by a summary that is the pivot",
    "R4.18": "test_queue: a marker is answered by a summary that is the pivot",
    "R4.19": "test_queue: a manual compaction does not go on by itself",
    "R4.30": "test_queue: pruning marks old results and keeps what they said",
    "R4.40": "test_queue: a failed pass leaves the history and does not go on",
}
"""Tests that show what is shown better by itself, by file and name."""


def shown() -> dict[str, list[str]]:
    """Return the tests of each requirement, without published cases."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for case in CASES:
        for requirement in case.shows.split():
            found[requirement].append(f"({case.says})")
    for requirement, test in TESTS.items():
        found[requirement].append(test)
    return found


def listed() -> list[str]:
    """The requirements, in the order of their documents."""
    return re.findall(r"^\| (R\d\.\d+) \|", LISTED.read_text("utf-8"), flags=re.MULTILINE)


def rows() -> list[str]:
    """The table, a line a requirement."""
    published, ours = defaultdict(list), shown()
    for case in cases():
        for requirement in case.get("requirements", ()):
            published[requirement].append(case["name"])
    out = ["| requirement | cases | shown by |", "|---|---:|---|"]
    for requirement in listed():
        names = published[requirement]
        by = [f"`{name}`" for name in names[:3]] + ours.get(requirement, [])[:3]
        out.append(f"| {requirement} | {len(names)} | {', '.join(by)} |")
    return out


def page() -> str:
    """The page as it stands in the repository."""
    differs = "\n".join(f"| `{name}` | {why} |" for name, why in DIFFERS.items())
    played = "\n".join(f"| `{name}` | {what} |" for name, what in sorted(OPS_PLAYED.items()))
    told = "\n".join(f"| {name} | {order} | {why} |" for name, (order, why) in TOLD.items())
    total = len(cases())
    parity = PARITY.format(total=total, held=total - len(DIFFERS), rows=differs)
    return HEAD + "\n".join(rows()) + "\n" + parity + PLAYED.format(rows=played) + ORDER.format(rows=told)


def named(test: str) -> bool:
    """Whether there is a test of this file and name."""
    file, _, name = test.partition(": ")
    path = ROOT / "tests" / f"{file}.py"
    tests = {n.name for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.FunctionDef)}
    return f"test_{name.replace(' ', '_').replace('-', '_')}" in tests


if __name__ == "__main__":
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(page(), "utf-8")
    print(f"{OUT}: {len(rows()) - 2} requirements, {sum(row.endswith('| 0 |  |') for row in rows())} shown by nothing")
