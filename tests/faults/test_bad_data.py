"""Bad data: a test for each requirement on it. ``test_bad_input`` has what each function says of such data.

The long forms are slow: ``make slow ARGS=tests/faults`` runs them and prints what they measured.
"""

from __future__ import annotations

import base64
import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_bad_input import FILLER, O200K, oracle_text

import trimtab
from support.models import CLAUDE
from trimtab.formats import scan
from trimtab.summarize import render

ROWS = {
    "d1": "lone surrogates count as U+FFFD, are archived as they are, and no model is sent one",
    "d2": "NUL, control characters, direction and byte order marks are kept",
    "d3": "one string of 100 MB is counted in 20 s and three times its size",
    "d4": "a million repetitions are counted exactly, in linear time",
    "d5": "nesting is read up to a limit, and an error beyond it",
    "d6": "a cycle is an error",
    "d7": "content and roles of any type are read, or reported in an error",
    "d8": "unmatched calls and results are reported and repaired",
    "d10": "damaged images are estimated",
    "d11": "damaged documents are estimated",
    "d12": "a file truncated anywhere gives its whole lines and reports the cut one",
    "d13": "JSON is accepted and rejected as by the standard library",
}
"""Requirements by number; the names of their tests begin with it."""

HERE = Path(__file__).parent


@pytest.mark.parametrize("row", ROWS)
def test_each_requirement_has_a_test_named_after_it(row):
    named = "".join((HERE / f"{name}.py").read_text() for name in ("test_bad_data", "test_bad_input"))
    assert re.search(rf"def test_(d\d+_and_)?{row}_", named)


def test_d1_lone_surrogates_are_counted_archived_and_never_sent():
    draw = random.Random(1)
    pool = [*map(chr, range(0xD800, 0xDFFF, 37)), "\U0001f600", "é", "日", "a", " ", "\n"]
    texts = ["".join(draw.choices(pool, k=draw.randrange(1, 9))) + "." for _ in range(10_000)]
    assert O200K.count_many(texts).tolist() == O200K.count_many([oracle_text(text) for text in texts]).tolist()
    asked = []

    def summarizes(ask):
        asked.append(render(ask).text)
        return "Nothing was decided."

    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
    with trimtab.Compactor(CLAUDE, summarizer=summarizes) as cm:
        done = cm.compact([*messages, *FILLER], target_share=0.3)
        assert cm.restore(done.ref) == [*messages, *FILLER]
    assert asked
    for text in asked:
        text.encode()


def test_d2_control_characters_are_kept_at_every_position_of_a_text(tiktoken_encoding):
    codes = [*range(32), *range(0x7F, 0xA0), 0xAD, 0x61C, 0xFEFF, 0xFFFE, *range(0x200B, 0x2010)]
    codes += [*range(0x2028, 0x202F), *range(0x2060, 0x2070), *range(0xFFF9, 0xFFFC)]
    assert len(codes) >= 64
    roles = ("user", "assistant")
    texts = [text for code in codes for text in (f"{chr(code)}ab", f"a{chr(code)}b", f"ab{chr(code)}.")]
    messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
    cm = trimtab.Compactor(CLAUDE)
    assert cm.restore(cm.compact([*messages, *FILLER], target_share=0.3).ref) == [*messages, *FILLER]
    known = tiktoken_encoding("o200k_base")
    assert O200K.count_many(texts).tolist() == [len(known.encode_ordinary(text)) for text in texts]


# D3: one long string

ALPHABETS = {
    "prose": "The parser keeps its offset, so that an error names the place where it was met. ",
    "code": "    def offset(self, at: int) -> int:\n        return self._starts[bisect(self._starts, at) - 1]\n",
    "one letter": "a",
    "hex": "5f2e9c0b7a41d386",
    "Chinese": "解析器保留其偏移量以便错误能指出发生的位置",
    "emoji": "👩‍👩‍👧🚀👍🏽",
}
PROGRAM = """
import resource, sys, time, trimtab
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
counter = trimtab.Counter({encoding!r})
counter.count("hello there" * 9)
unit, size = {unit!r}, {size}
text = unit * (size // len(unit.encode()))
before, began = peak(), time.process_time()
tokens = counter.count(text)
print(tokens, time.process_time() - began, (peak() - before) / size)
"""


def long_string(alphabet, size, encoding="o200k_base"):
    """Tokens of so many bytes, seconds of work, and memory beside the string as a share of its size."""
    program = PROGRAM.format(unit=ALPHABETS[alphabet], size=size, encoding=encoding)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    tokens, seconds, memory = ran.stdout.split()
    return int(tokens), float(seconds), float(memory)


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_d3_counting_a_long_string_takes_at_most_three_times_its_memory(alphabet):
    tokens, _, memory = long_string(alphabet, 8_000_000)
    assert tokens > 8_000_000 // 16
    assert memory <= 3


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base", "claude-old", "claude-new"])
@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_d3_a_string_of_100_mb_is_counted_in_20_seconds(alphabet, encoding):
    tokens, seconds, memory = long_string(alphabet, 100_000_000, encoding)
    print(f"{alphabet:12} {encoding:12} {tokens:>11,} tokens, {seconds:5.1f} s of work, {memory:.2f} times its size")
    assert seconds <= 20
    assert memory <= 3


# D4: the same again and again

SHAPES = {
    "a": "a",
    "spaces": " ",
    "carets": "^",
    "low lines": "_",
    "line ends": "\n",
    "Chinese": "中",
    "digits": "1234567890",
    "emoji": "👩‍👩‍👧",
    "base64": base64.b64encode(random.Random(4).randbytes(750_000)).decode(),
}


def shape(name, length):
    return (SHAPES[name] * (length // len(SHAPES[name]) + 1))[:length]


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
@pytest.mark.parametrize("name", SHAPES)
def test_d4_repeated_text_is_counted_exactly(name, encoding, tiktoken_encoding):
    known, counter = tiktoken_encoding(encoding), trimtab.Counter(encoding)
    for length in (1_000, 10_000, 30_000):
        assert counter.count(shape(name, length)) == len(known.encode_ordinary(shape(name, length)))
    assert counter.count(shape(name, 1_000_000)) > counter.count(shape(name, 100_000)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_d4_a_million_repetitions_are_counted_in_a_second_and_in_linear_time(name):
    def took(length):
        text, best = shape(name, length), 9.0
        for _ in range(5):
            counter = trimtab.Counter("o200k_base")
            began = time.process_time()
            counter.count(text)
            best = min(best, time.process_time() - began)
        return best

    short, long = took(100_000), took(1_000_000)
    print(f"{name:10} 100,000 in {1000 * short:6.2f} ms, 1,000,000 in {1000 * long:6.2f} ms: {long / short:.1f} x")
    assert long <= 1
    assert long / short <= 15


# D12: files


def test_d12_a_bad_line_is_reported_by_line_and_offset():
    line = json.dumps({"role": "user", "content": "hi"}).encode()
    for bad in (b"\xff\xfe\x00", b'{"role": "user", "content": ', b"\x00" * 99, b"nul", b"hello"):
        for ends in (b"\n", b"\r\n", b"\n\n"):
            found = scan(ends.join([line, bad, line]), counter=O200K, provider="anthropic")
            assert len(found.ledger) == 2, bad
            places = [(skip.line, skip.offset) for skip in found.skipped]
            assert places[0] == (1 + ends.count(b"\n"), len(line) + len(ends)), bad


def test_d12_several_messages_on_a_line_are_all_read():
    line = json.dumps({"role": "user", "content": "hi"}).encode()
    assert len(scan(line * 3 + b"\n" + line, counter=O200K, provider="anthropic").ledger) == 4


# D13: JSON, taken and refused

VALUES = [
    '{"a": [1, -2.5e+3, 0.1E-2, true, false, null], "b": {"c": "\\u00e9\\n\\"\\\\/"}}',
    '["\\ud83d\\ude00", "é", "", [], {}, [[[]]], 0, -0, 1e5]',
    "[1, 22, 333]",
]
BYTES = "\"\\{}[]:,0159+-.eEtfnu/ \t\n\r\x00\x1f\x7fa'é"


def damaged():
    """Each value with each character left out, doubled, or replaced by another; and each beginning of it."""
    for value in VALUES:
        for at in range(len(value)):
            yield value[:at]
            yield value[:at] + value[at + 1 :]
            for other in BYTES:
                yield value[:at] + other + value[at + 1 :]
                yield value[:at] + other + value[at:]


def is_taken(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def test_d13_damaged_json_is_accepted_and_rejected_as_by_the_standard_library():
    head, kept = '{"role": "user", "content": "hi", "x": ', '{"role": "user", "content": "kept"}'
    texts = sorted({text for text in damaged() if "\n" not in text})
    both = [0, 0]
    for text in texts:
        taken = is_taken(f"{head}{text}}}")
        found = scan(f"{head}{text}}}\n{kept}".encode(), counter=O200K, provider="anthropic")
        assert taken == (len(found.ledger) == 2 and not found.skipped), text
        both[taken] += 1
    assert min(both) > 500
    assert sum(both) > 5_000
