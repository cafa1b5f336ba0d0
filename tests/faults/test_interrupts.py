"""SIGINT at any moment of a command that writes leaves the old file or the new one, whole, and no other files."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import trimtab
from support.checker import check
from support.claude_session import session as claude_session
from support.transcripts import transcript
from trimtab.archive import open_archive
from trimtab.cli import main
from trimtab.cli.files import archive_url, write

if TYPE_CHECKING:
    from types import FrameType

TALK = " ".join(f"u:60 c{n} r{n}:200 a:90" for n in range(120))
OLD = b'[{"role": "user", "content": "what was there"}]\n'

PROGRAM = """
import sys
import trimtab.__main__ as door
from trimtab import Compactor, Counter, Ledger, archive, cli, formats
from trimtab.cli import archive, compact, count, plan, rescue, restore, truncate, validate
work = cli.main
def main(words):
    print("on", file=sys.stderr, flush=True)
    return work(words)
cli.main = main
door.run()
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with sessions, and an archive with two compactions of a conversation."""
    monkeypatch.setenv("TRIMTAB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    messages = transcript(TALK, provider="anthropic")
    Path("s.json").write_text(json.dumps(messages))
    Path("text").write_text("the quick brown fox\n" * 400_000)
    Path("rescued").mkdir()
    claude_session(tmp_path, messages).rename("claude.jsonl")
    for target in ("0.6", "0.4"):
        assert main(["compact", "s.json", "-o", "o.json", "--target-share", target, "--session", "talk"]) == 0
    return tmp_path


def refs() -> list[str]:
    """The compactions in the archive, which must be as they were stored."""
    with open_archive(archive_url()) as archive:
        assert archive.verify() == []
        return [past.ref for past in archive.history("talk", limit=None)]


def files() -> dict[str, bytes]:
    """All files but those of the archive."""
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file() and "home" not in path.parts}


def begin(words: list[str]) -> subprocess.Popen[bytes]:
    """The verb, from the moment at which its work begins."""
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )
    assert child.stderr
    assert child.stderr.readline() == b"on\n"
    return child


def is_whole(verb: str, raw: bytes) -> bool:
    """Whether this is all that the verb writes."""
    if verb == "restore":
        return json.loads(raw) == json.loads(Path("s.json").read_text())
    if verb == "export":
        return [json.loads(line)["ref"] for line in raw.splitlines()] == refs()[::-1]
    if verb == "rescue":
        return trimtab.read(raw).format == "claude_code" and trimtab.read(raw).skipped == []
    return check(json.loads(raw), "anthropic") == []


VERBS = {
    "compact": ["compact", "s.json", "-o", "out", "--target-share", "0.5", "--session", "other"],
    "restore": ["restore", "REF", "--session", "talk", "-o", "out"],
    "export": ["archive", "export", "talk", "-o", "out"],
    "rescue": ["rescue", "claude.jsonl", "-o", "rescued", "--target-share", "0.5"],
    "prune": ["archive", "prune", "--session", "talk", "--keep", "1"],
    "truncate": ["truncate", "text", "--category", "head-tail", "--lines", "50"],
}


def interrupted(verb: str, moments: int) -> list[int]:
    """Runs a verb to its end, then again and again with a SIGINT while it works; judges what is left each time."""
    words = [refs()[-1] if word == "REF" else word for word in VERBS[verb]]
    chosen, codes, took = random.Random(f"Ctrl-C {verb}"), [], 0.0
    for moment in range(moments + 1):
        if verb == "prune":
            assert main(["compact", "s.json", "-o", "s2.json", "--target-share", "0.3", "--session", "talk"]) == 0
        else:
            Path("out").write_bytes(OLD)
        before, kept = files(), refs()
        child, began = begin(words), time.monotonic()
        if moment:
            time.sleep(chosen.uniform(0, took) if moment > 1 else 0)  # the first one comes early on any machine
            child.send_signal(signal.SIGINT)
        out, said = child.communicate(timeout=60)
        took = took or time.monotonic() - began
        after, code = files(), child.returncode
        assert code in ((0, 130) if moment else (0,)), said
        assert b"Traceback" not in said
        assert b"Exception ignored" not in said
        new = [name for name in after if after[name] != before.get(name)]
        assert set(before) <= set(after)
        assert len(new) <= (verb not in ("prune", "truncate"))
        assert all(name == "out" or (name.startswith("rescued/") and name.endswith(".jsonl")) for name in new)
        assert all(is_whole(verb, after[name]) for name in new)
        assert refs() in (kept, kept[:1]) if verb == "prune" else refs() == kept
        if verb == "truncate":
            assert out.count(b"\n") in ((50, 51) if code == 0 else (0, 50, 51))
        elif code == 0:
            assert new if verb != "prune" else refs() == kept[:1]
        codes.append(code)
    return codes[1:]


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("verb", VERBS)
def test_an_interrupted_command_leaves_the_old_or_the_new_file_whole(verb: str) -> None:
    assert 130 in interrupted(verb, 5)


@pytest.mark.slow
@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("verb", VERBS)
def test_60_interrupts_of_a_command_leave_the_old_or_the_new_file_whole(verb: str) -> None:
    codes = interrupted(verb, 60)
    print(f"{verb}: {codes.count(130)} of {len(codes)} interrupted")
    assert 130 in codes


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("old", [None, OLD])
def test_a_file_is_written_whole_or_not_at_all_at_any_interrupt(
    old: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every line of `write`, and the places between its calls."""
    path = tmp_path / "out"
    new, ends = "x" * 100_000, []
    for moment in count(1):
        path.unlink(missing_ok=True) if old is None else path.write_bytes(old)
        seen = 0

        def trace(frame: FrameType, event: str, _: object, stop: int = moment) -> object:
            nonlocal seen
            if frame.f_code is not write.__code__:
                return None
            frame.f_trace_opcodes = True
            seen += event == "opcode"
            if seen == stop:
                sys.settrace(None)
                raise KeyboardInterrupt
            return trace

        sys.settrace(trace)
        try:
            write(str(path), new)
        except KeyboardInterrupt:
            assert [each.name for each in tmp_path.iterdir()] in (["out"], [])
            left = path.read_bytes() if path.exists() else None
            assert left in (old, new.encode())
            ends.append(left == old)
        else:
            break
        finally:
            sys.settrace(None)
    assert ends == sorted(ends, reverse=True)
    assert {True, False} == set(ends)
