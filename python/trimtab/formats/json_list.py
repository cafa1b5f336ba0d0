"""Lists of messages in a provider's shape: a JSON array, JSONL with one message per line, or a whole request.

A request may have ``window`` or ``default_window`` beside the provider's own fields, as ``trimtab compact`` writes it.
The core detects the provider by the first message that only one provider writes so; a request's other fields decide for
plain text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from .. import _core
from ..errors import MessageError
from ..models.ids import ModelId
from ..validity.validate import Rules
from ._builder import Builder, several

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..models.provider import Provider
    from ._record import FileRecord

PROVIDERS = ("anthropic", "openai_chat", "openai_responses", "bedrock", "gemini")


def read(records: Iterable[FileRecord], provider: str | None) -> Builder:
    """Return the messages unchanged; detect the provider if it is None.

    Raises:
        MessageError: an entry is no message; the error has its path.
    """
    found = list(records)
    values = [record.value for record in found]
    requests = [value for value in values if isinstance(value, dict) and _key(value)]
    if not requests:
        return _built(values, "messages", {}, provider)
    if len(values) > 1:
        raise several("request", len(requests), found)
    request, key = requests[0], _key(requests[0])
    messages = request[key]
    if isinstance(messages, str):
        messages = [{"type": "message", "role": "user", "content": messages}]
    if not messages:
        raise MessageError("an empty list", path=key, hint="need at least one message")
    return _built(messages, key, request, provider)


def _key(value: dict[str, Any]) -> str:
    """Return the field of a request's messages; empty if the value is no request."""
    if "role" in value or "type" in value:
        return ""
    lists = (name for name in ("messages", "contents", "input") if isinstance(value.get(name), list))
    return next(lists, "input" if isinstance(value.get("input"), str) else "")


def _built(messages: list[dict[str, Any]], name: str, request: dict[str, Any], provider: str | None) -> Builder:
    """Return the messages with the request's other parameters.

    Raises:
        MessageError: a message is not of the shape; the error has its path.
    """
    provider = provider or _provider(messages, request)
    try:
        for problem in Rules().problems_in(messages, provider):
            if problem.code == "null_content" and messages[problem.index].get("role") != "assistant":
                path = f"{problem.path}.content"
                raise MessageError("is missing", path=path, index=problem.index, hint=problem.fix)  # noqa: TRY301
    except MessageError as error:
        path = error.path.replace("messages", name, 1)
        raise MessageError(error.args[0], path=path, index=error.index, hint=error.hint) from None
    system = request.get("system") or request.get("instructions")
    if provider == "anthropic" and not system and len(messages) > 1 and messages[0]["role"] in ("system", "developer"):
        messages, system = messages[1:], messages[0]["content"]  # a common mistake: Anthropic's shape has no such role
    built = Builder(provider=cast("Provider", provider), messages=messages, tools=request.get("tools"))
    built.model = request["model"] if isinstance(request.get("model"), str) else None
    built.name_window(request.get("window"))
    built.name_window(request.get("default_window"), default=True)
    built.system = system if isinstance(system, (str, list)) and system else None
    for key in request.keys() - {name, "system", "instructions", "model", "tools", "window", "default_window"}:
        built.leave("request", key)
    return built


def _provider(messages: list[dict[str, Any]], request: dict[str, Any]) -> str:
    """Return the provider whose shape the messages have; for plain text the request decides."""
    if "input" in request:
        return "openai_responses"
    model = request.get("model")
    is_anthropic = ModelId.of(model).maker == "anthropic" if model and isinstance(model, str) else "system" in request
    return _core.detect(messages) or ("anthropic" if is_anthropic else "openai_chat")
