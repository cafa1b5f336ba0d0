"""What fills a transcript: groups that add up, the largest results, and reads that were repeated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import trimtab
from support import format_cases
from support.models import CLAUDE_BOUND
from support.scale import scaled
from support.transcripts import PROVIDERS, messages
from trimtab.ledger.contents import OVERHEAD, REST, UNKNOWN, ContentBlock, Contents, Group, Repeat

O200K = trimtab.Counter("o200k_base")
GROUPINGS: tuple[Any, ...] = ("tool", "file", "turn", "message")


def of(*found: Any) -> Contents:
    return Contents.of(list(found), O200K, "anthropic")


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(ref: str, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": ref, "name": tool, "input": arguments}]}


def result(ref: str, content: Any) -> dict[str, Any]:
    return user({"type": "tool_result", "tool_use_id": ref, "content": content})


def read(ref: str, path: str, content: str, **part: int) -> tuple[Any, Any]:
    return call(ref, "Read", file_path=path, **part), result(ref, content)


SESSION = of(
    user(text("fix the parser")),
    *read("a", "src/a.py", "first " * 300),
    *read("b", "src/b.py", "second " * 200),
    call("c", "Bash", command="pytest -q\ntests", description="Test"),
    result("c", [text("ok "), text("all passed")]),
    user(text("and now the docs")),
    *read("d", "src/a.py", "first again " * 300),
    user({"type": "tool_result", "tool_use_id": "gone", "content": "an old answer"}),
)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_groups_add_up_to_the_messages_tokens(provider: Any) -> None:
    @settings(max_examples=scaled(100))
    @given(messages(provider, unknown=True))
    def holds(transcript: list[Any]) -> None:
        contents = Contents.of(transcript, O200K, provider)
        for what in GROUPINGS:
            for top in (None, 0, 2):
                groups = contents.by(what, top)
                assert sum(group.tokens for group in groups) == contents.ledger.total
                assert min([group.tokens for group in groups], default=1) > 0
                assert top is None or len(groups) <= top + 1
        for row in range(len(contents.kind)):
            assert contents.block(row).tokens == contents.tokens[row]

    holds()


def test_a_tool_has_its_calls_and_their_results() -> None:
    groups = {group.name: group for group in SESSION.by("tool")}
    assert [*groups][:2] == ["Read", "Bash"]
    assert (groups["Read"].number, groups["Read"].first) == (3, 1)
    assert groups["Read"].tokens == sum(SESSION.per_message[[1, 2, 3, 4, 8, 9]])
    assert groups[UNKNOWN].number == 1
    assert groups["user text"].tokens == O200K.count("fix the parser") + O200K.count("and now the docs")
    whole = Contents.of(SESSION.messages, trimtab.Counter.for_model(CLAUDE_BOUND)).by("tool")
    assert {group.name: group.number for group in whole}[OVERHEAD] == 11


def test_a_file_has_all_that_was_done_with_it() -> None:
    groups = {group.name: (group.number, group.first) for group in SESSION.by("file")}
    assert groups["src/a.py"] == (2, 1)
    assert groups["src/b.py"] == (1, 3)
    assert groups["Bash (no file)"] == (1, 5)


def test_a_turn_begins_with_the_users_words() -> None:
    turns = SESSION.by("turn")
    assert [(turn.name, turn.number, turn.first) for turn in turns] == [
        ("fix the parser", 7, 0),
        ("and now the docs", 4, 7),
    ]
    assert turns[1].tokens == SESSION.per_message[7:].sum()


def test_all_but_the_largest_groups_are_one() -> None:
    largest, rest = SESSION.by("message", 1)
    assert largest == Group("Read src/a.py", int(SESSION.per_message[9]), 1, 9)
    assert rest == Group(REST, SESSION.ledger.total - largest.tokens, 10, 0)


def test_an_unknown_grouping_is_refused() -> None:
    with pytest.raises(ValueError, match="use tool, file, turn or message"):
        SESSION.by("size")  # type: ignore[arg-type]


def test_the_largest_results_name_their_calls() -> None:
    blocks = SESSION.largest(4)
    assert [block.message for block in blocks] == [9, 2, 4, 6]
    assert blocks[3] == ContentBlock(
        row=6,
        message=6,
        kind="result",
        tool="Bash",
        argument="pytest -q tests",
        words="ok all passed",
        tokens=int(SESSION.tokens[6]),
    )
    assert SESSION.block(10).tool == UNKNOWN
    assert SESSION.over(250) == sum(max(block.tokens - 250, 0) for block in SESSION.largest())


def test_a_repeated_read_names_the_old_results_and_the_newest() -> None:
    assert SESSION.repeats() == [Repeat("Read", "src/a.py", (2,), 9, int(SESSION.tokens[2]))]
    parts = of(*read("a", "x", "one", limit=1), *read("b", "x", "two", limit=2), *read("c", "x", "all"))
    told = [(repeat.part, repeat.messages, repeat.newest) for repeat in parts.repeats()]
    assert sorted(told) == [("limit 1", (1,), 5), ("limit 2", (3,), 5)]


@pytest.mark.parametrize(
    ("arguments", "about", "file"),
    [
        ({"command": ["bash", "-lc", "ls -l"]}, "ls -l", "Bash (no file)"),
        ({"command": ["ls", "-l"]}, "ls -l", "Bash (no file)"),
        ({"note": "look\nhere", "depth": 2}, "look here", "Bash (no file)"),
        ({"absolute_path": "/x/y.py"}, "/x/y.py", "/x/y.py"),
        ({"input": "*** Begin Patch\n*** Update File: src/a.py\n@@"}, "src/a.py", "src/a.py"),
        ({"ids": [1, "a"], "path": 7}, "", "Bash (no file)"),
    ],
)
def test_the_argument_says_what_a_call_was_about(arguments: Any, about: str, file: str) -> None:
    contents = of(call("a", "Bash", **arguments), result("a", "done"))
    assert contents.block(1).argument == about
    assert contents.by("file")[0].name == file


def test_every_format_names_its_tools(tmp_path: Path) -> None:
    for name in (*format_cases.LINES, *format_cases.WHOLES):
        wholes = format_cases.WHOLES.get(name)
        lines = [wholes(6)] if wholes else format_cases.LINES[name](6)
        path = tmp_path / name
        path.write_text("\n".join(map(json.dumps, lines)))
        found = trimtab.read(path)
        contents = Contents.of(found.messages, O200K, found.provider)
        for what in GROUPINGS:
            assert sum(group.tokens for group in contents.by(what)) == contents.ledger.total, name
        assert UNKNOWN not in {block.tool for block in contents.largest()}, name
