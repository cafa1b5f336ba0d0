"""Claude Code's recorded compactions beside trimtab's of the same lists to the same tokens, for ``compare.py``."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import _compare
import _recall

import trimtab

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def recorded(shared: Path) -> Iterator[tuple[trimtab.Transcript, trimtab.Transcript]]:
    """Yield the sessions before and after each compaction, up to the first answer."""
    with (shared / "compactions.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["raw_file"].startswith("claude-code")]
    for row in rows:
        lines = (shared / "transcripts" / row["raw_file"]).read_bytes().splitlines(keepends=True)
        at = int(row["line"])
        answers = (n for n, line in enumerate(lines[at:], at) if b'"type":"assistant"' in line.replace(b" ", b""))
        before, after = b"".join(lines[: at - 1]), b"".join(lines[: next(answers, len(lines))])
        yield trimtab.read(before, format="claude_code"), trimtab.read(after, format="claude_code")


def lines(shared: Path) -> list[str]:
    """Return a table of all of them, or why there is none."""
    if not (shared / "compactions.csv").exists():
        return ["Claude Code: not run, its recorded compactions (`../shared/data`) are not part of the project."]
    own, ours, many, before, after = [0, 0], [0, 0], 0, 0, 0
    wanted = [0, 0]
    for session, compacted in recorded(shared):
        model = session.model or _compare.MODEL
        cm = trimtab.Compactor(model, provider="anthropic")
        tokens = cm.count(compacted.messages)
        if not compacted.messages or tokens >= cm.count(session.messages):
            continue
        turns = _compare.turns(session.messages)
        asked = _recall.sentences(turn.said for turn in turns)
        needs = _compare.Needs(requests=asked, files=_compare.files(turns))
        done = cm.compact(session.messages, target_tokens=tokens)
        for found, messages in ((own, compacted.messages), (ours, done.messages)):
            kept = needs.kept(list(messages))
            for at, kind in enumerate(("requests", "files")):
                found[at] += kept[kind][0]
        wanted = [wanted[0] + len(needs.requests), wanted[1] + len(needs.files)]
        many, before, after = many + 1, before + done.tokens_before, after + tokens
    return [
        f"**Claude Code**: {many} recorded compactions of {before:,} to {after:,} tokens of messages. They are not",
        "replayed: no file has the prompts that were sent, nor the files that Claude Code attaches again behind its",
        "summary. trimtab compacts the same lists to the same tokens.",
        "",
        "| | requests | files |",
        "|---|---|---|",
        *(
            f"| {name} | {found[0]} of {wanted[0]} | {found[1]} of {wanted[1]} |"
            for name, found in (("Claude Code", own), ("trimtab: `compact`", ours))
        ),
    ]
