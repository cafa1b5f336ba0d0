"""The front door: everything that keeps one agent's transcript inside its window."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Self, cast
from uuid import uuid4

from . import _core
from ._apply import ACKNOWLEDGED
from ._budget import Budget
from ._counter import Counter, overhead, scan
from ._drive import Outside, arun, run
from ._envelope import wrap
from ._errors import PlanError
from ._flow import Compaction, Job, check, compaction, summary_in
from ._models import Model
from ._policy import Policy
from .archive import open_archive
from .policies import POLICIES
from .summarize import open_summarizer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from ._ledger import Ledger
    from ._messages import Message, Provider
    from ._plan import Plan
    from .archive import Archive
    from .events import Event
    from .hooks import PreCompact
    from .summarize import Answer, Ask, Summarizer, Writer


SHAPES = ("anthropic", "openai_chat", "openai_responses")
"""The message shapes that can be compacted."""

RESERVE = 32_000
"""Most tokens kept free for the answer where nothing is said: agents rarely ask for more (seed 004, section 3.1)."""


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
        pre_compact: asked before anything is decided, and again with the plan; may refuse or change the instructions.
        listeners: told what happened.

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
        pre_compact: PreCompact | None = None,
        listeners: Iterable[Callable[[Event], None]] = (),
    ) -> None:
        """Opens the archive; reads and writes nothing else."""
        if not isinstance(model, str | Model):
            msg = f"model must be an id or a Model, got {type(model).__name__}"
            raise TypeError(msg)
        known = Model.named(model) if isinstance(model, str) else model
        self._model = known.limited(window, max_output)
        self.model = model if isinstance(model, str) else model.name
        self._counter = Counter.for_model(known)
        self._reserve = max_output or min(self._model.max_output, RESERVE)
        self._provider = _shape(provider)
        self._policy = _policy(policy)
        self.session = uuid4().hex if session is None else session
        self._exclusive = session is not None
        self._redact = redact
        self._summarizer, write = open_summarizer(summarizer)
        listeners = tuple(listeners)
        if any(iscoroutinefunction(listener) for listener in listeners):
            raise TypeError("a listener is told and not awaited: pass a plain function")
        self.budget()  # a window without room is said now, not with the first message
        self.archive = open_archive(archive)
        self._outside = Outside(self.archive, write, pre_compact, listeners)

    def budget(self, *, system: object = None, tools: object = None) -> Budget:
        """The limits of a call with this system text and these tools."""
        fixed = overhead(self._counter, system=system, tools=tools)
        window = self._model.window
        return Budget.of(window, self._reserve, fixed, trigger=self._policy.trigger, target=self._policy.target)

    def explain(self, messages: Sequence[Message] | None = None, *, system: object = None, tools: object = None) -> str:
        """Every term of the budget, a line each, and how the messages stand to it."""
        tokens = self._scan(messages).total if messages is not None else None
        lines = [f"model          {self.model}", f"counted by     {self._counter.explain()}"]
        return "\n".join([*lines, self.budget(system=system, tools=tools).explain(tokens)])

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

    def compact(
        self,
        messages: Sequence[Message],
        *,
        system: object = None,
        tools: object = None,
        target: float | None = None,
        instructions: str | None = None,
        plan: Plan | None = None,
    ) -> Compaction:
        """Brings the messages to the target, whatever the trigger says. They are not changed; a new list comes back.

        Args:
            messages: the transcript, in its provider's shape.
            system: system text that is sent beside the messages.
            tools: tool definitions.
            target: tokens of messages (int), or a share of theirs now (float below 1); the policy's where None.
            instructions: what the summary is to stress.
            plan: done as it is, instead of deciding anew; ``target`` then has no say.

        Raises:
            MessageError: the list is not one that its provider takes; says where, why and what to do.
            PlanError: the plan is of another transcript.
            ArchiveError: the originals cannot be kept; no model was asked.
            SummaryError: no summary, where the policy says that this is an error.
        """
        job = self._job(messages, self._aim(target, system, tools), instructions, plan)
        return run(compaction(job), self._outside)

    async def acompact(
        self,
        messages: Sequence[Message],
        *,
        system: object = None,
        tools: object = None,
        target: float | None = None,
        instructions: str | None = None,
        plan: Plan | None = None,
    ) -> Compaction:
        """``compact``, with hooks and a summarizer that may be asynchronous."""
        job = self._job(messages, self._aim(target, system, tools), instructions, plan)
        return await arun(compaction(job), self._outside)

    def restore(self, ref: str) -> list[dict[str, Any]]:
        """The whole original list of a compaction, equal to what it was and the same as JSON.

        Raises:
            ArchiveError: the archive knows no such ref.
        """
        return self.archive.load(ref)

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

    def _scan(self, messages: Sequence[Message]) -> Ledger:
        found = _core.detect(messages)
        provider = self._provider or (found if found in SHAPES else None) or self._model.provider
        return scan(messages, self._counter, provider)

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

    def _decide(self, ledger: Ledger, messages: Sequence[Message], target: int) -> Plan:
        from ._decide import decide  # noqa: PLC0415 - numpy comes with the first plan

        pins = _pinned(self.archive.pins(self.session), ledger, messages)
        binds = self._model.binds_thinking
        return decide(ledger, self._policy, target, pins=pins, binds_thinking=binds, frame=self._frame)

    @cached_property
    def _frame(self) -> int:
        """Most tokens of what stands around a summary: envelope, note, acknowledgement, and their two messages."""
        around = wrap("", ref="0" * 20, count=10**7)
        placed = [{"role": "user", "content": around}, {"role": "assistant", "content": ACKNOWLEDGED}]
        return int(self._counter.per_message(placed, provider="openai_chat").sum()) + 8

    def _job(
        self,
        messages: Sequence[Message],
        aim: Callable[[Ledger], int],
        instructions: str | None,
        plan: Plan | None,
    ) -> Job:
        taken = tuple(messages) if isinstance(messages, list | tuple) else messages
        ledger = self._scan(taken)
        target = aim(ledger)
        if plan is not None and plan.digest != ledger.digest:
            raise PlanError("the plan was made for another transcript; make a new one for these messages")
        return Job(
            given=messages,
            messages=tuple(taken),
            ledger=ledger,
            counter=self._counter,
            policy=self._policy,
            plan=lambda: plan or self._decide(ledger, taken, target),
            summarizer=self._summarizer,
            trigger="manual",
            session=self.session,
            exclusive=self._exclusive,
            redact=self._redact,
            instructions=instructions,
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


def _holds(value: object, text: str) -> bool:
    if isinstance(value, str):
        return text in value
    if isinstance(value, Mapping):
        return any(_holds(part, text) for part in value.values())
    return isinstance(value, list | tuple) and any(_holds(part, text) for part in value)
