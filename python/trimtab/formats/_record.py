"""One JSON value of a file, and how it is read again."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import MessageError

if TYPE_CHECKING:
    from typing import BinaryIO

_DECODER = json.JSONDecoder()


@dataclass(slots=True, eq=False)
class FileRecord:
    """One JSON value of a file, or one entry of a list that it is.

    Attributes:
        number: line number of its start, from 1.
        offset: byte offset of that line.
        value: the parsed value; it is read again when it is needed after ``release``.
        file: the file to read it from again, if it is alone on its line; None if it stays in memory.
    """

    number: int
    offset: int
    value: Any
    file: BinaryIO | None

    def __getattr__(self, name: str) -> Any:
        """Read the released value again; Python asks for it only where the slot is empty."""
        if name != "value" or self.file is None:
            raise AttributeError(name)
        self.value = again(self.file, self.offset)
        return self.value

    def release(self) -> None:
        """Free the value if it can be read again."""
        if self.file is not None:
            with suppress(AttributeError):  # freed before
                del self.value


def changed() -> MessageError:
    """Return the error for a file that is not what it was."""
    return MessageError("changed while it was read", hint="read it while no other program writes to it")


def again(file: BinaryIO, offset: int) -> Any:
    """Read a line's value again.

    Raises:
        MessageError: the file changed.
    """
    try:
        file.seek(offset)
        return parse_line(file.readline())
    except (ValueError, RecursionError) as error:
        raise changed() from error


def parse_line(line: bytes) -> Any:
    """Parse a line that is an object or a list.

    Raises:
        ValueError: the line is neither.
        RecursionError: the value is nested too deeply.
    """
    text = line.decode("utf-8", "surrogatepass").strip(" \t\n\r")
    value, end = _DECODER.raw_decode(text)  # takes four fifths of the time of json.loads for a short line
    if end != len(text):
        raise ValueError("more than one value")
    if not isinstance(value, (dict, list)):
        raise ValueError("a bare value, no object")  # noqa: TRY004 - the file is wrong, not an argument
    return value
