"""One conversation as its Compactor knows it between calls: what is due, the job that it makes, what goes out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args
from uuid import uuid4

from .._log import log
from ..compaction.request import Job
from ..counting.overhead import overhead
from ..errors import Error, PlanError
from ..messages.objects import Given, lately
from ..messages.types import whole_calls
from ..models.model import UNBOUND
from ..planning.plan import Summarize
from ..summarize import Offer, Sizes, offers
from .gate import Fitted, Gate, When
from .provider_count import Checks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..compaction.drivers import Outside
    from ..compaction.result import Compaction
    from ..ledger.columns import Ledger
    from ..messages.types import Message
    from ..planning.budget import Terms
    from ..planning.forecast import Meter
    from ..planning.plan import Plan
    from ..planning.policy import Policy
    from .planner import Planner
    from .settings import Measure, Target


@dataclass(frozen=True, slots=True)
class Call:
    """What the next call is to send.

    Attributes:
        messages: the transcript.
        system: system text beside it.
        tools: tool definitions.
    """

    messages: Sequence[Message]
    system: object = None
    tools: object = None


@dataclass
class Conversation:
    """What is known of one conversation, and what follows for its next call.

    Attributes:
        measure: how it measures.
        planner: decides.
        meter: what calls were charged, against what they were counted as.
        outside: answers what a compaction wants.
        model: the id that its calls name.
        summarizer: its name.
        session: the conversation's name in the archive.
        exclusive: whether another compaction of the session meanwhile is a conflict.
        redact: takes out of a text what is neither to be stored nor summarized.
        marks: whether later requests say that the provider may drop thinking.
        gate: what it has learned.
        checks: what the provider's counting endpoint answered.
        edited: whether a compaction was done.
    """

    measure: Measure
    planner: Planner
    meter: Meter
    outside: Outside
    model: str
    summarizer: str
    session: str
    exclusive: bool
    redact: Callable[[str], str] | None
    marks: bool
    gate: Gate = field(default_factory=Gate)
    checks: Checks = field(default_factory=Checks)
    edited: bool = False

    @property
    def policy(self) -> Policy:
        """How it decides."""
        return self.measure.policy

    def at(self, call: Call, when: When, turn: int | None) -> Call:
        """Takes note of the moment; an answer that was cut at its limit loses the calls that end in the middle.

        Raises:
            ValueError: there is no such moment.
        """
        if when not in get_args(When):
            msg = f"when must be one of {', '.join(get_args(When))}, got {when!r}"
            raise ValueError(msg)
        self.gate.moment(when, turn)
        if when != "on_length" or not call.messages:
            return call
        read = Given(call.messages)
        last = whole_calls(read.messages[-1])
        if last is read.messages[-1]:
            return call
        return replace(call, messages=[*call.messages[:-1], *read.back([last])])

    def count(self, call: Call) -> int:
        """Tokens of the call's prompt: what the last one was charged, and the count of what came since."""
        beside = overhead(self.measure.counter, system=call.system, tools=call.tools)
        messages = lately(call.messages)
        return self.meter.count(messages, self.measure.shape(messages), beside)

    def counted(self, call: Call) -> int:
        """Tokens of the call's prompt by the count alone, whatever was charged before."""
        beside = overhead(self.measure.counter, system=call.system, tools=call.tools)
        return self.measure.scan(call.messages).total + beside

    def terms(self, ledger: Ledger, call: Call) -> Terms:
        """What is known of the call, what was charged for the last one with it."""
        terms = self.gate.terms(self.measure.terms(ledger.total, call.system, call.tools), self.policy)
        if self.policy.counter is not None:
            return terms
        return replace(terms, beyond=self.count(call) - terms.sent)

    def due(self, call: Call, when: When) -> Job | None:
        """The compaction that is due at this moment, None where none is."""
        if not self.gate.watches(when, self.policy):
            return None
        ledger = self.measure.scan(call.messages)
        self.gate.look(ledger)
        terms = self.terms(ledger, call)
        policy = self.gate.due(when, terms, self.policy)
        if policy is None:
            return None
        urgent = self.policy.trigger.endangers(terms) or self.policy.trigger.overflows(terms)
        return self._job(call, policy, trigger="auto", urgent=urgent)

    def job(
        self,
        call: Call,
        *,
        target: Target | None = None,
        instructions: str | None = None,
        plan: Plan | None = None,
        trigger: Literal["manual", "auto"] = "manual",
    ) -> Job:
        """The compaction of these messages, whatever the trigger says.

        Raises:
            PlanError: the plan is of another transcript.
        """
        made = self._job(call, self.policy, target=target, trigger=trigger)
        if plan is not None and plan.digest != made.ledger.digest:
            raise PlanError("the plan was made for another transcript; make a new one for these messages")
        decides = made.plan if plan is None else lambda: plan
        return replace(made, instructions=instructions, plan=decides)

    def _job(
        self,
        call: Call,
        policy: Policy,
        *,
        target: Target | None = None,
        trigger: Literal["manual", "auto"],
        urgent: bool = False,
    ) -> Job:
        taken = tuple(call.messages) if isinstance(call.messages, list | tuple) else call.messages
        read, ledger = self.measure.read(taken)
        messages = tuple(read.messages)
        tokens = self.measure.aim(target, call.system, call.tools)(ledger)
        return Job(
            given=call.messages,
            read=read,
            messages=messages,
            ledger=ledger,
            counter=self.measure.counter,
            policy=policy,
            plan=lambda: self.planner.plan(ledger, messages, tokens, policy, urgent=urgent),
            summarizer=self.summarizer,
            trigger=trigger,
            session=self.session,
            exclusive=self.exclusive,
            redact=self.redact,
            emergency=lambda: self.planner.plan(ledger, messages, tokens, urgent=True),
            earlier=self.planner.summaries(ledger, messages),
            offers=lambda zone: self.offers(zone, ledger, call),
            capacity=self._capacity,
            system=call.system,
            tools=call.tools,
            rests=self.gate.rests,
            uuid=str(uuid4()),
            turn=self.gate.turn,
        )

    def offers(self, zone: Summarize, ledger: Ledger, call: Call) -> tuple[Offer, ...]:
        """The ways to come by a summary of the zone, the one to take first; one where the offline one writes."""
        stage = self.policy.summarize
        if self.summarizer == "offline" or stage is None:
            return (Offer(self.summarizer, stage.model if stage else None),)
        costs = ledger.per_message
        terms = self.measure.terms(ledger.total, call.system, call.tools)
        leaving = int(costs[zone.start : zone.stop].sum()) - int(costs[list(zone.keep)].sum())
        cached = self.meter.cached(ledger) if self.policy.counter is None else 0
        writer = self.outside.summarizer
        shape = getattr(writer, "shape", None)
        # OpenAI's system text is a message: beside them it says nothing of how it is sent.
        same = shape == ledger.provider and (shape == "anthropic" or call.system is None)
        return offers(
            writer,
            self.summarizer,
            stage,
            self.model,
            self.measure.model,
            Sizes(leaving, terms.sent, cached, zone.max_tokens),
            rides=same and cached > 0 and self.redact is None,
        )

    def explain(self, call: Call, ledger: Ledger) -> list[str]:
        """The ways to come by the summary that a compaction of these messages would ask for, a line each.

        Of a list that is below the target already, one to a tenth of it.
        """
        target = min(self.measure.aim(None, call.system, call.tools)(ledger), max(ledger.total // 10, 1))
        zone = self.planner.plan(ledger, lately(call.messages), target).zone() if len(ledger) else None
        if self.summarizer == "offline" or not isinstance(zone, Summarize):
            return []
        found = self.offers(zone, ledger, call)
        return [f"{'summary' if offer is found[0] else 'or':14} {offer}" for offer in found]

    def _capacity(self, offer: Offer) -> int | None:
        """Tokens of messages that who is asked takes at once."""
        stage = self.policy.summarize
        if offer.window is None or stage is None:
            return None
        asked = self.measure.counter.count(stage.template.system + stage.template.request()) if stage.template else 0
        return max(offer.window - stage.max_tokens - asked, offer.window // 2)

    def noted(self, done: Compaction) -> Compaction:
        """The same, once it is taken note of."""
        self.gate.done(done)
        self.planner.remember(done)
        return done

    def fitted(self, call: Call, done: Compaction | None = None) -> Fitted:
        """What goes into the call: the list as it is, or as a compaction left it."""
        if done is not None:
            self.noted(done)
            call = replace(call, messages=done.messages)
            self.edited |= done.ref is not None
            if self.policy.counter is None:
                self.count(call)  # what is sent is what will be charged
        key = "input" if self.measure.provider == "openai_responses" else "messages"
        request = {key: call.messages, **({"system": call.system} if call.system is not None else {})}
        request |= UNBOUND if self.marks and self.edited else {}
        done_now = done if done is not None and done.ref is not None else None
        why = done.reason if done is not None and done_now is None else self.gate.resting
        return Fitted(call.messages, request, done_now, why if done_now is None else "")

    def resting(self, call: Call, error: Exception) -> Fitted:
        """The same list, where the policy says that a failure is an error: an automatic one is logged, not raised."""
        log.warning("automatic compaction failed: %s", error.account if isinstance(error, Error) else error)
        self.gate.stuck += 1
        return replace(self.fitted(call), reason=str(error))

    def record(self, usage: object) -> None:
        """Learns what the last call was charged.

        Raises:
            ValueError: it names no tokens of a prompt.
        """
        self.gate.record(usage, self.policy)
        if self.policy.counter is None:
            self.meter.record(usage)
