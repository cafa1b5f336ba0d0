"""A server on this machine that answers OpenAI's Chat Completions and Responses with the agents' stub model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from werkzeug import Request, Response

from support.agents import Model, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator


class Server:
    """The server; ``model`` decides, counts and judges.

    Attributes:
        model: the stub.
        seen: bodies of the requests.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.seen: list[dict[str, Any]] = []

    def __call__(self, environ: Any, start: Any) -> Any:
        request = Request(environ)
        body = request.get_json()
        self.seen.append(body)
        is_chat = request.path.endswith("/chat/completions")
        messages = body["messages"] if is_chat else body["input"]
        messages = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        beside = [body.get("tools"), body.get("instructions")]
        try:
            answer = self.model.answer(messages, beside, "openai_chat" if is_chat else "openai_responses")
        except RefusedError as error:
            told = {"message": str(error), "type": "invalid_request_error", "code": "context_length_exceeded"}
            return _json({"error": {**told, "param": "messages"}}, 400)(environ, start)
        made = self._chat(answer, body) if is_chat else self._response(answer, body)
        if not body.get("stream"):
            return _json(made)(environ, start)
        events = _chunks(made) if is_chat else _events(made)
        return Response("".join(events), content_type="text/event-stream")(environ, start)

    def _chat(self, answer: Any, body: dict[str, Any]) -> dict[str, Any]:
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.input)}}
            for call in answer.calls
        ]
        message = {"role": "assistant", "content": answer.text or None} | ({"tool_calls": calls} if calls else {})
        usage = {"prompt_tokens": answer.prompt, "completion_tokens": 9, "total_tokens": answer.prompt + 9}
        reason = "tool_calls" if calls else "stop"
        return {
            "id": f"chat_{self.model.calls}",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": usage,
        }

    def _response(self, answer: Any, body: dict[str, Any]) -> dict[str, Any]:
        output: list[dict[str, Any]] = [
            {
                "type": "function_call",
                "id": f"fc_{call.id}",
                "call_id": call.id,
                "name": call.name,
                "arguments": json.dumps(call.input),
            }
            for call in answer.calls
        ]
        if not output:
            text = {"type": "output_text", "text": answer.text, "annotations": []}
            about = {"id": f"msg_{self.model.calls}", "role": "assistant", "status": "completed"}
            output = [{"type": "message", **about, "content": [text]}]
        details = {"cached_tokens": 0, "cache_write_tokens": 0}
        return {
            "id": f"resp_{self.model.calls}",
            "object": "response",
            "created_at": 1,
            "model": body["model"],
            "status": "completed",
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": answer.prompt,
                "output_tokens": 9,
                "total_tokens": answer.prompt + 9,
                "input_tokens_details": details,
                "output_tokens_details": {"reasoning_tokens": 0},
            },
        }


def _chunks(made: dict[str, Any]) -> Iterator[str]:
    known = {"id": made["id"], "object": "chat.completion.chunk", "created": 1, "model": made["model"]}
    choice = made["choices"][0]
    delta = dict(choice["message"])
    if "tool_calls" in delta:
        delta["tool_calls"] = [{"index": n, **call} for n, call in enumerate(delta["tool_calls"])]
    yield _data({**known, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _data({**known, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    yield _data({**known, "choices": [], "usage": made["usage"]})
    yield "data: [DONE]\n\n"


def _events(made: dict[str, Any]) -> Iterator[str]:
    begun = {**made, "status": "in_progress", "output": []}
    yield _data({"type": "response.created", "sequence_number": 0, "response": begun})
    for index, item in enumerate(made["output"]):
        about = {"sequence_number": index + 1, "output_index": index, "item": item}
        yield _data({"type": "response.output_item.added", **about})
        yield _data({"type": "response.output_item.done", **about})
    yield _data({"type": "response.completed", "sequence_number": 99, "response": made})


def _data(event: dict[str, Any]) -> str:
    return f"event: {event.get('type', 'chunk')}\ndata: {json.dumps(event)}\n\n"


def _json(body: dict[str, Any], status: int = 200) -> Response:
    return Response(json.dumps(body), status, content_type="application/json")
