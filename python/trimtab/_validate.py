"""What a provider would refuse, said before it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import _core
from ._counter import Counter, scan
from ._errors import MessageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._messages import Message, Provider


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


def validate(
    messages: Sequence[Message],
    *,
    provider: Provider,
    in_flight: bool = False,
    prefill: bool = True,
    thinking: bool | None = None,
) -> list[Problem]:
    """Everything that the provider would refuse about a list, in its order; empty if nothing.

    Args:
        messages: in the provider's shape.
        provider: ``anthropic``, ``openai_chat`` or ``openai_responses``.
        in_flight: calls at the end may still be running.
        prefill: the model can be given the beginning of its answer.
        thinking: whether thinking is switched on, None if that is not known.

    Example:
        >>> [problem.code for problem in validate([{"role": "assistant", "content": "hi"}], provider="anthropic")]
        ['first_message_role']
    """
    try:
        ledger = scan(messages, Counter.chars(), provider)
    except MessageError as error:
        return [Problem(error.index or 0, None, "malformed", f"{error.path}: {error.args[0]}", error.hint)]
    found = _core.validate(ledger, in_flight=in_flight, prefill=prefill, thinking=thinking)
    return [Problem(*finding) for finding in found]
