"""Sessions of Claude Code: ``~/.claude/projects/<folder>/<session>.jsonl``.

A line of type ``user`` or ``assistant`` has a message and names the line it follows; the chain of the last line is the
prompt. A response is several lines, one for each block, with one ``message.id``. Results of parallel calls are siblings
beside the chain. A line with ``isCompactSummary`` is a compaction's summary; the boundary in front of it names lines
that stay, behind the summary or in front of it. A prompt that waited while the agent worked is an attachment
(``queued_command``), and becomes a message as it was typed. Left out are lines that Claude Code never sends (progress,
snapshots, system lines, its own errors), and the text of other attachments. The system prompt and the tools are in the
files of few versions, and not read. The window is found in ``_claude_code_window``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._builder import Builder
from ._claude_code_window import Evidence
from ._parts import dict_of
from ._prompt import FilePrompt

if TYPE_CHECKING:
    from ..models.provider import Provider
    from ._records import Records

PROVIDER: Provider = "anthropic"
"""The shape of the messages."""

ROLES = ("user", "assistant")
"""Types of the lines that have a message."""


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether this is a line of a Claude Code session."""
    message = dict_of(value.get("message"))
    if "systemPayload" in value or "parts" in message:  # Qwen Code links its lines likewise
        return False
    return "parentUuid" in value or (value.get("type") in ROLES and isinstance(value.get("message"), dict))


def read(records: Records, *, whole: bool) -> Builder:
    """Return the messages of the main chain; `whole` keeps those that a compaction replaced.

    Raises:
        MessageError: the file changed.
    """
    return built(FilePrompt.of(records, "claude_code", whole=whole), whole=whole)


def built(prompt: FilePrompt, *, whole: bool) -> SessionReader:
    """Return the messages of a prompt.

    Raises:
        MessageError: the file changed.
    """
    session = SessionReader(whole=whole, provider=PROVIDER)
    prompt.fill(session)
    model, _, _, session.evidence.folder, noted = prompt.found.settings()
    session.model = model or None
    for line in noted:
        session.evidence.note(json.loads(line))
    session.evidence.decide(session)
    return session


@dataclass(slots=True)
class SessionReader(Builder):
    """The prompt that the core finds.

    Attributes:
        evidence: what the file shows of the window.
    """

    evidence: Evidence = field(default_factory=Evidence)
