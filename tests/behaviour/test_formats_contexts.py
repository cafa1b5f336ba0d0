"""The prompt right after each compaction: of the whole session, what a reader of the file's beginning finds."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest

from trimtab import read

if TYPE_CHECKING:
    from pathlib import Path

import test_formats_claude_code as claude_code
import test_formats_codex as codex
import test_formats_copilot_cli as copilot_cli
import test_formats_gemini_cli as gemini_cli
import test_formats_opencode as opencode
import test_formats_openhands as openhands
import test_formats_pi as pi

FILES = {
    "claude_code": (claude_code.session, claude_code.COMPACTED, 4),
    "codex": (codex.session, [*codex.BEFORE, codex.COMPACTED, *codex.AFTER], len(codex.BEFORE) + 1),
    "copilot_cli": (copilot_cli.session, copilot_cli.COMPACTED, 6),
    "gemini_cli": (gemini_cli.log, gemini_cli.COMPRESSED, 4),
    "opencode": (opencode.session, opencode.COMPACTED, 6),
    "openhands": (openhands.session, openhands.CONDENSED, 7),
    "pi": (pi.session, pi.COMPACTED, 5),
}
"""Of each format its reader, entries with one compaction, and the number of those up to it."""


def texts(messages: list) -> list[str]:
    """Messages as JSON, in any order, without the ids that Codex leaves out of copies."""
    told = [{"role": one["role"], "content": one["content"]} if "role" in one else one for one in messages]
    return sorted(json.dumps(message, sort_keys=True) for message in told)


@pytest.mark.parametrize("format", FILES)
def test_the_context_of_a_compaction_is_the_prompt_of_a_file_that_ends_with_it(format: str) -> None:
    reads, entries, stop = FILES[format]
    whole = reads(*entries, whole=True)
    (context,) = whole.contexts
    begun = reads(*entries[:stop])
    assert texts([whole.messages[at] for at in context]) == texts(begun.messages)
    assert reads(*entries).contexts == []


def test_the_context_has_the_turns_that_claude_code_kept() -> None:
    turn = [
        claude_code.user("7", "2", "keep", timestamp="t7"),
        claude_code.says("8", "7", "k", {"type": "text", "text": "kept"}),
    ]
    copies = [turn[0] | {"uuid": "70", "parentUuid": "4"}, turn[1] | {"uuid": "80", "parentUuid": "70"}]
    segment = {"preservedSegment": {"headUuid": "7", "anchorUuid": "4", "tailUuid": "8"}}
    again = [*claude_code.COMPACTED[:2], *turn, claude_code.boundary("3", "8"), claude_code.summary("4", "3")]
    linked = [*again[:4], claude_code.boundary("3", "8", compactMetadata=segment), again[5]]
    new = claude_code.says("9", "8", "n", {"type": "text", "text": "second"})
    for lines in (
        [*again, turn[0] | {"parentUuid": "4"}, turn[1], new],
        [*again, *copies, new | {"parentUuid": "80"}],
        [*linked, new | {"parentUuid": "4"}],
    ):
        whole = claude_code.session(*lines, whole=True)
        (context,) = whole.contexts
        told = claude_code.told(whole)
        assert sorted(told[at] for at in context) == ["a:kept", "u:keep", "u:what went before"]


@pytest.mark.shared
def test_the_context_of_each_recorded_compaction_begins_the_prompt_behind_it(shared: Path) -> None:
    with (shared / "data" / "compactions.csv").open() as file:
        names = {row["raw_file"] for row in csv.DictReader(file)}
    for name in sorted(names):
        path = shared / "data" / "transcripts" / name
        whole, now = read(path, whole=True, repair=False), read(path, repair=False)
        assert len(whole.contexts) == len(whole.compactions) > 0
        begun = [whole.messages[at] for at in whole.contexts[-1]]
        left = texts(now.messages)
        assert [one for one in texts(begun) if one not in left] == [], name
