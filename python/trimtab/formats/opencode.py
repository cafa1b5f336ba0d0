"""Sessions of opencode, as ``opencode export`` writes them.

The file is ``{info, messages: [{info, parts}]}``, or that list alone. A tool part has a call and its result. A message
has the parts of several model calls, each from a ``step-start`` on; the calls of a step have their results before the
next step. A compaction is a user message with a ``compaction`` part, and its summary the answer with ``summary``;
messages from ``tail_start_id`` on were kept after it.

Read are texts, reasoning, calls with their results, images and the usage of each step. A result that opencode has
pruned is the placeholder that the model got (with ``whole``, the result). Left out are snapshots, patches, failed
answers, reverted messages, and texts of attached files that opencode did not write into the message. The file does not
contain the system prompt and the tools.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..messages.usage import Usage
from ._builder import UNCHARGED, Builder, FileRecords
from ._parts import call, content_of, dict_of, image_part, joined, list_of, text_of, text_part

_MARKER = "What did we do so far?"
_PRUNED = "[Old tool result content cleared]"
_SUBTASK = "[a tool was run by the user]"
_STEP = ("step-start", "step-finish", "text", "reasoning", "tool")
_SEPARATE = ("text/plain", "application/x-directory")  # their text is in separate parts

_INFO = ("error", "summary", "path")  # a summary is a title and a diff for the screen
_PART = ("text", "state", "source", "metadata", "filename", "url", "prompt", "description", "tool", "files")


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether this is an export of opencode, or one of its messages."""
    return _is_message(value) or any(_is_message(message) for message in list_of(value.get("messages"))[:1])


def _is_message(value: dict[str, Any]) -> bool:
    return isinstance(value.get("info"), dict) and isinstance(value.get("parts"), list)


def read(records: FileRecords, *, whole: bool) -> Builder:
    """Return the messages of the prompt; `whole` keeps compacted messages and pruned results.

    Raises:
        MessageError: the file holds several exports.
    """
    session, revert = _Session(whole=whole), {}
    records = list(records)
    found = [(record, record.value) for record in records]
    if not any(isinstance(value, dict) and _is_message(value) for _, value in found):
        exports = session.single(records, recognizes)
        found = [(record, message) for record in exports for message in record.value["messages"]]
        revert = dict_of(dict_of(exports[0].value.get("info")).get("revert")) if exports else {}
    messages: list[dict[str, Any]] = []
    for i, (record, message) in enumerate(found):
        if isinstance(message, dict) and _is_message(message):
            messages.append(message)
        else:
            session.skip(record, f"messages[{i}]: no message")
    session.find_pruning(messages)
    kept = _kept(messages, revert)
    session.leave("reverted messages", count=len(messages) - len(kept))
    visible = _visible(kept, whole=whole)
    session.leave("compacted messages", count=len(kept) - len(visible))
    begins: dict[str, int] = {}
    for message, session.is_prompt in visible:
        at = begins[text_of(message["info"].get("id"))] = len(session.messages)
        if is_summary(message):
            marker = next((other for other, _ in visible if other["info"].get("id") == message["info"]["parentID"]), {})
            session.mark(_before(marker, begins, at))
        session.add(message)
        if is_summary(message) and whole:
            session.contexts[-1] += range(at, len(session.messages))
    return session


def _before(marker: dict[str, Any], begins: dict[str, int], end: int) -> list[int]:
    """Return the positions of a compaction's marker, and of the messages that it kept in front of the marker."""
    start = begins.get(text_of(dict_of(marker.get("info")).get("id")), end)
    found = markers(marker) if marker else []
    tail = begins.get(text_of(found[-1].get("tail_start_id")), start) if found else start
    return [*range(start, end), *range(tail, start)]


def pivot(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the stored messages that the model still sees: from the latest marker with a finished summary on."""
    return [message for message, _ in _visible(messages, whole=False)]


def prompt(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return stored messages as sent to the model: markers as their question, pruned results as placeholders."""
    session = _Session()
    session.find_pruning(messages)
    for message in messages:
        session.add(message)
    session.show_images()
    return session.messages


def _kept(messages: list[dict[str, Any]], revert: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages before the point to which the user reverted."""
    for i, message in enumerate(messages):
        if revert and message["info"].get("id") == revert.get("messageID"):
            ids = [part.get("id") for part in list_of(message["parts"])]
            if revert.get("partID") not in ids:
                return messages[:i]
            parts = list_of(message["parts"])[: ids.index(revert["partID"])]
            return [*messages[:i], {**message, "parts": parts}]
    return messages


def _visible(messages: list[dict[str, Any]], *, whole: bool) -> list[tuple[dict[str, Any], bool]]:
    """Return the messages that the model still sees, and whether each one's usage is for the messages before it."""
    starts = {
        text_of(message["info"].get("id")): i
        for i, message in enumerate(messages)
        if message["info"].get("role") == "user" and markers(message)
    }
    ends = [i for i, message in enumerate(messages) if is_summary(message) and message["info"]["parentID"] in starts]
    if not ends or whole:
        first = ends[0] if ends else len(messages)
        return [(message, i < first) for i, message in enumerate(messages)]
    end = ends[-1]
    start = starts[messages[end]["info"]["parentID"]]
    tail_id = markers(messages[start])[-1].get("tail_start_id")
    tail = next((i for i in range(start) if tail_id and messages[i]["info"].get("id") == tail_id), start)
    kept = [messages[start], messages[end], *messages[tail:start]]
    return [*((message, False) for message in kept), *((message, True) for message in messages[end + 1 :])]


def markers(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the compaction markers among a stored message's parts."""
    return [part for part in list_of(message["parts"]) if part.get("type") == "compaction"]


def is_summary(message: dict[str, Any]) -> bool:
    """Return whether a stored message is the finished summary of a compaction."""
    info = message["info"]
    is_done = info.get("finish") and not info.get("error") and isinstance(info.get("parentID"), str)
    return bool(info.get("role") == "assistant" and info.get("summary") and is_done)


@dataclass(slots=True)
class _Session(Builder):
    """The messages in Chat's shape.

    Attributes:
        first: time of the first pruning; later usage is for a list without the pruned results.
        last: time of the last pruning; earlier usage is for a list with them.
    """

    first: int = 2**63
    last: int = -1

    def find_pruning(self, messages: list[dict[str, Any]]) -> None:
        """Find the times at which results were first and last pruned."""
        parts = [part for message in messages for part in list_of(message["parts"]) if part.get("type") == "tool"]
        for part in parts:
            time = dict_of(dict_of(part.get("state")).get("time")).get("compacted")
            if isinstance(time, int):
                self.first, self.last = min(self.first, time), max(self.last, time)

    def add(self, message: dict[str, Any]) -> None:
        """Add a message with its parts."""
        info, role = message["info"], message["info"].get("role")
        parts = self.objects(message["parts"], role)
        self.leave_fields([message], ("info", "parts"), role)
        self.leave_fields([info], _INFO, role, "info")
        for part in parts:
            self.leave_fields([part], _PART, role, part.get("type"))
        if role == "user":
            self.say("user", content_of(self._parts(parts, "user")))
            return
        kinds = {text_of(part.get("type")) for part in parts} - {"step-start", "step-finish", "reasoning"}
        error = dict_of(info.get("error"))
        if role != "assistant" or (error and not (error.get("name") == "MessageAbortedError" and kinds)):
            self.leave(role, "message with an error" if error else "message")
            return
        self.model = text_of(info.get("modelID")) or self.model
        created = dict_of(info.get("time")).get("created")
        is_of_list = not isinstance(created, int) or (created < self.first if self.whole else created > self.last)
        steps: list[list[dict[str, Any]]] = [[]]
        for part in parts:
            if part.get("type") not in _STEP:
                self.leave("assistant", part.get("type") or "without a type")
            if part.get("type") == "step-start" and steps[-1]:
                steps.append([])
            steps[-1].append(part)
        for step in steps:
            self._add_step(step, is_of_list=is_of_list)

    def _add_step(self, parts: list[dict[str, Any]], *, is_of_list: bool) -> None:
        """Add the output of one model call, with the results of its tool calls."""
        tokens = next((part.get("tokens") for part in parts if part.get("type") == "step-finish"), None)
        charged = Usage.recorded(tokens) if is_of_list else UNCHARGED
        tools = [(part, dict_of(part.get("state"))) for part in parts if part.get("type") == "tool"]
        calls = [call(tool.get("callID"), tool.get("tool"), state.get("input")) for tool, state in tools]
        self.answer(joined(parts, "text"), calls, joined(parts, "reasoning"), charged=charged)
        for tool, state in tools:
            self._add_result(tool.get("callID"), state)

    def _add_result(self, ref: object, state: dict[str, Any]) -> None:
        """Add a call's result; a running call stays open."""
        is_pruned = bool(dict_of(state.get("time")).get("compacted")) and not self.whole
        if state.get("status") == "completed" and is_pruned:
            self.leave("pruned results")
            self.result(ref, _PRUNED)
        elif state.get("status") == "completed":
            attached = self._parts(state.get("attachments"), "tool")
            self.result(ref, content_of([text_part(state.get("output")), *attached]))
        elif state.get("status") == "error":
            output = dict_of(state.get("metadata")).get("output")
            self.result(ref, text_of(output) or text_of(state.get("error")))

    def _parts(self, parts: Any, role: str) -> list[dict[str, Any]]:
        """Return a user message's parts in Chat's shape; other files and compaction markers become text."""
        converted = []
        for part in self.objects(parts, role):
            kind, mime, url = part.get("type"), text_of(part.get("mime")), text_of(part.get("url"))
            if kind == "text" and not part.get("ignored"):
                converted.append(text_part(part.get("text")))
            elif kind == "file" and mime.startswith("image/") and url.startswith(("data:", "https://", "http://")):
                converted.append(image_part(url))
            elif kind == "file" and mime not in _SEPARATE:
                converted.append(text_part(f"[attached {mime}: {text_of(part.get('filename'))}]"))
            elif kind == "compaction":
                converted.append(text_part(_MARKER))
            elif kind == "subtask":
                converted.append(text_part(_SUBTASK))
            else:
                self.leave(role, kind or "without a type", mime or ("ignored" if part.get("ignored") else ""))
        return converted
