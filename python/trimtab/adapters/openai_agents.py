"""The OpenAI Agents SDK: a filter for what each model call is sent, and a session that compacts what it stores.

The runner hands the filter the whole history at each call, so that one long run is protected; it keeps nothing that the
filter returns. A session is compacted between runs, and what it stores becomes short.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from agents import RunHooks
from agents.run import ModelInputData

from .sessions import MOST, Adapter, Conversation, Sessions, SharedLock, opening, session_name

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from agents.memory import Session
    from agents.run import CallModelData

    from ..models.model import Model
    from ..session.compactor import Compactor


FORCED = 0.5
"""Share of the items' tokens that a forced compaction aims at: below the trigger, the policy's target is no less."""


class InputFilter(Adapter):
    """Makes the input of each model call fit; ``model_input_filter`` describes the arguments.

    Attributes:
        sessions: the sessions of the Compactor, one a conversation.
        hooks: for ``Runner.run(..., hooks=)``: records the usage of each answer.
    """

    def __init__(self, sessions: Sessions, name: str | Callable[[Any], str] | None = None) -> None:
        """Take the sessions, and how a conversation is named."""
        self.sessions = sessions
        self.hooks: RunHooks[Any] = _Usage(self)
        self._name = name
        # A run may be a task of its own, whose conversation the caller's task does not see: then the last one counts.
        self._current: ContextVar[_Call | None] = ContextVar("trimtab_call", default=None)
        self._last: _Call | None = None
        self._open: OrderedDict[str, _Call] = OrderedDict()  # by conversation; without hooks, answered ones too

    @property
    def call(self) -> _Call | None:
        """The last call of this task, or of any."""
        return self._current.get() or self._last

    def answered(self, call: _Call) -> None:
        """Note that a call was answered: it is not the one that was refused."""
        if self._open.get(call.name) is call:
            del self._open[call.name]

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Return the input of a model call: the given items, or fewer."""
        items, instructions = data.model_data.input, data.model_data.instructions
        name = self._name(data.context) if callable(self._name) else self._name
        conversation = self.sessions.of(opening(items) if name is None else name)
        call = _Call(conversation, items, {"system": instructions, "tools": tools_of(data.agent)})
        self._last = self._open[call.name] = call
        self._open.move_to_end(call.name)
        while len(self._open) > MOST:
            self._open.popitem(last=False)
        self._current.set(call)
        fitted = await conversation.afit(items, **call.beside)
        return ModelInputData(input=[*fitted.messages], instructions=instructions)

    async def overflow(self, error: BaseException, *, session: str | None = None) -> None:
        """Lower the window after a refusal, so that the next run sends a smaller input. Then run again.

        The runner tells a filter nothing about errors, and repeats a call with the same input.

        Args:
            error: that ``Runner.run`` raised.
            session: the conversation's name, where several share the filter.

        Raises:
            ValueError: the error says nothing about a prompt's length, no call was made, or several conversations have
                calls without an answer and none is named.
            OverflowedError: too little can leave.
        """
        call = self._refused(session)
        await call.conversation.aoverflow(error, call.items, **call.beside)

    def _refused(self, session: str | None) -> _Call:
        """Return the call that was refused: of a conversation, else of this task, else the only one without answer."""
        if session is None and (current := self._current.get()) is not None:
            return current
        if session is None and len(self._open) > 1:
            names = ", ".join([*self._open][-3:])
            raise ValueError(f"several conversations called: name one by overflow(error, session=); the last: {names}")
        call = self._last if session is None else self._open.get(session_name(session))
        if call is None:
            raise ValueError("no model call was made with this filter" + ("" if session is None else f" by {session}"))
        return call


class _Call:
    """A model call: its conversation, the whole history, and system text and tools."""

    def __init__(self, conversation: Conversation, items: Sequence[Any], beside: Mapping[str, Any]) -> None:
        self.conversation, self.items, self.beside = conversation, items, beside

    @property
    def name(self) -> str:
        return self.conversation.session.id


class _Usage(RunHooks[Any]):
    """Records the usage of each answer."""

    def __init__(self, filter: InputFilter) -> None:
        self._filter = filter

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        """Record the usage of an answer."""
        del context, agent
        usage, call = response.usage, self._filter.call
        if call is None:
            return
        self._filter.answered(call)
        if usage.input_tokens:
            call.conversation.record(usage)


class CompactingSession(Adapter):
    """A session of the SDK that compacts what another one stores.

    It compacts before a run reads the items, and when the runner calls ``run_compaction``. One long run needs the
    filter as well: ``input_filter`` makes one that shares this session's memory.

    Args:
        session: stores the items, such as ``SQLiteSession``.
        model: an id, a ``Model``, or a ``Compactor``.
        agent: the agent whose instructions and tools count.
        **options: keywords of a new ``Compactor``.

    Attributes:
        session: the session that stores the items.
        sessions: holds the conversation, by ``session_id``.

    Raises:
        TypeError: there are options beside a Compactor.
        ValueError: an option has an unknown value.
    """

    def __init__(self, session: Session, model: str | Model | Compactor, *, agent: Any = None, **options: Any) -> None:
        """Make the Compactor where none was given."""
        self.session = session
        self.sessions = Sessions(model, options, "openai_responses")
        self._agent = agent
        self._lock = SharedLock()  # one use of what is stored at a time

    @property
    def session_id(self) -> str:
        """The id of the session that stores the items."""
        name: str = self.session.session_id
        return name

    @property
    def session_settings(self) -> Any:
        """The settings of the session that stores the items."""
        return getattr(self.session, "session_settings", None)

    def input_filter(self) -> InputFilter:
        """Return a filter for runs with this session: what it compacts, ``run_compaction`` stores."""
        return InputFilter(self.sessions, self.session_id)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the items, compacted; with a limit, the newest ones as they are stored."""
        if limit is None:
            await self.run_compaction()
        return await self._stored(limit)

    async def add_items(self, items: list[Any]) -> None:
        """Store items."""
        async with self._lock:
            await self.session.add_items(items)

    async def pop_item(self) -> Any:
        """Remove and return the newest item; None without any."""
        async with self._lock:
            return await self.session.pop_item()

    async def clear_session(self) -> None:
        """Remove all items, and forget the conversation. The archive keeps what it has."""
        self.sessions.forget(self.session_id)
        async with self._lock:
            await self.session.clear_session()

    async def run_compaction(self, args: Mapping[str, Any] | None = None) -> None:
        """Compact the stored items where their trigger is reached; those that come meanwhile stay behind the result.

        Args:
            args: of the runner; ``force`` halves their tokens below the trigger too.
        """
        items = await self._stored()
        if not items:
            return
        conversation = self._conversation
        made: Sequence[Any] = (await conversation.afit(items, **self._beside)).messages
        if made is items and args and args.get("force"):
            made = (await conversation.session.acompact(items, target_share=FORCED, **self._beside)).messages
        await self._store(items, made)

    async def overflow(self, error: BaseException) -> None:
        """Lower the window after a refusal, and store a smaller list. Then run again.

        Args:
            error: that ``Runner.run`` raised.

        Raises:
            ValueError: the error says nothing about a prompt's length.
            OverflowedError: too little can leave.
        """
        items = await self._stored()
        fitted = await self._conversation.aoverflow(error, items, **self._beside)
        await self._store(items, fitted.messages)

    @property
    def _conversation(self) -> Conversation:
        return self.sessions.of(self.session_id)

    @property
    def _beside(self) -> dict[str, Any]:
        instructions = getattr(self._agent, "instructions", None)
        tools = tools_of(self._agent) if self._agent is not None else None
        return {"system": instructions if isinstance(instructions, str) else None, "tools": tools}

    async def _stored(self, limit: int | None = None) -> list[Any]:
        """Return what is stored, never in the middle of a change."""
        async with self._lock:
            items: list[Any] = await self.session.get_items(limit)
            return items

    async def _store(self, items: list[Any], made: Sequence[Any]) -> None:
        """Replace the items."""
        if made is not items and [*made] != items:
            await _finished(self._replace(items, made))

    async def _replace(self, items: list[Any], made: Sequence[Any]) -> None:
        """Replace the items at the beginning of what is stored, if they still are; if that fails, put all back."""
        async with self._lock:
            stored = await self.session.get_items()
            if stored[: len(items)] != items:  # another run took one away, or stored a result
                return
            try:
                await self.session.clear_session()
                await self.session.add_items([*made, *stored[len(items) :]])
            except BaseException:
                await self.session.clear_session()
                await self.session.add_items(stored)
                raise


async def _finished(work: Coroutine[Any, Any, None]) -> None:
    """Wait until the work is done; a cancellation waits as well, so that it never stops between two steps."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def model_input_filter(
    model: str | Model | Compactor, *, session: str | Callable[[Any], str] | None = None, **options: Any
) -> InputFilter:
    """Return a filter for ``RunConfig(call_model_input_filter=)``, which makes the input of each model call fit.

    Instructions and tools count. A process that was started anew goes on from an archive on disk.

    Args:
        model: an id, a ``Model``, or a ``Compactor``.
        session: the conversation's name, or a function that returns it from the run's context. None tells conversations
            apart by their first message.
        **options: keywords of a new ``Compactor``.

    Raises:
        TypeError: there are options beside a Compactor.
        ValueError: an option has an unknown value.
    """
    return InputFilter(Sessions(model, options, "openai_responses"), session)


def tools_of(agent: Any) -> list[dict[str, Any]] | None:
    """Return the tools and handoffs of an agent as they are sent; of a tool that the provider runs, its name."""
    tools = [
        {
            "type": "function",
            "name": tool.name,
            "description": getattr(tool, "description", "") or "",
            "parameters": getattr(tool, "params_json_schema", None) or {},
        }
        for tool in agent.tools
    ]
    for handoff in getattr(agent, "handoffs", ()):
        name = getattr(handoff, "tool_name", None) or f"transfer_to_{getattr(handoff, 'name', 'agent')}"
        about = getattr(handoff, "tool_description", None) or getattr(handoff, "handoff_description", None) or ""
        tools.append({"type": "function", "name": name, "description": about, "parameters": {}})
    return tools or None


def compacts_when_due(model: str | Model | Compactor, **options: Any) -> Callable[[dict[str, Any]], bool]:
    """Return the decision of the SDK's ``OpenAIResponsesCompactionSession``: by tokens and money, not by items.

    For ``should_trigger_compaction=``. The SDK's own decision compacts from ten items on, whatever they hold. This one
    does so past the policy's trigger, if what leaves is worth more until the next time than the server's pass costs;
    past the input budget in any case.

    Args:
        model: an id, a ``Model``, or a ``Compactor``.
        **options: keywords of a new ``Compactor``.

    Raises:
        TypeError: there are options beside a Compactor.

    Examples:
        >>> due = compacts_when_due("gpt-5.5")
        >>> due({"session_items": [{"role": "user", "content": "hello"}] * 40})
        False
    """
    sessions = Sessions(model, options, "openai_responses")

    def is_due(context: dict[str, Any]) -> bool:
        items = context["session_items"]
        session = sessions.compactor.session()
        pressed = session.size(items).pressure
        if not pressed.is_past_trigger or pressed.is_danger:
            return bool(pressed.is_danger)
        way = next((way for way in session.ways(items) if way.way == "pass"), None)
        return way is None or way.pays is not False

    return is_due
