"""Other libraries before a model call, below their triggers, for ``bench-loop``; those not installed are named.

Each is given the same messages in its own types: ``extend`` takes new ones, ``turn`` is what is timed.
"""

from __future__ import annotations

import os
from importlib.metadata import version
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol

import _loop_lists
import _rivals

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator

    from _loop_lists import Message, Said

NEVER = 10**9
"""Tokens that no list has."""


class Turns(Protocol):
    """One conversation in a library's own types."""

    def extend(self, new: Iterable[Said]) -> None: ...

    def turn(self) -> object: ...


def texts(message: Message) -> Iterator[str]:
    """The texts of a message in Anthropic's or OpenAI's shape."""
    content = message["content"]
    if isinstance(content, str):
        yield content
        return
    for part in content:
        fields = part if isinstance(part, dict) else part.__dict__
        found = fields.get("text") or fields.get("content")
        yield found if isinstance(found, str) else str(fields.get("input"))


class Length:
    """``len(text) // 4`` of every text."""

    def __init__(self, shape: str) -> None:
        self.make, self.messages = _loop_lists.SHAPES[shape], []

    def extend(self, new: Iterable[Said]) -> None:
        self.messages += map(self.make, new)

    def turn(self) -> int:
        return sum(len(text) // 4 for message in self.messages for text in texts(message))


class Tiktoken(Length):
    """tiktoken, with a dict of the counts of texts that it has seen."""

    def __init__(self, shape: str) -> None:
        import tiktoken

        super().__init__(shape)
        os.environ["TIKTOKEN_CACHE_DIR"] = str(_rivals.FOLDER / "tiktoken")
        self.encode, self.seen = tiktoken.get_encoding("o200k_base").encode_ordinary, {}

    def turn(self) -> int:
        seen, total = self.seen, 0
        for message in self.messages:
            for text in texts(message):
                count = seen.get(text)
                if count is None:
                    count = seen[text] = len(self.encode(text))
                total += count
        return total


class LangChain:
    """``SummarizationMiddleware`` below its trigger."""

    def __init__(self, shape: str) -> None:
        from langchain.agents.middleware import SummarizationMiddleware
        from langchain_core.language_models.fake_chat_models import FakeListChatModel

        self.plain, self.messages = shape == "strings", []
        self.middleware = SummarizationMiddleware(FakeListChatModel(responses=["ok"]), trigger=("tokens", NEVER))

    def extend(self, new: Iterable[Said]) -> None:
        from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

        for one in new:
            if one.role == "assistant":
                call = {"name": "tool_3", "args": {"path": f"src/file_{one.number % 977}.py"}, "id": one.call}
                self.messages.append(AIMessage(one.text, tool_calls=[] if self.plain else [call]))
            elif self.plain or one.number == 0:
                self.messages.append(HumanMessage(one.text))
            else:
                self.messages.append(ToolMessage(one.text, tool_call_id=one.call))

    def turn(self) -> object:
        return self.middleware.before_model({"messages": self.messages}, None)


class Trim(LangChain):
    """``trim_messages`` with LangChain's approximate counter, below its limit."""

    def turn(self) -> object:
        from langchain_core.messages import trim_messages

        return trim_messages(self.messages, max_tokens=NEVER, token_counter="approximate")


class Harness:
    """``SlidingWindowCompaction`` of pydantic-ai-harness below its trigger; without usage it counts the whole list."""

    billed = False

    def __init__(self, shape: str) -> None:
        from pydantic_ai_harness.compaction import SlidingWindowCompaction

        self.plain, self.messages = shape == "strings", []
        self.hook = SlidingWindowCompaction(max_tokens=NEVER).before_model_request
        self.request = SimpleNamespace(model=None, model_request_parameters=None)

    def extend(self, new: Iterable[Said]) -> None:
        from pydantic_ai import messages as types
        from pydantic_ai.usage import RequestUsage

        for one in new:
            if one.role == "assistant":
                call = types.ToolCallPart("tool_3", {"path": f"src/file_{one.number % 977}.py"}, one.call)
                parts = [types.TextPart(one.text), *([] if self.plain else [call])]
                usage = RequestUsage(input_tokens=40 * one.number, output_tokens=40) if self.billed else RequestUsage()
                self.messages.append(types.ModelResponse(parts, usage=usage))
            elif self.plain or one.number == 0:
                self.messages.append(types.ModelRequest([types.UserPromptPart(one.text)]))
            else:
                self.messages.append(types.ModelRequest([types.ToolReturnPart("tool_3", one.text, one.call)]))

    def turn(self) -> object:
        return finish(self.hook(SimpleNamespace(model=None, messages=self.messages), self.request))


class BilledHarness(Harness):
    """The same with the usage of each answer."""

    billed = True


class AgentFramework:
    """``TokenBudgetComposedStrategy`` of Agent Framework below its budget."""

    def __init__(self, shape: str) -> None:
        from agent_framework import CharacterEstimatorTokenizer, SlidingWindowStrategy, TokenBudgetComposedStrategy

        self.plain, self.messages = shape == "strings", []
        strategies = [SlidingWindowStrategy(keep_last_groups=40)]
        tokenizer = CharacterEstimatorTokenizer()
        self.strategy = TokenBudgetComposedStrategy(token_budget=NEVER, tokenizer=tokenizer, strategies=strategies)

    def extend(self, new: Iterable[Said]) -> None:
        from agent_framework import Content, Message

        for one in new:
            if one.role == "assistant":
                call = Content.from_function_call(one.call, "tool_3", arguments={"path": "src/file.py"})
                self.messages.append(Message("assistant", [one.text, *([] if self.plain else [call])]))
            elif self.plain or one.number == 0:
                self.messages.append(Message("user", [one.text]))
            else:
                self.messages.append(Message("tool", [Content.from_function_result(one.call, result=one.text)]))

    def turn(self) -> object:
        return finish(self.strategy(self.messages))


def finish(coroutine: Coroutine[Any, Any, object]) -> object:
    """Run a coroutine that waits for nothing, without the cost of an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("the coroutine waits")


RIVALS: dict[str, tuple[str, Callable[[str], Turns]]] = {
    "LangChain": ("langchain", LangChain),
    "trim_messages": ("langchain", Trim),
    "harness": ("pydantic-ai-harness", Harness),
    "harness, usage": ("pydantic-ai-harness", BilledHarness),
    "Agent Framework": ("agent-framework-core", AgentFramework),
    "tiktoken, dict": ("tiktoken", Tiktoken),
    "len // 4": ("", Length),
}
"""By column: the package, and one conversation of it in a shape."""


def installed() -> dict[str, str]:
    """Version of the package of each column that can be used; prints a line for each that cannot."""
    found: dict[str, str] = {}
    for column, (package, conversation) in RIVALS.items():
        try:
            turns = conversation("blocks")
            turns.extend(_loop_lists.said(0, 3))
            turns.turn()
            found[column] = version(package) if package else ""
        except Exception as error:  # noqa: BLE001 - it is not installed, or a release with other names
            print(f"skipped: {column}: {type(error).__name__}: {error}")
    return found
