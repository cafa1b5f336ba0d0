"""A model's summary is held to its messages: what stands nowhere goes, what is missing comes, and the event says so."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trimtab
from oracles.claims import stands
from support.command import run
from support.models import CLAUDE_HAIKU, GPT
from support.transcripts import transcript
from trimtab import _core
from trimtab.policies import POLICIES
from trimtab.summarize import Answer, Anthropic, Ask, Facts, Limits, OpenAI, facts, render, turn
from trimtab.summarize.attempts import attempts
from trimtab.summarize.chunks import chunks
from trimtab.summarize.held import foreign, held, lacks, own, titles_of, with_rules
from trimtab.summarize.languages import HEADINGS, language
from trimtab.summarize.sections import AGENT, CHAT, from_json, schema, task
from trimtab.summarize.units import joined, units

ROOT = Path(__file__).resolve().parents[3]
RULE = "Never push to main without asking me first."


def _evaluation() -> Any:
    """The evaluation of evals/held.py."""
    spec = importlib.util.spec_from_file_location("held_evaluation", ROOT / "evals" / "held.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


EVALUATION = _evaluation()


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def ran(key: str, command: str, output: str, *, failed: bool = False) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": key, "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": key, "content": output, "is_error": failed}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


TALK = (
    said("user", f"Please mend parse_args in src/app/main.py, port 8443. {RULE}"),
    said("assistant", "The cause is that parse_args cuts at 512 rows."),
    *ran("t1", "pytest -q", "1 failed, 3 passed", failed=True),
)


def ask(*messages: Any, **given: Any) -> Ask:
    made = Ask(messages=messages or TALK, provider="anthropic", max_tokens=2_000, count=lambda text: len(text) // 4)
    made = replace(made, **given)
    return replace(made, facts=facts(made)) if "facts" not in given else made


def after_checks(text: str, **given: Any) -> Answer:
    return held(Answer(own(text)), ask(**given))


@pytest.mark.parametrize("seed", range(0, 500, 25))
def test_every_fault_of_500_generated_answers_is_caught_and_no_true_bullet_is_lost(seed: int) -> None:
    for one in range(seed, seed + 25):
        made = EVALUATION.case(one)
        assert EVALUATION.problems(made) == ([], 0), (one, made.faults)


@pytest.mark.parametrize(
    ("line", "claim"),
    [
        ("- Changed `src/app/other.py` too.", "src/app/other.py"),
        ("- Changed src/app/other.py too.", "src/app/other.py"),
        ("- It calls parse_opts.", "parse_opts"),
        ("- The port is 9443.", "9443"),
        ('- The user said "push whenever you like".', "push whenever you like"),
        ("- `pytest -q` passed.", "that `pytest -q` passed"),
        ("- All tests pass now.", "that `pytest` passed"),
    ],
)
def test_a_bullet_whose_claim_stands_nowhere_is_dropped_and_named(line: str, claim: str) -> None:
    answer = after_checks(f"## Facts\n- The port is 8443.\n{line}\n  - a child of it\n- parse_args cuts at 512 rows.")
    assert line not in answer.text
    assert "a child of it" not in answer.text
    assert "- The port is 8443.\n- parse_args cuts at 512 rows." in answer.text
    assert line.removeprefix("- ")[:10] in answer.dropped[0]
    assert claim.split("`", maxsplit=1)[0] in answer.dropped[0]


def test_a_sentence_is_dropped_out_of_its_paragraph() -> None:
    answer = after_checks("The port is 8443. It calls parse_opts. The cause is parse_args.")
    assert answer.text.startswith("## Rules") or answer.text.startswith("The port")
    assert "The port is 8443. The cause is parse_args." in answer.text
    assert "parse_opts" not in answer.text


def test_a_heading_of_which_nothing_is_left_goes_too() -> None:
    answer = after_checks("## Facts\n- The port is 8443.\n\n## Files\n- lib/nowhere.py was written.\n")
    assert "## Files" not in answer.text
    assert "## Facts" in answer.text


def test_an_answer_of_which_nothing_is_left_is_none() -> None:
    assert after_checks("- lib/nowhere.py was written.").text == ""
    done = trimtab.Compactor(GPT, summarizer=lambda _: "lib/nowhere.py was written.").compact(
        transcript(" ".join("u:60 a:90" for _ in range(30))), target_share=0.5
    )
    assert done.summarizer == "offline"
    assert "it holds what stands nowhere in the conversation: lib/nowhere.py" in done.reason


def test_what_stands_nowhere_is_sent_back_once_and_named() -> None:
    flow = attempts(ask(), Limits(), clock=lambda: 0.0, chance=lambda: 0.0)
    next(flow)
    again = flow.send(Answer("It is in src/nowhere.py.", usage={"calls": 1}))
    assert again.ask.correction == "it holds what stands nowhere in the conversation: src/nowhere.py"
    assert "src/nowhere.py" in render(again.ask).user
    with pytest.raises(StopIteration) as done:
        flow.send(Answer("It is in src/app/main.py.", usage={"calls": 1}))
    assert "src/app/main.py" in done.value.value.text
    assert done.value.value.dropped == ()
    assert done.value.value.usage == {"calls": 2}


def test_missing_rules_are_added_word_by_word_before_everything() -> None:
    answer = after_checks("- parse_args cuts at 512 rows in src/app/main.py; please mend it, port 8443.")
    assert answer.text.startswith("## Rules\n- ")
    assert RULE in answer.text.splitlines()[1]
    assert any(RULE in added for added in answer.added)
    again = held(Answer(answer.text), ask())
    assert (again.text, again.added) == (answer.text, ()), "idempotent"


def test_missing_rules_get_no_heading_in_a_short_list_of_bullets() -> None:
    def written(text: str, limit: int = 390) -> str:
        return with_rules(text, [RULE], titles_of(None), limit, len)[0]

    assert (
        written("- The cap is 512 rows.\n- It is in main.py.")
        == f"- {RULE}\n- The cap is 512 rows.\n- It is in main.py."
    )
    assert written("- The cap is 512 rows.", limit=2_000).startswith("## Rules\n- ")
    assert written("The cap is 512 rows.\n- It is in main.py.").startswith("## Rules\n- ")


def test_no_rule_leaves_for_another_rule() -> None:
    first, second = "- Never touch the billing tables.", "- Always run the linter first."
    missing = ["Never push to main without asking."]
    full = f"{first}\n{second}"
    assert with_rules(full, missing, titles_of(None), len(full) + 10, len) == (full, [], [])
    other = f"{first}\n- The cap is 512 rows, not 256.\n{second}"
    text, added, out = with_rules(other, missing, titles_of(None), len(other) + 10, len)
    assert text == f"- {missing[0]}\n{first}\n{second}"
    assert (added, out) == (missing, ["- The cap is 512 rows, not 256. [in place of it: rules]"])


def test_a_rule_that_an_earlier_summary_has_is_kept_in_each_round() -> None:
    previous = f"## Rules\n- {RULE}\n- tabs, no spaces\n\n## Facts\n- nothing"
    found = facts(ask(said("user", "go on"), said("assistant", "I go on"), previous=previous, facts=None))
    assert found.rules == (RULE, "tabs, no spaces")


@pytest.mark.parametrize(
    "line", ["I don't know what it was.", "It never works.", "Why must I do that?", "They always fail"]
)
def test_a_sentence_that_says_how_something_is_gives_no_rule(line: str) -> None:
    assert _core.facts(([said("user", line)], []), "")[0] == []


def test_open_tasks_and_written_files_that_an_answer_lacks_are_added() -> None:
    todos = [
        {"content": "mend the lexer", "status": "in_progress"},
        {"content": "write the notes", "status": "completed"},
    ]
    calls = [
        {"type": "tool_use", "id": "a", "name": "TodoWrite", "input": {"todos": todos}},
        {"type": "tool_use", "id": "b", "name": "Write", "input": {"file_path": "src/lexer.py", "content": "x"}},
    ]
    results = [{"type": "tool_result", "tool_use_id": key, "content": "done"} for key in "ab"]
    messages = (said("user", "mend it"), {"role": "assistant", "content": calls}, {"role": "user", "content": results})
    answer = held(Answer("The user wants it mended."), ask(*messages))
    assert "in progress: mend the lexer" in answer.text
    assert "written: src/lexer.py" in answer.text
    assert "write the notes" not in answer.text


def test_added_facts_never_break_the_limit_and_rules_take_the_place_of_the_last_lines() -> None:
    lines = [f"- parse_args cuts at 512 rows, said for the {'x' * n} time." for n in range(1, 12)]
    limit = len("\n".join(lines)) // 4 + 4
    answer = after_checks("\n".join(lines), max_tokens=limit)
    assert len(answer.text) // 4 <= limit
    assert RULE in answer.text
    assert any("[in place of it: rules]" in line for line in answer.dropped)


@pytest.mark.parametrize("code", sorted(EVALUATION.TALK))
def test_each_language_is_known_and_another_one_is_sent_back(code: str) -> None:
    assert language(EVALUATION.TALK[code] * 2) == code
    other = "de" if code != "de" else "fr"
    wrong = foreign(EVALUATION.TALK[other] * 2, Facts(language=code))
    assert wrong is not None
    assert wrong.startswith("the answer is in ")
    assert foreign(EVALUATION.TALK[code] * 2, Facts(language=code)) is None


def test_a_quotation_in_the_users_language_makes_no_other_language() -> None:
    text = "The user said that it was " + '"el perro de la casa y el gato de la casa" and that is all of it for now.'
    assert foreign(text, Facts(language="en")) is None
    assert foreign("x = 1", Facts(language="en")) is None


def test_missing_facts_have_headings_in_the_conversations_language() -> None:
    words = "Por favor, arregla el archivo de la casa que está en el jardín y no en la calle, porque es muy importante."
    made = ask(said("user", words), said("assistant", "Sí, lo hago ahora para la casa y el jardín."))
    assert made.facts is not None
    assert made.facts.language == "es"
    assert HEADINGS["es"][1] in held(Answer("Nada más."), made).text
    assert "in Spanish" in render(made).system


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>\nhm\n</think>\n\nIt is done.", "It is done."),
        ("<thinking>a</thinking><analysis>b</analysis>\nIt is done.", "It is done."),
        ("hm, so\n</think>\nIt is done.", "It is done."),
        ("<analysis>a</analysis>\n<summary>\nIt is done.\n</summary>", "It is done."),
        ("<think>never closed", ""),
        ("It is done: `<think>` is a tag, and </think> too.", "It is done: `<think>` is a tag, and </think> too."),
        ("The page has <summary>x</summary> in it.", "The page has <summary>x</summary> in it."),
    ],
)
def test_reasoning_is_taken_off_where_it_is_the_answers_own(text: str, left: str) -> None:
    assert own(text) == left


def test_an_answer_of_json_is_written_out() -> None:
    found = {"rules": ["Never push.", "- tabs"], "files": [], "open_items": ["go on\n"]}
    assert from_json(json.dumps(found)) == "## Rules\n- Never push.\n- tabs\n\n## Open items\n- go on"
    for other in ("{not json", '{"other": []}', '{"rules": "text"}', "{}", "[1]"):
        assert from_json(other) == other


@given(st.text(alphabet='ab.! \n-#`"1)*', max_size=200))
def test_the_units_of_a_text_are_the_text(text: str) -> None:
    assert "".join(unit.text for unit in units(text)) == text
    assert joined(units(text)) == joined(units(joined(units(text))))


WORDS = st.sampled_from(
    ["a", "src/b.py", "don't", "é", "日本", "12", "200ms", "x_y", "\\n", '\\"', "Über", "-", "c", "ß"]
)


@given(st.lists(WORDS, max_size=12), st.lists(WORDS, min_size=1, max_size=3))
def test_a_quotation_stands_where_its_words_stand_side_by_side(source: list[str], quotation: list[str]) -> None:
    text, quoted = " ".join(source), " ".join(word.replace("\\", "").replace('"', "") for word in quotation)
    found = _core.unfounded([f"“{quoted}”"], ([said("user", text)], []), [])
    assert (("quotation", quoted) not in found[0]) == (stands(quoted, text) or stands(quoted, "user"))


@given(
    st.lists(st.sampled_from(["error: no such file", "ok part", "see parse_args here", "", "x" * 400]), max_size=300)
)
def test_a_long_result_is_cut_to_lines_of_its_own_in_their_order(lines: list[str]) -> None:
    text = "\n".join(lines)
    messages = ran("t", "make parse_args", text)
    found = _core.entries(messages, 600)[1][3]
    if len(text) <= 600:
        assert found == text
        return
    left, kept = 0, []
    for line in found.split("\n"):
        if line.startswith("[") and line.endswith("left out]"):
            left += int(line[1:].split()[0])
        else:
            kept.append(line)
    remaining = iter(text.splitlines())
    assert all(any(one == line or one[:300] + "…" == line for one in remaining) for line in kept)
    assert sum(len(line) + 1 for line in kept) <= 602 + len(kept)


ODD = st.text(st.sampled_from("aü日한 \n.,'\"`/\\-1_é\u0301😀İ:@#[]“”"), max_size=40)


@given(ODD, ODD, ODD)
def test_no_text_breaks_a_check(answer: str, user: str, output: str) -> None:
    messages = [said("user", user), *ran("t", user, output * 20)]
    _core.unfounded([answer], (messages, []), [output])
    _core.facts((messages, []), answer)
    _core.entries(messages, 100)
    made = ask(*messages)
    left = held(Answer(own(answer)), made)
    assert held(Answer(left.text), made).text == left.text, "idempotent"


def test_lines_with_errors_and_names_that_come_back_stay_in_a_result_of_a_request() -> None:
    log = [f"compiling unit number {n} of all" for n in range(600)]
    log[300], log[400] = "error: parse_args was not found", "note: src/app/main.py has it"
    messages = (*TALK, *ran("t2", "make", "\n".join(log)))
    prompt = render(ask(*messages))
    assert log[300] in prompt.user
    assert log[400] in prompt.user
    assert "lines left out]" in prompt.user
    assert log[250] not in prompt.user


def test_a_request_has_the_state_what_stays_and_the_sections_of_its_kind() -> None:
    behind = (said("user", "Now the lexer."), said("assistant", "I go on with the lexer."))
    prompt = render(ask(after=behind, previous="## Facts\n- earlier"))
    assert all(f"## {section.heading}:" in prompt.system for section in AGENT)
    state = prompt.user.partition(f"<state {prompt.nonce}>")[2].partition(f"</state {prompt.nonce}>")[0]
    assert "pytest -q" in state
    assert RULE in state
    stays = prompt.user.partition(f"<stays {prompt.nonce}>")[2].partition(f"</stays {prompt.nonce}>")[0]
    assert f"[{prompt.nonce} 5 user]\nNow the lexer." in stays
    assert f"<summary-so-far {prompt.nonce}>\n## Facts" in prompt.user
    chat = render(ask(said("user", "Hello, I am Ann."), said("assistant", "Hello Ann.")))
    assert "the assistant of a chat" in chat.system
    assert "<state " in turn(ask())
    made = ask(said("user", "Hello"))
    assert made.facts is not None
    assert made.facts.sections is CHAT


def test_a_document_s_preset_keeps_its_words_and_its_model_s_answer() -> None:
    asked: list[Ask] = []

    def writer(one: Ask) -> str:
        asked.append(one)
        headings = one.template.topics if one.template and one.template.require_headings else ()
        return "\n".join([*(f"## {name}" for name in headings), "Wrote src/nowhere.py, 31337 times."])

    messages = transcript(" ".join("u:60 a:90" for _ in range(300)), provider="anthropic")
    for name, policy in POLICIES.items():
        if policy.summarize is None or policy.summarize.template is None:
            continue
        cm = trimtab.Compactor("claude-haiku-4-5", policy=name, summarizer=writer)
        done = cm.compact(messages, target_tokens=9_000)
        if done.summarizer == "writer":
            assert "src/nowhere.py" in (done.summary or ""), name
            assert (done.dropped, done.added) == ((), ())
    assert asked
    assert all(one.facts is None for one in asked)


def test_the_event_has_the_cost_what_was_dropped_and_what_was_added() -> None:
    told: list[Any] = []
    answer = Answer("It is done. Wrote src/nowhere.py.", usage={"calls": 1, "output_tokens": 9, "cost": 0.25})
    cm = trimtab.Compactor(GPT, summarizer=lambda _: answer, listeners=[told.append])
    messages = [
        said("user", f"Please tidy the garden shed. {RULE}"),
        *transcript(" ".join("a:60 u:90" for _ in range(30))),
    ]
    done = cm.compact(messages, target_share=0.5)
    event = told[-1]
    assert event.usage == done.usage == {"calls": 2, "output_tokens": 18, "cost": 0.5}
    assert event.dropped == done.dropped
    assert event.dropped[0] == "Wrote src/nowhere.py. [nowhere: src/nowhere.py]"
    assert event.added == done.added
    assert any(RULE in line for line in event.added)


def test_parts_of_a_zone_are_checked_before_they_are_merged() -> None:
    asked: list[Ask] = []

    def writer(one: Ask) -> str:
        asked.append(one)
        return "It is done. Wrote src/nowhere.py."

    messages = transcript(" ".join("u:200 a:200" for _ in range(40)), provider="anthropic")
    cm = trimtab.Compactor(GPT, summarizer=trimtab.summarize.Function(writer, window=9_000))
    done = cm.compact(messages, target_share=0.2)
    assert len(asked) > 3
    assert "nowhere.py" not in (done.summary or "")
    assert sum("nowhere.py" in line for line in done.dropped) >= 2


# --- structured output ---


@pytest.mark.parametrize(
    ("writer", "yes"),
    [
        (Anthropic(CLAUDE_HAIKU), True),
        (Anthropic("claude-3-5-haiku-20241022"), False),
        (Anthropic(CLAUDE_HAIKU, base_url="http://localhost:1"), False),
        (OpenAI("gpt-5.5"), True),
        (OpenAI("gpt-3.5-turbo"), False),
        (OpenAI("gpt-5.5", base_url="http://localhost:1/v1"), False),
    ],
)
def test_only_a_provider_that_holds_answers_to_a_schema_is_asked_to(writer: Any, yes: bool) -> None:
    assert writer.is_structured(ask()) is yes
    assert writer.is_structured(ask(facts=None)) is False


def test_a_schema_has_each_section_and_the_request_says_so() -> None:
    made = schema(AGENT)
    assert made["required"] == [section.key for section in AGENT] == list(made["properties"])
    assert "JSON" in render(ask(structured=True)).system
    assert "JSON" not in render(ask()).system
    assert "## Rules: " in task(CHAT)


class _RefusedError(Exception):
    status_code = 400


class _Refusing(OpenAI):
    """A provider of its own server that refuses a schema."""

    def open(self, *_: Any) -> Any:
        return object()

    def create(self, _: Any, one: Ask, __: float | None) -> Any:
        if one.structured:
            raise _RefusedError
        return one

    def answer(self, message: Any, _: Ask) -> Answer:
        return Answer(f"plain {message.structured}")


def test_a_refused_schema_is_followed_by_a_plain_request() -> None:
    session = _Refusing("gpt-5.5").session()
    assert session.call(ask(), None).text == "plain False"
    assert session.formed(ask()).structured is False, "and is not sent again"


# --- the command line ---


def test_plan_shows_the_offline_summary_before_anything_is_done(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    messages = [said("user", RULE), *transcript(" ".join("a:60 u:90" for _ in range(30)), provider="anthropic")]
    path.write_text(json.dumps(messages))
    words = ("plan", str(path), "--target-share", "0.3", "--model", CLAUDE_HAIKU)
    shown = run(*words, "--summary")
    assert "the summary that the offline summarizer writes (" in shown.stdout
    assert RULE in shown.stdout
    assert RULE not in run(*words).stdout
    report = json.loads(run(*words, "--summary", "--json").stdout)
    assert RULE in report["summary"]
    assert "summary" not in json.loads(run(*words, "--json").stdout)
    plan = tmp_path / "plan.json"
    plan.write_text(run(*words, "--summary", "--json").stdout)
    assert run("apply", str(path), "--plan", str(plan), "-o", str(tmp_path / "o.json")).returncode == 0
    none = run("plan", str(path), "--summary", "--model", CLAUDE_HAIKU)
    assert "no summary: no message leaves" in none.stdout


# --- verdicts ---


@pytest.mark.parametrize(
    ("command", "ending"),
    [
        ("pytest -q", "ok; 3 passed"),
        ("pytest -q | tail -3", "not known, a pipe hides the exit code; output shows: 3 passed"),
        ("pytest -q || true", "not known, `||` hides the exit code; output shows: 3 passed"),
        ("pytest -q; echo done", "not known, a later command hides the exit code; output shows: 3 passed"),
        ("set -o pipefail; pytest -q | tail -3", "ok; 3 passed"),
    ],
)
def test_a_command_whose_exit_code_is_hidden_is_neither_passed_nor_failed(command: str, ending: str) -> None:
    state = ask(said("user", "run it"), *ran("t", command, "3 passed")).facts
    assert state is not None
    assert f"`{command}`: {ending}" in state.state


def test_a_hidden_success_leaves_an_earlier_failure_unresolved() -> None:
    messages = (
        said("user", "run"),
        *ran("a", "make all", "Error: no", failed=True),
        *ran("b", "make all | cat", "fine"),
    )
    made = ask(*messages).facts
    assert made is not None
    assert "later ok" not in made.state
    assert lacks("All is done.", ask(*messages)) is None


def test_a_prompt_s_shortened_results_are_counted_as_they_are_sent() -> None:
    counter = trimtab.Counter("o200k_base")
    long = "compiling one of many units\n" * 4_000
    messages = tuple(message for n in range(4) for message in ran(f"t{n}", f"make {n}", long))
    whole = ask(*messages, count=counter.count)
    capacity = counter.count(long) * 2
    assert len(chunks(whole, counter, capacity)) > 1
    assert chunks(whole, counter, capacity, rendered=True) == ()


def test_a_template_s_request_has_results_whole() -> None:
    made = ask(*ran("t", "make", "compiling one of many units\n" * 4_000), facts=None)
    assert "left out]" not in render(made).user
    assert "left out]" in render(replace(made, facts=facts(made))).user
