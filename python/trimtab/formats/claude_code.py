"""Claude Code sessions: ``~/.claude/projects/<folder>/<session>.jsonl``.

A response stands there as several lines, one a block, with one ``message.id``; results of parallel calls hang beside
the chain that leads on. Left out is what Claude Code never sends: progress, snapshots, system lines, its own errors.
Not in the file, and so not here: the system prompt, the tools, and what attachments are turned into.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..messages.types import Charged, Transcript
from ._account import Account
from ._chain import ROLES, Line, Tree, grow, ids

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._records import Record

_SENT = ("message", "toolUseResult")  # the latter tells a result once more, for the screen


def recognizes(value: dict[str, Any]) -> bool:
    """Whether only a Claude Code session has such a line."""
    return "parentUuid" in value or (value.get("type") in ROLES and isinstance(value.get("message"), dict))


def read(records: Iterable[Record], *, whole: bool) -> Transcript:
    """The messages of the main chain; what a provider would refuse in them is left to `close`."""
    tree, skipped = grow(records)
    prompt = _Prompt()
    for line in tree.chain(whole=whole):
        prompt.add(line)
    # Siblings of parallel calls end beside the chain. First all calls, then the results: a result may stand before
    # the line that makes its call known.
    for role in ROLES[::-1]:
        for line in tree.sent:
            if line.role == role and line.key not in prompt.keys:
                prompt.add_sibling(line)
    found = prompt.transcript(tree)
    compactions = found.compactions if whole else []
    return replace(found, skipped=skipped, compactions=compactions, left_out=prompt.left_out(tree))


@dataclass(slots=True)
class _Prompt:
    """The prompt while it is put together.

    Attributes:
        order: user lines, and the first line of each response.
        keys: the lines that are in.
        parts: the lines of each response.
        owners: the response that made each call.
        results: the lines that answer each response.
        stamps: user lines by their time, with the number of compactions before them.
        compactions: summaries seen so far.
    """

    order: list[Line] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    parts: dict[str, list[Line]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    results: dict[str, list[Line]] = field(default_factory=dict)
    stamps: dict[str, tuple[int, Any]] = field(default_factory=dict)
    compactions: int = 0

    def add(self, line: Line) -> None:
        """Takes the chain's next line, unless it is a copy of one that is in."""
        self.keys.add(line.key)
        owner = self._owner(line)
        if line.role == "assistant":
            if line.response not in self.parts:
                self.order.append(line)
            self._add_part(line)
        elif owner is None:
            if not self._is_copy(line):
                self.order.append(line)
            self.compactions += line.is_summary
        elif all(part.content != line.content for part in self.results.get(owner, ())):
            self.results.setdefault(owner, []).append(line)

    def add_sibling(self, line: Line) -> None:
        """Takes a line beside the chain if it is part of a response on it, or the only result of such a call."""
        if line.role == "assistant":
            if line.response in self.parts:
                self._add_part(line)
        elif owner := self._owner(line):
            results = self.results.setdefault(owner, [])
            answered = {ref for part in results for ref in part.answers}
            if answered.isdisjoint(line.answers):
                results.append(line)

    def _add_part(self, line: Line) -> None:
        """Adds a response's line once: a fork copies lines under new uuids, and keeps the response's id.

        It copies the chain only, not the calls beside it: these are found among the originals, and so is their order.
        """
        parts = self.parts.setdefault(line.response, [])
        copy = next((part for part in parts if part.content == line.content), None)
        if copy:
            copy.at = min(copy.at, line.at)
        else:
            parts.append(line)
            self.owners |= dict.fromkeys(ids(line.content, "id"), line.response)

    def _owner(self, line: Line) -> str | None:
        """The response whose calls this line answers."""
        return next((self.owners[ref] for ref in line.answers if ref in self.owners), None)

    def _is_copy(self, line: Line) -> bool:
        """Whether a compaction has appended this user's message a second time, under a new uuid."""
        stamp = line.value.get("timestamp")
        if not isinstance(stamp, str):
            return False
        compactions, content = self.stamps.setdefault(stamp, (self.compactions, line.content))
        return compactions < self.compactions and content == line.content

    def left_out(self, tree: Tree) -> dict[str, int]:
        """The lines of which nothing is in the messages, by kind."""
        account = Account()
        parts = [part for parts in (*self.parts.values(), *self.results.values()) for part in parts]
        taken = {id(part) for part in parts}
        for line in (*parts, *(line for line in self.order if id(line) not in taken)):
            account.fields(line.value, _SENT, line.role)
            account.fields(line.value["message"], ("content",), line.role, "message")
        start = self.order[0].at if self.order and self.order[0].is_summary else 0
        for line in tree.nodes.values():
            if line.role and line.at < start and line.key not in self.keys:
                account.leave(line.role, "compacted")
            elif not line.role or (line.key not in self.keys and id(line) not in taken):
                account.leave(*line.kind)
        return account.kinds

    def transcript(self, tree: Tree) -> Transcript:
        """The messages, what their calls were charged, the model that spoke last, and where summaries stand.

        A call counts where its prompt was what stands before it in the list: not behind a summary that still has what
        it summarizes before it, and not if it was made before the summary that the list begins with.
        """
        messages: list[dict[str, Any]] = []
        usage: list[Charged] = []
        compactions: list[int] = []
        model, since, is_prompt = None, -1, True
        for line in self.order:
            if line.role == "user":
                if line.is_summary:
                    since, is_prompt = line.at, not messages
                    compactions.append(len(messages))
                messages.append({"role": "user", "content": line.content})
                continue
            parts = sorted(self.parts[line.response], key=lambda part: part.at)
            if is_prompt and tree.first[line.response] > since:
                usage += _charged(parts, len(messages))
            named = line.value["message"].get("model")
            model = named if isinstance(named, str) else model
            messages.append({"role": "assistant", "content": _joined(parts)})
            if results := sorted(self.results.get(line.response, ()), key=lambda part: part.at):
                messages.append({"role": "user", "content": _results_first(_joined(results), len(results))})
        return Transcript(messages, "anthropic", "claude_code", model=model, usage=usage, compactions=compactions)


def _joined(parts: Iterable[Line]) -> Any:
    """The content of several lines as one; that of a single line as it is."""
    contents = [part.content for part in parts]
    if len(contents) == 1:
        return contents[0]
    texts = [[{"type": "text", "text": content}] if isinstance(content, str) else content for content in contents]
    return [block for blocks in texts for block in blocks]


def _results_first(content: Any, lines: int) -> Any:
    """Text that came along with a result goes behind all results; within one line it stays, for `close` to judge."""
    return content if lines == 1 else sorted(content, key=lambda block: block["type"] != "tool_result")


def _charged(parts: Iterable[Line], before: int) -> list[Charged]:
    """What a response was charged; its lines repeat the input, and only the last may tell the whole output."""
    usages = [part.value["message"].get("usage") for part in parts]
    counts = [{k: v for k, v in usage.items() if isinstance(v, int)} for usage in usages if isinstance(usage, dict)]
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    prompt = max((sum(count.get(name, 0) for name in names) for count in counts), default=0)
    output = max((count.get("output_tokens", 0) for count in counts), default=0)
    return [Charged(before, prompt, output)] if prompt else []
