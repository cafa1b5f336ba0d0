"""What is said of each row: the answer, or why there is none."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ... import _core
from ...counting.counter import Counter, scan
from ...errors import PlanError
from ...formats import FORMATS, read, scan_list
from ...messages.types import Transcript
from ...session.compactor import Compactor
from .columns import batch, fields
from .rows import Rows, values

if TYPE_CHECKING:
    from collections.abc import Callable

    from arro3.core import RecordBatch, Table

    from ...ledger.columns import Ledger
    from ...models.model import Model
    from .columns import Columns

    Counters: TypeAlias = "Callable[[str | Model], Counter]"


@dataclass(frozen=True, slots=True)
class SessionColumn:
    """Arrow data whose rows are sessions; ``trimtab.arrow.count`` describes the fields.

    Raises:
        ValueError: the format is unknown.
    """

    data: Any
    column: str | None
    model: str | Model | None
    format: str | None

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in FORMATS:
            raise ValueError(f"unknown format {self.format!r}, need one of {', '.join(FORMATS)}")

    def answered(self, columns: Columns, work: Callable[[Transcript], dict[str, Any]]) -> RecordBatch | Table:
        """Return what ``work`` says of each session, with what is said of all."""

        def row(value: bytes | list[Any]) -> dict[str, Any]:
            found = _transcript(value, self.format)
            session = self._said(found.format, found.provider, len(found.messages), len(found.skipped), found.model)
            return session | work(found)

        return answered(Rows.of(self.data, self.column), columns, row)

    def counted(
        self, columns: Columns, counter: Counters, work: Callable[[Ledger], dict[str, Any]]
    ) -> RecordBatch | Table:
        """Return what ``work`` says of each session's ledger; a plain list's is made without objects."""

        def row(value: bytes | list[Any]) -> dict[str, Any]:
            if self.model is not None and self.format is None and isinstance(value, bytes):
                ledger = scan_list(value, counter=counter(self.model))
                if ledger is not None:
                    return self._said(ledger.provider, ledger.provider, len(ledger)) | work(ledger)
            found = _transcript(value, self.format)
            ledger = scan(found.messages, counter(model_of(found, self.model)), found.provider)
            session = self._said(found.format, found.provider, len(found.messages), len(found.skipped), found.model)
            return session | work(ledger)

        return answered(Rows.of(self.data, self.column), columns, row)

    def _said(
        self, format: str, provider: str, messages: int, skipped: int = 0, model: str | None = None
    ) -> dict[str, Any]:
        """Return what is said of every session."""
        named = self.model if isinstance(self.model, str) or self.model is None else self.model.name
        return {
            "format": format,
            "provider": provider,
            "model": named or model,
            "messages": messages,
            "skipped": skipped,
        }


def as_json(messages: Any) -> str:
    """Return messages as JSON text, with characters as they are; halves of one, which UTF-8 has not, are escaped."""
    text = json.dumps(messages, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(messages, separators=(",", ":"))
    return text


def answered(rows: Rows, columns: Columns, work: Callable[[Any], dict[str, Any]]) -> RecordBatch | Table:
    """Return the answers about all rows, a batch for each of theirs."""
    from arro3.core import Schema, Table  # noqa: PLC0415 - an extra

    batches = []
    for chunk in rows.chunks:
        found: dict[str, list[Any]] = {name: [] for name in columns}
        for value in values(chunk):
            answer = {} if value is None else _answer(value, work)
            for name, column in found.items():
                column.append(answer.get(name))
        batches.append(batch(columns, found))
    if rows.is_batch:
        return batches[0]
    return Table.from_batches(batches, schema=Schema(fields(columns)))


def _answer(value: Any, work: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Return the answer about a row, or why there is none."""
    try:
        return work(value)
    except MemoryError:
        raise  # no fault of this row
    except Exception as error:  # noqa: BLE001 - rows are independent: whatever a row raises is its own
        return {"error": str(error) or type(error).__name__}


def _transcript(value: bytes | list[Any], format: str | None) -> Transcript:
    """Return a row as a session: its text is read, messages are taken as they are."""
    if isinstance(value, bytes):
        return read(value, format=format, repair="logs")
    if not value:
        raise ValueError("an empty list: need at least one message")
    provider: Any = format or _core.detect(value) or "openai_chat"
    return Transcript(value, provider, provider)


def model_of(found: Transcript, model: str | Model | None) -> str | Model:
    """Return the model that is named, or that of a session."""
    of = model or found.model
    if of is None:
        raise ValueError("it names no model: pass model=")
    return of


def check_settings(
    settings: dict[str, Any], model: str | Model | None, target_tokens: int | None, target_share: float | None
) -> None:
    """Raise what is wrong with the settings of every row."""
    one = [{"role": "user", "content": "a"}]
    with Compactor(model or "claude-sonnet-5-5", **settings) as cm, suppress(PlanError):  # there is nothing to compact
        cm.plan(one, target_tokens=target_tokens, target_share=target_share)
