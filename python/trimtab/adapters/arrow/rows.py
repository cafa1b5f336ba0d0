"""Arrow data as Python values: the rows of one column, a few at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from arro3.core import Array, DataType

AT_ONCE = 64
"""Rows that are Python objects at the same time: a row may be a session of megabytes."""

ACCEPTED = "strings or binary (JSON text or a session file), or lists of structs (messages)"

STRINGS = ("string", "large_string", "string_view")
TEXTS = (*STRINGS, "binary", "large_binary", "binary_view")
NAMED = ("date", "time", "timestamp", "duration", "decimal")
"""Types whose values are no JSON, and are read as text: a time as ISO 8601 has it, a decimal number as it is."""

PLAIN = (*TEXTS, *NAMED, "boolean", "integer", "float32", "float64", "null")
LISTS = ("list", "large_list", "fixed_size_list")


@dataclass(frozen=True, slots=True)
class Rows:
    """One column of Arrow data.

    Attributes:
        name: the column's name.
        chunks: its arrays.
        is_batch: whether the data was one array or batch, not a stream of them.
    """

    name: str
    chunks: list[Array]
    is_batch: bool

    @classmethod
    def of(cls, data: Any, column: str | None, *, texts: bool = False) -> Rows:
        """Return a column of Arrow data.

        Args:
            data: an object with ``__arrow_c_array__`` or ``__arrow_c_stream__``.
            column: name of a table's column; None takes the only one, or an array itself.
            texts: whether the rows are texts, not sessions.

        Raises:
            TypeError: it is no Arrow data, or the column has a type that is neither text nor messages.
            ValueError: there is no such column, or there are several and none is named.
            ImportError: the extra ``arrow`` is not installed.
        """
        try:
            from arro3.core import ChunkedArray, DataType, Table  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise ImportError(f"Arrow data needs the extra: pip install 'trimtab[arrow]' ({error})") from error

        is_batch = hasattr(data, "__arrow_c_array__")
        if not is_batch and not hasattr(data, "__arrow_c_stream__"):
            raise TypeError(f"need Arrow data (__arrow_c_array__ or __arrow_c_stream__), got {type(data).__name__}")
        found, name = ChunkedArray.from_arrow(data), column or ""
        chunks = found.chunks
        if DataType.is_struct(found.type):
            table = Table.from_batches([_batch(chunk) for chunk in found.chunks], schema=_schema(found.type))
            name = _named(table.column_names, column)
            found = table.column(name)
            chunks = [_without(one, of) for one, of in zip(found.chunks, chunks, strict=True)]
        elif column is not None:
            raise ValueError(f"there is no column {column!r}: the data is one array of {_words(found.type)}")
        kind = _values(found.type)
        if not (_is(kind, (*TEXTS, "null")) or (not texts and _is_messages(kind))):
            need = "strings or binary" if texts else ACCEPTED
            raise TypeError(f"column {name!r} has type {_words(found.type)}: need {need}")
        return cls(name, chunks, is_batch)


def values(chunk: Array) -> Iterator[Any]:
    """Yield the rows of an array: bytes of a text, a list of dicts of messages, None, or the error of a row."""
    from arro3.core import DataType  # noqa: PLC0415 - an extra

    kind = _values(chunk.type)
    are_texts = _is(kind, (*TEXTS, "null"))
    of = None if are_texts else _without_nulls(kind)
    for at in range(0, len(chunk), AT_ONCE):
        numbers = range(at, min(at + AT_ONCE, len(chunk)))
        if of is None:
            yield from chunk.slice(at, len(numbers)).cast(DataType.large_binary()).to_pylist()
        else:
            yield from _messages(chunk, numbers, of)


def _messages(chunk: Array, numbers: Sequence[int], of: Callable[[Any], Any]) -> Iterator[Any]:
    """Yield rows that are messages; one of which Python has no value is its error."""
    from arro3.core import Array, DataType  # noqa: PLC0415 - an extra

    try:  # taken, not sliced: a slice of a list has the values of all of the array, which the cast would copy
        held = chunk.take(Array([*numbers], DataType.uint64())).cast(_held(_values(chunk.type))).to_pylist()
    except Exception as error:  # noqa: BLE001 - Arrow's own, such as for a date that is none
        if len(numbers) > 1:
            for number in numbers:
                yield from _messages(chunk, [number], of)
        else:
            yield ValueError(f"cannot be read: {error}")
        return
    for row in held:
        try:
            yield row if row is None else of(row)
        except UnicodeDecodeError as error:
            yield ValueError(f"a string in it is not UTF-8: {error}")


def _held(kind: DataType) -> DataType:
    """Return the type as which values are taken: strings as their bytes, which nobody has looked at."""
    from arro3.core import DataType, Field  # noqa: PLC0415 - an extra

    kind = _values(kind)
    if _is(kind, LISTS):
        return DataType.large_list(Field("item", _held(_inner(kind))))
    if kind.is_struct(kind):
        return DataType.struct([field.with_type(_held(field.type)) for field in kind.fields])
    if _is(kind, TEXTS):
        return DataType.large_binary()
    return DataType.utf8() if _is(kind, NAMED) else kind


def _without_nulls(kind: DataType) -> Callable[[Any], Any]:
    """Return what makes a value of a type from a held one: without the fields that are null.

    A struct has every field of every message.
    """
    kind = _values(kind)
    if _is(kind, LISTS):
        entry = _without_nulls(_inner(kind))
        return lambda held: [one if one is None else entry(one) for one in held]
    if kind.is_struct(kind):
        fields = [(field.name, _without_nulls(field.type)) for field in kind.fields]
        return lambda held: {name: of(held[name]) for name, of in fields if held[name] is not None}
    return bytes.decode if _is(kind, STRINGS) else lambda held: held


def _without(column: Array, structs: Array) -> Array:
    """Return the field of an array of structs, null where a struct is: a value there is one that nobody sees."""
    from arro3.core import Array, DataType  # noqa: PLC0415 - an extra

    if not structs.null_count:
        return column
    rows = (None if structs.slice(at, 1).null_count else at for at in range(len(structs)))
    return column.take(Array([*rows], DataType.uint64()))


def _batch(chunk: Array) -> Any:
    from arro3.core import RecordBatch  # noqa: PLC0415 - an extra

    return RecordBatch.from_struct_array(chunk)


def _schema(kind: DataType) -> Any:
    from arro3.core import Schema  # noqa: PLC0415 - an extra

    return Schema(kind.fields)


def _named(names: list[str], column: str | None) -> str:
    """Return the name of the column to read."""
    if column in names:
        return column
    if column is None and len(names) == 1:
        return names[0]
    what = "name the column to read" if column is None else f"there is no column {column!r}"
    raise ValueError(f"{what}: the data has {', '.join(names) or 'none'}")


def _is(kind: DataType, names: tuple[str, ...]) -> bool:
    return any(getattr(kind, f"is_{name}")(kind) for name in names)


def _values(kind: DataType) -> DataType:
    """Return the type of a dictionary's values, any other type as it is."""
    return kind.value_type if kind.is_dictionary(kind) and kind.value_type is not None else kind


def _inner(kind: DataType) -> DataType:
    """Return the type of a list's entries."""
    return cast("DataType", kind.value_type)


def _is_messages(kind: DataType) -> bool:
    """Return whether a type is a list of structs of what messages hold."""
    return _is(kind, LISTS) and (inner := _inner(kind)).is_struct(inner) and _is_json(inner)


def _is_json(kind: DataType) -> bool:
    """Return whether JSON or a text has values of a type; others, such as maps and list views, are not read."""
    if _is(kind, LISTS):
        return _is_json(_inner(kind))
    if kind.is_struct(kind):
        return all(_is_json(field.type) for field in kind.fields)
    return _is(_values(kind), PLAIN)


def _words(kind: DataType) -> str:
    """Return a type in words."""
    return str(kind).strip().removeprefix("arro3.core.DataType<").removesuffix(">")
