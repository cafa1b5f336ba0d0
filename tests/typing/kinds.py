"""The caller's message type survives: lists of the SDKs' types come back as lists of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_type

from anthropic.types import Message, MessageParam
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam

import trimtab


def anthropic(cm: trimtab.Compactor, messages: list[MessageParam]) -> Sequence[MessageParam]:
    fitted = cm.fit(messages, system="be brief")
    assert_type(fitted, trimtab.Fitted[MessageParam])
    assert_type(cm.prune(fitted.messages), list[MessageParam])
    assert_type(cm.overflow("prompt is too long", messages).messages, Sequence[MessageParam])
    done = cm.compact(messages, target_share=0.5)
    assert_type(done, trimtab.Compaction[MessageParam])
    assert_type(trimtab.repair(messages, provider="anthropic").messages, Sequence[MessageParam])
    return done.messages


async def chat(cm: trimtab.Compactor, messages: list[ChatCompletionMessageParam]) -> None:
    fitted = await cm.afit(messages)
    assert_type(fitted.messages, Sequence[ChatCompletionMessageParam])
    if fitted.compaction is not None:
        assert_type(fitted.compaction.messages, Sequence[ChatCompletionMessageParam])
    assert_type((await cm.acompact(messages)).messages, Sequence[ChatCompletionMessageParam])
    assert_type((await cm.aoverflow("too long", messages)).messages, Sequence[ChatCompletionMessageParam])


def responses(cm: trimtab.Compactor, items: list[ResponseInputItemParam]) -> list[ResponseInputItemParam]:
    assert_type(cm.fit(items).messages, Sequence[ResponseInputItemParam])
    assert_type(trimtab.repair(items, provider="openai_responses"), trimtab.Repair[ResponseInputItemParam])
    return [*cm.compact(items).messages]


def dicts(cm: trimtab.Compactor, messages: list[dict[str, Any]]) -> None:
    assert_type(cm.fit(messages).messages, Sequence[dict[str, Any]])
    assert_type(cm.compact(messages).messages, Sequence[dict[str, Any]])
    assert_type(cm.prune(messages), list[dict[str, Any]])


def mixed(cm: trimtab.Compactor, messages: list[MessageParam | Message]) -> None:
    """An SDK's answers beside typed dicts."""
    assert_type(cm.fit(messages).messages, Sequence[MessageParam | Message])
    cm.pin(messages[0])
    assert_type(cm.count(messages), int)
    assert_type(trimtab.count(messages, model="claude-sonnet-4-5"), int)
    assert_type(trimtab.validate(messages, provider="anthropic"), list[trimtab.Problem])
    assert_type(trimtab.split(messages, keep_last=1), int | None)


def refused(cm: trimtab.Compactor, text: str) -> None:
    """A text is a sequence of strings, and no list of messages."""
    cm.fit(text)  # type: ignore[type-var]
    cm.compact([text])  # type: ignore[type-var]
