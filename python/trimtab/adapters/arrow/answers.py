"""What is said of each row: the answer, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ...counting.counter import scan
from ...formats import FORMATS, AgentLog, scan_list
from ...messages.types import Transcript
from ...models.model import Model
from .columns import batch, fields
from .rows import Rows, values
from .said import described, model_of, transcript_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from arro3.core import RecordBatch, Table

    from ...counting.counter import Counter
    from ...ledger.columns import Ledger
    from .columns import Columns

    Counters: TypeAlias = "Callable[[str | Model], Counter]"

MOST = 1 << 28
"""Characters of a batch's texts: a column holds 2 GiB of them, and arro3 panics at the next byte."""


@dataclass(frozen=True, slots=True)
class SessionColumn:
    """Arrow data whose rows are sessions; ``trimtab.arrow.count`` describes the fields.

    Raises:
        TypeError: the model is neither an id nor a ``Model``.
        ValueError: the format is unknown, or the model's files cannot be read.
    """

    data: Any
    column: str | None
    model: str | Model | None
    format: str | None

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in FORMATS:
            raise ValueError(f"unknown format {self.format!r}, need one of {', '.join(FORMATS)}")
        if self.model and not isinstance(self.model, Model):
            Model.named(self.model)

    def answered(self, columns: Columns, work: Callable[[Transcript], dict[str, Any]]) -> RecordBatch | Table:
        """Return what ``work`` says of each session, with what is said of all."""

        def row(value: bytes | list[Any]) -> dict[str, Any]:
            found = transcript_of(value, self.format)
            return described(found, self.model) | work(found)

        return answered(Rows.of(self.data, self.column), columns, row)

    def counted(
        self, columns: Columns, counter: Counters, work: Callable[[Ledger], dict[str, Any]]
    ) -> RecordBatch | Table:
        """Return what ``work`` says of each session's ledger; that of most is made without objects."""

        def by_model(found: Transcript) -> Counter:
            return counter(model_of(found, self.model))

        def row(value: bytes | list[Any]) -> dict[str, Any]:
            if self.model is not None and self.format is None and isinstance(value, bytes):
                ledger = scan_list(value, counter=counter(self.model))
                if ledger is not None:
                    of: Any = ledger.provider
                    plain = described(Transcript([], of, of), self.model)
                    return plain | {"messages": len(ledger)} | work(ledger)
            log = AgentLog.of(value, self.format) if isinstance(value, bytes) else None
            found = log.found if log else transcript_of(value, self.format)
            ledger = log.ledger(by_model(found)) if log else None
            if ledger is None:
                found = log.read() if log else found
                ledger = scan(found.messages, by_model(found), found.provider)
            return described(found, self.model) | {"messages": len(ledger)} | work(ledger)

        return answered(Rows.of(self.data, self.column), columns, row)


def answered(rows: Rows, columns: Columns, work: Callable[[Any], dict[str, Any]]) -> RecordBatch | Table:
    """Return the answers about all rows, a batch for each of theirs; of a table several where they are large."""
    from arro3.core import Schema, Table  # noqa: PLC0415 - an extra

    batches = []
    for chunk in rows.chunks:
        found: dict[str, list[Any]] = {name: [] for name in columns}
        held = 0
        for value in values(chunk):
            if held > MOST and not rows.is_batch:
                batches.append(batch(columns, found))
                found, held = {name: [] for name in columns}, 0
            answer = {} if value is None else _answer(value, work)
            held += sum(len(said) for said in answer.values() if isinstance(said, str))
            for name, column in found.items():
                column.append(answer.get(name))
        batches.append(batch(columns, found))
    if rows.is_batch:
        return batches[0]
    return Table.from_batches(batches, schema=Schema(fields(columns)))


def _answer(value: Any, work: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Return the answer about a row, or why there is none."""
    try:
        if isinstance(value, ValueError):
            raise value  # noqa: TRY301
        return work(value)
    except MemoryError:
        raise  # no fault of this row
    except Exception as error:  # noqa: BLE001 - rows are independent: whatever a row raises is its own
        return {"error": str(error) or type(error).__name__}
