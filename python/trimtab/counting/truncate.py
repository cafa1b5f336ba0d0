"""Truncate a text to a limit, with a notice of the omitted part."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

from .. import _core
from .counter import Counter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Category = Literal["head-tail", "match-list", "file-content", "generic"]
"""Kind of output, which decides the part to keep."""

CATEGORIES: tuple[Category, ...] = ("head-tail", "match-list", "file-content", "generic")

DEFAULT_ENCODING = "o200k_base"


def truncate(
    text: str,
    *,
    tokens: int | None = None,
    lines: int | None = None,
    chars: int | None = None,
    category: Category = "generic",
    counter: _core.Counter | None = None,
    more: str = "",
) -> str:
    r"""Truncate a text to every given limit; return the same object if it is within them.

    A notice in place of the omitted part gives its size, as ``[42 lines, 18340 bytes omitted]``: partly omitted lines
    count, bytes are UTF-8. The notice counts towards the limits. Idempotent. If the notice alone exceeds a limit, the
    result is ``…`` or empty.

    Whole lines are kept, unless that would waste three quarters of the head's or the tail's share; then the cut is
    inside a line, but never inside a grapheme cluster, CR LF or a terminal's escape sequence. Each category keeps
    another part:

    - ``head-tail``: a command's output; three fifths of the limit for the head, the rest for the tail.
    - ``match-list``: leading lines, whole ones only.
    - ``file-content``: head and tail in equal shares; the notice says ``read on with offset/limit``.
    - ``generic``: the head, up to the end of a line if a line fits.

    Args:
        text: the text; lone surrogates become U+FFFD if it is truncated.
        tokens: maximum tokens, by ``counter``.
        lines: maximum lines, including the notice.
        chars: maximum Unicode scalar values.
        category: the kind of output.
        counter: counts tokens; o200k_base where it is None.
        more: where the whole text is, for the notice: ``[42 lines, 18340 bytes omitted; see run.log]``. The notice
            leaves it out if it would take more than three quarters of a limit.

    Raises:
        ValueError: no limit is given, one is negative, or the category is unknown.

    Examples:
        >>> truncate("one\ntwo\nthree\nfour\n", lines=3, category="head-tail")
        'one\ntwo\n[2 lines, 11 bytes omitted]\n'
    """
    return shortened(text, checked(tokens=tokens, lines=lines, chars=chars), category, counter, more)


def shortened(  # noqa: PLR0917 - a text, its limits, and what the notice says
    text: str,
    limits: list[int | None],
    category: str,
    counter: _core.Counter | None = None,
    more: str = "",
    quotes: Sequence[str] = (),
) -> str:
    """Return a text truncated to its limits on tokens, lines, characters and bytes of UTF-8, in this order.

    Lines that ``quotes`` have stay between head and tail, as many as half of the limit on tokens holds.
    """
    counter = counter or Counter(DEFAULT_ENCODING)
    cut = _core.truncate(text, counter=counter, category=category, limits=limits, more=more, quotes=quotes)
    return text if cut is None else cut


def truncate_stream(
    chunks: Iterable[bytes],
    *,
    tokens: int | None = None,
    lines: int | None = None,
    chars: int | None = None,
    category: Category = "generic",
    counter: _core.Counter | None = None,
    more: str = "",
) -> bytes:
    """Truncate a text that arrives in chunks and may be larger than memory.

    Holds as much of the text as the limits can need, and at most 128 MiB: of a text over 64 MiB, at most the first and
    the last 32 MiB are kept, whatever the limits. Bytes that are not UTF-8 count as U+FFFD and are returned unchanged.

    Args:
        chunks: the text's bytes, in chunks of any size.
        tokens: as in ``truncate``.
        lines: as in ``truncate``.
        chars: as in ``truncate``.
        category: as in ``truncate``.
        counter: as in ``truncate``.
        more: as in ``truncate``.

    Raises:
        ValueError: as in ``truncate``, before the first chunk is taken.
    """
    limits = checked(tokens=tokens, lines=lines, chars=chars)
    counter = counter or Counter(DEFAULT_ENCODING)
    stream = _core.Truncation(counter=counter, category=category, limits=limits, more=more)
    for chunk in chunks:
        stream.push(chunk)
    return stream.finish()


def checked(**limits: int | None) -> list[int | None]:
    """Return the limits in their order, and none on bytes.

    Raises:
        TypeError: a limit is neither an integer nor None.
        ValueError: no limit is given, or one is negative.
    """
    for name, limit in limits.items():
        if not isinstance(limit, int | None):
            raise TypeError(f"{name} must be an integer, got {type(limit).__name__}")
        if limit is not None and limit < 0:
            raise ValueError(f"{name} must be at least 0, got {limit}")
    given = [None if limit is None else min(limit, sys.maxsize) for limit in limits.values()]
    if given == [None] * len(given):
        raise ValueError(f"need a limit: {', '.join(limits)}")
    return [*given, None]
