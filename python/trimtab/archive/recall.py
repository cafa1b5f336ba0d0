"""A tool that lets the model look up messages that were summarized, and texts that were truncated."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._mask import mask
from ..counting.truncate import truncate
from ..errors import ArchiveError
from .names import check_name

if TYPE_CHECKING:
    from ..models.provider import Provider
    from .archive import Archive

NAME = "recall"

_DESCRIPTION = (
    "Looks up messages of this conversation that were summarized away or shortened. Give `query` to find messages by"
    " their words; each result has a number. Give `message` with such a number, or `ref` with the code in a notice of"
    " omitted text, to read the whole; `offset` reads on in a long one."
)

_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "words that stood in the message"},
        "message": {"type": "integer", "description": "number of a message that a query found"},
        "ref": {"type": "string", "description": "code in a notice of omitted text"},
        "offset": {"type": "integer", "description": "number of the first character to read"},
    },
}

MAX_CHARS = 20_000
"""Characters of one answer, about 5,000 tokens; a longer text is cut in its middle, or read in parts by offset."""


@dataclass(frozen=True, slots=True)
class Recall:
    """The recall tool of one session.

    Attributes:
        archive: the archive that holds the session's originals.
        session: the session's name; other sessions' messages are neither found nor read.
        limit: maximum number of messages in one answer.

    Raises:
        ArchiveError: the archive cannot search.
        ValueError: the session's name is empty, blank or not printable.
    """

    archive: Archive
    session: str
    limit: int = 5

    def __post_init__(self) -> None:
        """Check the name: without one, every session would be searched."""
        from .archive import Archive  # noqa: PLC0415 - SQL is loaded with the first archive

        check_name(self.session)
        if type(self.archive).search is Archive.search:
            raise ArchiveError(f"{type(self.archive).__name__} cannot search: it needs search and fetch")

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
                return "Give query, message or ref."
            offset = given.get("offset")
            if isinstance(number := given.get("message"), int) and not isinstance(number, bool):
                return from_offset(as_lines([self.archive.fetch(number, session=self.session)]), offset)
            if isinstance(ref := given.get("ref"), str) and ref:
                return from_offset(_whole(self.archive.load(ref, session=self.session)), offset)
            if isinstance(query := given.get("query"), str) and query.strip():
                return self._search(query)
        except Exception as error:  # noqa: BLE001 - text of a model, and an archive of the caller: the turn must go on
            return _shorten(f"Nothing could be looked up: {mask(str(error)) or type(error).__name__}")
        return "Give query (words), message (a number that a query gave) or ref (the code in a notice)."

    def _search(self, query: str) -> str:
        hits = self.archive.search(query, session=self.session, limit=self.limit)
        if not hits:
            return "No archived message of this conversation has any of these words."
        lines = [
            f"[{hit.id}] {hit.role or 'tool'}, archived {hit.archived_at:%Y-%m-%d %H:%M}: {hit.text}" for hit in hits
        ]
        return _shorten("\n".join(lines))


def as_lines(messages: list[dict[str, Any]]) -> str:
    """Return messages as JSON, a line each."""
    return "\n".join(json.dumps(message, ensure_ascii=False) for message in messages)


def _whole(messages: list[dict[str, Any]]) -> str:
    """Return the text of a truncated output, which is archived alone, or the messages of a compaction as JSON lines."""
    text = messages[0].get("content") if len(messages) == 1 else None
    return text if isinstance(text, str) else as_lines(messages)


def from_offset(text: str, offset: object) -> str:
    """Return a text from ``offset`` on, or its head and tail without one; a long text says how to read on."""
    if not isinstance(offset, int) or offset < 0:
        return _shorten(text, "give offset to read on from a character")
    end = offset + MAX_CHARS
    follows = f"\n[{len(text) - end:,} characters follow; read on with offset {end}]" if end < len(text) else ""
    return text[offset:end].encode("utf-8", "replace").decode() + follows


def _shorten(text: str, more: str = "") -> str:
    """Return the text without lone surrogates, and without its middle if it is too long."""
    return truncate(text.encode("utf-8", "replace").decode(), chars=MAX_CHARS, category="head-tail", more=more)
