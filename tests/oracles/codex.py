"""What a rollout of Codex means, slowly: the core's reader of such files has to agree with this one.

A line has a ``type`` and a ``payload``. A ``response_item`` is an item of the Responses API as it was sent or received;
a ``compacted`` line replaces all items before it; ``session_meta`` has the system prompt, ``turn_context`` the model.
``event_msg`` lines are for the screen, but for ``token_count``, a call's usage and the window, ``task_started``, the
window, and ``thread_rolled_back``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trimtab.formats._builder import Builder, FileRecords
from trimtab.formats._parts import dict_of, list_of, seconds_of, text_of
from trimtab.messages.usage import Usage

_LOCAL = ("ghost_snapshot", "other")  # Codex's own data, never sent
_TAGS = ("environment_context", "user_instructions", "user_shell_command", "turn_aborted", "subagent_notification",
         "skill", "agent_message_board_notification", "recommended_plugins", "goal_context")  # fmt: skip


def read(records: FileRecords, *, whole: bool) -> Builder:
    """Return the items of the prompt; `whole` keeps those that a compaction replaced."""
    session = _Session(whole=whole, provider="openai_responses")
    for record in records:
        value = record.value
        if isinstance(value, dict) and isinstance(value.get("payload"), dict):
            session.now = seconds_of(value.get("timestamp"))
            session.add(value.get("type"), value["payload"])
            session.leave_fields([value], ("payload",), value.get("type"))
        else:
            session.skip(record, "no payload")
    return session


@dataclass(slots=True)
class _Session(Builder):
    """The items of the Responses API.

    Attributes:
        charged: number of items at the last recorded usage; the next response begins after it.
        total: the session's running total, to ignore repeated usage.
    """

    charged: int = 0
    total: Any = None

    def add(self, kind: Any, payload: dict[str, Any]) -> None:
        """Add a line's payload."""
        if kind == "response_item" and _is_sent(payload):
            self.messages.append(payload)
        elif kind == "compacted":
            self._compact(payload)
        elif kind == "event_msg" and payload.get("type") == "token_count":
            info = dict_of(payload.get("info"))
            self.name_window(info.get("model_context_window"))
            self._charge(info)
        elif kind == "event_msg" and payload.get("type") == "task_started":
            self.name_window(payload.get("model_context_window"))
        elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
            self._roll_back(payload.get("num_turns"))
        elif kind == "turn_context":
            self.model = text_of(payload.get("model")) or self.model
        elif kind == "session_meta" and self.system is None:  # a fork repeats its parent's after its own
            given = payload.get("base_instructions") or payload.get("instructions")
            self.system = text_of(given.get("text") if isinstance(given, dict) else given) or None
        else:
            self.leave(kind, payload.get("type"))

    def _compact(self, payload: dict[str, Any]) -> None:
        """Replace the items, or with `whole` append the new ones: the summary, mostly encrypted."""
        fresh = payload.get("replacement_history")
        if isinstance(fresh, list):
            given = self.objects(fresh, "compacted")
            fresh = [item for item in given if _is_sent(item)]
            self.leave("compacted", "never sent", count=len(given) - len(fresh))
        else:  # older versions: the user's messages, then the summary
            asked = [item for item in self.messages if item.get("role") in ("user", "developer")]
            text = {"type": "input_text", "text": text_of(payload.get("message"))}
            fresh = [*asked, *([{"type": "message", "role": "user", "content": [text]}] if text["text"] else [])]
        if self.whole:
            known = {_identity(item): at for at, item in enumerate(self.messages)}
            self.is_prompt = self.is_prompt and not known
            made = [item for item in fresh if _identity(item) not in known]
            known |= {_identity(item): at for at, item in enumerate(made, len(self.messages))}
            self.mark(known[_identity(item)] for item in fresh)
            fresh = [*self.messages, *made]
        else:
            self.usage, self.calls = [], []
            stays = {_identity(item) for item in fresh}
            self.leave("compacted items", count=sum(_identity(item) not in stays for item in self.messages))
        self.messages, self.charged = fresh, len(fresh)

    def _charge(self, info: dict[str, Any]) -> None:
        """Record the usage of the last response, with the position of its prompt's end."""
        last, total = (info.get(f"{name}_token_usage") for name in ("last", "total"))
        if not isinstance(last, dict) or (total is not None and total == self.total):
            return
        self.total = total
        before = self._response()
        if before is not None:
            self.charge(Usage.recorded(last), before)
        self.charged = len(self.messages)

    def _response(self) -> int | None:
        """Return the position of the response that the last usage belongs to; None if it has no items.

        Usage follows the results of the response's calls. An aborted response without usage may precede it, with a user
        message in between: so search backwards for the nearest item that no model wrote.
        """
        end = len(self.messages)
        while end > self.charged and _is_output(self.messages[end - 1]):
            end -= 1
        start = end
        while start > self.charged and not _is_output(item := self.messages[start - 1]):
            if item.get("role") not in (None, "assistant"):
                break
            start -= 1
        return start if start < end else None

    def _roll_back(self, turns: Any) -> None:
        """Remove the last turns, from a user's message on, as Codex does when it resumes."""
        starts = [i for i, item in enumerate(self.messages) if _is_turn(item)]
        if isinstance(turns, int) and turns > 0 and starts:
            first = starts[max(0, len(starts) - turns)]
            self.leave("rolled back", count=len(self.messages) - first)
            del self.messages[first:]
            self.usage = [charged for charged in self.usage if charged.before <= len(self.messages)]
            self.compactions = [at for at in self.compactions if at <= len(self.messages)]
            self.contexts = [
                [at for at in context if at < len(self.messages)] for context in self.contexts[: len(self.compactions)]
            ]
            self.charged = len(self.messages)


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
    texts = [text_of(part.get("text")).strip(" \t\n\r\f") for part in list_of(item.get("content"))[:1]]
    return item.get("role") == "user" and any(not _is_setting(text) for text in texts)


def _is_setting(text: str) -> bool:
    """Return whether Codex wrote a text: a guide, or one inside a tag of its own."""
    low = text.lower()
    return text.startswith("# AGENTS.md instructions") or any(
        low.startswith(f"<{name}>") and low.endswith(f"</{name}>") for name in _TAGS
    )


def _identity(item: dict[str, Any]) -> Any:
    """Return a key that is equal for an item and its copy in a replacement, which may lack ids and metadata."""
    return _frozen([item["role"], item.get("content")] if item.get("role") else item)


def _frozen(value: Any) -> Any:
    """Return a hashable value that is equal where Python finds two values equal."""
    if isinstance(value, dict):
        return "map", frozenset((name, _frozen(field)) for name, field in value.items())
    return ("list", *map(_frozen, value)) if isinstance(value, list) else ("one", value)
