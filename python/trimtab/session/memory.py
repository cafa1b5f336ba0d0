"""The state of one conversation between its calls: settings, sizes, rounds, and knowledge of its list."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from .._fork import OwnLock
from ..counting.counter import fixed_tokens, read_ledger, read_plain, scan
from ..counting.whole import framed
from ..errors import BusyError, PlanError
from ..messages.objects import InputMessages, plain
from ..messages.request import keywords
from ..messages.types import whole_calls
from ..messages.usage import MOST
from ..planning.edits import Summarize
from ..planning.forecast import Forecast
from ..planning.pins import flagged, marks, pinned
from ..planning.plan import Need
from .call import Call, Fitted, ReadCall, Size, When
from .on_server import OnServer
from .own import OwnMessages
from .rounds import Rounds
from .sizes import PromptSizes
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
    from ..compaction.view import View
    from ..hooks import Cause
    from ..ledger.columns import Ledger
    from ..messages.types import AnyMessage, Message, MessageT
    from ..models.model import WindowSource
    from ..planning.plan import Plan
    from ..planning.policy import Policy
    from ..planning.savings import Rates
    from ..planning.zones import Stats
    from ..server.call import ServerCall


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
class Verified:
    """The messages that were found valid last.

    Attributes:
        length: their number.
        digest: of them all.
        digests: of each; empty at the start of a process.
    """

    length: int = 0
    digest: str = ""
    digests: bytes = b""

    def known(self, ledger: Ledger) -> int:
        """Return how many messages at the beginning of a list were found valid before."""
        is_same = self.length <= len(ledger) and ledger.digest_until(self.length) == self.digest
        # A digest does not tell a lone surrogate from what replaced it, and none was found valid.
        mended = ledger.surrogates() if is_same else []
        return self.length if is_same and not (mended and mended[0] < self.length) else 0


@dataclass
class Background:
    """A summary that is written in the background.

    Attributes:
        job: the compaction whose summary is being written, or waits for the trigger; None without.
        above: tokens of a prompt below which none is started, because the last one led to nothing.
        reason: why it led to nothing.
    """

    job: Job | None = None
    above: int = 0
    reason: str = ""

    def stop(self) -> None:
        """End it; nothing of it is applied."""
        job, self.job, self.above, self.reason = self.job, None, 0, ""
        if job is not None:
            job.cancel()


@dataclass
class Memory:
    """The state of one conversation between calls.

    Attributes:
        settings: the settings of its Compactor.
        handler: answers the effects of a compaction.
        sizes: what is known of the sizes of its prompts.
        own: the messages that it put into its lists.
        rounds: its rounds, and whether the summarizer rests.
        verified: the messages that were found valid last.
        standin: the last result, for lists that begin with what it was made of.
        background: the summary that is written in the background.
        server: what it asks of the provider's server.
        stated: what the provider's refusals said in any session of the Compactor.
        edited: whether the list was compacted or pruned.
        continued: whether it began with the state of an earlier one.
        limited: whether the window is another one than that of the Compactor.
        next_prune_check: tokens of messages at which it is looked again whether pruning pays.
        undone: how often a pin or an undo ended the last result.
    """

    settings: Settings
    handler: EffectHandler
    sizes: PromptSizes = field(init=False)
    own: OwnMessages = field(init=False)
    rounds: Rounds = field(default_factory=Rounds)
    verified: Verified = field(default_factory=Verified)
    standin: StandIn = field(default_factory=StandIn)
    background: Background = field(default_factory=Background)
    server: OnServer = field(default_factory=OnServer)
    stated: Stated = field(default_factory=Stated)
    edited: bool = False
    continued: bool = False
    limited: bool = False
    next_prune_check: int = 0
    undone: int = 0
    _compacting: OwnLock = field(default_factory=OwnLock)

    def __post_init__(self) -> None:
        """Begin without a billed call, and know the messages that the session puts into its lists."""
        settings = self.settings
        self.sizes = PromptSizes(Forecast.of(settings.model, settings.counter, settings.policy.counter))
        self.own = OwnMessages(settings, self.handler.archive)

    @contextmanager
    def alone(self, *, ends_job: bool = True) -> Iterator[None]:
        """Allow one compaction at a time in a named session; ``ends_job`` ends one in the background.

        Raises:
            BusyError: another one is under way.
        """
        named, lock = self.settings.exclusive, self._compacting.lock
        if named and not lock.acquire(blocking=False):
            name = self.settings.session
            raise BusyError(f"session {name!r} is being compacted: wait for it, then compact its latest messages")
        try:
            if ends_job:
                self.background.stop()
            yield
        finally:
            if named:
                lock.release()

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

    @property
    def waits(self) -> bool:
        """Whether a call begins with questions to an archive for which no event loop should wait."""
        return self.settings.exclusive and self.handler.archive.waits

    def archived(self) -> Archive | None:
        """Return the archive, opened; None where it holds nothing of this session yet.

        Raises:
            ArchiveError: the archive cannot be opened.
        """
        archive = self.handler.archive
        return archive.known() if self.settings.exclusive or self.continued else archive.opened

    def read(self, call: Call) -> ReadCall:
        """Return the call with the ledger of its messages.

        Raises:
            MessageError: a message cannot be read.
        """
        settings = self.settings
        ledger, formed = read_ledger(call.messages, settings.counter, settings.provider, settings.model.provider)
        parts = (call.messages, call.system, call.tools, call.given, call.view)
        return ReadCall(*parts, ledger=ledger, origin=ledger, formed=formed)

    def resume(self, call: Call) -> ReadCall:
        """Return the call and its ledger, with the last result in place of the messages that it was made of.

        Raises:
            MessageError: a message cannot be read.
            ArchiveError: the archive of a named session cannot be read.
        """
        read = call if isinstance(call, ReadCall) else self.read(call)
        self._find()
        if self.standin.view is None:
            return read
        resumed = self.standin.put(read, self.settings)
        self.edited |= resumed.view is not None
        return resumed

    def resumed(self, call: Call) -> Call:
        """Return the call like ``resume``, for a caller that needs no ledger: without a result nothing is read."""
        self._find()
        return call if self.standin.view is None else self.resume(call)

    def limit(self, settings: Settings) -> None:
        """Take settings with another window."""
        self.settings, self.limited = settings, True

    def lighten(self, request: int) -> None:
        """Take a limit of a request's bytes, if it is smaller than one that a refusal led to before."""
        known = self.settings.rules.request
        if known is None or request < known:
            self.settings, self.verified = self.settings.within(request), Verified(digests=self.verified.digests)

    def learn_window(self, tokens: int, source: WindowSource) -> None:
        """Take a window whose source stands above that of the window until now."""
        settings = self.settings.learned(tokens, source)
        if settings is not self.settings:
            self.limit(settings)

    def _find(self) -> None:
        """Find the last result of a named session in the archive: at first, and where it is no longer the one here."""
        known = self.standin.is_known
        if not self.settings.exclusive or (known and self.standin.view is None):
            return
        archive = self.archived()
        if known and self.standin.stands(archive, self.settings):
            return
        if known:
            self._end()
        self.standin.find(archive, self.settings.session)

    def _end(self) -> None:
        """End the last result, and what was decided by it."""
        self.undone += 1
        self.standin.remember(None)
        self.server.settled = ""  # pins are put behind the provider's compaction again
        self.verified = Verified()  # a digest does not tell a lone surrogate from what replaced it
        self.background.stop()

    def undo(self, ref: str | None = None) -> None:
        """End the last result: a later list is decided on as it comes.

        Args:
            ref: of the compaction that is undone; another session's or a truncated output's ends nothing. None ends it.

        Raises:
            ArchiveError: the archive of a named session cannot be read or written.
        """
        if ref is not None and ref not in self.own.refs:
            self.standin.is_known &= self.standin.view is not None  # another session object may have made one since
            self._find()
            if self.standin.view is None or self.standin.view.ref != ref:
                return
        self._end()
        archive = self.archived() if self.settings.exclusive else None
        if archive is not None:
            archive.end_view(self.settings.session)
            self.standin.is_known = False  # another session object may make the next one

    def fixed(self, call: Call) -> tuple[int, int]:
        """Return the tokens of system text and of tools, these by the policy's own estimate if it has one."""
        return self.sizes.fixed(self.settings, call)

    def count(self, call: Call) -> int:
        """Return the tokens of the call's prompt, without what the provider's server leaves out of it."""
        read = self.resume(call)
        counted, known = self.sizes.count(self.settings, read), self.server.standing(read.ledger)
        return counted if known is None or counted <= known.trigger else counted - known.tokens

    def record(self, usage: object, *, past: bool = False, cleared: int = 0) -> None:
        """Learn from the usage of the last call like ``PromptSizes.record``; tell of one that cannot be that call's."""
        ignored = self.sizes.record(self.settings, usage, past=past, cleared=cleared)
        if ignored is not None:
            self.handler.answer(ignored)

    def rates(self) -> Rates:
        """Return the cost of the next prompt's tokens, by the model's prices and the recorded usage."""
        return self.sizes.rates(self.settings)

    def begin(self, call: Call, when: When, turn: int | None) -> Call:
        """Record the moment; remove unfinished calls from an answer that was cut at its limit.

        Raises:
            ValueError: ``when`` is unknown; lists the valid ones. Or the turn is none that a state can hold.
        """
        if when not in get_args(When):
            msg = f"when must be one of {', '.join(get_args(When))}, got {when!r}"
            raise ValueError(msg)
        if turn is not None and (type(turn) is not int or not 0 <= turn <= MOST):
            msg = f"turn must be a number of tool batches, 0 or more, got {turn!r}"
            raise ValueError(msg)
        if self.stated.window is not None and self.stated.window < self.window:
            fixed = fixed_tokens(self.settings.model_counter, call.system, call.tools)
            if self.settings.leaves_room(self.stated.window, fixed):
                self.limit(self.settings.lowered(self.stated.window, sum(fixed)))
        if self.stated.request is not None:
            self.lighten(self.stated.request)
        self.rounds.begin(when, turn)
        if when != "on_length" or not call.messages:
            return call
        inputs = InputMessages(call.messages)
        last = whole_calls(inputs.messages[-1])
        if last is inputs.messages[-1]:
            return call
        return replace(call, messages=inputs.write([*inputs.messages[:-1], last]))

    def size(self, call: ReadCall) -> Size:
        """Return the sizes of the call's prompt; the next usage is for this call."""
        return self.sizes.size(self.settings, call)

    def look(self, call: ReadCall) -> Size:
        """Return the sizes of a prompt like ``size``, but expect no usage of it."""
        size = self.sizes.aside().size(self.settings, call, whole=True)
        return self.server.reduced(self.policy, size, call.ledger)

    def rests(self) -> str:
        """Return why a compaction waits for the summarizer; empty if it need not, or if the policy has another step."""
        stops = not self.policy.fallback or self.policy.fallback[0] in {"error", "stop"}
        return self.rounds.unasked("auto") if stops else ""

    def request(
        self,
        call: Call,
        *,
        settings: Settings | None = None,
        target: Target | None = None,
        plan: Plan | None = None,
        trigger: Cause = "manual",
        copies: bool = True,
    ) -> CompactionRequest:
        """Return a request to compact these messages, whatever the trigger says.

        Args:
            call: the call; messages that were read by the same counter are not read again.
            settings: with the policy and the counter that decide; None for the session's.
            target: tokens of messages to reach; None for the policy's target.
            plan: a plan that was made before; None decides.
            trigger: ``manual`` or ``auto``.
            copies: whether the caller may add to its list before all is done; False for a request that only decides.

        Raises:
            PlanError: the plan is of another transcript.
        """
        from ..compaction.request import CompactionRequest  # noqa: PLC0415 - loaded with the first plan

        settings = settings or self.settings.under(self.policy)
        settings = settings if plan is None else settings.keeping(plan.keep_tag)
        given = call.messages if call.given is None else call.given
        taken = tuple(given) if copies and isinstance(given, list | tuple) else given
        inputs, ledger, origin, resumed = self._read_for(call, taken, settings)
        messages = inputs if resumed is None else resumed
        if plan is not None and plan.digest != ledger.digest:
            raise PlanError("the plan was made for another transcript; make a new one for these messages")
        ledger, rendered = framed(ledger, resumed or taken, settings.counter, call.system, call.tools)
        fixed = rendered or self.fixed(call)
        pins, summaries = self.policy.keep.flags()
        own, fillers = self.own.summaries(ledger, messages), self.own.fillers(ledger)
        known = {*ledger.find(set(self.own.texts)), *flagged(messages, summaries), *own}
        need = Need(
            target(ledger) if target else settings.budget(*fixed).target,
            window=settings.model.window,
            most_bytes=settings.most_bytes(ledger.provider, self.sizes.system_and_tools.bytes(call)),
            rates=self.rates(),
        )
        return CompactionRequest(
            settings=settings,
            given=given,
            inputs=inputs,
            ledger=ledger,
            need=need,
            fixed=sum(fixed),
            cached=self.sizes.forecast.cached(ledger),
            pins=self._pinned(ledger, messages, pins, {*known, *fillers}),
            summaries=tuple(sorted(known)),
            fillers=fillers,
            trigger=trigger,
            plan=plan,
            system=call.system,
            tools=call.tools,
            unasked=self.rounds.unasked(trigger),
            turn=self.rounds.turn,
            origin=origin,
            resumed=None if resumed is None else tuple(resumed),
        )

    def _read_for(
        self, call: Call, taken: Sequence[AnyMessage], settings: Settings
    ) -> tuple[InputMessages, Ledger, Ledger, list[Message] | None]:
        """Return the caller's messages, the ledgers of those to compact and of the first, and a result in place.

        Args:
            call: the call.
            taken: the caller's messages, which nobody adds to; read again where there are more than the call had.
            settings: of the request: their counter reads what was not read by it.
        """
        if isinstance(call, ReadCall) and settings.counter is self.settings.counter:
            inputs = InputMessages(taken, deep=call.formed)
            resumed = None if call.view is None else call.view.apply(inputs.messages)
            if (resumed is None) == (call.view is None) and len(call.ledger) == len(resumed or taken):
                return inputs, call.ledger, call.origin, resumed
        inputs, ledger = read_plain(taken, settings.counter, settings.provider, settings.model.provider)
        origin = ledger
        resumed = None if call.view is None else call.view.apply(inputs.messages)
        if resumed is not None:
            ledger = scan(resumed, settings.counter, ledger.provider)
        return inputs, ledger, origin, resumed

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
        target = min(request.need.target, max(request.ledger.total // 10, 1))
        zone = request.needing(target=target).decide().zone() if len(request.ledger) else None
        if self.settings.summarizer == "offline" or not isinstance(zone, Summarize):
            return []
        found = offered(request, zone)
        return [f"{'summary' if offer is found[0] else 'or':14} {offer}" for offer in found]

    def stats(self, call: Call) -> Stats:
        """Return the messages of each of the policy's zones, and how full the window is."""
        from ..planning.stages.costs import Costs  # noqa: PLC0415 - numpy comes with the first plan
        from ..planning.zones import Stats, grouped  # noqa: PLC0415

        read = self.resume(call)
        request, trigger = self.request(read, copies=False), self.policy.trigger
        terms = self.look(read).terms
        costs = Costs(request.ledger, request.pins, summaries=request.summaries, fillers=request.fillers)
        window = self.settings.model.window
        groups, tokens = grouped(costs, self.policy, window=window, target=request.need.target)
        return Stats(
            self.settings.session,
            groups,
            tokens,
            trigger.utilisation(terms),
            self.rounds.compactions,
            trigger.fires(terms),
        )

    def prune(self, messages: Sequence[MessageT]) -> list[MessageT]:
        """Return the messages with old results pruned."""
        from ..compaction.apply import apply  # noqa: PLC0415 - numpy comes with the first plan

        settings = self.settings.under(self.policy.pruning())
        request = self.request(Call(messages), settings=settings).needing(most_bytes=None)
        made, plan = [*request.messages], request.decide()
        if plan.edits:
            counter, known = self.settings.counter, frozenset(request.fillers)
            made, fillers = apply(plan, request.messages, request.ledger, counter, None, fillers=known)
            self.edited = True
            self.own.remember(None, marks(self.scan(made), fillers))
        return request.inputs.write(made)

    def pin(self, message: AnyMessage) -> None:
        """Keep a message verbatim, and the same message after an edit has removed its thinking.

        Raises:
            ArchiveError: the pin cannot be stored.
            MessageError: the message cannot be read.
        """
        from ..compaction.rows import stripped  # noqa: PLC0415 - numpy comes with the first plan

        settings = self.settings
        inputs, ledger = read_plain((message,), settings.counter, settings.provider, settings.model.provider)
        for form in (message, *stripped(inputs.messages, ledger)):
            self.handler.archive.open().pin(settings.session, "message", self.scan([form]).digest_of(0))
        self.undo()

    def compact(self, request: CompactionRequest, size: Size | None = None) -> Flow[Compaction[Any]]:
        """Compact, and remember the result; the caller has entered ``alone``.

        Args:
            request: the compaction.
            size: the sizes of the prompt before; None for a manual compaction.

        Raises:
            Error: as ``compaction.flow.compaction`` does.
        """
        from ..compaction.flow import compaction  # noqa: PLC0415 - a session that compacts nothing needs none of it

        undone = self.undone
        made = yield from compaction(request)
        if self.undone != undone:  # a listener, or another thread, has pinned what may have left
            made = replace(made, view=None)
        return self.done(made, size)

    def done(self, compaction: Compaction[Any], size: Size | None = None) -> Compaction[Any]:
        """Record a compaction; the last usage belongs to another list now.

        Args:
            compaction: the compaction.
            size: the sizes of the prompt before; None for a manual compaction, which is a round of its own.
        """
        asks = self.settings.summarizer != "offline"
        self.rounds.end(compaction, automatic=size is not None, asks=asks)
        if compaction.ref is not None:
            self.adopt(compaction.ref, compaction.view, compaction.marks, size.prompt - size.counted if size else None)
        if self.policy.parity and compaction.summary is not None:
            text = self.policy.place.prefix + compaction.summary
            placed = [message for message in plain(compaction.messages) if message.get("content") == text]
            self.own.texts.extend(self.scan([message]).digest_of(0) for message in placed)
        return compaction

    def adopt(self, ref: str, view: View | None, marks: tuple[str, ...] = (), beyond: int | None = None) -> None:
        """Let a result stand in for the list that it was made of; the last usage belongs to another list now.

        Args:
            ref: of its compaction.
            view: the result, told by that list; None if it cannot stand in.
            marks: of its notices and acknowledgements.
            beyond: tokens that the prompt before had beyond its count; None for those of the last charge.
        """
        self.next_prune_check = 0
        self.edited = True
        self.sizes.forecast.forget(self.sizes.forecast.beyond if beyond is None else beyond)
        self.own.remember(ref, marks, view)
        self.standin.remember(view)

    def _is_edited(self, call: Call) -> bool:
        """Return whether the call's list was edited, here or by an earlier session of this name.

        Raises:
            ArchiveError: the archive cannot be read.
        """
        if not self.edited and isinstance(call, ReadCall):
            messages = InputMessages(call.messages, deep=call.formed).messages
            self.edited = bool(self.own.summaries(call.ledger, messages) or self.own.fillers(call.ledger))
        return self.edited

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
            drops_thinking=self.settings.marks and self._is_edited(call),
        )
        ref = call.view.ref if call.view else None
        if not self.policy.server:
            return Fitted(call.messages, compaction, reason, ref, make_request=make)
        from ..server.call import carrying  # noqa: PLC0415 - for those who ask the provider's server

        return Fitted(call.messages, compaction, reason, ref, server, lambda: carrying(make(), shape, server))
