"""Messages in one line each, for the tests of what is read."""


def text(words):
    return {"type": "text", "text": words}


def use(ref, kind="tool_use"):
    return {"type": kind, "id": ref, "name": "f", "input": {}}


def result(ref, content="ok", kind="tool_result"):
    return {"type": kind, "tool_use_id": ref, "content": content}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def calls(*refs, **more):
    made = [{"id": ref, "type": "function", "function": {"name": "f", "arguments": "{}"}} for ref in refs]
    return {"role": "assistant", "content": None, "tool_calls": made, **more}


def tool(ref, content="ok"):
    return {"role": "tool", "tool_call_id": ref, "content": content}


def _claude_code(n):
    def line(at, role, *blocks):
        said = {"role": role, "content": list(blocks)} | (
            {"id": f"m{at}", "model": "claude-x"} if role != "user" else {}
        )
        parent = f"u{at - 1}" if at else None
        return {"type": role, "uuid": f"u{at}", "parentUuid": parent, "message": said}

    for i in range(n):
        yield line(3 * i, "user", text(f"ask {i}")) if not i else line(3 * i, "user", text(f"more {i}"))
        yield line(3 * i + 1, "assistant", text(f"look {i}"), use(f"t{i}"))
        yield line(3 * i + 2, "user", result(f"t{i}", f"found {i}"))


def _codex(n):
    def item(kind, **more):
        return {"type": "response_item", "payload": {"type": kind, **more}}

    yield {"type": "session_meta", "payload": {"id": "s", "instructions": "be good"}}
    for i in range(n):
        yield item("message", role="user", content=[{"type": "input_text", "text": f"ask {i}"}])
        yield item("message", role="assistant", content=[{"type": "output_text", "text": f"look {i}"}])
        yield item("function_call", call_id=f"t{i}", name="f", arguments="{}")
        yield item("function_call_output", call_id=f"t{i}", output=f"found {i}")


def _pi(n):
    yield {"type": "session", "id": "s", "cwd": "/"}
    ids = iter(range(4 * n))

    def entry(role, content, **more):
        at = next(ids)
        parent = f"e{at - 1}" if at else None
        said = {"role": role, "content": content, **more}
        return {"type": "message", "id": f"e{at}", "parentId": parent, "message": said}

    for i in range(n):
        made = {"type": "toolCall", "id": f"t{i}", "name": "f", "arguments": {}}
        yield entry("user", [text(f"ask {i}")])
        yield entry("assistant", [text(f"look {i}"), made])
        yield entry("toolResult", [text(f"found {i}")], toolCallId=f"t{i}")


def _copilot_cli(n):
    yield {"type": "session.start", "data": {"selectedModel": "gpt-5"}}
    for i in range(n):
        made = [{"toolCallId": f"t{i}", "name": "f", "arguments": {}}]
        yield {"type": "user.message", "data": {"content": f"ask {i}"}}
        yield {"type": "assistant.message", "data": {"content": f"look {i}", "toolRequests": made}}
        given = {"content": f"found {i}", "binaryResultsForLlm": []}
        yield {"type": "tool.execution_complete", "data": {"toolCallId": f"t{i}", "result": given}}


def _gemini_cli(n):
    yield {"sessionId": "s", "projectHash": "p"}
    for i in range(n):
        told = [{"functionResponse": {"id": f"t{i}", "name": "f", "response": {"output": f"found {i}"}}}]
        made = [{"id": f"t{i}", "name": "f", "args": {}, "result": told}]
        yield {"id": f"{i}u", "type": "user", "content": [{"text": f"ask {i}"}]}
        yield {"id": f"{i}g", "type": "gemini", "content": [{"text": f"look {i}"}], "toolCalls": made}


def _qwen_code(n):
    def record(at, kind, *parts, role="user"):
        links = {"uuid": f"u{at}", "parentUuid": f"u{at - 1}" if at else None, "sessionId": "s"}
        return {**links, "type": kind, "message": {"role": role, "parts": list(parts)}}

    for i in range(n):
        made = {"functionCall": {"id": f"t{i}", "name": "f", "args": {}}}
        given = {"functionResponse": {"id": f"t{i}", "name": "f", "response": {"output": f"found {i}"}}}
        yield record(3 * i, "user", {"text": f"ask {i}"})
        yield record(3 * i + 1, "assistant", {"text": f"look {i}"}, made, role="model")
        yield record(3 * i + 2, "tool_result", given)


def _opencode(n):
    for i in range(n):
        state = {"status": "completed", "input": {}, "output": f"found {i}"}
        made = {"type": "tool", "callID": f"t{i}", "tool": "f", "state": state}
        yield {"info": {"id": f"{i}u", "role": "user"}, "parts": [text(f"ask {i}")]}
        yield {"info": {"id": f"{i}a", "role": "assistant"}, "parts": [text(f"look {i}"), made]}


def _atif(n):
    for i in range(n):
        results = [{"source_call_id": f"t{i}", "content": [text(f"found {i}")]}]
        made = [{"tool_call_id": f"t{i}", "function_name": "f", "arguments": {}}]
        yield {"source": "user", "message": [text(f"ask {i}")]}
        yield {"source": "agent", "message": f"look {i}", "tool_calls": made, "observation": {"results": results}}


def _chat(n):
    for i in range(n):
        yield {"role": "user", "content": [text(f"ask {i}")]}
        yield calls(f"t{i}", content=f"look {i}")
        yield tool(f"t{i}", f"found {i}")


def _openhands(n):
    for i in range(n):
        args = {"content": f"ask {i}", "image_urls": []}
        yield {"id": 3 * i, "source": "user", "action": "message", "args": args}
        args = {"command": "ls", "thought": f"look {i}"}
        yield {"id": 3 * i + 1, "source": "agent", "action": "run", "args": args}
        yield {"id": 3 * i + 2, "source": "agent", "cause": 3 * i + 1, "observation": "run", "content": f"found {i}"}


def _anthropic(n):
    for i in range(n):
        yield user(text(f"ask {i}"))
        yield assistant(text(f"look {i}"), use(f"t{i}"))
        yield user(result(f"t{i}", f"found {i}"))


def _cline(n):
    for number, message in enumerate(_anthropic(n)):
        said = {"modelInfo": {"modelId": "m"}, "metrics": {}} if message["role"] == "assistant" else {}
        yield {**message, "ts": number, **said}


def _responses(n):
    return (line["payload"] for line in _codex(n) if line["type"] == "response_item")


def _bedrock(n):
    for i in range(n):
        given = {"toolUseId": f"t{i}", "content": [{"text": f"found {i}"}]}
        yield user({"text": f"ask {i}"})
        yield assistant({"text": f"look {i}"}, {"toolUse": {"toolUseId": f"t{i}", "name": "f", "input": {}}})
        yield user({"toolResult": given})
        yield assistant({"text": f"done {i}"})


def _gemini(n):
    for i in range(n):
        response = {"name": "f", "response": {"output": f"found {i}"}}
        yield {"role": "user", "parts": [{"text": f"ask {i}"}]}
        yield {"role": "model", "parts": [{"text": f"look {i}"}, {"functionCall": {"name": "f", "args": {}}}]}
        yield {"role": "user", "parts": [{"functionResponse": response}]}
        yield {"role": "model", "parts": [{"text": f"done {i}"}]}


LINES = {
    "claude_code": _claude_code,
    "codex": _codex,
    "pi": _pi,
    "copilot_cli": _copilot_cli,
    "gemini_cli": _gemini_cli,
    "qwen_code": _qwen_code,
    "cline": _cline,
    "opencode": _opencode,
    "openhands": _openhands,
    "anthropic": _anthropic,
    "openai_chat": _chat,
    "openai_responses": _responses,
    "bedrock": _bedrock,
    "gemini": _gemini,
}
"""Sessions of n turns (the user asks, the model says something and calls, a result), as the lines of their file."""

WHOLES = {
    "atif": lambda n: {"schema_version": "ATIF-v1.8", "agent": {"name": "a"}, "steps": [*_atif(n)]},
    "swe_agent": lambda n: {"trajectory": [], "history": [*_chat(n)]},
    "mini_swe_agent": lambda n: {"trajectory_format": "mini-swe-agent-1", "info": {}, "messages": [*_chat(n)]},
}
"""Generators of files with ``n`` turns, for formats whose file is one JSON object."""

ASK = {"role": "user", "content": "hi"}
SAMPLES = {
    "claude_code": [{"type": "user", "uuid": "a", "parentUuid": None, "message": ASK}],
    "codex": [{"type": "response_item", "payload": {"type": "message", **ASK}}],
    "pi": [
        {"type": "session", "id": "s", "cwd": "/"},
        {"type": "message", "id": "a", "parentId": None, "message": ASK},
    ],
    "copilot_cli": [{"type": "session.start", "data": {}}, {"type": "user.message", "data": {"content": "hi"}}],
    "gemini_cli": [{"sessionId": "s", "projectHash": "p", "messages": [{"id": "1", "type": "user", "content": "hi"}]}],
    "qwen_code": [
        {
            "type": "user",
            "uuid": "a",
            "parentUuid": None,
            "sessionId": "s",
            "message": {"role": "user", "parts": [{"text": "hi"}]},
        }
    ],
    "cline": [{**ASK, "ts": 1, "metrics": {}}],
    "opencode": [{"info": {"role": "user"}, "parts": [{"type": "text", "text": "hi"}]}],
    "atif": [{"schema_version": "ATIF-v1.8", "steps": [{"source": "user", "message": "hi"}]}],
    "swe_agent": [{"trajectory": [], "history": [ASK]}],
    "mini_swe_agent": [{"trajectory_format": "mini-swe-agent-1", "info": {}, "messages": [ASK]}],
    "openhands": [{"id": 1, "source": "user", "action": "message", "args": {"content": "hi"}}],
}
"""The smallest file of each format that is no list of a provider's messages: the user says hi."""

ODD_ENTRIES = {
    "claude_code": {"type": "odd_entry", "uuid": "x", "parentUuid": None},
    "codex": {"type": "odd_entry", "payload": {"type": "odd_block"}},
    "pi": {"type": "odd_entry", "id": "x", "parentId": "e2"},
    "copilot_cli": {"type": "odd_entry", "data": {}},
    "gemini_cli": {"odd_entry": 1},
    "qwen_code": {"type": "system", "subtype": "odd_entry", "uuid": "x", "parentUuid": "u2", "sessionId": "s"},
    "cline": {"role": "odd_entry", "content": "odd", "metrics": {}},
    "opencode": {"info": {"id": "x", "role": "odd_entry"}, "parts": []},
    "openhands": {"id": 99, "source": "odd_entry", "action": "odd", "args": {}},
}
"""An entry that no version of the format has, where it is not ``{"type": "odd_entry"}``."""

BLOCKS = {"content", "message", "parts", "binaryResultsForLlm", "image_urls"}
"""Keys of entries whose list is one of blocks, in any format."""
