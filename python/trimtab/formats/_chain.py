"""The tree of a Claude Code session's lines, and its branch that is the prompt."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ._parts import dict_of, text_of
from ._records import FileRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ._builder import Builder, FileRecords

ROLES = ("user", "assistant")

_SIDE = "sidechain"  # kind of the lines of a side conversation


@dataclass(slots=True, eq=False)
class Line(FileRecord):
    """A line of the tree: its links are in memory, its content is read when needed.

    Attributes:
        number: number of the line in the file, or of the entry in a list.
        key: its uuid, or a generated name.
        role: its role; empty if it is never sent and only links others.
        parent: key of the line it follows, None for a root.
        kind: the file's name for its kind, if it is not sent.
        response: the id shared by the lines of one response.
        answers: ids of the calls that it answers.
        is_summary: whether it is a compaction's summary, with which the prompt starts.
        logical: key of the line before it, for a root that a compaction created.
        is_again: whether it repeats a line, which a compaction kept after its summary.
    """

    key: str
    role: str
    parent: str | None
    kind: tuple[str, str]
    response: str
    answers: tuple[str, ...]
    is_summary: bool
    logical: str
    is_again: bool = False

    @property
    def content(self) -> Any:
        """The content of its message."""
        return self.value["message"]["content"]


def block_ids(content: Any, name: str) -> tuple[str, ...]:
    """Return the ids that a content's blocks have in this field."""
    found: list[str] = []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and isinstance(ref := block.get(name), str):
            found.append(ref)  # noqa: PERF401 - a comprehension is a call of its own before Python 3.12
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Tree:
    """A session's lines in file order.

    Attributes:
        nodes: all lines by key.
        sent: the lines of the main conversation.
        first: number of the first line of each response; copies may follow.
        tails: the last line that a compaction kept, by the key of the summary that it follows.
    """

    nodes: dict[str, Line]
    sent: list[Line]
    first: dict[str, int]
    tails: dict[str, Line]

    def chain(self, *, whole: bool) -> list[Line]:
        """Return the lines from the root, or from the last compaction, to the last line."""
        taken: dict[str, Line] = {}
        line = self.sent[-1] if self.sent else None
        line = self.tails.get(line.key, line) if line else None  # nothing has followed the kept lines yet
        while line:
            taken[line.key] = line
            if line.is_summary and not whole:
                break
            known = self.nodes.get(line.parent or "")
            line = known if known and known.key not in taken else self._before(line, taken)
        return [line for line in reversed(taken.values()) if line.role]

    def _before(self, line: Line, taken: dict[str, Line]) -> Line | None:
        """Return the line's parent, or where the chain breaks the nearest earlier line that is sent.

        The chain breaks at a missing parent (a session cut in two) and at a cycle. A root that a compaction created
        continues with the compacted lines; any other root is the start.
        """
        parent = line.parent
        if parent is None:
            parent = line.logical
            if not parent and not line.is_summary:
                return None
        known = self.nodes.get(parent)
        if known and known.key not in taken:
            return known
        return nearest(self.sent, line.number, taken)


class _Keyed(Protocol):
    """A record with a place in a chain."""

    number: int
    key: str


L = TypeVar("L", bound=_Keyed)


def nearest(lines: Sequence[L], number: int, taken: Collection[str]) -> L | None:
    """Return the last line in front of a number whose key is not taken; None without one.

    Args:
        lines: ascending by number.
        number: of the line in a chain that breaks in front of it.
        taken: keys on the chain behind the break.
    """
    i = bisect_left(lines, number, key=lambda other: other.number)
    while i and lines[i - 1].key in taken:
        i -= 1
    return lines[i - 1] if i else None


def grow(records: FileRecords, builder: Builder, note: Callable[[dict[str, Any]], object]) -> Tree:
    """Read the lines into a tree; skip lines with a defective message.

    Args:
        records: the values of the file.
        builder: is told what is skipped.
        note: takes each object, also one that is skipped.
    """
    nodes: dict[str, Line] = {}
    first: dict[str, int] = {}
    kept: list[dict[str, Any]] = []
    names: dict[tuple[str, str], tuple[str, str]] = {}
    for number, record in enumerate(records):
        value = record.value
        if isinstance(value, dict):
            note(value)
        if defect := _defect(value):
            builder.skip(record, defect)
            continue
        line = _line(number, record, value)
        if line.file is not None:
            line.release()
        # Share equal strings: a large file has few kinds, and refers to each line and response repeatedly.
        line.kind = names.setdefault(line.kind, line.kind)
        if line.parent in nodes:
            line.parent = nodes[line.parent].key
        if line.role == "assistant":
            first.setdefault(line.response, number)
        metadata = value.get("compactMetadata")
        if isinstance(metadata, dict) and (segment := dict_of(metadata.get("preservedSegment"))):
            kept.append(segment)
        if line.key in nodes:
            # A resumed session repeats lines. A repeated line with another parent was kept after a summary.
            if nodes[line.key].parent == line.parent:
                continue
            del nodes[line.key]
            line.is_again = True
        nodes[line.key] = line
    tails = dict(filter(None, (_relink(nodes, segment) for segment in kept)))
    sent = [line for line in nodes.values() if line.role]
    main = [line for line in sent if line.kind[0] != _SIDE]
    for line in sent if main else ():
        line.role = "" if line.kind[0] == _SIDE else line.role
    return Tree(nodes, main or sent, first, tails)


def _line(number: int, record: FileRecord, value: dict[str, Any]) -> Line:
    """Make a line; without a parent field its parent is a missing line, so that file order applies."""
    role, kind = _role(value)
    parent, key, logical = value.get("parentUuid", ""), value.get("uuid"), value.get("logicalParentUuid")
    key = key if key and isinstance(key, str) else f"line {number}"
    return Line(
        number,
        record.offset,
        value,
        record.file,
        key,
        role,
        parent if parent is None or isinstance(parent, str) else "",
        kind,
        (text_of(value["message"].get("id")) or key) if role == "assistant" else "",
        block_ids(value["message"].get("content"), "tool_use_id") if role == "user" else (),
        is_summary=bool(role and value.get("isCompactSummary")),
        logical=logical if isinstance(logical, str) else "",
    )


def _role(value: dict[str, Any]) -> tuple[str, tuple[str, str]]:
    """Return a line's role, empty if it is never sent, and the file's name for its kind if it is not sent."""
    kind, role = value.get("type"), ""
    if kind in ROLES:
        message = value["message"]
        is_error = value.get("isApiErrorMessage") or message.get("model") == "<synthetic>"
        is_shown = value.get("isVisibleInTranscriptOnly")
        if not is_error and (not is_shown or value.get("isCompactSummary")):
            role = message["role"] if message.get("role") in ROLES else kind
        more = "shown only" if is_shown else "error of Claude Code" if is_error else "other branch"
        return role, (_SIDE, kind) if value.get("isSidechain") else (kind, more)
    kind, inner = text_of(kind), dict_of(value.get("attachment") or value.get("data"))
    more = text_of(value.get("subtype") or inner.get("type"))
    return role, (_SIDE, kind) if value.get("isSidechain") else (kind, more)


def _defect(value: Any) -> str:
    """Return what is wrong with a line; empty if nothing is."""
    if not isinstance(value, dict):
        return "a bare value, no object"
    if value.get("type") not in ROLES:
        return ""
    if not isinstance(value.get("message"), dict):
        return "no message in it"
    content = value["message"].get("content")
    if not isinstance(content, (str, list)):
        return "a message without content"
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            return "content that is no block"
    return ""


def _relink(nodes: dict[str, Line], kept: dict[str, Any]) -> tuple[str, Line] | None:
    """Link the lines that a compaction kept after its summary, as Claude Code does when it loads a session.

    The kept lines do not move in the file; the boundary names the first and the last, and the line they follow. Returns
    that line's key and the last kept line; None where one is missing.
    """
    head, anchor, tail = (nodes.get(text_of(kept.get(f"{end}Uuid"))) for end in ("head", "anchor", "tail"))
    if head and anchor and tail:
        for other in nodes.values():
            if other.parent == anchor.key and other is not head:
                other.parent = tail.key
        head.parent = anchor.key
        return anchor.key, tail
    return None
