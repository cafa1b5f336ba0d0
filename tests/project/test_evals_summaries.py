"""The gate of ``evals/summaries.py`` holds, fails where summaries lose what matters, and measures what it says."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

EVALS = Path(__file__).resolve().parents[2] / "evals"


@pytest.fixture(scope="module")
def evals() -> Any:
    """Imports modules of evals/ by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EVALS))
        import_module("summaries")  # with all that it imports, before a test replaces a part
        yield import_module


def gate(evals: Any, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The exit code of the gate, without the kit wherever it is installed."""
    monkeypatch.setattr(sys, "argv", ["summaries.py", *words])
    monkeypatch.setattr(evals("_kit"), "HERE", False)
    return evals("summaries").main()


def used(call: str, name: str, **given: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": call, "name": name, "input": given}]}


def gave(call: str, text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text}]}


def test_no_measure_is_worse_than_its_floor(evals, monkeypatch, capsys) -> None:
    code = gate(evals, monkeypatch, "--quick")
    lines = capsys.readouterr().out.splitlines()
    assert code == 0, [line for line in lines if "worse" in line or "no floor" in line]
    assert lines[0] == evals("summaries").__doc__.splitlines()[0]
    assert any(line.startswith("trimtab ") and line.endswith(", quick") for line in lines)
    measured = [line for line in lines if line.endswith(", met") or ", missed: goal not reached, floor" in line]
    assert len(measured) > 50
    for group, number in (("English", 24), ("other languages", 16), ("generated anew", 8)):
        begin = f"written chats, {group}, 15%, one round: "
        assert [f" of {number}, goal 50," in line for line in lines if line.startswith(begin)] == [True], group
    assert "recorded: not measured, left out by --quick" in lines


def test_the_gate_fails_where_only_the_newest_messages_are_kept(evals, monkeypatch, capsys) -> None:
    rounds = evals("_rounds")
    worn = lambda messages, *_: [rounds.Round(40, messages[:40]), rounds.Round(len(messages), messages[-2:])]  # noqa: E731
    monkeypatch.setattr(rounds, "rounds", worn)
    assert gate(evals, monkeypatch, "--quick") == 1
    out = capsys.readouterr().out
    for name in ("one round, rules", "open tasks", "answers to questions", "project rules", "lost by the worst of"):
        assert any("missed" in line and f"planted, 30%, {name}" in line for line in out.splitlines()), name


def test_written_chats_miss_each_goal_where_only_the_newest_messages_are_kept(evals, monkeypatch) -> None:
    chats = evals("chats")
    monkeypatch.setattr(chats, "compacted", lambda messages, target, _: chats.newest(messages, target))
    found = list(evals("summaries").written_chats(quick=True))
    assert len(found) == 45
    assert [one.name for one in found if one.reaches(one.goal)] == []


@pytest.mark.parametrize("name", ["english-1", "english-2", "english-3", "generated", "languages-1", "languages-2"])
def test_a_written_chat_alternates_and_each_of_its_words_stands_in_a_users_message(evals, name: str) -> None:
    chats, kinds = evals("_written").chats(name), evals("_chats").KINDS
    text = (EVALS / "written" / f"{name}.json").read_text(encoding="utf-8")
    assert len(text.splitlines()) == len(chats) + 2  # one a line, so that a diff is readable
    assert [one.kind for one in chats] == [*kinds] * (len(chats) // len(kinds))
    for number, one in enumerate(chats):
        assert [said["role"] for said in one.messages] == [*["user", "assistant"] * (len(one.messages) // 2), "user"]
        said = [message["content"].lower() for message in one.messages if message["role"] == "user"]
        assert one.facts, number
        for fact in one.facts:
            assert fact.words, number
            assert fact.weight in {1, 2, 3}, number
            assert one.kind == "replaced" or not fact.old, number
            assert [word for word in fact.words + fact.old if not any(word in text for text in said)] == [], number


def test_each_file_of_written_chats_is_in_a_group(evals) -> None:
    written = evals("_written")
    assert sorted(written.NAMES) == sorted(path.stem for path in (EVALS / "written").iterdir())


def test_what_is_kept_of_chats_is_the_weight_of_the_facts_whose_words_all_stand_there(evals) -> None:
    chats, Chat, Fact = evals("chats"), evals("_chats").Chat, evals("_chats").Fact  # noqa: N806
    texts = ["Paint the fence RED, says Ada.", "Will do.", "And the gate?"]
    messages = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]
    one = Chat("named", messages, [Fact(("red", "ada"), 3.0), Fact(("gate",), 1.0)])
    assert chats.kept([one, one], 1.0, 1).percent() == 100
    newest = chats.kept([one], 0.5, 0)
    assert (newest.percent(), newest.percent("named"), newest.percent("rule"), newest.over) == (25, 25, 0, 0)


def test_the_written_chats_are_shown_by_file(evals, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["chats.py", "--written", "--seeds", "24-25"])
    evals("chats").main()
    heads = [line.split(" tokens, ") for line in capsys.readouterr().out.splitlines() if " chats of " in line]
    numbers = {head[1].split(";")[0]: int(head[0].split()[0]) for head in heads}
    assert numbers == dict.fromkeys(evals("_written").NAMES, 1) | {"generated": 2, "generated-2": 2}


def test_the_table_of_the_docs_has_a_row_for_each_group_of_written_chats(evals) -> None:
    measure = evals("_goals").Measure
    found = [measure("written chats, English, 15%, one round", 40, 72, 50)]
    found += [
        measure("written chats, English, 25%, one round", 97.2, 72, 70),
        measure("example, open tasks", 100, 6, 100),
    ]
    rows = evals("summaries").table(found).splitlines()[2:]
    assert rows == ["| written chats, English, one round | 15 %: 40 (50); 25 %: 97 (70) |"]


def test_a_folder_without_sessions_is_said(evals, tmp_path) -> None:
    assert evals("summaries").recorded(tmp_path) == []


def test_a_floor_holds_what_misses_its_goal_and_nothing_else(evals, tmp_path) -> None:
    goals = evals("_goals")
    high, low = goals.Measure("kept", 93.3, 15, 95), goals.Measure("names", 12.7, 40, 8, at_most=True)
    path = tmp_path / "floors.toml"
    goals.write_floors(path, "full", [high, low, goals.Measure("all", 100, 3, 100)])
    goals.write_floors(path, "quick", [high])
    assert goals.floors(path, "full") == {"kept": 91.3, "names": 14.7}
    assert goals.floors(path, "quick") == {"kept": 91.3}
    floors = goals.floors(path, "full")
    assert goals.verdict(high, floors) == ("kept: 93.3 % of 15, goal 95, missed: goal not reached, floor 91.3", True)
    goals.write_floors(path, "full", [goals.Measure("kept", 96, 15, 95)])
    assert goals.floors(path, "full") == {"names": 14.7}
    worse = goals.Measure("kept", 91.2, 15, 95)
    assert goals.verdict(worse, floors) == ("kept: 91.2 % of 15, goal 95, missed: worse than the floor 91.3", False)
    more = goals.Measure("names", 14.8, 40, 8, at_most=True)
    assert goals.verdict(more, floors)[1] is False
    assert goals.verdict(goals.Measure("new", 94.9, 15, 95), floors)[1] is False
    assert goals.verdict(goals.Measure("names", 8, 40, 8, at_most=True), floors)[0].endswith("goal at most 8, met")


def test_each_planted_session_has_all_that_is_looked_for(evals) -> None:
    said, planted = evals("_said"), evals("_planted")
    for seed in range(4):
        messages = planted.session(seed)
        assert len(said.rules(said.typed(messages))) == 3
        assert len(said.project_rules(messages)) == 4
        assert len(said.answers(messages)) == 1
        assert len(said.files(messages)) == 4
        place, open_ = said.standing_tasks(messages)
        assert place in said.places(messages)
        assert len(open_) == 6
        assert evals("_form").verdicts(messages, "anthropic").of > 0


def test_long_instructions_of_a_project_are_read_to_their_end(evals) -> None:
    text = "# AGENTS.md instructions\n" + "The harbour is calm today.\n" * 800 + "Never sail without a second anchor."
    assert evals("_said").project_rules([{"role": "user", "content": text}]) == [" never sail without a second anchor "]
    assert evals("_said").typed([{"role": "user", "content": text}]) == []


def test_tasks_are_those_that_the_last_list_leaves_open(evals) -> None:
    messages = [
        used("a", "TaskCreate", subject="Paint the fence"),
        gave("a", "Task #7 created successfully: Paint the fence"),
        used("b", "TaskCreate", subject="Oil the gate"),
        gave("b", "Task #8 created successfully: Oil the gate"),
        used("c", "TaskUpdate", taskId="7", status="completed"),
        gave("c", "Updated task #7"),
        {"role": "assistant", "content": "The fence is red."},
    ]
    tasks = evals("_said").tasks
    assert tasks(messages) == [" oil the gate "]
    assert tasks(messages[:4]) == [" paint the fence ", " oil the gate "]
    plan = {"type": "function_call", "call_id": "d", "name": "update_plan"}
    plan["arguments"] = '{"plan": [{"step": "Sow", "status": "completed"}, {"step": "Reap", "status": "pending"}]}'
    assert tasks([*messages, plan]) == [" reap "]


@pytest.mark.parametrize(
    ("line", "is_bare"),
    [
        ("- names: load_rows ParcelTotal src/parcel/cache.py build.log", True),
        ("- load_rows, ParcelTotal, save_rows", True),
        ("- load_rows gives the rows to save_rows before ParcelTotal is known", False),
        ("- Never edit files in generated/parcel by hand.", False),
        ("- load_rows", False),
    ],
)
def test_a_bare_list_is_a_line_of_nothing_but_names(evals, line: str, is_bare: bool) -> None:
    assert bool(evals("_form").bare(line)) == is_bare


@pytest.mark.parametrize(
    ("line", "narrates"),
    [
        ("- Let me check the cache.", True),
        ("- Now let me look at how the rows are read.", True),
        ("- Perfect! I’ll run the tests next.", True),  # noqa: RUF001
        ("- I'll keep the function as it is, because two callers pass it around.", False),
        ("- The cache is read twice.", False),
    ],
)
def test_an_announcement_gives_no_reason_and_no_choice(evals, line: str, narrates: bool) -> None:
    assert evals("_form").narrates(line) == narrates


def test_names_of_the_tail_count_as_repeated(evals) -> None:
    form = evals("_form").Form()
    summary = "## Decisions\n- Let me see.\n- The cap is 40.\n\n## Identifiers\n- names: load_rows save_rows RowCap"
    form.add(summary, [{"role": "user", "content": "save_rows is wrong"}])
    assert (form.repeated.yes, form.repeated.of) == (1, 3)
    assert (form.narration.yes, form.narration.of) == (1, 2)
    assert form.bare.yes == len("- names: load_rows save_rows RowCap")


def test_an_ok_beside_an_error_line_is_counted(evals, monkeypatch) -> None:
    form = evals("_form")
    messages = [used("a", "Bash", command="make all"), gave("a", "error: nothing was built, the disk is full")]
    assert form.verdicts(messages, "anthropic").yes == 0
    monkeypatch.setattr(form, "offline", lambda _ask: "## Commands\n- `make all`: ok")
    assert form.verdicts(messages, "anthropic").yes == 1
