"""What a request asks of the provider's server, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .._repr import short
from ..validity.parameters import flags_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Way: TypeAlias = Literal["call", "pass"]
"""``call``: in the model's own call; ``pass``: in a request of its own, whose answer is the compaction."""


@dataclass(frozen=True, slots=True)
class ServerCall:
    """What a request asks the provider's server to do with the messages that it gets.

    Attributes:
        way: ``call``: the server does it in the model's own call, and answers that. ``pass``: the request is for the
            compaction alone; its answer goes to ``record``, and ``fit`` then returns the next call.
        parameters: keywords of the SDK's call beside messages, system text and tools.
        betas: beta flags that the parameters need.
        does: what the server is asked to do, a line each.
        clears: tokens that leave the model's prompt by it, as far as they can be known beforehand: those of cleared
            results are counted, a summary is taken at the policy's limit.
        ref: of the originals in the archive; empty if this call takes nothing away that no call before it did.
        cut: with ``pass``, the number of messages in front that the compaction stands for; else 0.
    """

    __repr__ = short

    way: Way
    parameters: Mapping[str, Any]
    betas: tuple[str, ...] = ()
    does: tuple[str, ...] = ()
    clears: int = 0
    ref: str = ""
    cut: int = 0

    @property
    def is_pass(self) -> bool:
        """Whether the request is for the compaction alone."""
        return self.way == "pass"

    def explain(self) -> str:
        """Return what is done on the server, a line each."""
        return "\n".join(f"{'on the server':14} {line}" for line in self.does)

    def merged(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keywords of a call with these parameters and flags; flags that are there stay."""
        unread = {"tools"} if self.is_pass and "input" in request else set()  # ``responses.compact`` takes none
        taken = {name: value for name, value in request.items() if name not in unread}
        return _flagged({**taken, **self.parameters}, self.betas)


def carrying(request: Mapping[str, Any], provider: str, server: ServerCall | None) -> dict[str, Any]:
    """Return the keywords of a call in a session that asks the server, with the flags of its earlier compactions.

    Args:
        request: the keywords, without what is asked.
        provider: shape of the messages.
        server: what the call asks; None if nothing.
    """
    asked = dict(request) if server is None else server.merged(request)
    return _flagged(asked, flags_of(request["messages"])) if provider == "anthropic" else asked


def _flagged(request: dict[str, Any], flags: Sequence[str]) -> dict[str, Any]:
    """Return the keywords with beta flags; those that are there stay."""
    given = request.get("betas", ())
    known = (given,) if isinstance(given, str) else tuple(given)
    sent = dict.fromkeys([*known, *flags])
    return {**request, **({"betas": [*sent]} if sent else {})}


@dataclass(frozen=True, slots=True)
class Clearing:
    """The oldest tool results that the server leaves out of the prompt, in every call from now on.

    Anthropic's ``clear_tool_uses_20250919`` keeps a number of the newest results. The number grows with the list here,
    so that the same results stay cleared, and the provider's cache holds what is behind them.

    Attributes:
        uses: number of tool calls, from the first, whose results are cleared.
        tokens: tokens that this takes out of the prompt: by our count, and by the server's own once it has answered.
        messages: number of messages up to the last of them.
        digest: of these messages; another list has another clearing.
        trigger: tokens of the prompt past which the server clears.
        least: tokens that it clears at least; 0 for no such limit.
        tools: names of tools whose results stay.
        inputs: names of tools whose calls lose their arguments too.
        thinking: number of the newest turns whose thinking stays; 0 leaves it as it is.
    """

    uses: int
    tokens: int
    messages: int
    digest: str
    trigger: int
    least: int = 0
    tools: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    thinking: int = 0
