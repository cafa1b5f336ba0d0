"""Writes ``docs/requirements.md``: each requirement of the documents with the cases and tests that show it.

``make requirements``. The requirements are those that conformance cases name; tests name them in their text.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from test_conformance import ROOT, cases

OUT = ROOT / "docs" / "requirements.md"
LISTED = ROOT.parent / "shared" / "REQUIREMENTS.md"

HEAD = """# Requirements

What five documents ask of a context manager, and what shows that trimtab does it: the conformance cases that name a
requirement (`make test` runs them where the cases are at hand), and the tests that show what no case does. Made by
`make requirements`.

"""

TESTS = {
    "R0.30": "test_policies: an estimate drops the fraction once a text or once a message",
    "R0.31": "test_gate: events are told in the preset's order with their payloads",
    "R0.39": "test_counter: the counter of a model, against what was charged",
    "R0.43": "test_gate: a hook adds context and instructions to what a model is asked",
    "R1.27": "test_compactor: the Compactor is apart from any loop",
    "R1.28": "test_policies: an estimate drops the fraction once a text or once a message",
    "R2.26": "test_gate: statistics say which messages stay and why",
    "R2.27": "test_policies: partition means each keeper takes what the ones before it left",
    "R2.54": "test_config: every recommended setting is one that the keys take",
    "R3.36": "test_gate: a tool's output is cut by the category of the tool",
    "R3.38": "test_gate: a tool's output is cut by the category of the tool",
    "R3.39": "test_gate: events are told in the preset's order with their payloads",
    "R3.40": "test_gate: events are told in the preset's order with their payloads",
    "R4.9": "test_gate: what a step was charged triggers seed 004",
    "R4.10": "test_queue: a marker is answered by a summary that is the pivot",
    "R4.12": "test_queue: a marker is answered by a summary that is the pivot",
    "R4.16": "test_queue: a marker is answered by a summary that is the pivot",
    "R4.18": "test_queue: a marker is answered by a summary that is the pivot",
    "R4.19": "test_queue: a manual compaction does not go on by itself",
    "R4.30": "test_queue: pruning marks old results and keeps what they said",
    "R4.39": "test_queue: a manual compaction does not go on by itself",
    "R4.40": "test_queue: a failed pass leaves the history and does not go on",
}
"""Tests that show what no case at hand does."""


def rows() -> list[str]:
    """The table, a line a requirement."""
    shown: defaultdict[str, list[str]] = defaultdict(list)
    for case in cases():
        for requirement in case.get("requirements", ()):
            shown[requirement].append(case["name"])
    listed = re.findall(r"^\| (R\d\.\d+) \|", LISTED.read_text("utf-8"), flags=re.M)
    out = ["| requirement | cases | shown by |", "|---|---:|---|"]
    for requirement in listed:
        names = shown[requirement]
        by = [f"`{name}`" for name in names[:3]] + ([TESTS[requirement]] if requirement in TESTS else [])
        out.append(f"| {requirement} | {len(names)} | {', '.join(by)} |")
    return out


if __name__ == "__main__":
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(HEAD + "\n".join(rows()) + "\n", "utf-8")
    print(f"{OUT}: {len(rows()) - 2} requirements, {sum(row.endswith('| 0 |  |') for row in rows())} shown by nothing")
