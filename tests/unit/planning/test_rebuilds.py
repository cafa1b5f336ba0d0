"""Calls whose cache reads fell: the cause that the file shows, and what the tokens cost."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import trimtab
from trimtab import Usage
from trimtab.cli import main
from trimtab.messages import BilledCall
from trimtab.planning.rebuilds import rebuilds

OPUS, HAIKU = "claude-opus-4-5-20251101", "claude-haiku-4-5-20251001"
START = datetime(2026, 1, 22, 21, 13, tzinfo=UTC)
TOKENS = [400, 600] * 20
"""Tokens of the messages."""

FIXED = 20_000
"""Tokens in front of the messages."""


def call(before: int, read: int, write: int, minutes: float = 0, **fields: Any) -> BilledCall:
    """Return a call whose prompt is the messages before it and what stands in front of them."""
    prompt = FIXED + sum(TOKENS[:before])
    usage = Usage(prompt - read - write, 100, read, write, fields.pop("hourly", 0))
    at = START.timestamp() + 60 * minutes
    return BilledCall(before, usage, **{"model": OPUS, "at": at, **fields})


def found(first: BilledCall, second: BilledCall, compactions: tuple[int, ...] = ()) -> list[tuple[str, str, int]]:
    """Return cause, words and paid tokens of the rebuilds between two calls."""
    messages = [{"role": "user", "content": "x"}] * len(TOKENS)
    session = trimtab.Transcript(
        messages, "anthropic", "claude_code", compactions=[*compactions], calls=[first, second]
    )
    return [(each.cause, each.why, each.again) for each in rebuilds(session, TOKENS)]


FIRST = call(20, 0, 30_000)
"""A call that writes its whole prompt."""

CAUSES = {
    "a warm cache": (call(22, 30_000, 1_000, 1), None),
    "a fall below the smallest part that is cached": (call(22, 28_977, 2_023, 1), None),
    "a compaction": (
        call(22, 20_000, 11_000, 1, compactions=1),
        ("compaction", "a compaction replaced the messages", 10_000),
    ),
    "another model": (call(22, 0, 31_000, 1, model=HAIKU), ("model", f"another model: {OPUS} before", 30_000)),
    "a pause": (
        call(22, 0, 31_000, 6),
        ("expired", "6 min since the call before; the cache is kept 5 min", 30_000),
    ),
    "a changed beginning": (
        call(22, 15_000, 16_000, 1),
        ("start", "found in front of message #0: system text or tools changed, or it was lost", 15_000),
    ),
    "a changed message": (
        call(22, 25_100, 5_900, 4),
        ("prefix", "found up to message #10; the file shows no change behind it", 4_900),
    ),
    "a lost cache": (
        call(22, 0, 31_000, 4),
        ("unknown", "found nothing: tools changed, or the provider lost it", 30_000),
    ),
    "a call without a time": (
        call(22, 0, 31_000, at=None),
        ("unknown", "found nothing: tools changed, or the provider lost it", 30_000),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CAUSES)
def test_a_fall_has_the_cause_that_the_file_shows(case: str) -> None:
    second, expected = CAUSES[case]
    assert found(FIRST, second, (20,) if second.compactions else ()) == ([expected] if expected else [])


def test_a_cache_for_an_hour_lives_an_hour() -> None:
    hourly = call(20, 0, 30_000, hourly=30_000)
    assert [cause for cause, *_ in found(hourly, call(22, 0, 31_000, 59))] == ["unknown"]
    assert found(hourly, call(22, 0, 31_000, 61)) == [
        ("expired", "61 min since the call before; the cache is kept 60 min", 30_000)
    ]
    assert "3 h since" in found(hourly, call(22, 0, 31_000, 180))[0][1]
    assert "4 days since" in found(hourly, call(22, 0, 31_000, 4 * 1_440))[0][1]


def test_behind_a_compaction_places_count_from_it() -> None:
    first = BilledCall(30, Usage(0, 9, 0, FIXED + sum(TOKENS[20:30])), OPUS, START.timestamp(), 1)
    second = BilledCall(32, Usage(9, 9, FIXED + 2_100, 4_000), OPUS, START.timestamp() + 9, 1)
    assert found(first, second, (20,))[0][1] == "found up to message #24; the file shows no change behind it"


def test_the_cost_is_that_of_paying_again_beyond_reading() -> None:
    messages = [{"role": "user", "content": "x"}] * len(TOKENS)
    price = trimtab.Model.named(OPUS).price

    def cost(second: BilledCall) -> float | None:
        session = trimtab.Transcript(messages, "anthropic", "claude_code", calls=[FIRST, second])
        return rebuilds(session, TOKENS)[0].cost

    assert cost(call(22, 0, 31_000)) == pytest.approx(30_000 * (price.cache_write - price.cache_read) / 1e6)
    assert cost(call(22, 0, 10_000)) == pytest.approx(
        (10_000 * price.cache_write + 20_000 * price.input - 30_000 * price.cache_read) / 1e6
    )
    assert cost(call(22, 0, 31_000, hourly=31_000)) == pytest.approx(
        30_000 * (2 * price.input - price.cache_read) / 1e6
    )
    assert cost(call(22, 0, 31_000, model="own-model")) is None


def session(tmp_path: Path) -> str:
    """Write a session of Claude Code with a pause and a compaction; return its path."""
    usages = [(0, 40_000, 0), (40_000, 300, 2), (0, 41_000, 30), (21_000, 2_000, 31)]
    lines: list[dict[str, Any]] = [{"type": "user", "message": {"role": "user", "content": "Go. " * 50}}]
    for number, (read, write, minutes) in enumerate(usages):
        if number == 3:
            lines.append({"type": "system", "subtype": "compact_boundary", "logicalParentUuid": f"u{len(lines) - 1}"})
            summary = {"role": "user", "content": "What went before."}
            lines.append({"type": "user", "isCompactSummary": True, "message": summary})
        usage = {"input_tokens": 5, "cache_read_input_tokens": read, "cache_creation_input_tokens": write}
        content = [{"type": "text", "text": "On it. " * 50}]
        answer = {"role": "assistant", "id": f"m{number}", "model": OPUS, "content": content, "usage": usage}
        when = (START + timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")
        lines.append({"type": "assistant", "timestamp": when, "message": answer})
        lines.append({"type": "user", "message": {"role": "user", "content": "Go on."}})
    for number, line in enumerate(lines):
        parent = f"u{number - 1}" if number and line.get("subtype") != "compact_boundary" else None
        line |= {"uuid": f"u{number}", "parentUuid": parent}
    path = tmp_path / "session.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(path)


def test_show_cache_prints_each_fall_in_80_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = session(tmp_path)
    assert main(["show", path, "--cache"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "cache: 61,000 tokens read and 83,300 written in 4 calls",
        "  2 calls found less than was there: 42,305 tokens again, $0.2432",
        "",
        "     #5  2026-01-22 21:43  read 0 of 40,300, 40,300 again, $0.2317",
        "         28 min since the call before; the cache is kept 5 min",
        "     #8  2026-01-22 21:44  read 21,000 of 41,000, 2,005 again, $0.0115",
        "         a compaction replaced the messages",
    ]
    assert max(map(len, lines)) <= 80
    assert main(["show", path, path, "--cache"]) == 0
    assert "2        42,305  $0.24" in capsys.readouterr().out


def test_the_report_has_each_fall_by_the_numbers_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    page = tmp_path / "report.html"
    assert main(["report", session(tmp_path), "-o", str(page)]) == 0
    text = page.read_text()
    assert "2 calls found less than was there: 42,305 tokens were paid again, $0.24." in text
    assert "28 min since the call before" in text
    assert "a compaction replaced the messages" in text
    assert "2 before #0" in text, "the answer in front of the compaction"
    (tmp_path / "list.json").write_text('[{"role": "user", "content": "Go."}]')
    assert main(["report", str(tmp_path / "list.json"), "-o", str(page)]) == 0
    assert "The file records no billed call." in page.read_text()


def test_show_cache_says_that_there_is_nothing_to_tell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "list.json"
    path.write_text('[{"role": "user", "content": "Go."}]')
    assert main(["show", str(path), "--cache"]) == 0
    assert capsys.readouterr().out == "cache: the file has no billed call\n"


def test_a_codex_session_has_the_time_of_each_call(tmp_path: Path) -> None:
    usage = {"input_tokens": 40_000, "cached_input_tokens": 0, "output_tokens": 5}
    say = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "On it."}]}
    ask = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]}
    lines = [
        {"timestamp": "2026-01-22T21:13:00Z", "type": "response_item", "payload": ask},
        {"timestamp": "2026-01-22T21:13:05Z", "type": "response_item", "payload": say},
        {
            "timestamp": "2026-01-22T21:13:06Z",
            "type": "event_msg",
            "payload": {"type": "token_count", "info": {"last_token_usage": usage}},
        },
    ]
    path = tmp_path / "rollout.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    [one] = trimtab.read(path).calls
    assert (one.before, one.at, one.usage.prompt) == (1, START.timestamp() + 6, 40_000)


def test_the_report_has_each_fall_of_a_list_that_begins_with_kept_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))

    def item(role: str, text: str) -> dict[str, Any]:
        kind = "input_text" if role == "user" else "output_text"
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}

    def answered(text: str, cached: int) -> list[dict[str, Any]]:
        usage = {"input_tokens": 40_000, "cached_input_tokens": cached, "output_tokens": 5}
        info = {"last_token_usage": usage}
        return [
            {"type": "response_item", "payload": item("user", text)},
            {"type": "response_item", "payload": item("assistant", "On it.")},
            {"type": "event_msg", "payload": {"type": "token_count", "info": info}},
        ]

    kept = [item("user", "Go."), item("user", "Go on."), item("user", "What was done: nothing.")]
    after = {"type": "compacted", "payload": {"message": "", "replacement_history": kept}}
    lines = [*answered("Go.", 38_000), *answered("Go on.", 39_000), after, *answered("Now?", 5_000)]
    path, page = tmp_path / "rollout.jsonl", tmp_path / "report.html"
    path.write_text("".join(f"{json.dumps({**line, 'timestamp': '2026-01-22T21:13:00Z'})}\n" for line in lines))
    whole, found = trimtab.read(path, whole=True), trimtab.read(path)
    assert [message["content"][0]["text"] for message in found.messages[-2:]] == ["Now?", "On it."]
    assert len(found.messages) > len(whole.messages) - whole.compactions[-1], "else the list has none of before"
    assert main(["report", str(path), "-o", str(page)]) == 0
    text = page.read_text()
    assert "1 call found less than was there: 34,000 tokens were paid again" in text
    row = text[text.index('aria-label="rebuilt caches"') :]
    assert f"<td>#{len(found.messages) - 1}</td>" in row[: row.index("a compaction replaced the messages")]
