"""Counting that does not look at all of a text: growing ones, files, heads and tails."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_counter import ENCODINGS, TEXTS

import oracle
from support.models import GPT
from support.scale import scaled
from trimtab import Counter

O200K = Counter("o200k_base")


@given(st.lists(TEXTS, max_size=8))
def test_a_growing_text_counts_as_the_whole_so_far(parts):
    models = map(Counter.for_model, (GPT, "claude-opus-4-6"))
    for counter in (*map(Counter, ENCODINGS), Counter.chars("utf16", "half_up"), *models):
        growing, whole = counter.incremental(), ""
        for part in parts:
            growing.append(part.encode(errors="replace").decode())
            whole += part.encode(errors="replace").decode()
            assert growing.tokens == counter.count(whole)


@given(st.one_of(st.binary(max_size=60), TEXTS.map(lambda text: text.encode(errors="replace"))), st.integers(1, 7))
def test_growing_bytes_may_be_cut_anywhere(data, step):
    growing = O200K.incremental()
    for start in range(0, len(data), step):
        growing.append(data[start : start + step])
        assert growing.tokens == O200K.count(data[: start + step])


def test_what_is_no_text_cannot_be_appended():
    with pytest.raises(TypeError, match="expected str or bytes, got int"):
        O200K.incremental().append(7)


def test_a_file_counts_as_its_text(tmp_path):
    path = tmp_path / "text"
    line = "naïve 日本語 text, it's 12345 lines of\n".encode()
    for data in (b"", b"\xff" * 10, line * 60_000, b"a" * 3_000_000, line[:-9] * 3 + b"\xe4\xb8"):
        path.write_bytes(data)
        assert O200K.count_file(path) == O200K.count(data)
    with pytest.raises(FileNotFoundError):
        O200K.count_file(tmp_path / "none")


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_head_and_a_tail_are_the_first_and_the_last_tokens(name, tiktoken_encoding):
    counter, encoding = Counter(name), tiktoken_encoding(name)

    @settings(max_examples=scaled(500))
    @given(TEXTS, st.integers(0, 30), st.integers(0, 30))
    def holds(text, head, tail):
        assert counter.truncate_tokens(text, head, tail) == oracle.ends_of_tokens(text, head, tail, encoding)

    holds()
    rng = random.Random(5)
    long = "".join(rng.choices(["word ", "naïve", "日本語", "\n", "  ", "12345", "x" * 90, "=" * 70], k=3_000))
    for head, tail in ((0, 0), (1, 0), (0, 1), (100, 2_000), (5_000, 500), (1_000_000, 0)):
        assert counter.truncate_tokens(long, head, tail) == oracle.ends_of_tokens(long, head, tail, encoding)


def test_an_estimate_has_no_tokens_to_cut_at():
    with pytest.raises(ValueError, match="no tokens to cut at"):
        Counter.chars().truncate_tokens("some text", 1, 1)


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize(
    "unit", ["a", "\u0301", "=", "中", "\U0001f468\u200d\U0001f469\u200d", "aB", " \n", "'s", "9"], ids=ascii
)
def test_what_repeats_for_long_counts_as_in_tiktoken(name, unit, tiktoken_encoding):
    text = unit * (30_000 // len(unit))
    assert Counter(name).count(text) == len(tiktoken_encoding(name).encode_ordinary(text))


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize(
    "letters", ["ab", "abcdefghijklmnopqrstuvwxyz", "ABCDabcd0123+/", "中文字符日本語漢字", "\u0301\u0302\u0303"]
)
def test_long_random_pieces_count_as_in_tiktoken(name, letters, tiktoken_encoding):
    text = "".join(random.Random(3).choices(letters, k=50_000))
    assert Counter(name).count(text) == len(tiktoken_encoding(name).encode_ordinary(text))
