"""Windows, output limits and prices of models that other projects publish, and the search for an id among all tables.

``catalog.tsv`` is written by ``tools/models.py`` (``make data``); its first lines name the sources and the date.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from .ids import ModelId, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .prompts import Images

_NONE = float("nan")


class Row(NamedTuple):
    """A model on a host.

    Attributes:
        host: as ``ids.HOSTS`` names it.
        name: ``ModelId.name``, as the host writes it; ``ModelId.dated`` where the window of one date is another.
        window: tokens of input and output together.
        max_output: tokens of one answer; 0 if unknown.
        input_limit: tokens of input, where the provider counts them apart from the output; else None.
        prices: of input, output, cache reads and cache writes, in dollars per million tokens; NaN if unknown.
    """

    host: str
    name: str
    window: int
    max_output: int
    input_limit: int | None
    prices: tuple[float, ...]

    @property
    def key(self) -> str:
        """The name as the tables are searched."""
        return key_of(self.name)


class OwnRow(NamedTuple):
    """A model of our own table, on its maker's host.

    Attributes:
        prompt: the name of its prompt format.
        window: tokens of input and output together.
        max_output: tokens of one answer.
        prices: of input, output and cache reads, in dollars per million tokens; NaN if unknown.
        images: how pictures are charged; None where it is as in the prompt format.
    """

    prompt: str
    window: int
    max_output: int
    prices: tuple[float, ...]
    images: Images | None


def _lines(name: str) -> Iterator[list[str]]:
    """Yield the cells of each line of a table; those at its end that are left out are empty."""
    for line in Path(__file__).with_name(name).read_text("utf-8").splitlines():
        if not line.startswith("#"):
            cells = line.split("\t")
            yield [*cells, *[""] * (9 - len(cells))]


def _prices(cells: list[str]) -> tuple[float, ...]:
    return tuple(float(price) if price else _NONE for price in cells)


@cache
def own_rows() -> dict[str, OwnRow]:
    """Return our own rows by the model's id, Anthropic's first."""
    return {
        name: OwnRow(prompt, int(window), int(output), _prices(cells[:3]), cast("Images | None", cells[3] or None))
        for name, prompt, window, output, *cells in _lines("own.tsv")
    }


@cache
def rows() -> dict[str, dict[str, Row]]:
    """Return the catalog: by key, the row of each host."""
    found: dict[str, dict[str, Row]] = {}
    for host, name, window, output, limit, *prices in _lines("catalog.tsv"):
        row = Row(host, name, int(window), int(output), int(limit) if limit else None, _prices(prices))
        found.setdefault(row.key, {})[host] = row
    return found


@cache
def hosts() -> frozenset[str]:
    """Return the hosts that have rows."""
    return frozenset(host for found in rows().values() for host in found)


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
    return [name for name in own_rows() if versioned.fullmatch(key_of(name))]


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
    return named | {key_of(name): name for name in own_rows()}
