"""One compaction to be done, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from .. import _core
from ..archive.json_check import check_json
from ..archive.redact import redact_message
from ..errors import PlanError
from ..messages.envelope import KeptSpan, kept_block
from ..messages.objects import InputMessages
from ..planning.decide import decide, of_span, saved, tokens_after
from ..planning.edits import Mend
from ..planning.give_back import give_back
from ..planning.given_plan import check_plan
from ..planning.pictures import added, without_excess
from ..planning.request_bytes import bytes_after
from ..planning.stages.costs import Costs, pruned_calls
from ..validity.validate import reject
from .apply import put
from .kept_spans import located

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..hooks import Cause, Given
    from ..ledger.columns import Ledger
    from ..messages.types import Message
    from ..planning.plan import Need, Plan
    from ..planning.policy import Policy
    from ..validity.validate import Problem
    from .kept_spans import At
    from .settings import Settings


@dataclass(frozen=True, kw_only=True)
class CompactionRequest:
    """Everything that a compaction needs.

    Attributes:
        settings: the settings of the Compactor, with the policy that applies.
        given: the caller's own list, which may grow while a model is asked.
        inputs: the list as it was when it was read, and the way back to the caller's types; for a request that is only
            decided, the list itself.
        ledger: ledger of the messages.
        need: what a plan has to reach: the target, what the next call holds, the bytes that the provider takes.
        fixed: tokens of system text and tools.
        cached: tokens of the next prompt in the provider's cache.
        pins: positions of the pinned messages.
        summaries: positions of the summaries of earlier compactions.
        fillers: positions of the notices and acknowledgements of earlier compactions.
        trigger: ``manual`` or ``auto``.
        plan: a plan made before; None decides when it is needed.
        instructions: instructions for the summary.
        context: text of a hook for the summary request.
        summary: the summary to use; None asks the summarizer.
        system: system text of the session's next call.
        tools: tool definitions of the session's next call.
        unasked: why the summarizer is not asked; empty if it is.
        turn: number of tool batches since the last user message.
        origin: ledger of the given list.
        resumed: the given list with an earlier result in place of its beginning; None where none stands in.
        cleared: by row, the tokens of results that the provider's server leaves out of the prompt already: a plan for
            the server leaves them alone.
        uuid: new for each compaction, for events.
    """

    settings: Settings
    given: Sequence[Message]
    inputs: InputMessages
    ledger: Ledger
    need: Need
    fixed: int
    cached: int
    pins: tuple[int, ...]
    summaries: tuple[int, ...]
    fillers: tuple[int, ...]
    trigger: Cause
    plan: Plan | None
    instructions: str | None = None
    context: str | None = None
    summary: Given | None = None
    system: object
    tools: object
    unasked: str
    turn: int
    origin: Ledger
    resumed: tuple[Message, ...] | None = None
    cleared: Mapping[int, int] = field(default_factory=dict)
    uuid: str = field(default_factory=lambda: str(uuid4()))
    _costs: dict[int, Costs] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def policy(self) -> Policy:
        """The policy that applies."""
        return self.settings.policy

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The transcript to compact, as plain dicts."""
        return self.originals if self.resumed is None else self.resumed

    @cached_property
    def originals(self) -> tuple[Message, ...]:
        """The given list as plain dicts."""
        return tuple(self.inputs.messages)

    @cached_property
    def problems(self) -> list[Problem]:
        """What the provider would refuse about the transcript."""
        return self.settings.rules.problems(self.ledger)

    def needing(self, **limits: Any) -> CompactionRequest:
        """Return the request with other values of ``need``."""
        return replace(self, need=replace(self.need, **limits))

    def recounted(self) -> CompactionRequest:
        """Return the request with its plan's tokens by its own counter: a caller's plan may be of another model."""
        if self.plan is None or (before := self.costs(self.plan.target).before) == self.plan.tokens_before:
            return self
        after = self.tokens_after(self.plan) if self.plan.edits else before
        return replace(self, plan=replace(self.plan, tokens_before=before, tokens_after=after))

    def here(self) -> CompactionRequest:
        """Return the request for a compaction that is done here: what the server leaves out is in the list."""
        return replace(self, cleared={}, plan=None) if self.cleared else self

    def check(self) -> None:
        """Reject a list that its provider would refuse whatever messages follow, and whatever leaves for its size.

        Raises:
            MessageError: names the first problem.
        """
        reject(self.problems, len(self.ledger))

    @cached_property
    def redacted(self) -> tuple[Message, ...]:
        """The transcript as it may be summarized."""
        return self._redacted(self.messages)

    @cached_property
    def stored(self) -> tuple[Message, ...]:
        """The given list as it may be stored."""
        return self.redacted if self.resumed is None else self._redacted(self.originals)

    def _redacted(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        redact = self.settings.redact
        return messages if redact is None else tuple(redact_message(m, redact) for m in messages)

    def archivable(self) -> CompactionRequest:
        """Return the request with messages as JSON has them: objects in fields that are not counted become dicts.

        Raises:
            MessageError: JSON cannot hold a message, or its class does not take its own fields.
        """
        self.inputs.check()
        if check_json(self.messages):
            return self
        return replace(self, inputs=InputMessages(self.inputs.given, deep=True))

    def check_plan(self) -> None:
        """Reject a caller's plan that does not fit these messages, or that edits what no plan does.

        Raises:
            PlanError: names the edit and the row or message.
        """
        if self.plan is not None:
            check_plan(self.plan, self.costs(self.plan.target), parity=self.policy.parity)

    def check_new(self, plan: Plan) -> None:
        """Reject a plan whose summary or notice the caller's class does not take, before a model is asked for it.

        Raises:
            MessageError: names the class and the field.
        """
        if plan.zone() is not None:
            self.inputs.write(put(".", self.policy.place, self.ledger.provider, None)[:1])

    @cached_property
    def kept_spans(self) -> tuple[At, ...]:
        """The spans that stay word by word, each with the position of its message."""
        tag, found = self.policy.keep_tag, []
        if self.policy.parity:
            return ()
        if tag and (tagged := self.ledger.tagged.tolist()):
            found = [(tagged[n], text) for n, text in _core.kept_spans([self.messages[at] for at in tagged], tag)]
        if not found and not self.summaries:
            return ()
        given = {} if self.resumed is None else {id(message): n for n, message in enumerate(self.originals)}
        spans = [(at, KeptSpan(given.get(id(self.messages[at]), at), text)) for at, text in found]
        return located(spans, self.messages, self.summaries, self.fillers, self.redact)

    def redact(self, text: str) -> str:
        """Return a text as it may be stored and summarized."""
        return text if self.settings.redact is None else self.settings.redact(text)

    def decide(self, *, urgent: bool = False) -> Plan:
        """Return the caller's plan, or one that brings the messages to the target; what the provider refuses leaves.

        These are pictures beyond its limits, and lone surrogates.

        Where that leaves more bytes than the provider takes, the plan is decided anew by both, tokens and bytes.

        Args:
            urgent: decide anew, with the policy's emergency stage.

        Raises:
            MessageError: the provider refuses the size of a picture, and no picture can leave for it.
        """
        if self.plan is not None and not urgent:
            return self._without_excess(self.plan)
        made = self._made(urgent=urgent)
        if not made.stays_heavy or self.policy.parity:
            return made
        lighter = self._made(urgent=urgent, weighs=True)
        best = lighter if lighter.bytes_after < made.bytes_after else made
        why = f"the messages have {best.bytes_before:,} bytes, at most {best.bytes_limit:,} fit"
        return replace(best, reason=f"{best.reason}; {why}{', more of them stay' * best.stays_heavy}")

    def fuller(self, plan: Plan, after: int) -> Plan | None:
        """Return the plan that leaves more of the results, where it has left fewer tokens than its target; else None.

        A caller's plan is carried out as it is, and so is that of a policy that aims at no target, or has stages beside
        its own.

        Args:
            plan: that has been carried out.
            after: tokens of the messages that it left.
        """
        if self.plan is not None or self.policy.stages or not self.policy.keep.fill_target or self.policy.parity:
            return None

        costs = self.costs(plan.target)
        found = give_back(costs, plan, plan.target - after)
        if found is None:
            return None
        if plan.bytes_limit is not None:
            more = bytes_after(costs, found.edits) - bytes_after(costs, plan.edits)
            found = replace(found, bytes_after=plan.bytes_after + more)
        if found.stays_heavy:
            return None
        return replace(found, savings=saved(found, costs, self.need.rates) if self.need.rates else None)

    def of_span(self, start: int, stop: int) -> Plan:
        """Return the plan that replaces these messages alone by a summary; what the provider refuses leaves too.

        Raises:
            PlanError: the ends part a call from its result, or an earlier result stands in for the beginning.
        """
        if self.resumed is not None:
            msg = "an earlier result stands in for the beginning of these messages: give the list that was returned"
            raise PlanError(msg)
        return self._without_excess(of_span(self.costs(self.need.target), self.policy, start, stop))

    def _made(self, *, urgent: bool, weighs: bool = False) -> Plan:
        """Return the plan of the policy's stages without the pictures that the provider does not take."""
        plan = self._decide(urgent=urgent, weighs=weighs)
        made = self._without_excess(plan)
        over = made.tokens_after - plan.tokens_after
        if self.need.room is None or over <= 0 or made.tokens_after <= self.need.room:
            return made
        # Notices in place of small pictures have more tokens than these: other messages make room for them.
        return self._without_excess(self._decide(urgent=urgent, less=over, weighs=weighs))

    def _without_excess(self, plan: Plan) -> Plan:
        """Return the plan with edits that remove pictures and lone surrogates which the provider does not take."""
        if self.policy.parity:
            return plan
        plan = self._mending(plan)

        settings = self.settings
        messages = self.inputs if self.resumed is None else self.resumed
        costs = self.costs(plan.target)
        if self.need.most_bytes is not None:
            after = bytes_after(costs, plan.edits)
            before, most = self.ledger.request_bytes, self.need.most_bytes
            plan = replace(plan, bytes_before=before, bytes_after=after, bytes_limit=most)
        plan = without_excess(plan, messages, costs, self.problems, rules=settings.rules, counter=settings.counter)
        return replace(plan, savings=saved(plan, costs, self.need.rates) if plan.edits and self.need.rates else None)

    def _mending(self, plan: Plan) -> Plan:
        """Return the plan with an edit that replaces the lone surrogates of the messages that stay."""
        found = self._with_surrogates()
        if not found or any(isinstance(edit, Mend) for edit in plan.edits):
            return plan
        zone = plan.zone()
        gone = set(range(zone.start, zone.stop)) - set(zone.keep) if zone else set()
        found = [index for index in found if index not in gone]
        if not found:
            return plan
        told = f"replaced lone surrogates in {len(found):,} message{'s' * (len(found) > 1)}"
        reason = f"{plan.reason}; {told}" if plan.reason else told
        return replace(plan, edits=(*plan.edits, Mend(tuple(found))), reason=reason)

    def _with_surrogates(self) -> list[int]:
        """Return the positions of the messages with lone surrogates; the ledger knows those of dicts."""
        if self.resumed is None and self.inputs.messages is not self.inputs.given:
            return _core.surrogates(self.messages)
        return self.ledger.surrogates()

    def _decide(self, *, urgent: bool, less: int = 0, weighs: bool = False) -> Plan:
        """Return the plan of the policy's stages, for ``less`` tokens than may stay; ``weighs`` bytes too."""
        need = replace(
            self.need,
            target=max(self.need.target - less, 1),
            room=None if self.need.room is None else self.need.room - less,
            most_bytes=self.need.most_bytes if weighs else None,
            urgent=urgent or self.need.urgent,
        )
        return decide(self.costs(self.need.target - less), self.policy, need)

    def costs(self, target: int) -> Costs:
        """Return the costs of the transcript, beside a summary for a target of these tokens."""
        if target not in self._costs:
            self._costs[target] = self._costs_for(target)
        return self._costs[target]

    def _costs_for(self, target: int) -> Costs:

        costs = Costs(
            self.ledger,
            self.pins,
            self.settings.strips,
            self.settings.frame(target, self.ledger.provider),
            self.summaries,
            self.settings.placeholder,
            self.fillers,
            self.calls,
            edited=self.cleared,
        )
        if not self.kept_spans:
            return costs
        stay = {*range(costs.head), *costs.floor}
        marked = self.settings.counter.count(kept_block([span for at, span in self.kept_spans if at not in stay]))
        return replace(costs, frame=costs.frame + marked, marked=marked)

    @cached_property
    def calls(self) -> dict[int, int]:
        """The tokens of each call with long arguments after these are pruned, by row; none if the policy keeps them."""
        chars = self.policy.prune.argument_chars if self.policy.prune else None
        messages = self.inputs if self.resumed is None else self.resumed
        return {} if chars is None else pruned_calls(messages, self.ledger, self.settings.counter, chars)

    def tokens_after(self, plan: Plan) -> int:
        """Return the tokens after a plan for these messages, by the counter of this request."""
        after = tokens_after(self.costs(plan.target), plan.edits)
        return after + added(plan.edits, self.messages, self.ledger, self.settings.counter)
