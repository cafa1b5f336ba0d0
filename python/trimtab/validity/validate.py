"""Problems that a provider would refuse a request for, found before it is sent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypedDict

from .. import _core
from .._repr import short
from ..counting.counter import Counter, read_with, scan, shape_of
from ..errors import MessageError
from ..messages.objects import InputMessages
from ..messages.request import request_bytes
from ..messages.surrogates import CODE
from ..models.model import Model

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Unpack

    from ..messages.types import AnyMessage
    from ..models.provider import Provider


@dataclass(frozen=True, slots=True)
class Problem:
    """A finding.

    Attributes:
        index: position of the message; -1 for a parameter of the request.
        block: position of the block in it, None if the whole message is meant.
        code: short name of the rule.
        message: the provider's own words, with ids filled in.
        fix: what to do.
    """

    __repr__ = short

    index: int
    block: int | None
    code: str
    message: str
    fix: str

    @property
    def path(self) -> str:
        """The place, as ``messages[3].content[0]``; ``request`` for a parameter beside the messages."""
        if self.index < 0:
            return "request"
        return f"messages[{self.index}]" + (f".content[{self.block}]" if self.block is not None else "")

    def error(self, more: str = "") -> MessageError:
        """Return the problem as an error, with ``more`` behind its message."""
        return MessageError(f"{self.code}: {self.message}{more}", path=self.path, index=self.index, hint=self.fix)

    def __str__(self) -> str:
        """Return path, code and message on one line, and the fix on the next."""
        return f"{self.path} {self.code}: {self.message}\n  fix: {self.fix}"


REQUEST_BYTES = {"anthropic": 32 * 2**20}
"""Most bytes of a request, by provider (Anthropic documentation, "Request size limits"); other limits are learned from
refusals."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules that depend on the model or the request.

    Attributes:
        in_flight: calls at the end may still be running.
        prefill: the model accepts the beginning of its answer.
        thinking: whether thinking is switched on, None if unknown.
        binds: the model signs its thinking against everything before it, and requires none in a tool loop.
        alternation: neighbours of one role are refused, not merged.
        markers: cache markers outside of the messages.
        container: the request names its container, or may.
        tools: whether tools are defined, None if unknown.
        system_role: whether the model takes system messages between Anthropic's others, None if unknown.
        notes: also name what is let through because no document says that the provider refuses it.
        clear_at: the request's beta headers allow system messages for one turn.
        output_config: they allow system messages with settings.
        tool_changes: they allow system messages that add and remove tools.
        signatures: calls of the current turn must have Gemini's signature.
        pictures: maximum number of pictures in a request.
        picture: maximum number of characters of a picture's base64.
        request: maximum number of bytes of a request; None takes the provider's of ``REQUEST_BYTES``.
        beside: bytes of system text and tools.
    """

    in_flight: bool = False
    prefill: bool = True
    thinking: bool | None = None
    binds: bool = False
    alternation: bool = False
    markers: int = 0
    container: bool = True
    tools: bool | None = None
    system_role: bool | None = None
    notes: bool = False
    clear_at: bool = True
    output_config: bool = True
    tool_changes: bool = True
    signatures: bool = False
    pictures: int = 600
    picture: int = 10 * 2**20
    request: int | None = None
    beside: int = 0

    def most_bytes(self, provider: str) -> int | None:
        """Return the maximum number of bytes of a request; None if no limit is known."""
        return REQUEST_BYTES.get(provider) if self.request is None else self.request

    def of(self, provider: str) -> dict[str, Any]:
        """Return the rules by name, as the core takes them."""
        return _by_name(self, provider)

    def problems(self, ledger: _core.Ledger, original: _core.Ledger | None = None) -> list[Problem]:
        """Return the problems of a transcript; ``original`` is its ledger before it was edited."""
        return [Problem(*finding) for finding in _core.validate(ledger, original=original, **self.of(ledger.provider))]

    def problems_in(self, messages: Sequence[AnyMessage], provider: str) -> list[Problem]:
        """Return the problems of messages without building a ledger: no text is kept or counted.

        Raises:
            MessageError: a message cannot be read.
        """
        shape = shape_of(messages) or provider
        rules = self.of(shape)
        findings = read_with(messages, lambda plain: _core.validate(plain, provider=shape, **rules))
        return [Problem(*finding) for finding in findings]


@lru_cache(64)
def _by_name(rules: Rules, provider: str) -> dict[str, Any]:
    fields = zip(rules.__slots__, map(getattr, repeat(rules), rules.__slots__), strict=True)  # `asdict` copies them
    return dict(fields) | {"request": rules.most_bytes(provider)}


class RequestOptions(TypedDict, total=False):
    """Options of ``validate`` and ``repair``: the parts of a request beside its messages. All have defaults.

    Keys:
        model: an id or a ``Model``: decides prefill, bound thinking, system messages between the others, signatures of
            Gemini's calls, and the number and size of pictures.
        in_flight: calls at the end may still be running; False by default.
        prefill: the model accepts the beginning of its answer, True by default; False where the model does not.
        thinking: whether thinking is switched on, None (the default) if unknown.
        alternation: neighbours of one role are refused, as by older models, False by default; Bedrock always refuses.
        system: the system prompt; its cache markers count.
        tools: tool definitions; their cache markers count. Empty, not None, says that there are none.
        betas: the request's beta flags; None, the default, if they are unknown, which allows what a flag allows.
        container: the container that the request names, an id or a dict with one; None, the default, if it names none.
        original: the transcript before it was edited: thinking, compactions and stored items are compared with it.
        request: the keywords of the call, as ``Fitted.request`` has them: what it asks of the provider's server
            (``context_management``, ``compaction``) is checked too; None, the default, asks nothing. For ``validate``.
    """

    model: str | Model | None
    in_flight: bool
    prefill: bool
    thinking: bool | None
    alternation: bool
    system: object
    tools: object
    betas: Iterable[str] | None
    container: object
    original: Sequence[AnyMessage] | None
    request: Mapping[str, Any] | None


PREFILLS = ("prefill_unsupported", "final_assistant_whitespace")
"""Codes of problems of a list that ends with the assistant."""

BETAS = {
    "clear_at": ("mid-conversation-system-clear-at-",),
    "output_config": ("mid-conversation-output-config-",),
    "tool_changes": ("mid-conversation-tool-changes-", "inline-tools-"),
}
"""Beginnings of the beta flags that allow a field of a system message, by the name of the rule."""


def rules_of(options: RequestOptions) -> Rules:
    """Return the rules for a request; without a model the most lenient.

    Raises:
        TypeError: an option is unknown; names the valid ones.
    """
    model = options.get("model")
    if options.keys() <= _PLAIN and (model is None or isinstance(model, str)):
        return _plain_rules(model, options.get("in_flight", False))
    return _rules(options)


_PLAIN = {"model", "in_flight"}
"""The options of most calls."""


@lru_cache(64)
def _plain_rules(model: str | None, in_flight: bool) -> Rules:  # noqa: FBT001 - cached
    return _rules({"model": model, "in_flight": in_flight})


def _rules(options: RequestOptions) -> Rules:
    known = RequestOptions.__annotations__
    if unknown := options.keys() - known.keys():
        raise TypeError(f"unexpected keyword argument {min(unknown)!r}, known are {', '.join(known)}")
    model, tools, container = options.get("model"), options.get("tools"), options.get("container")
    rules = Rules(
        in_flight=options.get("in_flight", False),
        prefill=options.get("prefill", True),
        thinking=options.get("thinking"),
        alternation=options.get("alternation", False),
        markers=_markers((options.get("system"), tools)),
        container=bool(container.get("id") if isinstance(container, dict) else container),
        tools=None if tools is None else bool(tools),
        beside=request_bytes(options.get("system"), tools),
    )
    if (betas := options.get("betas")) is not None:
        sent = betas if isinstance(betas, str) else " ".join(betas)
        rules = replace(rules, **{field: any(flag in sent for flag in flags) for field, flags in BETAS.items()})
    if model is None:
        return rules
    model = Model.named(model) if isinstance(model, str) else model
    if model.window < 1_000_000:  # Anthropic documentation, "Vision": limits by window
        rules = replace(rules, pictures=100, picture=5 * 2**20)
    return replace(
        rules,
        prefill=rules.prefill and model.prefill,
        binds=model.binds_thinking,
        system_role=model.takes_system,
        signatures=model.signs_calls,
    )


def validate(messages: Sequence[AnyMessage], *, provider: Provider, **options: Unpack[RequestOptions]) -> list[Problem]:
    """Return everything that the provider would refuse about a list, in its order; empty if nothing.

    Args:
        messages: in the provider's shape.
        provider: ``anthropic``, ``openai_chat``, ``openai_responses``, ``bedrock`` or ``gemini``.
        **options: ``model``, ``in_flight``, ``prefill``, ``thinking``, ``alternation``, ``system``, ``tools``,
            ``betas``, ``container``, ``original`` and ``request``, as ``RequestOptions`` describes them.

    Raises:
        TypeError: messages is no list or tuple, or an option is unknown.
        ValueError: the provider is unknown.

    Examples:
        >>> [problem.code for problem in validate([{"role": "assistant", "content": "hi"}], provider="anthropic")]
        ['first_message_role']
    """
    rules, original = rules_of(options), options.get("original")
    try:
        if original is None:
            problems = rules.problems_in(messages, provider)
        else:
            ledger = scan(messages, Counter.chars(), provider)
            problems = rules.problems(ledger, scan(original, Counter.chars(), provider))
        halves = _lone_surrogates(messages, provider)
    except MessageError as error:
        return [Problem(error.index or 0, None, "malformed", f"{error.path}: {error.args[0]}", error.hint)]
    if (request := options.get("request")) is not None:
        from .parameters import findings  # noqa: PLC0415 - for calls that may ask the provider's server

        if request.get("compaction"):  # the list may end with the assistant: nothing is written behind it
            problems = [problem for problem in problems if problem.code not in PREFILLS]
        problems = [*problems, *(Problem(*finding) for finding in findings(request, messages, provider))]
    return sorted([*problems, *halves], key=lambda problem: problem.index) if halves else problems


def _lone_surrogates(messages: Sequence[AnyMessage], provider: str) -> list[Problem]:
    """Return a problem for each block, or message without blocks, whose text no request can hold."""
    plain = InputMessages(messages).messages
    found: list[Problem] = []
    for index in _core.surrogates(plain):
        blocks = next((held for key in ("content", "parts") if isinstance(held := plain[index].get(key), list)), [])
        places: list[int | None] = [] if provider.startswith("openai") else [*_core.surrogates(blocks)]
        what = "no low surrogate in string: half of a character, for which UTF-8 has no bytes"
        fix = "replace it with U+FFFD, as repair does, or send the whole character"
        found += (Problem(index, block, CODE, what, fix) for block in places or [None])
    return found


def notes(messages: Sequence[AnyMessage], *, provider: Provider, **options: Unpack[RequestOptions]) -> list[Problem]:
    """Return what ``validate`` lets through because no document says whether the provider refuses it.

    That is a system message between Anthropic's others, for a model that is unknown or not named.
    """
    rules = replace(rules_of(options), notes=True)
    try:
        found = rules.problems_in(messages, provider)
    except MessageError:
        return []  # ``validate`` names it
    return [problem for problem in found if problem.code in NOTES]


NOTES = frozenset({"system_role_unknown"})
"""Codes of what is let through."""

REPORTED_FIRST = frozenset({"unexpected_tool_use_id", "thinking_not_first"})
"""Codes that a provider checks before all others: results without a call, and the first block of a turn."""


def refusal(problems: Sequence[Problem]) -> Problem | None:
    """Return the problem that the provider's one error would name, None if there is none."""
    return min(problems, key=lambda problem: problem.code not in REPORTED_FIRST, default=None)


AT_THE_END = frozenset({"final_assistant_whitespace", "prefill_unsupported", "thinking_last", "reasoning_without_item"})
"""Problems of a list's end, which vanish when the list grows."""

PICTURES = frozenset({"image_too_heavy", "image_too_large", "image_too_large_many", "too_many_images"})
"""Problems that pictures which leave solve."""

TOO_MUCH = PICTURES | {"request_too_large"}
"""Problems of a list's size, which compaction reduces."""


def check(ledger: _core.Ledger, rules: Rules) -> None:
    """Reject a list that its provider would refuse whatever messages follow, and whatever leaves for its size.

    Raises:
        MessageError: names the first problem.
    """
    reject(rules.problems(ledger), len(ledger))


def reject(problems: Sequence[Problem], messages: int, *, sizes: bool = False) -> bool:
    """Return whether fewer pictures mend a list; raise the first problem that neither they nor new messages mend.

    Args:
        problems: of the list.
        messages: number of its messages.
        sizes: raise problems of the list's size too.

    Raises:
        MessageError: names the problem.
    """
    for problem in problems:
        at_the_end = problem.code in AT_THE_END and problem.index == messages - 1
        if not at_the_end and (sizes or problem.code not in TOO_MUCH):
            raise problem.error()
    return any(problem.code in TOO_MUCH for problem in problems)


def _markers(value: object) -> int:
    """Return the number of cache markers in system text and tool definitions."""
    if isinstance(value, dict):
        return bool(value.get("cache_control") or value.get("cachePoint"))
    return sum(map(_markers, value)) if isinstance(value, list | tuple) else 0
