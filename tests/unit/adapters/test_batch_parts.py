"""Jobs over many sessions: what the inputs hold, what a worker says of each row, and what a folder remembers.

The parts are done in this process; ``tests/adapters/test_batch.py`` has them done by the engines.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
from importlib import import_module
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trimtab
from support.batch_here import query, without_engine
from support.command import run as command
from support.format_cases import LINES, WHOLES
from support.models import CLAUDE, GPT
from support.transcripts import PROVIDERS, transcript
from trimtab.adapters.batch import Done, inputs, run, tables, work
from trimtab.adapters.batch import run as job
from trimtab.adapters.batch.processes import Workers
from trimtab.adapters.batch.rows import BYTES_AT_ONCE, rows_of
from trimtab.adapters.batch.task import Task
from trimtab.ledger.columns import Kind, Role

if TYPE_CHECKING:
    from collections.abc import Iterator

SAID = {"role": "user", "content": "naïve 日本"}, {"role": "assistant", "content": "done"}
CHAT = json.dumps(SAID, ensure_ascii=False).encode()


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Parts are done here, one after the other, each by a worker of its own as JSON brings them."""
    without_engine(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(out: str, table: str = "sessions") -> list[dict[str, Any]]:
    """The rows of a table, part after part."""
    return [row for part in sorted(Path(out, table).glob("*.parquet")) for row in pq.read_table(part).to_pylist()]


def write(name: str, text: bytes) -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    return name


def sessions() -> dict[str, bytes]:
    """A file of every format, and a list of every provider."""
    found = {f"{name}.jsonl": b"\n".join(json.dumps(line).encode() for line in make(3)) for name, make in LINES.items()}
    found |= {f"{name}.json": json.dumps(make(3)).encode() for name, make in WHOLES.items()}
    of = {
        f"of_{name}.json": json.dumps(transcript("u:40 c1:3+c2 r1:60+r2 a:90 u", name)).encode() for name in PROVIDERS
    }
    return found | of | {"example.jsonl": trimtab.formats.EXAMPLE.read_bytes()}


def test_count_says_of_a_file_of_every_format_what_the_library_says() -> None:
    files = sessions()
    for name, text in files.items():
        write(f"in/{name}", text)
    done = run("count", ["in"], "out", model=CLAUDE)
    assert done == Done(1, len(files), 0, 0, done.tokens, sum(map(len, files.values())))
    said = rows("out")
    assert [row["path"] for row in said] == [f"in/{name}" for name in sorted(files)]
    blocks = rows("out", "messages")
    for row in said:
        found = trimtab.read(row["path"], repair="logs")
        ledger = trimtab.Ledger.of(found.messages, counter=trimtab.Counter.for_model(CLAUDE), provider=found.provider)
        assert (row["row"], row["error"], row["messages"]) == (0, None, len(found.messages))
        assert (row["format"], row["provider"], row["model"]) == (found.format, found.provider, CLAUDE)
        assert row["tokens"] == ledger.total == sum(row["tokens_by_kind"].values())
        mine = [block for block in blocks if block["path"] == row["path"]]
        assert [block["index"] for block in mine] == sorted(block["index"] for block in mine)
        for index, tokens in enumerate(ledger.per_message.tolist()):
            of = [block for block in mine if block["index"] == index]
            assert sum(block["tokens"] for block in of) == tokens
            assert {block["role"] for block in of} == {Role(ledger.role[index]).name.lower()}
            kinds = [Kind(kind).name.lower() for kind, at in zip(ledger.kind, ledger.owner, strict=True) if at == index]
            assert [block["kind"] for block in of] == [*kinds, "overhead"]
        tools = {block["tool"] for block in mine} - {None}
        of_tools = {tool: sum(block["tokens"] for block in mine if block["tool"] == tool) for tool in tools}
        assert {each["tool"]: each["tokens"] for each in row["tokens_by_tool"]} == of_tools
        problems = trimtab.validate(found.messages, provider=found.provider, model=CLAUDE)
        assert [each["code"] for each in row["problems"]] == [problem.code for problem in problems]


TORN = trimtab.formats.EXAMPLE.read_bytes()[:20_000]
"""A log that ends within a line."""


def cut_logs() -> Iterator[tuple[str, bytes]]:
    """Logs that end anywhere, with the faults that agents leave in them."""
    choice = random.Random(26)
    lines = [json.loads(line) for line in trimtab.formats.EXAMPLE.read_bytes().splitlines()]
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    ends: list[Any] = [
        [],
        "so be it \u3000",
        [thought],
        [{"type": "text", "text": "done \u00a0\n"}],
        [{"type": "text", "text": "\n\n"}, thought],
        [{"type": "text", "text": " "}, thought, {"type": "text", "text": 'so\t"it" \u2003', "more": [1]}],
        [{"type": "text", "text": ""}, {"type": "text", "text": "a"}],
    ]
    for n in range(0, len(lines), 15):
        for number, content in enumerate(ends):
            made = json.loads(json.dumps(lines[: n + 1]))
            of_model = [line for line in made if line["type"] == "assistant"]
            if content and of_model:
                of_model[-1]["message"] |= {"content": content, "id": "last"}
            lists = [line["message"]["content"] for line in of_model if isinstance(line["message"]["content"], list)]
            if lists and choice.random() < 0.5:
                choice.choice(lists).insert(0, {"type": "text", "text": choice.choice(" \n\x1f")})
            yield f"{n:03}-{number}.jsonl", b"\n".join(json.dumps(line).encode() for line in made)


@pytest.mark.parametrize("verb", ["count", "validate"])
def test_logs_that_the_core_counts_have_the_rows_of_python(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = dict(cut_logs()) | sessions() | {"half.jsonl": CHAT[:-9], "empty.jsonl": b"", "torn.jsonl": TORN}
    for name, text in texts.items():
        write(f"in/{name}", text)
    taken: list[int] = []
    add_logs = tables.PartFiles.add_logs
    monkeypatch.setattr(tables.PartFiles, "add_logs", lambda *of: taken.append(add_logs(*of)) or taken[-1])
    run(verb, ["in"], "by_core", model=CLAUDE)
    assert sum(taken) > 20
    monkeypatch.setattr(work.Worker, "_logs", None)
    run(verb, ["in"], "by_python", model=CLAUDE)
    for table in ("sessions", "messages", "quarantine"):
        assert rows("by_core", table) == rows("by_python", table)


def test_lines_that_are_sessions_are_rows_with_their_place() -> None:
    broken = json.dumps([*SAID]).encode()[:-9]
    request = json.dumps({"messages": SAID, "model": "gpt-5.5"}).encode()
    lines = [CHAT, b"", request, broken, CHAT + b"\r", b'"a text"', b"[]", CHAT]
    text = b"\n".join(lines)
    write("chats.jsonl", text)
    done = run("count", ["chats.jsonl"], "out", model=CLAUDE)
    assert (done.rows, done.bad) == (7, 2)
    said = rows("out")
    assert [(row["row"], row["messages"]) for row in said] == [
        (0, 2),
        (2, 2),
        (3, 1),  # the message in front of the cut
        (4, 2),
        (5, None),
        (6, None),
        (7, 2),
    ]
    starts = [sum(len(line) + 1 for line in lines[:at]) for at in range(len(lines))]
    bad = rows("out", "quarantine")
    assert [(place["row"], place["line"], place["offset"]) for place in bad] == [
        (n, n + 1, starts[n]) for n in (3, 5, 6)
    ]
    assert all(place["reason"] and "\n" not in place["reason"] for place in bad)


@pytest.mark.parametrize("size", [1, 100, 1000, 10**6])
def test_lines_are_divided_without_changing_the_rows(size: int) -> None:
    pick = random.Random(size)
    lines = [pick.choice([CHAT, b"", b"  ", CHAT * 3, b"x" * 90]) for _ in range(60)]
    write("chats.jsonl", CHAT + b"\n" + b"\n".join(lines))
    units = [*inputs.units_of("chats.jsonl", None, size, texts=False)]
    assert [unit.start for unit in units[1:]] == [unit.end for unit in units[:-1]]
    assert len(units) > 1 or size > 1000
    found = [row for unit in units for row in rows_of(unit, None)]
    (whole,) = inputs.units_of("chats.jsonl", None, 1 << 40, texts=False)
    assert found == [*rows_of(whole, None)]
    assert [row.row for row in found] == [at for at, line in enumerate([CHAT, *lines]) if line.strip()]


def test_a_column_is_read_from_lines_and_tables() -> None:
    fields = [SAID, CHAT.decode(), None, 7]
    write("in.jsonl", b"\n".join(json.dumps({"id": n, "said": value}).encode() for n, value in enumerate(fields)))
    run("count", ["in.jsonl"], "lines", column="said", model=CLAUDE)
    of_lines = rows("lines")
    assert [row["messages"] for row in of_lines] == [2, 2, None, None]
    assert [row["error"] is None for row in of_lines] == [True, True, True, False]
    for name, escaped in (("é.jsonl", False), ("e.jsonl", True)):
        Path(name).write_text(json.dumps({"gesagt é": [*SAID]}, ensure_ascii=escaped), encoding="utf-8")
        run("count", [name], f"out-{name}", column="gesagt é", model=CLAUDE)
        assert rows(f"out-{name}")[0]["tokens"] == of_lines[0]["tokens"]
    pq.write_table(pa.table({"id": [0, 1, 2], "said": [CHAT, None, b"cut"]}), "in.parquet", row_group_size=2)
    pq.write_table(pa.table({"said": pa.array([[*SAID], None])}), "structs.parquet")
    done = run("count", ["in.parquet", "structs.parquet"], "tables", column="said", model=CLAUDE)
    assert (done.rows, done.bad) == (5, 1)
    said = rows("tables")
    assert [(row["path"], row["row"], row["messages"]) for row in said] == [
        ("in.parquet", 0, 2),
        ("in.parquet", 1, None),
        ("in.parquet", 2, None),
        ("structs.parquet", 0, 2),
        ("structs.parquet", 1, None),
    ]
    assert said[0]["tokens"] == said[3]["tokens"] == of_lines[0]["tokens"]
    with pytest.raises(ValueError, match="name the column to read with --column: it has id, said"):
        run("count", ["in.parquet"], "none", model=CLAUDE)
    done = run("count", ["in.parquet"], "other", column="no", model=CLAUDE)
    assert (done.rows, done.bad) == (3, 3)


def test_a_damaged_table_loses_the_rows_behind_the_damage_and_says_so() -> None:
    pq.write_table(pa.table({"said": [CHAT] * 300}), "in.parquet", row_group_size=100, compression="none")
    text = bytearray(Path("in.parquet").read_bytes())
    middle = pq.read_metadata("in.parquet").row_group(1).column(0)
    text[middle.data_page_offset : middle.data_page_offset + 40] = b"\xff" * 40
    write("in.parquet", bytes(text))
    write("none.parquet", b"PAR1 and no more")
    done = run("count", ["in.parquet", "none.parquet"], "out", model=CLAUDE)
    said = rows("out")
    assert [row["row"] for row in said] == [*range(300), None]
    assert [row["error"] is None for row in said] == [True] * 100 + [False] * 100 + [True] * 100 + [False]
    assert (done.bad, len(rows("out", "quarantine"))) == (101, 101)


def test_a_bad_byte_in_a_table_of_messages_is_one_bad_row() -> None:
    said = [[{"role": "user", "content": f"word {number}"}] for number in range(100)]
    pq.write_table(pa.table({"said": said}), "in.parquet", compression="none", use_dictionary=False)
    write("in.parquet", Path("in.parquet").read_bytes().replace(b"word 42", b"word \xff2"))
    done = run("count", ["in.parquet"], "out", model=CLAUDE)
    assert (done.rows, done.bad) == (100, 1)
    (place,) = rows("out", "quarantine")
    assert (place["row"], place["reason"][:27]) == (42, "a string in it is not UTF-8")
    assert rows("out")[42]["tokens"] is None


def test_places_of_a_damaged_session_are_in_quarantine() -> None:
    lines = trimtab.formats.EXAMPLE.read_bytes().splitlines(keepends=True)
    lines.insert(3, b"cut off {\n")
    write("session.jsonl", b"".join(lines))
    done = run("count", ["session.jsonl"], "out", model=CLAUDE)
    (row,) = rows("out")
    (place,) = rows("out", "quarantine")
    assert (done.bad, done.places, row["skipped"], row["messages"]) == (0, 1, 1, len(trimtab.example().messages))
    assert (place["line"], place["offset"], place["is_read"]) == (4, sum(map(len, lines[:3])), False)


DAMAGES = (
    lambda text: text[: len(text) // 2],
    lambda text: b"",
    lambda text: text.replace(b"[", b"", 1),
    lambda text: text.replace(b"role", b"rule"),
    lambda text: b"\xff\xfe" + text,
    lambda text: text.replace(b"user", b"us\x00er"),
    lambda text: b"{}",
    lambda text: b"null",
    lambda text: text.replace(b'"content"', b'"content": 7, "was"'),
    lambda text: b"[" * 5_000,
)


def test_one_damaged_row_of_a_thousand_spoils_no_other() -> None:
    pick = random.Random(26)
    texts = [
        json.dumps([{"role": "user", "content": f"question {n} " + "word " * pick.randrange(40)}, SAID[1]]).encode()
        for n in range(1_000)
    ]
    pq.write_table(pa.table({"said": texts}), "whole.parquet", row_group_size=150)
    run("count", ["whole.parquet"], "whole", model=CLAUDE)
    expected = rows("whole")
    for number, damage in enumerate(DAMAGES):
        at = pick.randrange(1_000)
        changed = [damage(text) if n == at else text for n, text in enumerate(texts)]
        pq.write_table(pa.table({"said": changed}), "in.parquet", row_group_size=150)
        done = run("count", ["in.parquet"], f"out{number}", model=CLAUDE)
        said = rows(f"out{number}")
        assert [row for row in said if row["row"] != at] == [
            {**row, "path": "in.parquet"} for row in expected if row["row"] != at
        ]
        (place,) = rows(f"out{number}", "quarantine")
        assert (place["path"], place["row"], done.rows) == ("in.parquet", at, 1_000)
        if done.bad:
            assert said[at]["tokens"] is None
            assert place["reason"] == said[at]["error"].partition("\n")[0]
        else:  # what is whole of it was read
            assert said[at]["skipped"] == 1


def test_compact_repair_and_validate_say_what_the_library_says() -> None:
    write("s/example.jsonl", trimtab.formats.EXAMPLE.read_bytes())
    blank = [{"role": "user", "content": " "}, *transcript("u:40 c1 r1:90 a", "anthropic")]
    write("s/list.json", json.dumps(blank).encode())
    run("compact", ["s"], "smaller", model=CLAUDE, target_share=0.4, policy="default")
    run("repair", ["s"], "repaired", model=CLAUDE)
    run("validate", ["s"], "checked")
    for row in rows("smaller")[:1]:
        assert row["tokens_after"] <= 0.4 * row["tokens_before"]
        counter = trimtab.Counter.for_model(CLAUDE)
        assert counter.per_message(json.loads(row["compacted"])).sum() == row["tokens_after"]
        assert trimtab.Plan.from_json(row["plan"]).edits
    for before, after in zip(rows("checked"), rows("repaired"), strict=True):
        found = trimtab.read(before["path"], repair="logs")
        problems = trimtab.validate(found.messages, provider=found.provider, model=found.model)
        assert [each["code"] for each in before["problems"]] == [problem.code for problem in problems]
        assert json.loads(after["repaired"]) == trimtab.repair(found.messages, provider=found.provider).messages
        assert (before["tokens"] is None) == (found.model is None)
    assert rows("checked")[1]["problems"]
    assert not trimtab.validate(json.loads(rows("repaired")[1]["repaired"]), provider="anthropic")


def test_truncate_cuts_texts_of_files_lines_and_tables() -> None:
    text = "\n".join(f"line {n}" for n in range(500))
    write("t/log.txt", text.encode())
    write("t/lines.jsonl", b"\n".join(json.dumps(each).encode() for each in (text, "short", 7)))
    pq.write_table(pa.table({"text": [text, None]}), "t/table.parquet")
    done = run("truncate", ["t"], "cut", tokens=50, model=CLAUDE)
    counter = trimtab.Counter.for_model(CLAUDE)
    cut = trimtab.truncate(text, tokens=50, counter=counter)
    said = {(Path(row["path"]).name, row["row"]): row for row in rows("cut", "texts")}
    assert [said[of]["text"] for of in (("log.txt", 0), ("lines.jsonl", 0), ("table.parquet", 0))] == [cut] * 3
    assert [said["lines.jsonl", 1][name] for name in ("text", "truncated")] == ["short", False]
    assert [said["table.parquet", 1][name] for name in ("text", "truncated", "error")] == [None] * 3
    assert (done.rows, done.bad) == (6, 0)  # a number is the text of a number
    with pytest.raises(ValueError, match="limit"):
        run("truncate", ["t"], "none")


def test_a_model_that_is_not_named_is_the_rows_fault() -> None:
    write("a.json", CHAT)
    write("b.jsonl", trimtab.formats.EXAMPLE.read_bytes())
    done = run("count", ["a.json", "b.jsonl"], "out")
    first, second = rows("out")
    assert "names no model" in first["error"]
    assert (done.bad, second["model"], second["tokens"] > 0) == (1, trimtab.example().model, True)


def test_inputs_are_files_in_order_each_once() -> None:
    for name in ("in/b.json", "in/a.json", "in/.hidden/c.json", "in/.d.json", "in/sub/e.json"):
        write(name, CHAT)
    Path("in/loop").symlink_to(".", target_is_directory=True)
    run("count", ["in/b.json", "in"], "in/out", model=CLAUDE)
    assert [row["path"] for row in rows("in/out")] == ["in/b.json", "in/a.json", "in/sub/e.json"]
    assert [*inputs.files_in(["in"], Path("in/out"))] == ["in/a.json", "in/b.json", "in/sub/e.json"]
    Path("in/latest.json").symlink_to("sub/e.json")
    Path("linked").symlink_to("in")
    assert [*inputs.files_in(["in", "linked"], Path("in/out"))] == ["in/a.json", "in/b.json", "in/latest.json"]
    Path("in/as.txt").symlink_to("b.json")  # by its name it may be read in another way
    assert len(inputs.files_in(["in"], Path("in/out"))) == 4
    Path("empty").mkdir()
    for name, what in (("no", "no such file or folder"), ("empty", "no files in it")):
        with pytest.raises(trimtab.MessageError, match=what):
            run("count", [name], "out2", model=CLAUDE)
    with pytest.raises(ValueError, match="no inputs"):
        run("count", [], "out2", model=CLAUDE)
    assert not Path("out2").exists()


def test_parts_do_not_depend_on_who_does_them() -> None:
    for n in range(40):
        write(f"in/{n:02}.json", json.dumps([{"role": "user", "content": "w " * 30_000}, SAID[1]] * 2).encode())
    whole = run("count", ["in"], "one", model=CLAUDE, part_mb=100)
    parts = run("count", ["in"], "many", model=CLAUDE, part_mb=1)
    assert (whole.parts, parts.parts) == (1, 5)
    for table in ("sessions", "messages", "quarantine"):
        assert rows("one", table) == rows("many", table)


def test_a_job_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(8):
        write(f"in/{n}.json", json.dumps([{"role": "user", "content": f"{n} " * 200_000}]).encode())
    run("count", ["in"], "whole", model=CLAUDE, part_mb=1)
    with pytest.raises(ValueError, match="no job to go on with"):
        run("count", ["in"], "out", model=CLAUDE, part_mb=1, resume=True)
    made = 0

    def stop(done: int, total: int) -> None:
        nonlocal made
        made += 1
        if made == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("count", ["in"], "out", model=CLAUDE, part_mb=1, progress=stop)
    assert not [*Path("out").glob(".work-*")]
    Path("out/.work-1").mkdir()  # of a run that was killed
    done = run("count", ["in"], "out", model=CLAUDE, part_mb=1, resume=True)
    assert 0 < done.parts < 8
    assert not [*Path("out").glob(".work-*")]
    for table in ("sessions", "messages", "quarantine"):
        assert rows("whole", table) == rows("out", table)
    assert run("count", ["in"], "out", model=CLAUDE, part_mb=1) == Done()


def test_another_jobs_folder_is_refused() -> None:
    write("a.json", CHAT)
    run("count", ["a.json"], "out", model=CLAUDE)
    with pytest.raises(ValueError, match="holds another job: verb 'count', not 'validate'"):
        run("validate", ["a.json"], "out", model=CLAUDE)
    with pytest.raises(ValueError, match="another job: model"):
        run("count", ["a.json"], "out", model="gpt-5.5")
    os.utime("a.json", (1, 1))
    with pytest.raises(ValueError, match="another job: inputs"):
        run("count", ["a.json"], "out", model=CLAUDE)
    write("other/file", b"")
    with pytest.raises(ValueError, match="not empty, and holds no job"):
        run("count", ["a.json"], "other", model=CLAUDE)
    write("broken/job.json", b"{")
    with pytest.raises(ValueError, match="cannot be read"):
        run("count", ["a.json"], "broken", model=CLAUDE)


def test_two_runs_of_a_job_do_not_meet() -> None:
    write("a.json", CHAT)

    def again(done: int, total: int) -> None:
        with pytest.raises(BlockingIOError, match="another process works on this job"):
            run("count", ["a.json"], "out", model=CLAUDE)

    assert run("count", ["a.json"], "out", model=CLAUDE, progress=again).parts == 1


def test_a_job_that_began_while_another_looked_at_its_inputs_keeps_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.json", CHAT)
    module, units_of = import_module("trimtab.adapters.batch.run"), inputs.units_of

    def slow(*given: Any, **more: Any) -> Any:
        monkeypatch.setattr(module, "units_of", units_of)
        run("count", ["a.json"], "out", model=GPT)
        return units_of(*given, **more)

    monkeypatch.setattr(module, "units_of", slow)
    with pytest.raises(ValueError, match="holds another job: model"):
        run("count", ["a.json"], "out", model=CLAUDE)
    assert json.loads(Path("out/job.json").read_bytes())["model"] == GPT


def test_what_is_wrong_with_the_settings_is_said_before_a_row_is_read() -> None:
    write("a.json", CHAT)
    wrong: list[tuple[str, dict[str, Any], type[Exception]]] = [
        ("no", {}, ValueError),
        ("count", {"format": "no"}, ValueError),
        ("count", {"workers": 0}, ValueError),
        ("count", {"engine": "no"}, ValueError),
        ("validate", {"model": "./missing"}, ValueError),
        ("count", {"part_mb": 0}, ValueError),
        ("count", {"in_flight": True, "more": 1}, TypeError),
        ("compact", {"policy": "no"}, ValueError),
        ("compact", {"target_share": 3.0}, ValueError),
        ("truncate", {"category": "no", "tokens": 3}, ValueError),
    ]
    for verb, options, kind in wrong:
        with pytest.raises(kind):
            run(verb, ["a.json"], "out", **options)
    assert not Path("out").exists()


def test_an_engine_that_fails_is_tried_again_and_then_told(monkeypatch: pytest.MonkeyPatch) -> None:
    module, tries = import_module("trimtab.adapters.batch.run"), []

    def ends(task: Task, parts: dict[int, Any], engine: str, workers: int) -> Iterator[dict[str, Any]]:
        tries.append(len(parts))
        if len(tries) < 3:
            part = min(parts)
            yield json.loads(work.Worker(task)(part, json.dumps(parts[part])))
        raise RuntimeError("UDF process closed the connection")

    monkeypatch.setattr(module, "_query", ends)
    for n in range(4):
        write(f"in/{n}.json", json.dumps([{"role": "user", "content": f"{n} " * 600_000}]).encode())
    with pytest.raises(ChildProcessError, match="failed twice without doing a part: UDF process closed the connection"):
        run("count", ["in"], "out", model=CLAUDE, part_mb=1)
    assert tries == [4, 3, 2, 2]


def test_an_output_that_cannot_be_written_ends_the_job() -> None:
    write("a.json", CHAT)
    write("file", b"")
    with pytest.raises(OSError, match="file"):
        run("count", ["a.json"], "file", model=CLAUDE)


def test_the_command_reports_the_job() -> None:
    write("a.json", CHAT)
    write("b.json", b"cut")
    tokens = trimtab.Counter.for_model(CLAUDE).per_message([*SAID]).sum()
    done = command("batch", "count", "a.json", "b.json", "--model", CLAUDE, "--out", "out")
    assert (done.returncode, done.stdout.splitlines()[1:]) == (
        0,
        [f"  {tokens} tokens", "  1 row with an error, 1 place in quarantine", "  in 1 part: out/sessions/*.parquet"],
    )
    assert done.stderr.splitlines()[-1] == "trimtab: 1 row has an error: see out/quarantine"
    again = command("batch", "count", "a.json", "b.json", "--model", CLAUDE, "--out", "out", "--json")
    report = json.loads(again.stdout)
    assert (report["parts"], report["rows"], report["out"]) == (0, 0, "out")
    other = command("batch", "repair", "a.json", "--out", "out")
    assert (other.returncode, other.stdout) == (64, "")
    assert other.stderr.splitlines()[-1] == "  name another folder with --out"
    missing = command("batch", "count", "none.json", "--out", "new")
    assert (missing.returncode, Path("new").exists()) == (65, False)


def test_the_engine_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import reload

    module = reload(import_module("trimtab.adapters.batch.run"))
    daft = SimpleNamespace(set_runner_ray=lambda **_: __import__("no_ray"))
    write("a.json", CHAT)
    for there, engine, says in ((None, "native", r"trimtab\[batch\]"), (daft, "ray", r"daft\[ray\]")):
        monkeypatch.setitem(sys.modules, "daft", there)
        with pytest.raises(ImportError, match=f"pip install '{says}'"):
            module.run("count", ["a.json"], "out", model=CLAUDE, engine=engine)
    assert job is not None


def test_what_is_no_file_is_left_out_and_any_name_is_read() -> None:
    odd = os.fsdecode(b"in/\xff\xfe name\n'%s'.json")
    other = os.fsdecode(b"in/\xff\xfd name\n'%s'.json")
    for name in (odd, other, "in/a.json"):
        write(name, CHAT)
    Path("in/gone.json").symlink_to("nowhere")
    os.mkfifo("in/pipe.jsonl")
    pq.write_table(pa.table({"said": [CHAT]}), "in/t.parquet")
    Path("in/t.parquet").rename(os.fsdecode(b"in/\xff.parquet"))
    done = run("count", ["in"], "out", model=CLAUDE)
    assert (done.rows, done.bad) == (4, 0)
    names = {"in/a.json", "in/\\xff.parquet", "in/\\xff\\xfe name\n'%s'.json", "in/\\xff\\xfd name\n'%s'.json"}
    assert {row["path"] for row in rows("out")} == {row["path"] for row in rows("out", "messages")} == names


def test_files_that_are_gone_when_their_turn_comes_are_bad_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.json", CHAT)
    write("b.jsonl", CHAT + b"\n" + CHAT)
    pq.write_table(pa.table({"said": [CHAT] * 2}), "c.parquet")
    write("d.json", CHAT)

    def gone(*given: Any) -> Iterator[dict[str, Any]]:
        for name in ("a.json", "b.jsonl", "c.parquet"):
            Path(name).unlink()
        yield from query(*given)

    monkeypatch.setattr(import_module("trimtab.adapters.batch.run"), "_query", gone)
    done = run("count", ["a.json", "b.jsonl", "c.parquet", "d.json"], "out", model=CLAUDE)
    said = rows("out")
    assert [(row["path"], row["row"]) for row in said] == [
        ("a.json", 0),
        ("b.jsonl", 0),
        ("c.parquet", 0),
        ("c.parquet", 1),
        ("d.json", 0),
    ]
    assert [row["error"] is None for row in said] == [False] * 4 + [True]
    assert done.bad == len(rows("out", "quarantine")) == 4


def test_what_cannot_be_looked_at_is_a_bad_row_and_no_end_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("in/a.json", "in/b.json", "in/closed/c.json", "in/closed/d.json"):
        write(name, CHAT)
    Path("in/nothing.json").symlink_to("x" * 300)
    scan, stat = os.scandir, os.stat

    def scandir(path: Any) -> Any:
        if str(path) == "in/closed":
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    def gone(path: Any, **options: Any) -> os.stat_result:
        if str(path) == "in/b.json" and not isinstance(path, Path):  # it goes when its name is known
            Path("in/b.json").unlink(missing_ok=True)
        if str(path).startswith("in/closed/"):
            raise PermissionError(13, "Permission denied", path)
        return stat(path, **options)

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(os, "stat", gone)
    done = run("count", ["in"], "out", model=CLAUDE)
    assert [(row["path"], row["error"] is None) for row in rows("out")] == [
        ("in/a.json", True),
        ("in/b.json", False),
        ("in/closed", False),
    ]
    assert done.bad == len(rows("out", "quarantine")) == 2


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a file that opens, and cannot be read")
@pytest.mark.parametrize("column", [None, "said"])
def test_lines_that_cannot_be_read_when_a_job_begins_are_a_bad_row(column: str | None) -> None:
    write("a.jsonl", json.dumps({"said": SAID} if column else SAID).encode() + b"\n")
    Path("b.jsonl").symlink_to("/proc/self/mem")
    Path("c.jsonl").mkdir()
    assert run("count", ["a.jsonl", "b.jsonl"], "out", column=column, model=CLAUDE).rows == 2
    good, bad = rows("out")
    assert (good["error"], bad["path"], bad["row"]) == (None, "b.jsonl", 0)
    assert bad["error"] == "cannot be read: input/output error"
    (unit,) = inputs.units_of("c.jsonl", "said", 100, texts=False)
    assert [row.error for row in rows_of(unit, "said")] == ["cannot be read: is a directory"]


def test_a_line_that_cannot_be_read_has_its_own_number(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"\n".join([CHAT] * 3)

    class Faulty(BytesIO):
        """A file whose third line cannot be read."""

        def readline(self, size: int | None = -1, /) -> bytes:
            if self.tell() >= 2 * len(CHAT):
                raise OSError(5, "Input/output error")
            return super().readline(size)

    monkeypatch.setattr(Path, "open", lambda *_: Faulty(text))
    unit = inputs.FileSlice("a.jsonl", "lines", 0, 0, len(text), 1)
    *read, last = rows_of(unit, None)
    monkeypatch.undo()
    assert [row.row for row in read] == [0, 1]
    assert (last.row, last.line, last.offset) == (2, 3, 2 * len(CHAT) + 2)
    assert last.error == "cannot be read: input/output error"


def test_a_part_is_on_the_disk_before_it_has_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.json", CHAT)
    steps: list[str] = []
    sync, replace = os.fsync, Path.replace

    def synced(handle: int) -> None:
        steps.append("sync")
        sync(handle)

    def named(path: Path, target: Path) -> Path:
        steps.append(path.name)
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", named)
    run("count", ["a.json"], "out", model=CLAUDE)
    parts = [f"{table}-part-000000.parquet" for table in ("quarantine", "messages", "sessions")]
    assert steps == ["sync", "job.json", *["sync"] * 4, parts[0], "sync", parts[1], "sync", parts[2], "sync"]


def test_a_worker_that_is_killed_is_replaced_and_its_part_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.json", CHAT)
    for name in ("work", *("out/" + table for table in ("sessions", "messages", "quarantine"))):
        Path(name).mkdir(parents=True)
    units = json.dumps([*inputs.units_of("a.json", None, 1, texts=False)])
    workers = Workers(Task("count", str(tmp_path / "out"), str(tmp_path / "work"), None, CLAUDE, None), 2)
    assert json.loads(asyncio.run(workers(0, units)))["rows"] == 1
    idle = [workers._idle.get(), workers._idle.get()]
    (alive,) = filter(None, idle)
    alive.kill()
    for each in (alive, None):
        workers._idle.put(each)
    assert json.loads(asyncio.run(workers(1, units)))["rows"] == 1
    assert [row["path"] for row in rows("out")] == ["a.json"] * 2
    monkeypatch.setattr(Workers, "_started", lambda _: subprocess.Popen(["false"], stdin=-1, stdout=-1))
    for each in (workers._idle.get(), workers._idle.get()):
        if each is not None:
            each.communicate()  # its stdin closes, and it ends
    workers._idle.put(None)
    said = json.loads(asyncio.run(workers(2, units)))
    assert said == {"part": 2, "error": [10, "a worker ended 2 times before its part was done (exit code 1)", "a.json"]}


def test_a_worker_that_is_started_elsewhere_reads_the_files_that_were_named(tmp_path: Path) -> None:
    write("a.json", CHAT)
    for name in ("work", *("out/" + table for table in ("sessions", "messages", "quarantine")), "elsewhere"):
        Path(name).mkdir(parents=True)
    units = json.dumps([*inputs.units_of("a.json", None, 1, texts=False)])
    task = Task("count", str(tmp_path / "out"), str(tmp_path / "work"), None, CLAUDE, None)
    os.chdir("elsewhere")
    assert json.loads(work.Worker(task)(0, units))["bad"] == 0
    assert [row["path"] for row in rows(str(tmp_path / "out"))] == ["a.json"]


def test_a_worker_imports_nothing_from_the_folder_it_is_started_in() -> None:
    write("queue.py", b"raise SystemExit('this file was run')")
    with Workers(Task("count", "out", "work", None, CLAUDE, None), 1)._started() as worker:
        assert worker.communicate(timeout=60) == (b"", None)
    assert worker.returncode == 0


def test_what_stands_in_front_of_sessions_does_not_hide_them() -> None:
    for number, front in enumerate([b"0\nnull\n", b"garbage\n" * 40, b'{"meta": 1}\n', b"\n\n"]):
        name = write(f"{number}.jsonl", front + CHAT + b"\n" + CHAT + b"\n")
        run("count", [name], f"out{number}", model=CLAUDE)
        assert [row["messages"] for row in rows(f"out{number}") if row["error"] is None] == [2, 2]
        assert [row["row"] for row in rows(f"out{number}")][-2:] == [front.count(b"\n"), front.count(b"\n") + 1]


def test_a_field_that_is_not_there_is_said_of_each_line() -> None:
    write("in.jsonl", b'{"id": 1}\n{"text": "a b c"}\n')
    run("truncate", ["in.jsonl"], "out", column="text", lines=1)
    assert [(row["text"], row["error"]) for row in rows("out", "texts")] == [
        (None, "there is no field 'text'"),
        ("a b c", None),
    ]
    done = run("truncate", "in.jsonl", "wrong", column="txet", lines=1)
    assert (done.rows, done.bad) == (2, 2)
    assert command("batch", "truncate", "in.jsonl", "--column", "txet", "--lines", "1", "--out", "w").returncode == 65


def test_a_file_that_changes_before_its_turn_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.jsonl", b"\n".join([CHAT] * 3))
    pq.write_table(pa.table({"said": [CHAT] * 3}), "b.parquet")

    def changed(*given: Any) -> Iterator[dict[str, Any]]:
        write("a.jsonl", CHAT + b"\n")
        pq.write_table(pa.table({"said": [CHAT]}), "b.parquet")
        yield from query(*given)

    monkeypatch.setattr(import_module("trimtab.adapters.batch.run"), "_query", changed)
    run("count", [Path("a.jsonl"), "b.parquet"], Path("out"), model=CLAUDE)
    errors = [row["error"] for row in rows("out")]
    assert [error is None for error in errors] == [True, False, True, False, False]
    assert "shorter" in errors[1]
    assert "changed" in errors[3]


def test_folders_that_are_odd() -> None:
    write("a.json", CHAT)
    write("damaged/job.json", b"null")
    with pytest.raises(ValueError, match="cannot be read"):
        run("count", ["a.json"], "damaged", model=CLAUDE)
    write("begun/.lock", b"")
    assert run("count", ["a.json", "./a.json"], "begun", model=CLAUDE).rows == 1
    write("in/b.json", CHAT)
    run("count", ["in"], "in/counted", model=CLAUDE)
    assert run("compact", ["in"], "in/smaller", model=CLAUDE).rows == 1
    pq.write_table(pa.table({"said": pa.array([], pa.string())}), "none.parquet")
    assert run("count", ["none.parquet"], "none", model=CLAUDE).rows == 0
    assert pq.read_table("none/sessions").schema.names[:2] == ["path", "row"]


def test_large_rows_of_a_table_are_read_one_by_one() -> None:
    words = [json.dumps([{"role": "user", "content": f"{n} " * 600_000}]) for n in range(4)]
    pq.write_table(pa.table({"said": words}), "in.parquet", compression="none")
    (unit,) = inputs.units_of("in.parquet", None, 1, texts=False)
    assert unit.size > BYTES_AT_ONCE
    assert [row.row for row in rows_of(unit, None)] == [0, 1, 2, 3]
