"""The front door: everything that keeps one agent's transcript inside its window."""

from __future__ import annotations

from inspect import isawaitable, iscoroutinefunction
from typing import TYPE_CHECKING, Any, Literal, Self, cast
from uuid import uuid4

from ..archive import open_archive
from ..compaction.drivers import EffectHandler, arun, run
from ..compaction.flow import compaction
from ..compaction.rebuild import check
from ..errors import ArchiveError, CountError, NothingToCompactError, SummaryError
from ..hooks import noop
from ..planning.forecast import Forecast
from ..summarize import open_summarizer
from .provider_count import ProviderCount, ask, asking, failed
from .session import Call, Session
from .settings import Settings, target_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from ..archive import Archive, Past, SqlArchive
    from ..archive.recall import Recall
    from ..compaction.result import Compaction
    from ..events import Event
    from ..hooks import PreCompact
    from ..messages.types import Message
    from ..models.model import Model
    from ..models.provider import Provider
    from ..planning.budget import Budget
    from ..planning.plan import Plan
    from ..planning.policy import Policy
    from ..planning.zones import Stats
    from ..summarize import Answer, Ask, Summarizer, Writer
    from .session import Fitted, When


class Compactor:
    """Keeps a transcript inside its model's window.

    Args:
        model: an id, or a ``Model`` of your own. Nothing else is mandatory.
        provider: the messages' shape; found from the messages where it is not given.
        window: tokens of input and output together; overrides the table.
        max_output: tokens kept free for the answer; at most 32,000 of the model's where it is not given.
        policy: a preset's name, or a ``Policy``.
        summarizer: ``offline`` (no text leaves the process), ``anthropic``, ``openai``, ``cmd:PROGRAM ...``, a value of
            ``trimtab.summarize``, or a callable from ``Ask`` to text, plain or async.
        archive: ``memory`` (lives with the Compactor), ``sqlite:///PATH``, or an ``Archive``.
        session: the conversation's name in the archive. Where it is given, its pins are there again, and a compaction
            that overtakes another of the same session is a conflict; where it is not, each Compactor has its own.
        redact: takes a text, gives it without what is neither to be stored nor summarized. The messages that stay are
            not changed; what comes back from the archive is.
        thinking: what becomes of thinking behind an edit, where the model binds it: ``strip`` takes it out, ``mark``
            leaves it and has every later request of ``fit`` say that the provider may drop it.
        pre_compact: asked before anything is decided, and again with the plan; may refuse or change the instructions.
        listeners: told what happened.
        betas: beta flags that are sent with every call; one of them may widen the window.

    Raises:
        ValueError: a name that there is not, or a window without room.
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
    ) -> None:
        """Opens the archive; reads and writes nothing else."""
        if thinking not in ("strip", "mark"):
            msg = f"thinking must be 'strip' or 'mark', got {thinking!r}"
            raise ValueError(msg)
        settings = Settings.of(model, policy, provider, window=window, max_output=max_output, betas=betas)
        name, writer = open_summarizer(summarizer)
        listeners = tuple(listeners)
        if any(iscoroutinefunction(listener) for listener in listeners):
            raise TypeError("a listener is not awaited: pass a plain function")
        self.model = model if isinstance(model, str) else model.name
        self.session = uuid4().hex if session is None else session
        self.archive = open_archive(archive)
        self._handler = EffectHandler(self.archive, writer, pre_compact or noop, listeners)
        self._session = Session(
            settings=settings,
            forecast=Forecast.of(settings.model, settings.counter, settings.policy.counter),
            handler=self._handler,
            model=self.model,
            summarizer=name,
            name=self.session,
            exclusive=session is not None,
            redact=redact,
            strips=settings.model.binds_thinking and thinking == "strip",
            marks=settings.model.binds_thinking and thinking == "mark",
        )

    def __repr__(self) -> str:
        """Model, policy and window."""
        return f"Compactor({self.model!r}, policy={self.policy.name!r}, window={self.window})"

    @property
    def policy(self) -> Policy:
        """How it decides."""
        return self._session.policy

    @property
    def hook(self) -> PreCompact:
        """The hook that is asked before a compaction."""
        return self._handler.pre_compact

    @property
    def window(self) -> int:
        """Tokens that the model takes, input and output together."""
        return self._session.settings.model.window

    def budget(self, *, system: object = None, tools: object = None) -> Budget:
        """The limits of a call with this system text and these tools."""
        return self._session.budget(Call((), system, tools))

    def explain(self, messages: Sequence[Message] | None = None, *, system: object = None, tools: object = None) -> str:
        """Every term of the budget, a line each; how the messages stand to it; whom a summary of them is asked of.

        Of a summary, each way to come by it and what it costs at most, the one that is taken first.
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

    def count(self, messages: Sequence[Message], *, system: object = None, tools: object = None) -> int:
        """Tokens of the next call's prompt: what the last one was charged, and the count of what came since.

        Before the first ``record``, and once the beginning of the list has changed, it is the count alone.

        Args:
            messages: the transcript, in its provider's shape.
            system: system text that is sent beside the messages.
            tools: tool definitions.

        Raises:
            MessageError: a message cannot be read.
        """
        return self._session.count(Call(messages, system, tools))

    def check(
        self, messages: Sequence[Message], client: Any, *, system: object = None, tools: object = None
    ) -> ProviderCount:
        """What the provider's counting endpoint says of these messages, beside the count here.

        Nothing else ever asks it. An answer is kept, and given again for the same request; ``explain`` shows the last.

        Args:
            messages: the transcript, in Anthropic's shape or that of OpenAI's Responses.
            client: an ``anthropic.Anthropic`` or an ``openai.OpenAI``, or whatever has the ``messages.count_tokens`` of
                the one or the ``responses.input_tokens.count`` of the other.
            system: system text that is sent beside the messages.
            tools: tool definitions.

        Raises:
            CountError: the client failed, whatever it raised; or it is an asynchronous one.
            MessageError: a message cannot be read.
            ValueError: the model is not one of these providers', or the messages are of Chat Completions.
        """
        call = Call(messages, system, tools)
        request, answer, counted = self._asking(call)
        if answer is None:
            try:
                answer = ask(client, request)
            except Exception as error:
                raise failed(error) from error
            if isawaitable(answer):
                getattr(answer, "close", lambda: None)()
                raise CountError(f"{CountError.words}: the client is asynchronous, await acheck")
        return self._session.counts.keep(request, answer, counted)

    async def acheck(
        self, messages: Sequence[Message], client: Any, *, system: object = None, tools: object = None
    ) -> ProviderCount:
        """``check``, with an asynchronous client or one of either kind."""
        call = Call(messages, system, tools)
        request, answer, counted = self._asking(call)
        if answer is None:
            try:
                answer = ask(client, request)
                answer = await answer if isawaitable(answer) else answer
            except Exception as error:
                raise failed(error) from error
        return self._session.counts.keep(request, answer, counted)

    def _asking(self, call: Call) -> tuple[dict[str, Any], object, int]:
        """The request to the counting endpoint, the answer where it is known, and the count here."""
        request = asking(self._session.settings.model, self.model, [*call.messages], call.system, call.tools)
        return request, self._session.counts.known(request), self._session.counted(call)

    def plan(
        self,
        messages: Sequence[Message],
        *,
        system: object = None,
        tools: object = None,
        target_tokens: int | None = None,
        target_share: float | None = None,
    ) -> Plan:
        """What ``compact`` would do, and why. Decides and does nothing.

        Args:
            messages: the transcript, in its provider's shape.
            system: system text that is sent beside the messages.
            tools: tool definitions.
            target_tokens: tokens of messages to come down to; the policy's target where neither is given.
            target_share: the share of the messages' tokens to come down to, more than 0 and less than 1.

        Raises:
            MessageError: the list is not one that its provider takes; says where, why and what to do.
            TypeError: a target is no number.
            ValueError: a target is out of its range, or both are given.
        """
        request = self._session.request(Call(messages, system, tools), target=target_of(target_tokens, target_share))
        check(request.ledger)
        return request.decide()

    def stats(self, messages: Sequence[Message], *, system: object = None, tools: object = None) -> Stats:
        """How the messages fall into the policy's zones, and how full the window is."""
        return self._session.stats(Call(messages, system, tools))

    def compact(
        self,
        messages: Sequence[Message],
        *,
        system: object = None,
        tools: object = None,
        target_tokens: int | None = None,
        target_share: float | None = None,
        instructions: str | None = None,
        plan: Plan | None = None,
        trigger: Literal["manual", "auto"] = "manual",
    ) -> Compaction:
        """Brings the messages to the target, whatever the trigger says. They are not changed; a new list comes back.

        Args:
            messages: the transcript, in its provider's shape.
            system: system text that is sent beside the messages.
            tools: tool definitions.
            target_tokens: tokens of messages to come down to; the policy's target where neither is given.
            target_share: the share of the messages' tokens to come down to, more than 0 and less than 1.
            instructions: what the summary is to stress.
            plan: done as it is, instead of deciding anew; a target then has no effect.
            trigger: who wants it, for hooks and events: the user, or a program.

        Raises:
            MessageError: the list is not one that its provider takes; says where, why and what to do.
            PlanError: the plan is of another transcript.
            ArchiveError: the originals cannot be kept; no model was asked.
            SummaryError: no summary, where the policy says that this is an error.
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
        return self._session.done(run(compaction(request), self._handler))

    async def acompact(
        self,
        messages: Sequence[Message],
        *,
        system: object = None,
        tools: object = None,
        target_tokens: int | None = None,
        target_share: float | None = None,
        instructions: str | None = None,
        plan: Plan | None = None,
        trigger: Literal["manual", "auto"] = "manual",
    ) -> Compaction:
        """``compact``, with hooks and a summarizer that may be asynchronous."""
        request = self._session.request(
            Call(messages, system, tools),
            target=target_of(target_tokens, target_share),
            instructions=instructions,
            plan=plan,
            trigger=trigger,
        )
        return self._session.done(await arun(compaction(request), self._handler))

    def fit(
        self,
        messages: Sequence[Message],
        *,
        system: object = None,
        tools: object = None,
        when: When = "before_call",
        turn: int | None = None,
    ) -> Fitted:
        """What goes into the next call: the same list below the policy's trigger, a compacted one above it.

        Args:
            messages: the transcript, in its provider's shape.
            system: system text that is sent beside the messages.
            tools: tool definitions.
            when: the moment: ``before_call``, ``after_step``, ``after_tool_batch``, ``after_run``, ``on_length`` (the
                answer was cut at its limit) or ``on_overflow`` (the provider refused the call as too long). A policy
                looks at the moments that its trigger names and at no others: ``agentpg`` only after a run, ``opencode``
                after a step and on an overflow.
            turn: number of tool batches since the user spoke; counted from ``when`` where it is not given.

        Raises:
            MessageError: the list is not one that its provider takes.
            ArchiveError: the originals cannot be kept; nothing was changed.
        """
        at = self._session
        call = at.begin(Call(messages, system, tools), when, turn)
        request = at.due(call, when)
        if request is None:
            return at.fitted(call)
        try:
            return at.fitted(call, run(compaction(request), self._handler))
        except (SummaryError, NothingToCompactError) as error:
            return at.unfitted(call, error)

    async def afit(
        self,
        messages: Sequence[Message],
        *,
        system: object = None,
        tools: object = None,
        when: When = "before_call",
        turn: int | None = None,
    ) -> Fitted:
        """``fit``, with hooks and a summarizer that may be asynchronous."""
        at = self._session
        call = at.begin(Call(messages, system, tools), when, turn)
        request = at.due(call, when)
        if request is None:
            return at.fitted(call)
        try:
            return at.fitted(call, await arun(compaction(request), self._handler))
        except (SummaryError, NothingToCompactError) as error:
            return at.unfitted(call, error)

    def record(self, usage: object) -> None:
        """Tells what the last call was charged: the next ``fit`` starts from it.

        Args:
            usage: of the answer, as any provider gives it.

        Raises:
            ValueError: it names no tokens of a prompt.
        """
        self._session.forecast.record(usage)

    def take(self, tool: str, output: str) -> str:
        """A tool's output as it is to enter the transcript: cut as the policy says for tools of its kind."""
        ingest = self.policy.ingest
        return output if ingest is None else ingest.taken(output, ingest.category(tool))

    def tidied(self, messages: Sequence[Message]) -> list[Message]:
        """The messages with old results pruned as the policy says, and nothing else done; nothing is archived."""
        return self._session.prune(messages)

    def restore(self, ref: str) -> list[dict[str, Any]]:
        """The whole original list of a compaction, equal to what it was and the same as JSON.

        Objects come back as the dicts that they said: an archive holds JSON and no names of classes, so that what is
        stored does not decide which code runs. Their class makes them again: ``kind.model_validate(message)`` of a
        pydantic model, ``kind(**message)`` of a dataclass; an SDK takes the dicts.

        Raises:
            ArchiveError: the archive knows no such ref.
        """
        return self.archive.load(ref)

    def recall_tool(self, *, limit: int = 5) -> Recall:
        """A tool with which the model looks up what was summarized away in this session.

        ``definition(provider)`` goes into the request's tools; calling the tool with a call's input answers it.

        Raises:
            ArchiveError: an archive of one's own that cannot search.
        """
        from ..archive.recall import Recall  # noqa: PLC0415 - loaded with the first tool

        if not (hasattr(self.archive, "search") and hasattr(self.archive, "fetch")):
            raise ArchiveError(f"{type(self.archive).__name__} cannot search: it needs search and fetch")
        return Recall(cast("SqlArchive", self.archive), self.session, limit)

    def history(self, limit: int | None = 10) -> list[Past]:
        """The compactions of this session, the latest first.

        Raises:
            ArchiveError: an archive of one's own that has none.
        """
        if not hasattr(self.archive, "history"):
            raise ArchiveError(f"{type(self.archive).__name__} has no history")
        past: list[Past] = self.archive.history(self.session, limit=limit)
        return past

    def pin(self, what: Message | str) -> None:
        """Keeps a message, or every message that holds a text, verbatim from now on, in this session.

        Args:
            what: a message as it stands in the list, or a text.

        Raises:
            ArchiveError: the pin cannot be stored.
            MessageError: the message cannot be read.
            ValueError: an empty text would pin everything.
        """
        if not isinstance(what, str):
            self.archive.pin(self.session, "message", self._session.scan([what]).digest_of(0))
        elif what.strip():
            self.archive.pin(self.session, "text", what)
        else:
            msg = "an empty text is in every message: pin a text of at least one word"
            raise ValueError(msg)

    def close(self) -> None:
        """Closes the archive; nothing else is held open."""
        self.archive.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
