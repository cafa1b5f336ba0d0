"""Write ``docs/dev/requirements.md``: the cases and tests that show each requirement of the documents; ``make docs``.

Published conformance cases and our own name their requirements, and tests by ``pytest.mark.shows``.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from ops.table import PLAYED as OPS_PLAYED
from test_conformance import ROOT, cases
from test_own import CASES

from conformance import DIFFERS

if TYPE_CHECKING:
    from collections.abc import Iterator

OUT = ROOT / "docs" / "dev" / "requirements.md"
LISTED = ROOT.parent / "shared" / "REQUIREMENTS.md"

HEAD = """# Requirements

What five documents ask of a context manager, and what shows that trimtab does it: the conformance cases that name a
requirement (`make test` runs them where the cases are at hand), our own cases (`tests/conformance/own*.py`, in
parentheses), and tests by file and name, which are marked with what they show. Made by `make docs`.

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

CASES_OF = {
    "R0.13": ("goat/split/point-all-but-last", "spec09/split/exact", "spec09/formulas/preserve-budget-1000000"),
    "R0.15": (),
    "R2.16": (),
    "R2.23": ("agentpg/partition/both-flags-is-summary", "agentpg/partition/summary-and-preserved"),
    "R2.24": ("agentpg/partition/summary-and-preserved",),
    "R3.12": ("sven/config/default-compaction_threshold",),
    "R3.14": (),
    "R3.15": ("sven/config/default-tool_result_token_cap",),
    "R3.16": (),
    "R3.35": (
        "sven/smart_truncate/one-byte-over",
        "sven/smart_truncate/notice-matchlist",
        "sven/smart_truncate/notice-generic",
    ),
    "R3.36": ("sven/smart_truncate/under-cap", "sven/smart_truncate/one-byte-over"),
    "R4.2": (),
    "R4.4": (),
    "R4.5": (),
    "R4.6": ("opencode/overflow_seed_era/equal-not-overflow", "opencode/overflow_seed_era/one-over"),
    "R4.7": ("opencode/overflow_seed_era/equal-not-overflow", "opencode/overflow_seed_era/one-over"),
    "R4.18": (),
    "R4.20": ("opencode/filter_compacted/stops-at-boundary", "opencode/filter_compacted/no-compaction"),
    "R4.22": ("opencode/prune/pending-error-ignored", "opencode/prune/newest-first-order"),
    "R4.24": ("opencode/prune/tools-between-last-two-users-kept",),
    "R4.25": ("opencode/prune/stop-at-summary",),
    "R4.26": (),
    "R4.28": ("opencode/prune/protect-exactly-40000", "opencode/prune/protect-40001"),
    "R4.29": ("opencode/prune/minimum-exactly-20000-not-applied", "opencode/prune/minimum-20001-applied"),
}
"""The published cases that show a requirement, where the first three that name it do not."""

NOTES = {
    "R0.15": "the newest message stays all the same, as its case allows: a list without a message is no request",
    "R4.10": "the agent queues the marker where `fit` or the trigger says so",
    "R4.12": "the agent runs the queue before its next call",
}
"""Rows that are met in another way, or in part by the agent."""


def shown() -> dict[str, list[str]]:
    """Return the tests of each requirement, without published cases."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for case in CASES:
        for requirement in case.shows.split():
            found[requirement].append(f"({case.says})")
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for test, marked in marks(ast.parse(path.read_text("utf-8"))):
            for requirement in marked:
                found[requirement].append(f"{path.stem}: {test.removeprefix('test_').replace('_', ' ')}")
    return found


def marks(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """Yield the tests of a file that are marked with ``shows``, each with the requirements that the mark names."""
    for function in tree.body:
        for decorator in getattr(function, "decorator_list", ()):
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.shows":
                yield function.name, [ast.literal_eval(argument) for argument in decorator.args]


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
        by = [f"`{name}`" for name in CASES_OF.get(requirement, names[:3])] + ours.get(requirement, [])[:3]
        note = f"; {NOTES[requirement]}" if requirement in NOTES else ""
        told = " (told order)" if requirement in TOLD else ""
        out.append(f"| {requirement} | {len(names)} | {', '.join(by)}{told}{note} |")
    return out


def page() -> str:
    """The page as it stands in the repository."""
    differs = "\n".join(f"| `{name}` | {why} |" for name, why in DIFFERS.items())
    played = "\n".join(f"| `{name}` | {what} |" for name, what in sorted(OPS_PLAYED.items()))
    told = "\n".join(f"| {name} | {order} | {why} |" for name, (order, why) in TOLD.items())
    total = len(cases())
    parity = PARITY.format(total=total, held=total - len(DIFFERS), rows=differs)
    return HEAD + "\n".join(rows()) + "\n" + parity + PLAYED.format(rows=played) + ORDER.format(rows=told)


if __name__ == "__main__":
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(page(), "utf-8")
    print(f"{OUT}: {len(rows()) - 2} requirements, {sum(row.endswith('| 0 |  |') for row in rows())} shown by nothing")
