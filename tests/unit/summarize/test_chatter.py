"""What of a chat has to be known ranks before chatter, in words that nobody listed."""

from __future__ import annotations

import pytest

from support.offline_cases import ask, quarter, said, sections
from trimtab.summarize.offline import offline

CHATTER = (
    "i ate my sandwich there, dont judge",
    "We had 34 degrees on Sunday and the cat slept in the sink.",
    "haha yes, my sister says the same about her neighbour",
    "It rained all night again, I could hear it on the roof.",
)


NEXT = (said("user", "Now draft the mail."),)
"""The newest request stays, whatever it says: here behind the summary."""


def chat(*texts: str) -> list[dict]:
    return [one for text in texts for one in (said("user", text), said("assistant", "I see."))]


@pytest.mark.parametrize(
    "fact",
    [
        "by the way the key for the shed is under the third pot",
        "anything above 50 goes past Ruth first",
        "Jana does the invoices, Jan only signs them.",
        "hm, make that Thursday, the hall is taken on Friday",
        "Der Vermieter will die Liste bis zum 9. März.",
        "El código de la alarma es 4471.",
        "倉庫の暗証番号は4471です。",
    ],
)
def test_what_is_said_in_passing_stays_where_one_line_fits(fact: str):
    limit = quarter(f"- {fact}") + 2
    assert offline(ask(chat(*CHATTER[:2], fact, *CHATTER[2:]), limit, after=NEXT)) == f"- {fact}"


def test_a_sentence_of_chatter_leaves_the_paragraph_of_a_fact():
    told = "Haha, my cat thinks she is a duchess. The vet is on 4 May at noon, with Dr. Amin."
    assert offline(ask(chat(*CHATTER, told), 400)).count("duchess") == 0


def test_words_of_a_rule_in_plain_chatter_are_no_rule():
    text = offline(ask(chat("Please sort the photos by year.", "Never touch the raw files.", *CHATTER), 900))
    assert sections(text)["Rules"] == ["Never touch the raw files."]
