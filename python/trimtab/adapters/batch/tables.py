"""The tables of a job, and the files of a part: written beside, and put in their place when all of them are whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..arrow import said
from ..arrow.columns import batch, fields
from .blocks import Blocks
from .inputs import shown
from .job import name_of, to_disk
from .task import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ... import _core
    from ...ledger.columns import Ledger
    from ..arrow.columns import Columns
    from .inputs import FileSlice

PLACE: Columns = {"path": "utf8", "row": "uint64"}
"""Where a row comes from: its file, and its number there from 0."""

ABOUT: Columns = {**PLACE, **said.SESSION, **said.TOKENS, **said.PROBLEMS}

ROWS: Mapping[str, Columns] = {
    "count": {**ABOUT, **said.ERROR},
    "validate": {**ABOUT, **said.ERROR},
    "compact": {**ABOUT, **said.SMALLER, **said.ERROR},
    "repair": {**ABOUT, **said.MENDED, **said.ERROR},
    "truncate": {**PLACE, **said.SHORTER, **said.ERROR},
}
"""Columns of each verb's row."""

MESSAGES: Columns = {
    **PLACE,
    "index": "uint32",
    "role": "utf8",
    "kind": "utf8",
    "tool": "utf8",
    "tokens": "uint32",
}
QUARANTINE: Columns = {**PLACE, "line": "uint64", "offset": "uint64", "reason": "utf8", "is_read": "bool"}

NAMES = pa.dictionary(pa.int32(), pa.string())

FLUSHED, ROW, PROBLEM = 16 << 20, 2_000, 400
"""Bytes of rows that are held before they are written; about those of a row beside its texts, and of a problem."""


class PartFiles:
    """The files of one part, in a folder of work until ``finish``.

    Attributes:
        rows: number of rows.
        bad: number of them that have an error.
        places: number of rows of the quarantine.
        tokens: tokens of all sessions.
    """

    def __init__(self, verb: str, work: Path, folder: Path, part: int) -> None:
        """Begin a part's files.

        Raises:
            OSError: a file cannot be made.
        """
        *_, self._main = self._tables = TABLES[verb]
        self._columns = {self._main: ROWS[verb], "messages": MESSAGES, "quarantine": QUARANTINE}
        self._folder, self._name = folder, name_of(part)
        self._drafts = {table: work / f"{table}-{self._name}" for table in self._tables}
        self._writers = {table: self._writer(table) for table in self._tables}
        self._held: dict[str, list[dict[str, Any]]] = {self._main: [], "quarantine": []}
        self._blocks = Blocks()
        self._counted: list[bool] = []  # of each row that is held, whether it has tokens
        self._size = self.rows = self.bad = self.places = self.tokens = 0

    def __enter__(self) -> Self:
        """Return the files."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close what is open, and remove what was not put in its place."""
        for writer in self._writers.values():
            writer.close()
        for draft in self._drafts.values():
            draft.unlink(missing_ok=True)

    def add(self, row: dict[str, Any], ledger: Ledger | None, size: int) -> None:
        """Add a row, and the tokens of its messages; ``size`` is the bytes that it holds."""
        if ledger is not None:
            self._blocks.add(row["path"], row["row"], ledger)
        self._hold(row, size, has_ledger=ledger is not None)
        self._flush_large()

    def add_logs(self, units: Sequence[FileSlice], logs: _core.Logs, model: str) -> int:
        """Add the rows and tokens of the first units, logs of which no more has to be said; return their number."""
        added = self._blocks.add_logs([unit.path for unit in units], logs)
        for unit, (of, provider, messages) in zip(units, added, strict=False):
            path = shown(unit.path)
            self._blocks.places.append((path, 0))
            about = {"format": of, "provider": provider, "model": model, "messages": messages}
            row = {"path": path, "row": 0, **about, "skipped": 0, "problems": ()}
            self._hold(row, unit.size, has_ledger=True)
        self._flush_large()
        return len(added)

    def _hold(self, row: dict[str, Any], size: int, *, has_ledger: bool) -> None:
        self._held[self._main].append(row)
        self._counted.append(has_ledger)
        self.rows += 1
        self.bad += row.get("error") is not None
        self._size += size + ROW + PROBLEM * len(row.get("problems") or ())

    def _flush_large(self) -> None:
        if self._size >= FLUSHED:
            self._flush()

    def spoil(self, place: dict[str, Any]) -> None:
        """Add a place that could not be read, or not as it stands."""
        self.places += 1
        self._size += ROW
        self._held["quarantine"].append(place)

    def finish(self) -> None:
        """Write what is held, and put the files in their place, that of the rows last.

        All are on the disk by then: after a power loss a part that is done would else be one of no bytes.
        """
        self._flush()
        for table in self._tables:
            self._writers[table].close()
            to_disk(self._drafts[table])
        for table in self._tables:
            self._drafts[table].replace(self._folder / table / self._name)
            to_disk(self._folder / table)

    def _flush(self) -> None:
        for table, rows in self._held.items():
            if rows:
                self._writers[table].write_batch(self._batch(table, rows))
            rows.clear()
        if self._blocks.places:
            self._writers["messages"].write_table(self._blocks.table(self._schema("messages")))
        self._blocks, self._counted = Blocks(), []
        self._size = 0

    def _batch(self, table: str, rows: list[dict[str, Any]]) -> pa.RecordBatch:
        """Return rows as columns; the sums of their tokens come from the core."""
        schema, columns, sums = self._schema(table), self._columns[table], {}
        if "tokens" in columns:
            sums = self._blocks.sums(self._counted, schema)
            self.tokens += pc.sum(sums["tokens"]).as_py() or 0
        given = {name: kind for name, kind in columns.items() if name not in sums}
        held = pa.record_batch(batch(given, {name: [row.get(name) for row in rows] for name in given}))
        arrays = [sums[name] if name in sums else held.column(name) for name in columns]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _writer(self, table: str) -> pq.ParquetWriter:
        # Dictionaries are how names of blocks are written, no type that a reader is told of.
        is_told = table != "messages"
        return pq.ParquetWriter(self._drafts[table], self._schema(table), store_schema=is_told)

    def _schema(self, table: str) -> pa.Schema:
        told = [pa.field(field) for field in fields(self._columns[table])]
        if table == "messages":
            told = [field.with_type(NAMES) if field.type == pa.string() else field for field in told]
        return pa.schema(told)
