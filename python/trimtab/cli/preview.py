"""A compaction that is made and thrown away, so that a plan promises what ``compact`` does."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._home import archive_url
from ..archive.sql.codec import encode
from ..archive.sqlite import DIALECT, SqliteArchive
from ..archive.values import Stored
from ..counting.counter import scan
from ..errors import ArchiveError
from ..models.model import Model
from .files import archive_path
from .input import span, target
from .output import print_note
from .progress import Progress
from .prompt import NextPrompt, compactor

if TYPE_CHECKING:
    from ..archive.values import Record
    from ..ledger.contents import Contents
    from ..messages.types import Message, Transcript
    from ..planning.changes import Change
    from ..planning.plan import Plan
    from ..server.ways import WayCost
    from ..session.compactor import Compactor


@contextmanager
def without_archive() -> Iterator[None]:
    """Go on behind a failure of the default archive, with a note: a verb that only looks does not need it."""
    try:
        yield
    except ArchiveError as error:
        _note(str(error))


@lru_cache(16)  # once for all files and policies
def _note(fault: str) -> None:
    print_note(f"without the archive: {fault}")


class Preview(SqliteArchive):
    """An archive in memory that recognizes the summaries of the default archive, as that of ``compact`` does."""

    dialect = replace(DIALECT, compresses=False)

    def __init__(self) -> None:
        """Open the default archive, if there is one that can be read."""
        super().__init__(":memory:")
        self.durable, self.known = True, None
        path = archive_path(archive_url())
        if Path(path).is_file():
            with without_archive():
                self.known = SqliteArchive(path)

    def store(self, messages: Sequence[Message], session: str) -> Stored:
        """Return the digests of the messages; nothing is stored, because nobody restores a preview."""
        return Stored(session, 0, tuple(encode(messages)[1]), 1, len(messages))

    def commit(self, stored: Stored, record: Record) -> None:
        """Do nothing."""

    def recognize(self, refs: Iterable[str], session: str) -> dict[str, bool]:
        """Return for each ref that the default archive knows whether the session may read it."""
        with without_archive():
            return self.known.recognize(refs, session) if self.known else {}
        return {}

    def owner(self, ref: str) -> str | None:
        """Return the session of a compaction in the default archive."""
        with without_archive():
            return self.known.owner(ref) if self.known else None
        return None


@dataclass(frozen=True, slots=True)
class Previewed:
    """The plan of a session file.

    Attributes:
        cm: the session's Compactor.
        next_prompt: the prompt of the agent's next call.
        plan: the plan, with the tokens that ``compact`` reaches with the offline summarizer, and what they save.
        after: tokens of the prompt after it.
        changes: what each of its edits changes.
        stays: the largest results that stay, with the reason.
        contents: what fills the session.
        summary: the text of the summarizer; None if no message is summarized.
        author: its author; None without one.
        ways: what a compaction costs in each way, where the options ask to explain.
    """

    cm: Compactor
    next_prompt: NextPrompt
    plan: Plan
    after: int
    changes: list[Change]
    stays: list[Change]
    contents: Contents
    summary: str | None = None
    author: str | None = None
    ways: tuple[WayCost, ...] = ()

    @property
    def dearer(self) -> str:
        """What is to be said beside dollars where the provider charges more for a prompt of this length; else empty."""
        past = Model.named(self.cm.model).dearer_past
        if past is None or self.next_prompt.tokens <= past:
            return ""
        return f"or more: past {past:,} tokens the provider charges more"


def preview(options: argparse.Namespace, found: Transcript, **settings: Any) -> Previewed:
    """Compact a session with the offline summarizer, or with that of ``settings``, and return its plan."""
    from ..ledger.contents import Contents
    from ..planning.changes import changes, stays

    cm = compactor(options, found, archive=Preview(), **settings)
    next_prompt = NextPrompt.of(options, found, cm)
    beside: dict[str, Any] = {"system": found.system, "tools": found.tools}
    with Progress("planning"):
        plan = cm.plan(found.messages, **beside, **target(options), span=span(options))
        # Before the compaction: behind it, the session's list is what was made.
        ways = cm.ways(found.messages, **beside) if getattr(options, "explain", False) else ()
        contents = Contents.of(found.messages, cm.counter, found.provider)
        made, after, summary, author = contents.ledger, next_prompt.tokens, None, None
        if plan.edits:
            said = getattr(options, "instructions", None)
            way: dict[str, Any] = {"plan": plan} if span(options) else target(options)  # as ``compact`` asks for it
            result = cm.compact(found.messages, **beside, **way, instructions=said)
            savings = result.plan.savings and result.plan.savings.made(result.saved)
            plan = replace(result.plan, tokens_after=result.tokens_after, savings=savings)
            summary, author = result.summary, result.summarizer
            after = cm.size(result.messages, **beside).prompt
            made = scan(result.messages, cm.counter, found.provider)
        edits, stay = changes(plan, contents, made), stays(plan, contents, cm.policy.prune)
        return Previewed(cm, next_prompt, plan, after, edits, stay, contents, summary, author, ways)
