"""The tables of a job, and the files of a part: written beside, and put in their place when all of them are whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ... import _core
from ...ledger.columns import Kind, Role
from ..arrow import said
from ..arrow.columns import array, batch, fields
from .job import name_of, to_disk
from .task import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from ...ledger.columns import Ledger
    from ..arrow.columns import Columns

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

ROLES = [role.name.lower() for role in Role]
KINDS = [*(kind.name.lower() for kind in Kind), "overhead"]
"""Names of the numbers in a ledger's columns; what a message costs beside its blocks is ``overhead``."""

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
        self._held[self._main].append(row)
        self.rows += 1
        self.bad += row.get("error") is not None
        self.tokens += row.get("tokens") or 0
        if ledger is not None:
            self._blocks.add(row["path"], row["row"], ledger)
        self._size += size + ROW + PROBLEM * len(row.get("problems") or ())
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
            columns = self._columns[table]
            if rows:
                held = {name: [row.get(name) for row in rows] for name in columns}
                self._writers[table].write_batch(pa.record_batch(batch(columns, held)))
            rows.clear()
        if self._blocks.places:
            self._writers["messages"].write_table(self._blocks.table(self._schema("messages")))
            self._blocks = Blocks()
        self._size = 0

    def _writer(self, table: str) -> pq.ParquetWriter:
        # Dictionaries are how names of blocks are written, no type that a reader is told of.
        is_told = table != "messages"
        return pq.ParquetWriter(self._drafts[table], self._schema(table), store_schema=is_told)

    def _schema(self, table: str) -> pa.Schema:
        told = [pa.field(field) for field in fields(self._columns[table])]
        if table == "messages":
            told = [field.with_type(NAMES) if field.type == pa.string() else field for field in told]
        return pa.schema(told)


class Blocks:
    """The tokens of sessions' blocks, as columns; behind the blocks of each message stands its overhead."""

    def __init__(self) -> None:
        """Begin with no session."""
        self.places: list[tuple[str, int]] = []
        self._columns = _core.Blocks()

    def add(self, path: str, row: int, ledger: Ledger) -> None:
        """Add a session's blocks."""
        self._columns.add(ledger)
        self.places.append((path, row))

    def table(self, schema: pa.Schema) -> pa.Table:
        """Return the blocks of all sessions."""
        lengths, index, role, kind, tool, tokens, tools = self._columns.columns()
        paths, rows = zip(*self.places, strict=True)
        columns = [
            _named(np.repeat(np.arange(len(lengths), dtype=np.int32), lengths), paths),
            _array(np.repeat(np.array(rows, np.uint64), lengths), pa.uint64()),
            _array(index, pa.uint32()),
            _named(role.astype(np.int32), ROLES),
            _named(kind.astype(np.int32), KINDS),
            _named(tool, tools),
            _array(tokens, pa.uint32()),
        ]
        return pa.Table.from_arrays(columns, schema=schema)


def _named(numbers: NDArray[np.int32], names: Sequence[str]) -> pa.Array:
    """Return names by their numbers; null where the number is -1."""
    return pa.DictionaryArray.from_arrays(_array(numbers, pa.int32(), numbers >= 0), pa.array(array(names, "utf8")))


def _array(numbers: NDArray[Any], kind: pa.DataType, known: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return numbers as an array, of which some are ``known``.

    ``pyarrow.array`` would import pandas, where it is installed, for 0.3 s.
    """
    bits = None if known is None else pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(kind, len(numbers), [bits, pa.py_buffer(numbers)])
