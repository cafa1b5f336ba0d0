"""The summary against what stays behind the zone, and against what comes after an earlier summary."""

from __future__ import annotations

import pytest

from support.offline_cases import ask, quarter, said, sections, tool
from trimtab.summarize.offline import offline

RED = "Exit code 1\nE   KeyError: 'retries'\n1 failed in 0.2s"
GREEN = "3 passed in 0.1s"


def run(at: int, command: str, result: str) -> list[dict]:
    return tool(at, "Bash", {"command": command}, result, failed=result.startswith("Exit"))


ZONE = [said("user", "Make the loader retry three times."), *run(1, "pytest tests/test_load.py", RED)]


def told(zone: list[dict], after: list[dict], **more) -> dict[str, list[str]]:
    return sections(offline(ask(zone, 1_000, after=tuple(after), **more)))


def test_a_failure_that_nothing_followed_stays_one():
    found = told(ZONE, [])
    assert found["Errors"] == ["E KeyError: 'retries'"]
    assert found["Commands"] == ["`pytest tests/test_load.py`: exit 1; 1 failed in 0.2s"]


@pytest.mark.parametrize(
    "command",
    [
        "pytest tests/test_load.py",
        "pytest -q tests/test_load.py 2>&1",
        "pytest tests/test_load.py tests/test_save.py",
    ],
    ids=["same command", "shown otherwise", "with more files"],
)
def test_a_command_that_goes_well_in_the_tail_resolves_the_failure(command):
    found = told(ZONE, run(2, command, GREEN))
    assert found["Errors"] == ["E KeyError: 'retries' (resolved)"]
    assert found["Commands"] == ["`pytest tests/test_load.py`: exit 1; 1 failed in 0.2s, later ok"]


def test_a_command_that_hides_its_exit_code_in_the_tail_resolves_no_failure():
    found = told(ZONE, run(2, "pytest -q tests/test_load.py 2>&1 | tail -5", GREEN))
    assert found["Errors"] == ["E KeyError: 'retries' (a later call shows none)"]
    assert found["Commands"] == ["`pytest tests/test_load.py`: exit 1; 1 failed in 0.2s, a later call shows no failure"]


@pytest.mark.parametrize("command", ["pytest tests/test_save.py", "ruff check tests/test_load.py", "pytest"])
def test_another_command_in_the_tail_resolves_nothing(command):
    assert told(ZONE, run(2, command, GREEN))["Errors"] == ["E KeyError: 'retries'"]


def test_a_suite_that_fails_is_not_resolved_by_a_part_of_it():
    assert told(run(1, "pytest", RED), run(2, "pytest tests/test_load.py", GREEN))["Errors"] == [
        "E KeyError: 'retries'"
    ]


def test_an_edit_that_goes_well_in_the_tail_resolves_the_one_that_failed():
    path = {"file_path": "/srv/app/load.py"}
    zone = tool(1, "Edit", path, "String to replace not found in file.", failed=True)
    told_again = told(zone, tool(2, "Edit", path, "ok", failed=False))
    assert told_again["Errors"] == ["String to replace not found in file. (load.py) (resolved)"]
    unknown = told(zone, tool(2, "Edit", path, "ok"))
    assert unknown["Errors"] == ["String to replace not found in file. (load.py) (a later call shows none)"]


def test_tests_that_fail_without_an_exit_code_are_quoted():
    found = told(run(1, "pytest tests | tail -3", "E   KeyError: 'retries'\n1 failed, 2 passed"), [])
    assert found["Commands"] == ["`pytest tests | tail -3`: output shows: 1 failed, 2 passed"]


def test_the_last_words_are_told_only_if_the_tail_does_not_go_on():
    zone = [*ZONE, said("assistant", "The loader has no counter, so the test comes first.")]
    assert told(zone, [])["Open items"] == ["last said: The loader has no counter, so the test comes first."]
    assert told(zone, [said("user", "Go on.")])["Open items"] == told(zone, [])["Open items"]
    assert "Open items" not in told(zone, run(2, "pytest tests/test_load.py", GREEN))


def test_what_the_tail_speaks_of_again_is_not_open():
    zone = [*ZONE, said("assistant", "Still to do: the timeout of the loader. Not yet done: the changelog entry.")]
    after = [said("assistant", "The timeout of the loader is set to nine seconds.")]
    assert told(zone, after)["Open items"] == ["Not yet done: the changelog entry."]


def test_a_question_that_was_answered_is_not_open():
    zone = [
        *ZONE,
        said("assistant", "Would you like me to raise the limit as well?"),
        said("user", "Leave it at three."),
    ]
    assert not any("?" in one for one in told(zone, []).get("Open items", []))


def test_a_task_that_the_tail_completes_is_not_open():
    first, last = ([{"content": "write docs", "status": status}] for status in ("pending", "completed"))
    zone = tool(1, "TodoWrite", {"todos": first}, "ok")
    assert told(zone, [])["Open items"] == ["pending: write docs"]
    assert "Open items" not in told(zone, tool(2, "TodoWrite", {"todos": last}, "ok"))


def test_an_earlier_failure_is_resolved_by_what_comes():
    first = offline(ask(ZONE, 1_000))
    found = told(run(2, "pytest tests/test_load.py", GREEN), [], previous=first)
    assert found["Errors"] == ["E KeyError: 'retries' (resolved)"]
    assert found["Commands"] == ["`pytest tests/test_load.py`: ok; 3 passed in 0.1s"]
    found = told([said("user", "Now the docs.")], run(2, "pytest tests/test_load.py", GREEN), previous=first)
    assert found["Commands"] == ["`pytest tests/test_load.py`: exit 1; 1 failed in 0.2s, later ok"]


def test_a_line_that_fits_is_told_however_small_the_limit_is():
    zone = [
        *ZONE,
        *run(2, "make", "ok"),
        said("user", "Thanks for the thorough and patient work on the loader, fix it"),
    ]
    shortest = min(quarter(f"- {one}") for lines in told(zone, []).values() for one in lines)
    for limit in range(shortest, 60):
        assert offline(ask(zone, limit))


def test_a_name_inside_a_path_of_the_tail_is_not_listed_again():
    zone = [said("user", "Where does SharedLedger come from? And WiredPump?")]
    zone += tool(1, "Bash", {"command": "grep -rn generate ."}, "SharedLedger\nWiredPump OtherThing\n")
    tail = tool(2, "Bash", {"command": "ls /srv/app/SharedLedger/docs"}, "index.md")
    assert told(zone, [])["Identifiers"] == ["names: WiredPump SharedLedger OtherThing"]
    assert told(zone, tail)["Identifiers"] == ["names: WiredPump OtherThing"]
