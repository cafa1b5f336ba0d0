"""The logger ``trimtab``: no line of it holds text of a message, whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import trimtab
from support.models import CLAUDE_MILLION
from support.transcripts import PROVIDERS, transcript
from trimtab import Compactor, Verdict
from trimtab.policies import POLICIES

MARKER = "zq{}xmarker"
FOUND = re.compile(r"zq\w*xmarker")
SPEC = " ".join(f"u:30 c{n} r{n}:{20 + 30 * n} a:20" for n in range(1, 9))


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[Any]:
    """What the whole library logs, at the lowest level."""
    caplog.set_level(logging.DEBUG, logger="trimtab")
    assert not logging.getLogger("trimtab.details").isEnabledFor(logging.CRITICAL)
    yield caplog
    assert not FOUND.findall(caplog.text)


def marked(value: Any, seen: list[int]) -> Any:
    """A transcript with a marker in every text of it, ids and types aside."""
    if isinstance(value, dict):
        return {key: marked(part, seen) if key not in KEPT else part for key, part in value.items()}
    if isinstance(value, list):
        return [marked(part, seen) for part in value]
    if isinstance(value, str):
        seen.append(1)
        return f"{MARKER.format(len(seen))} {value}"
    return value


KEPT = {"role", "type", "id", "name", "tool_use_id", "tool_call_id", "call_id", "toolUseId", "arguments", "status"}


def quotes(ask: Any) -> str:
    """A summarizer that fails with the conversation in its words."""
    raise RuntimeError(f"400: cannot read {ask.messages}")


def repeats(ask: Any) -> str:
    """A summarizer whose summary is the conversation."""
    return f"we did {ask.messages[0]}"


@pytest.mark.parametrize(
    ("policy", "provider", "summarizer"),
    [*zip(sorted(POLICIES), itertools.cycle(PROVIDERS), itertools.cycle([quotes, repeats, "offline"]), strict=False)],
)
def test_no_line_holds_text_of_a_message(policy: str, provider: Any, summarizer: Any, lines: Any) -> None:
    seen: list[int] = []
    messages = marked(transcript(SPEC, provider=provider), seen)
    assert len(seen) > 15

    def refuses(review: trimtab.Review) -> Verdict | None:
        return Verdict(refuse=f"busy with {messages[0]}") if review.instructions else None

    def raises(event: object) -> None:
        raise ValueError(str(messages))

    limits = {"window": 4_000, "max_output": 400}
    called = {"summarizer": summarizer, "pre_compact": refuses, "listeners": [raises]}
    teller = Compactor(CLAUDE_MILLION, provider=provider, policy=policy, **limits, **called).session("s")
    for end in range(2, len(messages) + 1, 4):
        attempt(teller.fit, messages[:end])
        attempt(teller.record, {"input_tokens": 0, "output_tokens": 1})
    attempt(teller.compact, messages, instructions="x")
    attempt(teller.compact, messages)
    attempt(teller.overflow, "prompt is too long: 9999 tokens > 3000 maximum", messages)
    attempt(teller.prune, messages)
    attempt(teller.ingest, "shell", str(messages))
    attempt(teller.fit, [*messages, {"role": "user", "content": object()}])
    asyncio.run(acall(teller, messages))
    assert {record.levelno for record in lines.records} >= {logging.INFO, logging.WARNING, logging.ERROR}


def attempt(call: Any, *args: Any, **options: Any) -> Any:
    """The result, or the error that was raised."""
    try:
        return call(*args, **options)
    except (trimtab.Error, TypeError) as error:
        return error


async def acall(teller: Any, messages: list[Any]) -> None:
    for call in (teller.acompact, teller.afit):
        with contextlib.suppress(trimtab.Error):
            await call(messages)


@pytest.mark.parametrize("fallback", [("error",), ("stop",), ("offline", "drop")])
def test_a_failure_is_logged_by_its_classes_and_told_in_full_to_the_caller(fallback: Any, lines: Any) -> None:
    messages = marked(transcript(SPEC), [])
    policy = replace(POLICIES["default"], fallback=fallback, prune=None)
    cm = Compactor(CLAUDE_MILLION, policy=policy, window=2_500, max_output=250, summarizer=quotes)
    told: list[Any] = []
    cm.on("fellback")(told.append)
    fitted = cm.fit(messages)
    assert FOUND.findall(fitted.reason + "".join(event.reason for event in told))
    assert "RuntimeError" in lines.text or "summarizer quotes failed" in lines.text


def test_texts_of_failures_are_logged_for_those_who_ask(caplog: pytest.LogCaptureFixture) -> None:
    messages = marked(transcript(SPEC), [])
    cm = Compactor(CLAUDE_MILLION, window=2_500, max_output=250, summarizer=quotes)
    with caplog.at_level(logging.DEBUG, logger="trimtab.details"):
        cm.compact(messages, target_share=0.4)
    assert FOUND.findall(caplog.text)
