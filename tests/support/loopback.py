"""Local servers that answer like providers, and that fail like networks."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from werkzeug import Request, Response
from werkzeug.serving import make_server

from support.models import CLAUDE_CHEAP

NONE = object()
"""Marks a field that an answer lacks."""


@dataclass
class Dialect(ABC):
    """One provider's API: its answers, its errors, and its checks of a request."""

    name: str
    path: str

    @abstractmethod
    def body(self, text="", *, stop="stop", blocks=None, usage=True):
        """Return the JSON of an answer."""

    @abstractmethod
    def check(self, request: Request) -> str | None:
        """Return the error message for a request that the provider would refuse, or None."""

    @abstractmethod
    def prompt(self, body: dict) -> tuple[str, str]:
        """Return the system text and the one user message of a request."""

    def error(self, words: str) -> dict:
        return {"type": "error", "error": {"type": "some_error", "message": words}}


def texts(body: dict, known: set[str]) -> str | None:
    """Return the error message for fields that are invalid in both APIs, or None."""
    if unknown := body.keys() - known:
        return f"unexpected fields {sorted(unknown)}"
    if not isinstance(body.get("model"), str) or not body["model"]:
        return "model: Field required"
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "lone surrogates"
    return None


class Messages(Dialect):
    STOPS: ClassVar = {"stop": "end_turn", "cut": "max_tokens", "refusal": "refusal", "tool": "tool_use", None: None}

    def __init__(self):
        super().__init__("anthropic", "/v1/messages")

    def body(self, text="", *, stop="stop", blocks=None, usage=True):
        content = [{"type": "text", "text": text}] if blocks is None else blocks
        spent = {"usage": {"input_tokens": 1000, "output_tokens": 50}} if usage else {}
        body = {"id": "msg_1", "type": "message", "role": "assistant", "model": CLAUDE_CHEAP, "content": content}
        return {**body, "stop_reason": self.STOPS[stop], "stop_sequence": None, **spent}

    def tool_call(self, text=""):
        call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "rm -rf /"}}
        return self.body(blocks=[{"type": "text", "text": text}, call], stop="tool")

    def unknown(self, text=""):
        return self.body(
            blocks=[*([{"type": "text", "text": text}] if text else []), {"type": "hologram", "data": "x"}]
        )

    def check(self, request):
        body = request.get_json()
        if wrong := texts(body, {"model", "max_tokens", "system", "messages"}):
            return wrong
        if not {"x-api-key", "authorization"} & {name.lower() for name, _ in request.headers}:
            return "no key"
        if "anthropic-version" not in request.headers:
            return "anthropic-version: header is required"
        if not isinstance(body.get("max_tokens"), int) or not 0 < body["max_tokens"] <= 128_000:
            return "max_tokens: out of range"
        if not isinstance(body["system"], str) or not body["system"].strip():
            return "system: text content blocks must be non-empty"
        if [message.keys() for message in body["messages"]] != [{"role", "content"}]:
            return "messages: exactly one is expected here"
        return None if body["messages"][0]["role"] == "user" else "messages: first message must use the user role"

    def prompt(self, body):
        return body["system"], body["messages"][0]["content"]


class Chat(Dialect):
    STOPS: ClassVar = {"stop": "stop", "cut": "length", "refusal": "content_filter", "tool": "tool_calls", None: None}

    def __init__(self):
        super().__init__("openai", "/v1/chat/completions")

    def body(self, text="", *, stop="stop", blocks=None, usage=True, **message):
        said = {"role": "assistant", "content": text if blocks is None else blocks, **message}
        spent = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
        choice = {"index": 0, "message": said, "finish_reason": self.STOPS[stop]}
        body = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        return {**body, **({"usage": spent} if usage else {})}

    def tool_call(self, text=""):
        call = {"id": "t1", "type": "function", "function": {"name": "Bash", "arguments": '{"command": "rm -rf /"}'}}
        return self.body(text, tool_calls=[call], stop="tool")

    def unknown(self, text=""):
        return self.body(
            blocks=[*([{"type": "text", "text": text}] if text else []), {"type": "hologram", "data": "x"}]
        )

    def check(self, request):
        body = request.get_json()
        if wrong := texts(body, {"model", "max_tokens", "max_completion_tokens", "messages"}):
            return wrong
        if not request.headers.get("authorization", "").startswith("Bearer "):
            return "no key"
        if not isinstance(body.get("max_tokens", body.get("max_completion_tokens")), int):
            return "max_tokens: expected an integer"
        roles = [message["role"] for message in body["messages"]]
        return None if roles == ["system", "user"] else f"roles {roles}"

    def prompt(self, body):
        return body["messages"][0]["content"], body["messages"][1]["content"]

    def error(self, words):
        return {"error": {"message": words, "type": "some_error", "code": None, "param": None}}


DIALECTS = {"anthropic": Messages(), "openai": Chat()}


@dataclass(frozen=True)
class Reply:
    """One answer over HTTP: a status, and a body that is JSON unless it is bytes."""

    body: object
    status: int = 200
    headers: dict = field(default_factory=dict)

    def response(self) -> Response:
        if isinstance(self.body, bytes):
            kind = "text/html" if self.body.startswith(b"<") else "application/json"
            return Response(self.body, self.status, {"content-type": kind, **self.headers})
        return Response(json.dumps(self.body), self.status, {"content-type": "application/json", **self.headers})


def serve(httpserver, dialect: Dialect, replies) -> list[dict]:
    """Answers in turn, the last one for ever; gives the list of requests it gets, in which refused ones stand too."""
    seen: list[dict] = []

    def handler(request: Request) -> Response:
        wrong = "not found" if request.path != dialect.path else dialect.check(request)
        seen.append(request.get_json())
        if wrong:
            return Reply(dialect.error(wrong), 400).response()
        reply = replies[min(len(seen), len(replies)) - 1]
        return (reply(seen[-1]) if callable(reply) else reply).response()

    httpserver.clear()
    httpserver.expect_request(dialect.path, method="POST").respond_with_handler(handler)
    return seen


class Wire:
    """A server that breaks below HTTP: each connection is handled by ``fault(connection, number)``.

    Attributes:
        calls: requests that were read whole.
        called: set with the first of them.
        gone: set when a client has closed its end while a fault was holding the connection.
    """

    def __init__(self, fault):
        self.calls = 0
        self.called = threading.Event()
        self.gone = threading.Event()
        self.over = threading.Event()
        self._fault = fault
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            if self.over.is_set():
                connection.close()
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection):
        with connection:
            while _read_request(connection):
                self.calls += 1
                self.called.set()
                try:
                    if not self._fault(self, connection):
                        return
                except OSError:
                    self.gone.set()
                    return

    def hold(self, connection, send=b"", every=None):
        """Keeps the connection without a whole answer until the client leaves, or the test is over."""
        connection.settimeout(every or 0.05)
        while not self.over.is_set():
            if every:
                connection.sendall(send)
            try:
                if not connection.recv(1):
                    break
            except TimeoutError:
                continue
        if not self.over.is_set():
            self.gone.set()

    def close(self):
        self.over.set()
        # Without this, a thread that waits in accept() keeps the port open.
        with socket.socket() as last:
            last.connect_ex(self._socket.getsockname())
        self._socket.close()
        for thread in self._threads:
            thread.join(timeout=5)


def _read_request(connection) -> bool:
    """Reads one request, headers and body; False when there is none."""
    data = b""
    while b"\r\n\r\n" not in data:
        try:
            some = connection.recv(1 << 16)
        except OSError:
            return False
        if not some:
            return False
        data += some
    head, _, body = data.partition(b"\r\n\r\n")
    size = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
    while len(body) < size:
        some = connection.recv(1 << 16)
        if not some:
            return False
        body += some
    return True


@contextmanager
def wire(fault):
    server = Wire(fault)
    try:
        yield server
    finally:
        server.close()


def answered(body: dict) -> bytes:
    """A whole answer as it goes over the wire."""
    data = json.dumps(body).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(data) + data


def reset(_, connection):
    """The connection is torn down."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def silent(server, connection):
    """Nothing comes back."""
    server.hold(connection)
    return False


def stalled(body):
    """Half of an answer, then nothing."""

    def fault(server, connection):
        data = answered(body)
        connection.sendall(data[: len(data) - 20])
        server.hold(connection)
        return False

    return fault


def cut(body):
    """Half of an answer, then the end of the connection."""

    def fault(_, connection):
        data = answered(body)
        connection.sendall(data[: len(data) - 20])
        return False

    return fault


def cut_chunks(body):
    """A streamed answer without its last chunk."""

    def fault(_, connection):
        data = json.dumps(body).encode()
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        connection.sendall(head + b"%x\r\n" % len(data) + data + b"\r\n")
        return False

    return fault


def dripping_head(server, connection):
    """One byte of a header at a time: no read ever times out."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nx-slow: ")
    server.hold(connection, b"a", 0.03)
    return False


def dripping_body(server, connection):
    """White space in front of the answer for ever."""
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n")
    server.hold(connection, b" ", 0.03)
    return False


def first(fault, then):
    """The fault for the first request, a whole answer for the others."""

    def both(server, connection):
        if server.calls == 1:
            return fault(server, connection)
        connection.sendall(answered(then))
        return True

    return both


def elapsed(since: float) -> float:
    return time.monotonic() - since


@contextmanager
def serving(server):
    """Serve on a port of this machine; gives the address."""
    http = make_server("127.0.0.1", 0, server, threaded=True)
    http.log = http.RequestHandlerClass.log = lambda *_, **__: None
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}"
    finally:
        http.shutdown()
        thread.join()
