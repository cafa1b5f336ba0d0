"""The stub behind HTTP, as strict as a provider: what LiteLLM calls, and a client's loop that calls LiteLLM."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from support.agents import Model, RefusedError, look

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "look",
            "description": "Look at something.",
            "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        },
    }
]


def answered(stub: Model, body: dict[str, Any]) -> dict[str, Any]:
    """Return the provider's answer to a request."""
    answer = stub.answer(body["messages"], body.get("tools") or [])
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.input)}}
        for call in answer.calls
    ]
    said: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    said |= {"tool_calls": calls} if calls else {}
    usage = {"prompt_tokens": answer.prompt, "completion_tokens": 9, "total_tokens": answer.prompt + 9}
    choice = {"index": 0, "message": said, "finish_reason": "tool_calls" if calls else "stop"}
    return {
        "id": f"c{stub.calls}",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [choice],
        "usage": usage,
    }


def parts(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an answer in parts, the usage in the last one."""
    head = {**{key: whole[key] for key in ("id", "created", "model")}, "object": "chat.completion.chunk"}
    said, stop = whole["choices"][0]["message"], whole["choices"][0]["finish_reason"]
    for word in (said["content"] or "").split():
        yield {**head, "choices": [{"index": 0, "delta": {"role": "assistant", "content": f"{word} "}}]}
    for n, call in enumerate(said.get("tool_calls", ())):
        yield {**head, "choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [{"index": n, **call}]}}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}]}
    yield {**head, "choices": [], "usage": whole["usage"]}


@contextmanager
def upstream(stub: Model) -> Iterator[str]:
    """Serve the stub on loopback; gives the base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            try:
                whole = answered(stub, body)
            except RefusedError as error:
                said = {"message": str(error), "type": "invalid_request_error", "code": "context_length_exceeded"}
                return self.reply(400, "application/json", json.dumps({"error": said}))
            if not body.get("stream"):
                return self.reply(200, "application/json", json.dumps(whole))
            events = [*map(json.dumps, parts(whole)), "[DONE]"]
            return self.reply(200, "text/event-stream", "".join(f"data: {event}\n\n" for event in events))

        def reply(self, status: int, kind: str, text: str) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def results(said: Any) -> list[dict[str, Any]]:
    """Return the messages with the results of an answer's calls."""
    return [
        {"role": "tool", "tool_call_id": call["id"], "content": look(json.loads(call["function"]["arguments"])["n"])}
        for call in (said.get("tool_calls") if isinstance(said, dict) else said.tool_calls) or ()
    ]
