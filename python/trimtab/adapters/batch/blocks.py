"""The tokens of a part's sessions as columns: of their blocks, and their sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from ... import _core
from ...ledger.columns import Kind, Role, by_kind
from ..arrow.columns import array
from .inputs import SMALL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ...ledger.columns import Ledger

ROLES = [role.name.lower() for role in Role]
KINDS = [*(kind.name.lower() for kind in Kind), "overhead"]
"""Names of the numbers in a ledger's columns; what a message costs beside its blocks is ``overhead``."""


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

    def add_logs(self, paths: list[str], logs: _core.Logs) -> list[tuple[str, str, int]]:
        """Add the blocks of files up to one of which more has to be said; return format, provider and messages of each.

        Their places are to be noted.
        """
        return self._columns.add_files(paths, logs=logs, most=SMALL)

    def table(self, schema: pa.Schema) -> pa.Table:
        """Return the blocks of all sessions; none can be added then."""
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

    def sums(self, has: Sequence[bool], schema: pa.Schema) -> dict[str, pa.Array]:
        """Return sums by the name of their column, for rows of which some have a session, each the next.

        Args:
            has: whether each row has one.
            schema: that of the rows.
        """
        flat, overhead, tools, tool, of_tool, names = self._columns.sums()
        known = np.array(has, bool)
        by_role: Any = flat.reshape(-1, len(Role), len(Kind)).transpose(1, 2, 0)
        kinds: dict[str, Any] = by_kind([[*of_kinds] for of_kinds in by_role], cast("Any", overhead))  # of all at once
        ends = np.zeros(len(known) + 1, np.int32)
        np.cumsum(_spread(tools, known), out=ends[1:])
        used = [_named(tool, names).dictionary_decode(), _array(of_tool, pa.uint64())]
        struct, of_tools = schema.field("tokens_by_kind").type, schema.field("tokens_by_tool").type
        each = [_array(_spread(kinds[field.name], known), field.type) for field in struct]
        pairs = pa.Array.from_buffers(of_tools.value_type, len(tool), [None], children=used)
        bits = _bits(known)
        return {
            "tokens": _array(_spread(sum(kinds.values()), known), pa.uint64(), known),
            "tokens_by_kind": pa.Array.from_buffers(struct, len(known), [bits], children=each),
            "tokens_by_tool": pa.Array.from_buffers(of_tools, len(known), [bits, pa.py_buffer(ends)], children=[pairs]),
        }


def _named(numbers: NDArray[np.int32], names: Sequence[str]) -> pa.Array:
    """Return names by their numbers; null where the number is -1."""
    return pa.DictionaryArray.from_arrays(_array(numbers, pa.int32(), numbers >= 0), pa.array(array(names, "utf8")))


def _spread(numbers: NDArray[Any], known: NDArray[np.bool_]) -> NDArray[Any]:
    """Return numbers at the places that are ``known``, with zeros at the others."""
    spread = np.zeros(len(known), numbers.dtype)
    spread[known] = numbers
    return spread


def _bits(known: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(known, bitorder="little"))


def _array(numbers: NDArray[Any], kind: pa.DataType, known: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return numbers as an array, of which some are ``known``.

    ``pyarrow.array`` would import pandas, where it is installed, for 0.3 s.
    """
    bits = None if known is None else _bits(known)
    return pa.Array.from_buffers(kind, len(numbers), [bits, pa.py_buffer(numbers)])
