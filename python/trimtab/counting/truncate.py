"""One text cut down to a limit, with a notice that says what is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .. import _core
from .counter import Counter

if TYPE_CHECKING:
    from collections.abc import Iterable

Category = Literal["head-tail", "match-list", "file-content", "generic"]
"""What kind of output a text is: where its meaning sits."""

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
) -> str:
    r"""The text, cut so that it keeps every limit given; the same object where it keeps them already.

    What is left out is said where it stood, as ``[42 lines, 18340 bytes omitted]``: lines of which a part is gone
    count, bytes are those of UTF-8. The notice counts like any other text, so the result is never above a limit, and
    cutting it again changes nothing. Where even the notice is too much, ``…`` stands for the text, or nothing.

    Whole lines are kept, unless that would give up three quarters of the head's or the tail's room; then the cut is
    between two characters. The categories are those of tools' outputs:

    - ``head-tail``: a command's output; three fifths of the room to the head, the rest to the tail.
    - ``match-list``: leading lines, whole ones only.
    - ``file-content``: head and tail in equal parts; the notice says how to read on.
    - ``generic``: the head, to the end of a line wherever a line fits.

    Args:
        text: lone surrogates become U+FFFD where it is cut.
        tokens: at most so many, by ``counter``.
        lines: at most so many lines, the notice among them.
        chars: at most so many Unicode scalar values.
        category: where the text's meaning sits.
        counter: what counts tokens; o200k_base otherwise.

    Raises:
        ValueError: no limit is given, one is negative, or the category is unknown.

    Example:
        >>> truncate("one\ntwo\nthree\nfour\n", lines=3, category="head-tail")
        'one\ntwo\n[2 lines, 11 bytes omitted]\n'
    """
    limits = checked(tokens=tokens, lines=lines, chars=chars)
    cut = _core.truncate(text, counter=counter or Counter(DEFAULT_ENCODING), category=category, **limits)
    return text if cut is None else cut


def truncate_stream(
    chunks: Iterable[bytes],
    *,
    tokens: int | None = None,
    lines: int | None = None,
    chars: int | None = None,
    category: Category = "generic",
    counter: _core.Counter | None = None,
) -> bytes:
    """What ``truncate`` makes of a text that comes in chunks and may be longer than memory.

    Holds no more of it than the limits can need, and never more than 128 MiB: of a text over 64 MiB, no more than the
    first and the last 32 are kept, whatever the limits. Bytes that are not UTF-8 count as U+FFFD and come out as they
    came in.

    Args:
        chunks: the text's bytes, in pieces of any size.
        tokens: as in ``truncate``.
        lines: as in ``truncate``.
        chars: as in ``truncate``.
        category: as in ``truncate``.
        counter: as in ``truncate``.

    Raises:
        ValueError: as in ``truncate``, before the first chunk is taken.
    """
    limits = checked(tokens=tokens, lines=lines, chars=chars)
    stream = _core.Truncation(counter=counter or Counter(DEFAULT_ENCODING), category=category, **limits)
    for chunk in chunks:
        stream.push(chunk)
    return stream.finish()


def checked(**limits: int | None) -> dict[str, int]:
    """The limits that are given.

    Raises:
        ValueError: there is none, or one is negative.
    """
    given = {name: limit for name, limit in limits.items() if limit is not None}
    if not given:
        raise ValueError(f"need a limit: {', '.join(limits)}")
    for name, limit in given.items():
        if limit < 0:
            raise ValueError(f"{name} must be at least 0, got {limit}")
    return given
