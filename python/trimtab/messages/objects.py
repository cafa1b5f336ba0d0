"""Objects as messages: a caller's list is read as plain dicts, and messages are written in the caller's kind.

A list of dicts is not searched for objects: the core reads dicts as they are.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cached_property, lru_cache
from operator import is_
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast, overload

from .. import _core
from ..errors import MessageError
from .frameworks import framework_of, origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .frameworks import Framework
    from .types import Message

MAKE_HINT = "give the field a default in the class, or pass plain dicts"
HINT = "pass plain dicts, lists, strings and numbers; of SDK objects what .model_dump() gives"

FEW = 2
"""Messages that are read again in less time than remembering them takes."""

MAX_DEPTH = 200
"""Nesting that the core reads; it reports deeper values itself."""

_LEAVES = frozenset({str, int, float, bool, type(None)})
"""Types of nearly all values; none is an object with fields."""

_FILES = frozenset({"bytes", "data", "redactedContent", "thoughtSignature", "thought_signature"})
"""Fields that Bedrock's and Gemini's SDKs take as bytes, and send as base64."""

_SHARED = ("isSidechain", "userType", "entrypoint", "cwd", "version", "gitBranch", "sessionId", "timestamp")
"""Fields that every entry of a Claude Code session repeats."""

T = TypeVar("T")

Reader: TypeAlias = Callable[[Any], dict[str, Any]]
Maker: TypeAlias = Callable[[dict[str, Any]], Any]


class InputMessages(Sequence["Message"]):
    """A caller's list as plain dicts, and the way back. As a sequence it is ``messages``.

    Attributes:
        given: the messages as they came.
        deep: whether every value is searched for objects, not only messages and blocks.
    """

    def __init__(self, given: Sequence[Any], *, deep: bool = False) -> None:
        """Take the list; it is searched for objects when ``messages`` is first used."""
        self.given, self.deep = given, deep
        # By id of the plain value, which is kept alive beside its original: a dropped value's id would be given again.
        self._originals: dict[int, tuple[Any, Any]] = {}
        self._framework: Framework | None = None

    @cached_property
    def messages(self) -> Sequence[Message]:
        """The list as dicts, lists, strings and numbers; the given objects where they are plain already.

        Raises:
            MessageError: an object raised while it was read; names its position.
        """
        given = self.given
        if isinstance(given, list | tuple) and (self.deep or not _core.all_plain(given)):
            try:
                read = self.read(given, 0)
            except RecursionError:
                return given
            if not all(map(is_, read, given)):
                return read
        return given

    def __len__(self) -> int:
        """Return the number of messages."""
        return len(self.given)

    def __iter__(self) -> Iterator[Message]:
        """Return the messages as plain dicts, one after the other."""
        return iter(self.messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        """Return messages as plain dicts."""
        return self.messages[index]

    def read(self, messages: Sequence[Any], start: int | None = None) -> list[Message]:
        """Return messages as plain dicts; ``start`` is the position of the first, by default behind the given list.

        Raises:
            MessageError: an object raised while it was read; names its position.
        """
        read: list[Message] = []
        for index, message in enumerate(messages, len(self.given) if start is None else start):
            try:
                read.append(self._message(message, is_first=index == 0))
            except RecursionError:
                raise
            except Exception as error:
                what = f"cannot be read: {type(error).__name__}: {error}"
                raise MessageError(what, path=f"messages[{index}]", index=index, hint=HINT) from error
        return read

    def write(self, messages: Sequence[Message]) -> list[Any]:
        """Return messages in the kind of the given list: kept ones are the given objects, new ones are made like them.

        A required field of the caller's own gets the value that all given objects of its class have there. In a list
        that has dicts too, a message that no class takes stays a dict.

        Raises:
            MessageError: no class takes a message; names the class and the field.
        """
        if self.messages is self.given and not self._originals:
            return list(messages)
        if self._framework is not None:
            stay = {id(message) for message in self.messages}
            made = [
                self._original(message) if id(message) in stay else self._of_framework(message) for message in messages
            ]
            return self._framework.settle(made, self.given)
        makers = Makers(self._originals.values(), takes_dicts=any(map(_is_dict, self.given)))
        out: list[Any] = []
        for message in messages:
            out.append(self._original(message) if id(message) in self._originals else self._make(message, makers, out))
        return out

    def check(self, start: int = 0) -> None:
        """Reject a message whose class does not take its own fields; an edit could not be written in its kind.

        Args:
            start: position of the first message.

        Raises:
            MessageError: names the message.
        """
        for index, (message, given) in enumerate(zip(self.messages, self.given, strict=False), start):
            make = None if message is given or framework_of(cast("Any", type(given))) else _maker(given)
            try:
                if make and message is not given:
                    make(cast("dict[str, Any]", message))
            except (TypeError, ValueError) as error:
                what = f"cannot be made again as {type(given).__name__}: {error}"
                raise MessageError(what, path=f"messages[{index}]", index=index, hint=HINT) from error

    def _original(self, value: Any) -> Any:
        """Return the object that a plain value was read from; the value itself where there is none."""
        return self._originals.get(id(value), (value, value))[1]

    def _of_framework(self, message: Message) -> Any:
        """Return an edited or a new message in the framework's kind."""
        assert self._framework is not None  # noqa: S101 - for mypy
        original = origin(message["role"])
        if original is not None:
            return self._framework.change(original, message)
        return self._framework.make(message, self.given)

    def _message(self, message: Any, *, is_first: bool) -> Any:
        if framework := framework_of(cast("Any", type(message))):
            self._framework = framework
            read = framework.read(message, is_first=is_first)
            self._originals[id(read)] = (read, message)
            return read
        plain = self._plain(message, 0)
        if _is_entry(plain):
            inner = plain["message"]
            plain = {key: inner[key] for key in ("role", "content") if key in inner} | {"uuid": plain.get("uuid")}
        elif isinstance(plain, dict) and plain.get("type") == "message" and "usage" in plain:
            plain = {key: plain[key] for key in ("role", "content") if key in plain}  # an answer, without its usage
        if plain is not message:
            self._originals[id(plain)] = (plain, message)
        return plain

    def _plain(self, value: Any, depth: int) -> Any:
        """Return the value without objects: itself where it holds none."""
        if depth > MAX_DEPTH:
            raise RecursionError
        if isinstance(value, dict):
            read = {
                key: _base64(part) if _is_file(value, key) else self._plain(part, depth + 1)
                for key, part in value.items()
                if type(part) not in _LEAVES
            }
            if all(part is value[key] for key, part in read.items()):
                return value
            made = {**value, **read}
            self._originals[id(made)] = (made, value)
            return made
        if isinstance(value, list | tuple):
            parts = [part if type(part) in _LEAVES else self._plain(part, depth + 1) for part in value]
            return value if all(map(is_, parts, value)) else parts
        reader = _reader(cast("Any", type(value)))  # mypy does not take a class for hashable
        if reader is None:
            return value.value if isinstance(value, Enum) and not isinstance(value, str | int) else value
        found = reader(value)
        plain = found if _is_model(value) else self._plain(found, depth + 1)
        self._originals[id(plain)] = (plain, value)
        return plain

    def _make(self, message: Message, makers: Makers, before: list[Any]) -> Any:
        """Return a new or changed message in the caller's kind."""
        field = "parts" if "parts" in message else "content"
        content = message.get(field)
        if isinstance(content, list):
            blocks = [
                self._original(block) if id(block) in self._originals else makers.make(block) for block in content
            ]
            message = message if all(map(is_, blocks, content)) else {**message, field: blocks}
        return (
            _entry(message, before, self.given) if _is_entry(self.given[0]) else makers.make(message, is_message=True)
        )


class Makers:
    """Makes objects of the caller's classes from dicts, by the role and the type that objects of each class had."""

    def __init__(self, pairs: Iterable[tuple[Any, Any]], *, takes_dicts: bool) -> None:
        """Take the plain values with the objects that they were read from.

        Args:
            pairs: the plain values and the objects.
            takes_dicts: whether a dict may stand in place of a message that no class takes.
        """
        self._by_name: dict[tuple[Any, Any], Any] = {}
        self._by_class: dict[type, list[dict[str, Any]]] = {}
        self._takes_dicts = takes_dicts
        for plain, original in pairs:
            if _is_object(plain, original):
                self._by_name[plain.get("role"), plain.get("type")] = original
                self._by_class.setdefault(type(original), []).append(plain)

    def make(self, value: Any, *, is_message: bool = False) -> Any:
        """Return an object of the class whose objects have this role and type; the value itself if none has.

        Raises:
            MessageError: the class does not take the value, nor does another one that messages have.
        """
        if not isinstance(value, dict):
            return value
        sample = self._by_name.get((value.get("role"), value.get("type")))
        samples = [] if sample is None else [sample]
        if is_message and sample is None and not self._takes_dicts:  # a role that no message has yet
            samples = [*{type(one): one for (role, _), one in self._by_name.items() if role is not None}.values()]
        lacks: str | None = None
        refusal: Exception | None = None
        for sample in samples:
            given = {**self._common(type(sample), value), **value}
            missing = [
                name
                for name, of in _required(cast("Any", type(sample))).items()
                if name not in given and getattr(sample, of) is not None
            ]
            make = _maker(sample)
            if make is None:
                return value
            try:
                if not missing:
                    return make(given)
            except (TypeError, ValueError) as error:
                refusal = refusal or error
            lacks = lacks or next(iter(missing), None)
        if not samples or self._takes_dicts:
            return value
        what = f"its required field {lacks!r} has no value" if lacks else type(refusal).__name__
        kind = type(samples[0]).__name__
        raise MessageError(f"a new message cannot be made as {kind}: {what}", hint=MAKE_HINT) from refusal

    def _common(self, kind: type, value: dict[str, Any]) -> dict[str, Any]:
        """Return the required fields that a value lacks, if two objects or more of the class agree on each."""
        known, common = self._by_class[kind], {}
        for name in _required(cast("Any", kind)):
            if name not in value and len(known) > 1 and all(name in plain for plain in known):
                first = known[0][name]
                if all(plain[name] == first for plain in known):
                    common[name] = first
        return common


class Forms:
    """Remembers the plain forms of the list that was read last: a message that has not changed is not read again."""

    def __init__(self) -> None:
        """Begin without a list."""
        self._seen = _core.Seen()
        self._plain: list[Any] = []

    def plain(self, messages: Sequence[T]) -> Sequence[T]:
        """Return the messages as plain dicts, which nobody may change.

        Two messages or less, such as one to pin, do not take the place of a longer list.
        """
        if len(messages) <= FEW < len(self._plain):
            return plain(messages)
        last, self._plain = self._plain, []
        seen, self._seen = self._seen, _core.Seen()
        known, places = seen.places(messages)
        inputs, made = InputMessages(messages, deep=True), last[:known]
        for index, place in enumerate(places, known):
            if place is not None and (place == 0) == (index == 0):  # a framework reads the first one otherwise
                made.append(last[place])
                continue
            try:
                made += inputs.read([messages[index]], index)
            except RecursionError:
                return messages
        self._seen, self._plain = seen, made
        return made


def plain(messages: Sequence[T]) -> Sequence[T]:
    """Return the messages as plain dicts; the same list where they are plain already."""
    return cast("Sequence[T]", InputMessages(messages, deep=True).messages)


def sendable(value: Any) -> Any:
    """Return an object inside tools or system text as JSON has it; its name where it has no fields (``json.dumps``)."""
    reader = _reader(cast("Any", type(value)))
    return str(value) if reader is None else reader(value)


@lru_cache(256)
def _reader(kind: type) -> Reader | None:
    """Return what reads objects of a class as dicts: an SDK's as the SDK sends them, others without empty fields.

    None for a class without such fields. Cached, because looking up a missing attribute of a pydantic model costs as
    much as reading one.
    """
    if issubclass(kind, (str, int, float, type(None), type)):
        return None
    if _is_model(kind):
        options = {
            "mode": "json",
            "by_alias": True,
            "warnings": False,
            "exclude": getattr(kind, "__api_exclude__", None),
        }
        options |= {"exclude_unset": True} if _is_sdk(kind) else {"exclude_none": True}
        return lambda value: value.model_dump(**options)
    if is_dataclass(kind):
        names = [field.name for field in fields(kind)]
        return lambda value: {name: part for name in names if (part := getattr(value, name)) is not None}
    return dict if issubclass(kind, Mapping) and not issubclass(kind, dict) else None


def _is_model(value: Any) -> bool:
    """Return whether a class or an object is pydantic's, which leaves no object in what it dumps."""
    return callable(getattr(value, "model_dump", None))


def _is_sdk(kind: type) -> bool:
    """Return whether a class is one that an SDK answers with; an SDK sends those itself, and dicts as well."""
    return callable(getattr(kind, "to_dict", None))


def _is_entry(value: Any) -> bool:
    """Return whether a value is an entry of a Claude Code session: its type is the role of the message in it."""
    inner = value.get("message") if isinstance(value, dict) and "role" not in value else None
    return isinstance(inner, dict) and "role" in inner and value.get("type") == inner["role"]


def _is_object(plain: Any, original: Any) -> bool:
    """Return whether a dict was read from an object."""
    return isinstance(plain, dict) and not isinstance(original, dict)


def _is_file(value: dict[str, Any], key: str) -> bool:
    """Return whether a field is a file that an SDK takes as bytes."""
    is_blob = key != "data" or "mime_type" in value or "mimeType" in value
    return key in _FILES and is_blob and isinstance(value[key], bytes | bytearray)


def _base64(file: bytes | bytearray) -> str:
    """Return a file as JSON has it."""
    return b64encode(file).decode()


def _maker(value: Any) -> Maker | None:
    """Return what makes an object of the same class from a dict; None where a dict does as well."""
    kind = type(value)
    if isinstance(value, dict) or _is_sdk(kind):
        return None
    if callable(getattr(kind, "model_validate", None)):
        dumped = value.model_dump(mode="json", by_alias=True, warnings=False)
        missing = dict.fromkeys(key for key, part in dumped.items() if part is None)
        bases = [base for base in kind.__mro__ if getattr(base, "model_fields", None)]
        return lambda given: _validated(bases, {**missing, **given})
    if not is_dataclass(kind):
        return None
    absent = dict.fromkeys(field.name for field in fields(kind) if field.init and getattr(value, field.name) is None)
    return lambda given: kind(**{**absent, **given})


def _validated(kinds: Sequence[Any], given: dict[str, Any]) -> Any:
    """Return an object of the first class that takes the fields: a subclass may set some of them itself.

    Raises:
        ValueError: no class takes them; says why the first does not.
        TypeError: the same.
    """
    refusal: Exception | None = None
    for kind in kinds:
        try:
            return kind.model_validate(given)
        except (TypeError, ValueError) as error:
            refusal = refusal or error
    raise refusal or TypeError("the class has no fields")


@lru_cache(256)
def _required(kind: type) -> dict[str, str]:
    """Return the fields without a default of a dataclass or a pydantic model: the attribute by the name in a dump."""
    if is_dataclass(kind):
        unset = (field for field in fields(kind) if field.init and field.default is field.default_factory is MISSING)
        return {field.name: field.name for field in unset}
    known: dict[str, Any] = getattr(kind, "model_fields", {})
    named = (
        (field.serialization_alias or field.alias or name, name) for name, field in known.items() if field.is_required()
    )
    return dict(named)


def _is_dict(value: Any) -> bool:
    """Return whether a message stands where a plain dict does as well: a mapping, or an SDK's answer."""
    return isinstance(value, Mapping) or _is_sdk(type(value))


def _entry(message: Message, before: Sequence[Any], given: Sequence[Any]) -> dict[str, Any]:
    """Return the Claude Code entry of a changed or a new message; a new one's uuid follows from its place."""
    inner = {key: message[key] for key in ("role", "content")}
    uuid = message.get("uuid")
    if old := next((entry for entry in given if uuid is not None and entry.get("uuid") == uuid), None):
        return {**old, "message": {**old["message"], **inner}}
    neighbour = before[-1] if before else given[0]
    parent = before[-1].get("uuid") if before else None
    shared = {key: neighbour[key] for key in _SHARED if key in neighbour}
    from uuid import NAMESPACE_OID, uuid5  # noqa: PLC0415 - 4 ms, for log entries alone

    uuid = str(uuid5(NAMESPACE_OID, f"{parent} {inner}"))
    return {"parentUuid": parent, **shared, "type": inner["role"], "message": inner, "uuid": uuid}
