"""The ``Compactor``: the settings with which conversations are kept inside their model's context window."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Self, TypeVar

from .._pickle import check_fields
from ..archive.names import UNNAMED, given_name
from ..archive.opener import Opener
from ..compaction.handler import EffectHandler
from ..compaction.listeners import AWAITS, Listeners, check_callable, is_async
from ..compaction.settings import Settings
from ..hooks import noop
from ..summarize import open_summarizer
from .memory import Memory, Stated
from .session import Session, own
from .state import check_state, load_state

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from ..archive import Archive
    from ..compaction.listeners import L
    from ..counting.counter import Counter
    from ..events import Event
    from ..hooks import PreCompact
    from ..models.model import Model
    from ..models.provider import Provider
    from ..planning.policy import Policy
    from ..summarize import Answer, Ask, Summarizer, Writer

P = ParamSpec("P")
T = TypeVar("T")


def _counts(client: object) -> object:
    """Return the method of a client that ``Count`` calls."""
    inputs = getattr(getattr(client, "responses", None), "input_tokens", None)
    return getattr(getattr(client, "messages", None), "count_tokens", None) or getattr(inputs, "count", None)


def _redacting(redact: Callable[[str], str] | None, hook: object, clock: object) -> Callable[[str], str] | None:
    """Return the caller's ``redact``, which must return a text; look at its other functions too.

    Raises:
        TypeError: one of them is no function, or must be plain and is not; names it.
    """
    check_callable("clock", clock, plain=True)
    if hook is not None:
        check_callable("pre_compact", hook)
    if redact is None:
        return None
    from ..archive.redact import returning_text  # noqa: PLC0415 - loaded for those who redact

    check_callable("redact", redact, plain=True)
    return returning_text(redact)


def _awaited(called: dict[str, object], settings: Settings, count_with: object) -> dict[str, str]:
    """Return the methods that cannot be called without ``await``, each with what has to be awaited in it."""
    what = next((name for name, function in called.items() if is_async(function)), None)
    awaits = dict.fromkeys(("fit", "compact", "overflow"), what) if what else {}
    if settings.policy.counter is not None and settings.policy.counter.asks and is_async(_counts(count_with)):
        awaits.setdefault("fit", "the counting client")
    return awaits


def _remade(options: dict[str, Any], listeners: list[tuple[str, Any]]) -> Compactor:
    """Return a Compactor with these arguments and listeners."""
    made = Compactor(**options)
    for event, function in listeners:
        made.on(event)(function)
    return made


class Compactor:
    """Keeps a transcript inside its model's context window.

    Args:
        model: an id, or a ``Model`` of your own. No other argument is required.
        provider: the messages' shape; detected where it is not given.
        window: tokens of input and output together. Without it: what a provider's refusal said, the agent's session
            file (``learn``), the framework's profile of the model (``learn_window``), our own table, public tables.
            ``explain`` says which.
        max_output: tokens kept free for the answer; at most 32,000 of the model's where it is not given.
        policy: a preset's name, or a ``Policy``; ``server`` and ``auto`` are ``default`` with that ``server``.
        trigger_share: share of the input budget past which compaction is due: the policy's ``trigger.share``, with the
            policy's own way to count (``agentpg`` and ``spec09`` divide by the whole window). None leaves this and the
            next five as the policy has them.
        target_budget_share: share of the input budget, less system text and tools, to come down to: the policy's
            ``target``. For ``default``, ``drop``, ``agentpg``.
        keep_turns: number of the user's newest requests that never leave; the messages behind them stay as far as the
            target has room. For ``default``, ``drop``.
        never_prune: names of tools whose results no placeholder replaces; a result may still leave with its message,
            into a summary. Takes the place of the policy's list. For policies that prune.
        max_result_tokens: most tokens of one tool result; the rest of a larger one is cut when it comes in, by
            ``ingest`` and, under ``default`` and ``drop``, by the first ``fit`` that sees it. The archive has the whole
            under the ref in the notice. Results of ``never_prune`` are not cut. For ``default``, ``drop``, ``sven``,
            ``sven_narrative``.
        keep_tag: name of the tag that keeps a span of a user's or the system's text: ``<keep>never push</keep>`` stays
            word by word, in the summary of its message. Empty for none, None for the policy's ``keep``.
        summarizer: ``offline`` (no text leaves the process), ``anthropic``, ``openai``, ``cmd:PROGRAM ...``, a value of
            ``trimtab.summarize``, or a callable from ``Ask`` to text, plain or async.
        archive: ``memory`` (lives with the Compactor), ``sqlite:///PATH``, ``postgresql://...``, or an ``Archive``. It
            is opened at the first need: a compaction, a pin, or a named session's first call.
        redact: a function that removes from a text what must not be stored or summarized. It runs over every text and
            key of the messages, pins, summaries, instructions and records, but not over the session's name. Messages
            that stay are not changed; messages that come back from the archive are redacted.
        thinking: how to treat thinking behind an edit, where the model binds it: ``strip`` removes it, ``mark`` keeps
            it, and every later request of ``fit`` says that the provider may drop it.
        pre_compact: a hook that is asked before anything is decided, and again with the plan; it may refuse or change
            the instructions.
        listeners: plain functions that are told each event; ``on`` adds functions for one event, coroutine functions
            too. The library's logger ``trimtab`` logs each event as well, without any text of a message.
        betas: beta flags of every call, or one as a text; one of them may widen the window.
        count_with: a client as in ``check``. ``fit`` asks its counting endpoint for the tokens of the messages if the
            policy's estimate ``asks``, as that of ``agentpg`` does; the estimate replaces an answer that fails. None
            asks no endpoint.
        clock: returns the time in seconds: how old the provider's cache is decides when pruning pays. Another one is
            for tests and for replays of a session.
        background: True, or a share of the trigger (True is 0.8): past it ``fit`` starts a summary in a thread, under
            ``afit`` with the summarizer in a task, and puts it in its place at the trigger, if the messages that it
            was made of still begin the list; later ones stay verbatim. Until it is ready a prompt may pass the
            trigger, never the danger line: there ``fit`` waits for it. It is the policy's
            ``trigger.background``.
        server: whether the provider's server compacts, where it can. True, or ``call``: ``fit`` decides as ever, and
            its request asks the server to do it in the model's own call. ``pass``: in a request of its own, whose
            answer stands for the messages that leave. ``auto``: whatever costs least. What a server cannot do is done
            here. It is the policy's ``server``; for Anthropic and OpenAI's Responses.

    Raises:
        ValueError: an unknown name, an argument that the policy has no field for, or a window without room for
            messages.
        TypeError: a hook, a listener, ``redact`` or ``clock`` is no function, or one that must be plain is
            asynchronous.
        ImportError: the summarizer's client is not installed.

    Examples:
        >>> messages = [{"role": "user", "content": f"step {n}: " + "words " * 50} for n in range(40)]
        >>> done = Compactor("claude-sonnet-5-5").compact(messages, target_share=0.5)
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
        trigger_share: float | None = None,
        target_budget_share: float | None = None,
        keep_turns: int | None = None,
        never_prune: Sequence[str] | None = None,
        max_result_tokens: int | None = None,
        keep_tag: str | None = None,
        summarizer: str | Writer | Summarizer | Callable[[Ask], str | Answer | Awaitable[str | Answer]] = "offline",
        archive: str | Archive = "memory",
        redact: Callable[[str], str] | None = None,
        thinking: Literal["strip", "mark"] = "strip",
        pre_compact: PreCompact | None = None,
        listeners: Iterable[Callable[[Event], None]] = (),
        betas: Iterable[str] = (),
        count_with: Any = None,
        clock: Callable[[], float] = time.time,
        background: bool | float | None = None,
        server: bool | Literal["", "call", "pass", "auto"] | None = None,
    ) -> None:
        """Open, read and write nothing."""
        betas, listeners = (betas,) if isinstance(betas, str) else tuple(betas), tuple(listeners)
        self._options = {name: value for name, value in locals().items() if name not in {"self", "__class__"}}
        knobs = {
            "trigger_share": trigger_share,
            "target_budget_share": target_budget_share,
            "keep_turns": keep_turns,
            "never_prune": never_prune,
            "max_result_tokens": max_result_tokens,
            "keep_tag": keep_tag,
            "background": background,
            "server": server,
        }
        name, writer = open_summarizer(summarizer)
        settings = Settings.of(
            model,
            policy,
            provider=provider,
            window=window,
            max_output=max_output,
            betas=betas,
            thinking=thinking,
            knobs={name: value for name, value in knobs.items() if value is not None},
            writer=writer,
            summarizer=name,
            session=self._new_name(),
            exclusive=False,
            redact=_redacting(redact, pre_compact, clock),
            clock=clock,
            count_with=count_with,
        )
        called = {"the summarizer": getattr(writer, "function", None), "the hook": pre_compact}
        self._awaits = _awaited(called, settings, count_with)
        self._settings = settings
        self.model = settings.model_id
        self._archive, self._stated = Opener(archive), Stated()
        self._handler = EffectHandler(self._archive, writer, pre_compact or noop, Listeners(listeners))
        self._session = Session(Memory(settings, self._handler, stated=self._stated), self._awaits)

    @staticmethod
    def _new_name() -> str:
        """Return the name of the Compactor's own session."""
        return given_name(None)

    def session(self, id: str | None = None, state: Mapping[str, Any] | None = None) -> Session:
        """Return a session: one conversation, with the settings and the archive of this Compactor.

        A named session finds its pins and its last result again in an archive that outlives the process (SQLite,
        PostgreSQL), restores and recalls only its own messages, and two compactions of it at a time are a conflict.
        An archive in memory ends with the process: then only ``state`` goes on, with the pins, and earlier originals
        are gone.

        Args:
            id: the conversation's name in the archive, of printable text; None makes a session without a name.
            state: what ``Session.state`` returned in this process or another; None begins anew, a session with a name
                with what the archive holds of it.

        Raises:
            ValueError: the name is empty, blank or not printable.
            ConfigError: the state is none, or of another session, model, policy or version; says what differs.
            ArchiveError: the pins of the state cannot be stored.
        """
        name = given_name(id) if state is None else check_state(state, self._settings, id)
        handler = replace(self._handler, listeners=Listeners(above=self._handler.listeners))
        settings = self._settings.of_session(name, exclusive=not name.startswith(UNNAMED))
        memory = Memory(settings, handler, stated=self._stated)
        if state is not None:
            load_state(memory, state)
        return Session(memory, self._awaits)

    def on(self, event: str) -> Callable[[L], L]:
        """Return a decorator that makes a function a listener of an event, in all sessions of this Compactor.

        The names are those of the classes in ``trimtab.events`` in lower case: ``compacted``, ``refused``,
        ``fellback``, ``backedoff``, ``usageignored``, ``servercompacted``, and ``step`` with its kinds. A coroutine
        function is awaited by ``afit``, ``acompact`` and ``aoverflow``; the blocking methods are a ``TypeError`` then.
        A listener is told after the fact: what it raises is logged, and changes nothing.

        Args:
            event: name of an event's class in lower case.

        Raises:
            ValueError: there is no such event; lists those that there are.

        Examples:
            >>> cm = Compactor("claude-sonnet-5-5")
            >>> @cm.on("compacted")
            ... def told(event):
            ...     print(event.trigger, event.tokens_after < event.tokens_before)
            >>> messages = [{"role": "user", "content": f"step {n}: " + "words " * 50} for n in range(40)]
            >>> ref = cm.compact(messages, target_share=0.5).ref
            manual True
        """

        def awaited() -> None:
            for method, what in AWAITS.items():
                self._awaits.setdefault(method, what)

        return self._handler.listeners.adds(event, awaited)

    def __reduce__(self) -> tuple[Callable[..., Compactor], tuple[dict[str, Any], list[tuple[str, Any]]]]:
        """Return what makes an equal Compactor in another process: the arguments; the session of its own stays here.

        Raises:
            TypeError: an argument cannot go there; names it.
        """
        if self._archive.where == "memory" and self._archive.opened is not None:
            raise TypeError("cannot pickle a Compactor with archive='memory' that holds originals: they would be lost")
        added = self._handler.listeners.added
        check_fields("Compactor", [*self._options.items(), *(("listener", function) for _, function in added)])
        return _remade, (self._options, added)

    def __repr__(self) -> str:
        """Return model, policy and window."""
        return f"Compactor({self.model!r}, policy={self.policy.name!r}, window={self._session.window_stated})"

    @property
    def archive(self) -> Archive:
        """The archive that holds the originals, opened.

        Raises:
            ArchiveError: the archive cannot be opened.
        """
        return self._archive.open()

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self._settings.policy

    @property
    def window(self) -> int:
        """The model's context window in tokens, input and output together, of the session of its own."""
        return self._session.window

    @property
    def counter(self) -> Counter:
        """The model's counter: of two vocabularies the one that agrees with the billed calls."""
        return self._session.counter

    budget = own(Session.budget)
    explain = own(Session.explain)
    count = own(Session.count)
    size = own(Session.size)
    check = own(Session.check)
    acheck = own(Session.acheck)
    plan = own(Session.plan)
    stats = own(Session.stats)
    compact = own(Session.compact)
    acompact = own(Session.acompact)
    fit = own(Session.fit)
    afit = own(Session.afit)
    overflow = own(Session.overflow)
    aoverflow = own(Session.aoverflow)
    record = own(Session.record)
    arecord = own(Session.arecord)
    ways = own(Session.ways)
    compact_here = own(Session.compact_here)
    learn = own(Session.learn)
    learn_window = own(Session.learn_window)
    ingest = own(Session.ingest)
    prune = own(Session.prune)
    restore = own(Session.restore)
    recall_tool = own(Session.recall_tool)
    history = own(Session.history)
    pin = own(Session.pin)

    def close(self) -> None:
        """End a summary in the background, and close the archive."""
        self._session.stop()
        self._archive.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
