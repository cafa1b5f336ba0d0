"""Files as they come: cut anywhere, huge, in pieces; and every shared session written out and read again."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import trimtab
from support.checker import check
from support.format_cases import LINES
from support.measured import COMPACTED, counted
from support.models import CLAUDE, GPT
from support.transcripts import transcript
from trimtab import Counter, Kind, MessageError, Role, _core, read
from trimtab.cli.files import to_text
from trimtab.formats import counts, scan, sums
from trimtab.formats._prompt import FilePrompt

O200K = Counter("o200k_base")
MESSAGES = transcript(" ".join(f"u:20 c{n} r{n}:60 a:40" for n in range(14)), provider="anthropic")
TAIL = 4_096
CALLED = {"type": "tool_use", "id": "toolu_01A09q90qw90lq917835lq9", "name": "bash", "input": {"command": "ls -la src"}}
GAVE = {"type": "tool_result", "tool_use_id": CALLED["id"], "content": "total 8 " + "file " * 24}
SMALL = [
    {"role": "user", "content": "and so on " * 20},
    {"role": "assistant", "content": [{"type": "text", "text": "I look " * 6}, CALLED]},
    {"role": "user", "content": [GAVE]},
    {"role": "assistant", "content": "that is it " * 19},
]
"""Messages of 250 bytes."""


def cuts(raw):
    """The file cut at every byte of its last 4 KB, with its whole lines and what is left of the cut one."""
    assert len(raw) > TAIL
    for at in range(len(raw) - TAIL, len(raw) + 1):
        cut = raw[:at]
        yield cut, cut.count(b"\n"), cut[cut.rfind(b"\n") + 1 :]


def test_lines_cut_at_every_byte_keep_all_whole_ones_and_name_the_other():
    raw = to_text(MESSAGES, "m.jsonl").encode()
    lines = raw.splitlines(keepends=True)
    seen = 0
    for cut, whole, rest in cuts(raw):
        is_whole = bool(rest) and rest == lines[whole].rstrip(b"\n")
        places = [(whole + 1, len(cut) - len(rest))] if rest and not is_whole else []
        found = scan(cut, counter=O200K, provider="anthropic")
        assert len(found.ledger) == whole + is_whole
        assert [(skip.line, skip.offset) for skip in found.skipped] == places
        if len(cut) % 7 == 0 or is_whole:
            again = read(cut, format="anthropic", repair=False)
            assert again.messages == MESSAGES[: whole + is_whole]
            assert [(skip.line, skip.offset) for skip in again.skipped] == places
        seen += bool(places)
    assert seen > 3_000


def test_a_log_cut_at_every_byte_is_sendable_up_to_its_last_whole_line():
    entries = [
        {"type": message["role"], "uuid": f"u{n}", "parentUuid": f"u{n - 1}" if n else None, "message": message}
        for n, message in enumerate(MESSAGES)
    ]
    raw = to_text(entries, "m.jsonl").encode()
    for cut, whole, rest in cuts(raw):
        if len(cut) % 5 and rest:
            continue
        found = read(cut)
        assert found.format == "claude_code"
        assert check(found.messages, "anthropic") == []
        is_whole = bool(rest) and rest == raw.splitlines()[whole]
        assert [skip.line for skip in found.skipped] == ([whole + 1] if rest and not is_whole else [])
        assert found.lines == whole + bool(rest)


@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\n\n\r\n", b" \t\n"])
def test_any_ends_of_lines_and_a_mark_in_front_make_no_difference(ends):
    raw = b"\xef\xbb\xbf" + ends.join(to_text(MESSAGES, "m.jsonl").encode().splitlines())
    assert read(raw, format="anthropic").messages == MESSAGES
    assert len(scan(raw, counter=O200K).ledger) == len(MESSAGES)


@pytest.mark.shared
@pytest.mark.parametrize("whole", [False, True])
def test_every_shared_session_written_out_and_read_again_is_equal(shared, whole):
    files = sorted(p for p in (shared / "data" / "transcripts").rglob("*") if p.is_file() and p.name != "manifest.csv")
    assert len(files) == 100
    for path in files:
        found = read(path, whole=whole)
        for name in ("list.json", "list.jsonl"):
            again = read(to_text(found.messages, name).encode(), format=found.provider)
            assert again.messages == found.messages, path
            assert (again.provider, again.repaired, again.skipped) == (found.provider, [], [])


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", LINES)
def test_what_is_let_go_and_read_again_is_what_is_held(name, whole, monkeypatch, tmp_path):
    path = tmp_path / "session"
    entries = [json.dumps(entry) for entry in LINES[name](6)]
    path.write_text("\n".join([*entries[:5], "cut", *entries[5:]]))
    want = read(path, whole=whole, format=name)
    monkeypatch.setattr("trimtab.formats._records.HELD", 0)
    assert read(path, whole=whole, format=name) == want
    assert len(want.skipped) == 1


@pytest.mark.shared
@pytest.mark.parametrize("whole", [False, True])
def test_every_shared_session_reads_the_same_with_its_lines_let_go(shared, whole, monkeypatch):
    files = sorted((shared / "data" / "transcripts").rglob("*.jsonl"))
    assert len(files) > 50
    for path in files:
        monkeypatch.setattr("trimtab.formats._records.HELD", 32 << 20)
        want = read(path, whole=whole)
        monkeypatch.setattr("trimtab.formats._records.HELD", 0)
        assert read(path, whole=whole) == want, path


def test_a_log_that_changes_while_it_is_read_is_told(monkeypatch, tmp_path):
    path = tmp_path / "session"
    path.write_text("\n".join(json.dumps(entry) for entry in LINES["claude_code"](6)))
    monkeypatch.setattr("trimtab.formats._records.HELD", 0)
    fill = FilePrompt.fill

    def emptied(*of):
        path.write_text("")
        fill(*of)

    monkeypatch.setattr(FilePrompt, "fill", emptied)
    with pytest.raises(trimtab.MessageError, match="changed while it was read"):
        read(path)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to measure memory")
def test_two_gigabytes_and_a_line_of_one_are_counted_in_half_a_gigabyte(tmp_path):
    """`make slow ARGS=tests/unit/formats/test_files.py`: prints what it measured."""
    # Lines of 2.5 KB, as in the shared sessions.
    found = transcript(" ".join(f"u:100 c{n} r{n}:900 a:200" for n in range(14)), provider="anthropic")
    lines = to_text(found, "m.jsonl").encode()
    block = lines * (1 + (8 << 20) // len(lines))
    small = "".join(f"{json.dumps(message)}\n" for message in SMALL).encode() * 12_000
    for name, part, blocks, line in (
        ("2 GB of messages", block, (2 << 30) // len(block), 0),
        ("2 GB of messages of 250 bytes", small, (2 << 30) // len(small), 0),
        ("with a line of 1 GB", block, 8, 1 << 30),
    ):
        path = tmp_path / "huge.jsonl"
        with path.open("wb") as file:
            for _ in range(blocks // 2):
                file.write(part)
            if line:
                file.write(b'{"role": "user", "content": "' + b"x" * line + b'"}\n')
            for _ in range(blocks - blocks // 2):
                file.write(part)
        told, most, notes = counted(path)
        again, of_pipe, same = counted(path, piped=True)
        assert (again, account(same)) == (told, account(notes))
        assert of_pipe < 500
        print(f"\nas a pipe: {of_pipe:,.0f} MB of memory", end="")
        print(f"\n{name}: {path.stat().st_size / 1e6:,.0f} MB, {told['messages']:,} messages, {most:,.0f} MB of memory")
        assert told["messages"] == blocks * part.count(b"\n")
        assert most < 500
        assert bool(line) == bool(re.search(r"skipped line \d+ \(byte \d+\): longer than 64 MiB", notes))
        path.unlink()


def log(name, turns):
    """The lines of turns of a session, each of which is as long as they are in practice."""
    for entry in LINES[name](turns):
        yield (
            re.sub(r"(ask|more|look|found) (\d+)", lambda at: f"{at[0]} {'and so on ' * 200}", json.dumps(entry)) + "\n"
        )


def renamed(line, name, part):
    """The line of another part of a session: its names are its own, and so is its beginning."""
    return re.sub(r'"([ue])(\d+)"', rf'"\g<1>{part}_\2"', line) if name in ("claude_code", "pi") else line


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to measure memory")
@pytest.mark.parametrize(("name", "size"), [*((name, 500) for name in COMPACTED), ("claude_code", 2_000)])
def test_a_large_log_takes_half_a_gigabyte_where_little_of_it_is_live(name, size, tmp_path):
    """make slow: a log of `size` MB, compacted after each 20 MB, as windows are; prints what it measured."""
    path = tmp_path / "log.jsonl"
    part = [*log(name, 3_000)]
    with path.open("w") as file:
        for number in range(size * 1_000_000 // sum(map(len, part))):
            file.writelines(renamed(line, name, number) for line in part)
            compacted = COMPACTED[name]
            if name == "pi":
                last = json.loads(renamed(part[-1], name, number))["id"]
                compacted = {**compacted, "id": f"c{number}", "parentId": last, "firstKeptEntryId": last}
            elif name == "claude_code":
                compacted = {**compacted, "uuid": f"c{number}"}
            file.write(json.dumps(compacted) + "\n")
        for line in log(name, 3):
            file.write(re.sub(r'"(parentUuid|parentId)": null', rf'"\1": "c{number}"', renamed(line, name, "last")))
    told, most, _ = counted(path)
    again, of_pipe, _ = counted(path, piped=True)
    assert again == told
    assert of_pipe < 500
    print(f"\nas a pipe: {of_pipe:,.0f} MB of memory", end="")
    print(f"\n{name}: {path.stat().st_size / 1e6:,.0f} MB, {told['messages']:,} messages, {most:,.0f} MB of memory")
    assert told["format"] == name
    assert 3 < told["messages"] < 20
    assert most < 500


def account(notes):
    """Return the notes about skipped lines."""
    return re.findall(r"skipped line .*", notes)


@pytest.mark.parametrize("is_list", [True, False])
def test_a_pipe_is_counted_as_the_file_is_and_its_lines_are_named_alike(is_list, tmp_path):
    path = tmp_path / "m.jsonl"
    lines = [json.dumps(message) for message in SMALL] if is_list else [json.dumps(e) for e in LINES["claude_code"](4)]
    block = "".join(f"{line}\n" for line in lines)
    path.write_text(block + "bad\n" + block * (1 + (33 << 20) // len(block) if is_list else 0) + '{"role": "us')
    told, _, notes = counted(path)
    again, most, same = counted(path, piped=True)
    assert (again, account(same)) == (told, account(notes))
    assert len(account(notes)) == 2
    assert most < 500


def test_a_file_that_is_open_is_read_as_its_path_is_and_stays_open(tmp_path, monkeypatch):
    path = tmp_path / "session"
    path.write_text("\n".join(json.dumps(entry) for entry in LINES["claude_code"](6)))
    want = read(path, whole=True)
    with path.open("rb") as file:
        file.readline()
        assert read(file, whole=True) == read(file, whole=True) == want
    monkeypatch.setattr("trimtab.formats._source.HELD", 100)
    with subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE) as cat:
        assert read(cat.stdout, whole=True) == want
    for wrong in (5, path.open(), bytearray(b"{}")):
        with pytest.raises(TypeError, match="need a path, bytes or a file open for bytes"):
            read(wrong)
        if hasattr(wrong, "close"):
            wrong.close()


@pytest.mark.parametrize("model", [GPT, CLAUDE, "claude-opus-4-1"])
def test_what_is_added_up_as_it_comes_is_what_a_ledger_says(model):
    counter = Counter.for_model(model)
    thought = {"role": "assistant", "content": [{"type": "thinking", "thinking": "well", "signature": "QUJD"}]}
    raw = "".join(f"{json.dumps(message)}\n" for message in [thought, *SMALL])
    for text in (to_text(MESSAGES, "m.json"), raw * 2, raw * 70_000):
        found, ledger = sums(text.encode(), counter=counter), scan(text.encode(), counter=counter).ledger
        assert (found.provider, found.messages) == (ledger.provider, len(ledger))
        by = np.zeros((len(Role), len(Kind)), dtype=np.uint64)
        np.add.at(by, (ledger.role[ledger.owner], ledger.kind), ledger.tokens)
        assert (found.tokens, found.framing) == (by.tolist(), ledger.total - int(by.sum()))
        each = counts(text.encode(), counter=counter)
        assert each.provider == ledger.provider
        np.testing.assert_array_equal(each.per_message, ledger.per_message, strict=True)
    assert len(ledger) == 350_000  # more than are held at once


def test_counts_name_what_they_leave_out_and_take_what_a_scan_takes(tmp_path):
    counter = Counter.for_model(CLAUDE)
    lines = [json.dumps(message).encode() for message in MESSAGES]
    raw = b"\n".join([*lines[:2], b"nonsense", *lines[2:], b'{"role": "\xff"}', b""])
    path = tmp_path / "m.jsonl"
    path.write_bytes(raw)
    want = scan(raw, counter=counter)
    for source in (raw, path, str(path), [raw[:50], raw[50:51], raw[51:]]):
        found = counts(source, counter=counter, provider="anthropic")
        np.testing.assert_array_equal(found.per_message, want.ledger.per_message, strict=True)
        assert (found.skipped, found.lost) == (want.skipped, 2)
    with pytest.raises(MessageError, match="it is empty"):
        counts(b"", counter=counter)
    with pytest.raises(MessageError, match="no messages in it"):
        counts(b"nonsense", counter=counter)
    with pytest.raises(ValueError, match="known are ledger, sums, counts"):
        _core.Reader(counter=counter, want="text")


def test_what_is_counted_large_is_what_is_counted_small(tmp_path):
    path = tmp_path / "m.jsonl"
    path.write_text(to_text(MESSAGES, path.name))
    told, _, _ = counted(path)
    assert told["tokens"] == scan(path, counter=Counter.for_model(GPT)).ledger.total
    assert trimtab.read(path).messages == MESSAGES
