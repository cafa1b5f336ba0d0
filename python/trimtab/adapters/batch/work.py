"""A worker: it reads, answers and writes a part's rows, whatever is wrong with one of them."""

from __future__ import annotations

import json
import os
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...counting.counter import Counter, scan
from ...formats import AgentLog
from ...models.model import Model
from ...validity.validate import rules_of
from ..arrow import said
from .inputs import FileSlice, holds_rows
from .tables import PartFiles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from ...ledger.columns import Ledger
    from ...messages.types import Transcript
    from ...validity.validate import Rules
    from .task import Task

UNCHANGED = ("count", "validate")
"""The verbs that need no messages, only what they cost."""

AT_ONCE, BYTES_AT_ONCE = 64, 4 << 20
"""Rows of a table that are read at a time, and their bytes, about: each may be a session of megabytes."""


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


class Worker:
    """Does a part after the other; what is slow to make is made once."""

    def __init__(self, task: Task) -> None:
        """Take the task; a worker is one core: the engine runs as many as there shall be."""
        os.environ.setdefault("TRIMTAB_THREADS", "1")
        self._task = task
        self._model = task.model and Model.named(task.model)  # a name is looked up once, not for each row
        self._counter, self._rules = cache(Counter.for_model), cache(_rules)
        self._named: Counter | None = None  # the named model's: to look it up takes a hash of all of the model
        targets = said.parted(task.options)
        self._compacted = said.compacting(self._model, *targets) if task.verb == "compact" else None
        self._shortened = said.truncating(task.model, **task.options) if task.verb == "truncate" else None

    def __call__(self, part: int, units: str) -> str:
        """Do a part, and return what became of it as JSON; an error of the output is said there, too."""
        task = self._task
        try:
            with PartFiles(task.verb, Path(task.work), Path(task.folder), part) as files:
                for unit in json.loads(units):
                    for row in rows_of(FileSlice(*unit), task.column, texts=task.verb == "truncate"):
                        self._add(files, row)
                files.finish()
                done = {"rows": files.rows, "bad": files.bad, "places": files.places, "tokens": files.tokens}
        except OSError as error:
            return json.dumps({"part": part, "error": [error.errno, error.strerror, error.filename]})
        return json.dumps({"part": part, **done})

    def _add(self, files: PartFiles, row: InputRow) -> None:
        """Answer a row, and add the answer or why there is none."""
        row = row._replace(path=shown(row.path))
        place = {"path": row.path, "row": row.row}
        ledger: Ledger | None = None
        answer: dict[str, Any] = {}
        try:
            if row.error is not None:
                raise ValueError(row.error)  # noqa: TRY301
            if row.value is not None:
                answer, ledger = self._answer(files, row)
        except (MemoryError, OSError):
            raise  # no fault of this row
        except Exception as error:  # noqa: BLE001 - rows are independent: whatever a row raises is its own
            answer = {"error": str(error) or type(error).__name__}
            files.spoil({**place, **_first_place(row), "reason": _first_line(answer["error"]), "is_read": False})
        texts = sum(len(value) for value in answer.values() if isinstance(value, str))
        files.add({**place, **answer}, ledger, _size(row.value) + texts)

    def _answer(self, files: PartFiles, row: InputRow) -> tuple[dict[str, Any], Ledger | None]:
        """Return what is said of a row, and its tokens by block."""
        task = self._task
        if self._shortened:
            if not isinstance(row.value, bytes):
                raise ValueError("a list, no text")
            return self._shortened(row.value), None
        in_flight = task.options.get("in_flight", False)
        found, ledger, is_log = self._read(row)
        answer = said.described(found, self._model) | ({} if ledger is None else said.counted(ledger))
        if is_log and ledger is not None and not ledger.surrogates():
            rules = self._rules(task.model or found.model, in_flight)
            answer |= {"messages": len(ledger), **said.judged(ledger, rules)}
        else:
            answer |= said.validated(found, self._model, in_flight=in_flight)
        answer |= self._changed(found)
        for place in found.skipped:
            files.spoil({"path": row.path, "row": row.row, **_place(row, place.line, place.offset), **_why(place)})
        return answer, ledger

    def _read(self, row: InputRow) -> tuple[Transcript, Ledger | None, bool]:
        """Return a row's session, its tokens by block, and whether the core read it as a log.

        There are no messages where nothing needs them.
        """
        task, log = self._task, row.log
        if isinstance(row.value, bytes) and (log is None or task.format not in (None, log.found.format)):
            log = AgentLog.of(row.value, task.format)
        if log and (counter := self._counter_of(log.found)):
            ledger = log.ledger(counter)
            if ledger is not None:
                is_whole = len(ledger) == log.messages
                return (log.found if task.verb in UNCHANGED else log.read(is_accepted=is_whole)), ledger, True
        found = log.read() if log else said.transcript_of(row.value or b"", task.format)
        return found, self._ledger(found), log is not None

    def _counter_of(self, found: Transcript) -> Counter | None:
        """Return what counts a session; None where no model is known and the verb needs none.

        Raises:
            ValueError: the verb needs a model.
        """
        if not (self._model or found.model) and self._task.verb != "count":
            return None
        if self._model is None:
            return self._counter(said.model_of(found, None))
        self._named = self._named or Counter.for_model(self._model)
        return self._named

    def _ledger(self, found: Transcript) -> Ledger | None:
        """Return a session's tokens; None where nothing counts them."""
        counter = self._counter_of(found)
        return None if counter is None else scan(found.messages, counter, found.provider)

    def _changed(self, found: Transcript) -> dict[str, Any]:
        """Return the session as the verb changes it."""
        task = self._task
        if self._compacted:
            return self._compacted(found)
        if task.verb == "repair":
            return said.repaired(found, self._model, in_flight=task.options.get("in_flight", False))
        return {}


def _rules(model: str | None, in_flight: bool) -> Rules:  # noqa: FBT001 - cached
    return rules_of({"model": model, "in_flight": in_flight})


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
    import pyarrow.parquet as pq  # noqa: PLC0415

    from ..arrow.rows import Rows, values  # noqa: PLC0415 - needs arro3

    row = unit.row
    try:
        # Buffered: of a row group of gigabytes a page is read at a time.
        with pq.ParquetFile(unit.path, buffer_size=1 << 20) as file:
            if column is not None and column not in file.schema_arrow.names:
                raise ValueError(f"there is no column {column!r}")  # noqa: TRY301
            named = None if column is None else [column]
            at_once = BYTES_AT_ONCE * unit.end // max(unit.size, 1)
            for chunk in file.iter_batches(min(max(at_once, 1), AT_ONCE), row_groups=[unit.start], columns=named):
                rows = Rows.of(pa.record_batch(chunk), column)
                for value in (value for part in rows.chunks for value in values(part)):
                    yield InputRow(unit.path, row, None, None, value)
                    row += 1
        if row != unit.row + unit.end:
            raise ValueError("the file has changed since the job began")  # noqa: TRY301
    except Exception as error:  # noqa: BLE001 - of two libraries, for a file that may hold anything
        reason = f"cannot be read: {error}"
        if unit.start < 0:
            yield InputRow(unit.path, None, None, None, None, reason)
        for number in range(row, unit.row + unit.end):
            yield InputRow(unit.path, number, None, None, None, reason)


def shown(path: str) -> str:
    r"""Return a file's name as the tables have it: its bytes that are no UTF-8 as ``\xff``, so that names differ."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")


def _first_place(row: InputRow) -> dict[str, int | None]:
    """Return the first place of a row's text that cannot be read; the row's own where its text has none."""
    if isinstance(row.value, bytes):
        from ...formats._records import Records  # noqa: PLC0415 - for a row that is bad

        records = Records(BytesIO(row.value))
        for _ in records:
            pass
        for place in records.skipped:
            return _place(row, place.line, place.offset)
    return {"line": row.line, "offset": row.offset}


def _place(row: InputRow, line: int, offset: int) -> dict[str, int | None]:
    """Return a place in a row's text as one in its file; in a table it is one in the text."""
    return {"line": (row.line or 1) - 1 + line, "offset": (row.offset or 0) + offset}


def _first_line(text: str) -> str:
    """Return an error without its hint."""
    return text.partition("\n")[0]


def _why(place: Any) -> dict[str, Any]:
    return {"reason": place.reason, "is_read": place.is_read}


def _size(value: bytes | list[Any] | None) -> int:
    """Return about how many bytes a row holds."""
    return len(value) if isinstance(value, bytes) else 1 << 16
