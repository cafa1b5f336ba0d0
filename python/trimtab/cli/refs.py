"""Refs of compactions as people type them, and where a compaction is from."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ..errors import ArchiveError
from .input import model_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..archive import SqlArchive
    from ..messages.types import Transcript

SHORTEST = 8
"""Characters of a short ref at least: one in a million archives of 100 compactions has two that are equal."""


def short_refs(refs: Iterable[str]) -> dict[str, str]:
    """Return the shortest beginning of each ref that no other has, at least 8 characters."""
    ordered, short = sorted(set(refs)), {}
    for at, ref in enumerate(ordered):
        near = ordered[max(at - 1, 0) : at] + ordered[at + 1 : at + 2]
        lengths = range(SHORTEST, len(ref))
        short[ref] = next((ref[:n] for n in lengths if not any(other.startswith(ref[:n]) for other in near)), ref)
    return short


def full_ref(archive: SqlArchive, text: str) -> str:
    """Return the ref that begins with a text; the text itself if none does.

    Raises:
        ArchiveError: several do.
    """
    found = archive.matching(text)
    if len(found) > 1 and text not in found:
        some = ", ".join(short_refs(found).values())
        raise ArchiveError(f"several compactions begin with {text}: {some}\n  type more of the one you mean")
    return found[0] if len(found) == 1 else text


def note_origin(archive: object, ref: str | None, options: argparse.Namespace, found: Transcript) -> None:
    """Note in the archive which file a compaction is of, and its model, so that a list can show them."""
    if ref is not None:
        file = "" if options.file == "-" else str(Path(options.file).absolute())
        cast("SqlArchive", archive).describe(ref, file, model_of(options, found))
