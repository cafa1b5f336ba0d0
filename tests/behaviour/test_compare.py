"""What ``eval-compare`` measures, on sessions whose numbers are known."""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from support.agents import Call
from trimtab import Counter, Model

ROOT = Path(__file__).resolve().parents[2]


def evaluation() -> list[Any]:
    """The files of ``evals/``, which import the ``adapters`` of ``benches/`` and leave that of ``tools/`` to others."""
    before, other = sys.path[:], sys.modules.pop("adapters", None)
    sys.path[:0] = [str(ROOT / "evals"), str(ROOT / "benches")]
    try:
        return [import_module(name) for name in ("compare", "_compare", "_compare_plain", "_compare_table", "_chats")]
    finally:
        sys.path[:] = before
        sys.modules.pop("adapters")
        if other:
            sys.modules["adapters"] = other


compare, _compare, _compare_plain, _compare_table, _chats = evaluation()
OURS, Row, better, table = _compare_table.OURS, _compare_table.Row, _compare_table.better, _compare_table.table

RULE = "Never touch the file billing.cfg without asking me."
SESSION = [
    {"role": "user", "content": RULE},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "1", "name": "read", "input": {"file_path": "/a/b/c.py"}}],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "1", "content": "line one of the file\nline two"}],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "It has two lines."}]},
    {"role": "user", "content": "Thank you, and now go on with the other file please."},
    {"role": "assistant", "content": "Done."},
]


def played(session: list[Any]) -> Any:
    counter = Counter.for_model(_compare.MODEL)
    return _compare.Played(lambda text: range(counter.count(text)), session=session)


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def tokens(*messages: dict[str, str]) -> int:
    return int(Counter.for_model(_compare.MODEL).per_message(list(messages), provider="openai_chat").sum())


def test_a_session_is_its_answers_with_what_came_before_and_after_each() -> None:
    first, second, third = _compare.turns(SESSION)
    call = Call("1", "read", {"file_path": "/a/b/c.py"})
    assert first == _compare.Turn(RULE, "", [call], {"1": "line one of the file\nline two"})
    assert (second.said, second.text, second.calls) == ("", "It has two lines.", [])
    assert (third.said, third.text) == (SESSION[4]["content"], "Done.")


def test_an_answer_with_calls_at_the_end_of_a_session_is_left_out() -> None:
    assert _compare.turns(SESSION[:2]) == []


def test_a_prompt_is_cached_up_to_the_first_message_that_changed() -> None:
    one, two, three, other = map(user, ("one " * 50, "two " * 60, "three " * 70, "other " * 60))
    bill, price = _compare.Bill(), Model.named(_compare.MODEL).price
    bill.prompt([one, two], "openai_chat", 10)
    assert bill.cached == 0
    bill.prompt([one, two, three], "openai_chat", 10)
    assert bill.cached == 10 + tokens(one) + tokens(two)
    bill.prompt([one, other, three], "openai_chat", 10)
    cached = 20 + 2 * tokens(one) + tokens(two)
    sent = 30 + 3 * tokens(one) + 2 * tokens(two) + 2 * tokens(three) + tokens(other)
    assert (bill.cached, bill.sent) == (cached, sent)
    assert bill.last == 10 + tokens(one) + tokens(other) + tokens(three)
    assert bill.dollars == pytest.approx((cached * price.cache_read + (sent - cached) * price.cache_write) / 1e6)


def test_prompts_for_answers_and_for_summaries_count_that_are_over_the_window() -> None:
    bill, over = _compare.Bill(), user("word " * (_compare.LIMIT + 1))
    bill.prompt([user("word")], "openai_chat")
    bill.summary(_compare.LIMIT)
    assert bill.over == 0
    bill.prompt([over], "openai_chat")
    bill.summary(_compare.LIMIT + 1)
    assert bill.over == 2


def test_what_is_kept_is_counted_by_kind() -> None:
    turns = _compare.turns(SESSION)
    needs = compare.coding(SESSION, ("billing.cfg", "payroll.cfg")).needs
    needs.facts = [_chats.Fact(("done",), 1.0)]
    whole = [user(RULE), user("a/b/c.py"), user(turns[0].results["1"]), user("Done.")]
    assert needs.kept(whole) == {
        "rules": (1, 2),
        "requests": (1, 2),
        "facts": (1, 1),
        "files": (1, 1),
        "results": (1, 1),
    }
    nothing = {kind: (0, many) for kind, (_, many) in needs.kept(whole).items()}
    assert needs.kept([user("line one of the file")]) == nothing


def test_a_loop_without_compaction_plays_the_recorded_answers_and_results() -> None:
    stub = played(_compare.turns(SESSION))
    asyncio.run(_compare_plain.ROWS["no compaction"](stub))
    assert (stub.calls, stub.summaries, stub.invalid, stub.bill.over) == (3, 0, 0, 0)
    assert [message["role"] for message in stub.last] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert stub.last[3]["content"] == "line one of the file\nline two"


def test_fit_keeps_a_long_session_within_the_window_where_no_compaction_does_not() -> None:
    long = [_compare.Turn(f"Look at part {n}.", "word " * 900) for n in range(40)]
    rows = {}
    for name, talk in _compare_plain.ROWS.items():
        stub = played(long)
        asyncio.run(talk(stub))
        rows[name] = stub.bill
    assert rows["no compaction"].over > 10
    assert rows["trimtab: `fit`"].over == 0
    assert rows["trimtab: `fit`"].sent < rows["no compaction"].sent


def test_a_summary_stands_for_those_lines_alone_that_were_shown() -> None:
    session = _compare.turns(SESSION)
    shown = list(_compare.seen(session, f"<user>{RULE}</user>"))
    assert shown == [user(RULE)]
    shown = list(_compare.seen(session, "read {'file_path': '/a/b/c.py'}\nline one of the file [cut"))
    assert [message["role"] for message in shown] == ["assistant", "user"]
    assert shown[1]["content"][0]["content"] == "line one of the file"


def test_a_summary_is_charged_with_its_request() -> None:
    stub = played(_compare.turns(SESSION))
    stub.calls = 3
    request = [user(f"Summarize.\n{RULE}")]
    said = stub.summarize(request)
    price, count = Model.named(_compare.MODEL).price, Counter.for_model(_compare.MODEL).count
    assert RULE in said
    expected = count(request[0]["content"]) * price.input + count(said) * price.output
    assert stub.bill.dollars == pytest.approx(expected / 1e6)


def test_the_text_of_a_compaction_item_is_shown_as_a_message() -> None:
    item = {"type": "compaction", "encrypted_content": RULE}
    assert _compare.opened([item, user("Go on.")]) == [user(RULE), user("Go on.")]


def row(name: str, **given: object) -> Any:
    return Row(name, **{"dollars": 1.0, "cached": 0.9, "kept": {"rules": (2, 3), "facts": (0, 0)}} | given)


def test_a_table_has_the_kinds_that_there_are_and_the_reasons_of_rows_that_did_not_run() -> None:
    lines = table([row("one", over=2, invalid=1, calls=5, summaries=3, last=1_234), Row("two", reason="not run: why")])
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0] == ["", "over the window", "calls", "dollars", "cached", "last prompt", "rules"]
    assert cells[2] == ["one", "2, 1 invalid", "5 + 3", "1.00", "90.0 %", "1,234", "2 of 3"]
    assert cells[3] == ["two", "not run: why", "", "", "", "", ""]


def test_where_another_row_is_better_it_is_named_unless_it_is_over_the_window() -> None:
    cheap, full = row("cheap", dollars=0.5), row("full", over=1, kept={"rules": (3, 3), "facts": (0, 0)})
    keeps = row("keeps", kept={"rules": (3, 3), "facts": (0, 0)}, cached=0.95)
    assert better([row(OURS), cheap, full, keeps, row("trimtab in X", dollars=0.1)]) == [
        "- dollars: cheap",
        "- cached: keeps",
        "- rules: keeps",
    ]


def test_a_rival_that_raises_has_its_reason_in_its_row() -> None:
    async def talk(stub: Any) -> None:
        stub.answer([user("one")], None)
        raise ValueError("of its own")

    found = compare.played("rival", talk, compare.coding(SESSION))
    assert found.reason == "stops after 1 calls: ValueError: of its own"


def test_a_place_that_does_not_install_has_its_reason_in_every_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, place: Any) -> str:
        raise SystemExit(f"{place.locks[0]} does not install: no network")

    monkeypatch.setattr(compare, "python", refuse)
    said, rows = compare.run("headroom", compare.PLACES["headroom"], ["coding", "chat"])
    assert said == "headroom-ai not run"
    assert [one.reason for one in rows["chat"]] == ["not run: headroom does not install: no network"]
    assert list(rows) == ["coding", "chat"]


def test_the_shown_rows_are_those_that_the_files_have() -> None:
    for place in compare.PLACES.values():
        folder = ROOT / ("evals" if place.module.startswith("_compare") else "benches")
        text = (folder / f"{place.module}.py").read_text()
        assert [name for name in place.rows if f'"{name}": ' not in text] == []


def test_the_rules_of_the_recorded_session_are_in_its_first_message() -> None:
    session = compare.sessions(["coding"])["coding"]
    said = session.turns[0].said.lower()
    assert [rule for rule in compare.RULES if rule not in said] == []
    assert len(session.needs.files) > 10


def test_the_page_has_its_tables_between_the_markers() -> None:
    text = compare.PAGE.read_text(encoding="utf-8")
    again = compare.page(text, ["one", "two"])
    assert compare.page(again, ["three"]) == compare.page(text, ["three"])
    assert "\none\ntwo\n" in again
    assert json.dumps(OURS)[1:-1] in text


def test_the_page_stays_where_a_rival_was_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    before = compare.PAGE.read_text(encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["compare.py", "--docs"])
    monkeypatch.setattr(compare, "report", lambda _: ["| langchain | not run: no wheel |"])
    with pytest.raises(SystemExit, match="stays as it is"):
        compare.main()
    assert compare.PAGE.read_text(encoding="utf-8") == before
