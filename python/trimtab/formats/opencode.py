"""opencode sessions, as ``opencode export`` writes them: ``{info, messages: [{info, parts}]}``, or such a list alone.

A tool part holds a call and its result; a response is told in steps, and the calls of a step are answered before the
next one begins. Mapped: texts, reasoning, calls with their results, pictures, and what each step was charged. Results
that opencode has pruned say so, as the model was told (with ``whole`` they are there). Left out: snapshots, patches,
answers that ended in an error, what the user has reverted, texts of attached files other than those that opencode
wrote into the message, the system prompt and the tools, which are not in the file.

A compaction is a user message with a ``compaction`` part and the answer with ``summary`` to it; messages from
``tail_start_id`` on were kept behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._chat import Chat, call, dict_of, joined, list_of, single, sum_of, text_of, text_part, told

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..messages.types import Transcript
    from ._account import Account
    from ._records import Record

_MARKER = "What did we do so far?"
_PRUNED = "[Old tool result content cleared]"
_SUBTASK = "[a tool was run by the user]"
_STEP = ("step-start", "step-finish", "text", "reasoning", "tool")
_UNTOLD = ("text/plain", "application/x-directory")  # their text is in separate parts

_INFO = ("error", "summary", "path")  # a summary is a title and a diff for the screen
_PART = ("text", "state", "source", "metadata", "filename", "url", "prompt", "description", "tool", "files")


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether this is an export of opencode, or one of its messages."""
    return _is_message(value) or any(_is_message(message) for message in list_of(value.get("messages"))[:1])


def _is_message(value: dict[str, Any]) -> bool:
    return isinstance(value.get("info"), dict) and isinstance(value.get("parts"), list)


def read(records: Iterable[Record], *, whole: bool) -> Transcript:
    """Return the messages of the prompt; `whole` keeps compacted messages and pruned results.

    Raises:
        MessageError: the file holds several exports.
    """
    chat = Chat(whole)
    messages: list[dict[str, Any]] = []
    records = list(records)
    if any(isinstance(record.value, dict) and _is_message(record.value) for record in records):
        found, revert = [(record, record.value) for record in records], {}
    else:
        exports, chat.skipped = single(records, recognizes)
        found = [(record, message) for record in exports for message in record.value["messages"]]
        revert = dict_of(dict_of(exports[0].value.get("info")).get("revert")) if exports else {}
    for i, (record, message) in enumerate(found):
        if isinstance(message, dict) and _is_message(message):
            messages.append(message)
        else:
            chat.skip(record, f"messages[{i}]: no message")
    session = _Session(chat, *_pruning(messages))
    kept = _kept(messages, revert)
    chat.account.leave("reverted messages", count=len(messages) - len(kept))
    visible = list(_visible(kept, whole=whole))
    chat.account.leave("compacted messages", count=len(kept) - len(visible))
    for message, is_prompt in visible:
        chat.is_prompt = is_prompt
        if is_summary(message):
            chat.mark()
        session.add(message)
    return chat.transcript("opencode")


def pivot(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the stored messages that the model still sees: from the latest marker with a finished summary on."""
    return [message for message, _ in _visible(messages, whole=False)]


def prompt(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return stored messages as sent to the model: markers as their question, pruned results as placeholders."""
    chat = Chat(whole=False)
    session = _Session(chat, *_pruning(messages))
    for message in messages:
        session.add(message)
    return chat.transcript("opencode").messages


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


def _visible(messages: list[dict[str, Any]], *, whole: bool) -> Iterable[tuple[dict[str, Any], bool]]:
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
    tail = [i for i in range(start) if tail_id and messages[i]["info"].get("id") == tail_id]
    head = [(messages[i], False) for i in (start, end)]
    kept = [(message, False) for message in (messages[tail[0] : start] if tail else [])]
    return [*head, *kept, *((message, True) for message in messages[end + 1 :])]


def markers(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the compaction markers among a stored message's parts."""
    return [part for part in list_of(message["parts"]) if part.get("type") == "compaction"]


def is_summary(message: dict[str, Any]) -> bool:
    """Return whether a stored message is the finished summary of a compaction."""
    info = message["info"]
    is_done = info.get("finish") and not info.get("error") and isinstance(info.get("parentID"), str)
    return bool(info.get("role") == "assistant" and info.get("summary") and is_done)


def _pruning(messages: list[dict[str, Any]]) -> tuple[int, int]:
    """Return the times at which results were first and last pruned, or times out of range."""
    parts = [part for message in messages for part in list_of(message["parts"]) if part.get("type") == "tool"]
    times = [dict_of(dict_of(part.get("state")).get("time")).get("compacted") for part in parts]
    stamps = [time for time in times if isinstance(time, int)]
    return (min(stamps), max(stamps)) if stamps else (2**63, -1)


@dataclass(slots=True)
class _Session:
    """The messages in Chat's shape.

    Attributes:
        chat: messages so far.
        first: time of the first pruning; later usage is for a list without the pruned results.
        last: time of the last pruning; earlier usage is for a list with them.
    """

    chat: Chat
    first: int
    last: int

    def add(self, message: dict[str, Any]) -> None:
        """Add a message with its parts."""
        info, account = message["info"], self.chat.account
        parts = account.objects(message["parts"], info.get("role"))
        account.fields(message, ("info", "parts"), info.get("role"))
        account.fields(info, _INFO, info.get("role"), "info")
        for part in parts:
            account.fields(part, _PART, info.get("role"), part.get("type"))
        if info.get("role") == "user":
            self.chat.say("user", told(_user_parts(parts, account, "user")))
            return
        names = {text_of(part.get("type")) for part in parts} - {"step-start", "step-finish", "reasoning"}
        error = dict_of(info.get("error"))
        if info.get("role") != "assistant" or (error and not (error.get("name") == "MessageAbortedError" and names)):
            account.leave(info.get("role"), "message with an error" if error else "message")
            return
        self.chat.model = text_of(info.get("modelID")) or self.chat.model
        for part in parts:
            if part.get("type") not in _STEP:
                account.leave("assistant", part.get("type") or "without a type")
        created = dict_of(info.get("time")).get("created")
        is_of_list = not isinstance(created, int) or (created < self.first if self.chat.whole else created > self.last)
        step: list[dict[str, Any]] = []
        for part in parts:
            if part.get("type") == "step-start" and step:
                self._step(step, is_of_list=is_of_list)
                step = []
            step.append(part)
        self._step(step, is_of_list=is_of_list)

    def _step(self, parts: list[dict[str, Any]], *, is_of_list: bool) -> None:
        """Add the output of one model call, with the results of its tool calls."""
        tokens = dict_of(next((part.get("tokens") for part in parts if part.get("type") == "step-finish"), None))
        prompt = sum_of(tokens, "input") + sum_of(dict_of(tokens.get("cache")), "read", "write")
        charged = prompt if is_of_list else 0, sum_of(tokens, "output", "reasoning")
        tools = [part for part in parts if part.get("type") == "tool"]
        calls = [
            call(text_of(tool.get("callID")), text_of(tool.get("tool")), dict_of(tool.get("state")).get("input"))
            for tool in tools
        ]
        self.chat.answer(joined(parts, "text"), calls, joined(parts, "reasoning"), charged=charged)
        for tool in tools:
            self._result(text_of(tool.get("callID")), dict_of(tool.get("state")))

    def _result(self, ref: str, state: dict[str, Any]) -> None:
        """Add a call's result; a running call stays open."""
        if state.get("status") == "completed":
            if dict_of(state.get("time")).get("compacted") and not self.chat.whole:
                self.chat.account.leave("pruned results")
                self.chat.result(ref, _PRUNED)
            else:
                attached = _user_parts(state.get("attachments"), self.chat.account, "tool")
                self.chat.result(ref, told([text_part(text_of(state.get("output"))), *attached]))
        elif state.get("status") == "error":
            output = dict_of(state.get("metadata")).get("output")
            self.chat.result(ref, text_of(output) or text_of(state.get("error")))


def _user_parts(parts: Any, account: Account, role: str) -> list[dict[str, Any]]:
    """Return a user message's parts in Chat's shape; other files and compaction markers become text."""
    said = []
    for part in account.objects(parts, role):
        kind, mime, url = part.get("type"), text_of(part.get("mime")), text_of(part.get("url"))
        if kind == "text" and not part.get("ignored"):
            said.append(text_part(text_of(part.get("text"))))
        elif kind == "file" and mime.startswith("image/") and url.startswith(("data:", "https://", "http://")):
            said.append({"type": "image_url", "image_url": {"url": url}})
        elif kind == "file" and mime not in _UNTOLD:
            said.append(text_part(f"[attached {mime}: {text_of(part.get('filename'))}]"))
        elif kind == "compaction":
            said.append(text_part(_MARKER))
        elif kind == "subtask":
            said.append(text_part(_SUBTASK))
        else:
            account.leave(role, kind or "without a type", mime or ("ignored" if part.get("ignored") else ""))
    return said
