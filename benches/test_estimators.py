"""Exact counting beside the estimators that agents use today: time and error of each; ``make bench-estimators``.

One warm process, one thread. A table is a transcript of 2,000 messages of one kind of text. The error in a row's name
compares the estimate with the exact count of ``o200k_base``: ``+20 %`` is a fifth too many. The systems' formulas are
those of the presets; their documents are named in ``trimtab/policies``. Message overheads that a formula adds are part
of its estimate, because its user compares the sum with a window.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import _corpora
import pytest

import trimtab
from trimtab.policies import POLICIES

if TYPE_CHECKING:
    from collections.abc import Callable

MESSAGES = 2_000
LONGEST = 2_000
"""Characters of one message: longer texts of a corpus are cut, so that no corpus is one message."""

KINDS = ("prose", "code", "logs", "multilingual")
SYSTEMS = ("spec09", "goat", "agentpg", "sven", "opencode")


@cache
def texts(kind: str) -> tuple[str, ...]:
    """Return the texts of a transcript of one kind."""
    cut = (text[start : start + LONGEST] for text in _corpora.corpus(kind) for start in range(0, len(text), LONGEST))
    return tuple(text for _, text in zip(range(MESSAGES), cut, strict=False))


def messages(kind: str) -> list[dict[str, Any]]:
    """Return the transcript, user and assistant in turns."""
    return [{"role": "user" if n % 2 == 0 else "assistant", "content": text} for n, text in enumerate(texts(kind))]


def quarter(kind: str) -> Callable[[], int]:
    """Return ``len // 4``."""
    held = texts(kind)
    return lambda: sum(len(text) // 4 for text in held)


def words(kind: str) -> Callable[[], int]:
    """Return 1.3 tokens a word."""
    held = texts(kind)
    return lambda: int(sum(len(text.split()) for text in held) * 1.3)


def langchain(kind: str) -> Callable[[], int]:
    """Return LangChain's ``count_tokens_approximately``."""
    library = pytest.importorskip("langchain_core.messages")
    utils = pytest.importorskip("langchain_core.messages.utils")
    made = {"user": library.HumanMessage, "assistant": library.AIMessage}
    held = [made[message["role"]](message["content"]) for message in messages(kind)]
    return lambda: int(utils.count_tokens_approximately(held))


def system(name: str) -> Callable[[str], Callable[[], int]]:
    """Return the formula of a documented system, as its preset counts."""
    estimate = POLICIES[name].counter
    assert estimate is not None

    def of(kind: str) -> Callable[[], int]:
        held = messages(kind)
        return lambda: int(estimate.counter().per_message(held).sum())  # a counter remembers what it read

    return of


def exact(kind: str) -> Callable[[], int]:
    """Return the exact count. Its first call fills the cache, as in an agent's second turn."""
    counter, held = trimtab.Counter("o200k_base"), texts(kind)
    return lambda: int(counter.count_many(held).sum())


RIVALS: dict[str, Callable[[str], Callable[[], int]]] = {
    "trimtab (exact)": exact,
    "len // 4": quarter,
    "words x 1.3": words,
    "LangChain": langchain,
    **{name: system(name) for name in SYSTEMS},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rival", RIVALS)
def test_estimator(benchmark: Any, rival: str, kind: str) -> None:
    work, right = RIVALS[rival](kind), exact(kind)()
    error = work() / right - 1
    benchmark.group = f"{kind}, {right:,} tokens, {_corpora.digest(texts(kind))}"
    benchmark.name = f"{rival} ({error:+.1%})"
    benchmark.extra_info.update(error=round(error, 4), tokens=right)
    benchmark(work)
    assert rival != "trimtab (exact)" or error == 0
