"""Sessions in Arrow data: a table in, a table out, row by row; reached as ``trimtab.arrow``.

Any library with Arrow's PyCapsule interface hands in a table, a batch, a series or an array, and takes the result:
pyarrow, Polars, DuckDB, pandas and others. A row is a session: a list of messages (a list of structs, or its JSON
text) or the bytes of an agent's session file. A list of messages is taken as it is, a session file as ``trimtab.read``
reads it. Fields of a struct that are null are left out.

Rows are independent. A row that cannot be read is null in every column but ``error``, which says why; a null row is
null in ``error``, too. Only an argument raises: no such column, a type that is neither text nor messages, an unknown
policy, a model whose files are not there.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

from ...counting.counter import Counter
from . import said
from .answers import SessionColumn, answered
from .rows import Rows

if TYPE_CHECKING:
    from arro3.core import RecordBatch, Table

    from ...counting.truncate import Category
    from ...ledger.columns import Ledger
    from ...models.model import Model

__all__ = ["compact", "count", "repair", "truncate", "validate"]


def count(
    data: Any, *, column: str | None = None, model: str | Model | None = None, format: str | None = None
) -> RecordBatch | Table:
    """Return the tokens of each session: of its messages, by kind and by message.

    Args:
        data: a table, batch, series or array with Arrow's PyCapsule interface.
        column: the table's column of sessions; None takes the only one, or an array itself.
        model: the model to count for; None takes the one that a session file names.
        format: one of ``trimtab.formats.FORMATS``: the format of all rows; None detects that of each.

    Returns:
        A batch of a batch or an array, a table of a table or a stream. Columns: ``format``, ``provider``, ``model``,
        ``messages``, ``skipped``, ``tokens``, ``tokens_by_kind``, ``tokens_by_tool``, ``tokens_by_message``,
        ``error``.

    Raises:
        TypeError: it is no Arrow data, its type is neither text nor messages, or the model is no id and no ``Model``.
        ValueError: there is no such column or format, or no such files of a model.
    """

    def work(ledger: Ledger) -> dict[str, Any]:
        return {**said.counted(ledger), "tokens_by_message": ledger.per_message.tolist()}

    return SessionColumn(data, column, model, format).counted(said.COUNTED, cache(Counter.for_model), work)


def validate(
    data: Any,
    *,
    column: str | None = None,
    model: str | Model | None = None,
    format: str | None = None,
    in_flight: bool = False,
) -> RecordBatch | Table:
    """Return what the provider of each session would refuse about it: an empty list if nothing.

    Args:
        data: as ``count``.
        column: as ``count``.
        model: whose rules hold; None takes the model that a session file names, and the most lenient rules without.
        format: as ``count``.
        in_flight: calls at the end may still be running.

    Returns:
        As ``count``. Columns: ``format``, ``provider``, ``model``, ``messages``, ``skipped``, ``problems``, ``error``.

    Raises:
        TypeError: as ``count``.
        ValueError: as ``count``.
    """
    work = partial(said.validated, model=model, in_flight=in_flight)
    return SessionColumn(data, column, model, format).answered(said.VALIDATED, work)


def compact(
    data: Any,
    *,
    column: str | None = None,
    model: str | Model | None = None,
    format: str | None = None,
    target_tokens: int | None = None,
    target_share: float | None = None,
    **settings: Any,
) -> RecordBatch | Table:
    """Return each session compacted, as the JSON text of its messages, with the plan.

    Args:
        data: as ``count``.
        column: as ``count``.
        model: the model whose window it has to fit; None takes the one that a session file names.
        format: as ``count``.
        target_tokens: tokens of messages to reach.
        target_share: share of each session's tokens to reach; the policy's target if neither is given.
        **settings: a ``Compactor``'s, such as ``policy`` and ``window``. Originals are in the input: they are
            archived only where an archive is named.

    Returns:
        As ``count``. Columns: ``format``, ``provider``, ``model``, ``messages``, ``skipped``, ``compacted``,
        ``tokens_before``, ``tokens_after``, ``reason``, ``plan``, ``error``.

    Raises:
        TypeError: as ``count``, or a setting is unknown.
        ValueError: as ``count``, or a setting or target is out of its range.
    """
    targets = {"target_tokens": target_tokens, "target_share": target_share}
    said.check_settings(settings, model, targets)
    work = said.compacting(model, targets, settings)
    return SessionColumn(data, column, model, format).answered(said.COMPACTED, work)


def repair(
    data: Any,
    *,
    column: str | None = None,
    model: str | Model | None = None,
    format: str | None = None,
    in_flight: bool = False,
) -> RecordBatch | Table:
    """Return each session as its provider accepts it, as the JSON text of its messages, with the changes.

    The arguments are those of ``validate``; ``trimtab.repair`` describes the changes.

    Args:
        data: as ``count``.
        column: as ``count``.
        model: as ``validate``.
        format: as ``count``.
        in_flight: calls at the end may still be running.

    Returns:
        As ``count``. Columns: ``format``, ``provider``, ``model``, ``messages``, ``skipped``, ``repaired``,
        ``changes``, ``error``.

    Raises:
        TypeError: as ``count``.
        ValueError: as ``count``.
    """
    work = partial(said.repaired, model=model, in_flight=in_flight)
    return SessionColumn(data, column, model, format).answered(said.REPAIRED, work)


def truncate(
    data: Any,
    *,
    column: str | None = None,
    model: str | Model | None = None,
    tokens: int | None = None,
    lines: int | None = None,
    chars: int | None = None,
    category: Category = "generic",
) -> RecordBatch | Table:
    """Return each text, such as a tool's output, cut to every given limit.

    ``trimtab.truncate`` describes limits and categories. Bytes that are not UTF-8 become U+FFFD.

    Args:
        data: as ``count``; its rows are texts.
        column: as ``count``.
        model: counts the tokens; None counts those of o200k_base.
        tokens: maximum tokens.
        lines: maximum lines.
        chars: maximum characters.
        category: the kind of output.

    Returns:
        As ``count``. Columns: ``text``, ``truncated``, ``error``.

    Raises:
        TypeError: it is no Arrow data, or the column holds no texts.
        ValueError: there is no such column, no limit is given, one is negative, or the category is unknown.
    """
    work = said.truncating(model, tokens=tokens, lines=lines, chars=chars, category=category)
    return answered(Rows.of(data, column, texts=True), said.TRUNCATED, work)
