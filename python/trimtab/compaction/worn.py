"""Finds what an earlier summary lost of the user's words, in the originals of the archive."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .. import _core
from ..messages.envelope import KeptSpan, enveloped, unwrap
from ..summarize.held import missing_rules, tells, titles_of, with_rules
from ..summarize.languages import language
from .effects import Originals
from .kept_spans import without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ..messages.types import Message
    from ..summarize import Answer
    from .effects import Flow
    from .request import CompactionRequest


@dataclass(frozen=True, slots=True)
class Worn:
    """What an earlier summary lost.

    Attributes:
        said: the user's messages of the originals, oldest first, if a rule or the first request of them is missing.
        pinned: the paragraphs with a pinned text that no message has any more.
        rules: the rules that are missing, and that nothing took back.
    """

    said: tuple[Message, ...] = ()
    pinned: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


def worn(request: CompactionRequest, zone: range) -> Flow[Worn]:
    """Return what the summaries in the zone lost of the originals that they stand for.

    Nothing is read where the zone has no summary of this session. What the archive forgot is not found, and what it
    redacted comes as it is stored.
    """
    own = [message for index in request.summaries if index in zone if (message := enveloped(request.messages[index]))]
    if not own or request.policy.parity:
        return Worn()
    originals, pins = yield Originals(tuple(one.ref for one in own), request.settings.session)
    before = [(role, text) for role, text in _texts(originals) if unwrap(text) is None]
    said = _without_kept(
        [{"role": "user", "content": request.redact(text)} for role, text in before if role == "user"],
        [span for one in own for span in one.kept],
        request.policy.keep_tag,
    )
    now = [message for index, message in enumerate(request.redacted) if index not in request.summaries]
    current = [*_texts(now)]
    known = "\n".join([*(one.whole for one in own), *(text for role, text in current if role == "user")])
    rules, first, *_ = _core.facts((said, now), "")
    rules = missing_rules(rules, known)
    is_missing = bool(rules) or not tells(known, first)
    texts = [*(text for _, text in before), *(one.whole for one in own)]
    lost = [pin for pin in pins if not any(pin in text for _, text in current)]
    held = [text for pin in lost if (text := _paragraph(pin, texts))]
    return Worn(said if is_missing else (), tuple(dict.fromkeys(map(request.redact, held))), tuple(rules))


def _without_kept(said: list[Message], kept: list[KeptSpan], tag: str) -> tuple[Message, ...]:
    """Return the user's messages without the spans that the summaries carry word by word."""
    found = _core.kept_spans(said, tag) if kept and tag else []
    return tuple(without(said, [(at, KeptSpan(at, text)) for at, text in found], kept, tag))


def with_lost(answer: Answer, lost: Worn, limit: int, count: Callable[[str], int]) -> Answer:
    """Return a summary with the lines that it must have and lacks, if need be in place of its last ones."""
    lacks = [line for line in lost.pinned if line not in answer.text] + missing_rules(lost.rules, answer.text)
    if not lacks:
        return answer
    text, added, out = with_rules(answer.text, lacks, titles_of(language(answer.text)), limit, count)
    return replace(answer, text=text, added=(*answer.added, *added), dropped=(*answer.dropped, *out))


def _texts(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Yield role and text of each text of the messages."""
    return ((role, text) for _, kind, role, text in _core.entries(messages) if kind == "text")


def _paragraph(text: str, texts: Iterable[str]) -> str | None:
    """Return the first paragraph that has a text, on one line; None if there is none."""
    found = next((whole for whole in texts if text in whole), None)
    if found is None:
        return None
    parts = [part for part in found.split("\n") if text in part]
    return " ".join((parts[0] if parts else text).removeprefix("- ").split())
