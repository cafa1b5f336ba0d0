"""Counting: equal to tiktoken, to the last token, on any text; and cutting a text down to a count."""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import oracle
from support.models import CLAUDE, CLAUDE_BOUND, CLAUDE_OPUS, GEMINI, GPT, GPT_SMALL
from support.scale import scaled
from support.transcripts import PROVIDERS, deep_hash, messages
from trimtab import Counter, Model, _core, count, read
from trimtab.counting.counter import scan

ENCODINGS = ("o200k_base", "cl100k_base")
O200K = Counter("o200k_base")
SPECIAL = (
    "<|endoftext|>",
    "<|fim_prefix|><|fim_middle|><|fim_suffix|>",
    "<|endofprompt|>",
    "<|im_start|>user\nhi<|im_end|>",
    "a <|endoftext|> b",
    "<|endoftext|",
)
SURROGATES = ("\ud800", "\udc00", "a\ud83d", "\ud83d\ude00", "\ude00\ud83d", "x\ud800\ud800\udc00y", "\ufeff\ud800")
SNIPPETS = st.sampled_from(
    [
        *"don't I'LL we'Ve \u017fs' 123456 1\u0663 naïve ñ ΑΒΓ ǅ 日本語 한국어 e\u0301 fooBarBAZ _x 3.14".split(),
        *"</s> <|endoftext|> === --- /// \x00 \x7f \ufeff \u200b \U0001f600 \U000e0001".split(),
        *(" ", "  ", "     ", "\t\t  ", "\u3000", "\u2028", "\n", "\n\n\n", "\r\n", "//\n"),
    ]
)
ANY_CHARACTER = st.characters(exclude_categories=())
TEXTS = st.one_of(
    st.text(max_size=60),
    st.text(ANY_CHARACTER, max_size=40),
    st.lists(SNIPPETS, max_size=30).map("".join),
    st.lists(SNIPPETS, max_size=20).map(" ".join),
    st.lists(st.sampled_from(["a", "A", "'s", " ", "\n", "\r", "1", "é", "/", "中", "\ud83d"]), max_size=60).map(
        "".join
    ),
)
LARGE = [f"def f{n}(x):\n    return 'naïve {n}'\n" * 30 for n in range(400)]  # 500 kB: past where the threads begin
BATCHES = ([*LARGE, "lone \ud800", b"\xff no text", "", *LARGE[:3]], [" ".join(LARGE), "", "naïve"], [])


@pytest.fixture(scope="module")
def tiktoken_counts(tiktoken_encoding):
    """For each encoding, what tiktoken counts."""
    encodings = {name: tiktoken_encoding(name) for name in ENCODINGS}
    return {name: lambda text, e=e: len(e.encode_ordinary(text)) for name, e in encodings.items()}


@pytest.mark.parametrize("longest", ["", "\xff", "я中 \uffff", "\U0001f600"])
@pytest.mark.parametrize("length", [1, 3, 1_000, 2**17, 2**17 + 1])
def test_a_string_of_any_width_and_length_counts_as_its_bytes(longest, length):
    text = ("The naïve " if longest else "The plain ") + (longest or "a") * length
    assert O200K.count(text) == O200K.count(text.encode())
    assert (
        O200K.count_many([text, "é", text]).tolist() == O200K.count_many([text.encode(), b"\xc3\xa9"] * 2).tolist()[:3]
    )


@pytest.mark.parametrize("name", ENCODINGS)
def test_special_tokens_surrogates_and_nothing_count_as_in_tiktoken(name, tiktoken_counts):
    texts = ["", *SPECIAL, *SURROGATES]
    assert [Counter(name).count(text) for text in texts] == [tiktoken_counts[name](text) for text in texts]


@settings(max_examples=scaled(2_000))
@given(TEXTS)
@example("\u017f's" * 3)
@example(" " * 700 + "x")
@example("\r\n\r \n\t")
def test_any_text_counts_as_in_tiktoken(tiktoken_counts, text):
    ours = {name: Counter(name).count(text) for name in ENCODINGS}
    assert ours == {name: of(text) for name, of in tiktoken_counts.items()}


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("character", ["a", "é", "\n", "0", "^", "中"])
def test_a_long_run_of_a_character_counts_as_in_tiktoken(name, character, tiktoken_counts):
    text = character * (1_000_000 if character == "a" else 50_000)
    assert Counter(name).count(text) == tiktoken_counts[name](text)


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_million_spaces_count_as_in_tiktoken(name, tiktoken_counts):
    """tiktoken panics on a million spaces in o200k_base. But 128 spaces are its longest token: so many more spaces are
    one token more, on lengths that it survives, and a million is no exception."""
    counter, of = Counter(name), tiktoken_counts[name]
    for spaces in (9_999, 50_000, 99_904):
        assert of(" " * (spaces + 128)) == of(" " * spaces) + 1
    assert counter.count(" " * 99_904) == of(" " * 99_904)
    assert counter.count(" " * 1_000_000) == of(" " * 99_904) + (1_000_000 - 99_904) // 128


@given(st.one_of(st.binary(max_size=80), TEXTS.map(lambda text: text.encode(errors="surrogatepass"))))
def test_bytes_count_as_their_text_with_what_is_no_utf8_replaced(data):
    assert O200K.count(data) == O200K.count(data.decode(errors="replace"))


@given(st.lists(TEXTS, max_size=20))
def test_many_texts_count_as_each_alone(texts):
    counts = O200K.count_many(texts)
    assert counts.dtype == np.uint32
    assert counts.flags.c_contiguous
    assert counts.tolist() == [O200K.count(text) for text in texts] == O200K.count_many(iter(texts)).tolist()


def test_a_large_batch_counts_as_each_text_alone():
    assert O200K.count_many([*LARGE, LARGE[0].encode()]).tolist() == [O200K.count(t) for t in [*LARGE, LARGE[0]]]


@given(TEXTS, st.integers(-2, 80) | st.sampled_from([-(2**70), 2**64, 2**70]))
def test_exceeds_means_more_tokens_than(text, n):
    for counter in (O200K, Counter("cl100k_base"), Counter.chars("utf16", "half_up")):
        assert counter.exceeds(text, n) == (counter.count(text) > n)


@pytest.mark.parametrize(
    "unit", ["Zwei W\u00f6rter, ", "\u4e2d\u6587\u3002", "a \U0001f600\U0001f600 ", "\u00e9 \ud83d ", "..\u00e9\u00e9"]
)
def test_a_long_text_exceeds_what_it_has_more_tokens_than(unit):
    text = unit * 2_000
    count = O200K.count(text)
    for n in [0, 1, 63, 64, 500, count // 12, count // 6, count // 3, count - 1, count, count + 1]:
        assert O200K.exceeds(text, n) == (count > n)


@pytest.mark.parametrize("wrong", [None, 7, 1.5, ["a"], {"a": 1}, bytearray(b"a"), memoryview(b"a"), object()])
def test_what_is_no_text_is_a_type_error(wrong):
    for call in (O200K.count, lambda w: O200K.count_many(["a", w]), lambda w: O200K.exceeds(w, 1)):
        with pytest.raises(TypeError, match=f"expected str or bytes, got {type(wrong).__name__}"):
            call(wrong)


def test_a_limit_that_is_no_number_is_refused():
    for wrong in ("1", None, 1.0):
        with pytest.raises(TypeError):
            O200K.exceeds("a", wrong)
    with pytest.raises(TypeError, match="expected str or bytes"):
        O200K.exceeds(7, -1)


def test_a_part_of_less_than_no_tokens_is_refused_and_one_of_any_more_is_the_text():
    for wrong in (-1, -(2**70)):
        with pytest.raises(ValueError, match=f"head must be 0 or more, got {wrong}"):
            O200K.truncate_tokens("a b", wrong, 1)
        with pytest.raises(ValueError, match=f"tail must be 0 or more, got {wrong}"):
            O200K.truncate_tokens("a b", 1, wrong)
    assert O200K.truncate_tokens("a b", 2**64, 2**70) == ("a b", "")


def test_an_unknown_encoding_is_told_the_known_ones():
    for name in ("gpt2", "", "O200K_BASE", "chars/4"):
        with pytest.raises(ValueError, match="known are o200k_base, cl100k_base"):
            Counter(name)
    for arguments in (("lines",), ("chars", "down"), ("chars floor",)):
        with pytest.raises(ValueError, match="unknown unit or rounding"):
            Counter.chars(*arguments)
    with pytest.raises(TypeError):
        Counter(5)


@given(TEXTS)
def test_chars_is_a_quarter_of_the_length(text):
    for unit in ("chars", "bytes", "utf16"):
        for rounding in ("floor", "ceil", "half_up"):
            expected = oracle.quarter(oracle.length(text, unit), rounding)
            assert Counter.chars(unit, rounding).count(text) == expected, (unit, rounding)
    assert Counter.chars().count(text) == oracle.quarter(oracle.length(text, "chars"), "ceil")


def test_a_counter_says_what_it_counts_with():
    assert [Counter(name).engine for name in ENCODINGS] == ["trimtab o200k_base", "trimtab cl100k_base"]
    assert Counter.chars("utf16", "half_up").engine == "utf16/4 rounded halfup"
    assert O200K.explain() == f"trimtab o200k_base ({_core.SIMD}): exact"
    assert Counter.chars().explain() == "chars/4 rounded ceil: an estimate by length"
    assert "Claude 4.5: reconstructed" in Counter.for_model(CLAUDE).explain()
    assert "estimate" in Counter.for_model(GEMINI).explain()


MODELS = (CLAUDE, CLAUDE_OPUS, "claude-opus-4-6", "claude-opus-4-7", CLAUDE_BOUND, GPT)


@pytest.mark.parametrize("model", [*MODELS, GPT_SMALL, GEMINI])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_per_message_is_what_each_message_adds_to_the_models_prompt(model, provider):
    prompt = replace(Model.named(model).prompt, images="standard")  # the oracle has that tier alone
    counter = Counter.for_model(replace(Model.named(model), prompt=prompt))
    of = Counter(prompt.encoding).count

    @settings(max_examples=30)
    @given(messages(provider))
    def holds(transcript):
        before = deep_hash(transcript)
        rows, framing = oracle.costs(transcript, provider, of, prompt)
        owners = [row.owner for row in oracle.rows(transcript, provider)]
        expected = [sum(t for t, o in zip(rows, owners, strict=True) if o == m) + f for m, f in enumerate(framing)]
        got = counter.per_message(transcript, provider=provider)
        assert (got.dtype, got.tolist()) == (np.uint32, expected)
        assert scan(transcript, counter, provider).tokens.tolist() == rows
        assert count(transcript, model=model, provider=provider) >= 0
        assert deep_hash(transcript) == before

    holds()


def test_a_models_counter_counts_a_bare_text_as_a_user_would_send_it():
    texts = ["", "hello world", LARGE[0]]
    for model in MODELS:
        of = Counter(Model.named(model).prompt.encoding).count
        counter = Counter.for_model(model)
        given = [of(text) for text in texts]
        assert [counter.count(text) for text in texts] == given == counter.count_many(texts).tolist()
        assert [count(text, model=model) for text in texts] == given
        assert all(counter.exceeds(text, n) == (counter.count(text) > n) for text in texts[:2] for n in range(5))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_so_many_threads_count_the_same_and_no_other_is_started(threads: int):
    code = (
        "import test_counter as t\n"
        "print([t.O200K.count_many(x).tolist() for x in t.BATCHES], len(t.os.listdir('/proc/self/task')))"
    )
    script = [sys.executable, "-c", code]
    there = {
        **os.environ,
        "TRIMTAB_THREADS": str(threads),
        "PYTHONPATH": os.pathsep.join(map(str, (Path(__file__).parent, Path(__file__).parents[2]))),
        "OPENBLAS_NUM_THREADS": "1",
    }
    printed = subprocess.run(script, env=there, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == f"{[[O200K.count(text) for text in batch] for batch in BATCHES]} {threads}"


def test_no_number_of_threads_takes_minutes_to_start():
    code = "import trimtab\nprint(trimtab.Counter('o200k_base').count_many(['tea ' * 9] * 9_999).sum())"
    there = {**os.environ, "TRIMTAB_THREADS": "99999"}
    printed = subprocess.run([sys.executable, "-c", code], env=there, capture_output=True, text=True, check=True).stdout
    assert int(printed) == 9_999 * O200K.count("tea " * 9)


def test_a_list_that_another_thread_changes_is_counted_as_it_was_at_one_time():
    lists = [["some words " * 3_000, "中文 und Wörter " * 2_000] * n for n in (40, 60)]
    expected, texts, ended = [O200K.count_many(some).tolist() for some in lists], list(lists[0]), threading.Event()

    def change() -> None:
        while not ended.is_set():
            texts[:] = lists[len(texts) == len(lists[0])]

    other = threading.Thread(target=change)
    other.start()
    try:
        assert all(O200K.count_many(texts).tolist() in expected for _ in range(50))
    finally:
        ended.set()
        other.join()


def test_eight_threads_count_the_same():
    expected, got = O200K.count_many(LARGE).tolist(), {}
    threads = [threading.Thread(target=lambda n=n: got.update({n: O200K.count_many(LARGE).tolist()})) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert got == dict.fromkeys(range(8), expected)


@pytest.mark.skipif(sys.platform != "linux", reason="page faults of one thread are Linux's")
@pytest.mark.parametrize("counter", [O200K, Counter("claude-new")])
def test_a_new_thread_has_the_tables_of_one_that_ended(counter):
    """Tables that it filled itself would be hundreds of pages from the system."""
    resource = pytest.importorskip("resource")
    text, faults, counts = " ".join(f"word{n} {n * 7_919}" for n in range(2_000)), [], []

    def count():
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
        counts.append(counter.count(text))
        faults.append(resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before)

    for _ in range(3):
        thread = threading.Thread(target=count)
        thread.start()
        thread.join()
    assert len(set(counts)) == 1
    assert min(faults[1:]) < 40


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_counts_the_same():
    expected = int(O200K.count_many(LARGE).sum())  # makes the threads that the child will not have
    reads, writes = os.pipe()
    child = os.fork()
    if not child:  # nothing of pytest may run in here
        try:
            os.write(writes, str(int(O200K.count_many(LARGE).sum())).encode())
        finally:
            os._exit(0)
    try:
        ready, _, _ = select.select([reads], [], [], 60)
        assert ready, "the child hangs"
        assert int(os.read(reads, 100)) == expected
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reads)
        os.close(writes)
    assert int(O200K.count_many(LARGE).sum()) == expected


def test_other_threads_go_on_while_a_long_text_is_counted():
    """The interpreter would switch threads once in 100 s here: the other one goes on only if it is released."""
    text, steps, stop = "hello world, naïve 日本語\n" * 100_000, [0], threading.Event()

    def walk():
        while not stop.is_set():
            steps[0] += 1
            time.sleep(0)

    interval, thread = sys.getswitchinterval(), threading.Thread(target=walk)
    sys.setswitchinterval(100)
    try:
        thread.start()
        went_on = []
        for _ in range(5):
            before = steps[0]
            O200K.count(text)
            went_on.append(steps[0] > before)
        assert any(went_on)
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()


@pytest.mark.shared
def test_every_text_of_the_shared_sessions_counts_as_in_tiktoken(shared, tiktoken_encoding):
    texts = set()

    def collect(value):
        if isinstance(value, str):
            texts.add(value)
        elif isinstance(value, dict):
            for part in value.values():
                collect(part)
        elif isinstance(value, list):
            for part in value:
                collect(part)

    for path in sorted((shared / "data" / "transcripts").rglob("*.jsonl")):
        if path.relative_to(shared / "data" / "transcripts").parts[0] in {"claude-code", "codex"}:
            collect(read(path, whole=True).messages)
    assert len(texts) > 10_000
    ordered = sorted(texts)
    for name in ("o200k_base", "cl100k_base"):
        encoding = tiktoken_encoding(name)
        expected = [len(encoding.encode_ordinary(text)) for text in ordered]
        assert Counter(name).count_many(ordered).tolist() == expected
