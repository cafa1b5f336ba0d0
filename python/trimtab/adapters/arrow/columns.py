"""Python values as Arrow columns of a fixed type, whatever the values are."""

from __future__ import annotations

from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arro3.core import Array, Field, RecordBatch

    Kind: TypeAlias = "str | list[Any] | dict[str, Any]"

Columns: TypeAlias = "dict[str, Kind]"
"""Columns by name. A kind is the name of a type, ``[kind]`` for a list, or a dict of kinds for a struct."""


def batch(columns: Columns, values: dict[str, list[Any]]) -> RecordBatch:
    """Return a batch of columns; None is null in each of them."""
    from arro3.core import RecordBatch, Schema  # noqa: PLC0415 - an extra

    arrays = [array(values[name], kind) for name, kind in columns.items()]
    return RecordBatch.from_arrays(arrays, schema=Schema(fields(columns)))


def fields(columns: Columns) -> list[Field]:
    """Return the fields of columns."""
    from arro3.core import Field  # noqa: PLC0415 - an extra

    return [Field(name, array([], kind).type) for name, kind in columns.items()]


def array(values: Sequence[Any], kind: Kind) -> Array:
    """Return an array of a kind."""
    from arro3.core import Array, DataType, Field, list_array, struct_array  # noqa: PLC0415 - an extra

    if isinstance(kind, str):
        texts = [whole(value) for value in values] if "utf8" in kind else values
        return Array(texts, getattr(DataType, kind)())
    mask = Array([value is None for value in values], DataType.bool())
    if isinstance(kind, list):
        ends = accumulate((len(value or ()) for value in values), initial=0)
        inner = array([*chain.from_iterable(value or () for value in values)], kind[0])
        of = DataType.list(Field("item", inner.type))
        return list_array(Array([*ends], DataType.int32()), inner, type=of, mask=mask)
    inner_of = [array([value and value[name] for value in values], of) for name, of in kind.items()]
    return struct_array(inner_of, fields=fields(kind), mask=mask)


def whole(text: str | None) -> str | None:
    """Return a text that UTF-8 has bytes for: lone surrogates become U+FFFD."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
