"""The values of a call: its content, its sizes, the moment, and the input that ``fit`` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal

from .._repr import short
from ..errors import MessageError
from ..messages.types import MessageT
from ..planning.due import CALM

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..compaction.result import Compaction
    from ..compaction.view import View
    from ..ledger.columns import Ledger
    from ..planning.budget import Terms
    from ..planning.due import Pressure
    from ..server.call import ServerCall

MANY = 20_000
"""Messages of a list that takes a few milliseconds although it was read before."""

SEVERAL = 200
"""New messages that may take a few milliseconds."""

LONG = 200_000
"""Characters that take about 5 ms to count."""

When = Literal["before_call", "after_step", "after_tool_batch", "after_run", "on_length", "on_overflow"]
"""Moments at which an agent calls ``fit``."""


@dataclass(frozen=True)
class Fitted(Generic[MessageT]):
    """The input of the next call.

    Attributes:
        messages: the list to send; the caller's own object if nothing was done.
        compaction: the compaction; None if nothing was done.
        reason: why ``messages`` are still past the policy's trigger or the input budget; after an overflow, the window
            from now on and what was done; what the provider's server is asked to do; empty otherwise.
        resumed_ref: ref of the compaction whose result stands in for the beginning of the given list in ``messages``;
            None where none does, and where this call has compacted.
        server: what ``request`` asks the provider's server to do; None if nothing. Where it ``is_pass``, the request
            is for a compaction of the first messages alone: send it, give the answer to ``record``, and ``fit`` again.
        make_request: makes ``request``.
    """

    __repr__ = short

    messages: Sequence[MessageT]
    compaction: Compaction[MessageT] | None = None
    reason: str = ""
    resumed_ref: str | None = None
    server: ServerCall | None = None
    make_request: Callable[[], dict[str, Any]] = field(default=dict, repr=False, compare=False)

    @property
    def span_attributes(self) -> dict[str, bool]:
        """OpenTelemetry attributes of the next inference span: whether its context is compacted; empty if not.

        For ``tracer.start_as_current_span(..., attributes=fitted.span_attributes)`` or ``span.set_attributes``.
        """
        is_compacted = self.compaction is not None or self.resumed_ref is not None
        return {"gen_ai.conversation.compacted": True} if is_compacted else {}

    @cached_property
    def request(self) -> dict[str, Any]:
        """The keywords of the provider's call: messages, system text and tools, each that was given.

        Made when it is first read. If thinking was marked, it also has ``betas`` and the field of ``thinking`` that
        lets the provider drop it. With ``server``, it has the parameters and the flags that ask for it: those of
        Anthropic's ``beta.messages.create``, or of OpenAI's ``responses.create``; for a compaction alone, of
        ``responses.compact``.

        Raises:
            ValueError: a tool has the shape of another provider, or ``system`` is no text.
        """
        return self.make_request()


@dataclass(frozen=True, slots=True)
class Call:
    """The content of the next call.

    Attributes:
        messages: the transcript, in the caller's kind.
        system: system text beside it.
        tools: tool definitions.
        given: the caller's own transcript, where a result stands in for its beginning in ``messages``; else None.
        view: that result; else None.
    """

    messages: Sequence[Any]
    system: object = None
    tools: object = None
    given: Sequence[Any] | None = None
    view: View | None = None

    def located(self, error: MessageError) -> MessageError:
        """Return an error about a message with the message's place in the caller's own list."""
        if self.view is None or error.index is None or error.index < self.view.made:
            return error
        index = error.index - self.view.made + self.view.length
        path = error.path.replace(f"messages[{error.index}]", f"messages[{index}]", 1)
        return MessageError(error.args[0], path=path, index=index, hint=error.hint)

    def compacted(self, messages: Sequence[Any]) -> Call:
        """Return the call with a result of its own in place of its messages."""
        return Call(messages, self.system, self.tools)

    def whole(self) -> Call:
        """Return the call with the caller's own transcript, where a result stands in for its beginning."""
        return self if self.given is None else self.compacted(self.given)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCall(Call):
    """A call whose messages were read.

    Attributes:
        ledger: of the messages, by the session's counter.
        origin: ledger of the caller's own transcript.
        formed: whether objects in the messages had to be made plain to read them.
    """

    ledger: Ledger
    origin: Ledger
    formed: bool = False


def is_long(messages: object, known: int) -> bool:
    """Return whether reading a list takes more than a few milliseconds, so that no event loop should wait for it.

    Args:
        messages: the list; False for anything else.
        known: number of its messages that were read before.
    """
    if not isinstance(messages, list | tuple):
        return False
    new = messages[known:]
    return len(messages) > MANY or len(new) > SEVERAL or sum(map(_characters, new)) > LONG


def _characters(message: object) -> int:
    """Return the characters of a message's texts, roughly."""
    held = message.get("content") if isinstance(message, Mapping) else getattr(message, "content", None)
    blocks = held if isinstance(held, list | tuple) else [held]
    inner = [value for block in blocks if isinstance(block, Mapping) for value in block.values()]
    return sum(len(value) for value in [*blocks, *inner] if isinstance(value, str | list))


@dataclass(frozen=True, slots=True)
class Size:
    """The sizes of a call's prompt.

    Attributes:
        terms: the terms of the policy's trigger, by the policy's counter.
        fixed: tokens of system text and tools, by the policy's counter.
        beside: tokens of system text and tools, by the model's counter.
        counted: tokens of the prompt, by the model's counter.
        prompt: the larger of ``counted``, with what was billed beyond it, and the forecast from the last billed prompt.
        billed: tokens of the last billed prompt; 0 if there is none with which the messages begin.
        bytes: bytes of the request, about.
        bytes_limit: most bytes of a request that the provider takes; None if no limit is known.
        pressure: where it stands: past the trigger, the input budget, the limit of bytes.
    """

    terms: Terms
    fixed: tuple[int, int]
    beside: int
    counted: int
    prompt: int
    billed: int = 0
    bytes: int = 0
    bytes_limit: int | None = None
    pressure: Pressure = CALM

    @property
    def beside_messages(self) -> str:
        """What system text and tools take, in words."""
        return f"system text and tools have {self.beside:,} of {self.terms.input_budget:,} tokens"

    @property
    def room(self) -> int:
        """Most tokens of messages within the input budget, by the model's counter; negative without any.

        Tokens that were billed beyond the count stay if messages leave. Where they alone exceed the input budget, they
        are taken for an error of the count instead, in proportion to it; where that leaves none either, the count alone
        decides: a smaller prompt is better than the same one again.
        """
        budget = self.terms.input_budget
        beyond = self.prompt - self.counted
        rooms = (budget - beyond, budget * self.counted // max(self.prompt, 1), budget)
        return next((room for most in rooms if (room := most - self.beside) > 0), budget - self.beside)
