"""The state of one conversation between calls, and the decision whether a compaction is due."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, get_args

from .._log import log
from .._repr import short
from ..compaction.request import Request
from ..compaction.summary import offered
from ..counting.counter import fixed_tokens, overhead, read_plain, scan
from ..errors import BusyError, CountError, Error, PlanError
from ..ledger.marks import marks
from ..messages.objects import InputMessages, plain
from ..messages.types import whole_calls
from ..models.model import UNBOUND
from ..planning.edits import Summarize
from ..planning.pins import flagged, pinned
from .own import OwnMessages
from .provider_count import ProviderCounts, request_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..compaction.effects import Flow
    from ..compaction.handler import EffectHandler
    from ..compaction.result import Compaction
    from ..compaction.settings import Settings, Target
    from ..hooks import Cause
    from ..ledger.columns import Ledger
    from ..messages.types import Message
    from ..planning.budget import Terms
    from ..planning.forecast import Forecast
    from ..planning.plan import Plan
    from ..planning.policy import Policy
    from ..planning.zones import Stats
    from .provider_count import ProviderCount

When = Literal["before_call", "after_step", "after_tool_batch", "after_run", "on_length", "on_overflow"]
"""Moments at which an agent calls ``fit``."""

PATIENCE = 3
"""Rounds without progress before automatic compaction backs off until the beginning of the list changes.

Also the failures in a row before the summarizer is asked in every fourth compaction only.
"""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The input of the next call.

    Attributes:
        messages: the list to send; the caller's own object if nothing was done.
        request: keywords of the provider's call: the messages, and the system text if it was given; if thinking was
            marked, also ``betas`` and the field of ``thinking`` that lets the provider drop it.
        compaction: the compaction; None if nothing was done.
        reason: why nothing was done past the trigger; after an overflow, the window from now on and what was done;
            empty otherwise.
    """

    __repr__ = short

    messages: Sequence[Message]
    request: dict[str, Any]
    compaction: Compaction | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """The content of the next call.

    Attributes:
        messages: the transcript.
        system: system text beside it.
        tools: tool definitions.
    """

    messages: Sequence[Message]
    system: object = None
    tools: object = None


@dataclass
class Session:
    """The state of one conversation between calls.

    Attributes:
        settings: the settings of its Compactor.
        forecast: forecast of the next prompt's tokens.
        handler: answers the effects of a compaction.
        counts: answers of the provider's counting endpoint.
        turn: number of tool batches since the last user message.
        no_progress: rounds without progress in a row.
        failed: compactions in a row for which the summarizer returned no summary.
        backing_off: why a due compaction was not tried; empty if it was tried, or none was due.
        rounds: number of compactions.
        summaries: digests of summaries without an envelope.
        edited: whether ``fit`` has compacted.
    """

    settings: Settings
    forecast: Forecast
    handler: EffectHandler
    counts: ProviderCounts = field(default_factory=ProviderCounts)
    turn: int = 0
    no_progress: int = 0
    failed: int = 0
    backing_off: str = ""
    rounds: int = 0
    summaries: list[str] = field(default_factory=list)
    edited: bool = False
    _begins: tuple[int, str] = (0, "")
    _only_prunes: bool = False
    _compacting: Lock = field(default_factory=Lock)
    _own: OwnMessages = field(init=False)

    def __post_init__(self) -> None:
        """Know the messages that the session puts into its lists."""
        self._own = OwnMessages(self.settings, self.handler.archive)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Allow one compaction at a time in a named session.

        Raises:
            BusyError: another one is under way.
        """
        if not self.settings.exclusive:
            yield
        elif self._compacting.acquire(blocking=False):
            try:
                yield
            finally:
                self._compacting.release()
        else:
            name = self.settings.session
            raise BusyError(f"session {name!r} is being compacted: wait for it, then compact its latest messages")

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self.settings.policy

    @property
    def window(self) -> int:
        """The model's window in tokens; smaller than the model's own after a refusal that says so."""
        return self.settings.model.window

    def scan(self, messages: Sequence[Message]) -> Ledger:
        """Return the ledger of the messages.

        Raises:
            MessageError: a message cannot be read.
        """
        settings = self.settings
        return scan(messages, settings.counter, settings.provider, settings.model.provider)

    def fixed(self, call: Call) -> tuple[int, int]:
        """Return the tokens of system text and of tools, these by the policy's own estimate if it has one."""
        counter, estimate = self.settings.counter, self.policy.counter
        if estimate is None or not isinstance(call.tools, list | tuple):
            return fixed_tokens(counter, call.system, call.tools)
        return fixed_tokens(counter, call.system)[0], estimate.overhead(call.tools)

    def count(self, call: Call) -> int:
        """Return the tokens of the call's prompt: the last billed prompt, and the count of the messages since."""
        fixed = overhead(self.settings.counter, system=call.system, tools=call.tools)
        return self.forecast.count(call.messages, fixed=fixed, ledger=self.scan(call.messages))

    def check(self, call: Call, client: Any) -> Flow[ProviderCount]:
        """Return the provider's count of the call's prompt, and the count here without any correction."""
        counted = self.scan(call.messages).total
        counted += overhead(self.settings.counter, system=call.system, tools=call.tools)
        return (
            yield from self.counts.ask(
                client, request_of(self.settings, call.messages, call.system, call.tools), counted
            )
        )

    def billed(self, call: Call) -> int:
        """Return the last billed prompt and the growth of the count since; 0 before the first billed call."""
        return self.forecast.at_least(self._terms(self.scan(call.messages).total, self.fixed(call)))

    def begin(self, call: Call, when: When, turn: int | None) -> Call:
        """Record the moment; remove unfinished calls from an answer that was cut at its limit.

        Raises:
            ValueError: ``when`` is unknown; lists the valid ones.
        """
        if when not in get_args(When):
            msg = f"when must be one of {', '.join(get_args(When))}, got {when!r}"
            raise ValueError(msg)
        if turn is not None:
            self.turn = turn
        else:
            self.turn = 0 if when == "before_call" else self.turn + (when == "after_tool_batch")
        if when != "on_length" or not call.messages:
            return call
        inputs = InputMessages(call.messages)
        last = whole_calls(inputs.messages[-1])
        if last is inputs.messages[-1]:
            return call
        return replace(call, messages=[*call.messages[:-1], *inputs.write([last])])

    def due(self, call: Call, when: When) -> Flow[Request | None]:
        """Return the compaction that is due at this moment, or None; reads the messages once."""
        trigger, prune = self.policy.trigger, self.policy.prune
        if not trigger.auto or (when not in trigger.when and (prune is None or when not in prune.when)):
            return None
        ledger, fixed = self.scan(call.messages), self.fixed(call)
        self._reconsider(ledger)
        terms = self._terms(ledger.total, fixed)
        if self.policy.counter is None:
            tokens = self.forecast.count(call.messages, fixed=sum(fixed), ledger=ledger)
            terms = replace(terms, beyond=tokens - terms.sent)
        elif self.policy.counter.asks and self.settings.count_with is not None:
            terms = yield from self._asked(call, terms, ledger.total)
        policy = self._policy_due(when, terms)
        if policy is None:
            return None
        urgent = trigger.endangers(terms) or trigger.overflows(terms)
        return self.request(call, fixed=fixed, policy=policy, trigger="auto", urgent=urgent)

    def _asked(self, call: Call, terms: Terms, counted: int) -> Flow[Terms]:
        """Return the terms with the messages as the counting endpoint counts them; unchanged if it fails."""
        try:
            request = request_of(self.settings, call.messages)
            found = yield from self.counts.ask(self.settings.count_with, request, counted)
        except (CountError, ValueError) as error:
            log.warning("%s; using the estimate", error)
            return terms
        return replace(terms, messages=found.answered)

    def _terms(self, tokens: int, fixed: tuple[int, int]) -> Terms:
        """Return the terms of a call with these tokens of messages, with the usage of the last call."""
        system, tools = fixed
        return self.forecast.terms(replace(self.settings.limits, messages=tokens, system=system, tools=tools))

    def _reconsider(self, ledger: Ledger) -> None:
        """End backing off if the list begins differently from the one that made no progress."""
        if not self.no_progress:
            self._begins = (0, "")
            return
        length, digest = self._begins
        if length and (len(ledger) < length or ledger.digest_until(length) != digest):
            self.no_progress = length = 0
        if not length:
            self._begins = (len(ledger), ledger.digest)

    def _policy_due(self, when: When, terms: Terms) -> Policy | None:
        """Return the policy to apply now: the session's, its pruning alone, or None."""
        policy = self.policy
        trigger, prune = policy.trigger, policy.prune
        self.backing_off, self._only_prunes = "", False
        if when in trigger.when and (trigger.fires(terms) or when == "on_overflow" or self._in_danger(terms)):
            if self.no_progress < PATIENCE:
                return policy
            self.backing_off = f"automatic compaction backs off: {self.no_progress} rounds in a row made no progress"
            log.warning("%s", self.backing_off)
            return None
        self._only_prunes = prune is not None and when in prune.when
        return replace(policy, summarize=None, order=()) if self._only_prunes else None

    def _in_danger(self, terms: Terms) -> bool:
        """Return whether the last usage shows that the call is in danger, although the policy's estimate is far lower.

        A quarter of the bytes is two thirds of the billed tokens of thinking, calls and images.
        """
        if self.policy.counter is None or self.policy.parity or not terms.window:
            return False
        return self.forecast.at_least(terms) > self.policy.trigger.critical * terms.window

    def request(
        self,
        call: Call,
        *,
        fixed: tuple[int, int] | None = None,
        policy: Policy | None = None,
        target: Target | None = None,
        instructions: str | None = None,
        plan: Plan | None = None,
        trigger: Cause = "manual",
        urgent: bool = False,
    ) -> Request:
        """Return a request to compact these messages, whatever the trigger says.

        Raises:
            PlanError: the plan is of another transcript.
        """
        settings = self.settings if policy is None else self.settings.under(policy)
        taken = tuple(call.messages) if isinstance(call.messages, list | tuple) else call.messages
        inputs, ledger = read_plain(taken, settings.counter, settings.provider, settings.model.provider)
        if plan is not None and plan.digest != ledger.digest:
            raise PlanError("the plan was made for another transcript; make a new one for these messages")
        fixed = fixed or self.fixed(call)
        pins, summaries = self.policy.keep.flags()
        known = {*ledger.find(set(self.summaries)), *flagged(inputs.messages, summaries)}
        known |= {*self._own.summaries(ledger, inputs.messages)}
        fillers = self._own.fillers(ledger)
        own = {*known, *fillers}
        return Request(
            settings=settings,
            given=call.messages,
            inputs=inputs,
            ledger=ledger,
            target=target(ledger) if target else settings.budget(*fixed).target,
            fixed=sum(fixed),
            cached=self.forecast.cached(ledger),
            pins=pinned(ledger, inputs.messages, self.handler.archive.pins(settings.session), pins, own),
            summaries=tuple(sorted(known)),
            fillers=fillers,
            trigger=trigger,
            plan=plan,
            urgent=urgent,
            instructions=instructions,
            system=call.system,
            tools=call.tools,
            # After three failures in a row the summarizer is asked every fourth time.
            skips_summarizer=self.failed >= PATIENCE and (self.failed - PATIENCE) % (PATIENCE + 1) != PATIENCE,
            turn=self.turn,
        )

    def explain(self, call: Call) -> list[str]:
        """Return the ways to get a summary of these messages, a line each.

        For messages below the target, the target is a tenth of their tokens.
        """
        request = self.request(call)
        target = min(request.target, max(request.ledger.total // 10, 1))
        zone = replace(request, target=target).decide().zone() if len(request.ledger) else None
        if self.settings.summarizer == "offline" or not isinstance(zone, Summarize):
            return []
        found = offered(request, zone)
        return [f"{'summary' if offer is found[0] else 'or':14} {offer}" for offer in found]

    def stats(self, call: Call) -> Stats:
        """Return the messages of each of the policy's zones, and how full the window is."""
        from ..planning.stages.costs import Costs  # noqa: PLC0415 - numpy comes with the first plan
        from ..planning.zones import Stats, grouped  # noqa: PLC0415

        request, trigger = self.request(call), self.policy.trigger
        terms = self._terms(request.ledger.total, self.fixed(call))
        costs = Costs(request.ledger, request.pins, summaries=request.summaries, fillers=request.fillers)
        window = self.settings.model.window
        groups, tokens = grouped(costs, self.policy, window=window, target=request.target)
        return Stats(
            self.settings.session, groups, tokens, trigger.utilisation(terms), self.rounds, trigger.fires(terms)
        )

    def prune(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages with old results pruned."""
        from ..compaction.apply import apply  # noqa: PLC0415 - numpy comes with the first plan

        request = self.request(Call(messages), policy=replace(self.policy, summarize=None))
        made, plan = [*request.messages], request.decide()
        if plan.edits:
            done = apply(
                plan, request.messages, request.ledger, self.settings.counter, None, fillers=frozenset(request.fillers)
            )
            made = done.messages
            self._own.remember(None, marks(self.scan(made), done.fillers))
        return request.inputs.write(made)

    def done(self, compaction: Compaction) -> Compaction:
        """Record a compaction; the last usage belongs to another list now.

        A round that only prunes and finds nothing to prune does not count as one without progress.
        """
        progress = compaction.ref is not None
        self.rounds += progress
        self.no_progress = 0 if progress else self.no_progress + (not self._only_prunes)
        self._only_prunes = False
        self.failed = self.failed + 1 if compaction.failed else 0 if compaction.offer else self.failed
        if progress:
            self.forecast.usage = None
            self._own.remember(compaction.ref, compaction.marks)
        if self.policy.parity and compaction.summary is not None:
            text = self.policy.place.prefix + compaction.summary
            placed = [message for message in plain(compaction.messages) if message.get("content") == text]
            self.summaries.extend(self.scan([message]).digest_of(0) for message in placed)
        return compaction

    def fitted(self, call: Call, compaction: Compaction | None = None) -> Fitted:
        """Return the input of the call: the list itself, or the compacted one."""
        reason = self.backing_off
        if compaction is not None:
            self.done(compaction)
            self.edited |= compaction.ref is not None
            call = replace(call, messages=compaction.messages)
            if self.policy.counter is None:
                self.count(call)  # the next charge is for these messages
            reason = "" if compaction.ref is not None else compaction.reason
            compaction = compaction if compaction.ref is not None else None
        key = "input" if self.settings.provider == "openai_responses" else "messages"
        request = {key: call.messages, **({"system": call.system} if call.system is not None else {})}
        request |= UNBOUND if self.settings.marks and self.edited else {}
        return Fitted(call.messages, request, compaction, reason)

    def unfitted(self, call: Call, error: Exception) -> Fitted:
        """Return the list itself after an automatic compaction failed; log the error instead of raising it."""
        log.warning("automatic compaction failed: %s", error.account if isinstance(error, Error) else error)
        self.no_progress += 1
        return replace(self.fitted(call), reason=str(error))
