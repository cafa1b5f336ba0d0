"""Compaction as a message of the session, as opencode does it: a summary answers a queued marker.

The session is a list of messages as opencode stores them, ``{info, parts}``; nothing in it is ever deleted. ``visible``
is the part that the model still sees, ``prompt`` the same part as messages of a provider.
"""

from __future__ import annotations

from time import time_ns
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ..errors import SummaryError
from ..formats import opencode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..compaction.result import Compaction
    from .compactor import Compactor

Stored = dict[str, Any]
"""A stored message: ``info`` and ``parts``."""


class CompactionQueue:
    """A session whose compactions are messages of its own.

    Args:
        compactor: decides and summarizes by its policy.
        messages: the session so far; new messages are appended.
        clock: milliseconds, for the time at which a result was marked.
    """

    def __init__(
        self,
        compactor: Compactor,
        messages: Iterable[Stored] = (),
        clock: Callable[[], int] = lambda: time_ns() // 1_000_000,
    ) -> None:
        """Copy the list of messages."""
        self.compactor = compactor
        self._clock = clock
        self.messages = list(messages)

    def enqueue(self, *, auto: bool) -> Stored:
        """Queue a compaction: a user message with a marker, which the next ``run`` answers."""
        marker = {"info": {"id": uuid4().hex, "role": "user"}, "parts": [{"type": "compaction", "auto": auto}]}
        self.messages.append(marker)
        return marker

    def pending(self) -> Stored | None:
        """Return the newest marker that no finished summary answers, or None."""
        answered = {message["info"].get("parentID") for message in self.messages if opencode.is_summary(message)}
        waiting = (message for message in self.messages if message["info"].get("id") not in answered)
        return next((message for message in [*waiting][::-1] if opencode.markers(message)), None)

    def visible(self) -> list[Stored]:
        """Return the messages that the model still sees: from the latest marker with a finished summary on."""
        return opencode.pivot(self.messages)

    def prompt(self) -> list[dict[str, Any]]:
        """Return the visible messages in OpenAI's chat shape: markers as questions, pruned results as placeholders."""
        return opencode.prompt(self.visible())

    def run(self) -> Compaction[Stored] | None:
        """Answer the pending marker with a summary; None without one.

        The summary is stored as the marker's answer. After a successful automatic compaction, a synthetic user message
        continues the work. A failure is stored as the answer's error, without a continuation.
        """
        marker = self.pending()
        if marker is None:
            return None
        (part, *_) = opencode.markers(marker)
        answer: Stored = {
            "info": {"id": uuid4().hex, "role": "assistant", "parentID": marker["info"]["id"], "summary": True},
            "parts": [],
        }
        try:
            done = self.compactor.compact(self._history(marker), trigger="auto" if part.get("auto") else "manual")
        except SummaryError as error:
            answer["info"]["error"] = {"name": type(error).__name__, "data": {"message": str(error)}}
            self.messages.append(answer)
            raise
        if done.summary is None:
            answer["info"]["error"] = {"name": SummaryError.__name__, "data": {"message": done.reason}}
        else:
            answer["parts"].append({"type": "text", "text": done.summary})
            answer["info"]["finish"] = "stop"
        self.messages.append(answer)
        goes_on = self.compactor.policy.place.continuation
        if done.summary is not None and part.get("auto") and goes_on:
            said = {"type": "text", "text": goes_on, "synthetic": True}
            self.messages.append({"info": {"id": uuid4().hex, "role": "user"}, "parts": [said]})
        return done

    def prune(self) -> tuple[str, ...]:
        """Mark old results as compacted by the policy's rules, in copies of their messages; their output stays there.

        Returns:
            The ids of the calls whose results were marked now.
        """
        since = self._since()
        before = opencode.prompt(since)
        after = self.compactor.prune(before)
        gone = {old.get("tool_call_id") for old, new in zip(before, after, strict=True) if old is not new}
        marked: list[str] = []

        def mark(part: dict[str, Any]) -> dict[str, Any]:
            pruned = part.get("type") == "tool" and part["callID"] in gone
            if not pruned or part["state"].get("status") != "completed":
                return part
            marked.append(part["callID"])
            time = {**part["state"].get("time", {}), "compacted": self._clock()}
            return {**part, "state": {**part["state"], "time": time}}

        for at, message in enumerate(since, len(self.messages) - len(since)):
            before_message = len(marked)
            parts = [mark(part) for part in message["parts"]]
            if len(marked) > before_message:  # the caller's message stays as it is
                self.messages[at] = {**message, "parts": parts}
        return tuple(marked)

    def _since(self) -> list[Stored]:
        """Return the messages behind the latest summary: the model does not see older ones."""
        last = [at for at, message in enumerate(self.messages) if message["info"].get("summary")]
        return self.messages[last[-1] + 1 :] if last else self.messages

    def _history(self, marker: Stored) -> list[dict[str, Any]]:
        """Return the messages to summarize: all that the model sees, and the marker's question at the end."""
        return opencode.prompt([message for message in self.visible() if message is not marker] + [marker])
