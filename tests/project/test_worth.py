"""The texts that the weights are learned from parse, are counted in the README, and are not those of the evals."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import learn_worth
from oracles.offline.learned import SIZE, WEIGHTS, WIDE

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = ROOT / "evals" / "written"
README = (learn_worth.TEXTS / "README.md").read_text(encoding="utf-8")
WORDS, LETTERS = 8, 12
"""So many words in a row are no phrase that everybody uses; in Chinese, Japanese and Korean, so many letters."""


@pytest.fixture(scope="module")
def found() -> list[learn_worth.Sentence]:
    return learn_worth.read()


def test_every_line_of_the_texts_parses(found) -> None:
    files = {f"{path.parent.name}/{path.name}" for path in learn_worth.TEXTS.glob("*/*")}
    assert {one.file for one in found} == files
    assert {one.label for one in found} == {*learn_worth.KNOWN, *learn_worth.OTHER, "request", "known", "other"}
    assert all(one.text == one.text.strip() != "" for one in found)


@pytest.mark.parametrize("line", ["rule", "rule\t ", "wish\ta text", "rule\ta\ttext", "a text", ""])
def test_a_line_without_a_known_label_and_a_text_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="line 2: want a known label"):
        list(learn_worth.labelled(f"rule\ta text\n{line}\n"))


@pytest.mark.parametrize("speakers", ["", "A", "UA", "UU", "AU", "UAAU"])
def test_a_chat_that_does_not_alternate_from_user_to_user_is_refused(speakers: str) -> None:
    assert learn_worth.chats("#\nU: a\nA: b\nU: c\n") == [[("U", "a"), ("A", "b"), ("U", "c")]]
    with pytest.raises(ValueError, match="chat 2: want U and A in turn"):
        learn_worth.chats("#\nU: a\n#\n" + "".join(f"{who}: a\n" for who in speakers))


@pytest.mark.parametrize("line", ["B: a", "U:a", "# a", "", "a"])
def test_a_line_of_a_chat_without_a_speaker_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="line 3: want '#'"):
        learn_worth.chats(f"#\nU: a\n{line}\n")


@pytest.mark.parametrize("text", ["[[a", "a]]", "[[a}}", "[[a {{b}} c]]", "{{a]]", "[[a]] b]]"])
def test_marks_that_are_not_in_pairs_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="want "):
        learn_worth.unmarked(text)


def test_a_sentence_has_to_be_known_if_enough_of_it_is_marked() -> None:
    text = "Hi! [[Pay Ann]], {{by noon}}. It is [[4]]. We had rain, so much of it that I stayed in, [[room]] and all"
    assert list(learn_worth.sentences(text)) == [
        ("Hi!", False),
        ("Pay Ann, by noon.", True),
        ("It is 4.", False),
        ("We had rain, so much of it that I stayed in, room and all", False),
    ]
    assert list(learn_worth.sentences("[[明天四点见面]]。好冷！")) == [("明天四点见面。", True), ("好冷！", False)]  # noqa: RUF001


def runs(text: str) -> Iterator[tuple[str, ...]]:
    """The runs of words, or of letters where a script has no blanks."""
    words = re.findall(r"\w+", text.lower())
    whole = "".join(words)
    parts, size = (list(whole), LETTERS) if any(c >= WIDE for c in whole) else (words, WORDS)
    return (tuple(parts[at : at + size]) for at in range(len(parts) - size + 1))


def contents(path: Path) -> Iterator[str]:
    chats: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return (message["content"] for chat in chats for message in chat["messages"])


def test_no_text_stands_in_the_chats_that_compactions_are_measured_on(found) -> None:
    paths = sorted(WRITTEN.glob("*.json"))
    if not paths:
        pytest.skip("evals/written is not there")
    measured = {run for path in paths for text in contents(path) for run in runs(text)}
    assert len(measured) > 10_000
    assert [one.text for one in found if not measured.isdisjoint(runs(one.text))] == []


def test_the_committed_weights_have_the_size_that_the_core_reads() -> None:
    assert WEIGHTS.stat().st_size == SIZE


def test_the_readme_has_the_numbers_of_the_texts(found) -> None:
    assert learn_worth.counts(found) in README, "run make worth"


@pytest.mark.slow
def test_the_committed_weights_are_those_that_the_texts_give(monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["learn_worth.py", "--check"])
    before = WEIGHTS.read_bytes()
    assert learn_worth.main() == 0, capsys.readouterr().out
    assert WEIGHTS.read_bytes() == before


@pytest.mark.slow
def test_the_readme_has_the_numbers_of_the_cross_validation(found) -> None:
    used = [one for one in found if one.label != learn_worth.LEFT_OUT]
    matrix = learn_worth.features([one.text for one in used])
    assert learn_worth.validation(matrix, used) in README, "run make worth"
