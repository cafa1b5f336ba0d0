"""What a provider would refuse, said before it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from .. import _core
from .._repr import short
from ..counting.counter import Counter, asked, scan
from ..errors import MessageError
from ..models.model import Model

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Unpack

    from ..messages.types import Message
    from ..models.provider import Provider


@dataclass(frozen=True, slots=True)
class Problem:
    """A finding.

    Attributes:
        index: position of the message.
        block: position of the block in it, None where the whole message is meant.
        code: short name of the rule.
        message: the provider's own words, ids filled in.
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
        """Where, as ``messages[3].content[0]``."""
        return f"messages[{self.index}]" + (f".content[{self.block}]" if self.block is not None else "")

    def error(self, more: str = "") -> MessageError:
        """The problem as what is raised where it cannot be lived with."""
        return MessageError(f"{self.code}: {self.message}{more}", path=self.path, index=self.index, hint=self.fix)

    def __str__(self) -> str:
        """Where, what, and what to do, on two lines."""
        return f"{self.path} {self.code}: {self.message}\n  fix: {self.fix}"


@dataclass(frozen=True, slots=True)
class Rules:
    """What depends on the model or the moment.

    Attributes:
        in_flight: calls at the end may still be running.
        prefill: the model can be given the beginning of its answer.
        thinking: whether thinking is switched on, None if that is not known.
        binds: the model binds its thinking to all that stood before it, and asks for none in a tool loop.
        alternation: neighbours of one role are refused, not merged.
        markers: cache markers outside of the messages.
        tools: whether tools are defined, None if that is not known.
        pictures: most pictures in a request.
        picture: most characters of a picture's base64.
        request: most bytes of a request.
    """

    in_flight: bool = False
    prefill: bool = True
    thinking: bool | None = None
    binds: bool = False
    alternation: bool = False
    markers: int = 0
    tools: bool | None = None
    pictures: int = 600
    picture: int = 10 * 2**20
    request: int = 32 * 2**20

    @classmethod
    def of(cls, model: Model | None, **moment: bool | int | None) -> Rules:
        """The rules of a model, and those of the moment; of a model that is not known the most lenient."""
        if model is None:
            return cls(**moment)  # type: ignore[arg-type]
        small = model.window < 1_000_000  # Anthropic documentation, "Vision": limits by window
        limits = {"pictures": 100, "picture": 5 * 2**20} if small else {}
        given = {**limits, **moment, "binds": model.binds_thinking}
        given["prefill"] = model.prefill and bool(moment.get("prefill", True))
        return cls(**given)  # type: ignore[arg-type]

    def problems(self, ledger: _core.Ledger, original: _core.Ledger | None = None) -> list[Problem]:
        """What these rules refuse about a transcript."""
        return [Problem(*finding) for finding in _core.validate(ledger, original=original, **self._by_name())]

    def problems_in(self, messages: Sequence[Message], provider: str) -> list[Problem]:
        """The same of messages, which are read for this alone: no text is kept or counted.

        Raises:
            MessageError: a message cannot be read.
        """
        rules = self._by_name()
        found = asked(messages, lambda known: _core.judge(known, provider=provider, **rules))
        return [Problem(*finding) for finding in found]

    def _by_name(self) -> dict[str, bool | int | None]:
        return {name: getattr(self, name) for name in self.__slots__}


class Moment(TypedDict, total=False):
    """What ``validate`` and ``repair`` are told of a request beside its messages; what is left out has its default.

    Keys:
        model: an id or a ``Model``: whether it takes a prefill, binds its thinking, and how much it is sent.
        in_flight: calls at the end may still be running; False by default.
        prefill: the model can be given the beginning of its answer, True by default; False where the model cannot.
        thinking: whether thinking is switched on, None (the default) if that is not known.
        alternation: neighbours of one role are refused, as by older models, False by default; Bedrock always does.
        system: what is sent beside the messages; its cache markers count.
        tools: tool definitions; their cache markers count. Empty, not None, says that there are none.
        original: the transcript before it was edited: thinking and stored items are judged against it.
    """

    model: str | Model | None
    in_flight: bool
    prefill: bool
    thinking: bool | None
    alternation: bool
    system: object
    tools: object
    original: Sequence[Message] | None


def rules_of(moment: Moment) -> Rules:
    """The rules that hold at a moment.

    Raises:
        TypeError: it has a key that there is not.
    """
    if unknown := moment.keys() - Moment.__annotations__.keys():
        raise TypeError(f"unexpected keyword argument {min(unknown)!r}, known are {', '.join(Moment.__annotations__)}")
    model, tools = moment.get("model"), moment.get("tools")
    return Rules.of(
        Model.named(model) if isinstance(model, str) else model,
        in_flight=moment.get("in_flight", False),
        prefill=moment.get("prefill", True),
        thinking=moment.get("thinking"),
        alternation=moment.get("alternation", False),
        markers=markers_in(moment.get("system"), tools),
        tools=None if tools is None else bool(tools),
    )


def validate(messages: Sequence[Message], *, provider: Provider, **moment: Unpack[Moment]) -> list[Problem]:
    """Everything that the provider would refuse about a list, in its order; empty if nothing.

    Args:
        messages: in the provider's shape.
        provider: ``anthropic``, ``openai_chat``, ``openai_responses``, ``bedrock`` or ``gemini``.
        **moment: ``model``, ``in_flight``, ``prefill``, ``thinking``, ``alternation``, ``system``, ``tools`` and
            ``original``, as ``Moment`` has them.

    Raises:
        TypeError: messages is no list or tuple, or an argument is unknown.
        ValueError: the provider is unknown.

    Example:
        >>> [problem.code for problem in validate([{"role": "assistant", "content": "hi"}], provider="anthropic")]
        ['first_message_role']
    """
    rules, original = rules_of(moment), moment.get("original")
    try:
        if original is None:
            return rules.problems_in(messages, provider)
        ledger = scan(messages, Counter.chars(), provider)
    except MessageError as error:
        return [Problem(error.index or 0, None, "malformed", f"{error.path}: {error.args[0]}", error.hint)]
    return rules.problems(ledger, scan(original, Counter.chars(), provider))


NAMED_FIRST = frozenset({"unexpected_tool_use_id", "thinking_not_first"})
"""What a provider looks for before anything else: results without a call, and how a turn begins."""


def refusal(problems: Sequence[Problem]) -> Problem | None:
    """The problem that the provider's one error names, None where there is none."""
    return next(iter(sorted(problems, key=lambda problem: problem.code not in NAMED_FIRST)), None)


def markers_in(*values: object) -> int:
    """The cache markers in what is sent beside the messages."""
    return sum(1 for value in values for _ in _markers(value))


def _markers(value: object) -> Iterator[object]:
    """The cache markers in system text and tool definitions."""
    if isinstance(value, dict):
        if value.get("cache_control") or value.get("cachePoint"):
            yield value
        return
    if isinstance(value, list | tuple):
        for part in value:
            yield from _markers(part)
