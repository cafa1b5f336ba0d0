"""A model's folder, as it is published: vocabulary, chat template, window."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypeAlias

from .template import ChatTemplate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VOCABULARIES = ("tokenizer.json", "tokenizer.model")
"""Files of a vocabulary with a chat template beside it, the first that is there."""

FILES = (
    *VOCABULARIES,
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "chat_template.json",
    "config.json",
    "generation_config.json",
)
"""Files that are read."""

Described: TypeAlias = "tuple[ChatTemplate, int | None, int | None]"
"""A template, the window, and the most tokens of an answer."""

_WINDOWS = ("max_position_embeddings", "model_max_length", "max_sequence_length", "seq_length", "n_positions")
"""Fields of ``config.json`` that name a window."""

_OUTPUTS = ("max_new_tokens", "max_length")
"""Fields of ``generation_config.json`` that name the most tokens of an answer."""

_SETTINGS = ("lstrip", "rstrip", "single_word", "normalized")
_BY_PLACE = re.compile(rb'"prepend_scheme"\s*:\s*"first"')


def described(folder: Path, options: tuple[tuple[str, Any], ...]) -> Described:
    """Return the template of a folder, its window and the most tokens of an answer; None for what no file names.

    Raises:
        OSError: a file cannot be read.
        ValueError: the folder has no vocabulary or no chat template, a file is damaged, or words begin otherwise at the
            beginning of a prompt than inside.
    """
    file = next((folder / name for name in VOCABULARIES if (folder / name).is_file()), None)
    if file is None:
        raise ValueError(f"{folder}: no vocabulary in it, looked for {' and '.join(VOCABULARIES)}")
    if file.suffix == ".json" and _BY_PLACE.search(file.read_bytes()):
        msg = f"{file}: its words begin otherwise at the beginning of a prompt than inside, which is not counted yet"
        raise ValueError(msg)
    settings = _json(folder / "tokenizer_config.json")
    template = ChatTemplate(
        folder.name,
        _source(folder, settings),
        str(file),
        names=tuple(_names(_json(folder / "special_tokens_map.json") | settings)),
        added=None if file.suffix == ".json" else tuple(_added(settings)),
        options=options,
    )
    config, generation = _json(folder / "config.json"), _json(folder / "generation_config.json")
    places = (config, config.get("text_config"), config.get("llm_config"), config.get("language_config"))
    windows = (_number(place.get(name)) for place in places if isinstance(place, dict) for name in _WINDOWS)
    outputs = (_number(generation.get(name)) for name in _OUTPUTS)
    return template, next(filter(None, windows), None), next(filter(None, outputs), None)


def _source(folder: Path, settings: dict[str, Any]) -> str:
    """Return the chat template of a folder: its own file, or in the tokenizer's settings the one named ``default``."""
    file = folder / "chat_template.jinja"
    if file.is_file():
        return file.read_text(encoding="utf-8")
    found = settings.get("chat_template") or _json(folder / "chat_template.json").get("chat_template")
    if isinstance(found, list):
        named = {each.get("name"): each.get("template") for each in found if isinstance(each, dict)}
        found = named.get("default")
    if not isinstance(found, str):
        msg = f"{folder}: no chat template in it; Counter.from_file counts texts in its vocabulary"
        raise ValueError(msg)  # noqa: TRY004 - the folder is wrong, not an argument
    return found


def _names(settings: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the special tokens that have names."""
    for name, value in settings.items():
        text = value.get("content") if isinstance(value, dict) else value
        if name.endswith("_token") and isinstance(text, str):
            yield name, text


def _added(settings: dict[str, Any]) -> Iterator[tuple[str, bool, bool, bool, bool]]:
    """Yield the added tokens that the settings of a tokenizer list."""
    listed = settings.get("added_tokens_decoder")
    for token in listed.values() if isinstance(listed, dict) else ():
        if isinstance(token, dict) and isinstance(token.get("content"), str):
            lstrip, rstrip, single, late = (token.get(name) is True for name in _SETTINGS)
            yield token["content"], lstrip, rstrip, single, late


def _json(file: Path) -> dict[str, Any]:
    """Return a file's object; an empty one where there is no such file.

    Raises:
        ValueError: the file is no JSON object.
    """
    if not file.is_file():
        return {}
    try:
        found = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{file}: no JSON object")  # noqa: TRY004 - the file is wrong, not an argument
    return found


def _number(value: object) -> int | None:
    """Return a number of tokens; None for any other value, and for one that stands for no limit."""
    return value if type(value) is int and 0 < value < 10**9 else None
