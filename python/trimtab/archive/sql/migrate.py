"""Schema migrations: numbered files, applied in one transaction."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from ...errors import ArchiveError

if TYPE_CHECKING:
    from .statements import Statement


@cache
def migrations(name: str) -> dict[int, list[str]]:
    """Return the statements of each version of a database's schema."""
    found = {}
    for file in files(__package__).joinpath("migrations").iterdir():
        kind, _, number = file.name.removesuffix(".sql").partition("_")
        if kind == name:
            # Each statement ends with a semicolon at the end of a line.
            found[int(number)] = [part for part in file.read_text("utf-8").split(";\n") if part.strip()]
    return dict(sorted(found.items()))


def pending(name: str, version: int, place: str) -> tuple[int, list[Statement]]:
    """Return the newest version of a schema, and the statements that upgrade an older one to it.

    Raises:
        ArchiveError: the schema is newer than this code.
    """
    known = migrations(name)
    newest = max(known)
    if version > newest:
        raise ArchiveError(
            f"the archive {place} has version {version}, trimtab knows {newest}: update trimtab or use another archive"
        )
    steps: list[Statement] = [(text, ()) for number, texts in known.items() if number > version for text in texts]
    if version < newest:
        steps.append(("INSERT INTO schema_version (version) VALUES (?)", (newest,)))
    return newest, steps
