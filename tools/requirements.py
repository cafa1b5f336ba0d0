"""Write ``docs/dev/requirements.md``: the cases and tests that show each requirement of the documents; ``make docs``.

Published conformance cases and our own name their requirements; ``TESTS`` names tests for the requirements that a case
does not show well.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict

from test_conformance import ROOT, cases
from test_own import CASES

OUT = ROOT / "docs" / "dev" / "requirements.md"
LISTED = ROOT.parent / "shared" / "REQUIREMENTS.md"

HEAD = """# Requirements

What five documents ask of a context manager, and what shows that trimtab does it: the conformance cases that name a
requirement (`make test` runs them where the cases are at hand), our own cases (`tests/conformance/own*.py`, in
parentheses), and tests by file and name. Made by `make docs`.

"""

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


def named(test: str) -> bool:
    """Whether there is a test of this file and name."""
    file, _, name = test.partition(": ")
    path = ROOT / "tests" / f"{file}.py"
    tests = {n.name for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.FunctionDef)}
    return f"test_{name.replace(' ', '_').replace('-', '_')}" in tests


if __name__ == "__main__":
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(HEAD + "\n".join(rows()) + "\n", "utf-8")
    print(f"{OUT}: {len(rows()) - 2} requirements, {sum(row.endswith('| 0 |  |') for row in rows())} shown by nothing")
