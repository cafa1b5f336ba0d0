"""The search for an id in the tables: its host, the rows of its key, its relatives, and the id written most like it."""

from __future__ import annotations

import re
from functools import cache

from . import table as tables
from .catalog import Row, hosts, rows
from .ids import ModelId, key_of


def host_of(found: ModelId) -> str | None:
    """Return the host that an id names: by a prefix of ``HOSTS`` or of the catalog, or by the way it is written."""
    return found.host or (found.prefix if found.prefix and found.prefix in hosts() else found.style)


def rows_of(found: ModelId) -> dict[str, Row]:
    """Return the catalog's rows of an id, by host; without the digits of a version if there is none with them."""
    for key in (found.key, re.sub(r"-\d{4}$", "", found.key), found.key.removeprefix("ft:")):
        if named := rows().get(key, {}) | rows().get(found.dated_key, {}):
            return named
    return {}


def versions(found: ModelId) -> list[str]:
    """Return our own models that an id without a version may mean: ``claude-haiku-latest``."""
    if not re.fullmatch(r"[a-z]+-[a-z-]+", found.key):
        return []
    versioned = re.compile(re.escape(found.key) + r"-\d+(-\d+)?")
    return [name for name in (*tables.CLAUDE, *tables.OPENAI) if versioned.fullmatch(key_of(name))]


_VERSION = re.compile(r"(.*?)(\d+)(?:-(\d{1,2}))?(|-[a-z].*)")
"""A key: what stands before its version, the version, and what stands behind it."""


def relative(found: ModelId) -> str | None:
    """Return the key of the version before this one, with the same major number; else of the one behind it."""
    if not (parts := _VERSION.fullmatch(found.key)):
        return None
    version, near = int(parts[3] or 0), {}
    for key in names():
        each = _VERSION.fullmatch(key)
        if each and (each[1], each[2], each[4]) == (parts[1], parts[2], parts[4]):
            minor = int(each[3] or 0)
            near[minor > version, abs(version - minor)] = key
    return near[min(near)] if near else None


def nearest(found: ModelId) -> str | None:
    """Return the id of the tables that is written most like this one."""
    from difflib import get_close_matches  # noqa: PLC0415 - for unknown names alone

    near = get_close_matches(found.key, names(), n=1, cutoff=0.6)
    return names()[near[0]] if near else None


@cache
def names() -> dict[str, str]:
    """Return the names of all tables by key, as the model's maker writes them, or else most hosts."""
    named = {}
    for key, found in rows().items():
        written = [row.name for row in found.values()]
        maker = found.get(ModelId.of(written[0]).maker or "")
        named[key] = maker.name if maker else max(written, key=written.count)
    return named | {key_of(name): name for name in (*tables.CLAUDE, *tables.OPENAI)}
