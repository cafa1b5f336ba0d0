"""What compactions keep: the items of a conversation, where they stand, and the compactions of session files."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import pytest
import test_formats_claude_code as claude_code
import test_formats_codex as codex
import test_formats_copilot_cli as copilot_cli
import test_formats_gemini_cli as gemini_cli
import test_formats_opencode as opencode
import test_formats_openhands as openhands
import test_formats_pi as pi

import trimtab
from trimtab import Counter, _core, read
from trimtab.audit.boundaries import boundaries
from trimtab.audit.items import KINDS, Item, items, told
from trimtab.audit.kept import Kept
from trimtab.audit.lists import Lists
from trimtab.audit.redirects import redirected
from trimtab.audit.standing import Texts
from trimtab.summarize.languages import SECTIONS

if TYPE_CHECKING:
    from pathlib import Path

RULE = "Never write to the harbour bucket without asking me first."
REQUEST = "Please mend the parser of the quarry in src/quarry/parse.py today."


def call(ref: str, tool: str, **given: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": ref, "name": tool, "input": given}]}


def result(ref: str, text: str, *, failed: bool = False) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": ref, "content": text, "is_error": failed}],
    }


TALK: list[dict[str, Any]] = [
    {"role": "user", "content": f"{REQUEST} {RULE}"},
    call("a", "Edit", file_path="src/quarry/parse.py", old_string="1", new_string="2"),
    result("a", "edited"),
    call("b", "TodoWrite", todos=[{"content": "Weigh the lantern again", "status": "pending"}]),
    result("b", "noted"),
    call("c", "Bash", command="pytest tests/test_lantern.py"),
    result("c", "E   AssertionError: lantern is 4 and not 5\n2 failed, 14 passed", failed=True),
    {"role": "assistant", "content": "The root cause is that the lantern was weighed twice because of the cache."},
    {"role": "user", "content": "ok, thanks"},
    {"role": "user", "content": "Then write the release notes of the orchard."},
]


def test_the_items_of_a_conversation_have_their_kind_and_message() -> None:
    found = items(TALK)
    assert [(item.kind, item.message) for item in found[:4]] == [
        ("rules", 0),
        ("requests", 0),
        ("requests", 9),
        ("tasks", 3),
    ]
    assert (found[0].text, found[1].text, found[3].text) == (RULE, REQUEST, "Weigh the lantern again")
    rest = [(item.kind, item.message) for item in found[4:]]
    assert ("decisions", 7) in rest
    assert ("files", 1) in rest
    assert ("errors", 6) in rest
    assert [item.kind for item in found] == sorted((item.kind for item in found), key=KINDS.index)


def test_what_was_taken_back_or_resolved_is_no_item() -> None:
    done = call("d", "TodoWrite", todos=[{"content": "Weigh the lantern again", "status": "completed"}])
    back = {"role": "user", "content": "Scratch that: you may write to the harbour bucket without asking me first."}
    again = call("e", "Bash", command="pytest tests/test_lantern.py")
    found = items([*TALK, done, result("d", "noted"), back, again, result("e", "16 passed")])
    assert [item for item in found if item.kind in ("tasks", "errors")] == []


def test_the_words_of_an_earlier_summary_are_not_the_users() -> None:
    summary = {"role": "user", "content": "<summary>\nAlways mow the meadow before noon.\n</summary>"}
    assert "meadow" in str(items([summary, *TALK]))
    found = items([summary, *TALK], without={0})
    assert "meadow" not in str(found)
    assert found[0] == Item("rules", 1, RULE)


def rules_of(text: str) -> list[str]:
    return [item.text for item in items([{"role": "user", "content": text}]) if item.kind == "rules"]


@pytest.mark.parametrize(
    "text",
    [
        "I don't understand the purpose of the lantern, it seems that the turbine does all of it.",
        "Start with the orchard alone, so we don't need the turbine for it.",
        "We currently don't use the turbine anyway, the orchard has its own.",
        "This causes the turbine to always return zero in the orchard.",
        "It is always possible to weigh the lantern again in the evening.",
        "The orchard is a good start so when it is sold we can ensure that no lantern is missing.",
        "One lantern would be simpler for the orchard and avoid the copy of the turbine.",
        "The form of the ledger was chosen to avoid a second lantern in the orchard.",
        "Can you look at the scales where we use the lantern but don't change the turbine",
        '"weight": "What of the lantern still needs to be done?",',
    ],
)
def test_a_description_with_a_word_of_a_rule_is_a_request_and_no_rule(text: str) -> None:
    assert rules_of(text) == []
    (rule,) = rules_of(f"{RULE} {text}")
    assert rule.startswith(RULE)


@pytest.mark.parametrize(
    "text",
    [
        "We don't need the old turbine, and never call it.",
        "I don't want you to touch the turbine.",
        "Remember to avoid the turbine in the orchard.",
        "Could you always weigh the lantern before the turbine.",
        "Make sure that the lantern is always weighed.",
        "We never push to the harbour directly.",
        "It is better to weigh a lantern twice than to lose one.",
        "For long dates, use the form of the ledger.",
        "On slow turbines (e.g. the old one) set a longer pause.",
    ],
)
def test_a_rule_binds_in_whatever_form(text: str) -> None:
    assert rules_of(text) == [text]


def test_a_rule_in_a_block_of_code_is_not_the_users_and_a_message_of_code_alone_is() -> None:
    pasted = "The config of the quarry:\n\n```yaml\nrules: Always weigh the lantern before the turbine.\n```\n\n"
    assert rules_of(f"{pasted}{RULE}") == [RULE]
    assert rules_of(f"```\n{RULE}\n```") == [RULE]


@pytest.mark.parametrize("text", ["For the lantern, write a test.", "In these files use the ledger."])
def test_an_instruction_for_one_thing_is_no_rule(text: str) -> None:
    assert rules_of(text) == []


def test_a_request_that_the_user_takes_back_is_none() -> None:
    asked = [
        {"role": "user", "content": f"Could you {what} please?"} for what in ("mow the meadow", "paint the harbour")
    ]
    back = {"role": "user", "content": "No, ignore this part, weigh the lantern of the turbine."}
    found = [item.message for item in items([*asked, back]) if item.kind == "requests"]
    assert found == [0, 2]


def test_a_request_stands_by_the_question_behind_what_was_pasted() -> None:
    log = "\n".join(f"Step {n}: the turbine of the quarry was checked by the foundry." for n in range(6))
    (item,) = items([{"role": "user", "content": f"{log}\n\nShould the lantern have a weight or not?"}])
    assert Texts(['the user said: "Should the lantern have a weight or not?"']).has(item)
    assert not Texts(["the user asked something"]).has(item)


@pytest.mark.parametrize(
    ("tool", "given", "files"),
    [
        ("bash_command", {"keystrokes": "echo 'a > b.txt' > quarry/stone.txt\n"}, ["quarry/stone.txt"]),
        ("Bash", {"command": "cd quarry && printf '%s' 1 >> stone.txt; ls 2>/dev/null"}, ["stone.txt"]),
        ("Bash", {"command": "echo 1 > /tmp/stone.txt; grep 'x > y.py' a.py; python a.py > out.log"}, []),
        ("Bash", {"command": "echo 'printf 1 > inner.txt'; echo 1"}, []),
        ("Bash", {"command": ["echo 1 > list.txt"]}, []),
    ],
)
def test_a_text_that_a_command_redirects_into_a_file_is_written(tool: str, given: Any, files: list[str]) -> None:
    assert [item.text for item in items([call("a", tool, **given)]) if item.kind == "files"] == files


def test_a_file_that_a_later_command_removes_is_not_written() -> None:
    talk = [call("a", "Run", keystrokes="echo 1 > a.txt; echo 2 > b.txt"), call("b", "Run", keystrokes="rm -f a.txt")]
    assert [item.text for item in items(talk) if item.kind == "files"] == ["b.txt"]


@pytest.mark.parametrize(
    ("kind", "item", "text", "stands"),
    [
        ("rules", RULE, f"- rules: {RULE.lower()}", True),
        ("rules", RULE, "never write to the harbour bucket, unless the user was asked first and is not without", True),
        ("rules", RULE, "- the harbour has a bucket", False),
        ("rules", RULE, "write to the harbour bucket with asking me first", False),
        ("rules", "Do NOT reset, leave the work directory dirty", "without resetting, work directory: dirty", True),
        ("rules", "Keep replies below 90 words.", "keep replies below 80 words", False),
        ("requests", f"{REQUEST}\nAnd", "user: please mend the parser of the quarry in src/quarry/parse.py", True),
        ("requests", REQUEST, "the quarry's parser is mended; src/quarry/parse.py today", True),
        ("requests", REQUEST, "the parser was looked at", False),
        ("requests", "How is the lantern weighed?", "the lantern is heavy", False),
        ("requests", "How is the lantern weighed?", "the user asked how it is that the lantern was weighed", True),
        ("files", "src/quarry/parse.py", "changed parse.py", True),
        ("files", "src/quarry/parse.py", "changed quarry/parse.py", True),
        ("files", "src/quarry/parse.py", "changed harbour/parse.py and quarry/parse.pyi", False),
        ("tasks", "Weigh the lantern again", "open: weigh the lantern again", True),
        ("tasks", "Weigh the lantern again", "the lantern is weighed", False),
        ("rules", "必ず日本語で答えてください。", "規則: 必ず日本語で答えてください", True),
        ("rules", "必ず日本語で答えてください。", "日本の本", False),
    ],
)  # fmt: skip
def test_an_item_stands_in_its_words_or_in_a_passage_with_most_of_them(
    kind: Any, item: str, text: str, stands: bool
) -> None:
    assert Texts(["first line", text, "last line"]).has(Item(kind, 0, item)) is stands


def test_kept_counts_by_kind_and_names_what_is_lost() -> None:
    kept = Kept.of(TALK, [{"role": "user", "content": f"{RULE} parse.py"}], ("rules", "requests", "files"))
    assert str(kept) == "1 of 1 rule, 0 of 2 requests, 1 of 1 file"
    assert [item.message for item in kept.lost] == [0, 9]
    fields = kept.fields()
    assert fields["kept"]["requests"] == {"kept": 0, "of": 2}
    assert fields["kept"]["tasks"] == {"kept": 0, "of": 0}
    assert [one["kind"] for one in fields["lost"]] == ["requests", "requests"]
    assert str(Kept()) == ""


LANGUAGES = {
    "es": "Nunca escribas en la carpeta del puerto sin que yo lo diga. Por favor arregla el archivo de la cantera.",
    "de": "Bitte repariere den Parser für den Steinbruch, und schreibe das niemals in den Ordner von dem Hafen.",
    "ru": "Пожалуйста, почини разбор файла карьера. Никогда не пиши в папку гавани без моего слова.",
    "ja": "採石場のパーサーを直してください。港のフォルダには決して書かないでください。",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_headings_of_offline_summaries_are_known_in_each_language(language: str) -> None:
    messages = [{"role": "user", "content": LANGUAGES[language]}, *TALK[5:8]]
    summary = _core.offline((messages, ()), ("", ""), 2_000, Counter.chars())
    headings = {line.lstrip("# ").lower() for line in summary.splitlines() if line.startswith("#")}
    assert len([heading for heading in headings if heading in SECTIONS]) >= 2
    assert [text for _, text in told(summary)]


def build(format: str) -> Any:
    """A session of a format with a rule and a request, and a compaction whose summary has the request alone."""
    said, short = f"{RULE} {REQUEST}", f"The user said: {REQUEST}"
    if format == "claude_code":
        lines = claude_code.COMPACTED
        found = [
            claude_code.user("1", None, said),
            *lines[1:3],
            claude_code.user("4", "3", short, isCompactSummary=True),
        ]
        return claude_code.session(*found, claude_code.user("6", "4", RULE), whole=True)
    if format == "codex":
        fresh = codex.items(codex.said("user", short))
        lines = [codex.said("user", said), codex.said("assistant", "first")]
        compacted = codex.line("compacted", message="", replacement_history=fresh)
        return codex.session(*lines, compacted, codex.said("user", RULE), whole=True)
    if format == "copilot_cli":
        done = copilot_cli.event("session.compaction_complete", success=True, summaryContent=short)
        start = copilot_cli.event("session.compaction_start", conversationTokens=9)
        talk = [copilot_cli.asks(said), copilot_cli.says("one"), start, done, copilot_cli.asks(RULE)]
        return copilot_cli.session(copilot_cli.START, *talk, whole=True)
    if format == "gemini_cli":
        lines = [gemini_cli.user("1", said), gemini_cli.model("2", "one", prompt=50)]
        change = {"$set": {"messages": [gemini_cli.user("s", short)]}}
        return gemini_cli.log(*lines, change, gemini_cli.user("4", RULE), whole=True)
    if format == "opencode":
        words = {"go": said, "short": short, "further": RULE}
        text = json.dumps([one for one in opencode.COMPACTED if one["info"]["id"] not in ("m3", "m4")])
        for old, new in words.items():
            text = text.replace(json.dumps(old), json.dumps(new))
        return opencode.session(*json.loads(text), whole=True)
    if format == "openhands":
        go = {**openhands.GO, "args": {**openhands.GO["args"], "content": said}}
        gone = openhands.act(6, "condensation", forgotten_event_ids=[go["id"]], summary=short, summary_offset=1)
        again = {**go, "id": 9, "args": {**go["args"], "content": RULE}}
        return openhands.session(openhands.SYSTEM, go, *openhands.CONDENSED[2:6], gone, again, whole=True)
    entries = [pi.said("1", None, "user", said), pi.answer("2", "1", pi.text("one"), prompt=9)]
    entries.append(pi.entry("compaction", "3", "2", summary=short, firstKeptEntryId="2"))
    return pi.session(*entries, pi.said("4", "3", "user", RULE), whole=True)


@pytest.mark.parametrize("format", ["claude_code", "codex", "copilot_cli", "gemini_cli", "opencode", "openhands", "pi"])
def test_the_audit_of_each_format_names_the_rule_that_its_summary_lost_and_where_it_was_said_again(format: str) -> None:
    found = build(format)
    (one,) = boundaries(found)
    assert [item.text.removeprefix("<date/> ") for item in one.kept.lost if item.kind == "rules"] == [RULE]
    assert one.kept.number("requests")[0] >= 1
    (place,) = {place for item, place in one.again.items() if item.kind == "rules"}
    assert RULE in json.dumps(found.messages[place])
    assert place > one.message - 1
    assert (one.number, one.sealed) == (1, False)


def test_a_file_that_is_read_again_behind_a_compaction_is_named() -> None:
    block = {"type": "tool_use", "id": "r", "name": "Read", "input": {"file_path": "a.py"}}
    done = [{"type": "tool_result", "tool_use_id": "r", "content": "x"}]
    lines = [
        claude_code.user("1", None, "go on with it please"),
        claude_code.says("2", "1", "m", block),
        claude_code.user("3", "2", done),
        claude_code.boundary("4", "3"),
        claude_code.summary("5", "4"),
        claude_code.says("6", "5", "n", {**block, "id": "s"}),
        claude_code.user("7", "6", [{**done[0], "tool_use_id": "s"}]),
    ]
    (one,) = boundaries(claude_code.session(*lines, whole=True))
    (again,) = one.reread
    assert (again.tool, again.file, again.before, again.message) == ("Read", "a.py", 1, 4)


def test_an_encrypted_summary_is_sealed() -> None:
    lines = [*codex.BEFORE, codex.COMPACTED, *codex.AFTER]
    (one,) = boundaries(codex.session(*lines, whole=True))
    assert one.sealed


def compacted(share: float) -> tuple[trimtab.Compaction[Any], list[Any]]:
    """A compaction of a talk with a long tail, and the events of it."""
    events: list[Any] = []
    cm = trimtab.Compactor("claude-sonnet-4-5", archive="memory", listeners=[events.append])
    tail = [one for n in range(30) for one in (call(f"x{n}", "Bash", command="ls"), result(f"x{n}", "nothing " * 60))]
    return cm.compact([*TALK, *tail], target_share=share), events


def test_a_compaction_says_what_it_kept_when_it_is_asked_and_so_does_its_event() -> None:
    done, events = compacted(0.3)
    assert "kept" not in vars(done.lists)
    assert str(done.kept) == "1 of 1 rule, 2 of 2 requests, 1 of 1 task, 1 of 1 file"
    assert done.kept.lost == ()
    (event,) = [one for one in events if isinstance(one, trimtab.events.Compacted)]
    assert event.kept is done.kept


def test_a_compaction_names_what_is_gone() -> None:
    done, _ = compacted(0.3)
    only = dataclasses.replace(done, lists=Lists(done.lists.before, [{"role": "user", "content": REQUEST}]))
    assert [(item.kind, item.message) for item in only.kept.lost] == [("rules", 0), ("requests", 9), ("tasks", 3)]


def test_a_compaction_that_did_nothing_lost_nothing() -> None:
    cm = trimtab.Compactor("claude-sonnet-4-5", archive="memory")
    done = cm.compact(TALK, target_tokens=100_000)
    assert (done.outcome, done.kept) == ("unchanged", Kept())


def test_the_rules_of_a_summary_of_trimtabs_own_count_in_the_next_round() -> None:
    done, _ = compacted(0.3)
    again = items(done.messages)
    assert [RULE in item.text for item in again if item.kind == "rules"] == [True]


@pytest.mark.shared
def test_an_item_that_an_earlier_compaction_lost_is_not_lost_again(shared: Path) -> None:
    folder = shared / "data" / "transcripts" / "claude-code" / "entireio+cli"
    name = "2026-01-08-0442a060-edc3-4307-bddb-11a2951fd1a1.jsonl"
    first, second = boundaries(read(folder / name, whole=True))
    gone = {*first.kept.lost}
    assert gone
    assert gone.isdisjoint({*second.kept.lost, *second.kept.there})


def test_blank_lines_in_front_of_a_command_are_looked_at_once() -> None:
    script = json.dumps({"command": "\n" * 200_000 + "  echo one > notes.md"})
    assert redirected([script]) == ["notes.md"]
