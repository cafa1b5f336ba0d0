"""``Transcript.left_out`` counts all content of a file that no message contains."""

import csv
import json
from pathlib import Path

import pytest

from support.format_cases import BLOCKS, LINES, ODD_ENTRIES, WHOLES
from trimtab import MessageError, read
from trimtab.formats import FORMATS, LOGS

SHARED = Path(__file__).parents[3] / "shared" / "data" / "transcripts"

ODD = {"type": "odd_block", "text": "words nobody knows"}
ODD_KEY = {"oddBlock": {"words": "nobody knows"}}


def file(name, turns=4):
    """The entries of a file and what makes its bytes of them."""
    if name in LINES:
        return [*LINES[name](turns)], lambda entries: "\n".join(map(json.dumps, entries)).encode()
    whole = WHOLES[name](turns)
    key = next(key for key in ("steps", "history", "messages") if key in whole)
    return whole[key], lambda entries: json.dumps({**whole, key: entries}).encode()


@pytest.mark.parametrize("name", FORMATS)
def test_a_plain_session_has_all_its_words_in_its_messages(name):
    entries, raw = file(name)
    found = read(raw(entries), format=name)
    assert found.repaired == []
    assert set(found.left_out) <= {"session"}
    assert found.skipped == []
    for i in range(4):
        assert all(json.dumps(found.messages).count(f"{word} {i}") == 1 for word in ("look", "found"))


@pytest.mark.parametrize("name", FORMATS)
def test_an_unknown_entry_is_counted_by_its_kind_or_named_by_its_line(name):
    entries, raw = file(name)
    clean = read(raw(entries), format=name)
    odd = ODD_ENTRIES.get(name, {"type": "odd_entry"})
    place = 4 if name == "pi" else len(entries) // 2 + 1
    if name not in LOGS:
        with pytest.raises(MessageError):
            read(raw([*entries[:place], odd, *entries[place:]]), format=name)
        return
    both = [*entries[:place], odd, odd | {"uuid": "y", "id": "y"}, *entries[place:]]
    found = read(raw(both), format=name)
    assert found.messages == clean.messages
    counted = [kind for kind, many in found.left_out.items() if "odd_entry" in kind and many == 2]
    assert len(counted) == 1 or len(found.skipped) == 2, found.left_out


@pytest.mark.parametrize("block", [ODD, ODD_KEY, "a bare word", 71_427])
@pytest.mark.parametrize("name", FORMATS)
def test_an_unknown_block_is_in_the_messages_or_counted(name, block):
    entries, raw = file(name)
    clean = read(raw(entries), format=name)
    planted = 0
    for entry in entries[len(entries) // 2 :]:
        for blocks in lists(entry):
            blocks.append(block)
            planted += 1
    assert planted
    unknown = ODD_KEY if name in ("bedrock", "gemini") else ODD  # whose blocks and parts have no type
    if name not in LOGS and block is not unknown:
        with pytest.raises(MessageError, match=r"\["):
            read(raw(entries), format=name)
        return
    found = read(raw(entries), format=name)
    counted = sum(found.left_out.values()) - sum(clean.left_out.values()) + len(found.skipped)
    word = "nobody knows" if isinstance(block, dict) else str(block)
    assert counted + json.dumps(found.messages).count(word) >= planted, (planted, found.left_out)


@pytest.mark.parametrize("said", ["words nobody has read", {"a": [{"b": "words nobody has read"}]}])
@pytest.mark.parametrize("name", FORMATS)
def test_an_unknown_field_that_says_something_is_in_the_messages_or_counted(name, said):
    entries, raw = file(name)
    clean = read(raw(entries), format=name)
    for quiet in ("u_71", 71, True, None, "2026-11-22T10:00:00Z", ["a", "b c"], {"n": 1}):
        planted = plant(entries, quiet)
        found = read(raw(planted), format=name)
        assert found.left_out == clean.left_out
        assert len(found.messages) == len(clean.messages)
    planted = plant(entries, said)
    found = read(raw(planted), format=name)
    kept, all_of_it = (json.dumps(value).count('"odd_field"') for value in (found.messages, planted))
    counted = sum(many for kind, many in found.left_out.items() if kind.endswith("odd_field"))
    assert all_of_it >= 8
    assert kept + counted >= all_of_it - SILENT.get(name, 0), found.left_out
    assert [m.get("role") for m in found.messages] == [m.get("role") for m in clean.messages]


SILENT = {"codex": 1, "pi": 1, "copilot_cli": 2, "gemini_cli": 1}
"""Entries that begin a session and say nothing in it."""


def plant(value, field):
    """The entries with a field more in each of them, and in the message that one holds."""
    planted = []
    for entry in value:
        more = {**entry, "odd_field": field}
        for inner in ("message", "data", "info"):
            if isinstance(entry.get(inner), dict):
                more[inner] = {**entry[inner], "odd_field": field}
        planted.append(more)
    return planted


def lists(value):
    """The lists of blocks in an entry, at any depth."""
    if isinstance(value, dict):
        value = [*value.items()]
        for key, inner in value:
            if key in BLOCKS and isinstance(inner, list):
                yield inner
            yield from lists(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from lists(inner)


def test_names_of_kinds_come_from_the_file_and_are_bounded():
    entries = [{"type": f"kind {i} " + "x" * 500, "uuid": f"x{i}", "parentUuid": "u0"} for i in range(3_000)]
    found = read("\n".join(map(json.dumps, [*LINES["claude_code"](1), *entries])).encode())
    assert len(found.left_out) <= 1_001
    assert sum(found.left_out.values()) == 3_000
    assert max(map(len, found.left_out)) <= 121


def test_what_a_compaction_replaced_is_counted():
    session = [*LINES["codex"](3)]
    after = {"type": "compacted", "payload": {"message": "summary", "replacement_history": [session[1]["payload"]]}}
    raw = "\n".join(map(json.dumps, [*session, after])).encode()
    assert read(raw).left_out == {"compacted items": 11}
    assert read(raw, whole=True).left_out == {}


@pytest.mark.shared
def test_every_line_of_a_shared_log_is_a_message_or_counted(shared):
    with (shared / "data" / "transcripts" / "manifest.csv").open(newline="") as rows:
        paths = [shared / "data" / "transcripts" / row["raw_file"] for row in csv.DictReader(rows)]
    for path in paths:
        found = read(path, whole=True)
        if found.format == "codex":
            values = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
            kinds = [v for v in values if v["type"] == "event_msg" and v["payload"]["type"] == "agent_message"]
            assert found.left_out.get("event_msg/agent_message", 0) == len(kinds)
        if found.format == "copilot_cli":
            values = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
            starts = [v for v in values if v["type"] == "tool.execution_start" and not v.get("agentId")]
            starts = [v for v in starts if not v["data"].get("parentToolCallId")]
            assert found.left_out.get("tool.execution_start", 0) == len(starts)
