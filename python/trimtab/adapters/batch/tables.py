"""The tables of a job, and the files of a part: written beside, and put in their place when all of them are whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ...ledger.columns import Kind, Role
from ..arrow import said
from ..arrow.columns import batch, fields
from .job import name_of, to_disk

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

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

TABLES = dict.fromkeys(ROWS, ("quarantine", "messages", "sessions")) | {"truncate": ("quarantine", "texts")}
"""Folders of each verb's tables; a part is done when its file of the last one stands."""

ROLES = [role.name.lower() for role in Role]
KINDS = [*(kind.name.lower() for kind in Kind), "overhead"]
"""Names of the numbers in a ledger's columns; what a message costs beside its blocks is ``overhead``."""

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
        self._writers = {table: pq.ParquetWriter(path, self._schema(table)) for table, path in self._drafts.items()}
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
            self._writers["messages"].write_table(self._blocks.table().cast(self._schema("messages")))
            self._blocks = Blocks()
        self._size = 0

    def _schema(self, table: str) -> pa.Schema:
        return pa.schema([pa.field(field) for field in fields(self._columns[table])])


class Blocks:
    """The tokens of sessions' blocks, as columns; behind the blocks of each message stands its overhead."""

    def __init__(self) -> None:
        """Begin with no session."""
        self.places: list[tuple[str, int, int]] = []
        self._names: list[str | None] = [None]
        self._columns: list[list[Any]] = [[], [], [], [], []]

    def add(self, path: str, row: int, ledger: Ledger) -> None:
        """Add a session's blocks."""
        owner, kind, tokens = ledger.owner, ledger.kind, ledger.tokens
        messages = np.arange(len(ledger), dtype=np.uint32)
        over = ledger.per_message - np.bincount(owner, tokens, len(ledger)).astype(np.uint32)
        names, of = ledger.names
        tool = np.where(said.OF_TOOLS[kind], of + len(self._names), 0)
        self._names += names
        index = np.concatenate([owner, messages])
        order = np.argsort(index, kind="stable")
        made = (
            index,
            ledger.role[index],
            np.concatenate([kind, np.full(len(ledger), len(Kind), np.uint8)]),
            np.concatenate([tool, np.zeros(len(ledger), tool.dtype)]),
            np.concatenate([tokens, over]),
        )
        for column, values in zip(self._columns, made, strict=True):
            column.append(values[order])
        self.places.append((path, row, len(index)))

    def table(self) -> pa.Table:
        """Return the blocks of all sessions."""
        paths, rows, lengths = zip(*self.places, strict=True)
        of = np.repeat(np.arange(len(lengths)), lengths)
        index, role, kind, tool, tokens = map(np.concatenate, self._columns)
        columns = {
            "path": pa.array(paths, pa.string()).take(pa.array(of)),
            "row": pa.array(np.array(rows, np.uint64)[of]),
            "index": pa.array(index),
            "role": pa.array(ROLES).take(pa.array(role)),
            "kind": pa.array(KINDS).take(pa.array(kind)),
            "tool": pa.array(self._names, pa.string()).take(pa.array(tool)),
            "tokens": pa.array(tokens),
        }
        return pa.table(columns)
