"""What a provider would refuse about the parameters with which a request asks its server to compact.

Sources: Anthropic documentation, "Context editing" and "Compaction"; OpenAI's guide "Compaction" and the limits in its
API's description. Words in quotes are those of servers; where none is published, they say the documented rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..messages.objects import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..messages.types import AnyMessage

Finding = tuple[int, None, str, str, str]
"""A problem's fields; -1 in place of a message's position."""

CLEAR_RESULTS, CLEAR_THINKING, COMPACT = "clear_tool_uses_20250919", "clear_thinking_20251015", "compact_20260112"
EDITS = (CLEAR_THINKING, CLEAR_RESULTS, COMPACT)
"""Types of Anthropic's edits, in the order in which a request lists them: the one of thinking comes first."""

EDITING, COMPACTING, ON_DEMAND = "context-management-2025-06-27", "compact-2026-01-12", "compact-2026-09-04"
"""Beta flags: of the edits that clear, of the one that compacts in a call, of a request for a compaction alone."""

LEAST = {COMPACT: 50_000, "compact_threshold": 1_000}
"""Fewest tokens of a trigger, by the edit or the parameter that has it."""

_FLAGS = {CLEAR_RESULTS: EDITING, CLEAR_THINKING: EDITING, COMPACT: COMPACTING}
THINKS = ("enabled", "adaptive", "between_tools")
"""Types of ``thinking`` with which a model thinks."""

_OF_REPLY = ("stop_sequences", "output_format")


def findings(request: Mapping[str, Any], messages: Sequence[AnyMessage], provider: str) -> list[Finding]:
    """Return the problems of a request's parameters for the provider's server.

    Args:
        request: keywords of the call; ``betas`` may be the SDK's list or the header.
        messages: of the call.
        provider: shape of the messages.
    """
    if provider == "anthropic":
        found = [*_of_edits(request, messages), *_of_blocks(request, messages), *_of_pass(request, messages)]
    elif provider == "openai_responses":
        found = [*_of_responses(request)]
    else:
        found = [
            ("unknown_parameter", f"Unknown parameter: '{name}'.", f"leave it out: {provider} has none")
            for name in ("context_management", "compaction")
            if request.get(name)
        ]
    return [(-1, None, *each) for each in found]


def flags_of(messages: Sequence[Any]) -> tuple[str, ...]:
    """Return the beta flags of a list's compaction blocks: without them, Anthropic knows no block of that type."""
    marks = {bool(block.get("signature")) for block, *_ in _compactions(messages)}
    return tuple(flag for is_signed, flag in ((False, COMPACTING), (True, ON_DEMAND)) if is_signed in marks)


def _flags(request: Mapping[str, Any]) -> str:
    headers = request.get("extra_headers")
    sent = [value for name, value in headers.items() if name.lower() == "anthropic-beta"] if headers else []
    betas = request.get("betas") or ()
    named = [betas] if isinstance(betas, str) else [*betas] if isinstance(betas, Iterable) else []
    return ",".join(map(str, (*sent, *named)))


def _of_edits(request: Mapping[str, Any], messages: Sequence[AnyMessage]) -> Iterator[tuple[str, str, str]]:
    """Yield what is wrong with Anthropic's ``context_management``."""
    management = request.get("context_management")
    if management is None:
        return
    edits = management.get("edits", ()) if isinstance(management, Mapping) else None
    if not isinstance(edits, list | tuple) or not all(isinstance(edit, Mapping) for edit in edits):
        words = "context_management.edits: Input should be a valid list"
        yield "edits_malformed", words, "send a list of edits, each with its type"
        return
    types, flags = [str(edit.get("type")) for edit in edits], _flags(request)
    for place, (edit, kind) in enumerate(zip(edits, types, strict=True)):
        where = f"context_management.edits.{place}"
        if kind not in EDITS:
            words = f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
            yield "unknown_edit", f"{words}: {', '.join(map(repr, EDITS))}", "take one of these"
            continue
        if _FLAGS[kind] not in flags:
            words = "context_management: Extra inputs are not permitted"
            yield "beta_required", words, f"send the beta flag {_FLAGS[kind]}, which {kind} needs"
        yield from _of_edit(where, edit)
    if len({*types}) < len(types):
        yield "edit_repeated", "context_management.edits: an edit type may be given once", "leave the second one out"
    yield from _together(request, types, messages)


def _of_edit(where: str, edit: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield what is wrong with the numbers of one edit."""
    kind, least = edit["type"], LEAST.get(edit["type"], 0)
    for name in ("trigger", "keep", "clear_at_least"):
        held = edit.get(name)
        if held is None or (name == "keep" and kind == CLEAR_THINKING and held in ("all", {"type": "all"})):
            continue
        tokens = held.get("value") if isinstance(held, Mapping) else None
        floor = least if name == "trigger" else 0
        if type(tokens) is not int or tokens < floor:
            words = f"{where}.{kind}.{name}.value: Input should be greater than or equal to {floor}"
            yield "trigger_too_low", words, f"send at least {floor:,}" if floor else "send a whole number"


def _together(
    request: Mapping[str, Any], types: list[str], messages: Sequence[AnyMessage]
) -> Iterator[tuple[str, str, str]]:
    """Yield what is wrong with edits beside each other, beside thinking, and beside a compaction in the list."""
    if CLEAR_THINKING in types:
        if types[0] != CLEAR_THINKING:
            words = f"`{CLEAR_THINKING}` must be the first edit of context_management.edits"
            yield "thinking_edit_not_first", words, "put it first"
        thinking = request.get("thinking")
        whole = "model" in request or "thinking" in request  # else the caller's other keywords may have it
        if whole and (not isinstance(thinking, Mapping) or thinking.get("type") not in THINKS):
            words = f"`{CLEAR_THINKING}` strategy requires `thinking` to be enabled or adaptive"
            yield "thinking_edit_without_thinking", words, "leave the edit out, or switch thinking on"
    if COMPACT in types and any(_is_signed(block) for block, *_ in _compactions(messages)):
        words = f"a `compaction` block that was asked for on demand cannot be combined with {COMPACT}"
        yield "compaction_mixed", words, "leave the edit out, and go on asking for compactions on demand"


def _of_pass(request: Mapping[str, Any], messages: Sequence[AnyMessage]) -> Iterator[tuple[str, str, str]]:
    """Yield what is wrong with Anthropic's ``compaction``."""
    asked = request.get("compaction")
    if asked is None:
        return
    if not isinstance(asked, Mapping) or asked.get("type") != "summarize":
        words = "compaction.type: Input should be 'summarize'"
        yield "compaction_type", words, 'send {"type": "summarize"}'
    if ON_DEMAND not in _flags(request):
        words = "compaction: Extra inputs are not permitted"
        yield "beta_required", words, f"send the beta flag {ON_DEMAND}, which compaction needs"
    if request.get("context_management") is not None:
        words = "`compaction` cannot be combined with `context_management`"
        yield "compaction_with_edits", words, "leave context_management out of this request"
    choice, config = request.get("tool_choice"), request.get("output_config")
    shaping = [name for name in _OF_REPLY if request.get(name)]
    shaping += ["tool_choice"] * (isinstance(choice, Mapping) and choice.get("type") in {"any", "tool"})
    shaping += ["output_config.format"] * (isinstance(config, Mapping) and bool(config.get("format")))
    for name in shaping:
        words = f"`compaction` cannot be combined with `{name}`: the request has no reply to shape"
        yield "compaction_with_reply", words, f"leave {name} out of this request"
    if messages and _has_open_call(messages[-1]):
        words = "`compaction`: the conversation ends with `tool_use` blocks without `tool_result` blocks"
        yield "compaction_open_call", words, "send the results first"


def _of_blocks(request: Mapping[str, Any], messages: Sequence[AnyMessage]) -> Iterator[tuple[str, str, str]]:
    """Yield what is wrong with the compaction blocks in a list."""
    found, sent = [*_compactions(messages)], _flags(request)
    for flag in flags_of(messages):
        if flag not in sent:
            words = "messages: Input tag 'compaction' found using 'type' does not match any of the expected tags"
            yield "beta_required", words, f"send the beta flag {flag} with every request that has the block"
    is_signed, config = any(_is_signed(block) for block, *_ in found), request.get("output_config")
    budget = config.get("task_budget") if isinstance(config, Mapping) else None
    if isinstance(budget, Mapping) and budget.get("remaining") is not None and (is_signed or request.get("compaction")):
        words = (
            "output_config.task_budget.remaining cannot be combined with `compaction`, nor with a signed block of it"
        )
        yield "compaction_with_reply", words, "leave remaining out"
    if not is_signed:
        return
    for block, place, at in found:
        if (place or at) and _is_signed(block):
            words = f"messages.{place}: a signed `compaction` block must be the first block of the first message"
            yield "signed_compaction_not_first", words, "drop the messages that it stands for"
    if sum(bool(block.get("content")) for block, *_ in found) > 1:
        words = "messages: a signed `compaction` block must be the only `compaction` block with content"
        yield "compaction_mixed", words, "send the block alone that the conversation returned last"


def _of_responses(request: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield what is wrong with OpenAI's ``context_management``."""
    entries = request.get("context_management")
    if entries is None:
        return
    if not isinstance(entries, list | tuple):
        words = "Invalid type for 'context_management': expected an array of objects"
        yield "edits_malformed", words, "send a list"
        return
    for place, entry in enumerate(entries):
        where, given = f"context_management[{place}]", entry if isinstance(entry, Mapping) else {}
        if given.get("type") != "compaction":
            words = f"Invalid value: '{where}.type'. Supported values are: 'compaction'."
            yield "unknown_edit", words, 'send {"type": "compaction"}'
        threshold, least = given.get("compact_threshold"), LEAST["compact_threshold"]
        if threshold is not None and (type(threshold) is not int or threshold < least):
            words = f"Invalid '{where}.compact_threshold': integer below minimum value. Expected a value >= {least}"
            yield "trigger_too_low", words, f"send at least {least:,}"


def _compactions(messages: Sequence[Any]) -> Iterator[tuple[Mapping[str, Any], int, int]]:
    """Yield each compaction block, the position of its message, and its own."""
    for place, message in enumerate(messages):
        content = _field(message, "content")
        for at, block in enumerate(content if isinstance(content, list | tuple) else ()):
            if _field(block, "type") == "compaction":
                yield plain([block])[0], place, at


def _is_signed(block: Mapping[str, Any]) -> bool:
    """Return whether a block is of a compaction that was asked for on demand, and did not fail."""
    return bool(block.get("content") and block.get("signature"))


def _field(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _has_open_call(message: AnyMessage) -> bool:
    content = _content(message)
    blocks = content if isinstance(content, list) else ()
    return any(isinstance(block, Mapping) and block.get("type") == "tool_use" for block in blocks)


def _content(message: AnyMessage) -> Any:
    """Return the content of a message as JSON has it."""
    read: Any = plain([message])[0]
    return read.get("content")
