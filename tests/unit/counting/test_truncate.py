"""Truncation: what stays, what the notice says, and that no limit is ever passed; as function, stream and verb."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
import trimtab
from support.models import CLAUDE
from support.scale import scaled
from trimtab import Counter, truncate
from trimtab.counting.truncate import CATEGORIES, shortened, truncate_stream

O200K = Counter("o200k_base")
PIECES = st.sampled_from(
    [
        *("word", " ", "\n", "\n", "\r\n", "日本語", "é", "e\u0301", "👩‍👩‍👧", "🇩🇪", "👍🏽", "слово", "x" * 40),
        *("1 + 1", "\t", "\0", "…", "\x1b[38;5;196m", "\x1b]8;;https://example.com\x07", "\x1b]0;t\x1b\\", "[1 line"),
        *("\x1b", "\x1b(", "\x1b[1"),
    ]
)
TEXTS = st.lists(PIECES, min_size=1, max_size=150).map("".join)
CATEGORY = st.sampled_from(CATEGORIES)
MORE = st.sampled_from(("", "see run.log", "recall or restore 0123456789abcdef0123"))
LOG = "".join(f"line {n} of the log\n" for n in range(1_000))


@settings(max_examples=scaled(400))
@given(TEXTS, CATEGORY, st.integers(0, 80), MORE)
def test_a_text_cut_by_tokens_keeps_the_limit_and_tells_the_truth(text, category, most, more):
    cut = truncate(text, tokens=most, category=category, counter=O200K, more=more)
    assert O200K.count(cut) <= most
    if O200K.count(text) <= most:
        assert cut is text
    else:
        assert oracle.truncation(text, cut, category, more), cut
    assert truncate(cut, tokens=most, category=category, counter=O200K) is cut


@settings(max_examples=scaled(400))
@given(TEXTS, CATEGORY, st.one_of(st.none(), st.integers(0, 30)), st.integers(0, 200), MORE)
def test_lines_and_characters_are_cut_as_the_slow_meaning_says(text, category, lines, chars, more):
    cut = truncate(text, lines=lines, chars=chars, category=category, more=more)
    assert cut == oracle.truncated(text, category, lines, chars, more=more)


@settings(max_examples=scaled(400))
@given(TEXTS, CATEGORY, st.one_of(st.none(), st.integers(0, 30)), st.integers(0, 300), MORE)
def test_bytes_are_cut_as_the_slow_meaning_says(text, category, lines, size, more):
    cut = shortened(text, [None, lines, None, size], category, more=more)
    assert cut == oracle.truncated(text, category, lines, size=size, more=more)


@settings(max_examples=scaled(200))
@given(TEXTS, CATEGORY, st.integers(0, 12))
def test_lines_alone_are_cut_as_the_slow_meaning_says(text, category, lines):
    assert truncate(text, lines=lines, category=category) == oracle.truncated(text, category, lines)


@settings(max_examples=scaled(200))
@given(st.binary(max_size=400), st.integers(1, 50), CATEGORY, st.integers(0, 60), st.integers(0, 10))
def test_a_stream_of_any_bytes_passes_what_fits_and_cuts_the_rest_where_its_text_is_cut(raw, size, category, n, lines):
    chunks = [raw[at : at + size] for at in range(0, len(raw), size)]
    cut = truncate_stream(chunks, tokens=n, lines=lines, category=category, counter=O200K)
    text = raw.decode(errors="replace")
    whole = truncate(text, tokens=n, lines=lines, category=category, counter=O200K)
    if whole == text:
        assert cut == raw
    elif raw == text.encode():  # the numbers of bytes in a notice differ where bytes were replaced
        assert cut.decode() == whole
    head = cut.partition(b"[")[0].removesuffix(b"\n")
    assert raw.startswith(head) or cut == "…".encode()


def test_each_category_keeps_what_it_is_made_to_keep():
    kept = {category: truncate(LOG, tokens=100, category=category).splitlines() for category in CATEGORIES}
    assert all(oracle.truncation(LOG, "\n".join([*lines, ""]), category) for category, lines in kept.items())
    assert {category: (lines[0], lines[-1]) for category, lines in kept.items()} == {
        "head-tail": ("line 0 of the log", "line 999 of the log"),
        "match-list": ("line 0 of the log", "[988 lines, 19672 bytes omitted]"),
        "file-content": ("line 0 of the log", "line 999 of the log"),
        "generic": ("line 0 of the log", "[988 lines, 19672 bytes omitted]"),
    }
    at = {name: next(n for n, line in enumerate(lines) if "omitted" in line) for name, lines in kept.items()}
    assert (at["head-tail"], len(kept["head-tail"])) == (7, 13)
    assert (at["file-content"], len(kept["file-content"])) == (5, 12)
    assert "read on with offset/limit" in kept["file-content"][5]


def test_sixty_and_forty_lines_are_a_hundred_and_one_with_the_notice():
    lines = truncate(LOG, lines=101, category="head-tail").splitlines()
    assert (lines[:60], lines[61:]) == (LOG.splitlines()[:60], LOG.splitlines()[-40:])


def test_one_line_too_long_for_the_room_is_cut_inside_but_a_match_never_is():
    text = "$ run\n" + "x" * 5_000 + "\nexit 1\n"
    shown = truncate(text, chars=200, category="head-tail")
    assert shown.startswith("$ run\nxxxx")
    assert shown.endswith("x\nexit 1\n")
    assert len(shown) >= 190
    assert truncate("y" * 500, chars=100, category="generic").startswith("yyyy")
    assert truncate("y" * 500, chars=100, category="match-list") == "[1 line, 500 bytes omitted]\n"


def test_a_counter_that_estimates_is_as_good_as_any():
    quarter = Counter.chars("bytes", "ceil")
    cut = truncate(LOG, tokens=50, category="head-tail", counter=quarter)
    assert 40 <= quarter.count(cut) <= 50
    model = Counter.for_model(CLAUDE)
    assert 80 <= model.count(truncate(LOG, tokens=100, category="head-tail", counter=model)) <= 100


def test_lone_surrogates_are_replaced_only_where_a_text_is_cut():
    text = "\ud800" + "x" * 100
    assert truncate(text, chars=101) is text
    assert truncate(text, chars=60).startswith("\ufffdx")


def test_what_is_no_limit_is_refused():
    for wrong in ({}, {"tokens": -1}, {"lines": 3, "category": "middle"}):
        with pytest.raises(ValueError, match="limit|at least 0|unknown category"):
            truncate("text", **wrong)
    with pytest.raises(TypeError):
        truncate("text", tokens=1.5)
    with pytest.raises(ValueError, match="need a limit"):
        truncate_stream(iter(()))
    assert truncate("text", tokens=2**64 - 1) == "text"


def test_a_finished_stream_takes_no_more():
    stream = trimtab._core.Truncation(counter=O200K, category="generic", limits=[None, 1, None, None])
    stream.push(b"one\n")
    assert stream.finish() == b"one\n"
    with pytest.raises(ValueError, match="finished"):
        stream.push(b"two\n")


def verb(*words, **more):
    return subprocess.Popen([sys.executable, "-m", "trimtab", "truncate", *words], stdout=subprocess.PIPE, **more)


def test_the_verb_is_a_filter_in_a_pipe(tmp_path):
    path = tmp_path / "log"
    path.write_text(LOG)
    with path.open("rb") as file, verb("--category", "head-tail", "--tokens", "100", stdin=file) as piped:
        out = piped.stdout.read()
    assert (piped.returncode, out.decode()) == (0, truncate(LOG, tokens=100, category="head-tail"))
    noise = b"caf\xe9\x00\r\n" * 3
    with verb("--lines", "3", "-", stdin=subprocess.PIPE) as piped:
        assert piped.communicate(noise)[0] == noise
    with verb(str(path), "--model", CLAUDE, "--tokens", "0.1k") as piped:
        counter = Counter.for_model(CLAUDE)
        short = truncate(LOG, tokens=100, counter=counter, more=f"see {path}")
        assert piped.stdout.read().decode() == short, "the notice names the file that has the rest"
    with verb(str(path), "--lines", "2", "--json") as piped:
        told = json.loads(piped.stdout.read())
    short = truncate(LOG, lines=2, more=f"see {path}")
    assert told == {"text": short, "bytes_before": len(LOG), "bytes_after": len(short)}
    for words, code in (
        ((), 64),
        (("--lines", "x"), 64),
        (("--lines", "3", "/no/such"), 65),
        (("--lines", "3", "/"), 65),
    ):
        with verb(*words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as wrong:
            assert (wrong.communicate()[0], wrong.returncode) == (b"", code), words


def test_a_reader_that_has_left_is_no_error():
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "trimtab", "truncate", "--lines", "9"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=write, stderr=subprocess.PIPE) as piped:
        os.close(write)
        assert piped.communicate(LOG.encode())[1] == b""
    assert piped.returncode == 0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to measure memory")
def test_a_huge_text_takes_bounded_memory():
    block = ("x" * 99 + "\n").encode() * 10_000
    script = """import re, sys
from trimtab.cli import main
main(["truncate", "--category", "head-tail", "--tokens", "4k"])
with open("/proc/self/status") as file: print(re.search(r"VmHWM:\\s+(\\d+)", file.read())[1], file=sys.stderr)"""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", script], **pipes) as piped:
        for _ in range(200):
            piped.stdin.write(block)
        piped.stdin.close()
        out, err = piped.stdout.read().decode(), piped.stderr.read().split()
    gone = int(out.partition(" lines, ")[0].rpartition("[")[2])
    assert gone == 2_000_000 - (out.count("\n") - 1)
    assert int(err[-1]) < 120_000, "kilobytes, of which Python and numpy have about 35,000"


def test_an_interrupt_ends_the_filter_with_nothing_on_stdout():
    with verb("--lines", "3", stdin=subprocess.PIPE, stderr=subprocess.PIPE) as piped:
        piped.stdin.write(LOG.encode())
        piped.stdin.flush()
        err = b""
        while b"reading" not in err:  # after a second it says what it does
            err += os.read(piped.stderr.fileno(), 4096) or pytest.fail("it ended before")
        piped.send_signal(signal.SIGINT)
        out, more = piped.communicate()
    assert (piped.returncode, out) == (130, b"")
    assert b"Traceback" not in err + more
