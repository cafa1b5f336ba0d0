"""pi sessions, entry by entry."""

import json
import time

from support.checker import check
from trimtab import read
from trimtab.messages import Charged

HEAD = {"type": "session", "version": 3, "id": "s", "timestamp": "t", "cwd": "/"}


def entry(kind, key, parent, **more):
    return {"type": kind, "id": key, "parentId": parent, "timestamp": "t", **more}


def said(key, parent, role, content=None, **more):
    return entry("message", key, parent, message={"role": role, "content": content, **more})


def answer(key, parent, *parts, prompt=0, **more):
    usage = {"input": prompt - 3, "output": 5, "cacheRead": 2, "cacheWrite": 1, "totalTokens": prompt + 5}
    return said(key, parent, "assistant", list(parts), model="m-2", usage=usage if prompt else {}, **more)


def text(words):
    return {"type": "text", "text": words}


def call(ref):
    return {"type": "toolCall", "id": ref, "name": "read", "arguments": {"path": ref}}


def result(key, parent, ref, *parts):
    return said(key, parent, "toolResult", list(parts), toolCallId=ref, toolName="read", isError=False)


def session(*entries, whole=False, head=HEAD):
    found = read("\n".join(json.dumps(line) for line in (head, *entries)).encode(), whole=whole)
    assert check(found.messages, "openai_chat") == []
    assert found.format == "pi"
    return found


def words(found):
    return [m["content"] for m in found.messages]


GO = said("b", "a", "user", "go")


def test_the_entries_on_the_way_to_the_last_are_the_prompt():
    found = session(
        entry("model_change", "a", None, provider="p", modelId="m-1"),
        GO,
        answer("c", "b", {"type": "thinking", "thinking": "hm"}, text("I look"), call("x"), call("y"), prompt=100),
        result("d", "c", "x", text("X")),
        result("e", "d", "y", text("Y"), {"type": "image", "data": "aaaa", "mimeType": "image/png"}),
        entry("label", "f", "e", targetId="b", label="here"),
        answer("g", "f", text("done"), prompt=130),
        entry("thinking_level_change", "h", "g", thinkingLevel="high"),
    )
    assert [m["role"] for m in found.messages] == ["user", "assistant", "tool", "tool", "user", "assistant"]
    answered = found.messages[1]
    assert (answered["content"], answered["reasoning_content"]) == ("I look", "hm")
    assert answered["tool_calls"][0]["function"] == {"name": "read", "arguments": '{"path": "x"}'}
    assert [m["content"] for m in found.messages[2:4]] == ["X", "Y"]
    assert found.usage == [Charged(1, 100, 5), Charged(5, 130, 5)]
    assert (found.model, found.skipped, found.repaired, found.lines) == ("m-2", [], [], 9)


def test_a_branch_that_was_left_is_its_summary():
    left = [answer("c", "b", text("wrong")), said("d", "c", "user", "no")]
    back = entry("branch_summary", "e", "b", fromId="d", summary="tried")
    found = session(entry("model_change", "a", None, modelId="m-1"), GO, *left, back, said("f", "e", "user", "so"))
    assert words(found)[0::2] == ["go", "so"]
    assert "tried" in words(found)[1]
    assert found.model == "m-1"


def test_commands_of_the_user_and_messages_of_extensions_are_told_by_the_user():
    found = session(
        GO,
        said("c", "b", "bashExecution", command="ls", output="file", exitCode=2),
        said("d", "c", "bashExecution", command="secret", output="x", excludeFromContext=True),
        entry("custom_message", "e", "d", customType="x", content=[text("note")], display=True),
        entry("custom", "f", "e", customType="x", data={}),
        said("g", "f", "custom", "more"),
    )
    assert words(found) == ["go", "$ ls\nfile\nexit code 2", "note", "more"]


def test_answers_that_failed_are_left_out():
    found = session(GO, answer("c", "b", text("half"), stopReason="aborted"), said("d", "c", "user", "again"))
    assert words(found) == ["go", "again"]


COMPACTED = [
    GO,
    answer("c", "b", text("one"), prompt=100),
    said("d", "c", "user", "on"),
    answer("e", "d", text("two"), prompt=120),
    entry("compaction", "f", "e", summary="short", firstKeptEntryId="d", tokensBefore=125),
    said("g", "f", "user", "further"),
    answer("h", "g", text("three"), prompt=60),
]


def test_a_compaction_leaves_its_summary_and_what_it_kept():
    found = session(*COMPACTED)
    assert "short" in words(found)[0]
    assert words(found)[1:] == ["on", "two", "further", "three"]
    assert found.usage == [Charged(4, 60, 5)]


def test_the_whole_session_has_the_summary_where_it_was_made():
    found = session(*COMPACTED, whole=True)
    assert [w for w in words(found) if len(w) < 9] == ["go", "one", "on", "two", "further", "three"]
    assert "short" in words(found)[4]
    assert found.compactions == [4]
    assert found.usage == [Charged(1, 100, 5), Charged(3, 120, 5)]


def test_the_first_version_has_no_ids_and_counts_lines():
    plain = [{name: value for name, value in e.items() if name not in ("id", "parentId")} for e in COMPACTED]
    plain[4] = {"type": "compaction", "summary": "short", "firstKeptEntryIndex": 3}
    head = {"type": "session", "id": "s", "timestamp": "t", "cwd": "/"}
    assert words(session(*plain, head=head))[1:] == ["on", "two", "further", "three"]


def test_what_is_no_entry_is_named():
    found = session(GO, {"note": 1}, entry("message", "c", "b", message="x"), said("d", "b", "user", "on"))
    assert [(skip.line, skip.reason) for skip in found.skipped] == [(3, "no entry"), (4, "no message in it")]
    assert words(found) == ["go", "on"]


def test_a_circle_and_a_missing_parent_end_the_way():
    assert words(session(said("b", "c", "user", "go"), said("c", "b", "user", "on"))) == ["go", "on"]
    assert words(session(said("c", "gone", "user", "on"))) == ["on"]


def test_an_entry_that_follows_one_never_written_goes_on_with_the_nearest_earlier_entry():
    kept = [said("a", None, "user", "go"), answer("b", "a", text("on it")), said("c", "b", "user", "and?")]
    found = session(*kept, answer("e", "d", text("more")), said("f", "e", "user", "last"))
    assert words(found) == ["go", "on it", "and?", "more", "last"]
    found = session(*kept, answer("e", "d", text("more")), said("g", "lost", "user", "last"))
    assert words(found) == ["go", "on it", "and?", "more", "last"]
    loop = session(said("x", "z", "user", "one"), answer("y", "x", text("two")), said("z", "y", "user", "three"))
    assert words(loop) == ["one", "two", "three"]


def test_a_compaction_whose_first_kept_entry_was_never_written_keeps_those_behind_it():
    found = session(
        said("a", None, "user", "go"),
        answer("b", "a", text("on it")),
        answer("d", "c", text("kept")),
        entry("compaction", "e", "d", summary="so far", firstKeptEntryId="c", tokensBefore=9),
        said("f", "e", "user", "last"),
    )
    assert [message["content"] for message in found.messages][1:] == ["kept", "last"]
    assert "so far" in found.messages[0]["content"]


def test_many_entries_whose_parents_were_never_written_take_linear_time():
    start = time.process_time()
    lines = [said(f"a{n}", f"lost{n}", "user", f"go {n}") for n in range(20_000)]
    assert len(session(*lines).messages) == 20_000
    assert time.process_time() - start < 10
