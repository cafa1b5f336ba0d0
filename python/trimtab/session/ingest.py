"""Cuts a tool's output before it enters the list, and archives the whole output first."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING

from ..archive import Record
from ..archive.redact import redact_message
from ..archive.sql.codec import encode
from ..compaction.rows import whereabouts
from ..errors import ArchiveError

if TYPE_CHECKING:
    from ..messages.types import Message
    from .memory import Memory


def ingested(memory: Memory, tool: str, output: str) -> str:
    """Return a tool's output, cut by the policy's rule; a cut output is archived, and its notice has the ref.

    Under ``parity`` the notice is the document's, without a ref: the history and a search find the output.

    Raises:
        ArchiveError: the output cannot be stored.
    """
    rule, settings = memory.policy.ingest, memory.settings
    spared = memory.policy.prune is not None and tool in memory.policy.prune.skip
    if rule is None or spared or not rule.exceeds(output, settings.model_counter):
        return output
    message: Message = {"role": "tool", "content": output}
    if settings.redact is not None:
        message = redact_message(message, settings.redact)
    ref, is_stored = _place(memory, message)
    category, counter = rule.category(tool), settings.model_counter
    short = rule.cut(output, category, counter, "" if memory.policy.parity else whereabouts(ref))
    if not is_stored:
        stored = memory.handler.archive.open().store([message], settings.session)
        tokens = counter.count(output), counter.count(short)
        memory.handler.archive.open().commit(stored, Record(ref, "ingest", *tokens, plan="{}", exclusive=False))
    return short


def _place(memory: Memory, message: Message) -> tuple[str, bool]:
    """Return the ref of an output, and whether the archive has it already.

    Equal outputs of a session have one ref, so that a list that is built anew from its outputs is the same list.
    """
    _, [digest] = encode([message])
    archive, session = memory.handler.archive.open(), memory.settings.session
    parts = "\0".join(["ingest", session if memory.settings.exclusive else "", digest])
    while True:
        ref = hashlib.sha256(parts.encode()).hexdigest()[:20]
        owner, held = archive.owner(ref), None
        if owner in {None, session}:
            with suppress(ArchiveError):
                held = archive.load(ref, session=session)
        if held == [message] or owner is None:
            return ref, held is not None
        parts += "\0"  # it restores nothing any more, or another session's output, which may be forgotten with that
