"""The billed tokens of one call, in one form for all senders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeGuard, TypeVar

from .._repr import short
from .senders import SENDERS, Sender

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class _Billed(Protocol):
    """A billed call."""

    @property
    def prompt(self) -> int:
        """Tokens of its prompt."""


B = TypeVar("B", bound=_Billed)

MOST = 2**53
"""Largest number of tokens in a usage: the largest up to which JSON's numbers are exact."""

NEAR = 3 / 2
"""Ratio of a charge to another number from which it is far off: doubled charges are 2 or 4 times the right one."""

HELD = 4
"""Ratio of a charge to the count of its messages up to which these are its prompt; above it, they lack most of it."""

LARGEST = 10
"""Most times that a model's window may be larger than the tables say, by its charges."""

READ = ("read", "write", "kept", "output", "thought", "total", "aside", "hourly")
"""Attributes of a ``Sender`` that name the fields of numbers."""

ANSWERS = (None, "message", "fallback_message")
"""Types of the entries of ``iterations`` whose prompt was the conversation: no advisor's, and no compaction's."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The billed tokens of a call.

    Attributes:
        input: input tokens, without cache reads and writes.
        output: output tokens.
        cache_read: input tokens read from a cache.
        cache_write: input tokens written to a cache.
        hourly: those of ``cache_write`` that the cache keeps for an hour (Anthropic), not for five minutes.
        earlier: output tokens of the answer that the prompt holds already: a server that runs tools, or compacts, calls
            the model several times for one answer, and the other numbers are those of the last time.
    """

    __repr__ = short

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    hourly: int = 0
    earlier: int = 0

    @property
    def prompt(self) -> int:
        """Tokens of the whole prompt."""
        return self.input + self.cache_read + self.cache_write

    @classmethod
    def of(cls, usage: object) -> Self:
        """Return the usage of an answer from any sender's dict or SDK object (``SENDERS``).

        A total that the usage states decides whether the prompt's tokens hold those of the cache, and is the most that
        prompt and answer can be. Of several calls (``iterations``) the last one counts: the next prompt follows it.

        Raises:
            ValueError: ``usage`` has no prompt tokens, adds up several requests without saying what each had, or one of
                its numbers is no integer from 0 to 2**53.
        """
        if isinstance(usage, cls):
            for field in fields(cls):
                _tokens(usage, field.name)
            return usage
        return cls._last_of(usage, strict=True)

    @classmethod
    def recorded(cls, usage: object) -> Self:
        """Return the usage in a session file: without what is no number, and 0 where it has no prompt tokens."""
        if not usage:
            return cls()
        try:
            return cls._last_of(usage, strict=False)
        except ValueError:
            return cls()

    @classmethod
    def _last_of(cls, usage: object, *, strict: bool) -> Self:
        """Return the usage of the last call that a usage speaks of."""
        calls = _get(usage, "iterations")
        if isinstance(calls, list | tuple):
            ends = [n for n, each in enumerate(calls) if each is not None and _get(each, "type") in ANSWERS]
            if ends:
                before = sum(_tokens(each, "output_tokens", strict=strict) or 0 for each in calls[: ends[-1]])
                return replace(cls._by_sender(calls[ends[-1]], strict=strict), earlier=before)
        requests = _get(usage, "request_usage_entries")
        if isinstance(requests, list | tuple) and requests:  # openai-agents
            return cls._by_sender(requests[-1], strict=strict)
        if is_tokens(count := _get(usage, "requests")) and count > 1:
            msg = f"usage adds up {count} requests and says of none how many prompt tokens it had: pass the last one's"
            raise ValueError(msg)
        return cls._by_sender(usage, strict=strict)

    @classmethod
    def _by_sender(cls, usage: object, *, strict: bool) -> Self:
        """Return the usage of one call, by the first sender whose fields it has."""
        found = None
        for sender in SENDERS if type(usage) is not dict else _senders_of(frozenset(usage)):
            prompt = _tokens(usage, sender.prompt, strict=strict)
            if prompt is None or (sender.marks and all(_get(usage, mark) is None for mark in sender.marks)):
                continue
            read = cls._by_fields(usage, sender, prompt, strict=strict)
            if prompt:
                return read
            found = max(found or read, read, key=lambda each: each.prompt)  # a proxy may write two forms, one of 0
        if found is None:
            msg = f"usage has no prompt tokens: got {_shown(usage)}"
            raise ValueError(msg)
        return found

    @classmethod
    def _by_fields(cls, usage: object, sender: Sender, prompt: int, *, strict: bool) -> Self:
        """Return the usage of one call by the fields of its sender."""
        most = []
        for names in (
            sender.read,
            sender.write,
            sender.output,
            sender.thought,
            sender.hourly,
            sender.total,
            sender.aside,
        ):
            number = 0
            for name in names:
                number = max(_tokens(usage, name, strict=strict) or 0, number)
            most.append(number)
        read, write, answer, thought, hourly, total, aside = most
        write = max(write, sum(_tokens(usage, name, strict=strict) or 0 for name in sender.kept))
        whole, output = _whole(sender, prompt, read + write), answer + thought * sender.thinks_beside
        if total:
            totals = total, total - aside
            readings = whole, prompt, prompt + read + write
            sums = ((each, made) for made in (output, answer, answer + thought) for each in readings)
            reading, made = next((each for each in sums if sum(each) in totals), (0, output))
            if not reading and (0 < total - output < whole or (sender.cache == "outside" and total > whole + output)):
                reading = total - output
            if reading and (sender.cache == "inside" or reading >= read + write or reading != prompt):
                whole, output = reading, made  # else the total is without the cache, as the prompt is
        read = min(read, whole)
        write = min(write, whole - read)
        return cls(whole - read - write, output, read, write, hourly)


def _whole(sender: Sender, prompt: int, cached: int) -> int:
    """Return the tokens of the whole prompt where no total decides."""
    if sender.cache == "outside" or (sender.cache == "either" and cached > prompt):
        return prompt + cached
    return max(prompt, cached)


def _tokens(usage: object, name: str, *, strict: bool = True) -> int | None:
    """Return the number in a field; None where it is not there, or, unless ``strict``, where it is no number of tokens.

    Raises:
        ValueError: the number is no integer from 0 to 2**53.
    """
    value = usage.get(name) if type(usage) is dict and "." not in name else _get(usage, name)
    if value is None or (type(value) is int and 0 <= value <= MOST):
        return value
    if isinstance(value, Mapping):
        return None
    if isinstance(value, float) and value.is_integer():  # Cohere's, and JSON of languages with one kind of number
        value = int(value)
    if is_tokens(value):
        return value
    if not strict:
        return None
    msg = f"{name} must be a number of tokens from 0 to 2**53, got {_shown(value)}"
    raise ValueError(msg)


def is_near(one: int, other: int) -> bool:
    """Return whether two numbers of tokens are not far off each other."""
    return max(one, other) <= NEAR * min(one, other)


def usage_in(value: object) -> object:
    """Return the usage of a provider's answer; a usage itself as it is."""
    own = value.get("usage") if isinstance(value, Mapping) else getattr(value, "usage", None)
    return value if own is None or callable(own) else own


def is_proven(charges: Sequence[B], at: int, count: Callable[[B], int]) -> bool:
    """Return whether a charge can show how large a window is: one that is doubled or absurd raises none.

    The charge before or after it is near, or its messages explain it.

    Args:
        charges: billed calls of a session file.
        at: position of the charge.
        count: returns the tokens of the messages of a call.
    """
    charge, beside = charges[at], (*charges[max(at - 1, 0) : at], *charges[at + 1 : at + 2])
    return any(is_near(charge.prompt, other.prompt) for other in beside) or is_near(charge.prompt, count(charge))


def is_tokens(value: object) -> TypeGuard[int]:
    """Return whether a value is a number of tokens: an integer from 0 to 2**53, no bool."""
    return type(value) is int and 0 <= value <= MOST


def _shown(value: object) -> str:
    """Return the beginning of a value's representation; that of an integer with too many digits is its type."""
    try:
        return repr(value)[:200]
    except ValueError:
        return f"a large {type(value).__name__}"


def _get(value: object, path: str) -> Any:
    """Return the value at a path of keys or attributes; None where there is none.

    In a list, a part of the path is the ``ttl`` of the entry that goes on (Bedrock's ``cacheDetails``).
    """
    for name in path.split(".") if "." in path else (path,):
        if isinstance(value, list):
            value = next((each for each in value if _get(each, "ttl") == name), None)
            if value is None:
                return None
            continue
        # The type first: the check for a mapping is a call of Python.
        value = value.get(name) if type(value) is dict or isinstance(value, Mapping) else getattr(value, name, None)
        if value is None:
            return None
    return value


@lru_cache(64)
def _senders_of(names: frozenset[Any]) -> tuple[Sender, ...]:
    """Return the senders whose usage a dict with these keys may be, each with the fields alone that it may have.

    A long file has few sets of keys.
    """

    def in_names(field: str) -> bool:
        return field.partition(".")[0] in names

    def with_fields(sender: Sender) -> Sender:
        lists: dict[str, Any] = {name: tuple(filter(in_names, getattr(sender, name))) for name in READ}
        return replace(sender, **lists)

    found = (one for one in SENDERS if in_names(one.prompt) and (not one.marks or any(map(in_names, one.marks))))
    return tuple(map(with_fields, found))
