"""The arguments of an SDK's ``post`` for a call that asks the provider's server, and for a compaction alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..validity.parameters import EDITS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..server.call import ServerCall

COMPACT_PATH = "/responses/compact"
"""OpenAI's endpoint for a compaction alone; Anthropic's is that of a call."""

_RAW = "x-stainless-raw-response"
"""Header with which a caller reads an answer raw: the answer of a compaction is not the caller's."""

_OF_COMPACT = ("model", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "service_tier", "image")
"""Fields of a call that ``responses.compact`` takes too."""

_OF_REPLY = ("stream", "stop_sequences", "output_format", "context_management", "betas")
"""Fields that shape a reply: Anthropic refuses them in a request for a compaction."""


def with_betas(given: Mapping[str, Any], flags: tuple[str, ...] | list[str]) -> dict[str, Any]:
    """Return the arguments with beta flags in the header that Anthropic reads them from; those that are there stay."""
    options = dict(given.get("options") or {})
    headers = {**(options.get("headers") or {})}
    name = next((name for name in headers if name.lower() == "anthropic-beta"), "anthropic-beta")
    known = headers.get(name)
    there = [each.strip() for each in known.split(",")] if isinstance(known, str) else []
    headers[name] = ",".join(dict.fromkeys([*there, *flags]))
    return {**given, "options": {**options, "headers": headers}}


def asking(given: dict[str, Any], server: ServerCall) -> dict[str, Any]:
    """Return the arguments of a call that also asks the server; the caller's own edits stay."""
    body, parameters = {**given["body"]}, dict(server.parameters)
    own = body.get("context_management")
    if isinstance(own, dict) and isinstance(parameters.get("context_management"), dict):
        edits = parameters["context_management"]["edits"]
        types = {edit["type"] for edit in edits}
        kept = [edit for edit in own.get("edits") or () if edit.get("type") not in types]
        parameters["context_management"] = {"edits": sorted([*kept, *edits], key=_place)}
    made = {**given, "body": {**body, **parameters}}
    return with_betas(made, server.betas) if server.betas else made


def _place(edit: Mapping[str, Any]) -> int:
    """The place of an edit in a request's list: the one of thinking comes first."""
    return EDITS.index(edit["type"]) if edit.get("type") in EDITS else len(EDITS)


def compaction_alone(path: str, given: Mapping[str, Any], field: str, messages: Any, server: ServerCall) -> Any:
    """Return path and arguments of the request for a compaction alone; its answer comes back as JSON.

    Args:
        path: of the model call.
        given: its arguments.
        field: the body's field with the messages.
        messages: those that the compaction stands for.
        server: what is asked.
    """
    body = given["body"]
    options = dict(given.get("options") or {})
    headers = {name: value for name, value in (options.get("headers") or {}).items() if name.lower() != _RAW}
    options = {name: value for name, value in options.items() if name not in {"post_parser", "headers"}}
    options["headers"] = headers
    if field == "input":
        kept = {name: body[name] for name in (*_OF_COMPACT, "instructions") if name in body}
        return COMPACT_PATH, {"body": {**kept, field: [*messages]}, "options": options, "cast_to": object}
    kept = {name: value for name, value in body.items() if name not in _OF_REPLY}
    if isinstance(choice := kept.get("tool_choice"), dict) and choice.get("type") in {"any", "tool"}:
        del kept["tool_choice"]
    if isinstance(config := kept.get("output_config"), dict):
        kept["output_config"] = {name: value for name, value in config.items() if name != "format"}
    made = {"body": {**kept, **server.parameters, field: [*messages]}, "options": options, "cast_to": object}
    return path, with_betas(made, server.betas)
