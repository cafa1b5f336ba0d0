"""Sessions of Claude Code: ``~/.claude/projects/<folder>/<session>.jsonl``.

A line of type ``user`` or ``assistant`` has a message and names the line it follows; the chain of the last line is the
prompt. A response is several lines, one for each block, with one ``message.id``. Results of parallel calls are siblings
beside the chain. A line with ``isCompactSummary`` is a compaction's summary. Left out are lines that Claude Code never
sends: progress, snapshots, system lines, its own errors. The file does not contain the system prompt, the tools and the
text of attachments. The window is found in ``_claude_code_window``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .. import _core
from ..messages.types import BilledCall, Charged, Skipped
from ..messages.usage import Usage
from ._builder import UNCHARGED, Builder
from ._claude_code_window import Evidence
from ._parts import dict_of, seconds_of
from ._record import changed
from ._records import CHUNK

if TYPE_CHECKING:
    from ._records import Records

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
    lines = _core.ClaudeCodeLines()
    held = records.feed(lines)
    prompt = lines.prompt(whole=whole)
    session = SessionReader(whole=whole, provider="anthropic")
    session.add_messages(records, prompt, held)
    session.add_calls(prompt)
    session.decide(prompt)
    for names, count in prompt.left_out():
        session.leave(*names, count=count)
    session.skipped = [Skipped(*fault) for fault in prompt.faults()]
    return session


@dataclass(slots=True)
class SessionReader(Builder):
    """The prompt that the core finds.

    Attributes:
        evidence: what the file shows of the window.
    """

    evidence: Evidence = field(default_factory=Evidence)

    def add_messages(self, records: Records, prompt: _core.ClaudeCodePrompt, held: list[tuple[int, bytes]]) -> None:
        """Add the messages, and the positions of compactions; read the file again unless its bytes are held."""
        at = 0
        while at < prompt.messages():
            stop, places = prompt.places(at, CHUNK)
            pieces = held or [(offset, records.bytes_at(offset, size)) for offset, size in places]
            try:
                self.messages += json.loads(prompt.write(at, stop, pieces))
            except (ValueError, RecursionError) as error:
                raise changed() from error
            at = stop
        self.compactions, self.contexts = prompt.compactions()

    def add_calls(self, prompt: _core.ClaudeCodePrompt) -> None:
        """Add what the calls were billed."""
        for before, compactions, is_prompt, model, time, billed in prompt.charges():
            usage = _billed(json.loads(billed)) if isinstance(billed, str) else Usage(*billed)
            tokens = usage.input + usage.cache_read + usage.cache_write
            if tokens:
                at = seconds_of(time) if isinstance(time, str) else time
                self.calls.append(BilledCall(before, usage, model, at, compactions))
                if is_prompt:
                    self.usage.append(Charged(before, tokens, usage.output, usage.earlier))

    def decide(self, prompt: _core.ClaudeCodePrompt) -> None:
        """Set the last model and the window."""
        model, self.evidence.folder, noted = prompt.settings()
        self.model = model or None
        for line in noted:
            self.evidence.note(json.loads(line))
        self.evidence.decide(self)


def _billed(usages: list[Any]) -> Usage:
    """Return the usage of a response: its lines repeat the input, and only the last may have the full output."""
    read = [*map(Usage.recorded, usages)]
    most = max(read, key=lambda usage: usage.prompt, default=UNCHARGED)
    return replace(most, output=max((usage.output for usage in read), default=0))
