"""The ``Compactor``: the public class that keeps an agent's transcript inside its model's context window."""

from __future__ import annotations

from functools import wraps
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Self, TypeVar, cast

from ..archive import open_archive
from ..archive.names import given_name
from ..compaction.flow import compaction
from ..compaction.handler import EffectHandler
from ..compaction.settings import Settings, target_of
from ..errors import ArchiveError
from ..hooks import noop
from ..planning.forecast import Forecast
from ..summarize import open_summarizer
from ..summarize.drive import AwaitableError, adrive, drive
from ..validity.validate import check
from .call import Call
from .overflow import Refusal, refusal
from .session import Session
from .shrink import shrink

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence

    from ..archive import Archive, ArchivedCompaction, SqlArchive
    from ..archive.recall import Recall
    from ..compaction.effects import Flow
    from ..compaction.result import Compaction
    from ..events import Event
    from ..hooks import Cause, PreCompact
    from ..messages.types import AnyMessage, MessageT
    from ..models.model import Model
    from ..models.provider import Provider
    from ..planning.budget import Budget
    from ..planning.plan import Plan
    from ..planning.policy import Policy
    from ..planning.zones import Stats
    from ..summarize import Answer, Ask, Summarizer, Writer
    from .call import Fitted, When
    from .provider_count import ProviderCount

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(flow: Callable[Concatenate[Compactor, P], Flow[T]]) -> Callable[Concatenate[Compactor, P], T]:
    """Make a method that drives a flow without an event loop."""

    @wraps(flow)
    def method(self: Compactor, /, *args: P.args, **options: P.kwargs) -> T:
        if self._awaits and flow.__name__ != "check":
            raise AwaitableError(f"{self._awaits} is asynchronous: use a{flow.__name__}")
        started = flow(self, *args, **options)
        try:
            effect = next(started)
        except StopIteration as done:  # below its trigger, ``fit`` ends here
            result: T = done.value
            return result
        return drive(started, effect, self._handler.answer)

    # ``help`` shows the type of the result.
    flow.__annotations__["return"] = flow.__annotations__["return"].removeprefix("Flow[").removesuffix("]")
    return method


def _awaitable(
    method: Callable[Concatenate[Compactor, P], T], doc: str
) -> Callable[Concatenate[Compactor, P], Coroutine[Any, Any, T]]:
    """Make the asynchronous form of a ``_blocking`` method."""
    flow: Callable[Concatenate[Compactor, P], Flow[T]] = method.__wrapped__  # type: ignore[attr-defined]

    @wraps(flow)
    async def amethod(self: Compactor, /, *args: P.args, **options: P.kwargs) -> T:
        started = flow(self, *args, **options)
        try:
            effect = next(started)
        except StopIteration as done:
            result: T = done.value
            return result
        return await adrive(started, effect, self._handler.aanswer)

    amethod.__name__, amethod.__qualname__ = f"a{flow.__name__}", f"Compactor.a{flow.__name__}"
    amethod.__doc__ = doc
    return amethod


def _is_async(function: object) -> bool:
    """Return whether calling a function or an object surely gives an awaitable."""
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


class Compactor:
    """Keeps a transcript inside its model's context window.

    Args:
        model: an id, or a ``Model`` of your own. No other argument is required.
        provider: the messages' shape; detected where it is not given.
        window: tokens of input and output together; overrides the table.
        max_output: tokens kept free for the answer; at most 32,000 of the model's where it is not given.
        policy: a preset's name, or a ``Policy``.
        summarizer: ``offline`` (no text leaves the process), ``anthropic``, ``openai``, ``cmd:PROGRAM ...``, a value of
            ``trimtab.summarize``, or a callable from ``Ask`` to text, plain or async.
        archive: ``memory`` (lives with the Compactor), ``sqlite:///PATH``, or an ``Archive``.
        session: the conversation's name in the archive, of printable text. A named session finds its pins again,
            restores and recalls only its own messages, and two compactions of it at a time are a conflict; None gives
            each Compactor a session of its own.
        redact: a function that removes from a text what must not be stored or summarized. It runs over every text and
            key of the messages, pins, summaries, instructions and records, but not over the session's name. Messages
            that stay are not changed; messages that come back from the archive are redacted.
        thinking: how to treat thinking behind an edit, where the model binds it: ``strip`` removes it, ``mark`` keeps
            it, and every later request of ``fit`` says that the provider may drop it.
        pre_compact: a hook that is asked before anything is decided, and again with the plan; it may refuse or change
            the instructions.
        listeners: functions that receive each event.
        betas: beta flags of every call; one of them may widen the window.
        count_with: a client as in ``check``. ``fit`` asks its counting endpoint for the tokens of the messages if the
            policy's estimate ``asks``, as that of ``agentpg`` does; the estimate replaces an answer that fails. None
            asks no endpoint.

    Raises:
        ValueError: an unknown name, a window without room for messages, or an empty, blank or unprintable session.
        ImportError: the summarizer's client is not installed.
        ArchiveError: the archive cannot be opened.

    Example:
        >>> messages = [{"role": "user", "content": f"step {n}: " + "words " * 50} for n in range(40)]
        >>> done = Compactor("claude-sonnet-4-5").compact(messages, target_share=0.5)
        >>> done.tokens_after <= done.tokens_before // 2
        True
    """

    def __init__(
        self,
        model: str | Model,
        *,
        provider: Provider | None = None,
        window: int | None = None,
        max_output: int | None = None,
        policy: str | Policy = "default",
        summarizer: str | Writer | Summarizer | Callable[[Ask], str | Answer | Awaitable[str | Answer]] = "offline",
        archive: str | Archive = "memory",
        session: str | None = None,
        redact: Callable[[str], str] | None = None,
        thinking: Literal["strip", "mark"] = "strip",
        pre_compact: PreCompact | None = None,
        listeners: Iterable[Callable[[Event], None]] = (),
        betas: Iterable[str] = (),
        count_with: Any = None,
    ) -> None:
        """Open the archive; read and write nothing else."""
        name, writer = open_summarizer(summarizer)
        settings = Settings.of(
            model,
            policy,
            provider=provider,
            window=window,
            max_output=max_output,
            betas=betas,
            thinking=thinking,
            writer=writer,
            summarizer=name,
            session=given_name(session),
            exclusive=session is not None,
            redact=redact,
            count_with=count_with,
        )
        listeners = tuple(listeners)
        if any(iscoroutinefunction(listener) for listener in listeners):
            raise TypeError("a listener is not awaited: pass a plain function")
        called = {"the summarizer": getattr(writer, "function", None), "the hook": pre_compact}
        self._awaits = next((what for what, function in called.items() if _is_async(function)), "")
        self.model = settings.model_id
        self.session = settings.session
        self.archive = open_archive(archive)
        self._handler = EffectHandler(self.archive, writer, pre_compact or noop, listeners)
        forecast = Forecast.of(settings.model, settings.counter, settings.policy.counter)
        self._session = Session(settings, forecast, self._handler)

    def __repr__(self) -> str:
        """Return model, policy and window."""
        assumed = "" if self._session.settings.model.known else " (assumed)"
        return f"Compactor({self.model!r}, policy={self.policy.name!r}, window={self.window}{assumed})"

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self._session.policy

    @property
    def window(self) -> int:
        """The model's context window in tokens, input and output together."""
        return self._session.settings.model.window

    def budget(self, *, system: object = None, tools: object = None) -> Budget:
        """Return the limits of a call.

        Args:
            system: system text beside the messages.
            tools: tool definitions.
        """
        at = self._session
        return at.settings.budget(*at.fixed(Call((), system, tools)))

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
        at = self._session
        tokens = None if messages is None else at.scan(messages).total
        lines = [f"model          {self.model}", f"counted by     {at.settings.counter.explain()}"]
        lines.append(self.budget(system=system, tools=tools).explain(tokens))
        if at.forecast.anchor:
            lines.append(at.forecast.explain())
        if at.counts.last:
            lines.append(at.counts.last.explain())
        return "\n".join([*lines, *(at.explain(Call(messages, system, tools)) if messages is not None else ())])

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
        return self._session.count(Call(messages, system, tools))

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
        return (yield from self._session.check(Call(messages, system, tools), client))

    acheck = _awaitable(check, "``check`` with an asynchronous or a blocking client.")

    def plan(
        self,
        messages: Sequence[AnyMessage],
        *,
        system: object = None,
        tools: object = None,
        target_tokens: int | None = None,
        target_share: float | None = None,
    ) -> Plan:
        """Return the plan of ``compact``, with its reason; change nothing.

        Args:
            messages: the transcript, in its provider's shape.
            system: system text beside the messages.
            tools: tool definitions.
            target_tokens: tokens of messages to reach; the policy's target if neither is given.
            target_share: share of the messages' tokens to reach, more than 0 and less than 1.

        Raises:
            MessageError: the provider would refuse the list; says where, why and what to do.
            TypeError: a target is no number.
            ValueError: a target is out of its range, or both are given.
        """
        request = self._session.request(Call(messages, system, tools), target=target_of(target_tokens, target_share))
        check(request.ledger, request.settings.rules)
        return request.decide()

    def stats(self, messages: Sequence[AnyMessage], *, system: object = None, tools: object = None) -> Stats:
        """Return the messages of each of the policy's zones, and how full the window is.

        Args:
            messages: the transcript, in its provider's shape.
            system: system text beside the messages.
            tools: tool definitions.
        """
        return self._session.stats(Call(messages, system, tools))

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
            plan: the plan to apply; None decides. With a plan, a target has no effect.
            trigger: for hooks and events: ``manual`` if a user asked, ``auto`` if a program did.

        Raises:
            MessageError: the provider would refuse the list; says where, why and what to do.
            PlanError: the plan is of another transcript.
            ArchiveError: the originals cannot be stored; no model was asked.
            BusyError: another compaction of the named session is under way in this Compactor.
            SummaryError: no summary, and the policy has no fallback.
            TypeError: a target is no number.
            ValueError: a target is out of its range, or both are given.
        """
        request = self._session.request(
            Call(messages, system, tools),
            target=target_of(target_tokens, target_share),
            instructions=instructions,
            plan=plan,
            trigger=trigger,
        )
        with self._session.alone():
            return self._session.done((yield from compaction(request)))

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
            ArchiveError: the originals cannot be stored; nothing was changed.
            BusyError: another compaction of the named session is under way in this Compactor.
            TypeError: the summarizer or the hook is asynchronous: ``afit`` awaits it.
            OverflowedError: ``on_overflow``, and too little can leave.
        """
        at, call = self._session, Call(messages, system, tools)
        if when == "on_overflow" and at.policy.trigger.auto and not at.policy.parity:
            return (yield from shrink(at, at.begin(call, when, turn), Refusal()))
        return (yield from at.fit(call, when, turn))

    afit = _awaitable(fit, "``fit`` with hooks, a summarizer and a counting client that may be asynchronous.")

    @_blocking
    def overflow(
        self, error: object, messages: Sequence[MessageT], *, system: object = None, tools: object = None
    ) -> Flow[Fitted[MessageT]]:
        """Return a smaller list for a call that the provider refused as too long; never the list that it refused.

        The window of this session is lowered to the limit that the error states; where it states none, to nine tenths
        of the refused prompt by our own count, which ``reason`` says. Acts under every policy, whatever its moments:
        first with the policy's own stages; where these do not reach the limit, by pruning, truncating and summarizing
        everything but pins, the last request, open calls and system messages.

        Args:
            error: the SDK's exception, or the error's body or text.
            messages: the refused transcript.
            system: system text beside the messages.
            tools: tool definitions.

        Raises:
            ValueError: the error is a rate limit or another failure; nothing was changed.
            OverflowedError: too little can leave, says what stays; or a hook refused, or automatic compaction is off.
            MessageError: the provider would refuse the list whatever its length.
            ArchiveError: the originals cannot be stored.
            BusyError: another compaction of the named session is under way in this Compactor.

        Example:
            >>> cm = Compactor("claude-sonnet-4-5")
            >>> messages = [{"role": "user", "content": f"step {n}: " + "words " * 900} for n in range(60)]
            >>> fitted = cm.overflow("prompt is too long: 54321 tokens > 30000 maximum", messages)
            >>> cm.window, cm.count(fitted.messages) < 30_000
            (30000, True)
        """
        cause = error if isinstance(error, BaseException) else None
        try:
            refused = refusal(error)
        except ValueError as other:
            raise other from cause
        at = self._session
        return (yield from shrink(at, at.begin(Call(messages, system, tools), "on_overflow", None), refused, cause))

    aoverflow = _awaitable(overflow, "``overflow`` with hooks and a summarizer that may be asynchronous.")

    def record(self, usage: object) -> None:
        """Record the usage of the last call; the next ``fit`` starts from it.

        A usage that cannot be that call's is ignored, with a warning and the event ``UsageIgnored``: no input tokens,
        fewer than half of the messages' count, or more than the window holds.

        Args:
            usage: of the answer, in any provider's form.

        Raises:
            ValueError: it has no prompt tokens, or one of its numbers is no integer from 0 to 2**53.
        """
        self._session.record(usage)

    def ingest(self, tool: str, output: str) -> str:
        """Return a tool's output for the transcript, truncated by the policy's rule for this category of tool.

        Args:
            tool: the tool's name.
            output: its output.
        """
        ingest = self.policy.ingest
        return output if ingest is None else ingest.cut(output, ingest.category(tool))

    def prune(self, messages: Sequence[MessageT]) -> list[MessageT]:
        """Return the messages with old results pruned by the policy's rule; archive nothing.

        Args:
            messages: the transcript, in its provider's shape.
        """
        return self._session.prune(messages)

    def restore(self, ref: str, *, any_session: bool = False) -> list[dict[str, Any]]:
        """Return the whole original list of a compaction, equal to the original and identical as JSON.

        Refs stand in every compacted list, where a model or another user can read them. A session with a name
        therefore restores its own compactions, and one without a name those of all sessions without a name.

        Objects come back as dicts: an archive holds JSON without class names, so that stored text never decides which
        code runs. ``kind.model_validate(message)`` makes a pydantic model of such a dict, ``kind(**message)`` a
        dataclass; an SDK takes the dict itself.

        Args:
            ref: ``Compaction.ref``.
            any_session: also restore compactions of any other session.

        Raises:
            ArchiveError: the archive has no such compaction of this session, or it cannot give all of its messages.
        """
        return self.archive.load(ref, session=None if any_session else self.session)

    def recall_tool(self, *, limit: int = 5) -> Recall:
        """Return a tool with which the model looks up messages of this session that were summarized.

        ``definition(provider)`` goes into the request's tools; calling the tool with a call's input answers it.

        Args:
            limit: most messages of one answer.

        Raises:
            ArchiveError: the archive cannot search.
        """
        from ..archive.recall import Recall  # noqa: PLC0415 - loaded with the first tool

        if not (hasattr(self.archive, "search") and hasattr(self.archive, "fetch")):
            raise ArchiveError(f"{type(self.archive).__name__} cannot search: it needs search and fetch")
        return Recall(cast("SqlArchive", self.archive), self.session, limit)

    def history(self, limit: int | None = 10) -> list[ArchivedCompaction]:
        """Return the compactions of this session, the newest first.

        Args:
            limit: most compactions; None returns all.

        Raises:
            ArchiveError: the archive has no history.
        """
        if not hasattr(self.archive, "history"):
            raise ArchiveError(f"{type(self.archive).__name__} has no history")
        past: list[ArchivedCompaction] = self.archive.history(self.session, limit=limit)
        return past

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
            self._session.pin(what)
            return
        redact = self._session.settings.redact
        text = what if redact is None else redact(what)
        if not what.strip() or not text.strip():
            msg = "an empty text would pin every message: pin at least one word, and one that redact leaves"
            raise ValueError(msg)
        self.archive.pin(self.session, "text", text)

    def close(self) -> None:
        """Close the archive."""
        self.archive.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
