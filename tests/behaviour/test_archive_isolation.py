"""Isolation of sessions: 200 odd names, refs, queries and numbers, through the API, the recall tool and the command
line. Whatever is asked, a session finds its own messages or nothing, and the error is one that callers expect."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

import trimtab
from support.archives import KINDS, opened
from support.models import CLAUDE
from support.transcripts import transcript
from trimtab.archive import Recall, SqliteArchive
from trimtab.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from trimtab.archive import SqlArchive

MODEL = CLAUDE
SECRET = "xylophone"
OWNERS = ("alice", "bob", None)
"""Sessions that archive a secret: two with a name, and one without."""

ALPHABET = [
    *"aA0 _%*?'\"\\;-()[]{}<>:$`|&!#\n\t\r\0\x1b\x7f\xa0\xad",
    *"éßİıſｓａ日本語ـ\u0301\u200b\u200d\u202e\u2028\ufeff\ufffd\uffff\ue000",
    *"\ud800\udc80\udfff\U0001f600\U0010ffff",
]
GIVEN = [
    *(
        "",
        " ",
        "   ",
        "alice ",
        " alice",
        "Alice",
        "ALICE",
        "alice\0",
        "alice\n",
        "al\u0131ce",
        "\uff41lice",
        "alice\u200b",
    ),
    *("alice\ud800", "\ud800", "\udcff", "alice' OR '1'='1", "' OR 1=1 --", '" OR ""="', "alice'; DROP TABLE sessions"),
    *("%", "_____", "a%", "*", "alice*", "[a]lice", "?", "None", "null", "NULL", "True", "0", "-1", "1e9", "nan"),
    *("unnamed-", "unnamed-1", "UNNAMED-1", "--any-session", "--", "-", "alice\tbob", "alice,bob", "alice|bob"),
    *("../alice", "alice/..", "bob\ralice", "x" * 10_000, "日" * 3_000, "\x1b[31malice", "a\u0301lice", "\u202eecila"),
    *("alice OR bob", 'session_id:"alice"', "NEAR(alice bob)", f"{SECRET}*", f'"{SECRET}', f"-{SECRET}", f"^{SECRET}"),
    *("[" * 100_000, '{"a":' * 5_000, "9" * 5_000, "{}", "[]", '{"message": "1"}', '{"query": ["x"]}', "\\ud800"),
]


def texts(count: int) -> list[str]:
    """Odd texts: those above, and seeded ones of odd characters."""
    rng = random.Random(20)
    made = ("".join(rng.choices(ALPHABET, k=rng.randrange(1, 12))) for _ in range(count - len(GIVEN)))
    return [*GIVEN, *made]


TEXTS = texts(200)
NUMBERS: list[Any] = [
    *range(-3, 130),
    *(sign * 2**bits + more for sign in (1, -1) for bits in (31, 32, 53, 62, 63, 64, 128) for more in (-1, 0, 1)),
    *(10**400, 0.0, 1.0, 1.5, -0.0, 1e308, float("nan"), float("inf"), float("-inf"), True, False, None),
    *("1", "01", "1 OR 1=1", "\u0661", [], [1], {}, {"id": 1}, b"1", 1j),
]


def talk(owner: str) -> list[dict[str, Any]]:
    messages = transcript(" ".join("u:60 a:90" for _ in range(15)))
    messages[3] = {"role": "assistant", "content": f"the {SECRET} of {owner} is {owner}-77 " + "word " * 90}
    return messages


@pytest.fixture(params=KINDS)
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlArchive]:
    url = request.getfixturevalue("postgres").url if request.param == "postgres" else None
    with opened(request.param, tmp_path, url) as archive:
        yield archive


def fill(archive: SqlArchive) -> dict[str, str]:
    """The ref of a compaction of each owner."""
    refs = {}
    for owner in OWNERS:
        cm = trimtab.Compactor(MODEL, archive=archive).session(owner)
        refs[str(owner)] = str(cm.compact(talk(str(owner)), target_share=0.4).ref)
        cm.pin(f"{SECRET} of {owner}")
    return refs


def asked(call: Callable[[], object]) -> str:
    """Return the result of a call as text; expected errors contain no secret."""
    try:
        return str(call())
    except (ValueError, trimtab.ArchiveError) as error:
        return str(error)


def calls_of(archive: SqlArchive, name: Any) -> list[Callable[[], object]]:
    """Every call of the archive's that is limited to a session."""
    return [
        lambda: archive.search(SECRET, session=name, limit=50),
        lambda: archive.history(name, limit=None),
        lambda: archive.pins(name),
        lambda: archive.verify(name),
        lambda: archive.prune(keep=0, session=name),
        lambda: archive.forget(name),
        lambda: [asked(lambda n=n: archive.fetch(n, session=name)) for n in range(1, 95)],
    ]


def test_an_odd_name_sees_nothing_of_other_sessions(archive: SqlArchive) -> None:
    refs = fill(archive)
    refused = 0
    for name in TEXTS:
        for call in calls_of(archive, name)[:: 1 if archive.dialect.name == "sqlite" else 3]:
            assert "-77" not in asked(call), name
        if not name.strip() or not name.isprintable() or name.startswith("unnamed-"):
            with pytest.raises(ValueError, match="a session's name"):
                trimtab.Compactor(MODEL, archive=archive).session(name)
            refused += 1
            continue
        cm = trimtab.Compactor(MODEL, archive=archive).session(name)
        assert cm.history() == []
        assert cm.id not in [each.id for each in archive.sessions()]
        recall = cm.recall_tool()
        assert "-77" not in recall({"query": SECRET})
        assert "-77" not in recall(json.dumps({"query": f"{SECRET} alice bob 77"}))
        for ref in refs.values():
            with pytest.raises(trimtab.ArchiveError, match="no compaction .* or it is of another session"):
                cm.restore(ref)
            assert cm.restore(ref, any_session=True)
    assert refused > 50
    assert len(archive.sessions()) == len(OWNERS), "asking changed nothing"
    assert [archive.load(ref) for ref in refs.values()] == [talk(str(owner)) for owner in OWNERS]
    assert archive.verify() == []


def test_a_session_restores_its_own_refs_and_one_without_a_name_those_of_its_kind(archive: SqlArchive) -> None:
    refs = fill(archive)
    for owner in OWNERS:
        cm = trimtab.Compactor(MODEL, archive=archive).session(owner)  # a new one: it has the name alone
        for other, ref in refs.items():
            if other == str(owner):
                assert cm.restore(ref) == talk(other)
            else:
                with pytest.raises(trimtab.ArchiveError, match="any_session=True"):
                    cm.restore(ref)
        for ref in TEXTS:
            for any_session in (False, True):
                with pytest.raises(trimtab.ArchiveError, match="no compaction"):
                    cm.restore(ref, any_session=any_session)


def test_a_recall_tool_answers_odd_queries_and_numbers_with_its_own_messages(archive: SqlArchive) -> None:
    fill(archive)
    for owner in OWNERS[:2]:
        others = [f"{other}-77" for other in ("alice", "bob", "None") if other != owner]
        recall = trimtab.Compactor(MODEL, archive=archive).session(owner).recall_tool(limit=50)
        assert f"{owner}-77" in recall({"query": SECRET})
        given: list[Any] = [*TEXTS, *NUMBERS]
        given += [{key: value} for key in ("query", "message") for value in (*TEXTS, *NUMBERS)]
        for one in given:
            answer = recall(one)
            assert answer
            assert answer.encode()
            assert not any(other in answer for other in others), one


class Odd(dict):
    """An input that raises when it is read."""

    def get(self, *_: object) -> object:
        raise KeyError("odd")


class Broken:
    """An archive of the caller's that fails in its own way."""

    def search(self, *_: object, **__: object) -> list:
        raise KeyError("\ud800")

    fetch = search


def test_a_recall_tool_never_raises() -> None:
    recall = Recall(SqliteArchive(":memory:"), "s")
    for one in ("[" * 100_000, '{"message": ' + "9" * 5_000 + "}", Odd(), None, 3, b"\xff"):
        assert "Nothing could be looked up" in recall(one) or "Give query" in recall(one)
    for one in ({"query": "a"}, {"message": 1}):
        assert recall.__class__(Broken(), "s")(one) == "Nothing could be looked up: '\\ud800'"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_line_shows_an_odd_name_nothing_of_other_sessions(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with SqliteArchive(home / "archive.db") as archive:
        refs = fill(archive)
    rng = random.Random(21)
    for name in TEXTS:
        commands = [
            ["archive", "search", SECRET, f"--session={name}"],
            ["restore", refs["alice"], f"--session={name}"],
            ["archive", rng.choice(["show", "verify", "export"]), "--", name],
            ["archive", "prune", *rng.choice([["--keep=0", f"--session={name}"], [f"--forget={name}"]])],
        ]
        for command in commands:
            code = main(command)
            told = capsys.readouterr()
            assert code in {0, 1, 64, 74}, (command, told.err)
            assert "-77" not in told.out + told.err, command
            assert "bug in trimtab" not in told.err
    with SqliteArchive(home / "archive.db") as archive:
        assert [archive.load(ref) for ref in refs.values()] == [talk(str(owner)) for owner in OWNERS]


def test_the_command_line_restores_with_the_session_or_any_session(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with SqliteArchive(home / "archive.db") as archive:
        refs = fill(archive)
    for options, restored in {
        (): ["None"],
        ("--session=alice",): ["alice"],
        ("--session", "bob"): ["bob"],
        ("--any-session",): ["alice", "bob", "None"],
    }.items():
        assert [owner for owner, ref in refs.items() if main(["restore", ref, *options]) == 0] == restored
        assert "-77" in capsys.readouterr().out
    assert main(["restore", refs["alice"], "--session=alice", "--any-session"]) == 64
    assert main(["archive", "show", refs["alice"]]) == 0
    assert f"trimtab restore {refs['alice']} --session=alice" in capsys.readouterr().out
    assert main(["archive", "search", SECRET, "--session", ""]) == 64
    assert "a session's name" in capsys.readouterr().err


def test_the_command_line_compacts_into_no_session_without_a_name(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "s.json").write_text(json.dumps(talk("a")))
    line = ["compact", "s.json", "-o", "o.json", "--target-share", "0.4"]
    assert main([*line, "--session", ""]) == 64
    assert "a session's name" in capsys.readouterr().err
    assert main([*line, "--session=it's me"]) == 0
    undo = capsys.readouterr().out.splitlines()[-1]
    assert undo.endswith(""" '--session=it'"'"'s me'""")
