"""The offline summary tells errors that are errors, commands that do something, and decisions that are made."""

from __future__ import annotations

import pytest

from support.offline_cases import ask, said, sections, tool
from support.runs import ran
from trimtab.summarize.offline import offline

REFUSAL = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected. The user said: leave it as it is"
)


def told(*messages, after=()) -> dict[str, list[str]]:
    """The sections of a summary of some messages."""
    return sections(offline(ask(list(messages), 1_000, after=tuple(after))))


@pytest.mark.parametrize(
    "line",
    [
        "$ linter check --error-on-warnings",
        "> shop@1.2.0 check-errors",
        "node_modules/check-error/README.md",
        "  + plan_error_fix: Planning error fixes",
        '  status: "failed",',
        "### Debugging a failed run",
        "(pass) table > reads the error kind [5.00ms]",
        'echo "Test failed, see the recording"',
        "error: message,",
    ],
)
def test_an_echoed_command_a_path_a_change_and_a_field_are_no_errors(line):
    found = told(*ran("anthropic", "make all", f"cc -c a.c\n{line}\ndone"))
    assert "Errors" not in found
    assert found["Commands"] == ["`make all`"]


@pytest.mark.parametrize("line", ["error: no such column: price", "src/a.c:3:5: error: expected an expression"])
def test_an_error_line_is_one(line):
    assert told(*ran("anthropic", "make all", f"cc -c a.c\n{line}\ndone"))["Errors"] == [line]


@pytest.mark.parametrize("shown", ["exit: {}", "exit={}", "rc={}", "EXIT: {}"])
def test_an_exit_code_that_the_command_prints_is_its_own(shown):
    command = 'make all; echo "exit: $?"'
    failed = ran("anthropic", command, f"cc -c a.c\n{shown.format(2)}", is_error=False)
    assert told(*failed)["Commands"] == [f"`{command}`: exit 2"]
    went_well = ran("anthropic", command, f"cc -c a.c\n{shown.format(0)}", is_error=False)
    assert told(*went_well)["Commands"] == [f"`{command}`: ok"]


TOTALS = "error: connection refused\n\n 41 pass\n {} fail\n 93 expect() calls\nRan 41 tests across 5 files. [0.8s]"


def test_an_error_that_passing_tests_log_is_none():
    found = told(*ran("anthropic", "bun test", TOTALS.format(0), is_error=False))
    assert found["Commands"] == ["`bun test`: ok; 0 fail; Ran 41 tests across 5 files. [0.8s]"]
    assert "Errors" not in found


def test_an_error_of_failing_tests_is_one():
    found = told(*ran("anthropic", "bun test", TOTALS.format(2)))
    assert found["Commands"] == ["`bun test`: output shows: 2 fail; Ran 41 tests across 5 files. [0.8s]"]
    assert found["Errors"] == ["error: connection refused"]


def test_an_error_behind_the_totals_of_passing_tests_is_one():
    lint = "src/a.c:3:5: error: expected an expression"
    found = told(*ran("anthropic", "make all", f"{TOTALS.format(0)}\n{lint}", is_error=True))
    assert found["Errors"] == [lint]


def test_an_error_behind_the_totals_of_passing_tests_is_no_ok():
    found = told(
        *ran("anthropic", "make all", f"{TOTALS.format(0)}\nsrc/a.ts(3,5): error TS2: no such field", is_error=False)
    )
    assert found["Commands"][0].startswith(
        "`make all`: output shows: src/a.ts(3,5): error TS2: no such field; 0 fail; "
    )
    assert found["Errors"] == ["src/a.ts(3,5): error TS2: no such field"]


def test_an_error_that_passing_tests_log_is_none_where_another_test_fails():
    failed = TOTALS.format(1).replace("\n\n", "\nerror: expected 2, got 3\n(fail) sum\n\n")
    steps = [*ran("anthropic", "bun test", failed, is_error=True), *ran("anthropic", "bun test", TOTALS.format(0), 2)]
    assert {*told(*steps)["Errors"]} == {
        "error: expected 2, got 3 (a later call shows none)",
        "(fail) sum (a later call shows none)",
    }


def test_a_count_far_before_the_last_line_about_tests_is_not_theirs():
    far = "0 errors\n" + "a.c\n" * 9 + "Ran 41 tests across 5 files."
    assert told(*ran("anthropic", "bun test", far))["Commands"] == [
        "`bun test`: output shows: Ran 41 tests across 5 files."
    ]


def test_an_edit_that_does_not_fit_is_told_with_its_file_and_without_the_text_it_looked_for():
    quoted = 'title="Error Fix Plan"\nstatus: "failed", error: none of it'
    result = f"<tool_use_error>String to replace not found in file.\nString: {quoted}</tool_use_error>"
    edit = {"file_path": "/srv/shop/src/plan.tsx", "old_string": quoted, "new_string": "x"}
    assert told(*tool(1, "Edit", edit, result, failed=True))["Errors"] == [
        "String to replace not found in file. (plan.tsx)"
    ]


def test_a_failed_call_with_a_path_in_its_error_is_told_as_it_stands():
    search = {"path": "/srv/shop/src", "pattern": "price"}
    result = "ENOENT: no such file or directory, posix_spawn '/opt/rg'"
    assert told(*tool(1, "Grep", search, result, failed=True))["Errors"] == [result]


def test_a_plan_that_the_user_does_not_approve_is_no_error():
    result = "User chose to stay in plan mode and continue planning"
    assert "Errors" not in told(*tool(1, "ExitPlanMode", {"plan": "x"}, result, failed=True))


def test_a_call_that_the_user_refuses_is_no_error_and_did_not_fail():
    found = told(*ran("anthropic", "make deploy", REFUSAL, is_error=True))
    assert found["Commands"] == ["`make deploy`: refused by the user"]
    assert found["Requests"] == ["leave it as it is"]
    assert "Errors" not in found


@pytest.mark.parametrize(
    "command",
    [
        "git remote -v",
        "time git ls-files src",
        "gh pr view 12 --json state",
        "kubectl describe pod web-1",
        "tracker --readonly list",
        "tracker add --help",
        "sed 's/a/b/' notes.txt",
        "crew run core -- git diff --stat origin/main...HEAD",
        "git -C /srv/shop status --short",
        "git grep -n price origin/main -- src",
        "git worktree list && git branch",
        "TZ=UTC date",
        "TAG=$(git describe)",
        "crew session list 2>&1 | head -20",
        "crew skills get core --full",
        "timeout 30 tail -f shop.log > /tmp/shop.log",
        "bash -lc 'git status && ls'",
    ],
)
def test_a_command_that_only_looks_is_not_told(command):
    assert told(*ran("anthropic", command, "some lines\nof output"), *ran("anthropic", "make all", "cc", 2))[
        "Commands"
    ] == ["`make all`"]


@pytest.mark.parametrize(
    "command",
    [
        "git remote set-url origin x",
        "npm run list-prices",
        "sed -i 's/a/b/' notes.txt",
        "CI=1 npm test",
        "echo DEBUG=1 >> .env",
        "find . -name '*.o' -delete",
        "ls *.o | xargs rm",
        "git add -- cat.txt",
        "git checkout list",
        "test-all",
    ],
)
def test_a_command_that_does_something_is_told(command):
    assert told(*ran("anthropic", command, "done"))["Commands"] == [f"`{command}`"]


def test_the_command_inside_of_a_shells_quotes_is_told():
    assert told(*ran("anthropic", "bash -lc 'make all'", "cc"))["Commands"] == ["`make all`"]


def test_the_command_of_an_editor_is_no_shell_command():
    edit = {"command": "create", "path": "/srv/shop/hello.txt", "file_text": "hello"}
    found = told(*tool(1, "str_replace_editor", edit, "File created", failed=False))
    assert "Commands" not in found
    assert found["Files"] == ["root: /srv/shop", "created: hello.txt"]


def test_a_script_is_told_by_its_first_line_that_is_no_remark():
    shell = {"command": "# the tables first\nset -e\n\nmake tables\nmake all", "description": "Build everything"}
    assert told(*tool(1, "Bash", shell, "cc", failed=False))["Commands"] == ["`make tables` Build everything: ok; cc"]


def test_the_lines_of_an_exit_code_are_no_output_of_a_script_and_printing_it_makes_no_other_command():
    shell = {"command": "make tables\nmake all", "description": "Build everything"}
    output = "exit: 0\n<shellId: 39 completed with exit code 0>"
    assert told(*tool(1, "bash", shell, output))["Commands"] == ["`make tables` Build everything: ok"]
    twice = [*ran("anthropic", "make all", "cc"), *ran("anthropic", 'make all; echo "exit: $?"', "cc\nexit: 0", 2)]
    assert told(*twice)["Commands"] == ['`make all; echo "exit: $?"` (x2): ok']


PRUNED = "[trimtab: pruned 1,556 tokens of Bash command; restore 0af3]"


def test_a_command_that_was_pruned_is_told_by_its_description_and_resolves_nothing():
    lost = tool(1, "Bash", {"command": PRUNED, "description": "Commit the parser"}, "error: no such hook", failed=True)
    later = tool(2, "Bash", {"command": PRUNED}, "done", failed=False)
    found = told(*lost, *later)
    assert found["Commands"] == ["`…` Commit the parser: failed; error: no such hook"]
    assert found["Errors"] == ["error: no such hook"]


def test_an_error_whose_words_were_pruned_is_none():
    edit = {"file_path": "/srv/shop/src/plan.tsx", "old_string": "a", "new_string": "b"}
    assert "Errors" not in told(*tool(1, "Edit", edit, PRUNED, failed=True))


@pytest.mark.parametrize("line", ["Agents fail more often than people.", "(warnings are fine), 1 if any fail."])
def test_a_sentence_of_what_may_fail_is_no_error(line):
    found = told(*ran("anthropic", "crew guide", f"Waiting\n\n{line}\n"))
    assert "Errors" not in found
    assert found["Commands"] == ["`crew guide`"]


def test_a_command_inside_of_a_later_one_that_went_well_is_told_once():
    alone = ran("anthropic", "make lint", "", is_error=False)
    both = ran("anthropic", "make fmt && make lint", "", 2, is_error=False)
    assert told(*alone, *both)["Commands"] == ["`make fmt && make lint`: ok"]
    assert told(*both, *ran("anthropic", "make lint", "", 3, is_error=False))["Commands"] == [
        "`make fmt && make lint`: ok",
        "`make lint`: ok",
    ]


@pytest.mark.parametrize(
    ("later", "is_resolved"),
    [
        ("make fmt && make lint", True),
        ("make fmt && make lint || true", False),
        ("make fmt; make lint", False),
        ("git commit -m 'now && make lint' && make fmt", False),
        ("cd web && make fmt && cd .. && make lint", False),
    ],
)
def test_a_failure_is_resolved_by_a_chain_that_has_its_command(later, is_resolved):
    failed = ran("anthropic", "make lint", "src/a.c:3:5: error: no such field", is_error=True)
    found = told(*failed, *ran("anthropic", later, "", 2, is_error=False))
    assert found["Commands"][0].endswith(", later ok") == is_resolved
    assert found["Errors"][0].endswith(" (resolved)") == is_resolved


FOUND = said("assistant", "The parser reads the flag twice, once for each codec.")
LAST = said("assistant", "Both codecs read it once now, and the tests of the parser pass.")
NEXT = "I'll move the flag into the codec."


def decided(*messages, after=()) -> list[str]:
    """The decisions of a summary of some messages."""
    return told(*messages, after=after)["Decisions"]


def test_what_is_only_announced_goes_when_something_is_said_after_it():
    steps = [
        said("assistant", "Now let me look at the parser. It is in two files, which read the same flag."),
        FOUND,
        LAST,
    ]
    assert decided(*steps)[0] == "It is in two files, which read the same flag."
    assert not any("let me look" in line for line in decided(*steps))


def test_the_last_announcement_is_the_next_step_until_something_is_said_after_it():
    open_items = told(FOUND, said("assistant", NEXT))["Open items"]
    assert open_items == [f"last said: {NEXT}"]
    found = told(FOUND, said("assistant", NEXT), after=[LAST])
    assert not any(NEXT in line for lines in found.values() for line in lines)


def test_a_choice_with_its_reason_stays():
    choice = "I'll use a list instead of a map, so that the order of the flags stays."
    assert choice in decided(said("assistant", choice), FOUND, LAST)


def test_a_question_that_the_user_answered_goes():
    question = "Which option do you prefer, the old parser or the new one?"
    asked = said("assistant", f"{FOUND['content']} {question}")
    answer = said("user", "The new one, with its tests in tests/test_new.py.")
    assert question in decided(asked, LAST)
    assert question not in decided(asked, answer, LAST)


@pytest.mark.parametrize("verdict", ["The code looks correct.", "Good, the fix is in place.", "All clean."])
def test_a_judgement_of_nothing_named_goes_when_something_is_said_after_it(verdict):
    assert verdict not in decided(said("assistant", f"{verdict} The flag is read once by each of the codecs."), LAST)


def test_an_announcement_at_the_end_of_a_short_line_goes_when_something_is_said_after_it():
    found = decided(said("assistant", "All 1309 tests pass. Let me also run lint."), FOUND, LAST)
    assert found[0] == "All 1309 tests pass."
    short = "Tests pass. Let me rebuild the binary."
    assert not any("Tests pass" in line for line in decided(said("assistant", short), FOUND, LAST))


def test_what_somebody_waits_for_is_open_until_something_is_said_after_it():
    waits = "I'm waiting for that merge to finish before I touch the branch."
    assert f"last said: {waits}" in told(FOUND, said("assistant", f"The merge has begun. {waits}"))["Open items"]
    found = told(said("assistant", waits), FOUND, after=[LAST])
    assert not any(waits in line for lines in found.values() for line in lines)


def test_a_description_of_waiting_is_no_open_item():
    waits = "The close call blocks waiting for the request to be through."
    assert "Open items" not in told(said("user", "Why is it slow?"), said("assistant", waits), after=[LAST])


def test_the_steps_below_an_announcement_rank_below_what_was_found():
    steps = "Now I need to change three files:\n\n1. The loader of the tables\n2. The writer of the tables\n"
    text = offline(ask([said("assistant", steps), FOUND, LAST], 40, after=(said("user", "Go on with it."),)))
    assert FOUND["content"] in text
    assert "of the tables" not in text
