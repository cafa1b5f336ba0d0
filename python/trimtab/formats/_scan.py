"""Messages of any number to a ledger, from their JSON: no object is made of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .. import _core
from ..counting.counter import message_error
from ..errors import MessageError
from ..messages.types import Skipped
from ._records import Records
from ._source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from ..ledger.columns import Ledger
    from ..models.provider import Provider

T = TypeVar("T")

CHUNK = 1 << 20
"""Bytes of a file that are read at once."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """What JSON text held.

    Attributes:
        ledger: its messages, in the order of the text.
        skipped: what could not be read, the first ten thousand.
        lost: how many that are in all.
    """

    ledger: Ledger
    skipped: list[Skipped]
    lost: int


@dataclass(frozen=True, slots=True)
class Summed:
    """What the messages of JSON text cost.

    Attributes:
        provider: their shape.
        messages: how many there are.
        framing: tokens that they cost beyond their rows.
        tokens: of their rows, by ``Role`` and ``Kind``.
        skipped: what could not be read, the first ten thousand.
        lost: how many that are in all.
    """

    provider: Provider
    messages: int
    framing: int
    tokens: list[list[int]]
    skipped: list[Skipped]
    lost: int


@dataclass(frozen=True, slots=True)
class Counted:
    """What each message of JSON text costs.

    Attributes:
        provider: their shape.
        per_message: tokens of each message, in the order of the text: uint32, shape (messages,).
        skipped: what could not be read, the first ten thousand.
        lost: how many that are in all.
    """

    provider: Provider
    per_message: NDArray[np.uint32]
    skipped: list[Skipped]
    lost: int


def scan(
    source: str | os.PathLike[str] | bytes | Iterable[bytes],
    *,
    counter: _core.Counter,
    provider: Provider | None = None,
) -> Scanned:
    """The ledger of a JSON list of messages, or of JSONL with a message a line; what stands there is not repaired.

    The same as ``Ledger.of`` on what ``json.loads`` makes of the text, but in parallel, without the interpreter, and
    with memory for the ledger and some 100 MB of text whatever the size. A value of more than 64 MiB is skipped.

    Args:
        source: a path, the text's bytes, or chunks of them.
        counter: counts the texts.
        provider: the messages' shape; otherwise found from the first 32 MiB, ``openai_chat`` where nothing tells.

    Raises:
        MessageError: a value is no message of the provider's, there is none at all, or the file cannot be read.
    """
    reader = _core.Reader(counter=counter, provider=provider)
    ledger, skipped, lost = _read(reader, source, reader.finish)
    _is_some(len(ledger), lost)
    return Scanned(ledger, [Skipped(*skip) for skip in skipped], lost)


def sums(
    source: str | os.PathLike[str] | bytes | Iterable[bytes],
    *,
    counter: _core.Counter,
    provider: Provider | None = None,
) -> Summed:
    """What the messages that ``scan`` reads cost: the sums of its ledger, of which none is kept.

    Memory is for some 100 MB of text, however many messages there are; for a turn that does not end and for calls
    without a result it is for their part of the ledger.

    Args:
        source: as in ``scan``.
        counter: counts the texts.
        provider: as in ``scan``.

    Raises:
        MessageError: as ``scan``.
    """
    reader = _core.Reader(counter=counter, provider=provider, sums=True)
    name, messages, framing, tokens, skipped, lost = _read(reader, source, reader.finish_sums)
    _is_some(messages, lost)
    return Summed(cast("Provider", name), messages, framing, tokens, [Skipped(*skip) for skip in skipped], lost)


def counts(
    source: str | os.PathLike[str] | bytes | Iterable[bytes],
    *,
    counter: _core.Counter,
    provider: Provider | None = None,
) -> Counted:
    """What each message that ``scan`` reads costs: ``per_message`` of its ledger, of which nothing else is made.

    Memory is as for ``sums``, and four bytes a message; thinking that words of the user's would take out of the prompt
    is remembered until they come.

    Args:
        source: as in ``scan``.
        counter: counts the texts.
        provider: as in ``scan``.

    Raises:
        MessageError: as ``scan``.
    """
    reader = _core.Reader(counter=counter, provider=provider, each=True)
    name, per_message, skipped, lost = _read(reader, source, reader.finish_counts)
    _is_some(len(per_message), lost)
    return Counted(cast("Provider", name), per_message, [Skipped(*skip) for skip in skipped], lost)


def _read(reader: _core.Reader, source: str | os.PathLike[str] | bytes | Iterable[bytes], finish: Callable[[], T]) -> T:
    try:
        for chunk in _chunks(source):
            reader.push(chunk)
        return finish()
    except ValueError as error:
        raise message_error(error) from None


def _is_some(messages: int, lost: int) -> None:
    if not messages:
        what = "no messages in it" if lost else "it is empty"
        raise MessageError(what, hint="need a JSON list of messages, or a message a line")


def begins_with_messages(head: bytes) -> list[dict[str, Any]]:
    """The messages that a text begins with, as far as ``head`` goes; none if it is a request, a log, or anything else.

    Args:
        head: the first bytes of the text; it may be cut anywhere.
    """
    values = [record.value for record in Records(Source(BytesIO(head)))]
    is_message = values and all(isinstance(value, dict) and isinstance(value.get("role"), str) for value in values)
    return values if is_message else []


def _chunks(source: str | os.PathLike[str] | bytes | Iterable[bytes]) -> Iterator[bytes]:
    """The bytes, in pieces."""
    if isinstance(source, bytes):
        yield source
    elif isinstance(source, (str, os.PathLike)):
        try:
            with open(source, "rb", buffering=0) as file:  # noqa: PTH123 - a str keeps a trailing slash
                yield from iter(lambda: file.read(CHUNK), b"")
        except OSError as error:
            what = str(error.strerror).lower()
            raise MessageError(what, path=os.fsdecode(source), hint="name a file that can be read") from error
    else:
        yield from source
