"""``show`` names what is read again and again, each range apart, and what the old reads cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import trimtab
from support.command import run
from support.models import CLAUDE_BOUND
from trimtab.messages.calls import part_of


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def read(ref: str, file: str, **part: object) -> list[dict[str, Any]]:
    """A call that reads a file, and its result."""
    call = {"type": "tool_use", "id": ref, "name": "Read", "input": {"file_path": file, **part}}
    result = {"type": "tool_result", "tool_use_id": ref, "content": "word " * 300}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def shown(*reads: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """The repeats of a session of these reads as JSON, and the text of ``show``."""
    messages = [{"role": "user", "content": "go"}, *(message for each in reads for message in each)]
    Path("s.json").write_text(json.dumps([*messages, {"role": "assistant", "content": "done"}]))
    words = ("show", "s.json", "--model", CLAUDE_BOUND)
    return json.loads(run(*words, "--json").stdout)["repeats"], run(*words).stdout


def test_ranges_of_one_file_are_told_apart() -> None:
    first, second = {"offset": 1, "limit": 50}, {"offset": 400, "limit": 50}
    repeats, text = shown(
        read("a", "/src/a.py", **first),
        read("b", "/src/a.py", **second),
        read("c", "/src/a.py", **first),
        read("d", "/src/a.py", **second),
        read("e", "/src/a.py", **first),
        read("f", "/src/b.py"),
    )
    told = [(each["argument"], each["part"], each["messages"], each["newest"]) for each in repeats]
    assert told == [
        ("/src/a.py", "offset 1, limit 50", [2, 6], 10),
        ("/src/a.py", "offset 400, limit 50", [4], 8),
    ]
    assert "read again later: 3 old results of 1 file, " in text
    assert "Read …/a.py (offset 1, limit 50)  #2, #6, again in #10\n" in text.replace("Read /src/a.py", "Read …/a.py")


def test_what_the_old_reads_cost_in_each_call_is_that_of_their_tokens() -> None:
    repeats, text = shown(read("a", "/src/a.py"), read("b", "/src/a.py"), read("c", "/src/a.py"))
    price, tokens = trimtab.Model.named(CLAUDE_BOUND).price, sum(each["tokens"] for each in repeats)
    assert repeats[0]["cost"]["input"] == pytest.approx(price.input * repeats[0]["tokens"] / 1e6)
    cost = f"  costs ${price.input * tokens / 1e6:.4f} a call as new input, ${price.cache_read * tokens / 1e6:.4f} from"
    assert cost in text.split("read again later")[1]


def test_a_part_is_every_argument_but_the_file() -> None:
    assert part_of({"file_path": "/a", "offset": 3, "limit": 9}) == "offset 3, limit 9"
    assert part_of({"command": "view", "path": "/a", "view_range": [1, 9]}) == "view_range [1, 9]"
    assert part_of({"path": "/a", "start_line": 1, "end_line": 9}) == "start_line 1, end_line 9"
    assert (
        part_of({"file_path": "/a", "offset": None}) == part_of({"path": "/a"}) == part_of("x") == part_of(None) == ""
    )
