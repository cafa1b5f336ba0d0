"""The verb doctor: what this installation has, and whether its archive can be written."""

from __future__ import annotations

import os
import platform
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__, _core
from .._home import archive_url
from ..archive.opener import check_url
from .files import archive_path, is_database
from .options import add_archive, add_json, address
from .output import print_answer
from .terminal import Styled

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """Show the versions, the processor's instructions, the vocabularies, the archive's place and the extras.
Exit with 1 if the archive cannot be written."""
EXAMPLES = ("trimtab doctor", "trimtab doctor --json")

VOCABULARIES = ("o200k_base", "cl100k_base", "claude-old", "claude-new")

EXTRAS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "postgres": "psycopg",
    "otel": "opentelemetry",
    "yaml": "yaml",
    "mcp": "mcp",
    "arrow": "arro3",
    "batch": "daft",
    "open": "jinja2",
    "langchain": "langchain",
    "pydantic-ai": "pydantic_ai",
    "openai-agents": "agents",
}
"""Extras, each with the module by which it is recognized."""

UNASKED = "not looked at: only an archive in a file is"
"""The state of an archive in memory or on a server."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_archive(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Look, and report; open no archive, so that none is created or changed.

    Raises:
        ValueError: the address is one of no archive.
    """
    import sqlite3

    url = archive_url(options.archive)
    check_url(url)
    fault = _fault(archive_path(url))
    report: dict[str, Any] = {
        "trimtab": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "simd": _core.SIMD,
        "threads": _core.threads(),
        "vocabularies": [name for name in VOCABULARIES if _core.Counter(name).count("a")],
        "sqlite": sqlite3.sqlite_version,
        "archive": address(url),
        "archive_bytes": _size(archive_path(url)),
        "archive_fault": fault,
        "extras": {name: find_spec(module) is not None for name, module in EXTRAS.items()},
    }
    print_answer(options, report, _lines(report))
    return int(fault is not None)


def _lines(report: dict[str, Any]) -> list[str]:
    place, size, fault = (report[name] for name in ("archive", "archive_bytes", "archive_fault"))
    state = "not there yet" if size is None else f"{size:,} bytes"
    is_file = place.startswith("sqlite:///")
    looked = "can be written" if is_file else UNASKED
    installed = [name for name, there in report["extras"].items() if there]
    missing = [name for name, there in report["extras"].items() if not there]
    lines = [
        f"trimtab       {report['trimtab']}, Python {report['python']}, {report['platform']}",
        f"instructions  {report['simd']}",
        f"threads       {report['threads']:,} (TRIMTAB_THREADS sets their number)",
        f"vocabularies  {', '.join(report['vocabularies'])}",
        f"SQLite        {report['sqlite']}",
        f"archive       {place.removeprefix('sqlite:///')}{f' ({state})' if is_file else ''}",
        Styled(f"  fault       {fault}", "red") if fault else f"  state       {looked}",
        f"extras        {', '.join(installed) or 'none'}",
    ]
    if missing:
        lines += [f"  missing     {', '.join(missing)}", f"  install     pip install 'trimtab[{missing[0]}]'"]
    return lines


def _size(path: str) -> int | None:
    """Return the bytes of a file; None without one."""
    return Path(path).stat().st_size if path and Path(path).is_file() else None


def _fault(path: str) -> str | None:
    """Return why an archive's file cannot be written; None if it can, or is made at the first need."""
    if not path:
        return None
    place = Path(path)
    if place.exists():
        if not place.is_file():
            return f"{place} is no file: name another with --archive"
        if not os.access(place, os.R_OK | os.W_OK):
            return f"{place} cannot be read and written: change its mode or owner"
        if not os.access(folder := place.resolve().parent, os.W_OK | os.X_OK):
            return f"nothing can be created in {folder}, where SQLite writes beside {place.name}: change its mode"
        if place.stat().st_size and not is_database(path):
            return f"{place} is damaged or no archive: restore a backup, move it away, or name another with --archive"
        return None
    folder = next(parent for parent in place.absolute().parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        return f"nothing can be created in {folder}: name another place with --archive or TRIMTAB_HOME"
    return None
