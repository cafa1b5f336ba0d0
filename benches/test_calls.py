"""Latency of single calls, beside tiktoken; ``make bench-calls``. One warm process, one thread.

A row is the time of many calls, one text each. Other text of the same corpus was counted before in both cases: a text
is *seen* if it was counted before as well, and *unseen* if not.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

import _corpora
import _rivals
import pytest

import trimtab

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CALLS = 1_000
LENGTHS = (200, 2_000)
"""Characters of a text."""
ROUNDS = 7
LIBRARIES = ("trimtab", "tiktoken")


@cache
def tiktoken_encoding(encoding: str) -> Any:
    tiktoken = pytest.importorskip("tiktoken")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(_rivals.FOLDER / "tiktoken")
    _rivals.write_vocabularies()
    return tiktoken.get_encoding(encoding)


@cache
def counter(library: str, encoding: str) -> Callable[[str], int]:
    """A library's count of one text, on tables that every second text of the corpus has filled."""
    if library == "trimtab":
        count = trimtab.Counter(encoding).count
    else:
        encode = tiktoken_encoding(encoding).encode_ordinary

        def count(text: str) -> int:
            return len(encode(text))

    for text in _corpora.halves(_corpora.corpus("prose"))[0]:
        count(text)
    return count


def unseen(length: int, calls: int) -> Iterator[list[str]]:
    """Lists of texts of the other half of the corpus; no text comes twice."""
    whole = "\n".join(_corpora.halves(_corpora.corpus("prose"))[1])
    texts = [whole[start : start + length] for start in range(0, len(whole) - length, length)]
    return (texts[start : start + calls] for start in range(0, len(texts) - calls, calls))


def each(count: Callable[[str], int], texts: list[str]) -> None:
    for text in texts:
        count(text)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("encoding", _rivals.ENCODINGS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_calls_on_unseen_texts(benchmark: Any, library: str, encoding: str, length: int) -> None:
    calls = CALLS * LENGTHS[0] // length  # as much text for each length
    count, lists = counter(library, encoding), unseen(length, calls)
    if length != LENGTHS[0]:  # the rounds of the first length have counted the beginning
        lists = (texts for n, texts in enumerate(lists) if n > ROUNDS)
    digest = _corpora.digest(_corpora.halves(_corpora.corpus("prose"))[1])
    benchmark.group = f"{calls:,} calls, {length:,} characters each, unseen, {encoding}, {digest}"
    benchmark.name = library
    benchmark.pedantic(each, setup=lambda: ((count, next(lists)), {}), rounds=ROUNDS)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("encoding", _rivals.ENCODINGS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_calls_on_seen_texts(benchmark: Any, library: str, encoding: str, length: int) -> None:
    calls = CALLS * LENGTHS[0] // length
    count, texts = counter(library, encoding), next(unseen(length, calls))
    benchmark.group = f"{calls:,} calls, {length:,} characters each, seen, {encoding}, {_corpora.digest(texts)}"
    benchmark.name = library
    benchmark.pedantic(each, args=(count, texts), rounds=ROUNDS, warmup_rounds=1)


@pytest.mark.parametrize("encoding", _rivals.ENCODINGS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_does_a_text_of_50_kb_exceed_2000_tokens(benchmark: Any, library: str, encoding: str) -> None:
    text = next(text for text in _corpora.corpus("code") if len(text) >= 50_000)[:50_000]
    if library == "trimtab":
        exceeds = trimtab.Counter(encoding).exceeds

        def work() -> bool:
            return exceeds(text, 2_000)
    else:
        encode = tiktoken_encoding(encoding).encode_ordinary

        def work() -> bool:
            return len(encode(text)) > 2_000

    benchmark.group = f"do 50 KB exceed 2,000 tokens? {encoding}, {_corpora.digest([text])}"
    benchmark.name = f"{library} ({'exceeds' if library == 'trimtab' else 'a whole count'})"
    assert benchmark(work)


def as_strings(texts: tuple[str, ...]) -> list[dict[str, Any]]:
    """A chat whose messages have string content."""
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


def as_blocks(texts: tuple[str, ...]) -> list[dict[str, Any]]:
    """A chat of tool calls and their results."""
    messages = []
    for n, (command, output) in enumerate(zip(texts[::2], texts[1::2], strict=True)):
        call = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": command}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": output}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return messages


def text_lengths(messages: list[dict[str, Any]]) -> int:
    """A loop in Python that reaches every text, a lower limit for anything that looks for changes."""
    total = 0
    for message in messages:
        content = message["content"]
        if isinstance(content, str):
            total += len(content)
            continue
        for block in content:
            total += len(block["content"]) if "content" in block else len(block["input"]["command"])
    return total


SHAPES = {"string content": (as_strings, "openai_chat"), "blocks": (as_blocks, "anthropic")}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("encoding", _rivals.ENCODINGS)
def test_recount_after_a_message_is_appended(benchmark: Any, encoding: str, shape: str, small: bool) -> None:
    make, provider = SHAPES[shape]
    messages = make(_corpora.corpus("chat")[: 1_000 if small else None])
    counter = trimtab.Counter(encoding)
    first = counter.per_message(messages, provider=provider)

    def append() -> tuple[tuple[list[dict[str, Any]]], dict[str, Any]]:
        messages.append({"role": "user", "content": f"one more {len(messages)}"})
        return (messages,), {"provider": provider}

    benchmark.group = f"recount of {len(first):,} messages after one is appended, {shape}"
    benchmark.name = f"trimtab, {encoding}"
    again = benchmark.pedantic(counter.per_message, setup=append, rounds=ROUNDS)
    assert again[: len(first)].tolist() == first.tolist()


@pytest.mark.parametrize("shape", SHAPES)
def test_python_loop_over_all_texts(benchmark: Any, shape: str, small: bool) -> None:
    messages = SHAPES[shape][0](_corpora.corpus("chat")[: 1_000 if small else None])
    benchmark.group = f"recount of {len(messages):,} messages after one is appended, {shape}"
    benchmark.name = "a Python loop that takes the length of each text"
    benchmark.pedantic(text_lengths, args=(messages,), rounds=ROUNDS)
