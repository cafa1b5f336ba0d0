"""What an archive is asked to do, and the form in which messages lie in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from .._errors import ArchiveError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._messages import Message


@dataclass(frozen=True, slots=True)
class Record:
    """One compaction, as it is remembered.

    Attributes:
        ref: names it.
        digests: of the original messages, in order.
        tokens_before: tokens of the messages as they were.
        tokens_after: tokens of the messages as they are.
        plan: the plan's JSON.
        summary: the summary's text, None if there is none.
        summarizer: who wrote it.
    """

    ref: str
    digests: tuple[str, ...]
    tokens_before: int
    tokens_after: int
    plan: str
    summary: str | None = None
    summarizer: str | None = None


class Archive(Protocol):
    """Keeps originals by content, and what was done to them. Each call is a transaction of its own.

    Every method raises ArchiveError where it cannot do what it says.
    """

    def store(self, messages: Sequence[Message]) -> tuple[str, ...]:
        """Keeps each message once; gives their digests."""
        ...

    def commit(self, record: Record) -> None:
        """Remembers a compaction whose originals are stored; the same ref twice is remembered once."""
        ...

    def load(self, ref: str) -> list[dict[str, Any]]:
        """The original list of a compaction."""
        ...

    def close(self) -> None:
        """Lets go of what is held open."""
        ...


def dump(message: Message) -> str:
    """A message as the JSON that comes back: loading and dumping it again gives the same text.

    Raises:
        ArchiveError: JSON cannot say it.
    """
    try:
        text = json.dumps(message, default=_mapping)
        back = json.loads(text)
        same = back == message or (json.dumps(back) == text and _named(message))
    except (TypeError, ValueError, RecursionError) as error:
        raise ArchiveError(f"a message cannot be archived as JSON: {error}") from error
    if not same:
        raise ArchiveError("a message would not come back as it is: JSON has no keys but strings")
    return text


def _mapping(value: object) -> object:
    """What ``json`` cannot write, as what it can: any mapping is a dict."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _named(value: object) -> bool:
    """Whether all keys are strings: the others would come back as strings."""
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _named(part) for key, part in value.items())
    return not isinstance(value, list | tuple) or all(map(_named, value))


def digest_of(text: str) -> str:
    """The address of a message's JSON: SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()
