"""The stub as a model of Strands, and an agent with it."""

from __future__ import annotations

import json
from typing import Any

from strands import Agent, tool
from strands.models import Model as Interface
from strands.types.exceptions import ContextWindowOverflowException

from support.agents import Model, RefusedError, look


class Converse(Interface):
    """The stub as Strands calls models: a stream of Converse events.

    Args:
        stub: the stub.
        raw: whether a refusal is the provider's own error, and not that of Strands.
    """

    def __init__(self, stub: Model, *, raw: bool = False) -> None:
        self.stub, self.raw = stub, raw

    def update_config(self, **_: Any) -> None:
        pass

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, tool_specs: Any = None, system_prompt: Any = None, *_: Any, **__: Any) -> Any:
        sent = [{"role": message["role"], "content": message["content"]} for message in messages]
        try:
            answer = self.stub.answer(sent, [tool_specs, system_prompt], provider="bedrock")
        except RefusedError as error:
            if self.raw:
                raise
            raise ContextWindowOverflowException(str(error)) from error
        yield {"messageStart": {"role": "assistant"}}
        for word in answer.text.split():
            yield {"contentBlockDelta": {"delta": {"text": f"{word} "}}}
        if answer.text:
            yield {"contentBlockStop": {}}
        for call in answer.calls:
            yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": call.id, "name": call.name}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(call.input)}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if answer.calls else "end_turn"}}
        usage = {"inputTokens": answer.prompt, "outputTokens": 9, "totalTokens": answer.prompt + 9}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


def agent(stub: Model, manager: Any = None, *, raw: bool = False, tools: Any = None, **options: Any) -> Agent:
    return Agent(
        model=Converse(stub, raw=raw),
        tools=tools or [tool(look)],
        system_prompt="Be good.",
        conversation_manager=manager,
        callback_handler=None,
        **options,
    )
