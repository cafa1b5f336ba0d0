from __future__ import annotations

import random

import pytest

import trimtab
from support.models import CLAUDE
from support.offline_cases import ask, sections, session, tool
from trimtab.summarize.offline import offline


def test_a_session_is_told_by_section():
    told = sections(offline(ask(session(), 1_000)))
    assert told["Rules"] == ["Make parse_config in src/app/config.py accept YAML. Never touch the public API."]
    assert told["Requests"] == ["Now push it to branch feature/yaml-config-2 please."]
    assert "The root cause is that load_defaults drops the key retries." in told["Decisions"]
    assert told["Files"][0] == "root: /home/me/app"
    assert "created: tests/test_yaml.py" in told["Files"]
    assert "edited: src/app/config.py" in told["Files"]
    assert told["Commands"] == ["`pytest -q tests` (x2): output shows: 12 passed in 0.31s"]
    assert told["Errors"] == ["E KeyError: 'retries' (a later call shows none)"]
    assert "load_defaults" in " ".join(told["Identifiers"])
    assert told["Open items"] == ["not answered yet: Now push it to branch feature/yaml-config-2 please."]


def test_reasoning_is_not_repeated():
    assert "hmm_secret" not in offline(ask(session(), 5_000))


def test_instructions_raise_what_they_mention():
    words = "basement bakery balcony billing bonus border bottle branch bridge budget".split()
    messages = [{"role": "assistant", "content": f"We verified that the {word} module works."} for word in words]
    messages.insert(1, {"role": "assistant", "content": "We verified that RateLimiter9 holds."})
    plain, asked = (offline(ask(messages, 30, instructions=text)) for text in (None, "Stress the billing module"))
    assert "billing" not in plain
    assert "billing" in asked


def test_a_name_that_the_messages_behind_the_zone_say_is_not_listed_again():
    listed = " ".join(f"aa{at}_bb{at}" for at in range(3))
    messages = tool(1, "Read", {"file_path": "x.txt"}, listed)
    after = ({"role": "assistant", "content": "I will change aa1_bb1."},)
    assert "aa1_bb1" in offline(ask(messages, 60))
    told = offline(ask(messages, 60, after=after))
    assert "aa1_bb1" not in told
    assert "aa0_bb0" in told


def test_a_call_that_is_answered_behind_the_zone_is_not_open():
    zone = session()[:3]
    assert "no result yet" in offline(ask(zone, 500))
    assert "no result yet" not in offline(ask(zone, 500, after=tuple(session()[3:])))


def test_a_task_list_is_told_as_it_ends():
    todos = [{"content": "write docs", "status": "pending"}, {"content": "write code", "status": "completed"}]
    told = sections(offline(ask(tool(1, "TodoWrite", {"todos": todos}, "ok"), 200)))
    assert told["Open items"] == ["pending: write docs"]


def rounds(number: int, limit: int) -> list[str]:
    told: list[str] = []
    for at in range(number):
        messages = [
            {"role": "user", "content": f"In round {at} please make the exporter_{at} faster."},
            *tool(at, "Edit", {"file_path": f"/srv/app/src/exporter_{at}.py"}, "ok"),
            {"role": "assistant", "content": f"It was slow because exporter_{at} opened the file twice."},
        ]
        if told:
            messages.insert(0, {"role": "user", "content": f"<summary ref=a1>{told[-1]}</summary>"})
        told.append(offline(ask(messages, limit, previous=told[-1] if told else None)))
    return told


def test_an_earlier_summary_is_updated_and_not_nested():
    last = sections(rounds(5, 600)[-1])
    assert last["Requests"] == [f"In round {at} please make the exporter_{at} faster." for at in range(5)]
    slow = [f"It was slow because exporter_{at} opened the file twice." for at in range(5)]
    assert last["Decisions"] == slow[:4]
    assert last["Open items"] == ["last said: " + slow[4]]
    assert "Earlier" not in last
    assert (
        sorted(last["Files"][-1].split()[1:]) == [f"exporter_{at}.py" for at in range(5)] or "src" in last["Files"][0]
    )


def test_requests_of_the_first_round_outlive_other_lines():
    assert "In round 0 please make the exporter_0 faster." in rounds(5, 130)[-1]


def test_an_update_with_nothing_new_says_the_same():
    first = offline(ask(session()[:-1], 600))
    again = offline(ask([], 600, previous=first))
    for name in ("Requests", "Decisions", "Commands", "Errors", "Open items"):
        assert sections(again).get(name) == sections(first).get(name)


def test_names_and_files_of_an_earlier_summary_stay():
    first = offline(ask(session(), 600))
    told = offline(ask([{"role": "user", "content": "Go on."}], 600, previous=first))
    for word in ("load_defaults", "created: tests/test_yaml.py", "edited: src/app/config.py", "6.0.2"):
        assert word in told


def test_a_foreign_summary_is_carried_as_lines():
    foreign = (
        "# Recap\n\n**Goal**: migrate to pg17.\n\n1. Edited db/schema.sql\n2. The replica lags by `wal_keep_size`."
    )
    told = sections(offline(ask(session(), 1_000, previous=foreign)))
    assert told["Earlier"] == [
        "Recap",
        "Goal: migrate to pg17.",
        "1. Edited db/schema.sql",
        "2. The replica lags by `wal_keep_size`.",
    ]


def test_a_compaction_of_the_agent_itself_is_not_a_request():
    text = "This session is being continued from a previous conversation that ran out of context.\nWe use pg17 only."
    told = sections(offline(ask([{"role": "user", "content": text}], 300)))
    assert "Requests" not in told
    assert "We use pg17 only." in told["Earlier"]


RULES = (
    "Never push to the branch release without asking me.",
    "When you cite a paper, name its first author.",
    "Write the date at the end of every answer.",
    "Answer in Italian only, even if I write English.",
)


@pytest.mark.parametrize("share", [0.1, 0.3])
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_was_said_first_stands_after_five_rounds(rule, share):
    chosen = random.Random(5)
    words = "the parser reads each line of the log and writes a table with names sizes owners and times".split()
    talk = [{"role": "user", "content": f"{rule} We look at the logs today."}]
    for n in range(120):
        said = " ".join(chosen.choice(words) for _ in range(60))
        asked = f"Please look at table {n}: {said}. It should be short."
        talk += [{"role": "assistant", "content": f"Table {n} has {said}."}, {"role": "user", "content": asked}]
    cm = trimtab.Compactor(CLAUDE, archive="memory")
    target, held = int(cm.count(talk) * share), []
    for part in range(5):
        held = [*held, *talk[len(talk) * part // 5 : len(talk) * (part + 1) // 5]]
        if cm.count(held) > target:
            held = [*cm.compact(held, target_tokens=target).messages]
    assert rule.rstrip(".") in " ".join(message["content"] for message in held)
