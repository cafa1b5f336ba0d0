"""The stub as a model of Google's ADK, and a runner with it."""

from __future__ import annotations

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps.app import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.genai import types

from support.agents import Model, look

RUNS = {
    streamed: RunConfig(max_llm_calls=0, streaming_mode=StreamingMode.SSE if streamed else StreamingMode.NONE)
    for streamed in (False, True)
}


class Gemini(BaseLlm):
    """The stub as ADK calls models."""

    model: str = "stub"
    stub: Any

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        contents = [content.model_dump(exclude_none=True, mode="json") for content in llm_request.contents]
        config = llm_request.config.model_dump(exclude_none=True, mode="json")
        answer = self.stub.answer(contents, [config.get("tools"), config.get("system_instruction")], provider="gemini")
        if stream and answer.text:
            yield LlmResponse(content=types.ModelContent(answer.text[:4]), partial=True)
        parts = [types.Part.from_function_call(name=call.name, args=call.input) for call in answer.calls]
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=answer.prompt, candidates_token_count=9, total_token_count=answer.prompt + 9
        )
        said = [types.Part(text=answer.text)] if answer.text else []
        yield LlmResponse(content=types.ModelContent([*said, *parts]), usage_metadata=usage)


def runner(stub: Model, service: Any, *plugins: Any, **options: Any) -> Runner:
    tools = options.pop("tools", [look])
    agent = LlmAgent(name="looker", model=Gemini(stub=stub), instruction="Be good.", tools=tools)
    app = App(name="app", root_agent=agent, plugins=[*plugins], **options)
    return Runner(app=app, session_service=service)
