"""Lines that harnesses damage: NUL bytes, unescaped line breaks, torn records with the next one glued to them."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

from oracles.damage import healed
from support.format_cases import LINES
from support.transcripts import transcript
from trimtab import Counter, MessageError, read
from trimtab.formats import counts, scan, sums
from trimtab.messages import Skipped

O200K = Counter("o200k_base")
NULS, NULS_BEFORE = "NUL bytes", "NUL bytes in front of a record"
UNESCAPED = "a line break or control character in a string, which JSON escapes: read as it stands"


def event(kind, **data):
    return json.dumps({"type": kind, "data": data})


ASK, LOOK = event("user.message", content="hello there"), event("assistant.message", content="hi", toolRequests=[])
MORE, DONE = event("user.message", content="go on\nnow"), event("assistant.message", content="done", toolRequests=[])
TEXTS = ["hello there", "hi", "go on\nnow", "done"]


def texts(raw):
    found = read(raw.encode())
    assert found.format == "copilot_cli"
    return [message["content"] for message in found.messages], found.skipped


def entries(name, count=4):
    return [json.dumps(entry) for entry in LINES[name](count)]


def prompt(raw, name):
    return read(raw.encode(), format=name, repair=False)


@pytest.mark.parametrize("at", range(4))
def test_nul_bytes_in_front_of_a_record_lose_nothing_of_it(at):
    lines = [ASK, LOOK, MORE, DONE]
    offset = sum(len(line) + 1 for line in lines[:at])
    lines[at] = "\0" * 512 + lines[at]
    assert texts("\n".join(lines)) == (TEXTS, [Skipped(at + 1, offset, f"{NULS_BEFORE} (byte {offset})", is_read=True)])


def test_nul_bytes_alone_and_behind_a_record_are_named_and_lose_nothing():
    assert texts(f"{ASK}\n\0\0\0\n{LOOK}\0\0\n{MORE}\n{DONE}\n\0") == (
        TEXTS,
        [
            Skipped(2, len(ASK) + 1, NULS),
            Skipped(3, len(ASK) + 5, NULS),
            Skipped(6, len(f"{ASK}{LOOK}{MORE}{DONE}") + 10, NULS),
        ],
    )


@pytest.mark.parametrize(
    ("break_", "text"), [("\n", "\n"), ("\r\n", "\r\n"), ("\t", "\t"), ("\x1b", "\x1b"), ("\0", "\0")]
)
def test_a_raw_line_break_in_a_string_is_read_as_a_line_break(break_, text):
    raw = MORE.replace("\\n", break_)
    offset = len(ASK) + len(LOOK) + 2
    for end in ("\n", ""):
        assert texts(f"{ASK}\n{LOOK}\n{raw}{end}")[0] == [*TEXTS[:2], f"go on{text}now"]
    found, skipped = texts(f"{ASK}\n{LOOK}\n{raw}\n{DONE}\n")
    assert found == [*TEXTS[:2], f"go on{text}now", "done"]
    assert skipped == [Skipped(3, offset, f"{UNESCAPED} (byte {offset})", is_read=True)]


def test_a_text_of_many_raw_lines_is_one_record_and_the_next_line_has_its_own_number():
    long = event("user.message", content="\n".join(f'{n} "{n}": {{' for n in range(3_000))).replace("\\n", "\n")
    found, skipped = texts(f"{ASK}\n{long}\nnonsense\n{DONE}\n")
    assert [len(text) for text in found] == [11, len(json.loads(long, strict=False)["data"]["content"]), 4]
    assert [(skip.line, skip.is_read) for skip in skipped] == [(2, True), (3_002, False)]


@pytest.mark.parametrize("cut", range(1, len(LOOK)))
@pytest.mark.parametrize("between", ["", "\0\0\0", "\n"])
def test_a_record_behind_one_that_is_torn_at_any_byte_is_read(cut, between):
    found, skipped = texts(f"{ASK}\n{LOOK[:cut]}{between}{MORE}\n{DONE}\n")
    assert found == ["hello there", "go on\nnow", "done"]
    assert (skipped[0].line, skipped[0].is_read) == (2, False)


def test_a_record_behind_two_torn_ones_is_read():
    assert texts(f"{ASK}\n{LOOK[:30]}{LOOK[:50]}{MORE}\n{DONE}\n")[0] == ["hello there", "go on\nnow", "done"]
    assert texts(f"{ASK}\n{LOOK[:30]}{MORE}{DONE}\n")[0] == ["hello there", "go on\nnow", "done"]


def test_what_is_inside_a_torn_record_is_no_record():
    whole = event("assistant.message", content="", toolRequests=[{"toolCallId": "a", "name": "f", "arguments": {}}])
    for cut in range(1, len(whole)):
        found, skipped = texts(f"{ASK}\n{whole[:cut]}\n{MORE}\n{DONE}\n")
        assert found == ["hello there", "go on\nnow", "done"]
        assert [(skip.line, skip.is_read) for skip in skipped] == [(2, False)]


@pytest.mark.parametrize("name", LINES)
def test_every_line_format_has_the_same_recovery(name):
    lines = entries(name)
    want = prompt("\n".join(lines), name).messages
    at = len(lines) // 2
    for damaged in (
        [*lines[:at], "\0" * 9 + lines[at], *lines[at + 1 :]],
        [*lines[:at], "\0" * 9, *lines[at:]],
        [*lines[:at], lines[at] + lines[at + 1], *lines[at + 2 :]],
        [*lines[:at], lines[at][:20] + lines[at], *lines[at + 1 :]],
        [*lines[:at], lines[at][:20], *lines[at:]],
    ):
        assert prompt("\n".join(damaged), name).messages == want


@pytest.mark.parametrize("name", LINES)
def test_a_raw_line_break_costs_no_line_format_a_record(name):
    lines = [line.replace("ask", "ask\\n") for line in entries(name)]
    want = prompt("\n".join(lines), name).messages
    found = prompt("\n".join(lines).replace("ask\\n", "ask\n"), name)
    assert found.messages == want
    assert found.skipped
    assert all(skip.is_read for skip in found.skipped)


def test_an_entry_of_a_list_keeps_its_raw_line_breaks_beside_a_broken_one():
    raw = '[{"role": "user", "content": "a\nb"}, {"role": "user", "content": no}, {"role": "user", "content": "c\td"}]'
    found = read(raw.encode())
    assert [message["content"] for message in found.messages] == ["a\nb", "c\td"]
    assert [(skip.line, skip.is_read) for skip in found.skipped] == [(1, True), (2, False), (2, True)]
    session = json.dumps({"schema_version": "ATIF-v1.8", "steps": [{"source": "user", "message": "a@b"}]}).replace(
        "@", "\n"
    )
    assert read(session.encode()).messages == [{"role": "user", "content": "a\nb"}]


DAMAGES = {
    "nuls in front": lambda line, after: f"\0\0{line}\n{after}\n",
    "nuls alone": lambda line, after: f"\0\0\n{line}\n{after}\n",
    "raw line break": lambda line, after: line.replace("\\n", "\n") + f"\n{after}\n",
    "glued": lambda line, after: f"{line}{after}\n",
    "torn and glued": lambda line, after: f"{line[:25]}{after}\n",
    "torn": lambda line, after: f"{line[:25]}\n{after}\n",
}


@pytest.mark.parametrize("provider", ["anthropic", "openai_chat", "openai_responses", "bedrock", "gemini"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_messages_are_counted_in_rust_as_they_are_read(provider, damage):
    messages = transcript("u:20 c1 r1:30 a:20 u:9 c2 r2:60 a:9", provider)
    lines = [json.dumps(message).replace(" the ", " the\\n") for message in messages]
    raw = "".join(
        [*(f"{line}\n" for line in lines[:2]), damage(lines[2], lines[3]), *(f"{line}\n" for line in lines[4:])]
    )
    raw = raw.encode()
    found, want = scan(raw, counter=O200K, provider=provider), read(raw, format=provider, repair=False)
    assert len(found.ledger) == len(want.messages) >= len(messages) - 1
    places = [(skip.line, skip.offset, skip.is_read) for skip in found.skipped]
    assert places == [(skip.line, skip.offset, skip.is_read) for skip in want.skipped]
    assert found.lost == sum(not skip.is_read for skip in want.skipped)
    again = json.dumps(want.messages).encode()
    np.testing.assert_array_equal(found.ledger.tokens, scan(again, counter=O200K, provider=provider).ledger.tokens)
    for at in range(0, len(raw), 7):
        assert counts([raw[:at], raw[at:]], counter=O200K, provider=provider).skipped == found.skipped
    assert sums(raw, counter=O200K, provider=provider).messages == len(found.ledger)


def test_what_is_recovered_is_what_the_slow_version_recovers():
    rng = np.random.default_rng(7)
    lines = [ASK, LOOK, MORE, DONE, MORE.replace("\\n", "\n")]
    for _ in range(400):
        parts = []
        for n in rng.integers(0, len(lines), 6):
            line, cut = lines[n], int(rng.integers(1, 60))
            parts.append([line, "\0\0" + line, line[:cut], "\0" * cut][int(rng.integers(0, 4))])
            parts.append(["\n", "\n", "\0", ""][int(rng.integers(0, 4))])
        raw = "".join(parts) + "\n" + ASK + "\n"
        assert texts(raw)[0] == [value["data"]["content"] for value in healed(raw)], repr(raw)


def test_a_damaged_file_takes_linear_time():
    start = time.process_time()
    for bad in (
        LOOK[:60] + "\n",
        "\0" * 100 + "\n",
        MORE.replace("\\n", "\n") + "\n",
        LOOK[:60] + ASK + "\n",
        '{"a":["',
    ):
        assert len(read((f"{ASK}\n" + bad * 3_000 + f"\n{DONE}\n").encode()).messages) > 1
    assert time.process_time() - start < 10


HEAD = json.dumps({"type": "session", "id": "s", "cwd": "/"})


@pytest.mark.parametrize(
    ("raw", "what", "hint"),
    [
        (b"", "it is empty", "need a session file"),
        (b"\n \n", "it is empty", "need a session file"),
        (bytes(4_096), "no JSON in it: NUL bytes alone", "look for a backup"),
        (ASK[:20].encode(), "no JSON in it; line 1 (byte 0): cut off by the end of the file", "need a session file"),
        (b"\x89PNG\r\n\x1a\n" + bytes(90), "no JSON in it: a picture", "name a session file"),
        (b"\x1f\x8b\x08\0\0" + bytes(range(90)), "no JSON in it: a gzip file", "decompress it first"),
        (b"SQLite format 3\0" + bytes(90), "no JSON in it: a SQLite database", "--archive"),
        (bytes(range(256)) * 9, "no JSON in it: binary data", "need a session file"),
        (ASK.encode("utf-16"), "no JSON in it: UTF-16 text", "convert it to UTF-8"),
        (ASK.encode("utf-16-le"), "no JSON in it: UTF-16 text", "convert it to UTF-8"),
        (b"<html><body>no</body></html>", "no JSON in it: HTML or XML", "as the agent wrote it"),
        (b"some text\n", "no JSON in it: plain text; line 1 (byte 0): not JSON (expected a value)", "need a session"),
        (b"3\n", "no JSON in it; line 1 (byte 0): a bare value, no object", "need a session file"),
        (b"[]", "an empty list", "need at least one message"),
        (HEAD.encode(), "no messages in it, as pi", "lines that are never sent"),
        (b'{"a": 1}\n', "messages[0].role: is missing or no string", "give each message a role"),
    ],
)
def test_the_error_of_a_file_without_messages_names_the_file_and_the_cause(raw, what, hint, tmp_path):
    path = tmp_path / "session.jsonl"
    path.write_bytes(raw)
    with pytest.raises(MessageError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: {what}")
    assert hint in caught.value.hint
    assert caught.value.file == str(path)
    with path.open("rb") as file, pytest.raises(MessageError) as caught:
        read(file)
    assert str(caught.value).startswith(f"{path}: {what}")
    for function in (counts, sums, scan):
        with pytest.raises(MessageError) as caught:
            function(path, counter=O200K)
        assert str(caught.value).startswith(f"{path}: ")
    with pytest.raises(MessageError) as caught:
        read(raw)
    assert str(caught.value).startswith(what)


def test_an_error_of_a_message_names_the_file_and_keeps_the_place(tmp_path):
    path = tmp_path / "m.jsonl"
    path.write_text('{"role": "user", "content": "a"}\n{"role": "user", "content": 3}\n')
    for function in (read, lambda path: counts(path, counter=O200K)):
        with pytest.raises(MessageError, match="m.jsonl: messages") as caught:
            function(path)
        assert (caught.value.path, caught.value.index) == ("messages[1].content", 1)


def test_rust_reads_of_any_damaged_lines_what_python_reads():
    def line(role, text):
        return json.dumps({"role": role, "content": text})

    whole = [line("user", "hello there"), line("assistant", "hi é"), line("user", "go on\nnow")]
    whole.append(line("user", "a\nb").replace("\\n", "\n"))
    rng = np.random.default_rng(11)
    for _ in range(400):
        parts = []
        for n in rng.integers(0, len(whole), 6):
            one, cut = whole[n], int(rng.integers(1, 45))
            parts.append([one, "\0\0" + one, one[:cut], "\0" * cut, "noise"][int(rng.integers(0, 5))])
            parts.append(["\n", "\n", "\0", "", " \n"][int(rng.integers(0, 5))])
        raw = ("".join(parts) + "\n" + whole[0] + "\n").encode()
        want, found = read(raw, format="openai_chat", repair=False), scan(raw, counter=O200K, provider="openai_chat")
        assert len(found.ledger) == len(want.messages), raw
        places = [(skip.line, skip.offset, skip.is_read) for skip in found.skipped]
        assert places == [(skip.line, skip.offset, skip.is_read) for skip in want.skipped], raw
