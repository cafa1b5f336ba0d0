"""The state of one conversation between its calls: settings, forecast, and knowledge of its list."""

from __future__ import annotations

from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, get_args

from .. import _core
from ..counting.counter import fixed_tokens, overhead, read_plain, read_with, scan
from ..counting.whole import framed
from ..errors import BusyError, PlanError
from ..events import BackedOff, UsageIgnored
from ..ledger.marks import marks
from ..messages.objects import InputMessages, plain
from ..messages.request import keywords, request_bytes
from ..messages.types import whole_calls
from ..messages.usage import HELD, LARGEST, Usage, is_proven
from ..models.ids import ModelId
from ..planning.due import pressure
from ..planning.edits import Summarize
from ..planning.forecast import Forecast
from ..planning.pins import flagged, pinned
from ..planning.plan import UNREACHED
from ..planning.savings import Rates
from .call import Call, Fitted, Size, When
from .on_server import OnServer
from .own import OwnMessages
from .provider_count import ProviderCounts, request_of
from .rendered import RenderedPrompts
from .standin import StandIn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..archive import Archive
    from ..compaction.effects import Flow
    from ..compaction.handler import EffectHandler
    from ..compaction.job import Job
    from ..compaction.request import CompactionRequest
    from ..compaction.result import Compaction
    from ..compaction.settings import Settings, Target
    from ..counting.counter import Counter
    from ..counting.estimate import Estimate
    from ..hooks import Cause
    from ..ledger.columns import Ledger
    from ..messages.types import AnyMessage, Charged, Message, MessageT, Transcript
    from ..models.model import WindowSource
    from ..planning.plan import Plan
    from ..planning.policy import Policy
    from ..planning.zones import Stats
    from ..server.call import ServerCall
    from .provider_count import ProviderCount

_TABLES = {"table", "public", "assumed"}
"""Sources of a window above which an agent's smaller default stands."""

CHARGES = 64
"""Newest billed calls of a session file that a session learns from: each one reads the messages before it, so that all
would take time quadratic in the file's length. The rules of a forecast look at 15 turns at most."""


@dataclass
class Beside:
    """Counts system text and tools, which stay the same from call to call: again only after a change.

    A change inside of them is found like one in a message: every text and number is compared by identity and
    by content.
    """

    _seen: _core.Seen = field(default_factory=_core.Seen)
    _bytes: int | None = None
    _counted: dict[tuple[Counter, Estimate | None], tuple[int, int]] = field(default_factory=dict)

    def tokens(self, counter: Counter, estimate: Estimate | None, system: object, tools: object) -> tuple[int, int]:
        """Return the tokens of system text and of tools, these by the policy's own estimate if it has one."""
        self._look(system, tools)
        found = self._counted.get((counter, estimate))
        if found is None:
            if estimate is None or not isinstance(tools, list | tuple):
                found = fixed_tokens(counter, system, tools)
            else:
                found = fixed_tokens(counter, system)[0], estimate.overhead(tools)
            self._counted[counter, estimate] = found
        return found

    def bytes(self, system: object, tools: object) -> int:
        """Return the bytes of system text and tools in a request."""
        self._look(system, tools)
        if self._bytes is None:
            self._bytes = request_bytes(system, tools)
        return self._bytes

    def _look(self, system: object, tools: object) -> None:
        """Forget what was counted of others."""
        known, places = self._seen.places((system, tools))
        if places != [*range(known, 2)]:
            self._counted.clear()
            self._bytes = None


PATIENCE = 3
"""Rounds in a row that fail, or that need a compaction, before the summarizer is asked in every fourth round only."""

FAILED = "it failed too often in a row"
"""Why the summarizer is not asked."""

CROWDED = "too many rounds in a row needed a compaction"
"""Why the summarizer is not asked: summaries free so little that each costs a call for a round or two."""


@dataclass
class Stated:
    """What the provider's refusals said of the model.

    Attributes:
        window: the least limit in tokens that they stated; None before the first.
        request: the least limit in bytes that they stated; None before the first.
    """

    window: int | None = None
    request: int | None = None


@dataclass
class Memory:
    """The state of one conversation between calls.

    Attributes:
        settings: the settings of its Compactor.
        forecast: forecast of the next prompt's tokens.
        handler: answers the effects of a compaction.
        counts: answers of the provider's counting endpoint.
        turn: number of tool batches since the last user message.
        failed: rounds in a row in which the summarizer returned no summary.
        rounds: number of compactions.
        summaries: digests of summaries without an envelope.
        edited: whether ``fit`` has compacted.
        verified: number and digest of the messages that were found valid last.
        valid: digests of these messages; empty at the start of a process.
        failing: whether the summarizer failed in this round.
        crowded: rounds in a row, before this one, that needed an automatic summary of a model.
        pressed: whether this round needs one.
        resting: whether the event of this rest was told.
        continued: whether the session began with the state of an earlier one.
        limited: whether the window is another one than that of the Compactor.
        stated: what the provider's refusals said in any session of the Compactor.
        standin: the last result, for lists that begin with what it was made of.
        looks_at: tokens of messages at which it is looked again whether pruning pays.
        job: the compaction whose summary is being written in the background, or waits for the trigger; None without.
        held: tokens of a prompt below which none is started, because the last one led to nothing; and the reason.
        beside: the tokens of system text and tools.
        rendered: the prompts that a chat template rendered.
        server: what the session asks of the provider's server.
    """

    settings: Settings
    handler: EffectHandler
    forecast: Forecast = field(init=False)
    counts: ProviderCounts = field(default_factory=ProviderCounts)
    turn: int = 0
    failed: int = 0
    rounds: int = 0
    summaries: list[str] = field(default_factory=list)
    edited: bool = False
    verified: tuple[int, str] = (0, "")
    valid: bytes = b""
    moments: set[When] = field(default_factory=set)
    failing: bool = False
    crowded: int = 0
    pressed: bool = False
    resting: bool = False
    continued: bool = False
    limited: bool = False
    stated: Stated = field(default_factory=Stated)
    standin: StandIn = field(default_factory=StandIn)
    looks_at: int = 0
    job: Job | None = None
    held: tuple[int, str] = (0, "")
    beside: Beside = field(default_factory=Beside)
    rendered: RenderedPrompts = field(default_factory=RenderedPrompts)
    server: OnServer = field(default_factory=OnServer)
    _compacting: Lock = field(default_factory=Lock)
    own: OwnMessages = field(init=False)

    def __post_init__(self) -> None:
        """Begin without a billed call, and know the messages that the session puts into its lists."""
        settings = self.settings
        self.forecast = Forecast.of(settings.model, settings.counter, settings.policy.counter)
        self.own = OwnMessages(self.settings, self.handler.archive)

    @contextmanager
    def alone(self, *, ends_job: bool = True) -> Iterator[None]:
        """Allow one compaction at a time in a named session; ``ends_job`` ends one in the background.

        Raises:
            BusyError: another one is under way.
        """
        free = not self.settings.exclusive or self._compacting.acquire(blocking=False)
        if free and ends_job:
            self.stop()
        if not self.settings.exclusive:
            yield
        elif free:
            try:
                yield
            finally:
                self._compacting.release()
        else:
            name = self.settings.session
            raise BusyError(f"session {name!r} is being compacted: wait for it, then compact its latest messages")

    def stop(self) -> None:
        """End a compaction in the background; nothing of it is applied."""
        job, self.job, self.held = self.job, None, (0, "")
        if job is not None:
            job.cancel()

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self.settings.policy

    @property
    def window(self) -> int:
        """The model's window in tokens, of the best source that is known by now."""
        return self.settings.model.window

    @property
    def asks_server(self) -> bool:
        """Whether the provider's server is asked to compact, where it can."""
        return bool(self.settings.policy.server) and not self.server.why

    def scan(self, messages: Sequence[AnyMessage]) -> Ledger:
        """Return the ledger of the messages.

        Raises:
            MessageError: a message cannot be read.
        """
        settings = self.settings
        return scan(messages, settings.counter, settings.provider, settings.model.provider)

    def archived(self) -> Archive | None:
        """Return the archive, opened; None where it holds nothing of this session yet.

        Raises:
            ArchiveError: the archive cannot be opened.
        """
        archive = self.handler.archive
        return archive.known() if self.settings.exclusive or self.continued else archive.opened

    def resume(self, call: Call, ledger: Ledger | None = None) -> tuple[Call, Ledger]:
        """Return the call and its ledger, with the last result in place of the messages that it was made of.

        Args:
            call: the call.
            ledger: ledger of its messages; None reads them.

        Raises:
            MessageError: a message cannot be read.
            ArchiveError: the archive of a named session cannot be read.
        """
        settings, standin = self.settings, self.standin
        if ledger is None:
            ledger = scan(call.messages, settings.counter, settings.provider, settings.model.provider)
        if settings.exclusive and not standin.is_known:
            self._find()
        if standin.view is None:
            return call, ledger
        resumed, ledger = self.standin.put(call, ledger, self.settings)
        self.edited |= resumed.view is not None
        return resumed, ledger

    def resumed(self, call: Call) -> Call:
        """Return the call like ``resume``, for a caller that needs no ledger: without a result nothing is read."""
        self._find()
        return call if self.standin.view is None else self.resume(call)[0]

    def limit(self, settings: Settings) -> None:
        """Take settings with another window."""
        self.settings, self.limited = settings, True

    def lighten(self, request: int) -> None:
        """Take a limit of a request's bytes, if it is smaller than one that a refusal led to before."""
        known = self.settings.rules.request
        if known is None or request < known:
            self.settings, self.verified = self.settings.within(request), (0, "")

    def learn_window(self, tokens: int, source: WindowSource) -> None:
        """Take a window whose source stands above that of the window until now."""
        settings = self.settings.learned(tokens, source)
        if settings is not self.settings:
            self.limit(settings)

    def _find(self) -> None:
        """Find the last result of a named session in the archive, once."""
        if not self.standin.is_known and self.settings.exclusive:
            self.standin.find(self.archived(), self.settings.session)

    def undo(self, ref: str | None = None) -> None:
        """End the last result: a later list is decided on as it comes.

        Args:
            ref: of the compaction that is undone; another session's or a truncated output's ends nothing. None ends it.

        Raises:
            ArchiveError: the archive of a named session cannot be read or written.
        """
        if ref is not None and ref not in self.own.refs:
            self._find()
            if self.standin.view is None or self.standin.view.ref != ref:
                return
        self.standin.remember(None)
        self.server.settled = ""  # pins are put behind the provider's compaction again
        self.verified, self.valid = (0, ""), b""  # a digest does not tell a lone surrogate from what replaced it
        self.stop()
        archive = self.archived() if self.settings.exclusive else None
        if archive is not None:
            archive.end_view(self.settings.session)

    def fixed(self, call: Call) -> tuple[int, int]:
        """Return the tokens of system text and of tools, these by the policy's own estimate if it has one."""
        return self.beside.tokens(self.settings.counter, self.policy.counter, call.system, call.tools)

    def count(self, call: Call) -> int:
        """Return the tokens of the call's prompt: the last billed prompt, and the count of the messages since.

        A policy with its own estimate returns that.
        """
        call, ledger = self.resume(call)
        if self.settings.counter.template is not None and self.rendered.is_alike is not False:
            whole, fixed = framed(ledger, call.messages, self.settings.counter, call.system, call.tools)
            if fixed is not None:
                return whole.total + sum(fixed)
        beside = overhead(self.settings.counter, system=call.system, tools=call.tools)
        forecast = self.forecast.count(call.messages, fixed=self._beside(call, beside), ledger=ledger)
        counted = forecast if self.policy.counter is None else ledger.total + beside
        known = self.server.standing(ledger)
        return counted if known is None or counted <= known.trigger else counted - known.tokens

    def _beside(self, call: Call, fixed: int) -> int:
        """Return the tokens of system text and tools by the model's counter; ``fixed`` are those by the policy's."""
        if self.policy.counter is None:
            return fixed
        return sum(self.beside.tokens(self.forecast.counters[0], None, call.system, call.tools))

    def record(self, usage: object, *, past: bool = False, cleared: int = 0) -> None:
        """Learn from the usage of the last call; ignore one that cannot be that call's.

        Args:
            usage: the usage.
            past: whether it is of a session file, which tells of no cache that is still there.
            cleared: tokens that the provider's server took out of the prompt, which the list still has.

        Raises:
            ValueError: the usage has no prompt tokens, or one of its numbers is no integer from 0 to 2**53.
        """
        charged, limits = Usage.of(usage), self.settings.limits
        if cleared:
            charged = replace(charged, input=charged.input + cleared)
            limits = replace(limits, window=limits.window + cleared)
        if doubt := self.forecast.doubt(charged, limits):
            self.handler.answer(UsageIgnored(charged, doubt))
        else:
            sent, now = self.forecast.pending, None if past else self.settings.clock()
            if sent is not None and not past and self.settings.counter.template is not None:
                self.rendered.judge(self.settings, sent, charged.prompt)
            self.forecast.record(charged, now, self.settings.model.cache_seconds)

    def rates(self) -> Rates:
        """Return the cost of the next prompt's tokens, by the model's prices and the recorded usage."""
        model, readings = self.settings.model, self.forecast.readings
        cold = readings.cold(self.settings.clock(), model.cache_seconds)
        return Rates.of(model.price, cold, readings.mean_growth, hourly=readings.hourly)

    def learn(self, transcript: Transcript) -> None:
        """Learn from a session file: its window, and its newest ``CHARGES`` billed calls as ``record`` does from each.

        A billed prompt above the window shows that the model has another one, where another charge or the messages say
        so too: it is assumed to be as large as that. So is the agent's default, where the file does not show its window
        and the tables have a larger one.
        """
        model = self.settings.model
        is_same = transcript.model and ModelId.of(transcript.model).key == ModelId.of(self.settings.model_id).key
        if not is_same and model.template is not None:
            return  # another model was charged, and each prompt would be rendered
        if is_same:
            if transcript.window:
                self.learn_window(transcript.window, "file")
            elif model.source != "argument" and (most := self._billed_last(transcript)) > model.window:
                self.limit(self.settings.limited(most, self.settings.limits.output, "assumed"))
            elif (default := transcript.default_window or 0) and default < model.window and model.source in _TABLES:
                self.limit(self.settings.limited(default, min(self.settings.limits.output, default // 2), "assumed"))
        ledger = None
        for charged in transcript.usage[-CHARGES:]:
            messages = transcript.messages[: charged.before]
            extends = ledger is not None and len(ledger) <= len(messages)
            ledger = read_with(messages[len(ledger) :], ledger.extend) if ledger and extends else self.scan(messages)
            self.size(Call(messages, transcript.system, transcript.tools), ledger)
            self.record(Usage(charged.prompt, charged.output, earlier=charged.earlier), past=True)

    def _billed_last(self, transcript: Transcript) -> int:
        """Return the prompt of the newest billed call that shows how large a window is; 0 if none is above the window.

        One alone, in a file that lacks most of its prompt, has nothing that speaks against it.
        """

        def count(charged: Charged) -> int:
            return self.scan(transcript.messages[: charged.before]).total

        usage = transcript.usage
        newest = range(len(usage) - 1, max(len(usage) - CHARGES, 0) - 1, -1)
        known = [at for at in newest if usage[at].prompt <= LARGEST * self.window]
        if all(usage[at].prompt <= self.window for at in known):
            return 0
        if len(usage) == 1 and not transcript.default_window and HELD * count(usage[0]) < usage[0].prompt:
            return usage[0].prompt
        return next((usage[at].prompt for at in known if is_proven(usage, at, count)), 0)

    def check(self, call: Call, client: Any) -> Flow[ProviderCount]:
        """Return the provider's count of the call's prompt, and the count here without any correction."""
        counted = self.scan(call.messages).total
        counted += overhead(self.settings.counter, system=call.system, tools=call.tools)
        return (
            yield from self.counts.ask(
                client, request_of(self.settings, call.messages, call.system, call.tools), counted
            )
        )

    def begin(self, call: Call, when: When, turn: int | None) -> Call:
        """Record the moment; remove unfinished calls from an answer that was cut at its limit.

        Raises:
            ValueError: ``when`` is unknown; lists the valid ones.
        """
        if when not in get_args(When):
            msg = f"when must be one of {', '.join(get_args(When))}, got {when!r}"
            raise ValueError(msg)
        if self.stated.window is not None and self.stated.window < self.window:
            fixed = fixed_tokens(self.settings.model_counter, call.system, call.tools)
            if self.settings.leaves_room(self.stated.window, fixed):
                self.limit(self.settings.lowered(self.stated.window, sum(fixed)))
        if self.stated.request is not None:
            self.lighten(self.stated.request)
        if when in self.moments:  # a moment that comes again begins the next round
            self.moments.clear()
            self.crowded = self.crowded + 1 if self.pressed else 0
            self.failing = self.pressed = False
        self.moments.add(when)
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
        return replace(call, messages=inputs.write([*inputs.messages[:-1], last]))

    def size(self, call: Call, ledger: Ledger | None = None, *, whole: bool = False) -> Size:
        """Return the sizes of the call's prompt; the next usage is for this call.

        Args:
            call: the call.
            ledger: ledger of its messages; None reads them.
            whole: render the prompt of a model with a chat template also where it is far from the trigger.
        """
        settings, forecast = self.settings, self.forecast
        estimate, system, tools = settings.policy.counter, call.system, call.tools
        ledger = self.scan(call.messages) if ledger is None else ledger
        fixed = self.beside.tokens(settings.counter, estimate, system, tools)
        exact = None
        if settings.counter.template is not None:
            ledger, fixed, exact = self.rendered.size(settings, call, ledger, fixed, whole=whole)
        beside = sum(fixed) if estimate is None else self._beside(call, sum(fixed))
        expected = forecast.count(call.messages, fixed=beside, ledger=ledger)
        counted, total = forecast.own + beside, ledger.total
        expected = expected if exact is None else exact
        terms = forecast.terms(settings.limits, total, *fixed, expected - total - sum(fixed) if estimate is None else 0)
        limit = settings.rule_options[ledger.provider]["request"]
        sent = 0 if limit is None else ledger.request_bytes + self.beside.bytes(system, tools)
        prompt = max(counted + forecast.unseen, expected)
        pressed = pressure(settings.policy, terms, prompt, sent, limit)
        return Size(terms, fixed, beside, counted, prompt, forecast.billed, sent, limit, pressed)

    def known(self, ledger: Ledger) -> int:
        """Return how many messages at the beginning ``fit`` has found valid before."""
        length, digest = self.verified
        is_same = length <= len(ledger) and ledger.digest_until(length) == digest
        # A digest does not tell a lone surrogate from what replaced it, and none was found valid.
        found = ledger.surrogates() if is_same else []
        return length if is_same and not (found and found[0] < length) else 0

    def look(self, call: Call, ledger: Ledger | None = None) -> Size:
        """Return the sizes of a prompt like ``size``, but expect no usage of it."""
        aside = copy(self)
        aside.forecast, aside.rendered = copy(self.forecast), copy(self.rendered)
        ledger = self.scan(call.messages) if ledger is None else ledger
        return self.server.reduced(self.policy, aside.size(call, ledger, whole=True), ledger)

    def unasked(self, trigger: Cause) -> str:
        """Return why this round does not ask the summarizer; empty if it may be asked.

        After three rounds in a row that failed, or that needed a compaction, every fourth asks it. The user's own
        compaction asks it however many there were.
        """
        if _waits(self.failed) or (self.failing and trigger == "auto"):
            return FAILED
        return CROWDED if trigger == "auto" and _waits(self.crowded) else ""

    def rest(self, size: Size, reason: str) -> BackedOff | None:
        """Return the event of a rest that begins in this round, or None.

        Args:
            size: the sizes of the prompt.
            reason: of the last compaction, which names what stays.
        """
        before, self.resting = self.resting, max(self.failed, self.crowded) >= PATIENCE
        if before or not self.resting:
            return None
        if self.failed >= PATIENCE:
            return BackedOff(f"the summarizer failed in {self.failed} rounds in a row", "a summary succeeds")
        told = [f"{self.crowded} rounds in a row needed a compaction", size.beside_messages]
        told += [part for part in reason.split("; ") if part.startswith(UNREACHED)]
        return BackedOff("; ".join(told), "a round needs none")

    def rests(self) -> str:
        """Return why a compaction waits for the summarizer; empty if it need not, or if the policy has another step."""
        stops = not self.policy.fallback or self.policy.fallback[0] in {"error", "stop"}
        return self.unasked("auto") if stops else ""

    def wait(self, why: str) -> str:
        """Count a round that needed a compaction and did not ask the summarizer; return its reason."""
        self.pressed = True
        if why == FAILED:
            self.fail()
        return f"the summarizer is not asked, {why}: it is asked in every fourth round"

    def request(
        self,
        call: Call,
        *,
        fixed: tuple[int, int] | None = None,
        policy: Policy | None = None,
        counter: Counter | None = None,
        target: Target | None = None,
        instructions: str | None = None,
        plan: Plan | None = None,
        trigger: Cause = "manual",
        urgent: bool = False,
        copies: bool = True,
    ) -> CompactionRequest:
        """Return a request to compact these messages, whatever the trigger says; without ``copies`` only to decide.

        Raises:
            PlanError: the plan is of another transcript.
        """
        from ..compaction.request import CompactionRequest  # noqa: PLC0415 - loaded with the first plan

        settings = self.settings.under(policy or self.policy, counter, plan)
        given = call.messages if call.given is None else call.given
        taken = tuple(given) if copies and isinstance(given, list | tuple) else given
        inputs, ledger = read_plain(taken, settings.counter, settings.provider, settings.model.provider)
        origin, resumed = ledger.digest, None if call.view is None else call.view.apply(inputs.messages)
        if resumed is not None:
            ledger = scan(resumed, settings.counter, ledger.provider)
        messages = inputs if resumed is None else resumed
        _check_plan(plan, ledger)
        ledger, rendered = framed(ledger, resumed or taken, settings.counter, call.system, call.tools)
        fixed = rendered or fixed or self.fixed(call)
        pins, summaries = self.policy.keep.flags()
        own, fillers = self.own.summaries(ledger, messages), self.own.fillers(ledger)
        known = {*ledger.find(set(self.summaries)), *flagged(messages, summaries), *own}
        return CompactionRequest(
            settings=settings,
            given=given,
            inputs=inputs,
            ledger=ledger,
            target=target(ledger) if target else settings.budget(*fixed).target,
            fixed=sum(fixed),
            cached=self.forecast.cached(ledger),
            pins=self._pinned(ledger, messages, pins, {*known, *fillers}),
            summaries=tuple(sorted(known)),
            fillers=fillers,
            trigger=trigger,
            plan=plan,
            urgent=urgent,
            instructions=instructions,
            system=call.system,
            tools=call.tools,
            unasked=self.unasked(trigger),
            turn=self.turn,
            origin=origin,
            rates=self.rates(),
            resumed=None if resumed is None else tuple(resumed),
            most_bytes=settings.most_bytes(ledger.provider, self.beside.bytes(call.system, call.tools)),
        )

    def _pinned(self, ledger: Ledger, messages: Sequence[Message], flag: str | None, own: set[int]) -> tuple[int, ...]:
        """Return the positions of the pinned messages; a stored text is redacted, so redacted messages hold it too."""
        archive, redact = self.archived(), self.settings.redact
        pins = [] if archive is None else archive.pins(self.settings.session)
        found = pinned(ledger, messages, pins, flag, own)
        if redact is None or not any(kind == "text" for kind, _ in pins):
            return found
        from ..archive.redact import redact_message  # noqa: PLC0415 - loaded for those who redact

        redacted = [redact_message(message, redact) for message in messages]
        return tuple(sorted({*found, *pinned(ledger, redacted, pins, None, own)}))

    def explain(self, call: Call) -> list[str]:
        """Return the ways to get a summary of these messages, a line each.

        For messages below the target, the target is a tenth of their tokens.
        """
        from ..compaction.summary import offered  # noqa: PLC0415 - a session that compacts nothing needs no summary

        request = self.request(self.resumed(call))
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

        call = self.resumed(call)
        request, trigger = self.request(call, copies=False), self.policy.trigger
        terms = self.look(call, request.ledger).terms
        costs = Costs(request.ledger, request.pins, summaries=request.summaries, fillers=request.fillers)
        window = self.settings.model.window
        groups, tokens = grouped(costs, self.policy, window=window, target=request.target)
        return Stats(
            self.settings.session, groups, tokens, trigger.utilisation(terms), self.rounds, trigger.fires(terms)
        )

    def prune(self, messages: Sequence[MessageT]) -> list[MessageT]:
        """Return the messages with old results pruned."""
        from ..compaction.apply import apply  # noqa: PLC0415 - numpy comes with the first plan

        request = replace(self.request(Call(messages), policy=self.policy.pruning()), most_bytes=None)
        made, plan = [*request.messages], request.decide()
        if plan.edits:
            counter, known = self.settings.counter, frozenset(request.fillers)
            made, fillers = apply(plan, request.messages, request.ledger, counter, None, fillers=known)
            self.own.remember(None, marks(self.scan(made), fillers))
        return request.inputs.write(made)

    def pin(self, message: AnyMessage) -> None:
        """Keep a message verbatim, and the same message after an edit has removed its thinking.

        Raises:
            ArchiveError: the pin cannot be stored.
            MessageError: the message cannot be read.
        """
        from ..compaction.apply import stripped  # noqa: PLC0415 - numpy comes with the first plan

        settings = self.settings
        inputs, ledger = read_plain((message,), settings.counter, settings.provider, settings.model.provider)
        for form in (message, *stripped(inputs.messages, ledger)):
            self.handler.archive.open().pin(settings.session, "message", self.scan([form]).digest_of(0))
        self.undo()

    def done(self, compaction: Compaction[Any], size: Size | None = None) -> Compaction[Any]:
        """Record a compaction; the last usage belongs to another list now.

        Args:
            compaction: the compaction.
            size: the sizes of the prompt before; None for a manual compaction, which is a round of its own.
        """
        self.failing = self.failing and size is not None
        rested = size is not None and self.unasked("auto") == CROWDED
        asks = self.settings.summarizer != "offline" and (compaction.offer is not None or compaction.failed)
        self.pressed |= size is not None and bool(asks)
        if compaction.failed and not rested:
            self.fail()
        elif compaction.offer:
            self.failed = 0
        if compaction.ref is not None:
            self.rounds += 1
            self.looks_at = 0
            self.forecast.forget(size.prompt - size.counted if size else self.forecast.beyond)
            self.own.remember(compaction.ref, compaction.marks, compaction.view)
            self.standin.remember(compaction.view)
        if self.policy.parity and compaction.summary is not None:
            text = self.policy.place.prefix + compaction.summary
            placed = [message for message in plain(compaction.messages) if message.get("content") == text]
            self.summaries.extend(self.scan([message]).digest_of(0) for message in placed)
        return compaction

    def fail(self) -> None:
        """Record that the summarizer failed; the moments of one turn are one round."""
        self.failed += not self.failing
        self.failing = self.pressed = True

    def fitted(
        self,
        call: Call,
        shape: str,
        compaction: Compaction[Any] | None,
        reason: str,
        server: ServerCall | None = None,
    ) -> Fitted[Any]:
        """Return the input of the call, whose messages were read in this shape."""
        make = partial(
            keywords,
            shape,
            call.messages[: server.cut] if server is not None and server.is_pass else call.messages,
            call.system,
            call.tools,
            detected=self.settings.provider is None,
            marks_cache=self.settings.marks_cache,
            drops_thinking=self.settings.marks and self.edited,
        )
        ref = call.view.ref if call.view else None
        if server is None:
            return Fitted(call.messages, compaction, reason, ref, make_request=make)
        return Fitted(call.messages, compaction, reason, ref, server, lambda: server.merged(make()))


def _check_plan(plan: Plan | None, ledger: Ledger) -> None:
    """Reject a plan of another transcript."""
    if plan is not None and plan.digest != ledger.digest:
        raise PlanError("the plan was made for another transcript; make a new one for these messages")


def _waits(rounds: int) -> bool:
    """Return whether the summarizer rests after so many rounds in a row: from the third on, every fourth asks."""
    return rounds >= PATIENCE and (rounds - PATIENCE) % (PATIENCE + 1) != PATIENCE
