"""LlamaIndex: a function agent and a memory whose model calls fit, and an exact tokenizer for LlamaIndex's memories.

An agent keeps the messages of a run beside its memory, so that a memory alone protects the beginning of a run. The
agent compacts both before each call; the memory keeps everything, and what was compacted stands in for it. Chat engines
have no such messages: for them the memory is enough.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock
from llama_index.core.memory.types import BaseChatStoreMemory
from pydantic import Field, PrivateAttr

from .mirror import PROVIDER, call, mirrored, returned
from .sessions import Conversation, Sessions, counter_of, opening

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..models.model import Model
    from ..session.call import Fitted
    from ..session.compactor import Compactor

STATE = "trimtab "
"""Beginning of the key of the state in the context's store, before the agent's name."""


class CompactingFunctionAgent(FunctionAgent):
    """A function agent whose prompts stay inside the model's context window.

    Before each model call the memory and the messages of the run are compacted together. System prompt and tools count.
    A call that the provider refuses as too long is repeated with a smaller list. The state is in the context.

    Args:
        compactor: an id, a ``Model``, or a ``Compactor``.
        **options: those of ``FunctionAgent``.

    Raises:
        ValueError: an option has an unknown value.
    """

    compactor: Any = Field(exclude=True, description="The id of the model, a Model, or a Compactor")
    _sessions: Sessions = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Make the Compactor where none was given."""
        super().model_post_init(context)
        given = self.compactor
        self._sessions = Sessions(given, {}, PROVIDER)
        self.compactor = self._sessions.compactor

    async def take_step(self, ctx: Any, llm_input: list[Any], tools: Sequence[Any], memory: Any) -> Any:
        """Take a step with messages that fit; the run's own are put back behind it."""
        place, key = STATE + self.name, self.scratchpad_key
        run = await ctx.store.get(key, default=[])
        name = getattr(memory, "session_id", None)
        conversation = self._sessions.of(name and f"{name} {self.name}", await ctx.store.get(place, default=None))
        plain = mirrored([*llm_input, *run], _read)
        step = super().take_step

        async def send(fitted: Fitted[Any]) -> Any:
            await ctx.store.set(key, [])
            return await step(ctx, returned(plain, fitted.messages, _change, _make), tools, memory)

        try:
            schemas = [tool.metadata.to_openai_tool() for tool in tools]
            output = await conversation.acall(send, plain, tools=schemas or None)
            await ctx.store.set(key, [*run, *await ctx.store.get(key, default=[])])
        except BaseException:  # a cancelled run goes on from here too
            await ctx.store.set(key, run)
            raise
        raw = output.raw if isinstance(output.raw, dict) else {}
        conversation.record(raw.get("usage") or raw.get("usage_metadata"))
        await ctx.store.set(place, conversation.state())
        return output


class CompactingMemory(BaseChatStoreMemory):
    """A memory that keeps everything, and hands out a history that fits the model's context window.

    What leaves a prompt is in the Compactor's archive. A memory is told nothing of the rest of a prompt and of usage:
    its history is counted, never corrected. With ``chat_store`` and ``state`` of an earlier one it goes on from there.

    Args:
        compactor: an id, a ``Model``, or a ``Compactor``.
        instructions: system text of the prompt, which counts.
        tools: tools of the prompt in OpenAI's shape, which count.
        session_id: name of the conversation in the archive; None finds it by how the history begins.
        state: of the session, as of an earlier memory.
        **options: those of LlamaIndex's memories: ``chat_store``, ``chat_store_key``.

    Raises:
        ValueError: an option has an unknown value.
    """

    compactor: Any = Field(exclude=True, description="The id of the model, a Model, or a Compactor")
    instructions: str | None = None
    tools: list[Any] | None = None
    session_id: str | None = None
    state: dict[str, Any] | None = None
    _sessions: Sessions = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Make the Compactor where none was given."""
        super().model_post_init(context)
        self._sessions = Sessions(self.compactor, {}, PROVIDER)
        self.compactor = self._sessions.compactor

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex stores it."""
        return "CompactingMemory"

    @classmethod
    def from_defaults(
        cls,
        chat_history: list[ChatMessage] | None = None,
        llm: Any = None,  # noqa: ARG003 - the window is that of `compactor`
        **options: Any,
    ) -> Self:
        """Return a memory with a history."""
        memory = cls(**options)
        if chat_history:
            memory.set(chat_history)
        return memory

    def get(self, input: str | None = None, **options: Any) -> list[ChatMessage]:  # noqa: ARG002 - LlamaIndex's
        """Return the history, or what stands in for it.

        Raises:
            MessageError: no provider takes the history.
        """
        history = self.get_all()
        plain, conversation = self._read(history)
        fitted = conversation.fit(plain, system=self.instructions, tools=self.tools) if plain else None
        return self._returned(history, plain, conversation, fitted)

    async def aget(self, input: str | None = None, **options: Any) -> list[ChatMessage]:  # noqa: ARG002 - LlamaIndex's
        """Return the history as ``get`` does; the hooks and the summarizer may be asynchronous."""
        history = await self.aget_all()
        plain, conversation = self._read(history)
        fitted = await conversation.afit(plain, system=self.instructions, tools=self.tools) if plain else None
        return self._returned(history, plain, conversation, fitted)

    def reset(self) -> None:
        """Forget the history and the state; the archive keeps what it has."""
        super().reset()
        self.state = None

    async def areset(self) -> None:
        """Forget the history and the state; the archive keeps what it has."""
        await super().areset()
        self.state = None

    def _read(self, history: Sequence[Any]) -> tuple[list[dict[str, Any]], Conversation]:
        plain = mirrored(history, _read)
        return plain, self._sessions.of(self.session_id or opening(plain), self.state)

    def _returned(
        self, history: list[ChatMessage], plain: Sequence[Any], conversation: Conversation, fitted: Fitted[Any] | None
    ) -> list[ChatMessage]:
        if fitted is None:
            return history
        self.state = conversation.state()
        return history if fitted.messages is plain else returned(plain, fitted.messages, _change, _make)


def tokenizer(model: str | Model | Compactor) -> Callable[[str], range]:
    """Return a ``tokenizer_fn`` for LlamaIndex's memories, which ask for the length of what it returns alone.

    Args:
        model: an id, a ``Model``, or a ``Compactor``.
    """
    counter = counter_of(model)
    return lambda text: range(counter.count(text))


def _read(message: Any) -> dict[str, Any]:
    """Return a message as one of Chat Completions."""
    texts = [part for block in message.blocks for part in _parts(block)]
    is_text = all(part["type"] == "text" for part in texts)
    role = message.role.value
    role = {"chatbot": "assistant", "model": "assistant", "function": "tool"}.get(role, role)
    plain: dict[str, Any] = {
        "role": role,
        "content": "\n".join(part["text"] for part in texts) if is_text else texts,
    }
    if thinking := "".join(block.content or "" for block in message.blocks if isinstance(block, ThinkingBlock)):
        plain["reasoning_content"] = thinking
    calls = [
        call(block.tool_call_id, block.tool_name, block.tool_kwargs)
        for block in message.blocks
        if isinstance(block, ToolCallBlock)
    ]
    older = [] if calls else message.additional_kwargs.get("tool_calls") or []
    calls += [each if isinstance(each, dict) else each.model_dump() for each in older]
    if calls:
        plain["tool_calls"] = calls
    if role == "tool":
        plain["tool_call_id"] = str(message.additional_kwargs.get("tool_call_id") or "")
    return plain


def _parts(block: Any) -> list[dict[str, Any]]:
    """Return the content of a block; of kinds that stand elsewhere in the message none."""
    match block.block_type:
        case "text":
            return [{"type": "text", "text": block.text}]
        case "image":
            return [{"type": "image_url", "image_url": {"url": _url(block)}}]
        case "tool_call" | "thinking" | "cache":
            return []
        case _:
            return [{"type": "text", "text": block.model_dump_json()}]


def _url(block: ImageBlock) -> str:
    """Return a picture as a URL."""
    if block.url is not None:
        return str(block.url)
    data = block.resolve_image(as_base64=True).read().decode()
    return f"data:{block.image_mimetype or 'image/png'};base64,{data}"


def _change(original: Any, message: Mapping[str, Any]) -> Any:
    """Return the original with other content, other calls, or without its thinking."""
    before, content = _read(original), message.get("content")
    # Thinking without a text, as of encrypted reasoning, is in no plain message: it goes with all the rest.
    keeps_thinking = "reasoning_content" in message or (
        "reasoning_content" not in before and bool(content or message.get("tool_calls"))
    )
    stays = [
        block
        for block in original.blocks
        if (isinstance(block, ThinkingBlock) and keeps_thinking)
        or (content == before["content"] and not isinstance(block, ThinkingBlock | ToolCallBlock))
    ]
    if content != before["content"]:
        pictures = {_url(block): block for block in original.blocks if isinstance(block, ImageBlock)}
        stays += [_block(part, pictures) for part in (content if isinstance(content, list) else [content or ""])]
    known = {block.tool_call_id: block for block in original.blocks if isinstance(block, ToolCallBlock)}
    calls = message.get("tool_calls") or [] if known else []
    stays += [known[each["id"]] if each in before["tool_calls"] else _call(each) for each in calls]
    return original.model_copy(update={"blocks": stays})


def _block(part: Any, pictures: Mapping[str, Any]) -> Any:
    if isinstance(part, str):
        return TextBlock(text=part)
    if part["type"] == "image_url":
        return pictures[part["image_url"]["url"]]
    return TextBlock(text=part["text"])


def _call(made: Mapping[str, Any]) -> Any:
    function = made["function"]
    arguments = json.loads(function["arguments"] or "{}")
    return ToolCallBlock(tool_call_id=made["id"], tool_name=function["name"], tool_kwargs=arguments)


def _make(message: Mapping[str, Any]) -> Any:
    """Return a new message."""
    content = message.get("content") or ""
    blocks = [_block(part, {}) for part in (content if isinstance(content, list) else [content])]
    more = {"tool_call_id": message["tool_call_id"]} if "tool_call_id" in message else {}
    blocks += [_call(each) for each in message.get("tool_calls") or ()]
    return ChatMessage(role=str(message["role"]), blocks=blocks, additional_kwargs=more)
