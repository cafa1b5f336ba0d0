"""Microsoft Agent Framework: a chat middleware and a strategy whose calls fit, and an exact tokenizer for its own.

A ``CompactionStrategy`` of the framework is told nothing about system text, tools, usage and errors. A chat middleware
stands around each model call, has all of them, and the framework's history stays whole: prefer it.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from agent_framework import (
    EXCLUDE_REASON_KEY,
    EXCLUDED_KEY,
    GROUP_ANNOTATION_KEY,
    GROUP_ID_KEY,
    SUMMARIZED_BY_SUMMARY_ID_KEY,
    SUMMARY_OF_GROUP_IDS_KEY,
    SUMMARY_OF_MESSAGE_IDS_KEY,
    ChatMiddleware,
    Content,
    Message,
    ResponseStream,
    tool,
)

from .._log import log
from ..messages.frameworks import origin
from .mirror import mirrored, returned
from .sessions import Adapter, Conversation, Sessions, counter_of, opening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from ..models.model import Model
    from ..session.call import Fitted
    from ..session.compactor import Compactor

PROVIDER: Final = "anthropic"
"""The shape of the messages, whatever the provider of the model."""

UNSIGNED = "none"
"""Signature of reasoning that has none, as of models that sign nothing."""

NOTES = (EXCLUDED_KEY, EXCLUDE_REASON_KEY, GROUP_ANNOTATION_KEY)
"""Properties of a message in which the framework's strategies note what they did and counted."""

HELD = ("conversation_id", "previous_response_id", "conversation")
"""Options of a call whose messages are new ones alone: the service, or a middleware behind ours, has the others."""

STATE = "trimtab"
"""Key of the state in that of the agent's session."""


class CompactionChatMiddleware(Adapter, ChatMiddleware):
    """Keeps the messages of each model call of an agent inside the model's context window.

    Instructions and tools count. A call that the provider refuses as too long is repeated with a smaller list. The
    state is in the agent's session.

    Args:
        model: an id, a ``Model``, or a ``Compactor``.
        **options: keywords of a new ``Compactor``.

    Raises:
        TypeError: there are options beside a Compactor.
        ValueError: an option has an unknown value.
    """

    def __init__(self, model: str | Model | Compactor, **options: Any) -> None:
        """Make the Compactor where none was given."""
        self.sessions = Sessions(model, options, PROVIDER)
        self._is_told = False

    async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
        """Call the model with messages that fit; with the given ones where others are held elsewhere."""
        given, options = context.messages, context.options or {}
        if held := [name for name in HELD if options.get(name)]:
            if not self._is_told:
                log.warning("a conversation is held elsewhere (%s): nothing of it is compacted", held[0])
            self._is_told = True
            await call_next()
            return
        systems = [message for message in given if message.role == "system"]
        plain = mirrored((message for message in given if message.role != "system"), _read)
        conversation = self._conversation(context, plain)

        async def send(fitted: Fitted[Any]) -> None:
            same = fitted.messages is plain
            context.messages = given if same else [*systems, *returned(plain, fitted.messages, _change, _make)]
            await call_next()
            if context.stream:
                context.result = await _begun(context.result)

        system = [options.get("instructions"), *(message.text for message in systems)]
        tools = [*map(_tool, options.get("tools") or ())]
        await conversation.acall(send, plain, system="\n".join(filter(None, system)) or None, tools=tools or None)

        def record(response: Any) -> Any:
            usage = response.usage_details or {}
            prompt, answer = usage.get("input_token_count"), usage.get("output_token_count")
            conversation.record({"input_tokens": prompt, "output_tokens": answer or 0} if prompt else None)
            if context.session is not None:
                context.session.state[STATE] = conversation.state()
            return response

        if context.stream:
            context.stream_result_hooks.append(record)
        else:
            record(context.result)

    def _conversation(self, context: Any, plain: list[Any]) -> Conversation:
        session = context.session
        if session is None:
            return self.sessions.of(opening(plain))
        return self.sessions.of(session.session_id, session.state.get(STATE))


class FittingStrategy(Adapter):
    """A strategy of the framework that keeps a list of messages inside the model's context window, in place.

    Messages that leave are marked as excluded, as the framework's own strategies do; the summary stands behind them. An
    edit changes the message itself, in the framework's history too: the original is in the archive.

    Args:
        model: an id, a ``Model``, or a ``Compactor``.
        instructions: system text of the agent, which a strategy is not told; it counts.
        tools: the agent's tools, which a strategy is not told; they count.
        **options: keywords of a new ``Compactor``.

    Raises:
        TypeError: there are options beside a Compactor.
        ValueError: an option has an unknown value.
    """

    def __init__(
        self,
        model: str | Model | Compactor,
        *,
        instructions: str | None = None,
        tools: Sequence[Any] = (),
        **options: Any,
    ) -> None:
        """Make the Compactor where none was given."""
        self.sessions = Sessions(model, options, PROVIDER)
        self._instructions, self._tools = instructions, [*map(_tool, tools)] or None

    async def __call__(self, messages: list[Message]) -> bool:
        """Make the messages that are not excluded fit; return whether one was excluded, edited or added."""
        is_changed = _leave_out(messages)
        systems = [message.text for message in messages if message.role == "system"]
        listed = mirrored((message for message in messages if message.role != "system"), _read)
        plain = [message for message in listed if not _original(message).additional_properties.get(EXCLUDED_KEY)]
        if not plain or _original(plain[0]).role == "tool":  # the service has the call of a result that comes first
            return is_changed
        system = "\n".join(filter(None, [self._instructions, *systems])) or None
        conversation = self.sessions.of(opening(listed))
        fitted = await conversation.afit(plain, system=system, tools=self._tools)
        if fitted.messages is plain:
            return is_changed
        _write(messages, plain, fitted)
        return True


def _leave_out(messages: Sequence[Message]) -> bool:
    """Exclude again what a summary of the list replaces; return whether any of it was included.

    The framework numbers messages by their place, which a message that left had before: two then have one id, and where
    one of them is included it includes the other.
    """
    present = {message.message_id for message in messages} - {None}
    back = [
        message
        for message in messages
        if (message.additional_properties.get(GROUP_ANNOTATION_KEY) or {}).get(SUMMARIZED_BY_SUMMARY_ID_KEY) in present
        and not message.additional_properties.get(EXCLUDED_KEY)
    ]
    for message in back:
        message.additional_properties[EXCLUDED_KEY] = True
    return bool(back)


def _write(messages: list[Message], plain: Sequence[Any], fitted: Fitted[Any]) -> None:
    """Write fitted messages into the framework's list, in place.

    Lists of the framework share messages: an edit changes the message itself, or the stored history would keep a result
    whose call is excluded. The summary names the messages that it replaces, as the framework's own do, so that it is
    stored with them.
    """
    places = {id(message): at for at, message in enumerate(messages)}
    stays, place, added = set[int](), len(messages), list[Message]()
    written = returned(plain, fitted.messages, _change, _make)
    for new, made in zip(reversed(written), reversed(fitted.messages), strict=True):
        original = origin(made["role"])
        if id(original) not in places:  # a summary, or a message of the result that stands in for the beginning
            new.additional_properties = {
                key: known for key, known in new.additional_properties.items() if key not in NOTES
            }
            messages.insert(place, new)
            added.append(new)
            continue
        place = places[id(original)]
        stays.add(id(original))
        if new is not original:
            original.contents = new.contents
            original.additional_properties.pop(GROUP_ANNOTATION_KEY, None)  # it has the tokens of before
    gone = [message for message in map(_original, plain) if id(message) not in stays]
    for message in gone:
        message.additional_properties |= {EXCLUDED_KEY: True, EXCLUDE_REASON_KEY: "trimtab"}
    if added:
        added[-1].message_id = f"trimtab-{fitted.compaction.ref if fitted.compaction else uuid4()}"
        _bind(added[-1], gone)


def _bind(summary: Message, gone: Sequence[Message]) -> None:
    """Note in a summary which messages it replaces, and in these which summary did."""
    notes = [message.additional_properties.get(GROUP_ANNOTATION_KEY) or {} for message in gone]
    for message, note in zip(gone, notes, strict=True):
        noted = {**note, SUMMARIZED_BY_SUMMARY_ID_KEY: summary.message_id}
        message.additional_properties[GROUP_ANNOTATION_KEY] = noted
    summary.additional_properties[GROUP_ANNOTATION_KEY] = {
        SUMMARY_OF_MESSAGE_IDS_KEY: [message.message_id for message in gone if message.message_id],
        SUMMARY_OF_GROUP_IDS_KEY: [*dict.fromkeys(note[GROUP_ID_KEY] for note in notes if GROUP_ID_KEY in note)],
    }


def _original(message: Mapping[str, Any]) -> Any:
    return origin(message["role"])


class ExactTokenizer:
    """Counts for the framework's own strategies, whose tokenizer takes four characters for a token.

    Args:
        model: an id, a ``Model``, or a ``Compactor``.
    """

    def __init__(self, model: str | Model | Compactor) -> None:
        """Take the model's vocabulary."""
        self._counter = counter_of(model)

    def count_tokens(self, text: str) -> int:
        """Return the tokens of a text."""
        return self._counter.count(text)


async def _begun(stream: Any) -> Any:
    """Return a stream whose first update has come: a refusal is raised here."""
    first = await anext(stream, None)

    async def updates() -> AsyncIterator[Any]:
        if first is not None:
            yield first
        async for update in stream:
            yield update

    return ResponseStream(updates(), finalizer=lambda _: stream.get_final_response())


def _tool(given: Any) -> Any:
    """Return a tool as a provider is sent it, of a function too; one that the provider runs is a dict already."""
    made = tool(given) if callable(given) and not hasattr(given, "to_json_schema_spec") else given
    return made.to_json_schema_spec() if hasattr(made, "to_json_schema_spec") else made


def _read(message: Any) -> dict[str, Any]:
    """Return a message as one of Anthropic's, which holds the results of several calls as the framework's does."""
    role = "assistant" if message.role == "assistant" else "user"
    return {"role": role, "content": [*map(_block, message.contents)] or ""}


def _block(content: Any) -> dict[str, Any]:
    match content.type:
        case "text":
            return {"type": "text", "text": content.text or ""}
        case "text_reasoning":
            return {"type": "thinking", "thinking": content.text or "", "signature": content.protected_data or UNSIGNED}
        case "function_call":
            return {"type": "tool_use", "id": content.call_id, "name": content.name, "input": _arguments(content)}
        case "function_result":
            return {"type": "tool_result", "tool_use_id": content.call_id, "content": _result(content)}
        case "data" | "uri" if (content.media_type or "").startswith("image/"):
            return {"type": "image", "source": _source(content)}
        case _:
            return {"type": "text", "text": json.dumps(content.to_dict(), default=str)}


def _result(content: Any) -> Any:
    """Return what a tool returned: a text, or blocks where pictures are among it."""
    blocks = [*map(_block, content.items or ())]
    if any(block["type"] == "image" for block in blocks):
        return blocks
    return content.result if isinstance(content.result, str) else str(content.result or "")


def _arguments(content: Any) -> dict[str, Any]:
    """Return the arguments of a call as an object."""
    found = content.parse_arguments()
    return dict(found) if found else {}


def _source(content: Any) -> dict[str, Any]:
    """Return where a picture is."""
    if content.type == "uri":
        return {"type": "url", "url": content.uri}
    return {"type": "base64", "media_type": content.media_type, "data": content.uri.partition(",")[2]}


def _change(original: Any, message: Mapping[str, Any]) -> Any:
    """Return the original with the contents that an edit left or made."""
    known = [(_block(content), content) for content in original.contents]
    given = message["content"]
    made = []
    for block in given if isinstance(given, list) else [{"type": "text", "text": given}]:
        same = next((content for before, content in known if before == block), None)
        made.append(_edited(known, block) if same is None else same)
    return Message(
        original.role,
        made,
        author_name=original.author_name,
        message_id=original.message_id,
        additional_properties=original.additional_properties,
    )


def _edited(known: Sequence[tuple[dict[str, Any], Any]], block: Mapping[str, Any]) -> Any:
    """Return the content of an edited block; that of a call or a result keeps the rest of its original."""
    made = _content(block)
    for _, content in known if block["type"] in {"tool_use", "tool_result"} else ():
        if (content.type, content.call_id) == (made.type, made.call_id):
            same = copy.copy(content)
            same.arguments, same.result, same.items = made.arguments, made.result, made.items
            return same
    return made


def _make(message: Mapping[str, Any]) -> Any:
    """Return a new message."""
    given = message["content"]
    if isinstance(given, str):
        return Message(str(message["role"]), [given])
    is_result = any(block["type"] == "tool_result" for block in given)
    return Message("tool" if is_result else str(message["role"]), [*map(_content, given)])


def _content(block: Mapping[str, Any]) -> Any:
    match block["type"]:
        case "tool_use":
            return Content.from_function_call(block["id"], block["name"], arguments=block["input"])
        case "tool_result":
            given = block["content"]
            result = [*map(_content, given)] if isinstance(given, list) else given
            return Content.from_function_result(block["tool_use_id"], result=result)
        case "image":
            source = block["source"]
            uri = source.get("url") or f"data:{source['media_type']};base64,{source['data']}"
            return Content.from_uri(uri, media_type=source.get("media_type"))
        case _:
            return Content.from_text(block.get("text", ""))
