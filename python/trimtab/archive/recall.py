"""Looking up what was summarized away: a tool for the model, and what answers it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ArchiveError

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

MOST = 20_000
"""Characters of one answer: about 5,000 tokens. A message that is longer is cut in its middle."""


@dataclass(frozen=True, slots=True)
class Recall:
    """The tool of one session.

    Attributes:
        archive: where its originals are.
        session: whose they are.
        limit: most messages that a query shows.
    """

    archive: SqlArchive
    session: str
    limit: int = 5

    def definition(self, provider: Provider = "anthropic") -> dict[str, Any]:
        """The tool's definition in a provider's shape.

        Raises:
            ValueError: a provider of no known name.
        """
        told = {"name": NAME, "description": _DESCRIPTION}
        match provider:
            case "anthropic":
                return {**told, "input_schema": _PARAMETERS}
            case "openai_chat":
                return {"type": "function", "function": {**told, "parameters": _PARAMETERS}}
            case "openai_responses":
                return {"type": "function", **told, "parameters": _PARAMETERS}
            case "bedrock":
                return {"toolSpec": {**told, "inputSchema": {"json": _PARAMETERS}}}
            case "gemini":
                return {"functionDeclarations": [{**told, "parameters": _PARAMETERS}]}
        msg = f"unknown provider {provider!r}"
        raise ValueError(msg)

    def __call__(self, asked: Mapping[str, Any] | str) -> str:
        """The answer to a call: text for the tool's result. Never raises: what is wrong with a call is its answer.

        Args:
            asked: the call's input, read or as the JSON text that OpenAI's calls have.
        """
        try:
            given = json.loads(asked) if isinstance(asked, str) else asked
            if not isinstance(given, Mapping):
                return "Give query or message."
            if isinstance(number := given.get("message"), int) and not isinstance(number, bool):
                return _cut(json.dumps(self.archive.fetch(number, session=self.session), ensure_ascii=False))
            if isinstance(query := given.get("query"), str) and query.strip():
                return self._found(query)
        except (ArchiveError, ValueError) as error:
            return f"Nothing could be looked up: {error}"
        return "Give query (words) or message (a number that a query gave)."

    def _found(self, query: str) -> str:
        hits = self.archive.search(query, session=self.session, limit=self.limit)
        if not hits:
            return "No archived message of this conversation has any of these words."
        lines = [
            f"[{hit.id}] {hit.role or 'tool'}, archived {hit.archived_at:%Y-%m-%d %H:%M}: {hit.text}" for hit in hits
        ]
        return _cut("\n".join(lines))


def _cut(text: str) -> str:
    """The text, less its middle where it is too long; what cannot be sent is replaced."""
    text = text.encode("utf-8", "replace").decode()
    if len(text) <= MOST:
        return text
    left = len(text) - MOST
    return f"{text[: MOST // 2]}\n[{left:,} characters left out]\n{text[-MOST // 2 :]}"
