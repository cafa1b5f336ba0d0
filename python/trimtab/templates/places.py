"""Where the files of a model are: by path, by the user's own names, and in the stores of other programs."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from .._home import data_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIXES = ("hf:", "lmstudio:", "ollama:")
"""Beginnings of names in the stores of Hugging Face, LM Studio and Ollama."""

_MODEL = "application/vnd.ollama.image.model"


def place_of(name: str) -> Path:
    """Return where the files of a model are. Nothing is fetched.

    Args:
        name: path of a folder or of a GGUF file; ``hf:Qwen/Qwen3-8B``, in the cache of Hugging Face;
            ``lmstudio:PUBLISHER/MODEL``; ``ollama:qwen3:8b``.

    Raises:
        ValueError: there is nothing; says where it was looked for.
    """
    for prefix, look in _STORES.items():
        if name.startswith(prefix):
            return look(name.removeprefix(prefix))
    path = Path(name).expanduser().absolute()
    if not path.exists():
        raise ValueError(f"{path}: no such folder or file")
    return path


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """A model of the user's own.

    Attributes:
        place: what ``place_of`` takes.
        window: of the server that runs it; None for that of the files.
    """

    place: str
    window: int | None = None


def names_file() -> Path:
    """Return the file of the user's own names."""
    return Path(data_folder()) / "models.json"


def named_places() -> dict[str, NamedPlace]:
    """Return the user's own names of models.

    Raises:
        ValueError: their file is damaged.
    """
    file = names_file()
    try:
        stamp = file.stat().st_mtime_ns
    except OSError:
        return {}
    return dict(_read(file, stamp))


@lru_cache(4)
def _read(file: Path, _stamp: int) -> dict[str, NamedPlace]:
    """Return the names of a file; it is read again when it has changed."""
    try:
        found = json.loads(file.read_bytes())
        return {str(name): NamedPlace(str(each["place"]), each.get("window")) for name, each in found.items()}
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{file}: no object of names, each with its place: {error}") from None


def name_places(names: Mapping[str, NamedPlace]) -> None:
    """Write the user's own names of models, in place of those until now.

    Raises:
        OSError: the file cannot be written.
    """
    file = names_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({name: asdict(each) for name, each in sorted(names.items())}, indent=2, ensure_ascii=False)
    new = file.with_name(f"{file.name}.{os.getpid()}")
    new.write_text(text + "\n", encoding="utf-8")
    new.replace(file)


def _huggingface(name: str) -> Path:
    """Return the newest snapshot of a model in the cache of Hugging Face: the one that ``main`` names."""
    home = Path(os.environ.get("HF_HOME") or Path("~/.cache/huggingface").expanduser())
    cache = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    folder = cache / f"models--{name.replace('/', '--')}"
    try:
        commit = (folder / "refs" / "main").read_text(encoding="utf-8").strip()
    except OSError:
        raise ValueError(f"{folder}: no such model in the cache of Hugging Face") from None
    snapshot = folder / "snapshots" / commit
    if not snapshot.is_dir():
        raise ValueError(f"{snapshot}: no such snapshot in the cache of Hugging Face")
    return snapshot


def _lmstudio(name: str) -> Path:
    """Return a model of LM Studio: its only GGUF file, else its folder."""
    folder = Path("~/.lmstudio/models").expanduser() / name
    if not folder.exists():
        raise ValueError(f"{folder}: no such model of LM Studio")
    files = [file for file in sorted(folder.glob("*.gguf")) if not file.name.startswith("mmproj")]
    if len(files) > 1:
        raise ValueError(f"{folder} has {len(files)} models: name one, such as lmstudio:{name}/{files[0].name}")
    return files[0] if files else folder


def _ollama(name: str) -> Path:
    """Return the GGUF file of a model of Ollama, by its manifest."""
    store = Path(os.environ.get("OLLAMA_MODELS") or Path("~/.ollama/models").expanduser())
    model, _, tag = name.partition(":")
    path = model if "/" in model else f"library/{model}"
    manifest = store / "manifests" / "registry.ollama.ai" / path / (tag or "latest")
    try:
        layers = json.loads(manifest.read_text(encoding="utf-8"))["layers"]
        digest = next(layer["digest"] for layer in layers if layer["mediaType"] == _MODEL)
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        raise ValueError(f"{manifest}: no manifest of a model of Ollama") from None
    return store / "blobs" / str(digest).replace(":", "-")


_STORES = dict(zip(PREFIXES, (_huggingface, _lmstudio, _ollama), strict=True))
