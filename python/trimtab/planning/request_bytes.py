"""The bytes of a request, the second budget beside tokens: what edits leave of them, and how they weigh in a decision.

A provider refuses a request of too many bytes whatever its tokens. Where the edits that tokens ask for leave too many
bytes, the plan is decided anew with costs in which a row has a token for each so many bytes, or its own tokens if these
are more: a list that fits by these costs fits by both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .edits import Cut, Drop, Prune, StripThinking, Summarize, Truncate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .edits import Edit
    from .stages.costs import Costs

A_TOKEN = 5
"""Bytes of a token of our own texts at most, and the least that weigh as much as a token: 4 on average in English."""

SHARE = 0.40
"""Share of the limit that a plan aims at where bytes decide: that of tokens in the policy ``default``."""

AROUND = 56
"""Bytes that stay of a row whatever leaves it: keys, kind and id."""


def weighed(target: int, most: int) -> tuple[int, int]:
    """Return the target in weighed tokens, and the bytes that weigh a token.

    Args:
        target: tokens to reach.
        most: most bytes of the messages.
    """
    aim = max(int(most * SHARE), 1)
    least = max(min(target, aim // A_TOKEN), 1)
    return least, max(-(-aim // least), 1)


def bytes_after(costs: Costs, edits: Iterable[Edit]) -> int:
    """Return the expected bytes of the messages after the edits, with a summary at its limit."""
    ledger, edits = costs.ledger, tuple(edits)
    total, sizes = ledger.request_bytes, ledger.payload.astype(np.int64)
    zone = next((edit for edit in edits if isinstance(edit, Summarize | Drop)), None)
    if zone:
        leaves = costs.mask(range(zone.start, zone.stop))
        leaves[list(zone.keep)] = False
        total += costs.frame * A_TOKEN - int(sizes[leaves[costs.owner]].sum())
        total += zone.max_tokens * A_TOKEN if isinstance(zone, Summarize) else 0
    for edit in edits:
        match edit:
            case Prune(rows):
                array = costs.array(rows)
                total -= int(media_bytes(costs)[array].sum()) if edit.mends else _pruned(costs, array, sizes)
            case Truncate(rows, most):
                total -= _cut(sizes, costs.array(rows), costs.tokens, most)
            case Cut(rows, most, unit):
                total -= _cut(sizes, costs.array(rows), getattr(ledger, unit), most)
            case StripThinking(rows):
                total -= int(sizes[costs.array(rows)].sum())
            case _:
                pass
    return max(total, 0)


def media_bytes(costs: Costs) -> np.ndarray:
    """Return the bytes of each row that are no text: of its pictures and documents, where it has any."""
    ledger = costs.ledger
    return (ledger.payload.astype(np.int64) - ledger.bytes - AROUND).clip(min=0)


def _pruned(costs: Costs, rows: np.ndarray, sizes: np.ndarray) -> int:
    """Return the bytes that pruned rows lose: of a call its long arguments, of others all but a placeholder."""
    is_call = costs.called[rows]
    calls, others = rows[is_call], rows[~is_call]
    left = AROUND + costs.placeholder * A_TOKEN
    lost = int((sizes[others] - left).clip(min=0).sum())
    return lost + int((sizes[calls] * costs.freed(calls) // costs.tokens[calls].clip(min=1)).sum())


def _cut(sizes: np.ndarray, rows: np.ndarray, lengths: np.ndarray, most: int) -> int:
    """Return the bytes that rows lose which are cut to ``most`` of their length, in proportion."""
    length = lengths[rows].astype(np.int64)
    return int(((sizes[rows] - AROUND).clip(min=0) * (length - most).clip(min=0) // length.clip(min=1)).sum())


def in_tokens(edits: Iterable[Edit], costs: Costs, real: Costs) -> Iterator[Edit]:
    """Yield edits that were decided by weighed costs, with the limits of truncated rows in tokens.

    Args:
        edits: the edits.
        costs: the weighed costs.
        real: the costs in tokens.
    """
    for edit in edits:
        if not isinstance(edit, Truncate):
            yield edit
            continue
        rows = costs.array(edit.rows)
        heavy = costs.tokens[rows] > real.tokens[rows]
        if len(light := rows[~heavy]):
            yield Truncate(tuple(light.tolist()), edit.max_tokens)
        if len(rows := rows[heavy]):
            shares = edit.max_tokens * real.tokens[rows] // costs.tokens[rows]
            yield Truncate(tuple(rows.tolist()), max(int(shares.min()), 1))
