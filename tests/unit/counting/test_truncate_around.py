"""Truncation around quoted lines: what a later call replaces stays, in whole lines, within the limit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from support.scale import scaled
from trimtab import Counter, _core
from trimtab.counting.truncate import shortened

O200K = Counter("o200k_base")
MORE = "recall or restore 0123456789abcdef0123"
WORDS = ("value", "=", "größer", "日本語", "return", "    ", "👩‍👩‍👧", "(x, y)", "\t", "'text'")
LINE = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


def cut(text, most, quotes):
    return shortened(text, [most, None, None, None], "head-tail", O200K, MORE, quotes)


@st.composite
def quoted_texts(draw):
    """A text of distinct lines, with or without their numbers, and quotes of some: from inside a line."""
    lines = [f"{n} {line}" for n, line in enumerate(draw(st.lists(LINE, min_size=1, max_size=60)))]
    quotes = []
    for _ in range(draw(st.integers(0, 3))):
        first = draw(st.integers(0, len(lines) - 1))
        last = draw(st.integers(first, min(first + 4, len(lines) - 1)))
        quotes.append("\n".join(lines[first : last + 1])[draw(st.integers(0, 2)) :])
    separator = draw(st.sampled_from(("", "\t", "→")))
    if separator:
        lines = [f"{n:6d}{separator}{line}" for n, line in enumerate(lines, 1)]
    return "\n".join(lines) + draw(st.sampled_from(("", "\n"))), quotes, lines


@settings(max_examples=scaled(400))
@given(quoted_texts(), st.integers(0, 400))
def test_a_text_cut_around_quotes_keeps_the_limit_and_tells_the_truth(made, most):
    text, quotes, lines = made
    short = cut(text, most, quotes)
    assert O200K.count(short) <= most
    assert cut(short, most, quotes) is short
    if O200K.count(text) <= most or not quotes:
        assert short == cut(text, most, [])
        return
    if short != cut(text, most, []):
        parts = oracle.truncation_around(text, short, MORE)
        assert any(quote.splitlines()[-1] in part for part in parts[1:-1] for quote in quotes)
    kept = [
        line for line in lines if any(part in line for quote in quotes for part in quote.splitlines() if part.strip())
    ]
    if O200K.count("\n".join(kept)) + 30 * len(quotes) <= most / 4:
        assert all(quote_lines(quote) <= quote_lines(short) for quote in quotes)


def quote_lines(text):
    """The lines of a text without their numbers and the space around them."""
    return {
        line.strip().partition("\t")[2] or line.strip().partition("→")[2] or line.strip() for line in text.splitlines()
    }


def test_quoted_lines_stay_whole_each_gap_has_its_notice_and_the_first_says_where_the_text_is():
    text = "".join(f"line {n} of the file\n" for n in range(400))
    short = cut(text, 200, ["100 of the file\nline 101", "line 250"])
    head, first, second, tail = oracle.truncation_around(text, short, MORE)
    assert first == "line 100 of the file\nline 101 of the file\n"
    assert second == "line 250 of the file\n"
    assert head.startswith("line 0 ")
    assert tail.endswith("line 399 of the file\n")
    assert short.count(MORE) == 1


def test_quotes_that_head_or_tail_have_or_that_no_line_has_change_nothing():
    text = "".join(f"line {n} of the file\n" for n in range(400))
    plain = cut(text, 200, [])
    assert cut(text, 200, ["line 1 of the file", "line 399 of", "line 500", "", " \n ", "\n"]) == plain


def test_of_quotes_that_are_too_long_the_short_ones_stay():
    lines = [f"line {n} of the file" for n in range(400)]
    text = "\n".join(lines)
    short = cut(text, 200, ["\n".join(lines[50:150]), "line 250"])
    assert "\nline 250 of the file\n" in short
    assert "line 100 of" not in short
    assert cut(text, 200, [text]) == cut(text, 200, [])


def test_a_number_is_no_part_of_a_quoted_line_and_a_line_without_one_is_not_looked_into():
    numbered = "".join(f"{n:6d}\t    item {n}\n" for n in range(400))
    quote = "    item 200\n    item 201\n"
    assert "   200\t    item 200\n   201\t    item 201\n" in cut(numbered, 150, [quote])
    mixed = numbered.replace("   201\t", "note: ")
    assert "item 200" not in cut(mixed, 150, [quote])


@pytest.mark.parametrize("limits", [[None, 20, None, None], [None, None, 400, None], [None, None, None, 400]])
def test_other_limits_hold_too(limits):
    text = "".join(f"line {n} of the file\n" for n in range(400))
    made = _core.truncate(text, counter=O200K, category="head-tail", limits=limits, quotes=["line 200 of"])
    assert "\nline 200 of the file\n" in made
    assert [made.count("\n") <= 20, len(made) <= 400][limits[1] is None]
