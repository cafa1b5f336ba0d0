"""The front door: everything that keeps one agent's transcript inside its window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Literal, Self, cast, get_args
from uuid import uuid4

from . import _core
from ._budget import Budget, Terms
from ._counter import Counter, scan
from ._drive import Outside, arun, run
from ._envelope import wrap
from ._errors import ArchiveError, NothingToCompactError, PlanError, SummaryError
from ._flow import Compaction, Job, check, compaction, summary_in
from ._gate import STUCK, Fitted, Gate, When
from ._log import log
from ._messages import whole_calls
from ._meter import Meter
from ._models import UNBOUND, Model
from ._models import known as known_models
from ._policy import Policy
from ._request import overhead
from .archive import open_archive
from .hooks import noop
from .policies import POLICIES
from .stages._sizes import PLACEHOLDER
from .summarize import open_summarizer, window_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from ._ledger import Ledger
    from ._messages import Message, Provider
    from ._plan import Plan
    from ._stats import Stats
    from .archive import Archive, Past
    from .archive.recall import Recall
    from .events import Event
    from .hooks import PreCompact
    from .summarize import Answer, Ask, Summarizer, Writer


SHAPES = ("anthropic", "openai_chat", "openai_responses", "bedrock", "gemini")
"""The message shapes that can be compacted."""


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
        >>> done = Compactor("claude-sonnet-4-5").compact(messages, target=0.5)
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
        if not isinstance(model, str | Model):
            msg = f"model must be an id or a Model, got {type(model).__name__}"
            raise TypeError(msg)
        self._policy = _policy(policy)
        known = Model.named(model, betas=betas) if isinstance(model, str) else model
        self._model = self._windowed(known, window, max_output)
        self.model = model if isinstance(model, str) else model.name
        self._counter = self._policy.counter.counter() if self._policy.counter else Counter.for_model(known)
        self._meter = Meter.of(known, self._counter)
        self._reserve = max_output or min(self._model.max_output, self._policy.trigger.output)
        self._provider = _shape(provider)
        self.session = uuid4().hex if session is None else session
        self._exclusive = session is not None
        self._redact = redact
        if thinking not in ("strip", "mark"):
            msg = f"thinking must be 'strip' or 'mark', got {thinking!r}"
            raise ValueError(msg)
        self._marks = thinking == "mark" and self._model.binds_thinking
        self._edited = False
        self._gate = Gate()
        self._summarizer, write = open_summarizer(summarizer)
        listeners = tuple(listeners)
        if any(iscoroutinefunction(listener) for listener in listeners):
            raise TypeError("a listener is told and not awaited: pass a plain function")
        self.budget()  # a window without room is said now, not with the first message
        self.archive = open_archive(archive)
        self._outside = Outside(self.archive, write, pre_compact or noop, listeners)

    def _windowed(self, model: Model, window: int | None, max_output: int | None) -> Model:
        """The model with the limits that rule: the caller's, the policy's, the table's."""
        trigger = self._policy.trigger
        rules = trigger.rules or model.name not in known_models()
        return model.limited(trigger.window if window is None and rules else window, max_output)

    @property
    def policy(self) -> Policy:
        """How it decides."""
        return self._policy

    @property
    def hook(self) -> PreCompact:
        """Who is asked before a compaction."""
        return self._outside.pre_compact

    @property
    def window(self) -> int:
        """Tokens that the model takes, input and output together."""
        return self._model.window

    def budget(self, *, system: object = None, tools: object = None) -> Budget:
        """The limits of a call with this system text and these tools."""
        return Budget.of(self._terms(0, system, tools), self._policy.trigger, self._policy.target)

    def _terms(self, messages: int, system: object, tools: object) -> Terms:
        """What is known of a call before it is made."""
        return Terms(
            window=self._model.window,
            output=self._reserve,
            messages=messages,
            system=overhead(self._counter, system=system),
            tools=self._tools(tools),
        )

    def _tools(self, tools: object) -> int:
        """Tokens of tool definitions, by the policy's own estimate where it has one."""
        estimate = self._policy.counter
        if estimate is None or not isinstance(tools, list | tuple):
            return overhead(self._counter, tools=tools) - overhead(self._counter)
        return estimate.overhead(tools)

    def explain(self, messages: Sequence[Message] | None = None, *, system: object = None, tools: object = None) -> str:
        """Every term of the budget, a line each, and how the messages stand to it."""
        tokens = self._scan(messages).total if messages is not None else None
        lines = [f"model          {self.model}", f"counted by     {self._counter.explain()}"]
        learned = [self._meter.explain()] if self._meter.anchor else []
        return "\n".join([*lines, self.budget(system=system, tools=tools).explain(tokens), *learned])

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
        beside = overhead(self._counter, system=system, tools=tools)
        return self._meter.count(messages, self._shaped(messages), beside)

    def plan(
        self,
        messages: Sequence[Message],
        *,
        system: object = None,
        tools: object = None,
        target: float | None = None,
    ) -> Plan:
        """What ``compact`` would do, and why. Decides and does nothing.

        Args:
            messages: the transcript, in its provider's shape.
            system: system text that is sent beside the messages.
            tools: tool definitions.
            target: tokens of messages (int), or a share of theirs now (float below 1); the policy's where None.

        Raises:
            MessageError: the list is not one that its provider takes; says where, why and what to do.
        """
        ledger = self._scan(messages)
        check(ledger)
        return self._decide(ledger, messages, self._aim(target, system, tools)(ledger))

    def stats(self, messages: Sequence[Message], *, system: object = None, tools: object = None) -> Stats:
        """How the messages fall into the policy's zones, and how full the window is."""
        from ._stats import Stats, grouped  # noqa: PLC0415 - numpy comes with the first plan

        ledger = self._scan(messages)
        terms = self._gate.terms(self._terms(ledger.total, system, tools), self._policy)
        groups, tokens = grouped(
            ledger,
            self._policy,
            window=self._model.window,
            target=self._aim(None, system, tools)(ledger),
            pins=self._pinned(ledger, messages),
            summaries=self._summaries(ledger, messages),
        )
        trigger = self._policy.trigger
        return Stats(self.session, groups, tokens, trigger.utilisation(terms), self._gate.rounds, trigger.fires(terms))

    def compact(
        self,
        messages: Sequence[Message],
        *,
        system: object = None,
        tools: object = None,
        target: float | None = None,
        instructions: str | None = None,
        plan: Plan | None = None,
        trigger: Literal["manual", "auto"] = "manual",
    ) -> Compaction:
        """Brings the messages to the target, whatever the trigger says. They are not changed; a new list comes back.

        Args:
            messages: the transcript, in its provider's shape.
            system: system text that is sent beside the messages.
            tools: tool definitions.
            target: tokens of messages (int), or a share of theirs now (float below 1); the policy's where None.
            instructions: what the summary is to stress.
            plan: done as it is, instead of deciding anew; ``target`` then has no say.
            trigger: who wants it, for hooks and events: the user, or a program.

        Raises:
            MessageError: the list is not one that its provider takes; says where, why and what to do.
            PlanError: the plan is of another transcript.
            ArchiveError: the originals cannot be kept; no model was asked.
            SummaryError: no summary, where the policy says that this is an error.
        """
        job = self._job(messages, self._aim(target, system, tools), instructions, plan)
        return self._noted(run(compaction(replace(job, trigger=trigger)), self._outside))

    async def acompact(
        self,
        messages: Sequence[Message],
        *,
        system: object = None,
        tools: object = None,
        target: float | None = None,
        instructions: str | None = None,
        plan: Plan | None = None,
        trigger: Literal["manual", "auto"] = "manual",
    ) -> Compaction:
        """``compact``, with hooks and a summarizer that may be asynchronous."""
        job = self._job(messages, self._aim(target, system, tools), instructions, plan)
        return self._noted(await arun(compaction(replace(job, trigger=trigger)), self._outside))

    def _noted(self, done: Compaction) -> Compaction:
        self._gate.done(done)
        self._remember(done)
        return done

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
                answer was cut at its limit) or ``on_overflow`` (the provider refused the call as too long).
            turn: number of tool batches since the user spoke; counted from ``when`` where it is not given.

        Raises:
            MessageError: the list is not one that its provider takes.
            ArchiveError: the originals cannot be kept; nothing was changed.
        """
        messages = self._moment(messages, when, turn)
        job = self._due(messages, system, tools, when)
        if job is None:
            return self._fitted(messages, system, tools, None)
        try:
            return self._fitted(messages, system, tools, run(compaction(job), self._outside))
        except (SummaryError, NothingToCompactError) as error:
            return self._resting(messages, system, tools, error)

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
        messages = self._moment(messages, when, turn)
        job = self._due(messages, system, tools, when)
        if job is None:
            return self._fitted(messages, system, tools, None)
        try:
            return self._fitted(messages, system, tools, await arun(compaction(job), self._outside))
        except (SummaryError, NothingToCompactError) as error:
            return self._resting(messages, system, tools, error)

    def record(self, usage: object) -> None:
        """Tells what the last call was charged: the next ``fit`` starts from it.

        Args:
            usage: of the answer, as any provider gives it.

        Raises:
            ValueError: it names no tokens of a prompt.
        """
        self._gate.record(usage, self._policy)
        if self._policy.counter is None:
            self._meter.record(usage)

    def take(self, tool: str, output: str) -> str:
        """A tool's output as it is to enter the transcript: cut as the policy says for tools of its kind."""
        ingest = self._policy.ingest
        return output if ingest is None else ingest.taken(output, ingest.category(tool))

    def tidied(self, messages: Sequence[Message]) -> list[Message]:
        """The messages with old results pruned as the policy says, and nothing else done; nothing is archived."""
        from ._apply import apply  # noqa: PLC0415 - as with plans

        ledger = self._scan(messages)
        policy = replace(self._policy, summarize=None)
        plan = self._decide(ledger, messages, self._aim(None, None, None)(ledger), policy)
        return apply(plan, messages, ledger, self._counter, None) if plan.edits else [*messages]

    def restore(self, ref: str) -> list[dict[str, Any]]:
        """The whole original list of a compaction, equal to what it was and the same as JSON.

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
        if not hasattr(self.archive, "recall_tool"):
            raise ArchiveError(f"{type(self.archive).__name__} cannot search: it has no recall_tool")
        tool: Recall = self.archive.recall_tool(self.session, limit=limit)
        return tool

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
            self.archive.pin(self.session, "message", self._scan([what]).digest_of(0))
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

    def _moment(self, messages: Sequence[Message], when: When, turn: int | None) -> Sequence[Message]:
        """Takes note of the moment; an answer that was cut at its limit loses the calls that end in the middle."""
        if when not in get_args(When):
            msg = f"when must be one of {', '.join(get_args(When))}, got {when!r}"
            raise ValueError(msg)
        self._gate.moment(when, turn)
        if when != "on_length" or not messages:
            return messages
        last = whole_calls(messages[-1])
        return messages if last is messages[-1] else [*messages[:-1], last]

    def _due(self, messages: Sequence[Message], system: object, tools: object, when: str) -> Job | None:
        """The compaction that is due at this moment, None where none is."""
        trigger, prune = self._policy.trigger, self._policy.prune
        tidy = prune is not None and when in prune.when
        if not trigger.auto or not (tidy or when in trigger.when):
            return None
        ledger = self._scan(messages)
        terms = self._gate.terms(self._terms(ledger.total, system, tools), self._policy)
        if self._policy.counter is None:
            counted = terms.messages + terms.system + terms.tools
            terms = replace(terms, beyond=self.count(messages, system=system, tools=tools) - counted)
        over = when in trigger.when and (trigger.fires(terms) or when == "on_overflow")
        if not over and not tidy:
            return None
        if over and self._gate.stuck >= STUCK:
            log.warning("automatic compaction rests: %d rounds in a row made no progress", self._gate.stuck)
            return None
        policy = self._policy if over else replace(self._policy, summarize=None, order=())
        job = self._job(messages, self._aim(None, system, tools), None, None, ledger, policy)
        return replace(job, trigger="auto", plan=self._deciding(ledger, messages, policy, system, tools, terms))

    def _deciding(  # noqa: PLR0917 - what decides, and on what
        self, ledger: Ledger, messages: Sequence[Message], policy: Policy, system: object, tools: object, terms: Terms
    ) -> Callable[[], Plan]:
        target = self._aim(None, system, tools)(ledger)
        urgent = self._policy.trigger.endangers(terms)
        return lambda: self._decide(ledger, messages, target, policy, urgent=urgent)

    def _fitted(self, messages: Sequence[Message], system: object, tools: object, done: Compaction | None) -> Fitted:
        kept = messages
        if done is not None:
            self._gate.done(done)
            self._remember(done)
            kept = done.messages
            self._edited |= done.ref is not None
            if self._policy.counter is None:
                self.count(kept, system=system, tools=tools)  # what is sent is what will be charged
        key = "input" if self._provider == "openai_responses" else "messages"
        request = {key: kept, **({"system": system} if system is not None else {})}
        request |= UNBOUND if self._marks and self._edited else {}
        done_now = done if done is not None and done.ref is not None else None
        return Fitted(kept, request, done_now, done.reason if done is not None and done_now is None else "")

    def _resting(self, messages: Sequence[Message], system: object, tools: object, error: Exception) -> Fitted:
        """The same list, where the policy says that a failure is an error: an automatic one is logged, not raised."""
        log.warning("automatic compaction failed: %s", error)
        self._gate.stuck += 1
        return replace(self._fitted(messages, system, tools, None), reason=str(error))

    def _remember(self, done: Compaction) -> None:
        """Knows a summary again that stands without its envelope."""
        if self._policy.parity and done.summary is not None:
            text = self._policy.place.prefix + done.summary
            placed = [message for message in done.messages if message.get("content") == text]
            self._gate.known.extend(self._scan([message]).digest_of(0) for message in placed)

    def _scan(self, messages: Sequence[Message]) -> Ledger:
        return scan(messages, self._counter, self._shaped(messages))

    def _shaped(self, messages: Sequence[Message]) -> Provider:
        return cast("Provider", self._provider or _core.detect(messages) or self._model.provider)

    def _aim(self, target: float | None, system: object, tools: object) -> Callable[[Ledger], int]:
        """How many tokens a transcript is brought to."""
        if target is None:
            room = self.budget(system=system, tools=tools).target
            return lambda _: room
        if isinstance(target, bool) or not isinstance(target, int | float):
            msg = f"target must be a number, got {type(target).__name__}"
            raise TypeError(msg)
        if isinstance(target, float) and 0 < target < 1:
            return lambda ledger: max(int(ledger.total * target), 1)
        if not isinstance(target, int) or target < 1:
            msg = f"target must be tokens (an int of 1 and more) or a share (a float between 0 and 1), got {target}"
            raise ValueError(msg)
        return lambda _: target

    def _decide(
        self,
        ledger: Ledger,
        messages: Sequence[Message],
        target: int,
        policy: Policy | None = None,
        *,
        urgent: bool = False,
    ) -> Plan:
        from ._decide import decide  # noqa: PLC0415 - numpy comes with the first plan

        return decide(
            ledger,
            policy or self._policy,
            target,
            window=self._model.window,
            pins=self._pinned(ledger, messages),
            summaries=self._summaries(ledger, messages),
            binds_thinking=self._model.binds_thinking and not self._marks,
            frame=self._frame,
            placeholder=self._placeholder,
            urgent=urgent,
        )

    def _pinned(self, ledger: Ledger, messages: Sequence[Message]) -> list[int]:
        flag = self._policy.keep.flags()[0]
        return sorted({*_pinned(self.archive.pins(self.session), ledger, messages), *_flagged(messages, flag)})

    def _summaries(self, ledger: Ledger, messages: Sequence[Message]) -> tuple[int, ...]:
        flag = self._policy.keep.flags()[1]
        known = ledger.find(self._gate.known) if self._gate.known else ()
        return tuple(sorted({*known, *_flagged(messages, flag)}))

    @cached_property
    def _frame(self) -> int:
        """Most tokens of what stands around a summary: envelope, note, acknowledgement, and their two messages."""
        place = self._policy.place
        around = place.prefix if self._policy.parity else wrap(place.prefix, ref="0" * 20, count=10**7)
        beside = max(place.ack, place.question, key=len)
        placed = [{"role": "user", "content": around}, {"role": "assistant", "content": beside}]
        return int(self._counter.per_message(placed, provider="openai_chat").sum()) + 8

    @cached_property
    def _placeholder(self) -> int:
        """Tokens of a pruned result."""
        text = self._policy.prune.placeholder if self._policy.prune else ""
        if not text:
            return PLACEHOLDER
        pruned = [{"role": "tool", "tool_call_id": "", "content": text}]
        return int(scan(pruned, self._counter, "openai_chat").tokens[0])

    @cached_property
    def _capacity(self) -> int | None:
        """Tokens of messages that the summarizer takes at once; the offline one takes any number."""
        stage = self._policy.summarize
        if self._summarizer == "offline" or stage is None:
            return None
        model = Model.named(stage.model) if stage.model else self._model
        window = window_of(self._outside.summarizer) or model.window
        asked = self._counter.count(stage.template.system + stage.template.request()) if stage.template else 0
        return max(window - stage.max_tokens - asked, window // 2)

    def _job(  # noqa: PLR0917 - all that a compaction needs to know
        self,
        messages: Sequence[Message],
        aim: Callable[[Ledger], int],
        instructions: str | None,
        plan: Plan | None,
        ledger: Ledger | None = None,
        policy: Policy | None = None,
    ) -> Job:
        taken = tuple(messages) if isinstance(messages, list | tuple) else messages
        ledger = self._scan(taken) if ledger is None else ledger
        target = aim(ledger)
        policy = policy or self._policy
        if plan is not None and plan.digest != ledger.digest:
            raise PlanError("the plan was made for another transcript; make a new one for these messages")
        return Job(
            given=messages,
            messages=tuple(taken),
            ledger=ledger,
            counter=self._counter,
            policy=policy,
            plan=lambda: plan or self._decide(ledger, taken, target),
            summarizer=self._summarizer,
            trigger="manual",
            session=self.session,
            exclusive=self._exclusive,
            redact=self._redact,
            instructions=instructions,
            emergency=lambda: self._decide(ledger, taken, target, urgent=True),
            earlier=self._summaries(ledger, taken),
            capacity=self._capacity,
            uuid=str(uuid4()),
            turn=self._gate.turn,
        )


def _shape(provider: str | None) -> Provider | None:
    if provider is not None and provider not in SHAPES:
        msg = f"unknown provider {provider!r}, known are {', '.join(SHAPES)}"
        raise ValueError(msg)
    return cast("Provider | None", provider)


def _policy(policy: str | Policy) -> Policy:
    if isinstance(policy, Policy):
        return policy
    if policy not in POLICIES:
        msg = f"unknown policy {policy!r}, known are {', '.join(POLICIES)}"
        raise ValueError(msg)
    return POLICIES[policy]


def _pinned(pins: Iterable[tuple[str, str]], ledger: Ledger, messages: Sequence[Message]) -> list[int]:
    """Positions of the pinned messages: by digest, and by text anywhere in them but in a summary of ours."""
    pins = tuple(pins)
    found = set(ledger.find(value for kind, value in pins if kind == "message"))
    if texts := [value for kind, value in pins if kind == "text"]:
        for index, message in enumerate(messages):
            if any(_holds(message, text) for text in texts) and summary_in(message) is None:
                found.add(index)
    return sorted(found)


def _flagged(messages: Sequence[Message], flag: str | None) -> list[int]:
    """Positions of the messages that carry a flag."""
    return [index for index, message in enumerate(messages) if message.get(flag)] if flag else []


def _holds(value: object, text: str) -> bool:
    if isinstance(value, str):
        return text in value
    if isinstance(value, Mapping):
        return any(_holds(part, text) for part in value.values())
    return isinstance(value, list | tuple) and any(_holds(part, text) for part in value)
