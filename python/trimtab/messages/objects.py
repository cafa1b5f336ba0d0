"""Objects as messages: a caller's list read as plain dicts, and what is made of it given back in the caller's kind.

A list of dicts is not looked through: what the core can read as it stands is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import NAMESPACE_OID, uuid5

from ..errors import MessageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .types import Message

HINT = "pass plain dicts, lists, strings and numbers; of SDK objects what .model_dump() gives"

DEEPEST = 200
"""Nesting that the core reads; what is deeper is left to its error."""

_LEAVES = frozenset({str, int, float, bool, type(None)})
"""What nearly all values are, and no object is."""

_SHARED = ("isSidechain", "userType", "entrypoint", "cwd", "version", "gitBranch", "sessionId", "timestamp")
"""What every entry of a Claude Code session says again."""

T = TypeVar("T")


class _TooDeepError(Exception):
    """Nested deeper than any message, or in itself."""


class Given:
    """A caller's list, the same as plain dicts, and the way back.

    Attributes:
        given: the messages as they came.
        messages: the same as dicts, lists, strings and numbers; the very objects where they are that already.
    """

    def __init__(self, given: Sequence[Any], *, whole: bool = False) -> None:
        """Reads the list; ``whole`` looks into every value, not only where messages and blocks stand."""
        self.given = given
        self._was: dict[int, Any] = {}
        self.messages: Sequence[Message] = given
        if isinstance(given, list | tuple) and (whole or not all(map(_stands, given))):
            try:
                read = self._all(given, 0)
            except _TooDeepError:
                return
            if any(new is not old for new, old in zip(read, given, strict=True)):
                self.messages = read

    def more(self, later: Sequence[Any]) -> list[Message]:
        """Messages that came later, read as the others were."""
        return self._all(later, len(self.given))

    def back(self, made: Sequence[Message]) -> list[Any]:
        """Messages in the kind that the list has: kept ones are the objects that came, new ones are made like them.

        What a class of the caller's refuses stays a dict.
        """
        if not self._was:
            return list(made)
        kinds = self._kinds()
        out: list[Any] = []
        for message in made:
            out.append(self._was[id(message)] if id(message) in self._was else self._made(message, kinds, out))
        return out

    def _all(self, messages: Sequence[Any], before: int) -> list[Message]:
        read: list[Message] = []
        for message in messages:
            try:
                read.append(self._message(message))
            except _TooDeepError:
                raise
            except Exception as error:
                at = before + len(read)
                what = f"cannot be read: {type(error).__name__}: {error}"
                raise MessageError(what, path=f"messages[{at}]", index=at, hint=HINT) from error
        return read

    def _message(self, message: Any) -> Any:
        plain = self._plain(message, 0)
        if _is_entry(plain):
            inner = plain["message"]
            plain = {key: inner[key] for key in ("role", "content") if key in inner} | {"uuid": plain.get("uuid")}
        elif isinstance(plain, dict) and plain.get("type") == "message" and "usage" in plain:
            plain = {key: plain[key] for key in ("role", "content") if key in plain}  # an answer, without its bill
        if plain is not message:
            self._was[id(plain)] = message
        return plain

    def _plain(self, value: Any, depth: int) -> Any:
        """The value without objects: itself where it holds none."""
        if depth > DEEPEST:
            raise _TooDeepError
        if isinstance(value, dict):
            read = {key: self._plain(part, depth + 1) for key, part in value.items() if type(part) not in _LEAVES}
            return value if all(part is value[key] for key, part in read.items()) else {**value, **read}
        if isinstance(value, list | tuple):
            parts = [part if type(part) in _LEAVES else self._plain(part, depth + 1) for part in value]
            return value if all(map(_same, parts, value)) else parts
        way = way_of(_class(value))
        if way is None:
            return value.value if isinstance(value, Enum) and not isinstance(value, str | int) else value
        said = way(value)
        plain = said if way.is_whole else self._plain(said, depth + 1)
        self._was[id(plain)] = value
        return plain

    def _kinds(self) -> dict[object, Callable[[dict[str, Any]], Any]]:
        """How a message of each role, and a block of each type, is made."""
        pairs = list(zip(self.messages, self.given, strict=True))
        for message, _ in pairs:
            content = message.get("content")
            blocks = content if isinstance(content, list | tuple) else ()
            pairs += [(block, self._was[id(block)]) for block in blocks if id(block) in self._was]
        kinds = {(plain.get("role"), plain.get("type")): _maker(was) for plain, was in pairs if plain is not was}
        return {kind: make for kind, make in kinds.items() if make is not None}

    def _made(self, message: Message, kinds: dict[object, Callable[[dict[str, Any]], Any]], before: list[Any]) -> Any:
        """A message that is new, or was changed."""
        content = message.get("content")
        if isinstance(content, list):
            blocks = [self._was[id(block)] if id(block) in self._was else _like(block, kinds) for block in content]
            message = message if all(map(_same, blocks, content)) else {**message, "content": blocks}
        if _is_entry(self.given[0]):
            return _entry(message, before, self.given)
        return _like(cast("dict[str, Any]", message), kinds)


def plain(messages: Sequence[T]) -> Sequence[T]:
    """The messages as plain dicts; the same list where they are that already."""
    return cast("Sequence[T]", Given(messages, whole=True).messages)


@dataclass(frozen=True, slots=True)
class Way:
    """How the objects of a class say what they say, by name.

    Attributes:
        ask: what an object says.
        is_whole: whether no object is left in that.
    """

    ask: Callable[[Any], dict[str, Any]]
    is_whole: bool = False

    def __call__(self, value: Any) -> dict[str, Any]:
        """What ``value`` says."""
        return self.ask(value)


@lru_cache(256)
def way_of(kind: type) -> Way | None:
    """How a class is read: an SDK's as the SDK sends it, other models and dataclasses without empty fields.

    None for a class of no such objects. Asked once for all objects of a class: to look for what a pydantic model does
    not have costs as much as to read one.
    """
    if issubclass(kind, (str, int, float, type(None), type)):
        return None
    if callable(getattr(kind, "model_dump", None)):
        sent = {"mode": "json", "by_alias": True, "warnings": False, "exclude": getattr(kind, "__api_exclude__", None)}
        sent |= {"exclude_unset": True} if _is_sdk(kind) else {"exclude_none": True}
        return Way(lambda value: value.model_dump(**sent), is_whole=True)
    if is_dataclass(kind):
        names = [field.name for field in fields(kind)]
        return Way(lambda value: {name: part for name in names if (part := getattr(value, name)) is not None})
    return Way(dict) if issubclass(kind, Mapping) and not issubclass(kind, dict) else None


def fields_of(value: Any) -> dict[str, Any] | None:
    """What an object says, by name, as ``way_of`` its class has it; None for what is no such object."""
    way = way_of(_class(value))
    return None if way is None else way(value)


def _class(value: object) -> Any:  # Any, because mypy does not take a class for hashable
    return type(value)


def sendable(value: Any) -> Any:
    """An object inside tools or system text as JSON has it; its name for want of anything better (``json.dumps``)."""
    found = fields_of(value)
    return str(value) if found is None else found


def _same(one: object, other: object) -> bool:
    return one is other


def _stands(message: Any) -> bool:
    """Whether a message is a dict down to its blocks."""
    if type(message) is not dict or "message" in message:
        return False
    content = message.get("content")
    return not isinstance(content, list | tuple) or all(type(block) is dict for block in content)


def _is_sdk(kind: type) -> bool:
    """Whether a model is one that an SDK answers with; those know how they are sent back."""
    return callable(getattr(kind, "to_dict", None))


def _is_entry(value: Any) -> bool:
    inner = value.get("message") if isinstance(value, dict) and "role" not in value else None
    return isinstance(inner, dict) and "role" in inner


def _maker(value: Any) -> Callable[[dict[str, Any]], Any] | None:
    """What makes an object of the same class from a dict; None where a dict does as well."""
    kind = type(value)
    if isinstance(value, dict) or _is_sdk(kind):
        return None
    if callable(getattr(kind, "model_validate", None)):
        return cast("Callable[[dict[str, Any]], Any]", kind.model_validate)
    return (lambda said: kind(**said)) if is_dataclass(kind) else None


def _like(said: Any, kinds: dict[object, Callable[[dict[str, Any]], Any]]) -> Any:
    make = kinds.get((said.get("role"), said.get("type"))) if isinstance(said, dict) else None
    if make is None:
        return said
    try:
        return make(said)
    except (TypeError, ValueError):
        return said


def _entry(message: Message, before: Sequence[Any], given: Sequence[Any]) -> dict[str, Any]:
    """The Claude Code entry of a changed message, or of a new one; its name follows from where it stands."""
    said = {key: message[key] for key in ("role", "content")}
    name = message.get("uuid")
    if old := next((entry for entry in given if name is not None and entry.get("uuid") == name), None):
        return {**old, "message": {**old["message"], **said}}
    beside = before[-1] if before else given[0]
    parent = before[-1].get("uuid") if before else None
    shared = {key: beside[key] for key in _SHARED if key in beside}
    name = str(uuid5(NAMESPACE_OID, f"{parent} {said}"))
    return {"parentUuid": parent, **shared, "type": said["role"], "message": said, "uuid": name}
