"""The rows of a job's inputs, found without reading a session: each file in units, and units in parts."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from errno import ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR
from functools import lru_cache
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import MessageError
from ...formats import is_log
from .job import JOB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

    import pyarrow.parquet as pq

PARQUET, LINES = (".parquet", ".pq"), (".jsonl", ".ndjson")
"""Ends of names of tables, and of files that may hold a session on each line."""

FIRST, SEEN = 3, 1_000
"""Values at a file's start that decide whether each line is a session, and lines that are searched for them."""

LONGEST = 64 << 20
"""Bytes of such a line."""

SMALL = 16 << 20
"""Bytes of a file of lines that a worker reads whole."""

BLOCK = 1 << 20
"""Bytes that are read at once."""

NOTHING = (ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG)
"""Errors of a link to nothing."""

LISTS = ("messages", "contents", "input")
"""Fields of a request that hold its messages."""


class FileSlice(NamedTuple):
    """Rows of one file, which are read one after the other.

    Attributes:
        path: the file.
        kind: ``whole`` (the file is one row), ``lines``, ``parquet``, or ``undecided``: the worker looks
            whether each line is a row, because it reads the file anyway.
        row: number of the first row in its file, from 0.
        start: of lines the byte of the first, of a table the number of its row group.
        end: of lines the byte behind the last, of a table the number of rows.
        size: bytes to read.
    """

    path: str
    kind: str
    row: int
    start: int
    end: int
    size: int


def files_in(inputs: Iterable[str], without: Path) -> list[str]:
    """Return the files of the inputs, each once, however often it is named or linked: under the first of its names.

    Files are named as the inputs are, those of a folder in the order of their names.
    Of a folder are left out: names that begin with a dot, links to folders, what is no file, and jobs' outputs. A
    folder in it that cannot be listed stands for its files: its row says why they are missing.

    Raises:
        MessageError: there is no such file or folder, or no file in one.
        ValueError: there is no input.
    """
    found: dict[tuple[str, str], str] = {}
    real_folder = lru_cache(os.path.realpath)  # each is looked at once for all of its files
    for name in inputs:
        path = Path(name)
        files = [*_walk(path, without.resolve())] if path.is_dir() else [name]
        if not files or not (path.is_dir() or path.is_file()):
            what = "no files in it" if path.is_dir() else "no such file or folder"
            raise MessageError(what, path=name, hint="name session files, tables, or folders of them")
        for file in files:
            found.setdefault((_real(file, real_folder), _end(file)), file)  # a name's end says how it is read
    if not found:  # a pattern that a script filled in matched nothing
        raise ValueError("no inputs: name session files, tables, or folders of them")
    return [*found.values()]


def _end(file: str) -> str:
    return os.path.splitext(file)[1].lower()  # noqa: PTH122 - a million names


def _real(file: str, real_folder: Callable[[str], str]) -> str:
    """Return a file's name without links, by which it is the same file."""
    folder, name = os.path.split(file)
    at = os.path.join(real_folder(folder), name)  # noqa: PTH118 - a million names
    return os.path.realpath(at) if os.path.islink(at) else at  # noqa: PTH114


def _walk(folder: Path, without: Path) -> Iterator[str]:
    closed: list[str] = []
    for at, folders, files in os.walk(folder, onerror=lambda error: closed.append(str(error.filename))):
        inner = (Path(at, name) for name in folders if not name.startswith("."))
        folders[:] = sorted(path.name for path in inner if path.resolve() != without and not _is_output(path))
        found = (Path(at, name) for name in sorted(files) if not name.startswith("."))
        yield from (str(path) for path in found if _is_file(path))  # a pipe would never end
    yield from closed


def _is_file(path: Path) -> bool:
    """Return whether a path is a file, or one that may be and is out of reach: the worker says so."""
    try:
        return S_ISREG(path.stat().st_mode)
    except OSError as error:
        return error.errno not in NOTHING


def _is_output(folder: Path) -> bool:
    """Return whether a folder has the tables of a job; what cannot be looked at has none."""
    try:
        return (folder / JOB).is_file() and any((folder / table).is_dir() for table in ("sessions", "texts"))
    except OSError:
        return False


def shown(path: str) -> str:
    r"""Return a file's name as the tables have it: its bytes that are no UTF-8 as ``\xff``, so that names differ."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")


def units_of(path: str, column: str | None, size: int, *, texts: bool) -> Iterator[FileSlice]:
    """Yield a file's units, each of about so many bytes.

    Args:
        path: the file.
        column: the column or field that has the session or text; None if there is one alone.
        size: bytes at which a file of lines is divided.
        texts: whether the rows are texts, not sessions.

    Raises:
        ValueError: a table has several columns, and none is named.
    """
    end = _end(path)
    held = 0 if end in PARQUET else _size(path)
    if end in PARQUET:
        yield from _groups(path, column)
    elif end in LINES and column is None and 0 < held <= min(size, SMALL):
        yield FileSlice(path, "undecided", 0, 0, held, held)
    elif end in LINES and (column is not None or _holds_rows(path, texts=texts)):
        yield from _lines(path, size)  # a column that is named is one of lines
    else:
        yield FileSlice(path, "whole", 0, 0, 0, held)


def parts_of(units: Iterable[FileSlice], size: int) -> Iterator[list[FileSlice]]:
    """Yield the units in parts of at least so many bytes."""
    part: list[FileSlice] = []
    held = 0
    for unit in units:
        part.append(unit)
        held += unit.size
        if held >= size:
            yield part
            part, held = [], 0
    if part:
        yield part


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:  # the worker says so
        return 0


@contextmanager
def table_at(path: str, **options: Any) -> Iterator[pq.ParquetFile]:
    """Open a table, whatever its name is: by its bytes, because of a text pyarrow takes those that UTF-8 has.

    Raises:
        OSError: there is no such file, or it cannot be read.
        ValueError: it is no table.
    """
    import pyarrow as pa  # noqa: PLC0415 - an extra
    import pyarrow.parquet as pq  # noqa: PLC0415

    with pa.OSFile(os.fsencode(path)) as source, pq.ParquetFile(source, **options) as file:
        yield file


def _groups(path: str, column: str | None) -> Iterator[FileSlice]:
    """Yield the row groups of a table; all of a file that is none, which the worker says."""
    try:
        with table_at(path) as file:
            footer, names = file.metadata, file.schema_arrow.names
    except (OSError, ValueError):
        yield FileSlice(path, "parquet", 0, -1, 0, _size(path))
        return
    if column is None and len(names) > 1:
        raise ValueError(f"{path}: name the column to read with --column: it has {', '.join(names)}")
    row = 0
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        yield FileSlice(path, "parquet", row, number, group.num_rows, group.total_byte_size)
        row += group.num_rows


def _holds_rows(path: str, *, texts: bool) -> bool:
    try:
        with Path(path).open("rb") as file:
            return holds_rows(file, texts=texts)
    except OSError:  # the worker says so
        return False


def holds_rows(file: BinaryIO, *, texts: bool) -> bool:
    """Return whether each line of a file is a session, or a text, of its own."""
    names = [json.dumps(name).encode() for name in LISTS]
    lines = islice(iter(lambda: file.readline(LONGEST), b""), SEEN)
    first = [*islice((value for line in lines for value in _value(line, names)), FIRST)]
    if texts:
        return any(isinstance(value, str) for value in first)
    if any(isinstance(value, list) for value in first):
        return True
    requests = (value for value in first if isinstance(value, dict) and "role" not in value)
    return any(isinstance(value.get(name), list) for value in requests for name in LISTS) and not is_log(file)


def _value(line: bytes, names: list[bytes]) -> list[Any]:
    """Return the value of a line in a list; none for one that is blank, damaged, a number or null.

    An object in which none of the names stands is not parsed: the first line of most sessions.
    """
    if line.isspace():
        return []
    if line.startswith(b"{") and not any(name in line for name in names):
        return [{}]
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return []
    return [value] if isinstance(value, list | dict | str) else []


def _lines(path: str, size: int) -> Iterator[FileSlice]:
    """Yield a file's lines in units that end with a line; what cannot be read is one, of which the worker says why."""
    start = row = 0
    try:
        with Path(path).open("rb") as file:  # not mapped into memory: its pages would count as this process's
            while True:
                length, ends, last = 0, 0, b"\n"
                while length < size and (last := file.read(min(size - length, BLOCK))):
                    length, ends = length + len(last), ends + last.count(b"\n")
                while last and not last.endswith(b"\n") and (last := file.readline(BLOCK)):
                    length, ends = length + len(last), ends + last.count(b"\n")
                if not length:
                    return
                yield FileSlice(path, "lines", row, start, start + length, length)
                start, row = start + length, row + ends
    except OSError:
        end = max(_size(path), start + 1)
        yield FileSlice(path, "lines", row, start, end, end - start)
