"""What prompts of gpt-oss mean: each message by the package openai-harmony, put together as vLLM does."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

from openai_harmony import (
    Author,
    Conversation,
    DeveloperContent,
    HarmonyEncoding,
    HarmonyEncodingName,
    Message,
    ReasoningEffort,
    RenderConversationConfig,
    Role,
    SystemContent,
    TextContent,
    ToolDescription,
    load_harmony_encoding,
)

from trimtab import Counter


def encoding(folder: Path) -> HarmonyEncoding:
    """Return the package's encoding, with our own table in the place of the file that it would fetch.

    The package refuses a file whose digest is not that of the published one.
    """
    ranks = enumerate(Counter.vocabulary("o200k_base"))
    lines = (b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in ranks)
    (folder / "o200k_base.tiktoken").write_bytes(b"".join(lines))
    before = os.environ.get("TIKTOKEN_ENCODINGS_BASE")
    os.environ["TIKTOKEN_ENCODINGS_BASE"] = str(folder)
    try:
        return load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)
    finally:
        del os.environ["TIKTOKEN_ENCODINGS_BASE"]
        if before is not None:
            os.environ["TIKTOKEN_ENCODINGS_BASE"] = before


def prompt(
    harmony: HarmonyEncoding,
    messages: list[dict[str, Any]],
    tools: list[dict[str, Any]] | None = None,
    *,
    kind: str = "json",
    date: str = "2025-06-28",
    effort: ReasoningEffort | None = None,
) -> list[int]:
    """Return the tokens of the prompt of messages in Chat Completions' shape."""
    system = SystemContent.new().with_conversation_start_date(date)
    system = system.with_reasoning_effort(effort) if effort else system
    conversation = [Message.from_role_and_content(Role.SYSTEM, system)]
    instructions = ""
    if messages and messages[0]["role"] in {"system", "developer"}:
        instructions, messages = joined(messages[0].get("content")), messages[1:]
    if instructions or tools:
        conversation.append(developer(instructions, tools))
    names = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or []}
    for message in messages:
        conversation += translated(message, names, kind)
    while thought := next((n for n in range(len(conversation)) if is_over(conversation, n)), None):
        del conversation[thought]
    config = RenderConversationConfig(auto_drop_analysis=False)
    return harmony.render_conversation_for_completion(Conversation.from_messages(conversation), Role.ASSISTANT, config)


def is_over(conversation: list[Message], index: int) -> bool:
    """Whether a message is an analysis behind which an answer was given."""
    later = conversation[index + 1 :]
    return conversation[index].channel == "analysis" and any(each.channel == "final" for each in later)


def developer(instructions: str, tools: list[dict[str, Any]] | None) -> Message:
    """Return a developer message."""
    content = DeveloperContent.new()
    if instructions:
        content = content.with_instructions(instructions)
    if tools:
        functions = (tool["function"] for tool in tools)
        content = content.with_function_tools(
            [ToolDescription.new(f["name"], f.get("description") or "", f.get("parameters")) for f in functions]
        )
    return Message.from_role_and_content(Role.DEVELOPER, content)


def translated(message: dict[str, Any], names: dict[str, str], kind: str) -> list[Message]:
    """Return the messages of Harmony that one of Chat Completions is."""
    content = message.get("content") or ""
    if message["role"] in {"system", "developer"}:
        return [developer(joined(content), None)]
    if message["role"] == "tool":
        author = Author.new(Role.TOOL, f"functions.{names.get(message['tool_call_id'], '')}")
        result = Message.from_author_and_content(author, joined(content))
        return [result.with_channel("commentary").with_recipient("assistant")]
    texts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    whole = Message.from_role_and_contents(Role(message["role"]), [TextContent(text=text) for text in texts])
    if message["role"] == "user":
        return [whole]
    turn = []
    if reasoning := message.get("reasoning_content"):
        turn.append(Message.from_role_and_content(Role.ASSISTANT, reasoning).with_channel("analysis"))
    if any(texts) and not message.get("tool_calls"):
        turn.append(whole.with_channel("final"))
    elif any(texts):
        turn.append(Message.from_role_and_content(Role.ASSISTANT, joined(content)).with_channel("commentary"))
    for call in message.get("tool_calls") or []:
        said = Message.from_role_and_content(Role.ASSISTANT, call["function"].get("arguments") or "")
        said = said.with_channel("commentary").with_recipient(f"functions.{call['function']['name']}")
        turn.append(said.with_content_type(kind))
    return turn


def joined(content: str | list[dict[str, Any]] | None) -> str:
    """Return the text of a content."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [])
