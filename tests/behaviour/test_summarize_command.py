"""A program as a summarizer: fed, read, bounded, and killed with all that it started."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import trimtab
from support import loopback
from support.models import GPT
from support.transcripts import transcript
from trimtab.summarize import Command, Limits

TALK = transcript(" ".join("u:60 a:90" for _ in range(30)))


def program(tmp_path: Path, code: str) -> str:
    """A script of Python, as a file that is run."""
    path = tmp_path / "summarize"
    path.write_text(f"#!{sys.executable}\nimport os, subprocess, sys, time\n{code}\n")
    path.chmod(0o755)
    return str(path)


def compacted(command: Command, path: str = "compact") -> trimtab.Compaction:
    cm = trimtab.Compactor(GPT, summarizer=command)
    if path == "compact":
        return cm.compact(TALK, target_share=0.5)
    return asyncio.run(cm.acompact(TALK, target_share=0.5))


def gone(pid: int, within: float = 5.0) -> bool:
    """Whether a process ends in time; one that only waits to be reaped has ended."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("path", ["compact", "acompact"])
def test_the_prompt_is_on_stdin_and_the_summary_on_stdout(tmp_path: Path, path: str) -> None:
    code = "text = sys.stdin.read()\nopen(sys.argv[1], 'w').write(text)\nprint('read the characters, é')"
    done = compacted(Command([program(tmp_path, code), str(tmp_path / "prompt")]), path)
    prompt = (tmp_path / "prompt").read_text(encoding="utf-8")
    assert done.summarizer == "cmd:summarize"
    assert "read the characters, é" in done.messages[0]["content"]
    assert "<transcript " in prompt
    assert TALK[3]["content"] in prompt


def test_no_shell_reads_the_words(tmp_path: Path) -> None:
    words = ["$HOME", "a b", "`id`", "; rm -rf x", "*"]
    code = "sys.stdin.read()\nopen(sys.argv[1], 'w').write(repr(sys.argv[2:]))\nprint('read')"
    done = compacted(Command([program(tmp_path, code), str(tmp_path / "words"), *words]))
    assert done.summarizer == "cmd:summarize"
    assert (tmp_path / "words").read_text() == repr(words)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("sys.exit(3)", "exit code 3"),
        ("sys.stderr.write('no model\\n'); sys.exit(1)", "exit code 1 (no model)"),
        ("os.kill(os.getpid(), 9)", "killed by signal 9"),
        ("print()", "the answer is blank"),
        ("print('word ' * 9000)", "the limit is"),
        ("sys.stdout.write('x' * (5 << 20))", "it wrote more than 4 MB"),
        ("while True: sys.stdout.write('y' * 65536)", "it wrote more than 4 MB"),
        ("os.close(1); time.sleep(0.1)", "the answer is blank"),
    ],
)
def test_a_program_that_fails_is_replaced_and_says_why(tmp_path: Path, code: str, reason: str) -> None:
    done = compacted(Command([program(tmp_path, code)], Limits(30, pause=0.001)))
    assert done.summarizer == "offline"
    assert reason in done.reason


@pytest.mark.parametrize("word", ["/nowhere/at/all", "", "/"])
def test_a_program_that_cannot_be_run_is_named(word: str) -> None:
    if not word:
        with pytest.raises(ValueError, match="name of a program"):
            Command([word])
        return
    assert f"cannot run {word}: " in compacted(Command([word])).reason


def test_words_that_are_none_are_refused() -> None:
    for words in ("./a --b", [1], [b"x"]):
        with pytest.raises(TypeError, match="list of words"):
            Command(words)
    with pytest.raises(ValueError, match="name of a program"):
        Command([])


def test_a_program_that_asks_for_another_try_gets_one(tmp_path: Path) -> None:
    mark = tmp_path / "tried"
    code = f"mark = {str(mark)!r}\nif not os.path.exists(mark): open(mark, 'w'); sys.exit(75)\nprint('fine')"
    assert compacted(Command([program(tmp_path, code)], Limits(30, pause=0.001))).summarizer == "cmd:summarize"


def test_a_correction_reaches_a_program(tmp_path: Path) -> None:
    code = "print('fine' if 'could not be used: the answer is blank' in sys.stdin.read() else '')"
    assert compacted(Command([program(tmp_path, code)])).summarizer == "cmd:summarize"


def test_what_it_does_not_read_does_not_matter(tmp_path: Path) -> None:
    assert compacted(Command([program(tmp_path, "os.close(0)\nprint('fine')")])).summarizer == "cmd:summarize"


HANGS = """
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[1] + ".new", "w").write(f"{os.getpid()} {child.pid}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(600)
"""


def pids(path: Path) -> list[int]:
    """The numbers of the program and its child, as soon as they are there."""
    end = time.monotonic() + 20
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.02)
    return [int(word) for word in path.read_text().split()]


@pytest.mark.parametrize("path", ["compact", "acompact"])
def test_past_the_deadline_it_is_killed_with_all_that_it_started(tmp_path: Path, path: str) -> None:
    start = time.monotonic()
    done = compacted(Command([program(tmp_path, HANGS), str(tmp_path / "pids")], Limits(1.5)), path)
    assert loopback.elapsed(start) < 10
    assert done.summarizer == "offline"
    assert "no answer in time; the 1.5 s are over" in done.reason
    assert all(gone(pid) for pid in pids(tmp_path / "pids"))


def test_what_it_leaves_in_the_background_goes_too(tmp_path: Path) -> None:
    code = HANGS.replace('600)"])', '600)"], stdout=subprocess.DEVNULL)').removesuffix("time.sleep(600)\n")
    code += "print('fine')"
    done = compacted(Command([program(tmp_path, code), str(tmp_path / "pids")], Limits(20)))
    assert done.summarizer == "cmd:summarize"
    assert all(gone(pid) for pid in pids(tmp_path / "pids"))


def test_cancelling_kills_it_and_leaves_the_list(tmp_path: Path) -> None:
    before = json.dumps(TALK)

    async def cancelled() -> None:
        cm = trimtab.Compactor(GPT, summarizer=Command([program(tmp_path, HANGS), str(tmp_path / "pids")]))
        task = asyncio.create_task(cm.acompact(TALK, target_share=0.5))
        await asyncio.to_thread(pids, tmp_path / "pids")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(cancelled(), 60))
    assert all(gone(pid) for pid in pids(tmp_path / "pids"))
    assert json.dumps(TALK) == before


def test_ctrl_c_kills_it_at_once(tmp_path: Path) -> None:
    """In a process of its own, as a user's Ctrl-C is; the group is what the terminal would signal."""
    code = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})
import trimtab
from support.transcripts import transcript
from trimtab.summarize import Command
messages = transcript({" ".join("u:60 a:90" for _ in range(30))!r})
cm = trimtab.Compactor("gpt-5.5", summarizer=Command([{program(tmp_path, HANGS)!r}, {str(tmp_path / "pids")!r}]))
try:
    cm.compact(messages, target_share=0.5)
except KeyboardInterrupt:
    print("interrupted", messages == transcript({" ".join("u:60 a:90" for _ in range(30))!r}))
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    found = pids(tmp_path / "pids")
    start = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert loopback.elapsed(start) < 5
    assert out == "interrupted True\n"
    assert all(gone(pid) for pid in found)


def test_ctrl_c_ends_all_the_parts_of_a_large_zone(tmp_path: Path) -> None:
    code = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})
import trimtab
from support.transcripts import transcript
from trimtab.summarize import Command
command = Command([{program(tmp_path, HANGS.replace("sys.argv[1]", "sys.argv[1] + str(os.getpid())"))!r},
    {str(tmp_path / "pids-")!r}], window=5_000)
messages = transcript({" ".join("u:200 a:200" for _ in range(40))!r})
try:
    trimtab.Compactor("gpt-5.5", summarizer=command).compact(messages, target_share=0.2)
except KeyboardInterrupt:
    print("interrupted")
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    end = time.monotonic() + 30
    while len(files := [f for f in tmp_path.glob("pids-*") if f.suffix != ".new"]) < 4 and time.monotonic() < end:
        time.sleep(0.02)
    assert len(files) == 4
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert out == "interrupted\n"
    assert all(gone(pid) for file in files for pid in pids(file))
    assert len([*tmp_path.glob("pids-*")]) == 4, "no further one was begun"


def test_no_thread_is_left_behind_by_one_that_answers(tmp_path: Path) -> None:
    before = threading.active_count()
    compacted(Command([program(tmp_path, "sys.stdin.read()\nprint('fine')")]))
    end = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() <= before
