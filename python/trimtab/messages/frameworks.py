"""Which frameworks' messages are read and given back: LangChain's and pydantic-ai's.

A framework's message is read as one plain message in a provider's shape. Its role, and the types of its blocks, are
``Origin`` texts, which remember what they were read from: they survive ``{**message, "content": ...}``, so that an
edited message is written as its original with that change.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..models.provider import Provider

_CLASSES = {
    ("langchain_core.messages.base", "BaseMessage"): "langchain",
    ("pydantic_ai.messages", "ModelRequest"): "pydantic_ai",
    ("pydantic_ai.messages", "ModelResponse"): "pydantic_ai",
}
"""The module of this package that reads a class of messages; none of them imports the framework."""


class Origin(str):
    """A text that remembers the object that it was read from."""

    __slots__ = ("origin",)
    origin: Any

    def __new__(cls, text: str, origin: Any) -> Self:
        """Make the text."""
        made = super().__new__(cls, text)
        made.origin = origin
        return made

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Return what makes the text alone: a copy elsewhere is no message of the framework."""
        return str, (str(self),)


class Framework(Protocol):
    """Reads and writes the messages of a framework.

    Attributes:
        PROVIDER: the shape in which its messages are read, whatever the model's provider: the framework itself writes
            that provider's shape.
    """

    PROVIDER: Provider

    def role(self, message: Any) -> str | None:
        """Return a message's role in its plain form, without reading the rest of it; None where it is for no model."""

    def read(self, message: Any, *, is_first: bool) -> dict[str, Any]:
        """Return a message as a plain one; ``is_first`` if it begins the list."""

    def change(self, original: Any, message: Mapping[str, Any]) -> Any:
        """Return the original with what was edited in its plain message; everything else is kept."""

    def make(self, message: Mapping[str, Any], given: Sequence[Any]) -> Any:
        """Return a new message, for a list that was made of the given one."""

    def settle(self, messages: list[Any], given: Sequence[Any]) -> list[Any]:
        """Return a list that was made of the given one, with what must stand in its first message put there."""

    def system(self, messages: Sequence[Any]) -> str:
        """Return the system text inside the messages that no plain message holds."""


@lru_cache(256)
def framework_of(kind: Any) -> Framework | None:
    """Return what reads messages of a class; None where it is no framework's."""
    names = (_CLASSES.get((base.__module__, base.__name__)) for base in kind.__mro__)
    name = next(filter(None, names), None)
    return cast("Framework", import_module(f".{name}", __package__)) if name else None


def origin(value: object) -> Any:
    """Return the object that a plain message's role or a block's type was read from; None where there is none."""
    return value.origin if type(value) is Origin else None
