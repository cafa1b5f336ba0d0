"""Edits of rows: results pruned, cut and truncated, calls without long arguments, images and thinking taken out.

Each message is copied once, however many of its blocks change.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import _core
from ..counting.counter import scan
from ..counting.truncate import shortened
from ..ledger.columns import Kind, blocks_of
from ..messages.calls import called, described, file_of, quoted, with_arguments
from ..planning.edits import Cut, Prune, StripThinking, Truncate
from ..planning.pictures import without_pictures
from ..planning.stages.sizes import PLACEHOLDER_TEXT
from ..templates.chat import REASONING, REASONING_PARTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..counting.counter import Counter
    from ..ledger.columns import Ledger
    from ..messages.calls import Call
    from ..messages.types import Message
    from ..planning.plan import Plan

TEXT_TYPE = {"anthropic": "text", "openai_chat": "text", "openai_responses": "input_text"}
"""Type of a text block in a tool's result, by provider; the others have untyped blocks."""

_LEAST_QUOTE = 16
"""Characters of a quote in a result whose call names no file."""

RESULT_ROLES = frozenset({"tool", "function"})
"""Roles of messages that are a result themselves."""


def whereabouts(ref: str) -> str:
    """Return where an archived original is, for a notice: the recall tool, ``restore`` and the command line take it."""
    return f"recall or restore {ref}"


def edit_rows(
    plan: Plan, messages: Sequence[Message], ledger: Ledger, counter: Counter, ways: tuple[str, str]
) -> dict[int, Message | None]:
    """Return the messages that an edit changes, by position; None for a message that is left empty."""
    kind, tokens, edited = ledger.kind.tolist(), ledger.tokens, Edited(messages, ledger)
    more, placeholders = ways[0], Placeholders(messages, ledger, counter, ways[1])
    pictures: set[int] = set()

    def count(message: Message) -> int:
        return int(scan([message], counter, plan.provider).tokens.sum())

    for edit in plan.edits:
        match edit:
            case Prune(rows) if edit.mends:
                pictures.update(rows)
            case Prune(rows, text, keep_chars=chars):
                calls = [row for row in rows if kind[row] == Kind.CALL]
                for row, call in zip(calls, ledger.calls(messages, calls), strict=True):
                    edited.message(row, partial(placeholders.in_arguments, call=call, chars=chars, words=text))
                others = [row for row in rows if kind[row] != Kind.CALL]
                texts = [text] * len(others) if text else placeholders.of_rows(others)
                results: dict[int, str] = {}
                for row, words in zip(others, texts, strict=True):
                    if kind[row] == Kind.IMAGE:
                        edited.block(row, partial(with_text, text=words, provider=plan.provider))
                    else:
                        results[row] = words
                edited.results(results, partial(_like, provider=plan.provider))
            case Cut(rows, most, unit, marker):
                began = partial(_began, most=most, unit=unit, provider=plan.provider)
                edited.results(dict.fromkeys(rows, marker), began)
            case Truncate(rows, most):
                quotes = quotes_of(rows, messages, ledger)
                for row in rows:
                    shorten = partial(
                        _shortened, counter=counter, provider=plan.provider, more=more, quotes=quotes.get(row, ())
                    )
                    within = partial(_row_within, row=int(tokens[row]), most=most, shorten=shorten, count=count)
                    edited.block(row, within)
            case StripThinking(rows):
                for index, found in blocks_of(ledger, rows).items():
                    edited.made[index] = _without(edited.now(index), found, ledger.provider)
            case _:
                pass
    # Last, because blocks behind a picture that leaves without a notice have new positions.
    return edited.made | without_pictures(messages, edited.made, blocks_of(ledger, pictures), counter)


def stripped(messages: Sequence[Message], ledger: Ledger) -> list[Message]:
    """Return the messages that have thinking, without it; a message of thinking alone is left out."""
    rows = [row for row, kind in enumerate(ledger.kind.tolist()) if kind == Kind.THINKING]
    left = (_without(messages[index], found, ledger.provider) for index, found in blocks_of(ledger, rows).items())
    return [message for message in left if message is not None]


def without_thinking(messages: Sequence[Message], ledger: Ledger, since: int) -> list[Message]:
    """Return the messages without the thinking of those from ``since`` on; one of thinking alone is left out."""
    rows = [row for row in (ledger.kind == Kind.THINKING).nonzero()[0].tolist() if ledger.owner[row] >= since]
    thinking = blocks_of(ledger, rows).items()
    edited = {index: _without(messages[index], found, ledger.provider) for index, found in thinking}
    made = (edited.get(index, message) for index, message in enumerate(messages))
    return [message for message in made if message is not None]


def _placeholder(tokens: int) -> str:
    return f"{_core.PRUNED}{tokens:,} tokens]"


def _like(old: object, text: str, provider: str) -> Any:
    """Return a text in the form of the old content: a string, a block, or a function's response."""
    if provider == "gemini":
        return {"result": text}
    if provider == "bedrock":
        return [{"text": text}]
    return [{"type": TEXT_TYPE[provider], "text": text}] if isinstance(old, list) else text


def _began(old: object, text: str, most: int, unit: str, provider: str) -> Any:
    """Return the beginning of the content, without images, with the text as the marker of a cut."""
    if isinstance(old, list):
        whole = "".join(_text_of(part) or "" for part in old)
    else:
        whole = old if isinstance(old, str) else json.dumps(old, ensure_ascii=False, default=str)
    return _like(old, cut(whole, most, unit, text), provider)


def cut(text: str, most: int, unit: str = "bytes", marker: str = "") -> str:
    """Return the first ``most`` units of a text, followed by ``marker`` if it was cut; no code point is split.

    Args:
        text: the text; returned unchanged if it is short enough.
        most: most units that stay.
        unit: ``bytes`` of UTF-8, ``chars`` or ``utf16`` units.
        marker: the text behind a cut.
    """
    encoding = {"bytes": "utf-8", "utf16": "utf-16-le"}.get(unit)
    if encoding is None:
        return text if len(text) <= most else text[:most] + marker
    encoded = text.encode(encoding, "surrogatepass")
    most *= 2 if unit == "utf16" else 1
    return text if len(encoded) <= most else encoded[:most].decode(encoding, "ignore") + marker


def _row_within(  # noqa: PLR0917 - a result, its limits, and how to cut and count it
    message: Message, block: int, row: int, most: int, shorten: Callable[..., Any], count: Callable[[Message], int]
) -> Message:
    """Return the message with one result cut so that its row, not its text alone, has at most ``most`` tokens.

    Args:
        message: the message of the result.
        block: the result's position in the message.
        row: tokens of the result's row now.
        most: most tokens of its row.
        shorten: cuts a content to ``most`` tokens of text.
        count: tokens of a message.
    """

    def alone(message: Message) -> int:
        key = key_of(message)
        return count({**message, key: [message[key][block]]} if has_blocks(message) else message)

    frame, limit = row - alone(message), most  # beside another result, a row has more tokens than alone
    while True:
        made = with_result(message, block, partial(shorten, most=limit))
        over = alone(made) + frame - most
        if over <= 0 or limit == 0:
            return made
        limit = max(limit - over, 0)


def quotes_of(rows: Sequence[int], messages: Sequence[Message], ledger: Ledger) -> dict[int, list[str]]:
    """Return the texts that later calls quote of each result, to have them replaced, by row; the newest calls' first.

    A call that names another file than the result's call quotes nothing of it. Where the result's call names none, a
    short text may be anywhere and counts for nothing.
    """
    first = min(rows, default=len(ledger.kind))
    later = [first + row for row in (ledger.kind[first:] == Kind.CALL).nonzero()[0].tolist()]
    edits: list[tuple[int, str, list[str]]] = []
    for row, call in zip(reversed(later), reversed(ledger.calls(messages, later)), strict=True):
        if texts := quoted(arguments := called(call)[1]):
            edits.append((row, file_of(arguments), texts))
    if not edits:
        return {}
    quotes: dict[int, list[str]] = {}
    pair = ledger.pair.tolist()
    asked = [pair[row] for row in rows if pair[row] >= 0]
    files = {row: file_of(called(call)[1]) for row, call in zip(asked, ledger.calls(messages, asked), strict=True)}
    for row in rows:
        file = files.get(pair[row], "")
        near = (edit for edit in edits if edit[0] > row and (edit[1] == file or not file or not edit[1]))
        quotes[row] = [text for _, _, texts in near for text in texts if file or len(text) >= _LEAST_QUOTE]
    return quotes


def _shortened(  # noqa: PLR0917 - a content, its limit, how to count it, and what the notice says
    old: object, most: int, counter: Counter, provider: str, more: str = "", quotes: Sequence[str] = ()
) -> Any:
    """Return the content with its text cut to the tokens that images and files leave; if few, these go too."""
    if not isinstance(old, list):
        text = old if isinstance(old, str) else json.dumps(old, ensure_ascii=False, default=str)
        return _like(old, shortened(text, [most, None, None, None], "head-tail", counter, more, quotes), provider)
    texts = [words for part in old if (words := _text_of(part)) is not None]
    others = [part for part in old if _text_of(part) is None]
    held = int(scan([{"role": "user", "content": others}], counter, provider).total) if others else 0
    if held > most * 3 // 4:
        texts.append(_placeholder(held))
        others, held = [], 0
    text = shortened("\n".join(texts), [most - held, None, None, None], "head-tail", counter, more, quotes)
    return [*(_like(old, text, provider) if text else []), *others]


def _text_of(part: object) -> str | None:
    """Return the text of a part of a result, or its JSON."""
    if not isinstance(part, dict):
        return None
    if "json" in part:
        return json.dumps(part["json"], ensure_ascii=False, default=str)
    return part["text"] if isinstance(part.get("text"), str) else None


def _without(message: Message | None, blocks: set[int], provider: str) -> Message | None:
    """Return the message without some of its blocks, of Chat Completions without its reasoning.

    None if nothing is left, or the message itself is one.
    """
    if message is None or message.get("type") == "reasoning":
        return None
    if provider == "openai_chat":
        message = {key: value for key, value in message.items() if key not in (*REASONING, *REASONING_PARTS)}
        return message if message.get("content") or message.get("tool_calls") else None
    key = key_of(message)
    left = [block for n, block in enumerate(message[key]) if n not in blocks]
    return {**message, key: left} if left else None


class Edited:
    """The changed messages of a transcript.

    Attributes:
        made: the changed messages, by position; None for a message that is left empty.
    """

    def __init__(self, messages: Sequence[Message], ledger: Ledger) -> None:
        self.made: dict[int, Message | None] = {}
        self._originals, self._owner, self._first = messages, ledger.owner.tolist(), ledger.first.tolist()
        self._lists: dict[int, list[Any]] = {}

    def now(self, index: int) -> Message | None:
        """Return a message with the edits so far."""
        return self.made.get(index, self._originals[index])

    def message(self, row: int, change: Callable[[Message], Message]) -> None:
        """Change the message of a row as a whole."""
        index = self._owner[row]
        if (message := self.now(index)) is not None:
            self.made[index] = change(message)

    def block(self, row: int, change: Callable[[Message, int], Message]) -> None:
        """Change the block of a row, in a message that has it alone; or its message, if that is no list of blocks."""
        index, place = self._owner[row], row - self._first[self._owner[row]]
        if (message := self.now(index)) is None:
            return
        blocks = self._blocks(index, message)
        if blocks is None:
            self.made[index] = change(message, place)
        else:
            key = key_of(message)
            blocks[place] = change({**message, key: [blocks[place]]}, 0)[key][0]

    def results(self, texts: dict[int, str], content: Callable[..., Any]) -> None:
        """Change the contents of results.

        Args:
            texts: new text by row.
            content: returns the new content, given the old one and ``text=``.
        """
        for row, text in texts.items():
            index = self._owner[row]
            if (message := self.made.get(index, self._originals[index])) is None:
                continue
            place, blocks = row - self._first[index], self._blocks(index, message)
            if blocks is None:
                self.made[index] = with_result(message, place, partial(content, text=text))
            else:
                blocks[place] = _changed(blocks[place], partial(content, text=text))

    def _blocks(self, index: int, message: Message) -> list[Any] | None:
        """Return a message's blocks in a list of its own; None where it has none, or is a result itself."""
        key = "parts" if "parts" in message else "content"
        blocks = message.get(key)
        is_result = message.get("role") in RESULT_ROLES or "output" in message
        if is_result or "tool_calls" in message or not isinstance(blocks, list):
            return None
        if blocks is not self._lists.get(index):
            self._lists[index] = blocks = [*blocks]
            self.made[index] = {**message, key: blocks}
        return blocks


class Placeholders:
    """Makes the placeholders of one plan.

    Args:
        messages: the transcript.
        ledger: of the messages.
        counter: counts the removed texts and the placeholders.
        where: how to get the original back; empty if nothing is archived.
    """

    def __init__(self, messages: Sequence[Message], ledger: Ledger, counter: Counter, where: str) -> None:
        self.messages, self.ledger, self.counter, self.where = messages, ledger, counter, where

    def of_rows(self, rows: Sequence[int]) -> list[str]:
        """Return the placeholders of results, with the tool and the argument of each one's call, or of images."""
        pair, tokens = self.ledger.pair.tolist(), self.ledger.tokens.tolist()
        paired = [pair[row] for row in rows]
        calls = iter(self.ledger.calls(self.messages, [call for call in paired if call >= 0]))
        told = [described(next(calls)) if call >= 0 else ("", "") for call in paired]
        return self._written([(tokens[row], *about) for row, about in zip(rows, told, strict=True)])

    def in_arguments(self, message: Message, call: Call | None, chars: int, words: str) -> Message:
        """Return a message with placeholders in place of the long texts in a call's arguments.

        Args:
            message: the message with the call.
            call: where it is.
            chars: characters of a text that stays.
            words: the policy's own placeholder; empty states what was there.
        """
        return with_arguments(message, call, partial(self._of_argument, described(call), chars, words))

    def _of_argument(self, call: tuple[str, str], chars: int, words: str, name: str, text: str) -> str:
        """Return the placeholder of a text in a call's arguments, or the text itself if it is short."""
        if len(text) <= chars or text.startswith(_core.PRUNED):
            return text
        if words:
            return words
        tool, about = call
        return self._written([(self.counter.count(text), tool, name if about == text else f"{name} {about}".strip())])[
            0
        ]

    def _written(self, removed: list[tuple[int, str, str]]) -> list[str]:
        """Return the longest placeholder of each that has at most ``PLACEHOLDER_TEXT`` tokens."""
        return _core.placeholders(removed, back=self.where, limit=PLACEHOLDER_TEXT, counter=self.counter)


def has_blocks(message: Message) -> bool:
    """Return whether the results of a message are blocks of it, not its whole content."""
    return message.get("role") not in RESULT_ROLES and "output" not in message


def key_of(message: Message) -> str:
    """Return the field with a message's blocks."""
    return "parts" if "parts" in message else "content"


def with_text(message: Message, block: int, text: str, provider: str) -> Message:
    """Return the message with a text in place of one of its images; a cache marker stays."""
    key = key_of(message)
    blocks = list(message[key])
    kept = {"cache_control": marker} if (marker := blocks[block].get("cache_control")) else {}
    typed = {"type": TEXT_TYPE[provider]} if provider in TEXT_TYPE else {}
    blocks[block] = {**typed, "text": text, **kept}
    return {**message, key: blocks}


def with_result(message: Message, block: int, content: Callable[[Any], Any]) -> Message:
    """Return the message with the content of one result changed: of a tool message, an output item or a block."""
    if not has_blocks(message):
        key = "output" if "output" in message else "content"
        return {**message, key: content(message.get(key))}
    key = key_of(message)
    blocks = list(message[key])
    blocks[block] = _changed(blocks[block], content)
    return {**message, key: blocks}


def _changed(block: Message, content: Callable[[Any], Any]) -> Message:
    """Return a result's block with other content and no files beside it: in the block itself, or under its one key."""
    for key, inner in (("toolResult", "content"), ("functionResponse", "response"), ("function_response", "response")):
        if isinstance(result := block.get(key), dict):
            alone = {name: value for name, value in result.items() if name != "parts"}
            return {**block, key: {**alone, inner: content(result.get(inner))}}
    return {**block, "content": content(block.get("content"))}
