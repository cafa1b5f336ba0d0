"""The front door: everything that keeps one agent's transcript inside its window."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Self

from . import _core
from ._budget import Budget
from ._counter import Counter, overhead, scan
from ._flow import Commit, Compaction, Job, Store, Write, arun, check, compaction, run
from ._log import log
from ._models import Model
from ._policy import Policy
from .archive import open_archive
from .hooks import PreCompact, Review
from .policies import POLICIES
from .summarize import open_summarizer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from ._flow import Want
    from ._ledger import Ledger
    from ._messages import Message, Provider
    from ._plan import Plan
    from .archive import Archive
    from .events import Event
    from .summarize import Ask, Summarizer


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
        summarizer: ``offline`` (no text leaves the process), or a callable from ``Ask`` to text, plain or async.
        archive: ``memory`` (lives with the Compactor), ``sqlite:///PATH``, or an ``Archive``.
        pre_compact: asked before anything is decided, and again with the plan; may refuse or change the instructions.
        listeners: told what happened.

    Raises:
        ValueError: a name that there is not, or a window without room.
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
        summarizer: str | Summarizer | Callable[[Ask], str | Awaitable[str]] = "offline",
        archive: str | Archive = "memory",
        pre_compact: PreCompact | None = None,
        listeners: Iterable[Callable[[Event], None]] = (),
    ) -> None:
        """Opens the archive; reads and writes nothing else."""
        known = Model.named(model, window=window) if isinstance(model, str) else model
        self.model = known.name if not isinstance(model, str) else model
        self._model = known
        self._counter = Counter.for_model(known)
        self._reserve = max_output or min(known.max_output, RESERVE)
        self._provider = provider
        self._policy = _policy(policy)
        self._archive = open_archive(archive)
        self._summarizer, write = open_summarizer(summarizer)
        self._outside = _Outside(self._archive, {self._summarizer: write}, pre_compact, tuple(listeners))
        self.budget()  # a window without room is said now, not with the first message

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
        return self._decide(ledger, messages, self._target(target, ledger, system, tools))

    def compact(
        self,
        messages: Sequence[Message],
        *,
        system: object = None,
        tools: object = None,
        target: float | None = None,
        instructions: str | None = None,
    ) -> Compaction:
        """Brings the messages to the target, whatever the trigger says. They are not changed; a new list comes back.

        Args:
            messages: the transcript, in its provider's shape.
            system: system text that is sent beside the messages.
            tools: tool definitions.
            target: tokens of messages (int), or a share of theirs now (float below 1); the policy's where None.
            instructions: what the summary is to stress.

        Raises:
            MessageError: the list is not one that its provider takes; says where, why and what to do.
            ArchiveError: the originals cannot be kept; no model was asked.
            SummaryError: no summary, where the policy says that this is an error.
        """
        return run(compaction(self._job(messages, system, tools, target, instructions)), self._outside)

    async def acompact(
        self,
        messages: Sequence[Message],
        *,
        system: object = None,
        tools: object = None,
        target: float | None = None,
        instructions: str | None = None,
    ) -> Compaction:
        """``compact``, with hooks and a summarizer that may be asynchronous."""
        return await arun(compaction(self._job(messages, system, tools, target, instructions)), self._outside)

    def restore(self, ref: str) -> list[dict[str, Any]]:
        """The whole original list of a compaction, equal to what it was and the same as JSON.

        Raises:
            ArchiveError: the archive knows no such ref.
        """
        return self._archive.load(ref)

    def pin(self, what: Message | str) -> None:
        """Keeps a message, or every message that holds a text, verbatim from now on.

        Args:
            what: a message as it stands in the list, or a text.

        Raises:
            MessageError: the message cannot be read.
            ValueError: an empty text would pin everything.
        """
        if not isinstance(what, str):
            self._archive.pin("message", self._scan([what]).digest_of(0))
        elif what.strip():
            self._archive.pin("text", json.dumps(what))
        else:
            msg = "an empty text is in every message: pin a text of at least one word"
            raise ValueError(msg)

    def close(self) -> None:
        """Closes the archive; nothing else is held open."""
        self._archive.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _scan(self, messages: Sequence[Message]) -> Ledger:
        provider = self._provider or _core.detect(messages) or self._model.provider
        return scan(messages, self._counter, provider)

    def _target(self, target: float | None, ledger: Ledger, system: object, tools: object) -> int:
        if target is None:
            return self.budget(system=system, tools=tools).target
        if isinstance(target, bool) or not isinstance(target, int | float):
            msg = f"target must be a number, got {type(target).__name__}"
            raise TypeError(msg)
        if isinstance(target, float) and 0 < target < 1:
            return max(int(ledger.total * target), 1)
        if not (math.isfinite(target) and target >= 1 and target == int(target)):
            msg = f"target must be tokens (1 and more) or a share between 0 and 1, got {target}"
            raise ValueError(msg)
        return int(target)

    def _decide(self, ledger: Ledger, messages: Sequence[Message], target: int) -> Plan:
        from ._decide import decide  # noqa: PLC0415 - numpy comes with the first plan

        pins = _pinned(self._archive.pins(), ledger, messages)
        return decide(ledger, self._policy, target, pins=pins, binds_thinking=self._model.binds_thinking)

    def _job(
        self, messages: Sequence[Message], system: object, tools: object, target: float | None, instructions: str | None
    ) -> Job:
        ledger = self._scan(messages)
        aim = self._target(target, ledger, system, tools)
        return Job(
            messages=messages,
            ledger=ledger,
            counter=self._counter,
            policy=self._policy,
            plan=lambda: self._decide(ledger, messages, aim),
            summarizer=self._summarizer,
            trigger="manual",
            instructions=instructions,
        )


def _policy(policy: str | Policy) -> Policy:
    if isinstance(policy, Policy):
        return policy
    if policy not in POLICIES:
        msg = f"unknown policy {policy!r}, known are {', '.join(POLICIES)}"
        raise ValueError(msg)
    return POLICIES[policy]


def _pinned(pins: Iterable[tuple[str, str]], ledger: Ledger, messages: Sequence[Message]) -> list[int]:
    """Positions of the pinned messages: by digest, and by text anywhere in them."""
    pins = tuple(pins)
    found = set(ledger.find(value for kind, value in pins if kind == "message"))
    if texts := [json.loads(value) for kind, value in pins if kind == "text"]:
        found |= {index for index, message in enumerate(messages) if any(_holds(message, text) for text in texts)}
    return sorted(found)


def _holds(value: object, text: str) -> bool:
    if isinstance(value, str):
        return text in value
    if isinstance(value, dict):
        return any(_holds(part, text) for part in value.values())
    return isinstance(value, list) and any(_holds(part, text) for part in value)


class _Outside:
    """Answers a flow's wants: asks the hook, keeps the archive, calls the summarizer, tells the listeners."""

    def __init__(
        self,
        archive: Archive,
        summarizers: dict[str, Summarizer],
        pre_compact: PreCompact | None,
        listeners: tuple[Callable[[Event], None], ...],
    ) -> None:
        self._archive = archive
        self._summarizers = summarizers
        self._pre_compact = pre_compact
        self._listeners = listeners

    def answer(self, want: Want) -> object:
        match want:
            case Review():
                return self._pre_compact(want) if self._pre_compact else None
            case Store(messages):
                return self._archive.store(messages)
            case Write(ask, name):
                if name not in self._summarizers:
                    self._summarizers[name] = open_summarizer(name)[1]
                return self._summarizers[name](ask)
            case Commit(record):
                self._archive.commit(record)
            case event:
                self._tell(event)
        return None

    def _tell(self, event: Event) -> None:
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:  # noqa: BLE001 - told after the fact: a listener cannot undo it
                log.exception("a listener raised on %s", type(event).__name__)
