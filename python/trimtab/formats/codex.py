"""Codex rollouts: ``~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl``.

A ``response_item`` is an item of the Responses API as it was sent or received; a ``compacted`` line replaces all items
before it; ``event_msg`` lines are for the screen, but one kind of them holds what a call was charged.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..messages.types import Charged, Skipped, Transcript
from ._account import Account

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._records import Record

_LINES = ("session_meta", "turn_context", "response_item", "compacted", "event_msg")
_LOCAL = ("ghost_snapshot", "other")  # Codex's own data, never sent
_SETTING = ("<", "# AGENTS.md instructions")  # prefixes of user messages that Codex writes


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether only a Codex rollout has such a line."""
    return value.get("type") in _LINES and isinstance(value.get("payload"), dict)


def read(records: Iterable[Record], *, whole: bool) -> Transcript:
    """Return the items of the prompt; `whole` keeps those that a compaction replaced."""
    rollout = _Rollout(whole)
    skipped: list[Skipped] = []
    for record in records:
        value = record.value
        if isinstance(value, dict) and isinstance(value.get("payload"), dict):
            rollout.add(value.get("type"), value["payload"])
            rollout.account.fields(value, ("payload",), value.get("type"))
        else:
            skipped.append(Skipped(record.line, record.offset, "no payload"))
    return Transcript(
        rollout.items,
        "openai_responses",
        "codex",
        model=rollout.model,
        system=rollout.system,
        usage=rollout.usage,
        skipped=skipped,
        compactions=rollout.compactions,
        left_out=rollout.account.kinds,
    )


@dataclass(slots=True)
class _Rollout:
    """The session so far.

    Attributes:
        whole: whether compacted items stay.
        mark: number of items at the last recorded usage; the next response begins after it.
        is_prompt: whether the items are a real prompt, without compacted ones.
        total: the session's running total, to ignore repeated usage.
        compactions: positions after the items that each compaction replaced, with ``whole``.
        account: counts of omitted contents.
    """

    whole: bool
    items: list[dict[str, Any]] = field(default_factory=list)
    usage: list[Charged] = field(default_factory=list)
    model: str | None = None
    system: str | None = None
    mark: int = 0
    is_prompt: bool = True
    total: Any = None
    compactions: list[int] = field(default_factory=list)
    account: Account = field(default_factory=Account)

    def add(self, kind: Any, payload: dict[str, Any]) -> None:
        """Add a line's payload."""
        if kind == "response_item" and _is_sent(payload):
            self.items.append(payload)
        elif kind == "compacted":
            self._compact(payload)
        elif kind == "event_msg" and payload.get("type") == "token_count":
            self._charge(payload.get("info"))
        elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
            self._roll_back(payload.get("num_turns"))
        elif kind == "turn_context":
            model = payload.get("model")
            self.model = model if isinstance(model, str) else self.model
        elif kind == "session_meta" and self.system is None:  # a fork repeats its parent's after its own
            given = payload.get("base_instructions") or payload.get("instructions")
            text = given.get("text") if isinstance(given, dict) else given
            self.system = text if isinstance(text, str) and text else None
        else:
            self.account.leave(kind, payload.get("type"))

    def _compact(self, payload: dict[str, Any]) -> None:
        """Replace the items, or with `whole` append the new ones: the summary, mostly encrypted."""
        fresh = payload.get("replacement_history")
        if isinstance(fresh, list):
            given = self.account.objects(fresh, "compacted")
            fresh = [item for item in given if _is_sent(item)]
            self.account.leave("compacted", "never sent", count=len(given) - len(fresh))
        else:  # older versions: the user's messages, then the summary
            said = [item for item in self.items if item.get("role") in ("user", "developer")]
            text = {"type": "input_text", "text": str(payload.get("message") or "")}
            fresh = [*said, *([{"type": "message", "role": "user", "content": [text]}] if text["text"] else [])]
        if self.whole:
            known = {_identity(item) for item in self.items}
            self.is_prompt = self.is_prompt and not known
            self.compactions.append(len(self.items))
            fresh = [*self.items, *(item for item in fresh if _identity(item) not in known)]
        else:
            self.usage = []
            stays = {_identity(item) for item in fresh}
            self.account.leave("compacted items", count=sum(_identity(item) not in stays for item in self.items))
        self.items, self.mark = fresh, len(fresh)

    def _charge(self, info: Any) -> None:
        """Record the usage of the last response, with the position of its prompt's end."""
        last, total = (
            info.get(f"{name}_token_usage") if isinstance(info, dict) else None for name in ("last", "total")
        )
        if not isinstance(last, dict) or (total is not None and total == self.total):
            return
        self.total = total
        before = self._response()
        prompt, output = (
            last[name] if isinstance(last.get(name), int) else 0 for name in ("input_tokens", "output_tokens")
        )
        if before is not None and prompt and self.is_prompt:
            self.usage.append(Charged(before, prompt, output))
        self.mark = len(self.items)

    def _response(self) -> int | None:
        """Return the position of the response that the last usage belongs to; None if it has no items.

        Usage follows the results of the response's calls. An aborted response without usage may precede it, with a user
        message in between: so search backwards for the nearest item that no model wrote.
        """
        end = len(self.items)
        while end > self.mark and _is_output(self.items[end - 1]):
            end -= 1
        start = end
        while start > self.mark and not _is_output(item := self.items[start - 1]):
            if item.get("role") not in (None, "assistant"):
                break
            start -= 1
        return start if start < end else None

    def _roll_back(self, turns: Any) -> None:
        """Remove the last turns, from a user's message on, as Codex does when it resumes."""
        starts = [i for i, item in enumerate(self.items) if _is_turn(item)]
        if isinstance(turns, int) and turns > 0 and starts:
            first = starts[max(0, len(starts) - turns)]
            self.account.leave("rolled back", count=len(self.items) - first)
            del self.items[first:]
            self.usage = [charged for charged in self.usage if charged.before <= len(self.items)]
            self.compactions = [at for at in self.compactions if at <= len(self.items)]
            self.mark = len(self.items)


def _is_sent(item: dict[str, Any]) -> bool:
    """Return whether an item is part of the prompt: empty messages and empty reasoning are not."""
    kind = item.get("type")
    if kind == "reasoning":
        return any(item.get(name) for name in ("id", "encrypted_content", "summary", "content"))
    if kind == "message":
        return bool(item.get("content"))
    return isinstance(kind, str) and kind not in _LOCAL


def _is_output(item: dict[str, Any]) -> bool:
    """Return whether an item answers a call."""
    return str(item.get("type")).endswith("_output")


def _is_turn(item: dict[str, Any]) -> bool:
    """Return whether an item is a message that the user wrote."""
    content = item.get("content") if item.get("role") == "user" else None
    parts = [part.get("text") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return bool(parts) and not str(parts[0] or "").startswith(_SETTING)


def _identity(item: dict[str, Any]) -> str:
    """Return a key that is equal for an item and its copy in a replacement, which may lack ids and metadata."""
    said = [item["role"], item.get("content")] if item.get("role") else item
    return json.dumps(said, sort_keys=True)
