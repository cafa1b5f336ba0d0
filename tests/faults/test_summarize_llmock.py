"""Summaries by a mock server that fails as providers do and judges its clients; it must find nothing."""

from __future__ import annotations

import asyncio
import time

import pytest
from llmock.scenarios import Delay

import trimtab
from support import loopback
from support.checker import check
from support.models import GPT
from support.transcripts import transcript
from trimtab.summarize import Anthropic, Limits, OpenAI

TALK = transcript(" ".join("u:60 a:90" for _ in range(30)))
WRITERS = {"anthropic": Anthropic, "openai": OpenAI}
SUMMARY = "The tests were mended; nothing is open."


def compacted(llmock, kind: str, path: str, seconds: float = 30.0) -> trimtab.Compaction:
    """A compaction through the real client against the server; the result is valid whatever happens."""
    llmock.reply(SUMMARY, times=None)
    writer = WRITERS[kind](base_url=llmock.base_url(kind), api_key="k", limits=Limits(seconds, pause=0.2))
    cm = trimtab.Compactor(GPT, summarizer=writer)
    start = time.monotonic()
    done = cm.compact(TALK, target_share=0.5) if path == "compact" else asyncio.run(cm.acompact(TALK, target_share=0.5))
    assert loopback.elapsed(start) < seconds + 5
    assert check(list(done.messages), "anthropic") == []
    assert cm.restore(done.ref) == TALK
    return done


def assert_resilient(llmock) -> None:
    """The judge finds nothing but, on a busy machine, pauses that look equal: it measures them.

    That they double is shown without a clock, in ``tests/unit/summarize/test_summarize.py``.
    """
    verdict = llmock.verdict()
    assert {finding.code for finding in verdict.findings} <= {"no_backoff"}, verdict.render()


both = pytest.mark.parametrize("kind", WRITERS)
ways = pytest.mark.parametrize("path", ["compact", "acompact"])


@both
@ways
def test_a_good_answer_becomes_the_summary(llmock, kind: str, path: str) -> None:
    done = compacted(llmock, kind, path)
    assert done.summarizer.startswith(kind)
    assert SUMMARY in done.messages[0]["content"]
    assert len(llmock.requests) == 1
    assert_resilient(llmock)


@both
@ways
@pytest.mark.parametrize("status", [429, 500, 503, 504, 529])
def test_a_transient_failure_is_retried(
    llmock, kind: str, path: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.random", lambda: 0.9)
    llmock.fail(status, times=2)
    assert compacted(llmock, kind, path).summarizer.startswith(kind)
    assert len(llmock.requests) == 3
    assert_resilient(llmock)


@both
@ways
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
def test_a_permanent_failure_is_not_retried(llmock, kind: str, path: str, status: int) -> None:
    llmock.fail(status, times=None)
    assert compacted(llmock, kind, path).summarizer == "offline"
    assert len(llmock.requests) == 1
    assert_resilient(llmock)


@both
@ways
def test_a_rate_limit_is_waited_for(llmock, kind: str, path: str) -> None:
    llmock.rate_limit(times=2, retry_after=0.3)
    start = time.monotonic()
    assert compacted(llmock, kind, path).summarizer.startswith(kind)
    assert loopback.elapsed(start) > 0.6
    assert_resilient(llmock)


@both
@ways
def test_an_outage_ends_in_the_offline_summary(llmock, kind: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.random", lambda: 0.9)
    llmock.outage()
    assert compacted(llmock, kind, path).summarizer == "offline"
    assert len(llmock.requests) == 3
    assert_resilient(llmock)


@both
@ways
def test_a_too_long_prompt_is_not_retried(llmock, kind: str, path: str) -> None:
    llmock.context_overflow(times=None)
    done = compacted(llmock, kind, path)
    assert done.summarizer == "offline"
    assert "maximum context length" in done.reason
    assert_resilient(llmock)


@both
@ways
def test_a_tool_call_is_rejected_as_a_summary(llmock, kind: str, path: str) -> None:
    llmock.call_tool("Bash", {"command": "rm -rf /"}, times=None)
    done = compacted(llmock, kind, path)
    assert done.summarizer == "offline"
    assert len(llmock.requests) == 2
    assert "not text alone" in done.reason


@both
@ways
def test_a_request_past_its_deadline_is_abandoned(llmock, kind: str, path: str) -> None:
    llmock.add(Delay(3.0, times=None))
    done = compacted(llmock, kind, path, seconds=0.7)
    assert done.summarizer == "offline"
    assert "no answer in time" in done.reason
