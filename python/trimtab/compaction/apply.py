"""Applies a plan: messages that an edit changes are new dicts, all others the original objects."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from .. import _core
from ..errors import PlanError
from ..ledger.columns import Role, RowFlag
from ..messages.shapes import as_blocks, only_text, text_message
from ..messages.surrogates import mended
from ..planning.edits import Drop, Summarize
from ..planning.stages.template import ALTERNATES, Place
from .rows import edit_rows, whereabouts

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

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
    edited = edit_rows(plan, messages, ledger, counter, ways)
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
