"""Archived lists as people read them: refs, messages in a line, what a compaction did, the first list of several."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .._core import ENVELOPE
from .._repr import one_line
from ..archive.names import given_name, may_read
from ..archive.sql.codec import texts_in
from ..errors import ArchiveError
from ..messages.shapes import only_text
from .input import model_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Sequence

    from ..archive import Changes, SqlArchive
    from ..messages.types import Transcript

_NAMED = re.compile(r"(?:\bref=\\?\"?|\brestore |\bref\\?\"?: \\?\"?)([0-9a-f]{20})(?![0-9a-f])")
"""A ref in a summary's envelope or in a notice, in a message's JSON."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of the messages of a list, by position.

    Attributes:
        stayed: those that stayed as they were.
        changed: those of which a part was replaced.
        left: those that left the list.
    """

    stayed: list[int]
    changed: list[int]
    left: list[int]


def fate(changes: Changes, messages: int) -> Fate:
    """Return what became of each of so many messages."""
    kept, gone = set(changes.kept), set(_left(changes.plan))
    others = [at for at in range(messages) if at not in kept]
    known = bool(changes.plan)
    return Fate(
        [*changes.kept],
        [at for at in others if known and at not in gone],
        [at for at in others if at in gone or not known],
    )


def _left(plan: str) -> Iterator[int]:
    """Yield the positions of the messages that a plan summarizes or drops."""
    for edit in json.loads(plan or "{}").get("edits", ()):
        if edit["edit"] in {"Summarize", "Drop"}:
            kept = set(edit["keep"])
            yield from (at for at in range(edit["start"], edit["stop"]) if at not in kept)


def first_list(archive: SqlArchive, ref: str, session: str | None) -> tuple[list[Any], list[str]]:
    """Return the messages from before the first compaction up to this one, and the refs that were undone, latest first.

    Args:
        archive: holds the compactions.
        ref: the latest of them.
        session: the session that asks, as in ``load``.

    Raises:
        ArchiveError: a compaction is missing or of another session, or its list was changed before the next one.
    """
    messages = originals = archive.load(ref, session=session)
    undone = [ref]
    while before := _before(archive, undone, originals, session):
        originals = archive.load(before, session=session)
        changes = archive.changes(before)
        begins = _length(originals, changes, messages, _placed(archive, changes))
        if begins is None:
            raise ArchiveError(
                f"the list of {undone[-1]} does not begin with what {before} left\n"
                f"  it was changed in between: restore {before} and {undone[-1]} each by its own ref"
            )
        messages = [*originals, *messages[begins:]]
        undone.append(before)
    return messages, undone


def _before(archive: SqlArchive, undone: list[str], originals: Sequence[Any], session: str | None) -> str:
    """Return the ref of the compaction that made the beginning of the last one's originals; empty without one.

    It is the one before in its session; in a session without a name, which each command has for itself, the first
    that the list's summaries and notices name.
    """
    changes = archive.changes(undone[-1])
    if changes.before:
        return changes.before
    owner = given_name(None) if session is None else session
    for message in originals:
        for named in _NAMED.findall(json.dumps(message)):
            if named not in undone and archive.matching(named) == [named]:
                made = archive.changes(named).session
                if made == changes.session or may_read(owner, made, named):
                    return str(named)
    return ""


def _placed(archive: SqlArchive, changes: Changes) -> Callable[[Any], bool]:
    """Return a function that tells whether a compaction may have put a message into its list."""
    from ..compaction.apply import GAP
    from ..planning.stages.template import Place
    from ..policies import POLICIES

    places = [Place(), *(policy.place for policy in POLICIES.values())]
    beside = {GAP, *(place.ack for place in places), *(place.question for place in places)} - {""}
    envelopes = (f'{ENVELOPE}ref="{changes.ref}"', f"{ENVELOPE}{changes.ref} ")
    past = archive.history(changes.session, limit=None)
    notices = [edit.get("notice") for edit in json.loads(changes.plan or "{}").get("edits", ())]
    said = tuple(filter(None, [*notices, *(each.summary for each in past if each.ref == changes.ref)]))

    def placed(message: Any) -> bool:
        text = only_text(message) or ""
        return text in beside or text.startswith(envelopes) or text.endswith(said)  # behind a policy's prefix

    return placed


def _length(
    originals: Sequence[Any], changes: Changes, messages: Sequence[Any], placed: Callable[[Any], bool]
) -> int | None:
    """Return how many messages of a list are what a compaction left of its originals; None if it was changed since.

    The messages that stayed are found in their order. Between two of them are those that were changed, and what the
    compaction put there; behind the last of them, the other changed ones.
    """
    found = fate(changes, len(originals))
    at, last = 0, -1
    for position in changes.kept:
        others = sum(last < each < position for each in found.changed)
        while at < len(messages) and messages[at] != originals[position]:
            others -= not placed(messages[at])
            at += 1
        if at == len(messages) or others < 0:
            return None
        at, last = at + 1, position
    behind = sum(position > last for position in found.changed)
    summarized = bool(found.left) and found.left[0] > last  # the summary stands where the first that left stood
    return min(at + behind + summarized, len(messages))


SHORTEST = 8
"""Characters of a short ref at least: one in a million archives of 100 compactions has two that are equal."""


def short_refs(refs: Iterable[str]) -> dict[str, str]:
    """Return the shortest beginning of each ref that no other has, at least 8 characters."""
    ordered, short = sorted(set(refs)), {}
    for at, ref in enumerate(ordered):
        near = ordered[max(at - 1, 0) : at] + ordered[at + 1 : at + 2]
        lengths = range(SHORTEST, len(ref))
        short[ref] = next((ref[:n] for n in lengths if not any(other.startswith(ref[:n]) for other in near)), ref)
    return short


def full_ref(archive: SqlArchive, text: str) -> str:
    """Return the ref that begins with a text; the text itself if none does.

    Raises:
        ArchiveError: several do.
    """
    found = archive.matching(text)
    if len(found) > 1 and text not in found:
        some = ", ".join(short_refs(found).values())
        raise ArchiveError(f"several compactions begin with {text}: {some}\n  type more of the one you mean")
    return found[0] if len(found) == 1 else text


def note_origin(archive: object, ref: str | None, options: argparse.Namespace, found: Transcript) -> None:
    """Note in the archive which file a compaction is of, and its model, so that a list can show them."""
    if ref is not None:
        file = "" if options.file == "-" else str(Path(options.file).absolute())
        cast("SqlArchive", archive).describe(ref, file, model_of(options, found))


TEXTS = ("name", "content", "parts", "arguments", "input", "output", "summary", "tool_calls", "function", "action")
"""Fields of a message that hold what was said; all others are ids and settings."""

ITEMS = {"function_call": "call", "function_call_output": "result", "tool": "result", "function": "result"}
"""Roles and types of messages by what they are."""

RESULTS = ("tool_result", "toolResult", "functionResponse", "function_response")

READ = 4_000
"""Characters of a message from which its first words are made."""


def who(message: dict[str, Any]) -> str:
    """Return who said a message: its role, or what kind of item it is."""
    name = str(message.get("role") or message.get("type") or "")
    blocks = message.get("content") or message.get("parts")
    first = blocks[0] if isinstance(blocks, list) and blocks and isinstance(blocks[0], dict) else {}
    is_result = first.get("type") in RESULTS or any(key in first for key in RESULTS)
    return one_line("result" if is_result else ITEMS.get(name, name))


def words(message: dict[str, Any]) -> str:
    """Return the first words of a message, on one line."""
    said = " ".join(texts_in({name: message[name] for name in TEXTS if name in message}))
    return one_line(" ".join(said[:READ].split()))
