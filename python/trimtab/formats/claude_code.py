"""Claude Code sessions: ``~/.claude/projects/<folder>/<session>.jsonl``.

A response is several lines, one for each block, with one ``message.id``. Results of parallel calls are siblings beside
the main chain. Left out are lines that Claude Code never sends: progress, snapshots, system lines, its own errors. The
file does not contain the system prompt, the tools and the text of attachments.
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

_SENT = ("message", "toolUseResult")  # toolUseResult repeats the result for the screen


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether this is a line of a Claude Code session."""
    return "parentUuid" in value or (value.get("type") in ROLES and isinstance(value.get("message"), dict))


def read(records: Iterable[Record], *, whole: bool) -> Transcript:
    """Return the messages of the main chain, before repair."""
    tree, skipped = grow(records)
    prompt = _Prompt()
    for line in tree.chain(whole=whole):
        prompt.add(line)
    # Parallel calls and their results end beside the chain. Add all calls before the results, because a result may
    # come before the line of its call.
    for role in ROLES[::-1]:
        for line in tree.sent:
            if line.role == role and line.key not in prompt.keys:
                prompt.add_sibling(line)
    found = prompt.transcript(tree)
    compactions = found.compactions if whole else []
    return replace(found, skipped=skipped, compactions=compactions, left_out=prompt.left_out(tree))


@dataclass(slots=True)
class _Prompt:
    """The prompt under construction.

    Attributes:
        order: user lines, and the first line of each response.
        keys: keys of the added lines.
        parts: lines of each response.
        owners: response of each call.
        results: lines that answer each response.
        stamps: user lines by time, with the number of compactions before them.
        compactions: number of summaries so far.
    """

    order: list[Line] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    parts: dict[str, list[Line]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    results: dict[str, list[Line]] = field(default_factory=dict)
    stamps: dict[str, tuple[int, Any]] = field(default_factory=dict)
    compactions: int = 0

    def add(self, line: Line) -> None:
        """Add the chain's next line, unless it is a copy."""
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
        """Add a line beside the chain if it belongs to a response on it, or is the only result of its call."""
        if line.role == "assistant":
            if line.response in self.parts:
                self._add_part(line)
        elif owner := self._owner(line):
            results = self.results.setdefault(owner, [])
            answered = {ref for part in results for ref in part.answers}
            if answered.isdisjoint(line.answers):
                results.append(line)

    def _add_part(self, line: Line) -> None:
        """Add a response's line once: a fork copies lines with new uuids and the same response id.

        A fork copies the chain only; the calls beside it, and their order, come from the originals.
        """
        parts = self.parts.setdefault(line.response, [])
        copy = next((part for part in parts if part.content == line.content), None)
        if copy:
            copy.at = min(copy.at, line.at)
        else:
            parts.append(line)
            self.owners |= dict.fromkeys(ids(line.content, "id"), line.response)

    def _owner(self, line: Line) -> str | None:
        """Return the response whose calls this line answers."""
        return next((self.owners[ref] for ref in line.answers if ref in self.owners), None)

    def _is_copy(self, line: Line) -> bool:
        """Return whether a compaction repeated this user message with a new uuid."""
        stamp = line.value.get("timestamp")
        if not isinstance(stamp, str):
            return False
        compactions, content = self.stamps.setdefault(stamp, (self.compactions, line.content))
        return compactions < self.compactions and content == line.content

    def left_out(self, tree: Tree) -> dict[str, int]:
        """Return the counts of omitted lines by kind."""
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
        """Return the messages, the usage of their calls, the last model, and the positions of summaries.

        A call's usage counts only if its prompt was the list before it: not after a summary that follows the messages
        it summarizes, and not before the summary with which the list begins.
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
                usage += _usage(parts, len(messages))
            named = line.value["message"].get("model")
            model = named if isinstance(named, str) else model
            messages.append({"role": "assistant", "content": _joined(parts)})
            if results := sorted(self.results.get(line.response, ()), key=lambda part: part.at):
                messages.append({"role": "user", "content": _results_first(_joined(results), len(results))})
        return Transcript(messages, "anthropic", "claude_code", model=model, usage=usage, compactions=compactions)


def _joined(parts: Iterable[Line]) -> Any:
    """Return the content of several lines as one; return a single line's content unchanged."""
    contents = [part.content for part in parts]
    if len(contents) == 1:
        return contents[0]
    texts = [[{"type": "text", "text": content}] if isinstance(content, str) else content for content in contents]
    return [block for blocks in texts for block in blocks]


def _results_first(content: Any, lines: int) -> Any:
    """Move text behind all results; leave a single line unchanged, for the repair to judge."""
    return content if lines == 1 else sorted(content, key=lambda block: block["type"] != "tool_result")


def _usage(parts: Iterable[Line], before: int) -> list[Charged]:
    """Return the usage of a response: its lines repeat the input, and only the last may have the full output."""
    usages = [part.value["message"].get("usage") for part in parts]
    counts = [{k: v for k, v in usage.items() if isinstance(v, int)} for usage in usages if isinstance(usage, dict)]
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    prompt = max((sum(count.get(name, 0) for name in names) for count in counts), default=0)
    output = max((count.get("output_tokens", 0) for count in counts), default=0)
    return [Charged(before, prompt, output)] if prompt else []
