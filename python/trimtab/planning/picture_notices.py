"""Notices in place of pictures and documents that leave: one for neighbours, none where it costs more than they do."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from ..counting.counter import scan
from ..messages.types import is_medium

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from .._core import Counter
    from ..messages.types import Message


_NAMES = {"image": "pictures", "document": "documents"}


def without_pictures(
    messages: Sequence[Message],
    edited: Mapping[int, Message | None],
    leaving: Mapping[int, Collection[int]],
    counter: Counter,
) -> dict[int, Message | None]:
    """Return the messages without some of their pictures, by position; None for a message that leaves.

    Neighbouring pictures of a message or of a result share one notice, and so do neighbouring messages of one role that
    are nothing but leaving pictures. A notice that has more tokens than its pictures is left out, unless the provider
    needs it: a message or a result would be empty, or two messages of the assistant would meet.

    Args:
        messages: the transcript; only Anthropic limits the number of pictures, so it is in that shape.
        edited: messages that other edits change, by position; None for those that leave.
        leaving: positions of blocks by message: a picture leaves, a result loses its pictures.
        counter: counts notices and pictures.
    """
    made: dict[int, Message | None] = {}
    whole: list[list[int]] = []
    for index in sorted(leaving):
        message = edited.get(index, messages[index])
        if message is None:
            continue
        content = message["content"]
        if len(leaving[index]) < len(content) or not all(map(is_medium, content)):
            made[index] = {**message, "content": _thinned(content, leaving[index], counter)}
        elif whole and whole[-1][-1] == index - 1 and messages[index - 1]["role"] == message["role"]:
            whole[-1].append(index)
        else:
            whole.append([index])
    for run in whole:
        pictures = [picture for index in run for picture in messages[index]["content"]]
        beside = [at for at in (run[0] - 1, run[-1] + 1) if 0 <= at < len(messages)]
        needed = all(messages[at]["role"] != messages[run[0]]["role"] for at in beside)
        notice = _notice(pictures, "", counter, needed=needed)
        made |= dict.fromkeys(run)
        if notice:
            made[run[0]] = {**messages[run[0]], "content": notice}
    return made


def _thinned(blocks: Sequence[Any], leaving: Collection[int], counter: Counter) -> list[Any]:
    """Return the blocks of a message or a result with notices in place of the pictures that leave."""
    total, passed = len(_pictures(blocks)), 0
    out: list[Any] = []
    for leaves, run in groupby(enumerate(blocks), lambda at: at[0] in leaving and is_medium(at[1])):
        places, found = zip(*run, strict=True)
        last = passed + len(_pictures(found))
        if leaves:
            numbers = f"{passed + 1} to {last}" if last > passed + 1 else f"{last}"
            which = f" ({numbers} of {total})" if len(found) < total else ""
            out += _notice(found, which, counter, needed=len(found) == len(blocks))
        else:
            out += [
                _thinned_result(block, counter) if at in leaving else block
                for at, block in zip(places, found, strict=True)
            ]
        passed = last
    return out


def _thinned_result(block: Any, counter: Counter) -> Any:
    """Return a result without its pictures."""
    parts = block.get("content")
    return {**block, "content": _thinned(parts, range(len(parts)), counter)} if isinstance(parts, list) else block


def _notice(pictures: Sequence[Any], which: str, counter: Counter, *, needed: bool) -> list[Any]:
    """Return the notice in place of pictures as a list of one block, or of none if it is left out.

    A notice takes over the pictures' cache marker, and stays for it.
    """
    kinds = {picture["type"] for picture in pictures}
    name = " and ".join(words for kind, words in _NAMES.items() if kind in kinds)
    many = f"{len(pictures):,} {name} were left out here{which}; they are archived"
    text = many if len(pictures) > 1 else f"a {name[:-1]} was left out here{which}; it is archived"
    notice = {"type": "text", "text": f"[trimtab: {text}]"}
    if marked := [picture for picture in pictures if picture.get("cache_control")]:
        return [notice | {"cache_control": marked[-1]["cache_control"]}]
    both = [{"role": "user", "content": [notice]}, {"role": "user", "content": list(pictures)}]
    cost, saved = (scan([message], counter, "anthropic").total for message in both)
    return [notice] if needed or cost <= saved else []


def _pictures(blocks: Sequence[Any]) -> list[Any]:
    return [block for block in blocks if is_medium(block)]
