"""Which words, names and paths a summary takes, and which it leaves."""

from __future__ import annotations

import pytest

from support.offline_cases import ask, said, sections, tool
from trimtab.summarize.offline import offline


def told(*messages: dict, limit: int = 1_000, **more) -> dict[str, list[str]]:
    return sections(offline(ask(messages, limit, **more)))


def order(first: str, second: str, *messages: dict) -> bool:
    """Whether the first text is kept by a limit that leaves no room for the second."""
    texts = (offline(ask(messages, limit)) for limit in range(5, 300))
    return next(first in text for text in texts if (first in text) != (second in text))


OLD = said("assistant", "The cache keeps every row of the ledger forever.")
OTHER = said("assistant", "Counting is done in one pass over the blocks.")


@pytest.mark.parametrize(
    "later",
    [
        said("assistant", "I was wrong: the cache drops every row of the ledger at night."),
        said("assistant", "The cache does not keep every row of the ledger."),
        said("user", "Actually the cache keeps a row of the ledger for a day."),
    ],
    ids=["admitted", "contrary", "corrected by the user"],
)
def test_a_statement_that_is_taken_back_ranks_behind_its_correction_and_the_rest(later):
    assert order(later["content"], OLD["content"], OLD, OTHER, later, said("user", "Next: the docs."))
    assert order(OTHER["content"], OLD["content"], OLD, OTHER, later, said("user", "Next: the docs."))


def test_a_statement_is_also_taken_back_behind_the_zone():
    after = (said("assistant", "I was wrong: the cache drops every row of the ledger at night."),)
    zone = (OLD, OTHER)
    texts = [offline(ask(zone, limit, after=after)) for limit in range(10, 60)]
    assert any(OTHER["content"] in text and OLD["content"] not in text for text in texts)
    assert not any(OLD["content"] in text and OTHER["content"] not in text for text in texts)


def test_agreement_takes_nothing_back():
    again = said("assistant", "The cache keeps every row of the ledger forever, as the test shows.")
    assert OLD["content"] in told(OLD, OTHER, again)["Decisions"]


def test_what_the_user_refuses_ranks_last():
    refused = said("assistant", "I put the exporter into the public module because it is easy to reach.")
    messages = (OTHER, said("user", "Write the exporter."), refused, said("user", "No. It stays private."))
    assert order(OTHER["content"], refused["content"], *messages)


@pytest.mark.parametrize(
    "renames",
    [
        [said("user", '"Slice" is taken: a slice is a part of a list here, so call the class `Span`.')],
        [said("user", "Please rename Slice to Span.")],
        [said("user", "Use `Span` instead of `Slice`.")],
        tool(1, "Bash", {"command": r"sed -i 's/\bSlice\b/Span/g' src/a.py"}, "ok"),
    ],
    ids=["call it", "rename", "instead of", "sed"],
)
def test_a_name_that_was_given_up_ranks_behind_the_new_one(renames):
    old = said("assistant", "The module is there, with `Slice` and its four columns.")
    messages = (old, OTHER, *renames, said("assistant", "It works with `Span` as well."))
    assert order(OTHER["content"], "four columns", *messages)
    listed = told(*messages, limit=400).get("Identifiers", [""])[0]
    assert "Slice" not in listed.split("Span")[0]


def test_a_name_in_backticks_is_a_name():
    text = "Please move everything that computes the totals of one account over to `Ledger` and its `Entry.cost`. "
    words = offline(ask([said("user", text * 3)], 20))
    assert "Ledger" in words
    assert "Entry.cost" in words


def test_names_that_somebody_wrote_rank_before_those_that_only_a_tool_gave():
    given = tool(1, "Read", {"file_path": "x.txt"}, " ".join(f"only_read{at}" for at in range(200)))
    wrote = tool(2, "Edit", {"file_path": "x.txt", "new_string": "def edited_name(): ..."}, "ok")
    text = offline(ask([*wrote, *given], 60))
    assert "edited_name" in text


def test_paths_are_told_from_one_root_and_once():
    root = "/srv/repo"
    messages = [
        said("user", "Fix pkg/core/load.py, please, and look at tests/test_load.py and save.py."),
        *(one for at in range(6) for one in tool(at, "Read", {"file_path": f"{root}/pkg/core/mod{at}.py"}, "x")),
        *tool(7, "Edit", {"file_path": f"{root}/pkg/core/load.py"}, "ok"),
        *tool(8, "Write", {"file_path": f"{root}/tests/test_load.py"}, "ok"),
        *tool(9, "Read", {"file_path": "./pkg/core/save.py"}, "ok"),
        *tool(10, "Bash", {"command": "cat core/load.py"}, "x"),
    ]
    found = told(*messages)
    assert found["Files"][0] == "root: /srv/repo"
    assert "created: tests/test_load.py" in found["Files"]
    assert "edited: pkg/core/load.py" in found["Files"]
    words = " ".join(found["Files"] + found.get("Identifiers", [])).split()
    assert sum(word.endswith("load.py") for word in words) == 2
    assert sum(word.endswith("save.py") for word in words) == 1


def test_the_working_folder_is_the_root_where_one_is_told():
    reads = [one for at in range(4) for one in tool(at, "Read", {"file_path": f"/srv/repo/pkg/a/m{at}.py"}, "x")]
    assert told(*reads)["Files"][0] == "root: /srv/repo/pkg/a"
    assert told(said("user", "<cwd>/srv/repo</cwd>"), *reads)["Files"][0] == "root: /srv/repo"


def test_a_home_is_no_root():
    far = tool(9, "Read", {"file_path": "/home/me/lib/python/generic.py"}, "x")
    reads = [one for at in range(3) for one in tool(at, "Read", {"file_path": f"/home/me/dev/app/m{at}.py"}, "x")]
    assert told(*reads, *far)["Files"][0] == "root: /home/me/dev/app"


def test_what_was_searched_is_not_read():
    messages = [
        *tool(1, "Grep", {"pattern": "load", "path": "/srv/repo/pkg/core"}, "x"),
        *tool(2, "Glob", {"pattern": "*.py", "path": "/srv/repo/"}, "x"),
        *tool(3, "Read", {"file_path": "/srv/repo/pkg/core/a.py"}, "x"),
    ]
    assert [one for one in told(*messages)["Files"] if one.startswith("read:")] == ["read: a.py"]


def test_a_sed_expression_is_no_path():
    shell = {"command": r"sed -i 's/\bold_name\b/new_name/g; s/_a/_b/g' src/app/load.py"}
    text = offline(ask(tool(1, "Bash", shell, "ok"), 500)).split("## Commands")[0]
    assert "src/app/load.py" in text
    assert "/g" not in text


def test_a_wrapped_paragraph_is_one_text():
    text = (
        "When the loader is started twice it returns None where I\n"
        "had expected a position. Find out why, and write a test\n"
        "that shows it.\n\nAnd tell me."
    )
    first = "When the loader is started twice it returns None where I had expected a position."
    assert told(said("user", text))["Requests"] == [
        f"{first} Find out why, and write a test that shows it.",
        "And tell me.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "- never touch the public names of any module\n- functions stay under forty lines each",
        "1. open the ledger and read all of the columns\n2. count the rows of the ledger once more",
        "Short lines\nthat somebody\nput below each other",
        "The loader is broken.\nthe log says more of it, and what I have read of it stands below",
    ],
    ids=["list", "numbers", "short lines", "room was left"],
)
def test_lines_that_were_not_wrapped_stay_apart(text):
    lines = [one for one in text.split("\n") if any(map(str.isalnum, one))]
    found = told(said("user", text))
    assert len([*found.get("Rules", ()), *found.get("Requests", ())]) == len(lines)


def test_small_talk_is_left_out_unless_it_is_the_last_request():
    messages = [said("user", "OK thanks. Make the loader retry."), said("user", "That is it."), said("user", "Better.")]
    assert told(*messages)["Requests"] == ["Make the loader retry.", "Better."]
    found = told(*messages, said("user", "No. It must wait."))
    assert (found["Rules"], found["Requests"]) == (["It must wait."], ["Make the loader retry."])


def test_small_talk_that_answers_a_question_is_told_with_it():
    messages = [said("assistant", "The limit is three. Shall I raise it to nine?"), said("user", "Yes please.")]
    assert told(*messages, said("user", "Then push."))["Requests"] == [
        "Yes please. (asked: Shall I raise it to nine?)",
        "Then push.",
    ]


def test_a_script_is_told_by_its_description_or_its_first_line_that_does_something():
    script = {"command": "python - <<'EOF'\nimport json\n\nfrom a import b\nprint(json.dumps(b()))\nEOF"}
    shown = told(
        *tool(1, "Bash", script | {"description": "Dump the table"}, "2 rows"), *tool(2, "Bash", script, "x\ny\nz")
    )
    assert shown["Commands"] == ["`python -` Dump the table: output shows: 2 rows", "`python -` print(json.dumps(b()))"]


def test_what_announces_the_next_step_ranks_last_where_the_step_was_taken():
    zone = [OTHER, said("assistant", "Now the parallel calls, as a test of their own.")]
    assert "Now the parallel" in offline(ask(zone, 25))
    assert "Now the parallel" not in offline(ask(zone, 25, after=tuple(tool(1, "Read", {"file_path": "a.py"}, "x"))))


def test_errors_that_differ_in_a_quoted_name_are_one():
    lines = "\n".join(f"Error getting the embedding for '{word}': no decoder was given" for word in ("a", "b", "c"))
    found = told(*tool(1, "Bash", {"command": "python embed.py"}, lines))["Errors"]
    assert found == ["Error getting the embedding for 'c': no decoder was given (x3)"]
