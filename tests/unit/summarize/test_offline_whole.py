"""The user's words in the offline summary stand with what they belong to, and each of them once."""

from __future__ import annotations

import pytest

from support.offline_cases import ask, said, sections
from trimtab.summarize.offline import offline

TALK = "The soup at the corner was far too salty today."
DOC = "1. A page under `docs/`, as the notes of the first release explain at length. The page must:"
ITEMS = [f"  - name the {word} that the loader reads before it starts" for word in "files folders tables keys".split()]


def told(*messages: dict, limit: int = 2_000, **more) -> dict[str, list[str]]:
    """The sections of a summary."""
    return sections(offline(ask([*messages], limit, **more)))


def test_a_list_too_long_for_a_line_goes_on_with_the_last_sentence_of_its_rule():
    items = [f"{one}, {number} times" + " and once more" * 9 for number, one in enumerate(ITEMS)]
    found = told(said("user", "\n".join(["The steps are these:", "", DOC, *items])), said("assistant", "I see."))
    first, *others = found["Rules"]
    assert first.startswith(f"{DOC} name the files")
    assert others
    assert all(line.startswith("The page must: name the ") for line in others)


def test_the_next_item_of_a_rules_own_list_is_not_below_it():
    text = "\n".join(["The steps are these:", "", DOC, *ITEMS[:2], "2. A ticket with the phases."])
    found = told(said("user", text), said("assistant", "I see."))
    assert found["Rules"] == [f"{DOC} {'; '.join(one.strip(' -') for one in ITEMS[:2])}"]
    assert found["Requests"] == ["The steps are these:", "2. A ticket with the phases."]


CODE = "```ts\nconst parts = split(text);\nreturn (\n  parts.length\n);\n```"


def test_the_lines_of_a_block_of_code_stand_together():
    found = told(said("user", f"Use this:\n\n{CODE}\n\nThen run the tests."), said("assistant", "I see."))
    block = "… const parts = split(text); return ( parts.length );"
    assert found["Requests"] == ["Use this:", block, "Then run the tests."]


def test_a_block_that_has_no_room_is_left_out_as_a_whole():
    code = CODE.replace("parts.length", " +\n  ".join(f"parts[{number}].length" for number in range(7)))
    found = told(said("user", f"Use this:\n\n{code}\n\nThen run the tests."), said("assistant", "I see."), limit=40)
    assert not any("parts" in line or "return" in line for lines in found.values() for line in lines)


def test_what_code_says_must_be_is_no_rule_and_words_between_fences_are():
    code = CODE.replace("return (", "// the name must never be empty\nreturn (")
    steps = [said("user", f"Fix this:\n\n{code}"), said("assistant", "I see.")]
    assert "Rules" not in told(*steps)
    assert "Rules" not in told(said("user", "Go on with the table."), previous=offline(ask(steps, 2_000)))
    text = "Do it:\n\n```\nNever push to main.\nstep one\nstep two\n```\n"
    assert told(said("user", text), said("assistant", "I see."))["Rules"] == ["Never push to main."]


@pytest.mark.parametrize("mark", ["", "```\n"])
def test_a_fence_without_its_pair_opens_nothing(mark: str):
    text = f"Use this:\n\n{CODE}\n\n{mark}The loader is next.\nThe parser comes after it."
    assert told(said("user", text), said("assistant", "I see."))["Requests"][2:] == [
        "The loader is next.",
        "The parser comes after it.",
    ]


def test_the_rows_of_a_table_and_of_a_screen_stand_together():
    table = "| step | state |\n|---|---|\n| lint | ok |"
    screen = "╭────────╮\n│ Save?  │\n│ yes no │\n╰────────╯"
    found = told(said("user", f"See:\n\n{table}\n\nAnd:\n\n{screen}"), said("assistant", "I see."))
    assert "… step | state | lint | ok |" in found["Requests"]
    assert any("│ Save? │ │ yes no │" in line for line in found["Requests"])


LONG = "The upload of the report is slow since the cache of the parser was moved to the disk."


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_words_that_a_later_line_has_too_are_told_once(role: str):
    section = "Requests" if role == "user" else "Decisions"
    short = "The upload of the report is slow."
    between = said("assistant" if role == "user" else "user", "I looked at the network first.")
    found = told(said(role, short), between, said(role, LONG), between, after=[said("user", "Go on.")])[section]
    assert short not in found
    assert any(LONG in line for line in found)


def test_words_that_only_an_older_line_has_too_stay():
    steps = [said("user", "Do the upload of the report again with the old cache."), said("assistant", "I see.")]
    again = said("user", "The upload of the report again.")
    assert any("The upload of the report again." in line for line in told(*steps, again)["Requests"])


def test_a_heading_of_a_plan_stays_above_its_lines():
    plan = "Plan:\n\nMove the loader, and say what is out of scope.\n\nOut of scope\n\nThe parser of the old tables."
    assert "Out of scope" in told(said("user", plan), said("assistant", "I see."))["Requests"]
