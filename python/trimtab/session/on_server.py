"""What a session has asked of its provider's server, from call to call."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from logging import INFO, WARNING
from typing import TYPE_CHECKING, Any, Literal

from .._log import log
from ..ledger.columns import Kind, RowFlag
from ..planning.due import pressure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..compaction.on_server import Archived
    from ..ledger.columns import Ledger
    from ..planning.policy import Policy
    from ..server.call import Clearing, ServerCall
    from .call import Size, When


@dataclass
class OnServer:
    """What a session has asked of its provider's server.

    Attributes:
        why: why the server is asked no more; empty if it is.
        refused: types of edits that the server has refused.
        clearing: the results that it clears in every call; None without any.
        sent: what the last request asked; None if nothing.
        waiting: the compaction that is asked for, until its answer; None without one.
        passing: what the request for a compaction alone asks, until its answer; None without one.
        unanswered: requests for a compaction alone without an answer.
        missed: calls in a row, past the trigger, in which the server cleared nothing of what it was asked to.
        due: the moment at which a compaction was due that is asked for with the next call; empty without one.
        settled: digest of the message with the server's newest compaction, once the list behind it is as it should be.
        prompt: tokens of the last prompt with what the server leaves out.
    """

    why: str = ""
    refused: frozenset[str] = frozenset()
    clearing: Clearing | None = None
    sent: ServerCall | None = None
    waiting: Archived | None = None
    passing: ServerCall | None = None
    unanswered: int = 0
    missed: int = 0
    due: When | Literal[""] = ""
    settled: str = ""
    prompt: int = 0

    def stop(self, why: str, *, by_choice: bool = False) -> None:
        """Ask the server no more: everything is done here from now on; a warning, unless somebody chose that."""
        level = INFO if by_choice else WARNING
        log.log(level, "the provider's server is not asked to compact any more: %s", why)
        self.why = why
        self.clearing = self.sent = self.waiting = self.passing = None

    def state(self) -> dict[str, Any]:
        """Return what a later process goes on from, as JSON: a request without an answer is not in it."""
        known = self.clearing
        held = None if known is None else {**asdict(known), "tools": [*known.tools], "inputs": [*known.inputs]}
        return {"why": self.why, "refused": sorted(self.refused), "clearing": held}

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from a checked state."""
        self.why, self.refused = state["why"], frozenset(state["refused"])
        if (held := state["clearing"]) is not None:
            from ..server.call import Clearing  # noqa: PLC0415 - loaded with the first clearing

            self.clearing = Clearing(**{**held, "tools": tuple(held["tools"]), "inputs": tuple(held["inputs"])})

    def standing(self, ledger: Ledger) -> Clearing | None:
        """Return the clearing, if it is of these messages and nothing took its place."""
        known = self.clearing
        if known is None:
            return None
        is_same = known.messages <= len(ledger) and ledger.digest_until(known.messages) == known.digest
        row = compaction_in(ledger) if is_same else None
        if not is_same or (row is not None and int(ledger.owner[row]) >= known.messages):
            self.clearing = None
        return self.clearing

    def cleared(self, ledger: Ledger) -> dict[int, int]:
        """Return the tokens that the server leaves out, by row of the ledger."""
        known = self.standing(ledger)
        if known is None:
            return {}
        from ..server.translate import cleared_rows  # noqa: PLC0415 - loaded with the first clearing

        return cleared_rows(known, ledger)

    def less(self, policy: Policy, size: Size, ledger: Ledger) -> Size:
        """Return the sizes of the prompt that the model will see; nothing is asked for it yet."""
        self.prompt, self.sent = size.prompt, None
        if (held := self.waiting) is not None:
            begins = held.request.ledger
            if len(begins) > len(ledger) or ledger.digest_until(len(begins)) != begins.digest:
                self.waiting = self.passing = None  # of another list
        return self.reduced(policy, size, ledger)

    def reduced(self, policy: Policy, size: Size, ledger: Ledger) -> Size:
        """Return the sizes of a prompt without what the server leaves out of it."""
        known = self.standing(ledger)
        if known is None or size.prompt <= known.trigger:
            return size
        terms = replace(size.terms, messages=max(size.terms.messages - known.tokens, 0))
        prompt, counted = max(size.prompt - known.tokens, 0), max(size.counted - known.tokens, 0)
        pressed = pressure(policy, terms, prompt, size.bytes, size.bytes_limit)
        return replace(size, terms=terms, prompt=prompt, counted=counted, pressure=pressed)

    def keeps(self, ledger: Ledger) -> ServerCall | None:
        """Return what a request asks that asks nothing new: that cleared results stay cleared."""
        self.sent, known = None, self.standing(ledger)
        if known is not None:
            from ..server.anthropic import clearing  # noqa: PLC0415 - loaded with the first clearing
            from ..server.translate import later_uses  # noqa: PLC0415

            self.sent = clearing(known, later_uses(ledger, known.uses))
        return self.sent


def compaction_in(ledger: Ledger) -> int | None:
    """Return the row of the provider's own newest compaction that did not fail; None without one."""
    rows = ((ledger.kind == Kind.COMPACTION) & ((ledger.flags & (RowFlag.HIDES | RowFlag.SIGNED)) != 0)).nonzero()[0]
    return int(rows[-1]) if len(rows) else None
