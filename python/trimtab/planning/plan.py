"""What is to be done to a transcript, as a value: printed, saved, compared, refused, applied."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from .._repr import short
from ..errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Callable

VERSION = 1
"""Of the JSON form."""

AT_TARGET = "already at or under the target"
NOTHING = "nothing can leave"
"""How the reason of a plan without edits begins."""

Reason: TypeAlias = Literal["images", "superseded"]
"""Why something is pruned before what is older."""


@dataclass(frozen=True, slots=True)
class Prune:
    """Replaces the content of tool results, and pictures of the user's, by a placeholder; ids and order stay.

    Attributes:
        rows: positions of result and picture blocks in the transcript, ascending.
        text: the placeholder; empty says how many tokens were there.
        why: the ``Reason`` why they go first; empty where they are the oldest.
    """

    __repr__ = short

    rows: tuple[int, ...]
    text: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Cut:
    """Keeps the beginning of tool results.

    Attributes:
        rows: positions of result blocks, ascending.
        most: what each may keep, in ``unit``; no code point is parted.
        unit: ``bytes``, ``chars`` or ``utf16``.
        marker: what is put behind it.
    """

    __repr__ = short

    rows: tuple[int, ...]
    most: int
    unit: str
    marker: str


@dataclass(frozen=True, slots=True)
class Truncate:
    """Keeps head and tail of tool results.

    Attributes:
        rows: positions of result blocks, ascending.
        max_tokens: most tokens that each may keep.
    """

    __repr__ = short

    rows: tuple[int, ...]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Summarize:
    """Replaces messages by a summary of them.

    Attributes:
        start: first message of the zone.
        stop: first message behind it.
        max_tokens: most tokens of the summary.
        keep: messages of the zone that stay, verbatim, behind the summary; ascending.
    """

    __repr__ = short

    start: int
    stop: int
    max_tokens: int
    keep: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Drop:
    """Replaces messages by a notice.

    Attributes:
        start: first message of the zone.
        stop: first message behind it.
        notice: what stands in their place.
        keep: messages of the zone that stay, verbatim, behind the notice; ascending.
    """

    __repr__ = short

    start: int
    stop: int
    notice: str
    keep: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StripThinking:
    """Removes thinking that the provider binds to what stood before it; a message left empty goes too.

    Attributes:
        rows: positions of thinking blocks, ascending.
    """

    __repr__ = short

    rows: tuple[int, ...]


Edit: TypeAlias = Prune | Cut | Truncate | Summarize | Drop | StripThinking
_EDITS = {edit.__name__: edit for edit in (Prune, Cut, Truncate, Summarize, Drop, StripThinking)}


NOTICE = "[trimtab: {count} earlier messages were left out here to save room; they are archived]"
"""What stands where messages were dropped."""


def dropped(zone: Summarize, notice: str = NOTICE, about: str = "") -> Drop:
    """The same zone without a summary: what a failed summarizer leaves.

    Args:
        zone: what leaves.
        notice: what stands in its place; ``{count}`` and ``{about}`` are filled in.
        about: what the user asked for in there.
    """
    count = zone.stop - zone.start - len(zone.keep)
    return Drop(zone.start, zone.stop, notice.format(count=count, about=about), zone.keep)


@dataclass(frozen=True, slots=True)
class Plan:
    """Edits of one transcript, by position in it.

    Attributes:
        edits: what to do, in no particular order: positions are never renumbered.
        tokens_before: tokens of the messages now.
        tokens_after: tokens expected, a summary counted at its limit.
        target: tokens that were aimed at.
        reason: why these edits, or why none; names the floor where the target cannot be reached.
        messages: number of messages in the transcript.
        digest: the transcript's; a plan fits no other.
        provider: the messages' shape.
        policy: name of the policy that decided.
    """

    __repr__ = short

    version: ClassVar[int] = VERSION

    edits: tuple[Edit, ...]
    tokens_before: int
    tokens_after: int
    target: int
    reason: str
    messages: int
    digest: str
    provider: str
    policy: str

    def zone(self) -> Summarize | Drop | None:
        """The edit that takes messages out, if there is one."""
        return next((edit for edit in self.edits if isinstance(edit, Summarize | Drop)), None)

    def to_json(self) -> str:
        """The plan as one line of JSON, with its version."""
        body = asdict(self) | {"version": self.version}
        body["edits"] = [{"edit": type(edit).__name__, **asdict(edit)} for edit in self.edits]
        return json.dumps(body, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan that ``to_json`` wrote.

        Raises:
            PlanError: the text is no plan, or one of another version.
        """
        try:
            body: dict[str, Any] = json.loads(text)
            version = body.pop("version")
            if version != VERSION:
                raise PlanError(f"the plan has version {version}, this trimtab reads version {VERSION}")
            body["edits"] = tuple(_edit(dict(edit)) for edit in body["edits"])
            if unknown := body.keys() - {field.name for field in fields(cls)}:
                raise PlanError(f"not a plan: unknown keys {sorted(unknown)}")
            _typed(cls, body)
            return cls(**body)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise PlanError(f"not a plan: {error}") from error

    def __str__(self) -> str:
        """The plan as a person reads it."""
        tokens = f"{self.tokens_before:,} tokens -> {self.tokens_after:,} (target {self.target:,})"
        head = f"{self.messages:,} messages, {tokens}"
        return "\n".join([f"plan by {self.policy}: {head}", f"  {self.reason}", *(f"  {_line(e)}" for e in self.edits)])


_BECAUSE = {
    "": ("tool result", ""),
    "images": ("old picture", ", before all else"),
    "superseded": ("tool result", ", of files that were read again later"),
}
"""By the reason: what is pruned, and why before what is older."""


def _edit(body: dict[str, Any]) -> Edit:
    kind: Callable[..., Edit] = _EDITS[body.pop("edit")]
    body = {key: tuple(value) if isinstance(value, list) else value for key, value in body.items()}
    _typed(kind, body)
    if body.get("why", "") not in _BECAUSE:
        raise PlanError(f"not a plan: why of {kind.__name__} is {body['why']!r}")
    if body.get("start", 0) >= body.get("stop", 1) or body.get("rows", (0,)) == ():
        raise PlanError(f"not a plan: {kind.__name__} of nothing")
    return kind(**body)


def _typed(kind: Callable[..., object], body: dict[str, Any]) -> None:
    """Refuses what is not of the type that ``kind`` declares: a number is no less than 0, numbers ascend."""
    checks: dict[str, Callable[[Any], bool]] = {
        "int": lambda value: type(value) is int and value >= 0,
        "str": lambda value: type(value) is str,
        "tuple[int, ...]": lambda value: (
            type(value) is tuple and all(type(n) is int and n >= 0 for n in value) and list(value) == sorted(set(value))
        ),
    }
    for key, value in body.items():
        check = checks.get(kind.__annotations__.get(key, ""))
        if check and not check(value):
            shown = list(value) if isinstance(value, tuple) else value
            raise PlanError(f"not a plan: {key} of {kind.__name__} is {shown!r}")


def _line(edit: Edit) -> str:
    match edit:
        case Cut(rows, most, unit):
            return f"cut        {_many(rows, 'tool result')} to {most:,} {unit} ({_rows(rows)})"
        case Prune(rows, _, why):
            what, because = _BECAUSE[why]
            return f"prune      {_many(rows, what)} ({_rows(rows)}){because}"
        case Truncate(rows, max_tokens):
            return f"truncate   {_many(rows, 'tool result')} to {max_tokens:,} tokens ({_rows(rows)})"
        case Summarize(start, stop, max_tokens, keep):
            return f"summarize  messages {start} to {stop - 1} in at most {max_tokens:,} tokens{_kept(keep)}"
        case Drop(start, stop, _, keep):
            return f"drop       messages {start} to {stop - 1}, with a notice{_kept(keep)}"
        case StripThinking(rows):
            return f"strip      {_many(rows, 'thinking block')}, which the edit would break"


def _many(rows: tuple[int, ...], what: str) -> str:
    return f"{len(rows):,} {what}{'s' if len(rows) > 1 else ''}"


def _rows(rows: tuple[int, ...]) -> str:
    return f"rows {rows[0]} to {rows[-1]}" if len(rows) > 1 else f"row {rows[0]}"


def _kept(keep: tuple[int, ...]) -> str:
    return f", keeping {', '.join(map(str, keep))} verbatim" if keep else ""
