"""Files as they come: cut anywhere, huge, in pieces; and every shared session written out and read again."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import trimtab
from checker import check
from transcripts import transcript
from trimtab import Counter
from trimtab.cli._files import to_text
from trimtab.formats import read, scan

O200K = Counter("o200k_base")
MESSAGES = transcript(" ".join(f"u:20 c{n} r{n}:60 a:40" for n in range(14)), provider="anthropic")
TAIL = 4_096


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


COUNTED = """import re, sys
from trimtab.cli import main
code = main(sys.argv[1:])
with open("/proc/self/status") as file: print(re.search(r"VmHWM:\\s+(\\d+)", file.read())[1], file=sys.stderr)
sys.exit(code)"""


def counted(path):
    """What `trimtab count` says of a file, and the most memory that it took, in MB."""
    command = [sys.executable, "-c", COUNTED, "count", str(path), "--json", "--model", "gpt-5.5"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), int(done.stderr.split()[-1]) / 1_024, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to measure memory")
def test_two_gigabytes_and_a_line_of_one_are_counted_in_half_a_gigabyte(tmp_path):
    """`make huge`: prints what it measured."""
    # Lines of 2.5 KB, as in the shared sessions: a ledger has about 90 bytes a message, whatever its length.
    found = transcript(" ".join(f"u:100 c{n} r{n}:900 a:200" for n in range(14)), provider="anthropic")
    lines = to_text(found, "m.jsonl").encode()
    block = lines * (1 + (8 << 20) // len(lines))
    for name, blocks, line in (("2 GB of messages", (2 << 30) // len(block), 0), ("with a line of 1 GB", 8, 1 << 30)):
        path = tmp_path / "huge.jsonl"
        with path.open("wb") as file:
            for _ in range(blocks // 2):
                file.write(block)
            if line:
                file.write(b'{"role": "user", "content": "' + b"x" * line + b'"}\n')
            for _ in range(blocks - blocks // 2):
                file.write(block)
        told, most, notes = counted(path)
        print(f"\n{name}: {path.stat().st_size / 1e6:,.0f} MB, {told['messages']:,} messages, {most:,.0f} MB of memory")
        assert told["messages"] == blocks * block.count(b"\n")
        assert most < 500
        assert bool(line) == bool(re.search(r"skipped line \d+ \(byte \d+\): longer than 64 MiB", notes))
        path.unlink()


def test_what_is_counted_large_is_what_is_counted_small(tmp_path):
    path = tmp_path / "m.jsonl"
    path.write_text(to_text(MESSAGES, path.name))
    told, _, _ = counted(path)
    assert told["tokens"] == scan(path, counter=Counter.for_model("gpt-5.5")).ledger.total
    assert trimtab.read(path).messages == MESSAGES
