"""A GGUF file, as llama.cpp runs it: vocabulary, chat template and window stand in front of the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _core
from .template import ChatTemplate

if TYPE_CHECKING:
    from pathlib import Path

    from .folder import Described

HEAD = 64 << 20
"""Bytes that are read: the largest known vocabulary takes 20 million."""


def described(file: Path, options: str) -> Described:
    """Return the template of a file, and its window; None for what it does not name.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no GGUF file, is damaged, or has no chat template.
    """
    with file.open("rb") as opened:
        found = _core.gguf(opened.read(HEAD))
    if found is None:
        raise ValueError(f"{file} is neither a folder nor a GGUF file")
    name, source, window, begin, end, begins, added = found
    if not source:
        raise ValueError(f"{file}: no chat template in it; Counter.from_file counts texts in its vocabulary")
    names = {"bos_token": begin, "eos_token": end}
    template = ChatTemplate(
        name or file.stem,
        source,
        str(file),
        names=tuple((name, text) for name, text in names.items() if text),
        added=tuple((text, False, False, False, False) for text in added),
        options=options,
        begins=begin if begins else "",
    )
    return template, window or None, None
