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
