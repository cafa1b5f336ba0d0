"""LiteLLM: a callback for its proxy, and a wrapper of ``completion`` and ``acompletion``.

Both are handed the whole history at each call and keep nothing: the last compaction stands in for the messages that it
was made of. ``metadata["session_id"]`` or ``litellm_session_id`` names a conversation, else its first messages do, so
that a new process goes on from an archive on disk.
"""

from __future__ import annotations

import hashlib
import sys
from collections import OrderedDict
from collections.abc import Mapping
from functools import wraps
from inspect import iscoroutinefunction
from threading import Lock
from typing import TYPE_CHECKING, Any

import litellm
from litellm.integrations.custom_logger import CustomLogger

from .._log import log, outline
from ..errors import Error
from .sessions import MOST, Conversation, Sessions, opening, refusal_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from ..models.model import Model
    from ..session.call import Fitted
    from ..session.compactor import Compactor

CHAT = frozenset({"completion", "acompletion"})
"""Kinds of the proxy's calls that have messages of Chat Completions."""


class Models:
    """The sessions of each model's calls; of one Compactor, if a model was given.

    Args:
        model: an id, a ``Model`` or a ``Compactor``; None makes a Compactor for each model that is called.
        options: keywords of a new ``Compactor``.

    Raises:
        TypeError: there are options beside a Compactor.
        ValueError: an option has an unknown value.
    """

    def __init__(self, model: str | Model | Compactor | None, options: dict[str, Any]) -> None:
        """Make the Compactor where none was given and the model is known."""
        self._options = options
        self._fixed = None if model is None else Sessions(model, options, "openai_chat")
        self._made: dict[str, Sessions] = {}
        self._lock = Lock()

    def compactor_of(self, model: str) -> Compactor:
        """Return the Compactor of a model's calls."""
        return self._of(model).compactor

    def conversation(self, model: str, data: Mapping[str, Any], owner: object = None) -> Conversation:
        """Return the conversation of a call.

        Args:
            model: the id that LiteLLM calls, not the name of a group of deployments.
            data: the call's keywords.
            owner: who calls; conversations of two callers are never the same.
        """
        name = _session_id(data) or opening(data["messages"])
        if owner:
            name = f"{name} {hashlib.sha256(str(owner).encode()).hexdigest()[:12]}"
        conversation = self._of(model).of(name)
        if conversation.session.budget().source == "assumed":  # a public table alone raises no window that is known
            known: Mapping[str, Any] = litellm.model_cost
            about = known.get(model) or known.get(model.rpartition("/")[2]) or {}
            conversation.learn_window(about.get("max_input_tokens"))
        return conversation

    def _of(self, model: str) -> Sessions:
        if self._fixed is not None:
            return self._fixed
        with self._lock:
            if model not in self._made:
                self._made[model] = Sessions(model, self._options, "openai_chat")
            return self._made[model]


class CompactionCallback(CustomLogger):
    """Keeps the chat calls of a LiteLLM proxy inside the model's context window.

    Tools count, and the usage of each answer is recorded. A prompt that the provider refuses as too long fails, and the
    client's next try is sent a smaller one. Callers with different keys never share a conversation. A call whose
    messages cannot be compacted is sent as it is.

    Args:
        model: an id, a ``Model`` or a ``Compactor`` for all calls; None: each call's own model.
        **options: keywords of a new ``Compactor``.

    Raises:
        TypeError: there are options beside a Compactor.
        ValueError: an option has an unknown value.
    """

    def __init__(self, model: str | Model | Compactor | None = None, **options: Any) -> None:
        """Make the Compactor where none was given and the model is known."""
        super().__init__()
        self._models = Models(model, options)
        # By call, what a smaller prompt is made of: the proxy hands back the compacted messages alone.
        self._calls: OrderedDict[str, tuple[Conversation, list[Any], Any]] = OrderedDict()

    def compactor_of(self, model: str) -> Compactor:
        """Return the Compactor of a model's calls: its history, pins and archive."""
        return self._models.compactor_of(model)

    async def async_pre_call_hook(self, user_api_key_dict: Any, cache: Any, data: Any, call_type: Any) -> Any:
        """Return the call with messages that fit."""
        del cache
        messages = data.get("messages")
        if call_type not in CHAT or not messages:
            return data
        module = sys.modules.get("litellm.proxy.proxy_server")
        try:
            model = served(getattr(module, "llm_router", None), str(data.get("model")))
            conversation = self._models.conversation(model, data, getattr(user_api_key_dict, "api_key", None))
            fitted = await conversation.afit(messages, tools=data.get("tools"))
        except Error as error:
            log.warning("a call of the proxy is sent as it is: %s", outline(error))
            return data
        if name := data.get("litellm_call_id"):
            self._calls[name] = (conversation, messages, data.get("tools"))
            while len(self._calls) > MOST:
                self._calls.popitem(last=False)
        return {**data, "messages": [*fitted.messages]}

    async def async_post_call_success_hook(self, data: Any, user_api_key_dict: Any, response: Any) -> Any:
        """Record the usage of the answer."""
        del user_api_key_dict
        if call := self._calls.pop(data.get("litellm_call_id"), None):
            call[0].record(getattr(response, "usage", None))
        return response

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncIterator[Any]:
        """Yield the parts of a streamed answer, and record the usage where one has it."""
        del user_api_key_dict
        call = self._calls.pop(str(request_data.get("litellm_call_id")), None)
        usage = None
        async for part in response:
            usage = getattr(part, "usage", None) or usage
            yield part
        if call:
            call[0].record(usage)

    async def async_post_call_failure_hook(
        self, request_data: Any, original_exception: Any, user_api_key_dict: Any, traceback_str: str | None = None
    ) -> Any:
        """Lower the window after a refusal as too long, so that the client's next try is smaller."""
        del user_api_key_dict, traceback_str
        call = self._calls.pop(request_data.get("litellm_call_id"), None)
        if call and refusal_in(original_exception) is not None:
            conversation, messages, tools = call
            try:
                await conversation.aoverflow(original_exception, messages, tools=tools)
            except Error as error:
                log.warning("the next try of a call is not smaller: %s", outline(error))


def wrap(
    completion: Callable[..., Any], model: str | Model | Compactor | None = None, **options: Any
) -> Callable[..., Any]:
    """Return ``completion`` with messages that fit; blocking or asynchronous as the given one, and streaming.

    Tools count, and the usage of each answer is recorded; of a stream, where a part has it. A call that the provider
    refuses as too long is repeated with a smaller prompt, also where a stream is refused at its first part. The
    result's ``compactor_of(model)`` returns the Compactor of a model's calls.

    Args:
        completion: ``litellm.completion`` or ``litellm.acompletion``, or that of a ``Router``.
        model: an id, a ``Model`` or a ``Compactor`` for all calls; None: each call's own model.
        **options: keywords of a new ``Compactor``.

    Raises:
        TypeError: there are options beside a Compactor.
        ValueError: an option has an unknown value.
    """
    models, router = Models(model, options), getattr(completion, "__self__", None)

    def begin(positional: tuple[Any, ...], given: dict[str, Any]) -> tuple[Conversation, dict[str, Any], Any]:
        """Return the conversation, and the call's keywords with the messages apart."""
        if len(positional) > 2:
            raise TypeError("pass everything but model and messages by keyword")
        data = {**dict(zip(("model", "messages"), positional, strict=False)), **given}
        conversation = models.conversation(served(router, data["model"]), data)
        return conversation, data, data.pop("messages")

    if iscoroutinefunction(completion):

        @wraps(completion)
        async def acall(*positional: Any, **given: Any) -> Any:
            conversation, data, messages = begin(positional, given)

            async def send(fitted: Fitted[Any]) -> Any:
                answer = await completion(messages=[*fitted.messages], **data)
                if not data.get("stream"):
                    conversation.record(getattr(answer, "usage", None))
                    return answer
                first = [part async for part in _first(answer)]
                return AsyncStream(answer, first, conversation)

            return await conversation.acall(send, messages, tools=data.get("tools"))

        acall.compactor_of = models.compactor_of  # type: ignore[attr-defined]
        return acall

    @wraps(completion)
    def call(*positional: Any, **given: Any) -> Any:
        conversation, data, messages = begin(positional, given)

        def send(fitted: Fitted[Any]) -> Any:
            answer = completion(messages=[*fitted.messages], **data)
            if not data.get("stream"):
                conversation.record(getattr(answer, "usage", None))
                return answer
            return Stream(answer, [part for _, part in zip(range(1), answer, strict=False)], conversation)

        return conversation.call(send, messages, tools=data.get("tools"))

    call.compactor_of = models.compactor_of  # type: ignore[attr-defined]
    return call


class Stream:
    """A streamed answer whose first part was read; all other attributes are those of LiteLLM's stream."""

    def __init__(self, stream: Any, first: list[Any], conversation: Conversation) -> None:
        """Take the stream, and what was read of it."""
        self._stream, self._first, self._conversation = stream, first, conversation
        self._usage: Any = None  # that of the last part that has one: some providers add up

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        """Return the next part; at the end, record the usage."""
        try:
            return self._seen(self._first.pop() if self._first else next(self._stream))
        except StopIteration:
            self._conversation.record(self._usage)
            raise

    def _seen(self, part: Any) -> Any:
        self._usage = getattr(part, "usage", None) or self._usage
        return part


class AsyncStream(Stream):
    """A streamed answer of ``acompletion`` whose first part was read."""

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        """Return the next part; at the end, record the usage."""
        try:
            return self._seen(self._first.pop() if self._first else await anext(self._stream))
        except StopAsyncIteration:
            self._conversation.record(self._usage)
            raise


async def _first(stream: Any) -> AsyncIterator[Any]:
    """Yield the first part of a stream, which some providers refuse no earlier than here."""
    try:
        yield await anext(stream)
    except StopAsyncIteration:
        return


def served(router: Any, name: str) -> str:
    """Return the id that a router calls for the name of a group of deployments: that of the first one."""
    found = router.get_model_list(model_name=name) if router is not None else None
    deployed = (found[0].get("litellm_params") or {}).get("model") if found else None
    return str(name if not deployed or "*" in deployed else deployed)


def _session_id(data: Mapping[str, Any]) -> str | None:
    """Return the session id of a call, as LiteLLM's logs have it."""
    for about in (data.get("metadata"), data.get("litellm_metadata"), {"session_id": data.get("litellm_session_id")}):
        if isinstance(about, Mapping) and (name := about.get("session_id")):
            return str(name)
    return None
