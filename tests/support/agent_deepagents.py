"""The stub as a chat model of a deep agent."""

from __future__ import annotations

from typing import Any

from deepagents import create_deep_agent
from langchain_core.tools import StructuredTool, tool

from support.agent_langchain import Chat
from support.agents import Model, look


def agent(stub: Model, *middleware: Any, **options: Any) -> Any:
    tools = [
        StructuredTool.from_function(each.run, None, each.name, each.name, args_schema=each.schema)
        for each in stub.tools
    ]
    return create_deep_agent(
        Chat(stub=stub), tools or [tool(look)], system_prompt="Be good.", middleware=middleware, **options
    )
