"""A session: one conversation, and its methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, Self, TypeVar, cast

from .._log import log
from ..compaction.effects import Long
from ..compaction.listeners import AWAITS
from ..compaction.settings import check_span, target_of
from ..counting.counter import framework_in, listed_tools, system_text
from ..errors import ArchiveError
from ..hooks import by_caller
from ..messages.request import SYSTEM_ROLES, begins_with
from ..messages.usage import usage_in
from ..planning.plan import given_plan
from ..summarize.drive import AwaitableError, adrive, drive, in_thread, outcome
from .call import Call, is_long
from .decision import next_input
from .learn import learn
from .state import state_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from ..archive import Archive, ArchivedCompaction
    from ..archive.recall import Recall
    from ..compaction.effects import Flow
    from ..compaction.listeners import L
    from ..compaction.result import Compaction
    from ..counting.counter import Counter
    from ..hooks import Cause
    from ..messages.types import AnyMessage, MessageT, Transcript
    from ..planning.budget import Budget
    from ..planning.plan import Plan
    from ..planning.policy import Policy
    from ..planning.zones import Stats
    from ..server.ways import WayCost
    from .call import Fitted, Size, When
    from .memory import Memory
    from .provider_count import ProviderCount

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(flow: Callable[Concatenate[Session, P], Flow[T]]) -> Callable[Concatenate[Session, P], T]:
    """Make a method that drives a flow without an event loop."""

    @wraps(flow)
    def method(self: Session, /, *args: P.args, **options: P.kwargs) -> T:
        if what := self._awaits.get(flow.__name__):
            raise AwaitableError(f"{what} is asynchronous: use a{flow.__name__}")
        started = flow(self, *args, **options)
        try:
            effect = next(started)
        except StopIteration as done:  # below its trigger, ``fit`` ends here
            result: T = done.value
            return result
        return drive(started, effect, self._memory.handler.answer)

    # ``help`` shows the type of the result.
    flow.__annotations__["return"] = flow.__annotations__["return"].removeprefix("Flow[").removesuffix("]")
    return method


def _awaitable(
    method: Callable[Concatenate[Session, P], T], doc: str
) -> Callable[Concatenate[Session, P], Coroutine[Any, Any, T]]:
    """Make the asynchronous form of a ``_blocking`` method."""
    flow: Callable[Concatenate[Session, P], Flow[T]] = method.__wrapped__  # type: ignore[attr-defined]

    @wraps(flow)
    async def amethod(self: Session, /, *args: P.args, **options: P.kwargs) -> T:
        started = flow(self, *args, **options)
        begin = partial(next, started)
        known = self._memory.verified.length
        takes_long = self._memory.waits or any(is_long(each, known) for each in args)
        try:
            effect, error = await in_thread(begin) if takes_long else outcome(begin)
        except BaseException:  # cancelled: whoever keeps the exception must not keep the session locked
            started.close()
            raise
        if isinstance(error, StopIteration):
            result: T = error.value
            return result
        if error is not None:
            raise error
        return await adrive(started, effect, self._memory.handler.aanswer, Long)

    amethod.__name__, amethod.__qualname__ = f"a{flow.__name__}", f"Session.a{flow.__name__}"
    amethod.__doc__ = doc
    return amethod


def _call(messages: Sequence[AnyMessage], system: object, tools: object) -> Call:
    """Return the content of a call; system text that the list begins with is sent, and counts, once."""
    if tools is not None and type(tools) is not list:  # else nothing to do, at each turn; what counts them checks them
        tools = listed_tools(tools)
    first: Any = messages[0] if isinstance(messages, list | tuple) and messages else None
    if system is None and type(first) is dict:
        return Call(messages, None, tools)
    system = system_text(messages, system)
    first = first if system else None
    framework = framework_in([first])
    if framework is not None:
        role = framework.role(first)
    else:
        role = first.get("role") if isinstance(first, Mapping) else getattr(first, "role", None)
    repeats = role in SYSTEM_ROLES and begins_with(messages, system)
    return Call(messages, None if repeats else system, tools)


class Session:
    """One conversation: what its calls share, and the methods that use it.

    ``Compactor.session`` makes one, and a Compactor's own methods are those of a session without a name. Two sessions
    of one Compactor share its settings and its archive, and nothing else: each may be used in a thread of its own. A
    session takes one call at a time: of two compactions of a named one, the second is a ``BusyError``.

    Args:
        memory: what the calls share.
        awaits: by blocking method, what of the Compactor's it cannot await.

    Attributes:
        id: the conversation's name in the archive; that of a session without a name begins with ``unnamed-``.
        model: the id that its calls name.
    """

    def __init__(self, memory: Memory, awaits: Mapping[str, str]) -> None:
        """Take what the calls share, and by blocking method what of the Compactor's it cannot await."""
        self._open: Memory | None = memory
        self._awaits = awaits
        self.id = memory.settings.session
        self.model = memory.settings.model_id

    def __repr__(self) -> str:
        """Return name, model, policy and window."""
        return f"Session({self.id!r}, {self.model!r}, policy={self.policy.name!r}, window={self.window_stated})"

    @property
    def _memory(self) -> Memory:
        if self._open is None:
            msg = f"session {self.id!r} is closed"
            raise ValueError(msg)
        return self._open

    def __reduce__(self) -> NoReturn:
        """Refuse: a session is the memory of one conversation in this process."""
        raise TypeError("cannot pickle a session: pickle its state(), and go on with Compactor.session(id, state)")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def state(self) -> dict[str, Any]:
        """Return what the session remembers as a small dict of JSON values, for a framework's checkpoint.

        ``Compactor.session(id, state)`` goes on from it, in another process too. It holds no message that stays, but
        the text of the last summary, what was put in place of pruned results, and the pins if the archive is in memory.
        Originals are in the archive, and one in memory does not outlive its process.
        """
        return state_of(self._memory)

    def close(self) -> None:
        """End the session and its summary in the background; its archive stays open for others. Idempotent."""
        self.stop()
        self._open = None

    def stop(self) -> None:
        """End a summary in the background, if there is one: nothing of it is applied. Idempotent."""
        if self._open is not None:
            self._open.background.stop()

    def on(self, event: str) -> Callable[[L], L]:
        """Return a decorator that makes a function a listener of this session's events, as ``Compactor.on`` does.

        Args:
            event: name of an event's class in lower case.

        Raises:
            ValueError: there is no such event; lists those that there are.
        """

        def awaited() -> None:
            self._awaits = {**AWAITS, **self._awaits}

        return self._memory.handler.listeners.adds(event, awaited)

    @property
    def archive(self) -> Archive:
        """The archive that holds the originals."""
        return self._memory.handler.archive.open()

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self._memory.policy

    @property
    def window(self) -> int:
        """The model's context window in tokens, input and output together, of the best source that is known by now."""
        return self._memory.window

    @property
    def window_stated(self) -> str:
        """The window as text, with a mark if it is assumed."""
        return f"{self.window}{' (assumed)' * (not self._memory.settings.model.known)}"

    @property
    def counter(self) -> Counter:
        """The model's counter: of two vocabularies the one that agrees with the billed calls."""
        return self._memory.sizes.forecast.counters[0]

    def budget(self, *, system: object = None, tools: object = None) -> Budget:
        """Return the limits of a call.

        Args:
            system: system text beside the messages.
            tools: tool definitions.
        """
        memory = self._memory
        return memory.settings.budget(*memory.fixed(Call((), system, listed_tools(tools))))

    def explain(
        self, messages: Sequence[AnyMessage] | None = None, *, system: object = None, tools: object = None
    ) -> str:
        """Return every term of the budget, a line each; with messages, also the ways to get a summary of them.

        The first way is tried first; each line has its maximum cost.

        Args:
            messages: the transcript; None explains the budget alone.
            system: system text beside the messages.
            tools: tool definitions.
        """
        memory, tools = self._memory, listed_tools(tools)
        terms = None if messages is None else memory.look(memory.resume(_call(messages, system, tools))).terms
        lines = [f"model          {self.model}", f"counted by     {memory.settings.counter.explain()}"]
        told = (terms.messages, max(terms.beyond, 0)) if terms else ()
        lines.append(self.budget(system=system, tools=tools).explain(*told))
        lines.extend(self.policy.explain())
        if (most := memory.settings.rules.request) is not None:
            lines.append(f"{'request':14} {most:>11,}  bytes at most, the least limit that a refusal led to")
        if memory.sizes.forecast.anchor:
            lines.append(memory.sizes.forecast.explain())
        if memory.sizes.counts.last:
            lines.append(memory.sizes.counts.last.explain())
        if memory.background.job:
            lines.append(f"{'':14} {memory.background.job.explain()}")
        if self.policy.server:
            from .ask_server import explained  # noqa: PLC0415 - for those who ask the server

            lines.extend(explained(memory, None if messages is None else _call(messages, system, tools)))
        return "\n".join([*lines, *(memory.explain(_call(messages, system, tools)) if messages is not None else ())])

    def count(self, messages: Sequence[AnyMessage], *, system: object = None, tools: object = None) -> int:
        """Return the tokens of the next call's prompt: the last billed prompt, and the count of the messages since.

        Before the first ``record``, and after a change of the billed messages, it is the count alone.

        Args:
            messages: the transcript, in its provider's shape.
            system: system text beside the messages.
            tools: tool definitions.

        Raises:
            MessageError: a message cannot be read.
        """
        return self._memory.count(_call(messages, system, tools))

    def size(self, messages: Sequence[AnyMessage], *, system: object = None, tools: object = None) -> Size:
        """Return the sizes of the next call's prompt, with what was billed beyond the count.

        Args:
            messages: the transcript, in its provider's shape.
            system: system text beside the messages.
            tools: tool definitions.

        Raises:
            MessageError: a message cannot be read.
        """
        return self._memory.look(self._memory.resume(_call(messages, system, tools)))

    @_blocking
    def check(
        self, messages: Sequence[AnyMessage], client: Any, *, system: object = None, tools: object = None
    ) -> Flow[ProviderCount]:
        """Compare the count with that of the provider's counting endpoint.

        Answers are kept by request; ``explain`` shows the newest.

        Args:
            messages: the transcript, in Anthropic's shape or that of OpenAI's Responses.
            client: an ``anthropic.Anthropic`` or an ``openai.OpenAI``, or any object with the
                ``messages.count_tokens`` of the first or the ``responses.input_tokens.count`` of the second.
            system: system text beside the messages.
            tools: tool definitions.

        Raises:
            CountError: the client raised, or it is asynchronous.
            MessageError: a message cannot be read.
            ValueError: the model is of another provider, or the messages are of Chat Completions.
        """
        return (yield from self._memory.sizes.check(self._memory.settings, _call(messages, system, tools), client))

    acheck = _awaitable(check, "``check`` with an asynchronous or a blocking client.")

    def plan(
        self,
        messages: Sequence[AnyMessage],
        *,
        system: object = None,
        tools: object = None,
        target_tokens: int | None = None,
        target_share: float | None = None,
        span: tuple[int, int] | None = None,
    ) -> Plan:
        """Return the plan of ``compact``, with its reason; change nothing.

        Args:
            messages: the transcript, in its provider's shape.
            system: system text beside the messages.
            tools: tool definitions.
            target_tokens: tokens of messages to reach; the policy's target if neither is given.
            target_share: share of the messages' tokens to reach, more than 0 and less than 1.
            span: the first message to replace by a summary, and the first behind these; nothing else leaves. What no
                plan removes stays: pins, the last request, open calls.

        Raises:
            MessageError: the provider would refuse the list; says where, why and what to do.
            PlanError: the span parts a call from its result; names the nearest ends.
            TypeError: a target is no number.
            ValueError: a target or the span is out of its range, or two of them are given.
        """
        if span is not None:
            check_span(span, len(messages), target_tokens, target_share)
        call = self._memory.resumed(_call(messages, system, tools))
        request = self._memory.request(call, target=target_of(target_tokens, target_share), copies=False)
        request.check()
        return request.decide() if span is None else request.of_span(*span)

    def ways(
        self, messages: Sequence[AnyMessage], *, system: object = None, tools: object = None
    ) -> tuple[WayCost, ...]:
        """Return what compacting these messages costs: here offline, here by a model, and on the provider's server.

        A way that is none says why. Prices are those of the model tables; the cache and the growth of the prompt are
        those of the recorded usage. Empty where nothing can leave. ``server="auto"`` takes the cheapest.

        Args:
            messages: the transcript, in its provider's shape.
            system: system text beside the messages.
            tools: tool definitions.

        Raises:
            MessageError: a message cannot be read.
        """
        from .ask_server import ways_of  # noqa: PLC0415 - for those who ask

        return ways_of(self._memory, _call(messages, system, tools))

    def stats(self, messages: Sequence[AnyMessage], *, system: object = None, tools: object = None) -> Stats:
        """Return the messages of each of the policy's zones, and how full the window is.

        Args:
            messages: the transcript, in its provider's shape.
            system: system text beside the messages.
            tools: tool definitions.
        """
        return self._memory.stats(_call(messages, system, tools))

    @_blocking
    def compact(
        self,
        messages: Sequence[MessageT],
        *,
        system: object = None,
        tools: object = None,
        target_tokens: int | None = None,
        target_share: float | None = None,
        instructions: str | None = None,
        plan: Plan | None = None,
        summary: str | None = None,
        trigger: Cause = "manual",
    ) -> Flow[Compaction[MessageT]]:
        """Compact the messages to the target, whatever the trigger says; return a new list and change no message.

        Args:
            messages: the transcript, in its provider's shape.
            system: system text beside the messages.
            tools: tool definitions.
            target_tokens: tokens of messages to reach; the policy's target if neither is given.
            target_share: share of the messages' tokens to reach, more than 0 and less than 1.
            instructions: for the summarizer.
            plan: the plan to apply as it is; None decides, and leaves results whole where a short summary leaves tokens
                of the target free. With a plan, a target has no effect; of one that was made for another model, the
                messages are counted anew, and the target is the plan's.
            summary: the text of the summary, such as one that a person edited; no summarizer is asked, and nothing is
                added or taken out. None asks the summarizer.
            trigger: for hooks and events: ``manual`` if a user asked, ``auto`` if a program did.

        Raises:
            MessageError: the provider would refuse the list; says where, why and what to do.
            PlanError: the plan is of another transcript; an edit of it is of what is not there, or of a message that
                is pinned now or cannot leave; or the summary cannot be used: it is blank, or with it the messages are
                not smaller or do not fit; says the figures.
            ArchiveError: the originals cannot be stored; no model was asked.
            BusyError: another compaction of the named session is under way in this Compactor.
            SummaryError: no summary, and the policy has no fallback.
            TypeError: a target is no number, the plan is no ``Plan``, or the summary or the instructions are no text.
            ValueError: a target is out of its range, or both are given.
        """
        given, plan = by_caller(summary, instructions), given_plan(plan)
        yield Long()
        call = _call(messages, system, tools)
        if plan is not None:
            resumed = self._memory.resume(call)
            call = resumed if plan.digest == resumed.ledger.digest else call
        target = target_of(target_tokens, target_share)
        request = self._memory.request(call, target=target, plan=plan, trigger=trigger)
        request.check_plan()
        if instructions is not None or given is not None:
            request = replace(request, instructions=instructions, summary=given)
        with self._memory.alone():
            return (yield from self._memory.compact(request.recounted()))

    acompact = _awaitable(compact, "``compact`` with hooks and a summarizer that may be asynchronous.")

    @_blocking
    def fit(
        self,
        messages: Sequence[MessageT],
        *,
        system: object = None,
        tools: object = None,
        when: When = "before_call",
        turn: int | None = None,
    ) -> Flow[Fitted[MessageT]]:
        """Return the messages for the next call: the same list below the policy's trigger, a compacted one above it.

        Each call looks at the messages that are new since the last one: what the provider or the archive would refuse
        is a ``MessageError`` at once. If the list has more pictures than the provider takes, the oldest leave.

        Args:
            messages: the transcript, in its provider's shape.
            system: system text beside the messages.
            tools: tool definitions.
            when: the moment: ``before_call``, ``after_step``, ``after_tool_batch``, ``after_run``, ``on_length`` (the
                answer was cut at its limit) or ``on_overflow`` (the provider refused the call as too long: as
                ``overflow`` does where the error states no limit). A policy's trigger has its own moments: ``agentpg``
                after a run, ``opencode`` after a step. A prompt above the input budget is compacted at every moment.
            turn: number of tool batches since the user spoke; counted from ``when`` where it is not given.

        Raises:
            MessageError: the provider would refuse the list, or a message is not JSON; says where, why and what to do.
                Also where a request of too many bytes cannot get small enough.
            ArchiveError: the originals cannot be stored; nothing was changed.
            BusyError: another compaction of the named session is under way in this Compactor.
            TypeError: the summarizer, the hook or the counting client is asynchronous: ``afit`` awaits it.
            OverflowedError: ``on_overflow``, and too little can leave.
        """
        memory, call = self._memory, _call(messages, system, tools)
        if when == "on_overflow" and memory.policy.trigger.auto and not memory.policy.parity:
            from .overflow import Refusal  # noqa: PLC0415 - loaded with the first refused call
            from .shrink import shrink  # noqa: PLC0415

            return (yield from shrink(memory, memory.begin(call, when, turn), Refusal()))
        return (yield from next_input(memory, call, when, turn))

    afit = _awaitable(fit, "``fit`` with hooks, a summarizer and a counting client that may be asynchronous.")

    @_blocking
    def overflow(
        self, error: object, messages: Sequence[MessageT], *, system: object = None, tools: object = None
    ) -> Flow[Fitted[MessageT]]:
        """Return a smaller list for a call that the provider refused as too long; never the list that it refused.

        The window becomes the limit that the error states, here and in the other sessions of the Compactor where it is
        smaller; ``window=`` can only be lowered. A refusal of too many bytes (HTTP 413) lowers the limit of the
        request's bytes in the same way, and leaves the window as it is. Where the error states no limit, it becomes
        nine tenths of the refused prompt by our own count, for this session alone, which ``reason`` says. Acts under
        every policy, whatever its moments: first with the policy's own stages; where these do not reach the limit, by
        pruning, truncating and summarizing everything but pins, the last request, open calls and system messages.

        Args:
            error: the SDK's exception, or the error's body or text.
            messages: the refused transcript.
            system: system text beside the messages.
            tools: tool definitions.

        An error that refuses what the request asked of the provider's server (``server=``) ends that: the list is
        compacted here, now and from then on, with a warning.

        Raises:
            ValueError: the error is a rate limit or another failure; nothing was changed.
            OverflowedError: too little can leave, says what stays; or a hook refused, or automatic compaction is off.
            MessageError: the provider would refuse the list whatever its length.
            ArchiveError: the originals cannot be stored.
            BusyError: another compaction of the named session is under way in this Compactor.

        Examples:
            >>> cm = Compactor("claude-sonnet-5-5")
            >>> messages = [{"role": "user", "content": f"step {n}: " + "words " * 900} for n in range(60)]
            >>> fitted = cm.overflow("prompt is too long: 54321 tokens > 30000 maximum", messages)
            >>> cm.window, cm.count(fitted.messages) < 30_000
            (30000, True)
        """
        from .overflow import refusal  # noqa: PLC0415 - loaded with the first refused call
        from .shrink import shrink  # noqa: PLC0415

        if self._memory.server.sent is not None:
            from .server_answers import unserved  # noqa: PLC0415

            if (yield from unserved(self._memory, error)):
                return (yield from next_input(self._memory, _call(messages, system, tools), "before_call", None))
        cause = error if isinstance(error, BaseException) else None
        try:
            refused = refusal(error)
        except ValueError as other:
            raise other from cause
        yield Long()
        memory = self._memory
        return (
            yield from shrink(memory, memory.begin(_call(messages, system, tools), "on_overflow", None), refused, cause)
        )

    aoverflow = _awaitable(overflow, "``overflow`` with hooks and a summarizer that may be asynchronous.")

    @_blocking
    def record(self, usage: object) -> Flow[None]:
        """Record the usage of the last call, or its whole answer; the next ``fit`` starts from it.

        Where the provider's server compacts (``server=``), give the answer: its compaction and its applied edits say
        what the server has done, and the event ``ServerCompacted`` tells it.

        A usage that cannot be that call's is ignored, with a warning and the event ``UsageIgnored``: no input tokens,
        fewer than half of the messages' count, or more than the window holds. One that is far off the forecast is
        ignored until the next one is as far off, unless the messages explain it: charges are doubled now and then, and
        a server may cut a prompt.

        Args:
            usage: of the answer, in any provider's form; or the answer, as the SDK's object or its JSON.

        Raises:
            ArchiveError: the server's compaction cannot be recorded.
            ValueError: it has no prompt tokens, or one of its numbers is no integer from 0 to 2**53.
        """
        if not self._memory.policy.server:
            self._memory.record(usage_in(usage))
            return
        from .server_answers import recorded  # noqa: PLC0415 - for those who ask the provider's server

        yield from recorded(self._memory, usage)

    arecord = _awaitable(record, "``record`` with listeners and an archive that are awaited.")

    def compact_here(self, why: str) -> None:
        """Ask the provider's server to compact nothing more in this session: everything is done here from now on.

        ``overflow`` does so where an error says that the provider refuses to be asked.

        Args:
            why: for the log.
        """
        self._memory.server.stop(why, by_choice=True)

    def learn(self, transcript: Transcript) -> None:
        """Learn from a session file: the agent's window of this model, and the usage as ``record`` does from each call.

        The next ``count``, ``size`` and ``fit`` of its messages start from what was billed, unless a model with another
        vocabulary was charged.

        Args:
            transcript: of ``read``.
        """
        learn(self._memory, transcript)

    def learn_window(self, tokens: int) -> None:
        """Take the window that a framework's profile of the model states.

        It stands above the tables and below ``window=``, what a refusal said, and what a session file says.

        Args:
            tokens: of input and output together.

        Raises:
            ValueError: it is no number of tokens, or too small for a prompt and its answer.
        """
        self._memory.settings.model.limited(tokens or 0)
        self._memory.learn_window(tokens, "profile")

    def ingest(self, tool: str, output: str) -> str:
        r"""Return a tool's output for the transcript, truncated by the policy's rule for this category of tool.

        The whole of a truncated output is archived: its notice has a ref, which ``restore``, ``trimtab restore`` and
        the recall tool take. Idempotent, and equal outputs have equal results.

        Args:
            tool: the tool's name.
            output: its output.

        Raises:
            ArchiveError: the output cannot be stored.

        Examples:
            >>> cm = Compactor("claude-sonnet-5-5", policy="sven")
            >>> log = "".join(f"line {n}\n" for n in range(5_000))
            >>> short = cm.ingest("shell", log)
            >>> len(short) <= 16_000, cm.restore(cm.history()[0].ref) == [{"role": "tool", "content": log}]
            (True, True)
        """
        from .ingest import ingested  # noqa: PLC0415 - hashes and stores only what a policy cuts

        return output if self.policy.ingest is None else ingested(self._memory, tool, output)

    def prune(self, messages: Sequence[MessageT]) -> list[MessageT]:
        """Return the messages with old results pruned by the policy's rule; archive nothing.

        Args:
            messages: the transcript, in its provider's shape.
        """
        return self._memory.prune(messages)

    def restore(self, ref: str, *, any_session: bool = False) -> list[dict[str, Any]]:
        """Return the whole original list of a compaction, identical as JSON: tuples in it come back as lists.

        For the ref in the notice of an output that ``ingest`` truncated: a list of one message with the whole output.

        Refs stand in every compacted list, where a model or another user can read them. A session with a name
        therefore restores its own compactions, and one without a name those of all sessions without a name.

        Objects come back as dicts: an archive holds JSON without class names, so that stored text never decides which
        code runs. ``kind.model_validate(message)`` makes a pydantic model of such a dict, ``kind(**message)`` a
        dataclass; an SDK takes the dict itself.

        It ends the compaction's result, in other processes too. An archive that cannot be written gives the list all
        the same; the result then ends here alone, and a warning says so.

        Args:
            ref: ``Compaction.ref``.
            any_session: also restore compactions of any other session.

        Raises:
            ArchiveError: the archive has no such compaction of this session, or it cannot give all of its messages.
        """
        found = self.archive.load(ref, session=None if any_session else self.id)
        try:
            self._memory.undo(ref)
        except ArchiveError as error:  # a full disk, a copy that nobody may write: the originals are there
            log.warning("the archive cannot note that %s was undone, other processes use its result: %s", ref, error)
        return found

    def recall_tool(self, *, limit: int = 5) -> Recall:
        """Return a tool with which the model looks up messages of this session that were summarized or truncated.

        ``definition(provider)`` goes into the request's tools; calling the tool with a call's input answers it.

        Args:
            limit: most messages of one answer.

        Raises:
            ArchiveError: the archive cannot search.
        """
        from ..archive.recall import Recall  # noqa: PLC0415 - loaded with the first tool

        return Recall(self.archive, self.id, limit)

    def history(self, limit: int | None = 10) -> list[ArchivedCompaction]:
        """Return the compactions and the truncated outputs (strategy ``ingest``) of this session, the newest first.

        Args:
            limit: most compactions; None returns all.

        Raises:
            ArchiveError: the archive has no history.
        """
        return self.archive.history(self.id, limit=limit)

    def pin(self, what: AnyMessage | str) -> None:
        """Keep a message, or every message that contains a text, verbatim from now on, in this session.

        The text is stored as ``redact`` leaves it, and pins the messages that contain it before or after redaction.

        Args:
            what: a message as it stands in the list, or a text.

        Raises:
            ArchiveError: the pin cannot be stored.
            MessageError: the message cannot be read.
            ValueError: an empty text, or one of which ``redact`` leaves nothing, would pin everything.
        """
        if not isinstance(what, str):
            self._memory.pin(what)
            return
        redact = self._memory.settings.redact
        text = what if redact is None else redact(what)
        if not what.strip() or not text.strip():
            msg = "an empty text would pin every message: pin at least one word, and one that redact leaves"
            raise ValueError(msg)
        self.archive.pin(self.id, "text", text)
        self._memory.undo()


def own(verb: Callable[Concatenate[Session, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Make a Compactor's method of a session's: it calls that of the session of the Compactor's own."""

    @wraps(verb)
    def method(self: Any, /, *args: P.args, **options: P.kwargs) -> T:
        return verb(self._session, *args, **options)

    @wraps(verb)
    async def amethod(self: Any, /, *args: P.args, **options: P.kwargs) -> Any:
        return await cast("Awaitable[Any]", verb(self._session, *args, **options))

    made = amethod if iscoroutinefunction(verb) else method
    made.__qualname__ = f"Compactor.{verb.__name__}"
    return cast("Callable[Concatenate[Any, P], T]", made)
