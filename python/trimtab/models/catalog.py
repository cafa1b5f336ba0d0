"""Windows, output limits and prices of models that other projects publish; read with the first id that needs it.

``catalog.tsv`` is written by ``tools/models.py`` (``make data``); its first lines name the sources and the date.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from .ids import key_of

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
    prices: tuple[float, float, float, float]

    @property
    def key(self) -> str:
        """The name as the tables are searched."""
        return key_of(self.name)


@cache
def rows() -> dict[str, dict[str, Row]]:
    """Return the catalog: by key, the row of each host."""
    found: dict[str, dict[str, Row]] = {}
    text = Path(__file__).with_name("catalog.tsv").read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        host, name, window, output, limit, *prices = line.split("\t")
        money = [float(price) if price else _NONE for price in prices]
        money += [_NONE] * (4 - len(money))
        row = Row(
            host,
            name,
            int(window),
            int(output),
            int(limit) if limit else None,
            (money[0], money[1], money[2], money[3]),
        )
        found.setdefault(row.key, {})[host] = row
    return found


@cache
def hosts() -> frozenset[str]:
    """Return the hosts that have rows."""
    return frozenset(host for found in rows().values() for host in found)
