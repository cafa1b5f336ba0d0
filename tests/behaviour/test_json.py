"""JSON text to a ledger: the view over text against the view over objects, for any messages in any JSON."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trimtab
from support.models import GPT
from support.scale import scaled
from support.transcripts import PROVIDERS, messages, transcript
from trimtab import Counter, Ledger
from trimtab.formats import scan

O200K = Counter("o200k_base")
COLUMNS = (
    "owner kind tokens pair bytes chars utf16 flags role marks first safe per_message total digest provider".split()
)


def columns(ledger):
    """All that a ledger tells."""
    found, places = ledger.names
    names = [(ledger.id_of(row), found[place]) for row, place in enumerate(places)]
    values = (getattr(ledger, name) for name in COLUMNS)
    return names, [value.tolist() if isinstance(value, np.ndarray) else value for value in values]


def of_text(text, provider=None):
    return columns(scan(text.encode("utf-8", "surrogatepass"), counter=O200K, provider=provider).ledger)


def of_objects(objects, provider=None):
    return columns(Ledger.of(objects, counter=O200K, provider=provider))


# Strings as they stand in JSON: plain, escaped in every way, lone and paired surrogates, what looks like structure.
ESCAPES = [
    r"\n",
    r"\"",
    r"\\",
    r"\/",
    r"\b",
    r"\f",
    r"\r",
    r"\t",
    r"\u0041",
    r"\u00e9",
    r"\ud83d\ude00",
    r"\ud800",
    r"\udc00",
]
RAW = ["a", "word ", "é", "日本語", "😀", "{", "]", ",", "'", "\x7f", "\u2028", "0", "x" * 40]
STRINGS = st.lists(st.sampled_from(ESCAPES + RAW), max_size=12).map(lambda parts: f'"{"".join(parts)}"')
NUMBERS = st.one_of(
    st.integers().map(str),
    st.integers(-(10**60), 10**60).map(str),
    st.floats().map(json.dumps),
    st.sampled_from(
        ["-0", "-0.0", "1E5", "1e-7", "0.1e+1", "1e400", "-1e999", "5e-324", "1.7976931348623157e308", "9" * 300]
    ),
)
SPACE = st.sampled_from(["", "", "", " ", "\t", "  ", "\r"])
WORDS = st.sampled_from(["null", "true", "false", "NaN", "Infinity", "-Infinity"])


def containers(inner):
    def joined(parts):
        return ",".join(parts)

    entry = st.tuples(SPACE, st.one_of(KEYS, STRINGS), SPACE, inner, SPACE).map(
        lambda e: f"{e[0]}{e[1]}{e[2]}:{e[3]}{e[4]}"
    )
    lists = st.lists(st.tuples(SPACE, inner, SPACE).map("".join), max_size=4).map(lambda parts: f"[{joined(parts)}]")
    return st.one_of(lists, st.lists(entry, max_size=40).map(lambda parts: f"{{{joined(parts)}}}"))


KEYS = st.sampled_from(['"a"', '"b"', r'"\u0061"', '"type"', '"text"', '"input"', '""', r'"\ud800"', r'"\ud801"'])
VALUES = st.recursive(st.one_of(STRINGS, NUMBERS, WORDS), containers, max_leaves=30)
OBJECTS = st.lists(st.tuples(KEYS, VALUES).map(":".join), max_size=5).map(lambda parts: f"{{{','.join(parts)}}}")


@st.composite
def odd_messages(draw):
    """A message in Anthropic's shape whose texts, inputs and extra fields are any JSON."""
    text = draw(STRINGS)
    blocks = st.one_of(
        STRINGS.map(lambda t: f'{{"type":"text","text":{t}}}'),
        OBJECTS.map(lambda o: f'{{"type":"tool_use","id":"t","name":"f","input":{o}}}'),
        st.tuples(STRINGS, WORDS).map(
            lambda p: f'{{"type":"tool_result","tool_use_id":"t","is_error":{p[1]},"content":{p[0]}}}'
        ),
        VALUES.map(lambda v: f'{{"type":"odd","value":{v},"type":"odd"}}'),
        VALUES.map(lambda v: f'{{"type":"image","source":{v}}}'),
    )
    listed = ",".join(draw(st.lists(blocks, max_size=3)))
    content = draw(st.sampled_from([text, f"[{listed}]", "null"]))
    first, extra = draw(st.sampled_from(['"content":"old",', ""])), draw(VALUES)
    role = draw(st.sampled_from(['"user"', '"assistant"', r'"us\u0065r"']))
    return f'{{{first}"role":{role},"x":{extra},"content":{content}}}'


@settings(max_examples=scaled(400))
@given(st.lists(odd_messages(), min_size=1, max_size=4))
def test_any_json_means_to_both_views_what_json_loads_makes_of_it(texts):
    objects = [json.loads(text) for text in texts]
    expected = of_objects(objects, "anthropic")
    assert of_text("\n".join(texts), "anthropic") == expected
    assert of_text(f"[{','.join(texts)}]", "anthropic") == expected


@settings(max_examples=scaled(150))
@given(st.sampled_from(PROVIDERS), st.data())
def test_generated_transcripts_give_the_same_ledger_from_text_and_from_objects(provider, data):
    found = data.draw(messages(provider))
    if not found:
        return
    expected = of_objects(found, provider)
    for is_ascii, indent in ((True, None), (False, 1)):
        assert of_text(json.dumps(found, ensure_ascii=is_ascii, indent=indent), provider) == expected
        lines = [json.dumps(message, ensure_ascii=is_ascii, indent=indent) for message in found]
        assert of_text("\n".join(lines), provider) == expected


@settings(max_examples=scaled(300))
@given(st.floats(allow_nan=False))
def test_floats_are_written_as_python_writes_them(number):
    text = f'{{"role":"user","content":[{{"type":"odd","value":{json.dumps(number)}}}]}}'
    assert of_text(text) == of_objects([json.loads(text)])
    assert math.isinf(number) or json.loads(json.dumps(number)) == number


@settings(max_examples=scaled(300))
@given(st.text(alphabet='{}[]",:\\ntrue0-1.eE +/u\t', max_size=30))
def test_what_json_loads_refuses_is_refused(text):
    line = f'{{"role": "user", "content": "hi", "x": {text}}}'
    try:
        expected = of_objects([json.loads(line)])
    except ValueError:
        found = scan(f'{line}\n{{"role": "user", "content": "kept"}}'.encode(), counter=O200K)
        assert (len(found.ledger) - 1, found.skipped[0].line) in {(0, 1), (1, 1)}, "the next line, or a value before"
    else:
        assert of_text(line) == expected


def test_nesting_is_refused_where_it_is_too_deep_and_not_before():
    def nested(n):
        return f'{{"role": "user", "content": "hi", "x": {"[" * n}{"]" * n}}}'

    kept = '\n{"role": "user", "content": "kept"}'
    assert len(scan((nested(800) + kept).encode(), counter=O200K).ledger) == 2
    for n in (1_000, 100_000, 1_000_000):
        found = scan((nested(n) + kept).encode(), counter=O200K)
        assert (len(found.ledger), [(skip.line, skip.reason) for skip in found.skipped]) == (
            1,
            [(1, "nested too deeply")],
        )
    deep = json.dumps([{"role": "user", "content": [{"type": "odd", "x": json.loads("[" * 300 + "]" * 300)}]}])
    with pytest.raises(trimtab.MessageError, match="nested deeper than 200"):
        scan(deep.encode(), counter=O200K)


def test_what_is_no_message_is_named_as_among_objects():
    for bad in ("5", '{"content": "x"}', '{"role": "user", "content": 5}', '{"role": "user", "content": ["x"]}'):
        text = f'[{{"role": "user", "content": [{{"type": "tool_use"}}]}}, {bad}]'
        with pytest.raises(ValueError, match=r"messages") as of_objects_:
            trimtab.counting.counter.scan(json.loads(text), O200K)
        with pytest.raises(trimtab.MessageError) as of_text_:
            scan(text.encode(), counter=O200K)
        assert (of_text_.value.path, of_text_.value.index) == (of_objects_.value.path, 1)
    for nothing in (b"", b"\n\n", b"[]", b"nonsense"):
        with pytest.raises(trimtab.MessageError, match="empty|no messages"):
            scan(nothing, counter=O200K)
    with pytest.raises(trimtab.MessageError, match="no such file"):
        scan("/no/such/file", counter=O200K)


def test_a_reader_counts_a_file_in_any_chunks(tmp_path):
    found = [{"role": "user", "content": f"größer {n}\n" * 50} for n in range(3_000)]
    text = "".join(f"{json.dumps(message, ensure_ascii=False)}\r\n" for message in found).encode()
    path = tmp_path / "messages.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + text)
    expected = of_objects(found)
    assert columns(scan(path, counter=O200K).ledger) == expected
    assert columns(scan((text[at : at + 777] for at in range(0, len(text), 777)), counter=O200K).ledger) == expected


@pytest.mark.shared
def test_every_shared_session_gives_the_same_ledger_from_text_and_from_objects(shared):
    files = sorted(p for p in (shared / "data" / "transcripts").rglob("*") if p.is_file() and p.name != "manifest.csv")
    for path in files:
        found = trimtab.read(path)
        text = "".join(f"{json.dumps(message)}\n" for message in found.messages)
        assert of_text(text, found.provider) == of_objects(found.messages, found.provider), path


def run(*words, **more):
    return subprocess.run([sys.executable, "-m", "trimtab", *words], capture_output=True, check=False, **more)


def test_the_verb_count_makes_no_objects_of_a_large_list_of_messages(tmp_path):
    found = transcript(" ".join(f"u:60 c{n} r{n}:200 a:90" for n in range(20)), provider="anthropic")
    found[0]["content"] = [{"type": "text", "text": "x " * (16 << 20)}]  # large by one message
    path, small = tmp_path / "large.jsonl", tmp_path / "small.json"
    path.write_text("".join(f"{json.dumps(message)}\n" for message in found) + "nonsense\n")
    done = run("count", str(path), "--json", "--model", GPT)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    ledger = scan(path, counter=Counter.for_model(GPT)).ledger
    assert (told["messages"], told["tokens"], told["provider"]) == (80, ledger.total, "anthropic")
    assert b"skipped line 81" in done.stderr
    with path.open("rb") as file:
        assert run("count", "-", "--json", "--model", GPT, stdin=file).stdout == done.stdout
    found[0]["content"] = "short"
    small.write_text(json.dumps(found))
    told = json.loads(run("count", "-", "--json", "--model", GPT, input=small.read_bytes()).stdout)
    assert told["tokens"] == Ledger.of(found, counter=Counter.for_model(GPT), provider="anthropic").total
