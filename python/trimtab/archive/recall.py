"""A tool that lets the model look up messages that were summarized."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._mask import mask
from ..counting.truncate import truncate
from .names import check_name

if TYPE_CHECKING:
    from ..models.provider import Provider
    from .archive import SqlArchive

NAME = "recall"

_DESCRIPTION = (
    "Looks up messages of this conversation that were summarized away. Give `query` to find messages by their words;"
    " each result has a number. Give `message` with such a number to read that message whole."
)

_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "words that stood in the message"},
        "message": {"type": "integer", "description": "number of a message that a query found"},
    },
}

MAX_CHARS = 20_000
"""Characters of one answer, about 5,000 tokens; a longer message is cut in its middle."""


@dataclass(frozen=True, slots=True)
class Recall:
    """The recall tool of one session.

    Attributes:
        archive: the archive that holds the session's originals.
        session: the session's name; other sessions' messages are neither found nor read.
        limit: maximum number of messages in one answer.

    Raises:
        ValueError: the session's name is empty, blank or not printable.
    """

    archive: SqlArchive
    session: str
    limit: int = 5

    def __post_init__(self) -> None:
        """Check the name: without one, every session would be searched."""
        check_name(self.session)

    def definition(self, provider: Provider = "anthropic") -> dict[str, Any]:
        """Return the tool's definition in a provider's shape.

        Raises:
            ValueError: the provider is unknown.
        """
        tool = {"name": NAME, "description": _DESCRIPTION}
        shapes: dict[str, dict[str, Any]] = {
            "anthropic": {**tool, "input_schema": _PARAMETERS},
            "openai_chat": {"type": "function", "function": {**tool, "parameters": _PARAMETERS}},
            "openai_responses": {"type": "function", **tool, "parameters": _PARAMETERS},
            "bedrock": {"toolSpec": {**tool, "inputSchema": {"json": _PARAMETERS}}},
            "gemini": {"functionDeclarations": [{**tool, "parameters": _PARAMETERS}]},
        }
        if provider not in shapes:
            raise ValueError(f"unknown provider {provider!r}")
        return shapes[provider]

    def __call__(self, arguments: Mapping[str, Any] | str) -> str:
        """Answer a call with text for the tool's result. Never raises: a wrong call gets an error text.

        Args:
            arguments: the call's input: a mapping, or JSON text as in OpenAI's calls.
        """
        try:
            given = json.loads(arguments) if isinstance(arguments, str) else arguments
            if not isinstance(given, Mapping):
                return "Give query or message."
            if isinstance(number := given.get("message"), int) and not isinstance(number, bool):
                return _shorten(json.dumps(self.archive.fetch(number, session=self.session), ensure_ascii=False))
            if isinstance(query := given.get("query"), str) and query.strip():
                return self._search(query)
        except Exception as error:  # noqa: BLE001 - text of a model, and an archive of the caller: the turn must go on
            return _shorten(f"Nothing could be looked up: {mask(str(error)) or type(error).__name__}")
        return "Give query (words) or message (a number that a query gave)."

    def _search(self, query: str) -> str:
        hits = self.archive.search(query, session=self.session, limit=self.limit)
        if not hits:
            return "No archived message of this conversation has any of these words."
        lines = [
            f"[{hit.id}] {hit.role or 'tool'}, archived {hit.archived_at:%Y-%m-%d %H:%M}: {hit.text}" for hit in hits
        ]
        return _shorten("\n".join(lines))


def _shorten(text: str) -> str:
    """Return the text without lone surrogates, and without its middle where it is too long."""
    return truncate(text.encode("utf-8", "replace").decode(), chars=MAX_CHARS, category="head-tail")
