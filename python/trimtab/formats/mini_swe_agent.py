"""mini-swe-agent trajectories: ``<instance>.traj.json``, versions 1 and 2.

``messages`` are those of the prompt, in the shape of OpenAI Chat; with a model of the Responses API its responses and
their outputs stand there instead, and are kept in that shape. Mapped: all of them without ``extra``, which is never
sent, and what each response was charged. Left out: the closing message of role ``exit``, and fields that are null.
There are no compactions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..messages.types import Charged, Skipped, Transcript
from ._account import Account
from ._chat import dict_of, parts_of, single, sum_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._records import Record

_ROLES = ("system", "developer", "user", "assistant", "tool")


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether this is a trajectory of mini-swe-agent; the first versions do not name their format."""
    info = value.get("info")
    is_named = text_of(value.get("trajectory_format")).startswith("mini-swe-agent")
    return isinstance(value.get("messages"), list) and (is_named or (isinstance(info, dict) and "mini_version" in info))


def read(records: Iterable[Record], *, whole: bool) -> Transcript:  # noqa: ARG001 - there are no compactions
    """Return the messages as they were sent; `whole` has no effect.

    Raises:
        MessageError: the file holds several trajectories.
    """
    found, skipped = single(records, recognizes)
    items: list[dict[str, Any]] = []
    usage: list[Charged] = []
    model, has_items, account = None, False, Account()
    for record in found:
        config = dict_of(dict_of(record.value.get("info")).get("config"))
        model = text_of(dict_of(config.get("model")).get("model_name")) or None
        for i, message in enumerate(record.value["messages"]):
            sent = _sent(message, account)
            if sent is None:
                skipped.append(Skipped(record.line, record.offset, f"messages[{i}]: no message"))
                continue
            usage += _charged(message, len(items)) if sent else ()
            has_items = has_items or message.get("object") == "response" or "call_id" in message
            items += sent
    return Transcript(
        items,
        "openai_responses" if has_items else "openai_chat",
        "mini_swe_agent",
        model=model,
        usage=usage,
        skipped=skipped,
        left_out=account.kinds,
    )


def _sent(message: Any, account: Account) -> list[dict[str, Any]] | None:
    """Return the items of a message or response that are sent; None if the value is no message."""
    if not isinstance(message, dict):
        return None
    if message.get("object") == "response":
        made = account.objects(message.get("output"), "response")
        items = [_plain(item) for item in made if isinstance(item.get("type"), str)]
        account.leave("response", "without a type", count=len(made) - len(items))
        return items
    if message.get("role") == "exit":
        account.leave("exit")
        return []
    is_output = isinstance(message.get("type"), str) and isinstance(message.get("call_id"), str)
    if not is_output and (message.get("role") not in _ROLES or not _has_content(message)):
        return None
    return [_plain(message)]


def _has_content(message: dict[str, Any]) -> bool:
    """Return whether a message has a content, or may lack one."""
    content = message.get("content")
    if isinstance(content, list):
        return len(parts_of(content)) == len(content)
    return isinstance(content, str) or (content is None and message.get("role") == "assistant")


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without fields that are never sent; keep a null content where the shape requires one."""
    kept = {name: value for name, value in message.items() if name != "extra" and value is not None}
    return kept if "content" in kept or message.get("role") != "assistant" else {**kept, "content": None}


def _charged(message: dict[str, Any], before: int) -> Iterable[Charged]:
    """Yield the usage of a response."""
    is_response = message.get("object") == "response"
    response = message if is_response else dict_of(dict_of(message.get("extra")).get("response"))
    usage = dict_of(response.get("usage"))
    prompt = sum_of(usage, "input_tokens" if is_response else "prompt_tokens")
    output = sum_of(usage, "output_tokens" if is_response else "completion_tokens")
    if prompt > 0 and (is_response or message.get("role") == "assistant"):
        yield Charged(before, prompt, output)
