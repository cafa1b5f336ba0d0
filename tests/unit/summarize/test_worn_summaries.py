"""What an earlier summary lost of the user's words comes back from the archive, within the next compaction."""

from __future__ import annotations

import asyncio

import pytest

import trimtab
from trimtab import _core
from trimtab.archive import open_archive

COLOURS = "red navy pink grey brown cyan lime plum blue green".split()
RULES = [f"Never deploy service {n} to the {colour} cluster without asking me." for n, colour in enumerate(COLOURS)]
FIRST = [{"role": "user", "content": " ".join(RULES)}, {"role": "assistant", "content": "Understood."}]


def talk(number: int) -> list[dict[str, str]]:
    """Questions and answers without a rule."""
    messages = []
    for place in range(14):
        what = f"module number {7 * place + number}"
        messages += [
            {"role": "user", "content": f"Question {place}: what does the {what} do with the files that it reads?"},
            {"role": "assistant", "content": f"The {what} reads its files one by one and keeps them in memory. " * 4},
        ]
    return messages


def kept(messages: list[dict[str, str]]) -> int:
    """How many of the rules stand in the messages."""
    return sum(any(rule in message["content"] for message in messages) for rule in RULES)


def worn(session: trimtab.Session, messages: list[dict[str, str]] | None = None) -> list[dict[str, str]]:
    """The list after a compaction that has no room for all rules."""
    small = list(session.compact([*(messages or FIRST), *talk(1)], target_tokens=130).messages)
    assert 0 < kept(small) < len(RULES)
    return small


@pytest.mark.parametrize("awaits", [False, True])
def test_rules_that_a_summary_had_no_room_for_are_in_the_next_one_that_has(awaits: bool):
    session = trimtab.Compactor("claude-sonnet-4-5").session("a")
    messages = [*worn(session), *talk(2)]
    if awaits:
        large = asyncio.run(session.acompact(messages, target_tokens=1_200))
    else:
        large = session.compact(messages, target_tokens=1_200)
    assert kept(large.messages) == len(RULES)
    assert large.tokens_after <= 1_200
    third = session.compact([*large.messages, *talk(3)], target_tokens=1_200)
    assert kept(third.messages) == len(RULES)


def test_what_was_forgotten_does_not_come_back():
    with open_archive("memory") as archive:
        session = trimtab.Compactor("claude-sonnet-4-5", archive=archive).session("a")
        small = worn(session)
        archive.forget("a")
        large = session.compact([*small, *talk(2)], target_tokens=1_200)
        assert kept(large.messages) == kept(small)


def test_another_sessions_rules_stay_there():
    cm = trimtab.Compactor("claude-sonnet-4-5")
    small = worn(cm.session("a"))
    large = cm.session("b").compact([*small, *talk(2)], target_tokens=1_200)
    assert kept(large.messages) <= kept(small)


def test_what_was_redacted_comes_back_redacted():
    hidden = [rule.replace("red cluster", "[hidden]") for rule in RULES]
    cm = trimtab.Compactor("claude-sonnet-4-5", redact=lambda text: text.replace("red cluster", "[hidden]"))
    session = cm.session("a")
    large = session.compact([*worn(session), *talk(2)], target_tokens=1_200)
    texts = "\n".join(message["content"] for message in large.messages)
    assert all(rule in texts for rule in hidden)
    assert "red cluster" not in texts


@pytest.mark.parametrize("kept_behind", [False, True])
def test_a_rule_that_a_later_one_replaces_is_no_rule_any_more(kept_behind: bool):
    old, new = "Never start more than 5 workers for the import.", "Never start more than 9 workers for the import."
    messages = [{"role": "user", "content": old}, {"role": "assistant", "content": "Yes."}]
    newer = [{"role": "user", "content": new}]
    rules = _core.facts((messages, newer) if kept_behind else ([*messages, *newer], []), "")[0]
    assert rules == ([] if kept_behind else [new])
    assert _core.facts((messages, []), "")[0] == [old]


def test_a_pinned_text_that_only_a_summary_has_is_in_the_next_one():
    session = trimtab.Compactor("claude-sonnet-4-5").session("a")
    said = "The customer's number is 4711-0815 and she is called in the mornings."
    begin = [{"role": "user", "content": said}, {"role": "assistant", "content": "Noted."}, *talk(1)]
    once = session.compact(begin, target_tokens=250)
    session.pin("4711-0815")
    twice = session.compact([*once.messages, *talk(2)], target_tokens=150)
    assert any("4711-0815" in message["content"] for message in twice.messages)
    assert twice.tokens_after <= 150


def test_a_rule_whose_label_a_small_summary_leaves_out_is_not_added_again():
    session = trimtab.Compactor("claude-sonnet-4-5").session("a")
    labelled = [{"role": "user", "content": "SAFETY RULE: Never send health data to external services."}, FIRST[1]]
    messages = list(session.compact([*labelled, *FIRST, *talk(1)], target_tokens=150).messages)
    assert "- Never send health data" in messages[0]["content"]
    messages = list(session.compact([*messages, *talk(2)], target_tokens=300).messages)
    assert messages[0]["content"].count("Never send health data") == 1


def test_a_models_summary_gets_the_rules_too():
    asked = []

    def writer(ask: trimtab.summarize.Ask) -> str:
        asked.append(ask)
        return "The user asks about modules."

    session = trimtab.Compactor("claude-sonnet-4-5", summarizer=writer).session("a")
    messages = [*worn(session), *talk(2)]
    del asked[:]
    large = session.compact(messages, target_tokens=1_200)
    assert " ".join(RULES) in [ask.messages[0]["content"] for ask in asked]
    assert kept(large.messages) == len(RULES)


def test_a_summary_in_the_background_gets_what_was_lost():
    def writer(ask: trimtab.summarize.Ask) -> str:
        asked.append(ask)
        return "The user asks about modules."

    asked: list[trimtab.summarize.Ask] = []
    cm = trimtab.Compactor("claude-sonnet-4-5", window=3_000, max_output=400, summarizer=writer, background=True)
    session = cm.session("a")
    messages = [*worn(session)]
    del asked[:]
    for number in range(2, 60):
        messages += talk(number)[:2]
        fitted = session.fit(messages)
        if asked:
            break
    for number in range(60, 120):
        if fitted.compaction is not None:
            break
        messages += talk(number)[:2]
        fitted = session.fit(messages)
    assert fitted.compaction is not None
    # The parts of a long list are asked at the same time, in threads: which is first is not known.
    assert " ".join(RULES) in [ask.messages[0]["content"] for ask in asked]
    assert kept(list(fitted.messages)) > kept(worn(cm.session("b")))
