"""The rows of a unit, with their places; what cannot be read is a row with the reason."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...formats import AgentLog
from .inputs import FileSlice, holds_rows, table_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

AT_ONCE, BYTES_AT_ONCE = 64, 4 << 20
"""Rows that are read at a time, and their bytes, about: each may be a session of megabytes."""


class InputRow(NamedTuple):
    """A row of an input.

    Attributes:
        path: its file.
        row: its number there, from 0; None for a table that cannot be opened.
        line: number of its first line, from 1; None in a table.
        offset: byte of that line; None in a table.
        value: its text, its messages, or None for a null.
        error: why there is no value.
        log: the value as a log, where the core has read its lines already.
    """

    path: str
    row: int | None
    line: int | None
    offset: int | None
    value: bytes | list[Any] | None
    error: str | None = None
    log: AgentLog | None = None


def rows_of(unit: FileSlice, column: str | None, *, texts: bool = False) -> Iterator[InputRow]:
    """Yield a unit's rows, which are sessions or ``texts``; what cannot be read is a row with the reason."""
    try:
        if unit.kind == "parquet":
            yield from _of_table(unit, column)
        elif unit.kind == "lines":
            with Path(unit.path).open("rb") as file:
                yield from _of_lines(file, unit, column)
        else:
            text = _bytes_of(unit.path)
            log = None if texts else AgentLog.of_lines(text)
            if log is None and unit.kind == "undecided" and holds_rows(BytesIO(text), texts=texts):
                yield from _of_lines(BytesIO(text), unit, column)
            else:
                yield InputRow(unit.path, 0, 1, 0, text, log=log)
    except OSError as error:
        yield InputRow(unit.path, unit.row, unit.row + 1, unit.start, None, _unreadable(error))


def _bytes_of(path: str) -> bytes:
    """Return a file's bytes."""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a million files
        return file.readall()


def _of_lines(file: BinaryIO, unit: FileSlice, column: str | None) -> Iterator[InputRow]:
    """Yield the rows of lines; blank ones are none. Behind one that cannot be read nothing is."""
    at, number, reason = unit.start, unit.row, "the file has become shorter since the job began"
    try:
        file.seek(at)
        while at < unit.end and (line := file.readline()):
            if not line.isspace():
                yield _of_line(InputRow(unit.path, number, number + 1, at, line), column)
            at, number = at + len(line), number + 1
    except OSError as error:
        reason = _unreadable(error)
    if at < unit.end:
        yield InputRow(unit.path, number, number + 1, at, None, reason)


def _unreadable(error: OSError) -> str:
    return f"cannot be read: {(error.strerror or str(error)).lower()}"


def _of_line(row: InputRow, column: str | None) -> InputRow:
    """Return a line as a row: its value, or a field of it."""
    text: Any = row.value
    if column is None and text.lstrip()[:1] != b'"':
        return row
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return row._replace(value=None, error=f"no JSON: {error}")
    if column is not None:
        if not isinstance(value, dict) or column not in value:
            return row._replace(value=None, error=f"there is no field {column!r}")
        value = value[column]
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogatepass")
    if not isinstance(value, bytes | list | None):
        value = json.dumps(value).encode()
    return row._replace(value=value)


def _of_table(unit: FileSlice, column: str | None) -> Iterator[InputRow]:
    """Yield the rows of a table's row group; where it cannot be read, the rows that are left, with the reason."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    from ..arrow.rows import Rows, values  # noqa: PLC0415 - needs arro3

    row = unit.row
    try:
        # Buffered: of a row group of gigabytes a page is read at a time.
        with table_at(unit.path, buffer_size=1 << 20) as file:
            if column is not None and column not in file.schema_arrow.names:
                raise ValueError(f"there is no column {column!r}")  # noqa: TRY301
            named = None if column is None else [column]
            at_once = BYTES_AT_ONCE * unit.end // max(unit.size, 1)
            for chunk in file.iter_batches(min(max(at_once, 1), AT_ONCE), row_groups=[unit.start], columns=named):
                rows = Rows.of(pa.record_batch(chunk), column)
                for value in (value for part in rows.chunks for value in values(part)):
                    why = str(value) if isinstance(value, ValueError) else None
                    yield InputRow(unit.path, row, None, None, None if why else value, why)
                    row += 1
        if row != unit.row + unit.end:
            raise ValueError("the file has changed since the job began")  # noqa: TRY301
    except Exception as error:  # noqa: BLE001 - of two libraries, for a file that may hold anything
        reason = f"cannot be read: {error}"
        if unit.start < 0:
            yield InputRow(unit.path, None, None, None, None, reason)
        for number in range(row, unit.row + unit.end):
            yield InputRow(unit.path, number, None, None, None, reason)
