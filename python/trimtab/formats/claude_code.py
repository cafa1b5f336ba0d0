"""Sessions of Claude Code: ``~/.claude/projects/<folder>/<session>.jsonl``.

A line of type ``user`` or ``assistant`` has a message and names the line it follows; the chain of the last line is the
prompt. A response is several lines, one for each block, with one ``message.id``. Results of parallel calls are siblings
beside the chain. A line with ``isCompactSummary`` is a compaction's summary. Left out are lines that Claude Code never
sends: progress, snapshots, system lines, its own errors. The file does not contain the system prompt, the tools and the
text of attachments. The window is found in ``_claude_code_window``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from ..messages.usage import Usage
from ._builder import UNCHARGED, Builder, FileRecords
from ._chain import ROLES, Line, Tree, block_ids, grow
from ._claude_code_window import Evidence
from ._parts import dict_of, seconds_of, text_of, text_part

_LINE = ("message", "toolUseResult")  # toolUseResult repeats the result for the screen
_in_file, _answers = attrgetter("number"), attrgetter("answers")


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether this is a line of a Claude Code session."""
    message = dict_of(value.get("message"))
    if "systemPayload" in value or "parts" in message:  # Qwen Code links its lines likewise
        return False
    return "parentUuid" in value or (value.get("type") in ROLES and isinstance(value.get("message"), dict))


def read(records: FileRecords, *, whole: bool) -> Builder:
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
                    since, self.is_prompt = line.number, not self.messages
                    copies = dict.fromkeys(copy.key for copy in self.copies.get(len(self.compactions) + 1, ()))
                    self.mark(at for key in copies for at in places[key])
                self.messages.append({"role": "user", "content": line.content})
            places[line.key] = range(begins, len(self.messages))
            if self.contexts and (line.number <= since or line.is_again):  # the summary, or kept behind it
                self.contexts[-1] += places[line.key]
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
        start = self.order[0].number if self.order and self.order[0].is_summary else 0
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
