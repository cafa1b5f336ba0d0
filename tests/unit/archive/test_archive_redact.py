"""Redaction: what ``redact`` removes stands in no file of the archive and in no request to a summarizer."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

import trimtab
from support.models import CLAUDE
from support.transcripts import transcript
from trimtab.archive import open_archive
from trimtab.archive.redact import redact_message, secrets
from trimtab.archive.sql.codec import decompress

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from trimtab import Message

MODEL = CLAUDE
SECRET = "sk-" + "a1B2" * 8


def stored(folder: Path) -> str:
    """All bytes of the archive's files, and each value of its tables unpacked."""
    texts = [path.read_bytes().decode("latin-1") for path in folder.iterdir()]
    with sqlite3.connect(next(folder.glob("*.db"))) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            rows = db.execute(f'SELECT * FROM "{table}"').fetchall() if not table.startswith("search") else []
            bodies = [value for row in rows for value in row]
            texts += [
                decompress(body) if table == "messages" and isinstance(body, bytes) else str(body) for body in bodies
            ]
    return "\n".join(texts)


def calls(count: int, first: int = 0) -> list[dict[str, Any]]:
    """Turns that have the secret in the keys and values of a call's input, in its name and in its id."""
    made: list[dict[str, Any]] = [{"role": "user", "content": "begin"}]
    for n in range(first, first + count):
        given = {f"{SECRET}": n, "headers": {f"Bearer {SECRET}": [{f"{SECRET}{n}": f"{SECRET}"}]}}
        call = {"type": "tool_use", "id": f"toolu_{n}", "name": f"tool_{n}", "input": given}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": f"{SECRET} " + "word " * 60}
        made += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        made += [{"role": "assistant", "content": "done " + "word " * 60}, {"role": "user", "content": f"go on {n}"}]
    return made


def test_no_text_that_is_stored_escapes_redaction(tmp_path: Path) -> None:
    asked: list[trimtab.summarize.Ask] = []

    def writer(ask: trimtab.summarize.Ask) -> str:
        asked.append(ask)
        return f"It is done, and the summary repeats {SECRET}. It is done."

    def hook(review: trimtab.Review) -> trimtab.Verdict:
        return trimtab.Verdict(context=f"a hook says {SECRET}" if review.plan else None)

    url = f"sqlite:///{tmp_path / 'a.db'}"
    with trimtab.Compactor(MODEL, archive=url, redact=secrets, summarizer=writer, pre_compact=hook) as shared:
        cm = shared.session("s")
        cm.pin(f"the key {SECRET} opens it")
        done = cm.compact(calls(40), target_share=0.3, instructions=f"mention {SECRET}")
        assert done.ref
        assert done.summary
        assert done.summary.startswith("It is done.")
        assert SECRET not in str((done.summary, done.dropped, done.added))
        assert "the summary repeats [REDACTED]" in done.dropped[0]
        assert SECRET not in json.dumps([*asked[0].messages, *asked[0].after])
        assert (asked[0].instructions, asked[0].context) == ("mention [REDACTED]", "a hook says [REDACTED]")
        back = cm.restore(done.ref)
        assert len(back) == len(calls(40))
        assert back[1]["content"][0]["input"] == {
            "[REDACTED]": 0,
            "headers": {"Bearer [REDACTED]": [{"[REDACTED]": "[REDACTED]"}]},
        }
        assert SECRET not in stored(tmp_path)
        again = cm.compact([*done.messages, *calls(40, 40)[1:]], target_share=0.3)
        assert again.ref
        assert (asked[-1].previous or "").startswith("It is done.")
    assert SECRET not in stored(tmp_path)


@pytest.mark.parametrize("policy", ["default", "sven", "goat"])
def test_an_error_that_repeats_a_secret_is_stored_without_it(policy: str, tmp_path: Path) -> None:
    def failing(_: trimtab.summarize.Ask) -> str:
        raise RuntimeError(f"400: bad key {SECRET}")

    url = f"sqlite:///{tmp_path / 'a.db'}"
    with trimtab.Compactor(MODEL, archive=url, redact=secrets, summarizer=failing, policy=policy) as cm:
        assert cm.compact(calls(40), target_share=0.3).ref
        assert SECRET not in stored(tmp_path)


def test_a_redacted_pin_keeps_its_messages_now_and_in_a_new_process(tmp_path: Path) -> None:
    messages = transcript(" ".join("u:60 a:90" for _ in range(30)))
    messages[4] = {"role": "user", "content": f"remember: the key is {SECRET}, of the test account"}
    messages[6] = {"role": "user", "content": f"and {SECRET} is another line"}
    url = f"sqlite:///{tmp_path / 'a.db'}"
    for pin, kept in {f"the key is {SECRET}, of": {4}, "the key is sk-a": {4}, "another line": {6}}.items():
        with trimtab.Compactor(MODEL, archive=url, redact=secrets) as shared:
            cm = shared.session(pin[:9])
            cm.pin(pin)
            assert kept <= {*cm.plan(messages, target_share=0.3).zone().keep}
        with trimtab.Compactor(MODEL, archive=url, redact=secrets) as shared:
            again = shared.session(pin[:9])
            assert kept <= {*again.plan(messages, target_share=0.3).zone().keep}
            assert {4, 6} - kept
            assert not ({4, 6} - kept) & {*again.plan(messages, target_share=0.3).zone().keep}
    assert SECRET not in stored(tmp_path)


def test_a_pin_of_which_redaction_leaves_nothing_is_rejected() -> None:
    cm = trimtab.Compactor(MODEL, redact=lambda text: text.replace(SECRET, " ")).session()
    with pytest.raises(ValueError, match="redact leaves"):
        cm.pin(SECRET)
    assert cm.archive.pins(cm.id) == []


@pytest.mark.parametrize(
    ("message", "redacted"),
    [
        ({"role": "user", "content": "x"}, None),
        ({"a": {"secret": 1, "b": 2}}, {"a": {"X": 1, "b": 2}}),
        ({"secret": 1, "X": 2, "secretsecret": 3}, {"X": 1, "X 2": 2, "XX": 3}),
        ({"a": [({"secret": "no secret"},)]}, {"a": [[{"X": "no X"}]]}),
        ({"a": {"secret secret": [], "X X": {}, "X secret": 0}}, {"a": {"X X": [], "X X 2": {}, "X X 3": 0}}),
    ],
)
def test_redact_message_changes_keys_and_texts_and_loses_no_value(message: Message, redacted: Any) -> None:
    before = json.dumps(message)
    answer = redact_message(message, lambda text: text.replace("secret", "X"))
    assert answer is message if redacted is None else answer == redacted
    assert json.dumps(message) == before


def test_redaction_changes_no_name_of_a_session() -> None:
    redact: Callable[[str], str] = lambda text: text.replace("alice", "[NAME]")  # noqa: E731
    archive = open_archive("memory")
    trimtab.Compactor(MODEL, archive=archive, redact=redact).session("alice").pin("alice")
    assert [each.id for each in archive.sessions()] == ["alice"]
    assert archive.pins("alice") == [("text", "[NAME]")]
