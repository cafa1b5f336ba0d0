"""Reading: what is found in bytes, what is refused, and all the shared sessions."""

import hashlib
import json
import os
import time
from pathlib import Path

import pytest

from support.checker import check
from support.transcripts import transcript
from trimtab import MessageError, read
from trimtab.formats import FORMATS, LOGS

SHARED = Path(__file__).parents[3] / "shared" / "data" / "transcripts"
SESSIONS = sorted([*SHARED.glob("claude-code/**/*.jsonl"), *SHARED.glob("codex/**/*.jsonl")])
ASK, SAY = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}
shared = pytest.mark.skipif(not SESSIONS, reason="needs ../shared/data/transcripts")


def jsonl(*values):
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def turn(n, role, content):
    return {
        "uuid": f"u{n}",
        "parentUuid": f"u{n - 1}" if n else None,
        "type": role,
        "message": SAY | {"content": content},
    }


def places(transcript):
    return [(skip.line, skip.offset) for skip in transcript.skipped]


def test_a_path_as_str_or_path_and_bytes_read_alike(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(jsonl(ASK, SAY))
    assert read(path) == read(str(path)) == read(jsonl(ASK, SAY))
    assert read(path).messages == [ASK, SAY]
    assert read(path).lines == 2


def test_the_content_tells_the_format_and_the_name_does_not(tmp_path):
    session = [turn(0, "user", "hi"), turn(1, "assistant", "ho")]
    for name, values, expected in [
        ("codex.json", session, "claude_code"),
        ("claude.jsonl", [{"type": "response_item", "payload": {"type": "message", **ASK}}], "codex"),
        ("session.txt", [ASK, SAY], "openai_chat"),
    ]:
        path = tmp_path / name
        path.write_bytes(jsonl(*values))
        assert read(path).format == expected
    assert read(json.dumps(session, indent=2).encode()).format == "claude_code"


def test_an_unknown_format_is_told_the_known_ones():
    with pytest.raises(ValueError, match=", ".join(FORMATS)) as caught:
        read(jsonl(ASK), format="chatgpt")
    assert not isinstance(caught.value, MessageError)


@pytest.mark.parametrize("name", FORMATS)
def test_a_given_format_is_taken_or_refused_and_never_guessed(name):
    if name == "cline":  # a provider's messages, with fields beside that others have not
        assert read(jsonl(ASK, SAY), format=name).provider == "anthropic"
    elif name in LOGS:
        with pytest.raises(MessageError, match="no messages in it"):
            read(jsonl(ASK, SAY), format=name)
    elif name in ("bedrock", "gemini"):
        with pytest.raises(MessageError, match=r"expected a list of blocks|which no message of gemini has"):
            read(jsonl(ASK, SAY), format=name)
        assert read(json.dumps(transcript("u c1 r1 a", name)).encode(), format=name).provider == name
        assert read(json.dumps(transcript("u c1 r1 a", name)).encode()).provider == name
    else:
        assert read(jsonl(ASK, SAY), format=name).provider == name


def test_a_missing_file_a_directory_and_a_closed_file_are_message_errors_with_a_hint(tmp_path, monkeypatch):
    for source, what in [
        (tmp_path / "none.jsonl", "no such file"),
        (tmp_path, "a directory"),
        ("a\0b", "no such file"),
    ]:
        with pytest.raises(MessageError, match=what) as caught:
            read(source)
        assert caught.value.path == os.fspath(source)
        assert caught.value.hint
    monkeypatch.setattr("builtins.open", lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    with pytest.raises(MessageError, match=r"cannot be read \(Permission denied\)"):
        read(tmp_path / "closed")


def test_json_in_place_of_a_path_is_told_to_come_as_bytes():
    with pytest.raises(MessageError, match="pass bytes"):
        read(json.dumps([ASK] * 500))


@pytest.mark.parametrize(
    ("raw", "path", "index", "what"),
    [
        (b"", "", None, "empty"),
        (b" \r\n\n", "", None, "empty"),
        (b"[]", "", None, "an empty list"),
        (b"hello, world\n", "", None, "no JSON"),
        (b"42", "", None, "no JSON"),
        (b'{"messages": []}', "messages", None, "an empty list"),
        (b'[{"role": "user", "content": "a"}, 7]', "messages[1]", 1, "is a number"),
        (b'[{"text": "a"}]', "messages[0].role", 0, "is missing"),
        (b'[{"type": "session.start"}]', "messages[0].role", 0, "is missing"),
        (b'[{"type": "message", "content": "a"}]', "messages[0].role", 0, "is missing"),
        (b'{"input": [{"role": "user", "content": 3}]}', "input[0].content", 0, "is a number"),
        (b'[{"role": "user"}]', "messages[0].content", 0, "is missing"),
        (b'[{"role": "user", "content": ["a"]}]', "messages[0].content[0]", 0, "is a string"),
        (jsonl({"messages": [ASK]}, {"messages": [ASK]}), "", None, "2 requests"),
        (jsonl({"type": "summary", "parentUuid": None}), "", None, "no messages"),
        (jsonl({"role": "user", "content": " "}, {"model": "claude"}), "messages[1].role", 1, "is missing"),
    ],
)
def test_what_is_no_transcript_is_a_message_error_that_says_where(raw, path, index, what):
    with pytest.raises(MessageError, match=what) as caught:
        read(raw)
    assert (caught.value.path, caught.value.index) == (path, index)
    assert caught.value.hint


def test_a_byte_order_mark_crlf_and_blank_lines_are_no_trouble():
    raw = b"\xef\xbb\xbf" + jsonl(ASK) + b"\r\n  \n" + jsonl(SAY).replace(b"\n", b"\r\n")
    assert read(raw).messages == [ASK, SAY]
    assert not read(raw).skipped
    assert read(raw).lines == 2


def test_lines_that_do_not_parse_are_skipped_and_named_with_their_offset():
    good = jsonl(ASK)
    raw = b"// a comment\n" + good + b'{"role": "user", "content": "\xff"}\n' + b'"word"\n' + good + b'{"role": "us'
    found = read(raw)
    assert found.messages == [ASK, ASK]
    assert places(found) == [(1, 0), (3, 13 + len(good)), (4, raw.index(b'"word"')), (6, raw.rindex(b'{"role"'))]
    assert "UTF-8" in found.skipped[1].reason
    assert found.lines == 6
    assert not any("word" in skip.reason for skip in found.skipped)


def test_a_deeply_nested_line_is_skipped():
    assert read(b"[" * 200_000 + b"\n" + jsonl(ASK)).messages == [ASK]


def test_pretty_printed_json_is_read_whatever_it_stands_in():
    pretty = json.dumps(ASK, indent=2).encode()
    assert read(pretty + b"\n" + pretty + jsonl(SAY)).messages == [ASK, ASK, SAY]
    assert read(json.dumps([ASK, SAY], indent=4).encode().replace(b"\n", b"\r\n")).messages == [ASK, SAY]
    long = [{"role": "user", "content": "é" * 100}] * 3_000
    assert read(json.dumps(long, indent=1, ensure_ascii=False).encode()).messages == long


def test_several_values_on_a_line_are_read_and_the_rest_of_it_is_named():
    raw = json.dumps(ASK).encode() * 2 + b" oops\n" + jsonl(SAY)
    assert read(raw).messages == [ASK, ASK, SAY]
    assert places(read(raw)) == [(1, 0)]


def test_a_pretty_printed_list_that_is_cut_gives_its_whole_messages():
    block = {"role": "user", "content": [{"type": "text", "text": "b"}]}
    raw = json.dumps([ASK, SAY, block], indent=2).encode()[:-40]
    assert read(raw).messages == [ASK, SAY]
    assert places(read(raw)) == [(10, raw.index(b"  {", raw.index(b"ho")))]


def test_lone_surrogates_survive():
    raw = b'[{"role": "user", "content": "a\\ud800b"}]'
    assert read(raw).messages == [{"role": "user", "content": "a\ud800b"}]
    assert json.loads(json.dumps(read(raw).messages)) == json.loads(raw)


def test_many_broken_lines_take_linear_time():
    start = time.process_time()  # quadratic would be minutes, on any machine under any load
    for bad in (b'{"a": [1,\n', b'{"a": 1]\n', b"}\n"):
        assert len(read(jsonl(ASK) + bad * 3_000 + jsonl(SAY)).skipped) == 3_000
    assert time.process_time() - start < 10


def test_reading_changes_no_byte(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(turn(0, "user", "hi"), turn(1, "assistant", [{"type": "tool_use", "id": "a", "input": {}}])))
    before = path.read_bytes(), path.stat().st_mtime_ns
    read(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


@shared
@pytest.mark.shared
@pytest.mark.parametrize("whole", [False, True])
def test_every_shared_session_can_be_sent_as_it_is_read(whole):
    for path in SESSIONS:
        raw = path.read_bytes()
        digest = hashlib.sha256(raw).digest()
        found = read(path, whole=whole)
        assert hashlib.sha256(path.read_bytes()).digest() == digest
        assert found.format == ("codex" if path.is_relative_to(SHARED / "codex") else "claude_code"), path
        assert check(found.messages, found.provider) == [], path
        assert found.model
        lines = raw.split(b"\n")
        bad = [i for i, line in enumerate(lines, 1) if line.strip() and not line.startswith(b"{")]
        assert [skip.line for skip in found.skipped] == bad, path
        assert [skip.offset for skip in found.skipped] == [sum(len(x) + 1 for x in lines[: i - 1]) for i in bad]
        assert found.lines == sum(bool(line.strip()) for line in lines)


@shared
@pytest.mark.shared
def test_the_usage_of_every_shared_session_belongs_to_what_follows_its_prompt():
    for path in SESSIONS:
        found = read(path)
        before = [charged.before for charged in found.usage]
        assert before == sorted(set(before)), path
        for charged in found.usage:
            assert charged.prompt > 0
            if found.format == "codex":
                wrote = found.messages[charged.before]
                assert wrote["type"] == "reasoning" or wrote.get("role") == "assistant" or "_call" in wrote["type"]
            else:
                assert found.messages[charged.before - 1]["role"] == "user"
