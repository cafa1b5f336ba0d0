"""Counts beside the billed tokens of every recorded session; ``make eval-bill``.

- The next prompt of each tool loop of Claude Code, forecast from the calls before it: the last billed prompt, and the
  count of the messages since.
- The next prompt after each recorded turn of Claude 4.7 and later, of which there are no whole sessions: the prompt
  before, and the count of the turn.
- Every recorded compaction: the forecast at that moment, beside the agent's own number (``preTokens``), which is often
  missing, and the last billed prompt.
"""

from __future__ import annotations

import csv
import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path

import pairs

import trimtab
from trimtab.messages.usage import Usage
from trimtab.planning.forecast import Forecast

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"
MODEL = "claude-sonnet-5-5"  # for files that name none


def segments(path: Path) -> list[trimtab.Transcript]:
    """The messages of a session before each compaction, and at its end."""
    lines = path.read_bytes().splitlines(keepends=True)
    ends = [at for at, line in enumerate(lines) if b'"compact_boundary"' in line]
    found = (trimtab.read(b"".join(lines[:end]), format="claude_code") for end in (*ends, len(lines)) if end)
    return [transcript for transcript in found if transcript.usage]


def loops(transcript: trimtab.Transcript) -> list[int]:
    """The error of each forecast of a tool loop, and the billed tokens of the prompt."""
    forecast, off = Forecast.of(transcript.model or MODEL), []
    for charged in transcript.usage:
        tokens = forecast.count(transcript.messages[: charged.before], transcript.provider)
        if forecast.pending and forecast.pending.loops:
            off.append((tokens - charged.prompt, charged.prompt))
        forecast.record(Usage(charged.prompt, charged.output))
    return off


def family(transcript: trimtab.Transcript) -> str:
    """The Claude encoding of the session's model."""
    return trimtab.Model.named(transcript.model or MODEL).prompt.encoding


def turns() -> dict[str, list[tuple[int, int]]]:
    """The error of the forecast after each recorded turn of Claude, and the billed tokens of the prompt, by encoding.

    The forecast is the last billed prompt and the count of the turn; for results alone, also the billed answer.
    """
    found = defaultdict(list)
    for pair in map(json.loads, pairs.PAIRS.open(encoding="utf-8")):
        if pair["kind"].startswith("delta") and pair["provider"] == "anthropic" and pair.get("prompt_before"):
            answer = pair["output_tokens_final"] if pair["kind"] == "delta_minus_output" else 0
            prompt = pair["prompt_before"] + answer + pair["actual_tokens"]
            found[pair["family"]].append((pairs.counted(pair) - pair["actual_tokens"], prompt))
    return found


def show(what: str, errors: dict[str, list[tuple[int, int]]]) -> None:
    """Prints a line for each encoding."""
    print(f"next prompt {what}")
    for name, found in sorted(errors.items()):
        percent = sorted(100 * abs(off) / charged for off, charged in found)
        near = 100 * sum(abs(off) <= 3 for off, _ in found) / len(found)
        middle, high = statistics.median(percent), percent[int(0.95 * len(percent))]
        print(f"  {name}: {len(found):,}, median {middle:.3f} %, p95 {high:.3f} %, within 3 tokens {near:.0f} %")


def compactions() -> None:
    """Prints a row for each compaction, as a Markdown table."""
    print("|  | agent | model | preTokens | last prompt | trimtab | error |")
    print("|---|---|---|---|---|---|---|")
    errors = []
    with (SHARED / "compactions.csv").open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file), 1):
            path, line = SHARED / "transcripts" / row["raw_file"], int(row["line"])
            before = b"".join(path.read_bytes().splitlines(keepends=True)[: line - 1])
            found = trimtab.read(before, format="codex" if row["raw_file"].startswith("codex") else "claude_code")
            cm = trimtab.Compactor(found.model or MODEL, provider=found.provider)
            cm.learn(found)
            said = cm.count(found.messages, system=found.system, tools=found.tools)
            pre, last = int(row["preTokens"] or 0), int(row["last_prompt_tokens"])
            off = f"{100 * (said - pre) / pre:+.1f} %" if pre else ""
            errors += [abs(said - pre) / pre] if pre else []
            cells = (number, found.format, found.model or "", f"{pre:,}" if pre else "", f"{last:,}", f"{said:,}", off)
            print("|", " | ".join(map(str, cells)), "|")
    print(
        f"\n{len(errors)} with preTokens: median {100 * statistics.median(errors):.2f} %, max {100 * max(errors):.1f} %"
    )


def main() -> int:
    if not SHARED.is_dir():
        print(f"skipped: no recorded sessions at {SHARED.relative_to(ROOT.parent)}")
        return 0
    errors: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for path in sorted((SHARED / "transcripts" / "claude-code").rglob("*.jsonl")):
        for transcript in segments(path):
            errors[family(transcript)] += loops(transcript)
    show("in tool loops, from earlier calls alone", errors)
    show("after recorded turns, with the prompt before known", turns())
    print()
    compactions()
    return 0


if __name__ == "__main__":
    sys.exit(main())
