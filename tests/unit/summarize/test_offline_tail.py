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


def test_a_result_that_was_pruned_says_nothing_of_how_its_call_ended():
    placeholder = "[trimtab: pruned 1,221 tokens of Bash pytest; restore 8632cde6a5fef4ed3f0d]"
    assert told(tool(1, "Bash", {"command": "pytest"}, placeholder, failed=False), []) == {
        "Commands": ["`pytest`: not known, its output was pruned"]
    }
    assert told(tool(1, "Bash", {"command": "pytest"}, placeholder, failed=True), []) == {
        "Commands": ["`pytest`: failed"]
    }
    found = told(ZONE, tool(2, "Bash", {"command": "pytest tests/test_load.py"}, placeholder, failed=False))
    assert found["Errors"] == ["E KeyError: 'retries'"]
    assert found["Commands"] == ["`pytest tests/test_load.py`: exit 1; 1 failed in 0.2s"]


def task(at: int, number: int, subject: str) -> list:
    given = {"subject": subject, "description": "d"}
    return tool(at, "TaskCreate", given, f"Task #{number} created successfully: {subject}", failed=False)


def test_numbered_tasks_are_known_by_their_number_in_the_next_round():
    first = offline(ask([*task(1, 1, "write the printer"), *task(2, 2, "write the docs")], 1_000))
    assert "- pending #1: write the printer\n- pending #2: write the docs" in first
    done = tool(3, "TaskUpdate", {"taskId": "1", "status": "completed"}, "Updated task #1 status", failed=False)
    assert told(done, [], previous=first)["Open items"] == ["pending #2: write the docs"]
    more = told(task(3, 3, "announce it"), [], previous=first)["Open items"]
    assert more == ["pending #1: write the printer", "pending #2: write the docs", "pending #3: announce it"]
    assert told([said("user", "Go on.")], [], previous=first)["Open items"][1:] == more[:2]


def test_a_ticket_is_no_task_of_the_agent():
    ticket = tool(1, "create_ticket", {"subject": "It crashes", "description": "d"}, "PROJ-1", failed=False)
    assert "Open items" not in told(ticket, [])


def test_a_command_that_ran_in_two_folders_is_two_commands():
    zone = [
        *tool(1, "Bash", {"command": "cd frontend && npm test"}, "Tests: 2 failed, 10 passed", failed=True),
        *tool(2, "Bash", {"command": "cd backend && npm test"}, "Tests: 30 passed", failed=False),
    ]
    found = told(zone, [])
    assert found["Commands"] == [
        "`npm test` in frontend: failed; Tests: 2 failed, 10 passed",
        "`npm test` in backend: ok; Tests: 30 passed",
    ]
    assert found["Errors"] == ["Tests: 2 failed, 10 passed"]
    mended = tool(3, "Bash", {"command": "npm test", "workdir": "frontend/"}, "Tests: 12 passed", failed=False)
    again = told(mended, [], previous=offline(ask(zone, 1_000)))
    assert again["Commands"] == [
        "`npm test` in backend: ok; Tests: 30 passed",
        "`npm test` in frontend: ok; Tests: 12 passed",
    ]
    alone = told(tool(1, "Bash", {"command": "cd frontend && npm test"}, "Tests: 30 passed", failed=False), [])
    assert alone["Commands"] == ["`npm test`: ok; Tests: 30 passed"]


def test_an_error_of_a_tool_is_not_resolved_by_commands():
    zone = [
        *tool(1, "rollout", {"env": "prod"}, "error: cannot reach cluster db01", failed=True),
        *run(2, "pytest", RED),
    ]
    first = offline(ask(zone, 1_000))
    found = told(run(3, "pytest", GREEN), [], previous=first)["Errors"]
    assert found == ["error: cannot reach cluster db01 (rollout)", "E KeyError: 'retries' (resolved)"]
    again = told(tool(3, "rollout", {"env": "prod"}, "rolled out", failed=False), [], previous=first)["Errors"]
    assert again == ["error: cannot reach cluster db01 (rollout) (resolved)", "E KeyError: 'retries'"]


def test_only_what_rm_removes_is_deleted():
    zone = [
        *run(1, "docker run --rm -v /srv/shop:/app img make", "ok"),
        *run(2, "git rm -r --ignore-unmatch .", "ok"),
        *run(3, "docker rm -f web", "ok"),
        *run(4, "rm -rf build/a.o build/b.o && make", "ok"),
    ]
    assert [one for one in told(zone, [])["Files"] if one.startswith("deleted")] == ["deleted: build/a.o build/b.o"]


def test_of_several_suites_in_an_output_one_that_failed_is_told():
    output = "test result: FAILED. 3 passed; 1 failed\ntest result: ok. 25 passed; 0 failed"
    found = told(run(1, "cargo test --no-fail-fast 2>&1 | grep result", output), [])
    assert "FAILED. 3 passed; 1 failed" in found["Commands"][0]
