"""Count messages from their JSON text, in Rust, without making Python objects."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import _core
from ..counting.counter import message_error
from ..errors import MessageError
from ..ledger.columns import MessageFlag, Role
from ..messages.types import Skipped
from ._records import Records
from ._source import naming, opened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..ledger.columns import Ledger
    from ..models.provider import Provider

Bytes: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | Iterable[bytes]"
"""A path, bytes or chunks of bytes."""

CHUNK = 1 << 20
"""Bytes of a file that are read at once."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """The ledger of JSON text.

    Attributes:
        ledger: the messages, in the order of the text.
        skipped: the first 10,000 faults.
        lost: number of unreadable places.
    """

    ledger: Ledger
    skipped: list[Skipped]
    lost: int


@dataclass(frozen=True, slots=True)
class Summed:
    """Token sums of the messages in JSON text.

    Attributes:
        provider: their shape.
        messages: number of messages.
        framing: message overhead in tokens.
        tokens: tokens of their rows, by ``Role`` and ``Kind``.
        skipped: the first 10,000 faults.
        lost: number of unreadable places.
    """

    provider: Provider
    messages: int
    framing: int
    tokens: list[list[int]]
    skipped: list[Skipped]
    lost: int


@dataclass(frozen=True, slots=True)
class Counted:
    """Tokens of each message in JSON text.

    Attributes:
        provider: their shape.
        per_message: tokens of each message, in the order of the text: uint32, shape (messages,).
        skipped: the first 10,000 faults.
        lost: number of unreadable places.
    """

    provider: Provider
    per_message: NDArray[np.uint32]
    skipped: list[Skipped]
    lost: int


def scan(source: Bytes, *, counter: _core.Counter, provider: Provider | None = None) -> Scanned:
    """Read a JSON list of messages, or JSONL with one message per line, into a ledger; nothing is repaired.

    Equal to ``Ledger.of`` on the result of ``json.loads``, but parallel and without Python objects: memory is that of
    the ledger and about 100 MB of text. A value of more than 64 MiB is skipped.

    Args:
        source: a path, the text's bytes, or chunks of them.
        counter: counts the texts.
        provider: the messages' shape; by default detected from the first 32 MiB, else ``openai_chat``.

    Raises:
        MessageError: a value is no message of this provider, there are no messages, or the file cannot be read.
    """
    _, ledger, skipped, lost = _read(source, "ledger", counter, provider)
    return Scanned(ledger, skipped, lost)


def sums(source: Bytes, *, counter: _core.Counter, provider: Provider | None = None) -> Summed:
    """Return the token sums of the messages that ``scan`` would read, without keeping a ledger.

    Memory is about 100 MB for any number of messages, plus the ledger of an unfinished turn and of open calls.

    Args:
        source: as in ``scan``.
        counter: counts the texts.
        provider: as in ``scan``.

    Raises:
        MessageError: as ``scan``.
    """
    name, (messages, framing, tokens), skipped, lost = _read(source, "sums", counter, provider)
    return Summed(name, messages, framing, tokens, skipped, lost)


def counts(source: Bytes, *, counter: _core.Counter, provider: Provider | None = None) -> Counted:
    """Return the tokens of each message that ``scan`` would read: ``per_message`` of its ledger.

    Memory is that of ``sums`` and four bytes per message.

    Args:
        source: as in ``scan``.
        counter: counts the texts.
        provider: as in ``scan``.

    Raises:
        MessageError: as ``scan``.
    """
    name, per_message, skipped, lost = _read(source, "counts", counter, provider)
    return Counted(name, per_message, skipped, lost)


def _read(
    source: Bytes, want: str, counter: _core.Counter, provider: Provider | None
) -> tuple[Provider, Any, list[Skipped], int]:
    """Return the provider, what is wanted, the unreadable places and their number."""
    reader = _core.Reader(counter=counter, provider=provider, want=want)
    with naming(source):
        is_empty = True
        try:
            for chunk in _chunks(source):
                is_empty = is_empty and not chunk.strip()
                reader.push(chunk)
            name, found, skipped, lost = reader.finish()
        except MessageError:
            raise
        except ValueError as error:
            raise message_error(error) from None
        if not (found[0] if want == "sums" else len(found)):
            what = "it is empty" if is_empty else "no messages in it"
            what += "".join(f"; line {line} (byte {offset}): {reason}" for line, offset, reason, _ in skipped[:1])
            raise MessageError(what, hint="need a JSON list of messages, or a message a line")
    return name, found, [Skipped(*skip) for skip in skipped], lost


CLINE = (b'"modelInfo"', b'"metrics"')
"""Keys of Cline's messages, which are counted like any other, and read as its sessions."""

PLAIN = ("anthropic", "openai_chat", "bedrock")
"""Shapes whose messages all have a role: a log's entry has none, and is refused as a message."""


def scan_list(text: bytes, *, counter: _core.Counter) -> Ledger | None:
    """Return the ledger of a JSON list of messages without making objects, where ``read`` would change none of them.

    Args:
        text: any text.
        counter: counts the texts.

    Returns:
        The ledger of the messages that ``read`` returns; None where only ``read`` can tell what the text is.
    """
    if text[:99].lstrip()[:1] != b"[" or any(key in text for key in CLINE):
        return None
    try:
        found = scan(text, counter=counter)
    except MessageError:
        return None
    ledger, roles = found.ledger, found.ledger.role
    if found.lost or found.skipped or ledger.provider not in PLAIN or (roles == Role.OTHER).any():
        return None
    if ledger.provider == "anthropic" and roles[0] == Role.SYSTEM:
        return None  # it becomes the system prompt
    has_no_content = (ledger.marks & MessageFlag.NULL).astype(bool)
    return None if (has_no_content & (roles != Role.ASSISTANT)).any() else ledger


def begins_with_messages(head: bytes) -> list[dict[str, Any]]:
    """Return the messages in the first bytes of a text; none if it is no list of messages.

    Args:
        head: the first bytes of the text; it may be cut anywhere.
    """
    values = [record.value for record in Records(BytesIO(head))]
    is_message = values and all(isinstance(value, dict) and isinstance(value.get("role"), str) for value in values)
    return values if is_message else []


def _chunks(source: Bytes) -> Iterable[bytes]:
    """Yield the bytes in chunks."""
    if isinstance(source, bytes | bytearray | memoryview):
        yield bytes(source)
    elif isinstance(source, (str, os.PathLike)):
        with opened(source, buffering=0) as file:
            yield from iter(lambda: file.read(CHUNK), b"")
    elif isinstance(source, Iterable):
        yield from source
    else:
        raise TypeError(f"source must be a path, bytes or chunks of bytes, got {type(source).__name__}")
