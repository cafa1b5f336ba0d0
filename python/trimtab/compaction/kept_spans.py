"""Spans that a user or the system text keeps with a tag: word by word in the summary of their messages."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from ..archive.redact import redact_message
from ..messages.envelope import KeptSpan, enveloped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from ..messages.types import Message
    from ..planning.edits import Drop, Summarize

At: TypeAlias = "tuple[int, KeptSpan]"
"""A span, with the position of the message that has it."""


def located(
    found: Sequence[At],
    messages: Sequence[Message],
    summaries: Collection[int],
    fillers: Collection[int],
    redact: Callable[[str], str],
) -> tuple[At, ...]:
    """Return the spans of a transcript; those that earlier summaries carry come first, with the numbers that they have.

    Args:
        found: the spans of all messages, with the numbers of these in the caller's own list.
        messages: the transcript.
        summaries: positions of the session's own summaries, whose words are a model's.
        fillers: positions of its notices and acknowledgements.
        redact: removes what must not be stored.
    """
    own = {*summaries, *fillers}
    earlier = ((at, enveloped(messages[at])) for at in summaries)
    carried = [(at, span) for at, summary in earlier if summary is not None for span in summary.kept]
    spans = [*carried, *(each for each in found if each[0] not in own)]
    return tuple([(at, KeptSpan(span.message, redact(span.text))) for at, span in spans])


def leaving(spans: Sequence[At], zone: Summarize | Drop | None, fillers: Collection[int]) -> tuple[KeptSpan, ...]:
    """Return the spans whose messages leave with a zone, each once; none that a message which stays has too."""
    if zone is None or not spans:
        return ()
    gone = ({*range(zone.start, zone.stop)} - {*zone.keep}) | {*zone.skipped} | {*fillers}
    stays = {span.text for index, span in spans if index not in gone}
    found: dict[str, KeptSpan] = {}
    for index, span in spans:
        if index in gone and span.text not in stays:
            found.setdefault(span.text, span)
    return (*found.values(),)


def without(
    messages: Sequence[Message], spans: Iterable[At], gone: Collection[KeptSpan], tag: str
) -> Sequence[Message]:
    """Return the messages as a summarizer reads them: without the spans that stand in front of the summary."""
    if not gone:
        return messages
    texts = {span.text for span in gone}
    of_message: dict[int, list[str]] = {}
    for at, span in spans:
        if span.text in texts:
            of_message.setdefault(at, []).append(f"<{tag}>{span.text}</{tag}>")
    return [
        redact_message(message, partial(_cut, of_message[at])) if at in of_message else message
        for at, message in enumerate(messages)
    ]


def _cut(marked: Iterable[str], text: str) -> str:
    """Return a text without some parts, which follow one another in it."""
    out, at = [], 0
    for part in marked:
        found = text.find(part, at)
        if found >= 0:
            out.append(text[at:found])
            at = found + len(part)
    return "".join([*out, text[at:]])


def announced(spans: Sequence[KeptSpan]) -> str | None:
    """Return what a model is told of the spans that its messages lack, or None without any."""
    if not spans:
        return None
    texts = (f"- {' '.join(span.text.split())}" for span in spans)
    return "\n".join(["These texts of the user stay word by word in front of the summary, do not repeat them:", *texts])
