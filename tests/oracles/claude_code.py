"""What a session file of Claude Code means, slowly: the core's reader of such files has to agree with this one.

A line of type ``user`` or ``assistant`` has a message and names the line it follows; the chain of the last line is the
prompt. All lines are values in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from trimtab.formats._builder import UNCHARGED, Builder
from trimtab.formats._chain import nearest
from trimtab.formats._claude_code_window import Evidence
from trimtab.formats._parts import dict_of, seconds_of, text_of, text_part
from trimtab.messages.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from trimtab.formats._record import FileRecord

ROLES = ("user", "assistant")

_SIDE = "sidechain"  # kind of the lines of a side conversation


@dataclass(slots=True, eq=False)
class Line:
    """A line of the tree.

    Attributes:
        number: number of the line in the file, or of the entry in a list.
        value: the line.
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

    number: int
    value: dict[str, Any]
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
        fronts: keys of the lines that a compaction kept in front of its summary, by the key of this.
        starts: keys of the boundaries behind which such lines are the start of the prompt.
    """

    nodes: dict[str, Line]
    sent: list[Line]
    first: dict[str, int]
    tails: dict[str, Line]
    fronts: dict[str, list[str]]
    starts: set[str]

    def chain(self, *, whole: bool) -> list[Line]:
        """Return the lines from the root, or from the last compaction, to the last line."""
        taken: dict[str, Line] = {}
        line = self.sent[-1] if self.sent else None
        line = self.tails.get(line.key, line) if line else None  # nothing has followed the kept lines yet
        while line:
            taken[line.key] = line
            if (line.is_summary and not whole and line.key not in self.fronts) or line.key in self.starts:
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


def grow(records: Iterable[FileRecord], builder: Builder, note: Callable[[dict[str, Any]], object]) -> Tree:
    """Read the lines into a tree; skip lines with a defective message.

    Args:
        records: the values of the file.
        builder: is told what is skipped.
        note: takes each object, also one that is skipped.
    """
    nodes: dict[str, Line] = {}
    first: dict[str, int] = {}
    kept: list[tuple[str, dict[str, Any]]] = []
    retracted: set[bytes] = set()
    for number, record in enumerate(records):
        value = record.value
        if isinstance(value, dict):
            note(value)
        if defect := _defect(value):
            builder.skip(record, defect)
            continue
        queued = _queued(value)
        line = _line(number, queued or value)
        line.kind = _role(value)[1]
        if line.role == "assistant":
            first.setdefault(line.response, number)
        if isinstance(uuids := value.get("retractedMessageUuids"), list):
            retracted |= {uuid.encode("utf-8", "surrogatepass")[:24] for uuid in uuids if isinstance(uuid, str)}
        metadata = value.get("compactMetadata")
        if isinstance(metadata, dict):
            kept.append((line.key, metadata))
        if line.key in nodes:
            # A resumed session repeats lines. A repeated line with another parent was kept after a summary.
            if nodes[line.key].parent == line.parent:
                continue
            del nodes[line.key]
            line.is_again = True
        nodes[line.key] = line
    for line in nodes.values():
        line.role = "" if line.key.encode("utf-8", "surrogatepass")[:24] in retracted else line.role
    tree = Tree(nodes, [], first, {}, {}, set())
    for boundary, metadata in kept:
        _relink(tree, boundary, metadata, whole=builder.whole)
    sent = [line for line in nodes.values() if line.role]
    main = [line for line in sent if line.kind[0] != _SIDE]
    for line in sent if main else ():
        line.role = "" if line.kind[0] == _SIDE else line.role
    tree.sent.extend(main or sent)
    return tree


def _queued(value: dict[str, Any]) -> dict[str, Any] | None:
    """Return the line of a prompt that waited while the agent worked as one of the user; None of any other."""
    attachment = dict_of(value.get("attachment"))
    if value.get("type") != "attachment" or attachment.get("type") != "queued_command" or not attachment.get("prompt"):
        return None
    rest = {name: part for name, part in value.items() if name not in ("attachment", "rendered")}
    line = {**rest, "type": "user", "message": {"content": attachment["prompt"]}}
    return None if _defect(line) else line


def _line(number: int, value: dict[str, Any]) -> Line:
    """Make a line; without a parent field its parent is a missing line, so that file order applies."""
    role, kind = _role(value)
    parent, key, logical = value.get("parentUuid", ""), value.get("uuid"), value.get("logicalParentUuid")
    key = key if key and isinstance(key, str) else f"line {number}"
    return Line(
        number,
        value,
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


def _kept(nodes: dict[str, Line], metadata: dict[str, Any]) -> tuple[str, list[Line]]:
    """Return the key that the kept lines follow, and these; none where one is missing or they are no chain."""
    listed = dict_of(metadata.get("preservedMessages"))
    if isinstance(uuids := listed.get("uuids"), list):
        lines = [nodes.get(text_of(uuid)) for uuid in uuids]
        return text_of(listed.get("anchorUuid")), [line for line in lines if line] if all(lines) else []
    segment = dict_of(metadata.get("preservedSegment"))
    head, line = nodes.get(text_of(segment.get("headUuid"))), nodes.get(text_of(segment.get("tailUuid")))
    found: list[Line] = []
    while line and line not in found:
        found.append(line)
        if line is head:
            return text_of(segment.get("anchorUuid")), found[::-1]
        line = nodes.get(line.parent or "")
    return "", []


def _relink(tree: Tree, boundary: str, metadata: dict[str, Any], *, whole: bool) -> None:
    """Link the lines that a compaction kept behind its summary or its boundary, as Claude Code does when it loads them.

    The kept lines do not move in the file. A whole session has those in front of a summary once, where they stand.
    """
    key, kept = _kept(tree.nodes, metadata)
    if key not in tree.nodes or not kept:
        return
    if key == boundary:
        summaries = [line.key for line in tree.nodes.values() if line.parent == key and line.is_summary]
        tree.fronts.update((summary, [line.key for line in kept]) for summary in summaries[-1:])
        if whole:
            return
        tree.starts.add(key)
    else:
        tree.tails[key] = kept[-1]
    for other in tree.nodes.values():
        if other.parent == key and other is not kept[0]:
            other.parent = kept[-1].key
    for line, before in zip(kept, [key, *(line.key for line in kept)], strict=False):
        line.parent = before


_LINE = ("message", "toolUseResult")  # toolUseResult repeats the result for the screen
_in_file, _answers = attrgetter("number"), attrgetter("answers")


def read(records: Iterable[FileRecord], *, whole: bool) -> Builder:
    """Return the messages of the main chain; `whole` keeps those that a compaction replaced."""
    session = SessionReader(whole=whole, provider="anthropic")
    tree = grow(records, session, session.evidence.note)
    for line in tree.chain(whole=whole):
        session.add(line)
    # Parallel calls and their results end beside the chain. Add all calls before the results, because a result may
    # come before the line of its call.
    for role in ROLES[::-1]:
        for line in tree.sent:
            if line.role == role and line.key not in session.keys:
                session.add_sibling(line)
    session.add_messages(tree)
    session.evidence.decide(session)
    session.count_left_out(tree)
    return session


@dataclass(slots=True)
class SessionReader(Builder):
    """The prompt's lines, and then its messages.

    Attributes:
        order: user lines, and the first line of each response.
        keys: keys of the added lines.
        parts: lines of each response.
        owners: response of each call.
        results: lines that answer each response.
        stamps: user lines by time, and first lines of responses by id, with the number of summaries before them.
        copies: by the number of summaries before them, the lines of which copies stand there.
        summaries: number of summaries so far.
        evidence: what the file shows of the window.
    """

    order: list[Line] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    parts: dict[str, list[Line]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    results: dict[str, list[Line]] = field(default_factory=dict)
    stamps: dict[str, tuple[int, Line]] = field(default_factory=dict)
    copies: dict[int, list[Line]] = field(default_factory=dict)
    summaries: int = 0
    evidence: Evidence = field(default_factory=Evidence)

    def add(self, line: Line) -> None:
        """Add the chain's next line, unless it is a copy."""
        self.keys.add(line.key)
        if line.role == "assistant":
            if line.response not in self.parts:
                self.order.append(line)
            self._first(line.response, line)
            self._add_part(line)
        elif not line.answers or (owner := self._owner(line)) is None:
            if not self._is_copy(line):
                self.order.append(line)
            self.summaries += line.is_summary
        else:
            results = self.results.setdefault(owner, [])
            if not results or _same(results, line) is None:
                results.append(line)

    def add_sibling(self, line: Line) -> None:
        """Add a line beside the chain if it belongs to a response on it, or is the only result of its call."""
        if line.role == "assistant":
            if line.response in self.parts:
                self._add_part(line)
        elif owner := self._owner(line):
            results = self.results.setdefault(owner, [])
            if all(map(set(line.answers).isdisjoint, map(_answers, results))):
                results.append(line)

    def _add_part(self, line: Line) -> None:
        """Add a response's line once: a fork copies lines with new uuids and the same response id.

        A fork copies the chain only; the calls beside it, and their order, come from the originals.
        """
        parts = self.parts.setdefault(line.response, [])
        if copy := parts and _same(parts, line):
            copy.number = min(copy.number, line.number)
        else:
            parts.append(line)
            for ref in block_ids(line.content, "id"):
                self.owners[ref] = line.response

    def _owner(self, line: Line) -> str | None:
        """Return the response whose calls this line answers."""
        for ref in line.answers:
            if ref in self.owners:
                return self.owners[ref]
        return None

    def _is_copy(self, line: Line) -> bool:
        """Return whether a compaction repeated this user message with a new uuid."""
        stamp = line.value.get("timestamp")
        if not isinstance(stamp, str):
            return False
        return self._first(stamp, line, same=True) is not line

    def _first(self, name: str, line: Line, *, same: bool = False) -> Line:
        """Return the line of this name in front of the last summary, of which this one is a copy; else this line."""
        summaries, first = self.stamps.setdefault(name, (self.summaries, line))
        if summaries == self.summaries or (same and first.content != line.content):
            return line
        self.copies.setdefault(self.summaries, []).append(first)
        return first

    def add_messages(self, tree: Tree) -> None:
        """Add the messages, the usage of their calls, the last model, and the positions of summaries.

        A call's usage counts only if its prompt was the list before it: not after a summary that follows the messages
        it summarizes, and not before the summary with which the list begins.
        """
        since = -1
        places: dict[str, range] = {}
        for line in self.order:
            begins = len(self.messages)
            if line.role == "assistant":
                self._add_response(line, is_prompt=tree.first[line.response] > since)
            else:
                if line.is_summary:
                    since, self.is_prompt = line.number, not self.whole or not self.messages
                    front = dict.fromkeys(tree.fronts.get(line.key, ()))
                    self.mark(at for key in front for at in places.get(key, ()))
                self.messages.append({"role": "user", "content": line.content})
            place = range(begins, len(self.messages))
            if self.contexts and (line.number <= since or line.is_again):  # the summary, or kept behind it
                self.contexts[-1] += place
            if self.contexts and line.is_summary:
                copies = dict.fromkeys(copy.key for copy in self.copies.get(len(self.compactions), ()))
                self.contexts[-1] += [at for key in copies for at in places.get(key, ())]
            places[line.key] = place
        if self.model is None:  # a compaction left no answer: the model that spoke last goes on
            spoken = (line.value["message"].get("model") for line in reversed(tree.sent) if line.role == "assistant")
            self.model = next(filter(None, map(text_of, spoken)), None)

    def _add_response(self, line: Line, *, is_prompt: bool) -> None:
        """Add a response with its results, and its usage if its prompt was the list before it."""
        parts = sorted(self.parts[line.response], key=_in_file)
        self.model = text_of(line.value["message"].get("model")) or self.model
        if is_prompt:
            self.now = seconds_of(parts[0].value.get("timestamp"))
            self._add_usage(parts)
        self.messages.append({"role": "assistant", "content": _joined(parts)})
        if results := sorted(self.results.get(line.response, ()), key=_in_file):
            content = _joined(results)
            if len(results) > 1:  # a single line stays as it is, for the repair to judge
                answers = [block for block in content if block["type"] == "tool_result"]
                content = answers + [block for block in content if block["type"] != "tool_result"]
            self.messages.append({"role": "user", "content": content})

    def _add_usage(self, parts: list[Line]) -> None:
        """Add the usage of a response: its lines repeat the input, and only the last may have the full output."""
        billed: object = None
        most, prompt, output = UNCHARGED, -1, 0
        for part in parts:
            if (usage := part.value["message"].get("usage")) != billed:  # most lines repeat the one before
                billed, read = usage, Usage.recorded(usage)
                output = max(output, read.output)
                if read.prompt > prompt:
                    most, prompt = read, read.prompt
        self.charge(most if most.output == output else replace(most, output=output))

    def count_left_out(self, tree: Tree) -> None:
        """Count the omitted lines by kind."""
        added = [part for parts in (*self.parts.values(), *self.results.values()) for part in parts]
        ids = {id(part) for part in added}
        lines = (*added, *(line for line in self.order if id(line) not in ids))
        for role in ROLES:
            values = [line.value for line in lines if line.role == role]
            self.leave_fields(values, _LINE, role)
            self.leave_fields([value["message"] for value in values], ("content",), role, "message")
        firsts = self.order[:1] if self.whole else self.order  # a summary may have kept lines in front
        start = next((line.number for line in firsts if line.is_summary), 0)
        for line in tree.nodes.values():
            if line.role and line.number < start and line.key not in self.keys:
                self.leave(line.role, "compacted")
            elif not line.role or (line.key not in self.keys and id(line) not in ids):
                self.leave(*line.kind)


def _same(parts: list[Line], line: Line) -> Line | None:
    """Return the first of these lines with the content of this one."""
    content = line.content
    for part in parts:
        if part.content == content:
            return part
    return None


def _joined(parts: list[Line]) -> Any:
    """Return the content of several lines as one; return a single line's content unchanged."""
    if len(parts) == 1:
        return parts[0].content
    blocks: list[Any] = []
    for part in parts:
        content = part.content
        blocks += [text_part(content)] if isinstance(content, str) else content
    return blocks
