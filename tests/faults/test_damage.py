"""Damaged files of every format: truncated, other line ends, bytes that are no text, several values a line."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest

from support.checker import check
from support.format_cases import LINES, WHOLES
from support.models import GPT_SPLIT
from trimtab import MessageError, read
from trimtab.cli import main
from trimtab.formats import LOGS

TAIL = 4_096
KEYS = {"atif": "steps", "swe_agent": "history", "mini_swe_agent": "messages", "request": "messages"}
OBJECTS = {
    **WHOLES,
    "request": lambda n: {"model": GPT_SPLIT, "messages": [*LINES["openai_chat"](n)]},
    "opencode": lambda n: {"info": {"id": "s"}, "messages": [*LINES["opencode"](n)]},
    "gemini_cli": lambda n: {"sessionId": "s", "projectHash": "p", "messages": [*LINES["gemini_cli"](n)][1:]},
    "openhands": lambda n: {"trajectory": [*LINES["openhands"](n)]},
}
"""Sessions of n turns in one object."""
KEYS |= {"opencode": "messages", "gemini_cli": "messages", "openhands": "trajectory"}


def size(make):
    """The number of turns that make a file of some more than the tail."""
    return next(n for n in range(4, 200) if len(json.dumps(make(n))) > TAIL)


def lines(name, turns=0):
    make = lambda n: [*LINES[name](n)]  # noqa: E731
    return [json.dumps(entry).encode() + b"\n" for entry in make(turns or size(make))]


def messages(raw, name):
    """Return the messages of a file; an empty list if it cannot be read."""
    try:
        return read(raw, format=name if name in LINES or name in WHOLES else None, repair=False).messages
    except MessageError:
        return []


def found(raw, name=None):
    """The messages, and the places of what was skipped; of a refusal what it says."""
    try:
        got = read(raw, format=name, repair=False)
    except MessageError as error:
        return [], [(int(line), int(at)) for line, at in re.findall(r"line (\d+) \(byte (\d+)\)", str(error))]
    return got.messages, [(skip.line, skip.offset) for skip in got.skipped]


@pytest.mark.parametrize("name", LINES)
def test_a_log_truncated_at_any_byte_gives_its_whole_lines_and_reports_the_cut_one(name):
    entries = lines(name)
    raw = b"".join(entries)
    ends = [sum(map(len, entries[: k + 1])) for k in range(len(entries))]
    want = cache(lambda k: messages(b"".join(entries[:k]), name))
    for at in range(max(1, len(raw) - TAIL), len(raw) + 1):
        k = sum(end - 1 <= at for end in ends)  # a line is whole without its end
        start = ends[k - 1] if k else 0
        cut = [(k + 1, start)] if at > start else []
        assert found(raw[:at], name) == (want(k), cut), at
        if at % 97 == 0 and name in LOGS and k > 3:
            assert read(raw[:at]).format == name
            assert check(read(raw[:at]).messages, read(raw).provider) == []


def parts(name, indent):
    """A session in one object as bytes, and where each of its entries begins and ends."""
    whole = OBJECTS[name](size(OBJECTS[name]))
    raw = json.dumps(whole, indent=indent).encode()
    places, at = [], raw.index(f'"{KEYS[name]}":'.encode())
    for entry in whole[KEYS[name]]:
        text = json.dumps(entry, indent=indent).replace("\n", "\n" + " " * 2 * (indent or 0)).encode()
        at = raw.index(text, at)
        places.append((at, at + len(text)))
        at += len(text)
    return whole, raw, places


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_truncated_at_any_byte_gives_its_whole_entries_and_reports_the_cut_one(name, indent):
    whole, raw, places = parts(name, indent)
    key = KEYS[name]
    want = cache(lambda k: messages(json.dumps({**whole, key: whole[key][:k]}).encode(), name))
    # Printed over many lines the tail holds few entries: it is sampled, the compact one is not.
    for at in range(len(raw) - TAIL, len(raw), 5 if indent else 1):
        k = sum(end <= at for _, end in places)
        if not want(k):
            assert found(raw[:at])[1] == [(1, 0)]
            continue
        got = read(raw[:at], repair=False)
        assert got.messages == want(k), at
        (skip,) = got.skipped
        begins = places[k][0] if k < len(places) and places[k][0] < at else None
        if begins is not None:
            assert skip.line == raw.count(b"\n", 0, begins) + 1
            assert skip.offset == raw.rfind(b"\n", 0, begins) + 1
            assert skip.reason == f"{key}[{k}]: cut off by the end of the file (byte {begins})"
        else:
            assert "cut off by the end of the file" in skip.reason
        if at % 97 == 0:
            assert check(read(raw[:at]).messages, read(raw).provider) == []


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", LINES)
def test_a_list_truncated_anywhere_gives_its_whole_entries(name, indent):
    entries = [json.loads(line) for line in lines(name)]
    raw = json.dumps(entries, indent=indent).encode()
    for k in range(len(entries) // 2, len(entries)):
        head = json.dumps(entries[:k], indent=indent).encode().removesuffix(b"]").rstrip()
        start = raw.index(b"{", len(head))
        for at in (len(head), start + 1, start + 13, start + len(json.dumps(entries[k])) - 1):
            got = read(raw[:at], format=name, repair=False)
            assert got.messages == messages(b"".join(lines(name)[:k]), name), at
            assert ["cut off" in skip.reason for skip in got.skipped] == [True]
            assert got.skipped[0].line == raw.count(b"\n", 0, min(at, start)) + 1


@pytest.mark.parametrize("name", LINES)
def test_byte_order_mark_line_ends_and_concatenated_values_make_no_difference(name):
    entries = lines(name, 5)
    want = read(b"".join(entries), format=name)
    for ends in (b"\r\n", b"\n\n \r\n", b"", b" ", b", "):
        raw = b"\xef\xbb\xbf" + ends.join(line.strip() for line in entries)
        got = read(raw, format=name)
        assert (got.messages, got.skipped, got.left_out) == (want.messages, [], want.left_out)


@pytest.mark.parametrize("bad", [b'"\xff"', b'"a\\x"', b"nothing", b'"a": 1'])
@pytest.mark.parametrize("name", LINES)
def test_an_invalid_line_is_reported_and_loses_no_other(name, bad):
    entries = lines(name, 5)
    at = len(entries) // 2
    raw = b"".join([*entries[:at], b'{"x": ' + bad + b"}\n", *entries[at:]])
    assert found(raw, name) == (messages(b"".join(entries), name), [(at + 1, sum(map(len, entries[:at])))])


@pytest.mark.parametrize("bad", [b'"\xff"', b'"a\\x"', b"nothing", b'"a": 1'])
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", OBJECTS)
def test_an_invalid_entry_is_reported_and_loses_no_other(name, indent, bad):
    whole, raw, places = parts(name, indent)
    begin, _ = places[7]
    spoilt = raw[: begin + 1] + b'"x": ' + bad + b", " + raw[begin + 1 :]
    rest = [*whole[KEYS[name]][:7], *whole[KEYS[name]][8:]]
    got = read(spoilt, repair=False)
    assert got.messages == read(json.dumps({**whole, KEYS[name]: rest}).encode(), repair=False).messages
    line, start = raw.count(b"\n", 0, begin) + 1, raw.rfind(b"\n", 0, begin) + 1
    assert [(skip.line, skip.offset) for skip in got.skipped] == [(line, start)]
    assert got.skipped[0].reason.startswith(f"{KEYS[name]}[7]: not ")


@pytest.mark.parametrize("name", OBJECTS)
def test_two_sessions_in_one_file_are_rejected_with_the_position_of_each(name):
    raw = json.dumps(OBJECTS[name](3), indent=1).encode()
    second = raw.count(b"\n") + 2
    if name in ("gemini_cli", "openhands"):  # their files go on in further objects
        assert read(raw + b"\n" + raw).messages
        return
    with pytest.raises(
        MessageError, match=rf"2 .* in one file, from line 1 \(byte 0\), line {second} \(byte {len(raw) + 1}\)"
    ):
        read(raw + b"\n" + raw)


def test_a_file_that_ends_before_its_messages_is_read():
    cut = json.dumps({"environment": "main", "trajectory": [{"query": [{"role": "user"}]}] * 9, "history": []}).encode()
    with pytest.raises(MessageError, match=r"as swe_agent; line 1 \(byte 0\): trajectory\[8\]: cut off") as caught:
        read(cut[: cut.index(b'"history"') - 8])
    assert caught.value.hint
    with pytest.raises(MessageError, match=r"no JSON in it; line 2 \(byte 1\): cut off by the end of the file"):
        read(b'\n{"schema_version": "ATIF-v1.8", "steps": [{"source": "us')


@pytest.mark.parametrize("verb", ["count", "plan", "validate", "compact"])
@pytest.mark.parametrize("name", [*LINES, *WHOLES])
def test_a_command_reports_what_was_lost_in_a_damaged_file(name, verb, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path))
    raw = b"".join(lines(name, 5)) if name in LINES else json.dumps(OBJECTS[name](5), indent=2).encode()
    path = tmp_path / "session"
    path.write_bytes(raw[: len(raw) - (40 if name in LINES else 300)])
    (skip,) = read(path, format=name).skipped
    code = main([verb, str(path), "--format", name])
    told = capsys.readouterr()
    assert code == 0 or (verb == "validate" and name not in LOGS and code == 1), told.err
    assert f"skipped line {skip.line} (byte {skip.offset}): {skip.reason}" in told.err
    assert told.out
