"""A model's folder, as it is published: vocabulary, chat template, window."""

from __future__ import annotations

import json
import re
from itertools import chain
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
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "additional_chat_templates/tool_use.jinja",
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

_LISTS = ("added_tokens_decoder", "additional_special_tokens", "extra_special_tokens")
"""Fields of ``tokenizer_config.json`` that list added tokens, or have them by number or by name."""

_SETTINGS = ("lstrip", "rstrip", "single_word", "normalized")
_BY_PLACE = re.compile(rb'"prepend_scheme"\s*:\s*"first"')


def described(folder: Path, options: str) -> Described:
    """Return the template of a folder, its window and the most tokens of an answer; None for what no file names.

    Raises:
        OSError: a file cannot be read.
        ValueError: the folder has no vocabulary or no chat template, a file is damaged, or words begin otherwise at the
            beginning of a prompt than inside.
    """
    file = next((folder / name for name in VOCABULARIES if (folder / name).is_file()), None)
    if file is None:
        raise ValueError(f"{folder}: no vocabulary in it, looked for {' and '.join(VOCABULARIES)}")
    settings = _json(folder / "special_tokens_map.json") | _json(folder / "tokenizer_config.json")
    if _BY_PLACE.search(file.read_bytes()) if file.suffix == ".json" else settings.get("legacy") is False:
        msg = f"{file}: its words begin otherwise at the beginning of a prompt than inside, which is not counted yet"
        raise ValueError(msg)
    settings.setdefault(
        "added_tokens_decoder", {text: {"content": text} for text in _json(folder / "added_tokens.json")}
    )
    sources = _sources(folder, settings)
    if "default" not in sources:
        msg = f"{folder}: no chat template in it; Counter.from_file counts texts in its vocabulary"
        raise ValueError(msg)
    names = tuple(_names(settings))
    template = ChatTemplate(
        folder.name,
        sources["default"],
        str(file),
        names=names,
        added=tuple(dict.fromkeys([*_added(settings), *((text, False, False, False, False) for _, text in names)])),
        options=options,
        source_of_tools=sources.get("tool_use", ""),
    )
    config, generation = _json(folder / "config.json"), _json(folder / "generation_config.json")
    places = (config, config.get("text_config"), config.get("llm_config"), config.get("language_config"))
    windows = (_number(place.get(name)) for place in places if isinstance(place, dict) for name in _WINDOWS)
    outputs = (_number(generation.get(name)) for name in _OUTPUTS)
    return template, next(filter(None, windows), None), next(filter(None, outputs), None)


def _sources(folder: Path, settings: dict[str, Any]) -> dict[str, str]:
    """Return the chat templates of a folder by name; files of their own stand above the tokenizer's settings."""
    found = settings.get("chat_template") or _json(folder / "chat_template.json").get("chat_template")
    listed = found if isinstance(found, list) else [{"name": "default", "template": found}]
    files = [
        ("default", folder / "chat_template.jinja"),
        ("tool_use", folder / "additional_chat_templates/tool_use.jinja"),
    ]
    sources = [(each.get("name"), each.get("template")) for each in listed if isinstance(each, dict)]
    sources += [(name, file.read_text(encoding="utf-8")) for name, file in files if file.is_file()]
    return {name: text for name, text in sources if isinstance(name, str) and isinstance(text, str)}


def _names(settings: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the special tokens that have names."""
    for name, value in settings.items():
        text = value.get("content") if isinstance(value, dict) else value
        if name.endswith("_token") and isinstance(text, str):
            yield name, text


def _added(settings: dict[str, Any]) -> Iterator[tuple[str, bool, bool, bool, bool]]:
    """Yield the added tokens that the settings of a tokenizer list; a ``tokenizer.json`` may lack some."""
    lists = (settings.get(name) for name in _LISTS)
    tokens = (each.values() if isinstance(each, dict) else each for each in lists if isinstance(each, dict | list))
    for each in chain.from_iterable(tokens):
        token = {"content": each} if isinstance(each, str) else each
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
