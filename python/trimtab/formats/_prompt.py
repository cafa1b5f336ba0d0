"""The prompt that the core finds in the lines of a file, as a transcript or as JSON text."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from .. import _core
from ..counting.counter import message_error
from ..messages.types import BilledCall, Charged, Skipped
from ..messages.usage import Usage
from ._builder import UNCHARGED
from ._parts import seconds_of
from ._record import changed
from ._records import CHUNK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._builder import Builder
    from ._records import Records


@dataclass(frozen=True, slots=True)
class FilePrompt:
    """The next prompt of a file whose lines the core has read.

    Attributes:
        records: the file's values.
        found: what the core found.
        held: the file's bytes with their positions; none if the file has to be read again.
    """

    records: Records
    found: _core.SessionPrompt
    held: list[tuple[int, bytes]]

    @classmethod
    def of(cls, records: Records, format: str, *, whole: bool) -> Self:
        """Read a file; ``whole`` keeps messages that a compaction replaced."""
        lines = _core.SessionLines(format, whole=whole)
        held = records.feed(lines)
        return cls(records, lines.prompt(), held)

    def texts(self) -> Iterator[str]:
        """Yield the messages as JSON lists, one after the other.

        Raises:
            MessageError: the file changed.
        """
        at = 0
        while at < self.found.messages():
            stop, places = self.found.places(at, CHUNK)
            pieces = self.held or [(offset, self.records.bytes_at(offset, size)) for offset, size in places]
            try:
                text = self.found.write(at, stop, pieces)
            except ValueError as error:
                raise changed() from error
            yield text
            at = stop

    def ledger(self, counter: _core.Counter, provider: str, messages: int | None = None) -> _core.Ledger | None:
        """Return the ledger of the first messages without making objects; None where objects alone can tell what it is.

        Raises:
            MessageError: a value is no message of this provider.
        """
        if not self.held or not self.found.messages():
            return None
        try:
            return self.found.ledger(self.held, counter=counter, provider=provider, messages=messages)
        except ValueError as error:
            raise message_error(error) from None

    def skipped(self) -> list[Skipped]:
        """Return the records that cannot be read."""
        return [Skipped(*fault) for fault in self.found.faults()]

    def fill(self, built: Builder) -> None:
        """Add the messages, what the calls were billed, and all else that every format has.

        Raises:
            MessageError: the file changed.
        """
        for text in self.texts():
            try:
                built.messages += json.loads(text)
            except (ValueError, RecursionError) as error:
                raise changed() from error
        built.compactions, built.contexts = self.found.compactions()
        for before, compactions, is_prompt, model, time, billed in self.found.charges():
            usage = _billed(json.loads(billed)) if isinstance(billed, str) else Usage(*billed)
            tokens = usage.input + usage.cache_read + usage.cache_write
            if tokens:
                at = seconds_of(time) if isinstance(time, str) else time
                built.calls.append(BilledCall(before, usage, model, at, compactions))
                if is_prompt:
                    built.usage.append(Charged(before, tokens, usage.output, usage.earlier))
        for names, count in self.found.left_out():
            built.leave(*names, count=count)
        built.skipped = self.skipped()


def _billed(usages: list[Any]) -> Usage:
    """Return the usage of a response: its lines repeat the input, and only the last may have the full output."""
    read = [*map(Usage.recorded, usages)]
    most = max(read, key=lambda usage: usage.prompt, default=UNCHARGED)
    return replace(most, output=max((usage.output for usage in read), default=0))
