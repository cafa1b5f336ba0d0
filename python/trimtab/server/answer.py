"""What an answer of the provider says of its server's part: compactions, cleared results, and what they cost.

An answer is the SDK's object or its JSON: Anthropic's message, OpenAI's response, or the answer of
``responses.compact``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..messages.objects import plain
from ..messages.usage import is_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..messages.types import Message

COMPACTIONS = frozenset({"compaction", "compaction_summary"})
"""Types of a block and of an item that is a server's compaction."""


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """The server's part in an answer.

    Attributes:
        usage: the answer's usage, as it came.
        messages: what takes the place of the compacted messages, where the answer is a compaction and nothing else: a
            message with Anthropic's block, or the output of OpenAI's ``responses.compact``.
        compacted: whether the answer has a compaction that did not fail.
        failed: whether it has one that failed: the server answers with a block without content.
        cleared: tokens that the server took out of this call's prompt; None if the answer does not say.
        edits: what it applied, as it came.
        billed: usage of the compactions, each a pass of its own that the usage of the call does not have.
        text: the summary, where it can be read.
    """

    usage: Any
    messages: tuple[Message, ...] = ()
    compacted: bool = False
    failed: bool = False
    cleared: int | None = None
    edits: tuple[Mapping[str, Any], ...] = ()
    billed: tuple[Mapping[str, Any], ...] = ()
    text: str = ""


def server_answer(value: object) -> ServerAnswer | None:
    """Return the server's part in an answer; None for a usage alone."""
    content, output = _get(value, "content"), _get(value, "output")
    usage = _get(value, "usage")
    if usage is None or not isinstance(content if output is None else output, list | tuple):
        return None
    blocks: Sequence[Any] = plain([*(content if output is None else output)])
    found = [block for block in blocks if isinstance(block, Mapping) and block.get("type") in COMPACTIONS]
    whole = [block for block in found if _holds(block)]
    edits = _get(_get(value, "context_management"), "applied_edits")
    applied = tuple(plain([*edits])) if isinstance(edits, list | tuple) else ()
    alone, passes = bool(whole) and _stands_alone(value, blocks), _passes(usage)
    return ServerAnswer(
        usage,
        _in_place(blocks, of_message=output is None) if alone else (),
        bool(whole or (passes and not found)),
        bool(found) and not whole,
        sum(filter(is_tokens, (edit.get("cleared_input_tokens") for edit in applied))) if edits is not None else None,
        applied,
        passes,
        "\n".join(block["content"] for block in whole if isinstance(block.get("content"), str)),
    )


def is_compacted(usage: object) -> bool:
    """Return whether a usage alone says that the server compacted in this call."""
    return bool(_passes(usage))


def _holds(block: Mapping[str, Any]) -> bool:
    """Return whether a compaction has content: one that failed has none, and the provider skips it."""
    return bool(block.get("content") or block.get("encrypted_content"))


def _stands_alone(value: object, blocks: Sequence[Any]) -> bool:
    """Return whether the answer is a compaction and nothing else."""
    if _get(value, "object") == "response.compaction":
        return True
    return len(blocks) == 1 and _get(value, "stop_reason") == "compaction"


def _in_place(blocks: Sequence[Any], *, of_message: bool) -> tuple[Message, ...]:
    """Return the messages that stand for the compacted ones."""
    return ({"role": "assistant", "content": [*blocks]},) if of_message else (*blocks,)


def _passes(usage: object) -> tuple[Mapping[str, Any], ...]:
    """Return the usage of the compactions that a usage lists."""
    entries = _get(usage, "iterations")
    listed: Sequence[Any] = plain([*entries]) if isinstance(entries, list | tuple) else ()
    return tuple(entry for entry in listed if isinstance(entry, Mapping) and entry.get("type") == "compaction")


def _get(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
