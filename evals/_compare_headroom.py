"""headroom's ``compress`` before each call of a loop without a framework, for ``compare.py``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from _compare import LIMIT
from _compare_plain import talk
from headroom import compress

from support.agents import MODEL

if TYPE_CHECKING:
    from _compare_plain import Fit, Record


def compressing() -> tuple[Fit, Record]:
    """Return what is sent; the next list begins with it, so that each result is compressed once."""
    return lambda messages, tools: compress(messages, model=MODEL, model_limit=LIMIT).messages, len  # noqa: ARG005


ROWS = {"`compress`": partial(talk, make=compressing)}
