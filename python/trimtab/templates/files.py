"""A model in files: a folder as models are published in, or a GGUF file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .. import _core
from .._home import tables_folder
from . import folder, gguf
from .fitting import fitted, reading
from .places import place_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from .template import ChatTemplate


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """What a model's files say.

    Attributes:
        template: the chat template, with its vocabulary.
        window: tokens of input and output together; None if no file names them.
        max_output: most tokens of an answer; None if no file names them.
        numbers: what the template adds, as fields of a ``PromptGrammar``.
    """

    template: ChatTemplate
    window: int | None
    max_output: int | None
    numbers: dict[str, Any]


def read_files(name: str, options: Mapping[str, Any]) -> ModelFiles:
    """Return what the files of a model say.

    Args:
        name: path of a folder or of a GGUF file, or a name as ``place_of`` takes it.
        options: further values of the template.

    Raises:
        OSError: a file cannot be read.
        ValueError: there is no vocabulary or no chat template, a file is damaged, words begin otherwise at the
            beginning of a prompt than inside, or JSON cannot hold an option.
        CountError: the template cannot be rendered.
        ImportError: the extra ``open`` is not installed.
    """
    path = place_of(name)
    files = [path / each for each in folder.FILES] if path.is_dir() else [path]
    stamps = tuple(file.stat().st_mtime_ns if file.is_file() else 0 for file in files)
    try:
        text = json.dumps(options, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"options of a template are values of JSON: {error}") from None
    return _read(path, text, stamps)


@lru_cache(16)
def _read(path: Path, options: str, _stamps: tuple[int, ...]) -> ModelFiles:
    """Return what files say; they are read again when one has changed."""
    described = folder.described if path.is_dir() else gguf.described
    template, window, max_output = described(path, options)
    counter = _core.Counter(template.file, path=template.vocabulary, kept=tables_folder())
    template = reading(template)
    return ModelFiles(template, window, max_output, fitted(template, counter))
