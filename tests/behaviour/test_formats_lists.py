"""Lists of messages and whole requests, of three providers."""

import json

import pytest

from support.checker import check
from support.format_cases import assistant, calls, result, text, tool, use, user
from support.models import CLAUDE, GPT_SPLIT
from trimtab import MessageError, read

ASK, SAY = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "sig"}


def read_list(value, **options):
    return read(json.dumps(value).encode(), **options)


@pytest.mark.parametrize(
    ("value", "provider"),
    [
        ([ASK, SAY], "openai_chat"),
        ([ASK, assistant(use("a")), user(result("a"))], "anthropic"),
        ([ASK, assistant(THINKING, text("a"))], "anthropic"),
        ([user({"type": "image", "source": {"type": "url", "url": "u"}})], "anthropic"),
        ([{"role": "system", "content": "s"}, ASK, assistant(use("a")), user(result("a"))], "anthropic"),
        ([ASK, assistant(use("s", "server_tool_use"), result("s", [], "web_search_tool_result"))], "anthropic"),
        ([ASK, calls("a"), tool("a")], "openai_chat"),
        ([{"role": "developer", "content": "s"}, ASK], "openai_chat"),
        ([{"role": "system", "content": "s"}, ASK], "openai_chat"),
        ([user({"type": "image_url", "image_url": {"url": "u"}})], "openai_chat"),
        ([ASK, {"type": "function_call", "call_id": "a", "name": "f", "arguments": ""}], "openai_responses"),
        ([user({"type": "input_text", "text": "a"})], "openai_responses"),
        ([{"type": "message", **ASK}], "openai_responses"),
        ([{"type": "reasoning", "id": "r", "summary": []}, SAY], "openai_responses"),
        ({"messages": [ASK], "model": CLAUDE}, "anthropic"),
        ({"messages": [ASK], "system": "s"}, "anthropic"),
        ({"messages": [ASK], "model": GPT_SPLIT}, "openai_chat"),
        ({"messages": [ASK]}, "openai_chat"),
        ({"input": [ASK], "instructions": "s"}, "openai_responses"),
        ({"input": "hi"}, "openai_responses"),
        (ASK, "openai_chat"),
    ],
)
def test_the_content_tells_the_provider(value, provider):
    found = read_list(value)
    assert (found.provider, found.format) == (provider, provider)
    assert check(found.messages, provider) == []


def test_a_format_that_the_messages_do_not_have_is_refused():
    for messages, name, path in [
        ([ASK, {"type": "reasoning", "id": "r", "summary": []}], "openai_chat", "messages[1].role"),
        ([ASK, calls("a"), tool("a")], "anthropic", "messages[1]"),
    ]:
        with pytest.raises(MessageError) as caught:
            read_list(messages, format=name)
        assert (caught.value.path, caught.value.index) == (path, 1)


def test_a_line_a_message_reads_as_a_list():
    messages = [ASK, calls("a"), tool("a"), SAY]
    raw = "\n".join(map(json.dumps, messages)).encode()
    assert read(raw).messages == read_list(messages).messages == messages
    assert (read(raw).lines, read_list(messages).lines) == (4, 4)


def test_a_request_gives_its_model_system_and_tools():
    tools = [{"name": "f", "input_schema": {}}]
    found = read_list({"model": "claude-x", "system": [text("s")], "tools": tools, "messages": [ASK], "max_tokens": 1})
    assert (found.messages, found.model, found.system, found.tools) == ([ASK], "claude-x", [text("s")], tools)
    found = read_list({"model": GPT_SPLIT, "instructions": "i", "input": "hi"})
    assert (found.messages, found.system) == ([{"type": "message", **ASK}], "i")


def test_a_system_message_among_anthropic_messages_becomes_the_system_prompt():
    found = read_list([{"role": "system", "content": "s"}, ASK, assistant(THINKING, text("a"))])
    assert (found.system, found.messages[0]) == ("s", ASK)
