"""Notices and acknowledgements are known by their place, are nobody's request, and go when nobody needs them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import trimtab
from support.checker import check
from support.rounds import MODEL, rounds, step
from support.transcripts import PROVIDERS, transcript
from trimtab.archive import Archive, open_archive
from trimtab.compaction.apply import GAP
from trimtab.messages.shapes import only_text, text_message
from trimtab.planning.edits import NOTICE
from trimtab.policies import POLICIES

RULE = "NEVER touch LICENSE"
PINNED = "PINNED: the key is 4711."
NOTICES = [GAP, NOTICE.format(count=12), "Understood. I continue from there.", "What did we do so far?"]


def opening() -> list[dict[str, Any]]:
    return [{"role": "user", "content": RULE}, {"role": "assistant", "content": PINNED}]


def texts(messages: Any) -> list[str]:
    return [message["content"] for message in messages if isinstance(message["content"], str)]


@pytest.mark.parametrize("policy", POLICIES)
def test_the_last_request_survives_thirty_rounds_beside_one_pinned_line(policy: str) -> None:
    cm, messages = trimtab.Compactor(MODEL, policy=policy), opening()
    cm.pin("PINNED")
    for done in rounds(cm, messages, 32):
        assert any(message is messages[0] for message in done.messages)
        assert texts(done.messages).count(GAP) <= 1
        assert check(list(done.messages), "anthropic") == []


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("text", NOTICES)
def test_a_users_text_that_equals_a_notice_is_the_users(policy: str, text: str) -> None:
    request = {"role": "user", "content": text}
    for done in rounds(trimtab.Compactor(MODEL, policy=policy), [request], 4):
        assert any(message is request for message in done.messages)


def test_a_users_text_that_equals_a_notice_is_the_users_behind_the_notice_itself() -> None:
    cm = trimtab.Compactor(MODEL, policy="drop")
    cm.pin("PINNED")
    *_, done = rounds(cm, opening(), 2)
    request = {"role": "user", "content": GAP}
    grown = [*done.messages, {"role": "assistant", "content": "done"}, request]
    for later in rounds(cm, grown, 4, first=100):
        assert any(message is request for message in later.messages)
    assert texts(later.messages).count(RULE) == 0, "it is not the last request any more"


def test_a_notice_goes_with_the_line_that_needed_it() -> None:
    archive = open_archive("memory")
    cm = trimtab.Compactor(MODEL, archive=archive).session("a")
    cm.pin("PINNED")
    *_, done = rounds(cm, opening(), 4)
    assert texts(done.messages).count(GAP) == 1
    archive.unpin("a", "text", "PINNED")
    *_, done = rounds(cm, list(done.messages), 1, first=100)
    assert texts(done.messages).count(GAP) == 0


@pytest.mark.parametrize("policy", POLICIES)
def test_no_summarizer_is_sent_a_notice(policy: str) -> None:
    asks = []

    def write(ask: trimtab.summarize.Ask) -> str:
        asks.append(ask)
        return "nothing to report"

    cm = trimtab.Compactor(MODEL, policy=policy, summarizer=write)
    cm.pin("PINNED")
    for _ in rounds(cm, opening(), 6):
        pass
    place = cm.policy.place
    ours = {GAP, place.ack, place.question}
    assert asks or policy in {"default", "drop", "agentpg", "sven", "sven_narrative"}, "these prune or drop"
    assert not [text for ask in asks for text in texts([*ask.messages, *ask.after]) if text in ours]


def test_a_notice_about_dropped_messages_names_no_notice() -> None:
    cm = trimtab.Compactor(MODEL, policy="goat", summarizer=lambda ask: 1 / 0)
    cm.pin("PINNED")
    for done in rounds(cm, opening(), 6):
        [notice] = [text for text in texts(done.messages) if text.startswith("[COMPACT SUMMARY]")]
        assert notice.count("[") == 2, notice


@pytest.mark.parametrize("policy", ["default", "drop"])
def test_a_named_session_knows_its_notices_in_a_new_process(tmp_path: Path, policy: str) -> None:
    url, messages = f"sqlite:///{tmp_path / 'a.db'}", opening()
    first = messages[0]
    for number in range(8):
        with trimtab.Compactor(MODEL, policy=policy, archive=url) as shared:
            cm = shared.session("a")
            cm.pin("PINNED")
            *_, done = rounds(cm, messages, 1, first=100 * number)
        messages = list(done.messages)
        assert any(message is first for message in messages)


def test_a_list_that_changed_in_front_of_a_notice_makes_it_text() -> None:
    cm = trimtab.Compactor(MODEL)
    cm.pin("PINNED")
    *_, done = rounds(cm, opening(), 6)
    changed = [dict(message) for message in done.messages]
    [place] = [n for n, message in enumerate(changed) if message["content"] == GAP]
    changed[place - 1]["content"] += " It was changed."
    kept = changed[place]
    for later in rounds(cm, changed, 2, first=100):
        assert any(message is kept for message in later.messages)


def test_pruning_without_a_compaction_leaves_notices_known() -> None:
    cm, messages = trimtab.Compactor(MODEL, policy="goat"), opening()
    cm.pin("PINNED")
    for done in rounds(cm, messages, 6):
        grown = [*done.messages, *(m for n in range(900, 912) for m in step(n))]
        pruned = cm.prune(grown)
        assert pruned != grown
        again = cm.compact([*pruned, *(m for n in range(912, 930) for m in step(n))])
        assert any(message is messages[0] for message in again.messages)
        assert texts(again.messages).count(GAP) <= 1


def test_a_discarded_result_does_not_make_a_notice_text() -> None:
    cm, messages = trimtab.Compactor(MODEL), opening()
    cm.pin("PINNED")
    for done in rounds(cm, messages, 8):
        assert any(message is messages[0] for message in done.messages)
        cm.compact([*done.messages, *(m for n in range(900, 930) for m in step(n))])


@pytest.mark.parametrize("policy", ["default", "drop", "goat", "opencode"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_last_request_survives_in_every_shape(provider: Any, policy: str) -> None:
    cm = trimtab.Compactor(MODEL, provider=provider, policy=policy, window=30_000, max_output=3_000)
    cm.pin("PINNED")
    request, line = text_message(provider, "user", RULE), text_message(provider, "assistant", PINNED)
    messages: list[Any] = [text_message(provider, "user", "Begin."), line, request]
    for number in range(0, 96, 6):
        spec = " ".join(f"a:30+c{number + n} r{number + n}:200" for n in range(6))
        done = cm.compact([*messages, *transcript(spec, provider=provider)], target_tokens=1_500)
        messages = list(done.messages)
        assert any(message is request for message in messages)
        assert check(messages, provider, in_flight=True) == []
        said = [only_text(message) for message in messages]
        assert said.count(GAP) + said.count("Understood. I continue from there.") <= 3


def test_the_pictures_of_the_last_request_leave_last() -> None:
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    request = {"role": "user", "content": [{"type": "text", "text": RULE}, *[picture] * 5]}
    cm = trimtab.Compactor(MODEL)
    cm.pin("PINNED")
    *_, done = rounds(cm, [request, opening()[1]], 6)
    assert texts(done.messages).count(GAP) == 1
    more = [message for n in range(900, 1_010) for message in step(n)]
    for message in more[1::2]:
        message["content"][0]["content"] = [picture]
    last = cm.compact([*done.messages, *more], target_tokens=10**6)
    assert any(message is request for message in last.messages)
    assert "picture" in last.reason


@pytest.mark.parametrize("policy", ["default", "drop"])
def test_the_last_request_survives_thirty_rounds_of_an_agent_that_moves_a_cache_marker(policy: str) -> None:
    cm = trimtab.Compactor(MODEL, policy=policy, window=6_000, max_output=600)
    cm.pin("PINNED")
    messages: list[Any] = opening()
    seen = 0
    for number in range(1_000):
        fitted = cm.fit([*messages, *step(number)])
        messages = [unmarked(message) for message in fitted.messages]
        text = next(n for n, message in enumerate(messages) if isinstance(message["content"], str))
        marked = {"type": "text", "text": messages[text]["content"], "cache_control": {"type": "ephemeral"}}
        messages[text] = {**messages[text], "content": [marked]}
        assert RULE in texts(map(unmarked, messages)), seen
        seen += fitted.compaction is not None
        if seen == 32:
            return
    raise AssertionError(seen)


def unmarked(message: dict[str, Any]) -> dict[str, Any]:
    """The message with a marked text as a string."""
    match message["content"]:
        case [{"type": "text", "text": text, "cache_control": _}]:
            return {**message, "content": text}
    return message


@dataclass
class Said:
    role: str
    content: Any


def test_notices_in_the_callers_own_classes_are_known() -> None:
    cm, messages = trimtab.Compactor(MODEL), [Said(**message) for message in opening()]
    cm.pin("PINNED")
    for number in range(10):
        grown = [*messages, *(Said(**m) for n in range(8) for m in step(8 * number + n))]
        messages = list(cm.compact(grown, target_tokens=1_800).messages)
        assert any(message.content == RULE for message in messages)
        assert sum(message.content == GAP for message in messages) <= 1


def test_two_processes_that_take_turns_know_one_anothers_notices(tmp_path: Path) -> None:
    url, messages = f"sqlite:///{tmp_path / 'a.db'}", opening()
    request = messages[0]
    both = [trimtab.Compactor(MODEL, archive=url).session("a") for _ in range(2)]
    both[0].pin("PINNED")
    for number in range(12):
        *_, done = rounds(both[number % 2], messages, 1, first=100 * number)
        messages = list(done.messages)
        assert any(message is request for message in messages)
        assert texts(messages).count(GAP) <= 1


def test_an_archive_of_the_callers_own_needs_no_marks() -> None:
    class Own(Archive):
        """An archive with the methods that each must have, and no more."""

        inner = open_archive("memory")
        store, commit, load = inner.store, inner.commit, inner.load
        pin, pins, close = inner.pin, inner.pins, inner.close

    messages = opening()
    cm = trimtab.Compactor(MODEL, archive=Own()).session("a")
    cm.pin("PINNED")
    for done in rounds(cm, messages, 8):
        assert any(message is messages[0] for message in done.messages)
