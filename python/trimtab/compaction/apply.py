"""Applies a plan: messages that an edit changes are new dicts, all others the original objects."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from .. import _core
from ..counting.counter import scan
from ..counting.truncate import truncate
from ..errors import PlanError
from ..ledger.columns import Kind, Role, RowFlag, blocks_of
from ..messages.shapes import as_blocks, only_text, text_message
from ..messages.surrogates import mended
from ..planning.edits import Cut, Drop, Prune, StripThinking, Summarize, Truncate
from ..planning.picture_notices import without_pictures
from ..planning.stages.template import ALTERNATES, Place
from .edited import TEXT_TYPE, Edited, has_blocks, key_of, with_result, with_text
from .placeholders import Placeholders

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ..counting.counter import Counter
    from ..ledger.columns import Ledger
    from ..messages.types import Message
    from ..planning.plan import Plan

GAP = "[trimtab: messages were left out here]"
"""Text of the user message between two adjacent turns of the assistant."""


def apply(  # noqa: PLR0917 - a plan, its transcript, and the replacement of the messages that leave
    plan: Plan,
    messages: Sequence[Message],
    ledger: Ledger,
    counter: Counter,
    placed: str | None,
    place: Place | None = None,
    fillers: Collection[int] = (),
    ref: str = "",
    *,
    recalls: bool = False,
) -> tuple[list[Message], tuple[int, ...]]:
    """Return the messages with the plan's edits, and the positions of notices and acknowledgements among them.

    Lone surrogates are replaced, whatever the plan says.

    Args:
        plan: made for these messages.
        messages: the original transcript; none of it is changed.
        ledger: of the messages.
        counter: counts truncated results.
        placed: the text in place of the removed messages: a summary in its envelope, or a notice.
        place: shape of the messages that hold it.
        fillers: notices and acknowledgements of earlier compactions; where messages leave, only those that are still
            needed are in the new list.
        ref: names the archived originals in the notices of truncated results and in placeholders; empty if nothing is
            archived.
        recalls: whether the model has the recall tool.

    Raises:
        PlanError: the plan is of another transcript.
    """
    if plan.digest != ledger.digest or plan.messages != len(messages):
        raise PlanError("the plan was made for another transcript; make a new one for these messages")
    ways = (whereabouts(ref), f"recall ref={ref}" if recalls else f"restore {ref}") if ref else ("", "")
    edited = _edit_rows(plan, messages, ledger, counter, ways)
    zone = plan.zone()
    kept = frozenset(zone.keep) if zone else frozenset()
    skipped = frozenset(zone.skipped) if zone else frozenset()
    out: list[Message] = []
    ours: list[int] = []
    waiting: list[Message] = []  # Anthropic's system messages, which stand behind the user and before the assistant
    last = -1  # the last kept message of the transcript
    for index, original in enumerate(messages):
        if zone and index == zone.start and placed:
            around = place or Place()
            where = _notice_place(around, plan.provider) if isinstance(zone, Drop) else around
            summary = put(placed, where, plan.provider, _follows(zone, ledger, fillers))
            notice = isinstance(zone, Drop) and not placed.startswith(_core.ENVELOPE)
            ours += [n for n, new in enumerate(summary, len(out)) if notice or only_text(new) != placed]
            out.extend(_marked(summary) if _lost_marker(zone, ledger, fillers) else summary)
        if zone and (index in fillers or index in skipped or (zone.start <= index < zone.stop and index not in kept)):
            continue
        message = edited.get(index, original)
        if message is not None:
            if zone and plan.provider == "anthropic" and message.get("role") == "system" and message.get("content"):
                waiting.append(message)
                last = index if last == index - 1 else last
                continue
            if zone and last != index - 1 and (filler := _between(plan.provider, out, message)):
                ours.append(len(out))
                out.append(filler)
            if waiting and message.get("role") == "assistant":
                out += joined(waiting)
                waiting = []
            if index in fillers:
                ours.append(len(out))
            last = index
            out.append(message)
    return [*mended([*out, *joined(waiting)])[0]], tuple(ours)


def joined(system: Sequence[Message]) -> list[Message]:
    """Return system messages as one: the provider refuses neighbours."""
    if len(system) < 2:
        return list(system)
    fields = {key: value for message in system for key, value in message.items()}
    return [fields | {"content": [block for message in system for block in as_blocks(message["content"])]}]


def _lost_marker(zone: Summarize | Drop, ledger: Ledger, fillers: Collection[int]) -> bool:
    """Return whether a cache marker leaves with the zone."""
    if ledger.provider != "anthropic":
        return False
    marked = {int(owner) for owner in ledger.owner[(ledger.flags & RowFlag.CACHED) != 0]}
    return any(index in fillers or (zone.start <= index < zone.stop and index not in zone.keep) for index in marked)


def _marked(placed: list[Message]) -> list[Message]:
    """Return the placed messages with a cache marker on the summary, with which all later calls begin."""
    text = {"type": "text", "text": placed[0]["content"], "cache_control": {"type": "ephemeral"}}
    return [{**placed[0], "content": [text]}, *placed[1:]]


_STRICT = ("anthropic", "bedrock", "gemini")
"""Providers that merge or refuse two adjacent messages of one role."""


def _between(provider: str, out: list[Message], message: Message) -> Message | None:
    """Return the message to insert between two messages that became adjacent, or None.

    A provider refuses two messages of the assistant, or merges them and then refuses thinking inside the turn. Bedrock
    also refuses two messages of the user.
    """
    role = message.get("role")
    if provider not in _STRICT or not out or role != out[-1].get("role"):
        return None
    if role in ("assistant", "model"):
        return text_message(provider, "user", GAP)
    return text_message(provider, "assistant", Place().ack) if provider == ALTERNATES else None


def _follows(zone: Summarize | Drop, ledger: Ledger, fillers: Collection[int]) -> int | None:
    """Return the role of the message behind the placed ones, or None."""
    behind = chain(zone.keep, range(zone.stop, len(ledger)))
    apart = Role.SYSTEM if ledger.provider == "anthropic" else None  # it moves behind the user
    roles = (int(ledger.role[index]) for index in behind if index not in fillers)
    return next((role for role in roles if role != apart), None)


def noticed(notice: str, place: Place) -> str:
    """Return a notice with a summary's prefix if the assistant acknowledges summaries."""
    return place.prefix + notice if place.shape == "user_ack" else notice


def _notice_place(place: Place, provider: str) -> Place:
    """Return the place of a notice: that of a summary, but never the assistant's role."""
    if place.shape in {"assistant", "question"}:
        return replace(place, shape="user", ack=place.ack if provider in _STRICT else "")
    return place


def put(text: str, place: Place, provider: str, follows: int | None) -> list[Message]:
    """Return the replacement messages, in the requested shape or the nearest one that the provider accepts.

    Args:
        text: a summary or a notice.
        place: shape of the messages that hold it.
        provider: the messages' shape.
        follows: the ``Role`` of the next message; None without one.
    """
    strict, shape = provider in _STRICT, place.shape
    before_user = provider == ALTERNATES and follows == Role.USER
    if shape == "system" and not strict:
        return [text_message(provider, "system", text)]
    if shape in {"assistant", "question"}:
        first = [text_message(provider, "user", place.question)] if strict or shape == "question" else []
        return [*first, text_message(provider, "assistant", text)]
    always = shape == "user_ack" and not (strict and follows == Role.ASSISTANT)
    ack = [text_message(provider, "assistant", place.ack)] if place.ack and (before_user or always) else []
    return [text_message(provider, "user", text), *ack]


def whereabouts(ref: str) -> str:
    """Return where an archived original is, for a notice: the recall tool, ``restore`` and the command line take it."""
    return f"recall or restore {ref}"


def _edit_rows(
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
                shorten = partial(_shortened, counter=counter, provider=plan.provider, more=more)
                for row in rows:
                    within = partial(_row_within, row=int(tokens[row]), most=most, shorten=shorten, count=count)
                    edited.block(row, within)
            case StripThinking(rows):
                for index, found in blocks_of(ledger, rows).items():
                    edited.made[index] = _without(edited.now(index), found)
            case _:
                pass
    # Last, because blocks behind a picture that leaves without a notice have new positions.
    return edited.made | without_pictures(messages, edited.made, blocks_of(ledger, pictures), counter)


def stripped(messages: Sequence[Message], ledger: Ledger) -> list[Message]:
    """Return the messages that have thinking, without it; a message of thinking alone is left out."""
    rows = [row for row, kind in enumerate(ledger.kind.tolist()) if kind == Kind.THINKING]
    left = (_without(messages[index], found) for index, found in blocks_of(ledger, rows).items())
    return [message for message in left if message is not None]


def without_thinking(messages: Sequence[Message], ledger: Ledger, since: int) -> list[Message]:
    """Return the messages without the thinking of those from ``since`` on; one of thinking alone is left out."""
    rows = [row for row in (ledger.kind == Kind.THINKING).nonzero()[0].tolist() if ledger.owner[row] >= since]
    edited = {index: _without(messages[index], found) for index, found in blocks_of(ledger, rows).items()}
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


def _shortened(old: object, most: int, counter: Counter, provider: str, more: str = "") -> Any:
    """Return the content with its text cut to the tokens that images and files leave; if few, these go too."""
    if not isinstance(old, list):
        text = old if isinstance(old, str) else json.dumps(old, ensure_ascii=False, default=str)
        return _like(old, truncate(text, tokens=most, category="head-tail", counter=counter, more=more), provider)
    texts = [words for part in old if (words := _text_of(part)) is not None]
    others = [part for part in old if _text_of(part) is None]
    held = int(scan([{"role": "user", "content": others}], counter, provider).total) if others else 0
    if held > most * 3 // 4:
        texts.append(_placeholder(held))
        others, held = [], 0
    text = truncate("\n".join(texts), tokens=most - held, category="head-tail", counter=counter, more=more)
    return [*(_like(old, text, provider) if text else []), *others]


def _text_of(part: object) -> str | None:
    """Return the text of a part of a result, or its JSON."""
    if not isinstance(part, dict):
        return None
    if "json" in part:
        return json.dumps(part["json"], ensure_ascii=False, default=str)
    return part["text"] if isinstance(part.get("text"), str) else None


def _without(message: Message | None, blocks: set[int]) -> Message | None:
    """Return the message without some of its blocks; None if nothing is left, or the message itself is one."""
    if message is None or message.get("type") == "reasoning":
        return None
    if "reasoning_content" in message:
        message = {key: value for key, value in message.items() if key != "reasoning_content"}
        return message if message.get("content") or message.get("tool_calls") else None
    key = key_of(message)
    left = [block for n, block in enumerate(message[key]) if n not in blocks]
    return {**message, key: left} if left else None
