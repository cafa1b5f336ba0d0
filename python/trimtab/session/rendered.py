"""What a conversation knows of its prompts as its model's chat template renders them."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from .._log import log
from ..counting.whole import framed
from ..errors import CountError, MessageError
from ..templates.rendered import what_renders

if TYPE_CHECKING:
    from ..compaction.settings import Settings
    from ..counting.counter import Counter
    from ..ledger.columns import Ledger
    from ..planning.forecast import Pending
    from .call import Call

MOST = 1.15
"""Ratio of a rendered prompt to its fitted estimate that no prompt exceeds (``make bench-open-prompts``)."""


@dataclass(slots=True)
class RenderedPrompts:
    """The last rendered prompt, from which longer ones are estimated, and whether its server renders alike.

    Attributes:
        before: number of messages of the last rendered prompt; 0 before the first.
        digest: of these messages.
        exact: its tokens.
        fitted: the same by the numbers that were fitted to the template.
        call: the call that was counted last; None before the first.
        is_alike: whether the server charged what the template renders; None before its first charge.
    """

    before: int = 0
    digest: str = ""
    exact: int = 0
    fitted: int = 0
    call: Call | None = None
    is_alike: bool | None = None

    def size(
        self, settings: Settings, call: Call, ledger: Ledger, fixed: tuple[int, int], *, whole: bool
    ) -> tuple[Ledger, tuple[int, int], int | None]:
        """Return the ledger and the tokens of system text and tools, rendered where these decide; and those expected.

        None is expected where the forecast decides: nothing was rendered yet, or the server renders otherwise.

        Args:
            settings: the session's.
            call: the call.
            ledger: ledger of its messages, by fitted numbers.
            fixed: tokens of system text and tools, by the same.
            whole: render also what is far from the trigger.
        """
        self.call, fitted = call, ledger.total + sum(fixed)
        if self.is_alike is False:
            return ledger, fixed, None
        is_longer = bool(self.before) and len(ledger) >= self.before and fitted >= self.fitted
        if not (is_longer and ledger.digest_until(self.before) == self.digest):
            self.before = self.exact = self.fitted = 0
        grown = fitted - self.fitted
        limits = settings.limits
        if whole or self.exact + ceil(grown * MOST) > min(settings.policy.trigger.limit(limits), limits.input_budget):
            ledger, found = framed(ledger, call.messages, settings.counter, call.system, call.tools)
            if found is None:
                return ledger, fixed, None
            fixed, grown = found, 0
            self.before, self.digest, self.fitted = len(ledger), ledger.digest, fitted
            self.exact = ledger.total + sum(fixed)
        return ledger, fixed, self.exact + grown if self.before else None

    def judge(self, settings: Settings, sent: Pending, charged: int) -> None:
        """Compare the charge of a prompt with what the template renders; warn once if the server renders otherwise.

        Args:
            settings: the session's.
            sent: the prompt that was counted last.
            charged: tokens that the server charged for it.
        """
        is_known = bool(self.before) and (self.before, self.digest) == (sent.before, sent.digest)
        if self.is_alike is False or (self.is_alike and not is_known):
            return  # to render each prompt would cost more than to count it
        found = self.exact if is_known else self._rendered(settings.counter, sent)
        if found is None:
            return
        self.is_alike = found == charged
        if not self.is_alike:
            log.warning(
                "the server charged %s tokens for a prompt that has %s by %s: it was given more than fit was, renders "
                "by another template or other options, or cuts the prompt; its charges decide from now on",
                f"{charged:,}",
                f"{found:,}",
                what_renders(settings.counter.template, settings.model.name),
            )

    def _rendered(self, counter: Counter, sent: Pending) -> int | None:
        """Return the tokens of the prompt that was counted last; None where it is gone, or the template refuses it."""
        if self.call is None:
            return None
        messages, beside = self.call.messages[: sent.before], (self.call.system, self.call.tools)
        try:
            return counter.rendered(messages, sent.provider, *beside).total if len(messages) else None
        except (CountError, ImportError, MessageError):
            return None
