"""Counts beside the billed tokens of recorded turns, by kind of content; ``make eval-pairs``.

- A row for each kind of content of ``pairs.jsonl``.
- The errors of results of Claude 4.7, in tokens.
- The turns among them with an error of more than a tenth. Beside each stand the whole turn, if it was recorded, and its
  answer: the billed tokens, and the count of the answer that the agent sent back. If the whole turn is exact, the error
  comes from the agent's rewriting of the answer, which the text does not show.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import trimtab

ROOT = Path(__file__).resolve().parent.parent
PAIRS = ROOT.parent / "shared" / "data" / "pairs.jsonl"
FEW = 5
"""Kinds of content with fewer pairs share a row."""

counter = cache(trimtab.Counter.for_model)


def said(pair: dict[str, Any]) -> list[dict[str, Any]]:
    """A pair's blocks as messages: calls and text by the assistant, results by the user."""
    answer, results = [], []
    for block in pair["content_blocks"]:
        if block["type"] == "tool_result":
            kept = {key: block[key] for key in ("content", "is_error") if block.get(key)}
            results.append({"type": "tool_result", "tool_use_id": str(len(results)), "content": "", **kept})
        elif block["type"] == "tool_use":
            calls = sum(one["type"] == "tool_use" for one in answer)
            answer.append({"type": "tool_use", "id": str(calls), "name": block["name"], "input": block["input"]})
        elif block["type"] == "text":
            answer.append({"type": "text", "text": block["text"]})
    turns = (("assistant", answer), ("user", results))
    return [{"role": role, "content": content} for role, content in turns if content]


def counted(pair: dict[str, Any]) -> int:
    return int(counter(pair["model"]).per_message(said(pair)).sum())


def kinds(pairs: list[dict[str, Any]]) -> None:
    """Errors by kind of content."""
    rows: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for pair in pairs:
        rows[pair["family"], pair["kind"], pair["content_type"]].append((counted(pair), pair["actual_tokens"]))
    for key in [key for key, found in rows.items() if len(found) < FEW]:
        rows[*key[:2], "other, less than 5 each"] += rows.pop(key)
    print("| family | what | content | pairs | median | 95 % below | of the sum | within 3 tokens |")
    print("|---|---|---|---|---|---|---|---|")
    names = {"delta": "a call and its results", "delta_minus_output": "results alone"}
    for (family, kind, content), found in sorted(rows.items()):
        off = sorted(100 * abs(ours - charged) / charged for ours, charged in found)
        bias = 100 * (sum(ours for ours, _ in found) / sum(charged for _, charged in found) - 1)
        near = 100 * sum(abs(ours - charged) <= 3 for ours, charged in found) / len(found)
        high = off[min(len(off) - 1, int(0.95 * len(off)))]
        shown = (family, names[kind], content, f"{len(found):,}", f"{statistics.median(off):.2f} %", f"{high:.1f} %")
        print("|", " | ".join((*shown, f"{bias:+.1f} %", f"{near:.0f} %")), "|")


def rewritten(pairs: list[dict[str, Any]], answers: list[dict[str, Any]]) -> None:
    """The turns of Claude 4.7 whose results alone are off by more than a tenth."""

    def place(pair: dict[str, Any]) -> tuple[str, int]:
        return pair["source"]["raw_file"], pair["source"]["line"]

    wholes = {place(pair): pair for pair in pairs if pair["kind"] == "delta"}
    outputs = {place(pair): pair["actual_tokens"] for pair in answers if pair["source"].get("raw_file")}
    print("\n| results, charged | counted | off | turn, charged | counted | answer, charged | as sent back, counted |")
    print("|---|---|---|---|---|---|---|")
    for pair in pairs:
        ours, charged = counted(pair), pair["actual_tokens"]
        if (pair["family"], pair["kind"]) != ("claude-new", "delta_minus_output") or abs(
            ours - charged
        ) <= charged / 10:
            continue
        cells = [charged, ours, f"{ours - charged:+}", "", "", "", ""]
        if whole := wholes.get(place(pair)):
            sent = counted(
                {**whole, "content_blocks": [b for b in whole["content_blocks"] if b["type"] != "tool_result"]}
            )
            cells[3:] = [whole["actual_tokens"], counted(whole), outputs.get(place(pair), ""), sent]
        print("|", " | ".join(map(str, cells)), "|")


def residuals(pairs: list[dict[str, Any]], family: str, kind: str) -> None:
    """By how many tokens turns are off, by content and number of results: a rule of the grammar would be one number."""
    rows: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for pair in pairs:
        if (pair["family"], pair["kind"]) == (family, kind):
            results = sum(block["type"] == "tool_result" for block in pair["content_blocks"])
            key = ("several", "any") if results > 1 else ("one", pair["content_type"])
            rows[key][counted(pair) - pair["actual_tokens"]] += 1
    print("\n| results | content | turns | exact | off by (turns) |")
    print("|---|---|---|---|---|")
    for (results, content), found in sorted(rows.items()):
        exact = found.pop(0, 0)
        off = ", ".join(f"{tokens:+} ({turns})" for tokens, turns in sorted(found.items()))
        print("|", " | ".join((results, content, str(exact + found.total()), str(exact), off)), "|")


def limit(pairs: list[dict[str, Any]], family: str, kind: str) -> None:
    """Print the errors of a counter with the best constant per session, fitted to the charges themselves."""
    sessions: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for pair in pairs:
        if (pair["family"], pair["kind"]) == (family, kind):
            sessions[pair["source"]["raw_file"]].append((counted(pair), pair["actual_tokens"]))

    def far(found: list[tuple[int, int]], more: int) -> int:
        return sum(abs(ours + more - charged) > charged / 10 for ours, charged in found)

    now = sum(far(found, 0) for found in sessions.values())
    best = sum(min(far(found, more) for more in range(-200, 201)) for found in sessions.values())
    rows = sum(map(len, sessions.values()))
    print(
        f"\n{family}, results alone, off by more than 10 %: {now} of {rows}, {best} with the best constant of each of"
    )
    print(
        f"{len(sessions)} sessions, known afterwards. A 95th percentile of a tenth has {rows - 1 - int(0.95 * rows)}."
    )


def main() -> int:
    if not PAIRS.is_file():
        print(f"skipped: there are no recorded texts at {PAIRS.relative_to(ROOT.parent)}")
        return 0
    every = [json.loads(line) for line in PAIRS.open(encoding="utf-8")]
    pairs = [pair for pair in every if pair["kind"].startswith("delta") and pair["actual_tokens"] > 0]
    kinds(pairs)
    residuals(pairs, "claude-new", "delta_minus_output")
    limit(pairs, "claude-new", "delta_minus_output")
    rewritten(pairs, [pair for pair in every if pair["kind"] == "usage_output"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
