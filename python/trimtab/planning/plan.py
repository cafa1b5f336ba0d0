"""A plan: the edits of one transcript as a value that can be printed, saved, compared, refused or applied."""

from __future__ import annotations

import json
import math
from dataclasses import MISSING, dataclass, fields
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar

from .._repr import as_html, short
from ..errors import PlanError
from .edits import EDITS, Cut, Drop, Mend, Prune, StripThinking, Summarize, Truncate
from .policy import KEEP_TAG, USUAL_TAG
from .savings import Savings

if TYPE_CHECKING:
    from collections.abc import Callable

    from .edits import Edit
    from .savings import Rates

VERSION = 1
"""Version of the JSON form."""

AT_TARGET = "already at or under the target"
NOTHING = "nothing can leave"
"""Start of the reason of a plan without edits."""
USELESS = "compaction would not make it smaller"
UNREACHED = "not to the target"
"""Start of the part of a reason that names what stays."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a plan has to reach.

    Attributes:
        target: tokens of messages to reach.
        window: the model's window in tokens, for policies that keep a share of it.
        room: most tokens of messages that the next call holds; None if they need not fit. All but the floor leaves if
            the policy's edits leave more.
        most_bytes: most bytes of the messages, where tokens alone would leave more; None decides by tokens.
        urgent: the next call is in danger; the policy's emergency stage applies, if it has one.
        rates: the cost of the prompt's tokens, for a policy that prunes where it pays; None prunes by size alone.
    """

    target: int
    window: int = 0
    room: int | None = None
    most_bytes: int | None = None
    urgent: bool = False
    rates: Rates | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Edits of one transcript, by position in it.

    Attributes:
        edits: the edits; their order is irrelevant, because positions are never renumbered.
        tokens_before: tokens of the messages now.
        tokens_after: most tokens that are left: a summary is taken at its limit, and a placeholder at a usual size.
        target: tokens of messages to reach.
        reason: the reason for these edits or for none; names the floor if the target is out of reach.
        messages: number of messages in the transcript.
        digest: digest of the transcript; the plan applies to no other.
        provider: shape of the messages.
        policy: name of the policy that decided.
        savings: the money if ``tokens_after`` are left, without the price of a summary; None without edits.
        bytes_before: bytes of the messages in a request now.
        bytes_after: expected bytes, with a summary at its limit.
        bytes_limit: most bytes of the messages that the provider takes; None if no limit is known, and no bytes are.
        keep_tag: the policy's tag of spans that stay word by word, for whoever applies the plan; empty for none.
    """

    __repr__ = short
    _repr_html_ = as_html

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
    savings: Savings | None = None
    bytes_before: int = 0
    bytes_after: int = 0
    bytes_limit: int | None = None
    keep_tag: str = USUAL_TAG

    @property
    def is_heavy(self) -> bool:
        """Whether the messages have more bytes now than the provider takes."""
        return self.bytes_limit is not None and self.bytes_before > self.bytes_limit

    @property
    def stays_heavy(self) -> bool:
        """Whether the edits leave more bytes than the provider takes."""
        return self.bytes_limit is not None and self.bytes_after > self.bytes_limit

    @property
    def bytes_told(self) -> str:
        """The bytes in words; empty where they are far from the limit."""
        if self.bytes_limit is None or self.bytes_before * 2 <= self.bytes_limit:
            return ""
        return f"{self.bytes_before:,} bytes -> {self.bytes_after:,} (at most {self.bytes_limit:,})"

    def zone(self) -> Summarize | Drop | None:
        """Return the edit that removes messages, or None."""
        return next((edit for edit in self.edits if isinstance(edit, Summarize | Drop)), None)

    @property
    def mends(self) -> bool:
        """Whether the provider refuses the list without an edit, whatever its tokens: it may have more then."""
        return self.is_heavy or any(
            isinstance(edit, Mend) or (isinstance(edit, Prune) and edit.mends) for edit in self.edits
        )

    def to_json(self) -> str:
        """Return the plan as one line of JSON with its version."""
        return json.dumps(self._body(), ensure_ascii=False)

    def decided(self) -> str:
        """Return the plan as JSON without what the limits, prices and words of another time would change."""
        body = self._body() | {"savings": None, "tokens_after": 0, "reason": ""}
        return json.dumps({key: value for key, value in body.items() if "bytes" not in key}, ensure_ascii=False)

    def _body(self) -> dict[str, Any]:
        body = _fields(self) | {"version": self.version, "edits": [_written(edit) for edit in self.edits]}
        body["savings"] = self.savings and _fields(self.savings)
        if self.keep_tag == USUAL_TAG:
            del body["keep_tag"]  # a field that nearly no plan needs
        return body

    def check(self) -> None:
        """Reject values that no plan has, whatever its messages are.

        Raises:
            PlanError: names the field, or the edit and its field.
        """
        _check_fields(Plan, _fields(self))
        if not KEEP_TAG.fullmatch(self.keep_tag):
            raise PlanError(f"not a plan: keep_tag is {self.keep_tag!r}")
        if not isinstance(self.edits, tuple):
            raise PlanError(f"not a plan: edits is {type(self.edits).__name__}, not a tuple")
        for edit in self.edits:
            if type(edit) not in EDITS.values():
                raise PlanError(f"not a plan: an edit is {edit!r:.60}; known are {', '.join(EDITS)}")
            _check_edit(type(edit), _fields(edit))
        if sum(isinstance(edit, Summarize | Drop) for edit in self.edits) > 1:
            raise PlanError("not a plan: two edits remove messages")
        if self.savings is not None and not isinstance(self.savings, Savings):
            raise PlanError(f"not a plan: savings is {self.savings!r:.60}")
        if self.savings is not None:
            _check_fields(Savings, _fields(self.savings))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Return the plan that ``to_json`` or ``trimtab plan --json`` wrote, without the latter's own fields.

        Raises:
            PlanError: the text is no plan, or has another version.
        """
        try:
            body = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise PlanError(f"not a plan: it is no JSON ({error})") from error
        if not isinstance(body, dict) or not (version := body.pop("version", None)):
            raise PlanError("not a plan, which trimtab plan --json writes: it has no version")
        if version != VERSION:
            raise PlanError(f"the plan has version {version}, this trimtab reads version {VERSION}")
        if not isinstance(body.get("edits"), list):
            raise PlanError("not a plan: it has no list of edits")
        savings = body.pop("savings", None)
        body.pop("changes", None)
        body.pop("summary", None)
        body["edits"] = tuple(map(_parse_edit, body["edits"]))
        _check_fields(cls, body)
        if savings is not None and not isinstance(savings, dict):
            raise PlanError(f"not a plan: savings is {savings!r:.60}")
        if savings is not None:
            _check_fields(Savings, savings)
        plan = cls(**body, savings=None if savings is None else Savings(**savings))
        plan.check()
        return plan

    def __str__(self) -> str:
        """Return the plan as text for people; ``changes`` names each message, tool and reason."""
        most = "at most " * bool(self.edits)
        tokens = f"{self.tokens_before:,} tokens -> {most}{self.tokens_after:,} (target {self.target:,})"
        head = f"{self.messages:,} messages, {tokens}"
        lines = [f"plan by {self.policy}: {head}", f"  {self.reason}", *(f"  {_describe(e)}" for e in self.edits)]
        lines[1:1] = [f"  {self.bytes_told}"] if self.bytes_told else []
        return "\n".join([*lines, *([f"  if that many are left: {self.savings}"] if self.savings else [])])


def given_plan(plan: object) -> Plan | None:
    """Return a caller's plan, or None for none.

    Raises:
        TypeError: it is no plan, such as its JSON.
        PlanError: it has values that no plan has.
    """
    if plan is None:
        return None
    if not isinstance(plan, Plan):
        hint = ": read it with Plan.from_json" if isinstance(plan, str) else ""
        raise TypeError(f"plan must be a trimtab.Plan, got {type(plan).__name__}{hint}")
    plan.check()
    return plan


_BECAUSE = {
    "": ("tool result", ""),
    "images": ("old picture", ", before all else"),
    "pictures": ("block", " with pictures, more than the provider takes"),
    "arguments": ("call", ", of which long arguments leave"),
    "superseded": ("tool result", ", of files that were read again later"),
}
"""By reason: the name of a pruned row, and the remark in the printed plan."""


def _written(edit: Edit) -> dict[str, Any]:
    """Return an edit as JSON has it: a field that nearly no edit needs is there if it has something."""
    found = _fields(edit)
    if not found.get("skipped"):
        found.pop("skipped", None)
    return {"edit": type(edit).__name__, **found}


def _fields(value: Plan | Savings | Edit) -> dict[str, Any]:
    """Return a value's fields as they are; ``asdict`` copies each number of a tuple."""
    names = value.__slots__
    return dict(zip(names, map(getattr, repeat(value), names), strict=True))


def _parse_edit(found: object) -> Edit:
    name = str(found.get("edit")) if isinstance(found, dict) else ""
    if not isinstance(found, dict) or name not in EDITS:
        raise PlanError(f"not a plan: an edit is {found!r:.60}; known are {', '.join(EDITS)}")
    body = {key: tuple(value) if isinstance(value, list) else value for key, value in found.items() if key != "edit"}
    kind: Callable[..., Edit] = EDITS[name]
    _check_edit(EDITS[name], body)
    return kind(**body)


def _check_edit(kind: type, body: dict[str, Any]) -> None:
    """Reject fields that no edit of this kind has."""
    _check_fields(kind, body)
    if body.get("why", "") not in _BECAUSE:
        raise PlanError(f"not a plan: why of {kind.__name__} is {body['why']!r}")
    if body.get("unit", "chars") not in {"bytes", "chars", "utf16"}:
        raise PlanError(f"not a plan: unit of {kind.__name__} is {body['unit']!r}")
    if body.get("start", 0) >= body.get("stop", 1) or () in {body.get("rows"), body.get("messages")}:
        raise PlanError(f"not a plan: {kind.__name__} of nothing")


def _check_fields(kind: type, body: dict[str, Any]) -> None:
    """Reject missing and unknown fields, other types than ``kind`` declares, negative numbers, unsorted tuples."""
    known = {field.name: field.default is MISSING and field.default_factory is MISSING for field in fields(kind)}
    if unknown := sorted(body.keys() - known):
        raise PlanError(f"not a plan: {kind.__name__} has unknown keys {', '.join(unknown)}")
    least = -(1 << 63) if kind is Savings else 0  # notices may cost more than the pictures that leave
    checks: dict[str, Callable[[Any], bool]] = {
        "int": lambda value: type(value) is int and least <= value < 1 << 63,
        "int | None": lambda value: value is None or (type(value) is int and 0 <= value < 1 << 63),
        "float | None": lambda value: value is None or (type(value) in {int, float} and math.isfinite(value)),
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
    if missing := [name for name, needed in known.items() if needed and name not in body]:
        raise PlanError(f"not a plan: {kind.__name__} has no {', no '.join(missing)}")


def _describe(edit: Edit) -> str:
    match edit:
        case Cut(rows, most, unit):
            return f"cut        {_number(rows, 'tool result')} to {most:,} {unit}"
        case Prune(rows, _, why):
            what, because = _BECAUSE[why]
            return f"prune      {_number(rows, what)}{because}"
        case Truncate(rows, max_tokens):
            return f"truncate   {_number(rows, 'tool result')} to {max_tokens:,} tokens"
        case Summarize(start, stop, max_tokens, keep):
            return f"summarize  messages {start} to {stop - 1} in at most {max_tokens:,} tokens{_kept(keep)}"
        case Drop(start, stop, notice, keep):
            how = "with a notice" if notice else "which the provider's own compaction stands for"
            return f"drop       messages {start} to {stop - 1}, {how}{_kept(keep)}"
        case StripThinking(rows):
            return f"strip      {_number(rows, 'thinking block')}, which the edit would break"
        case Mend(messages):
            return f"mend       {_number(messages, 'message')} with lone surrogates, which no provider takes"


def _number(rows: tuple[int, ...], what: str) -> str:
    return f"{len(rows):,} {what}{'s' if len(rows) > 1 else ''}"


def _kept(keep: tuple[int, ...]) -> str:
    return f", keeping {', '.join(map(str, keep))} verbatim" if keep else ""
