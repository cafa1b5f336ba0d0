"""The hooks under the real program of Claude Code, which the wheel of claude-agent-sdk carries; its API on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

import trimtab
from trimtab.archive import open_archive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RULES = ("Never push to the branch release without asking me.", "Always run the marzipan tests.")


def program() -> Path | None:
    """Return the path of the program; None without the wheel."""
    spec = find_spec("claude_agent_sdk")
    found = Path(spec.origin).parent / "_bundled" / "claude" if spec and spec.origin else None
    return found if found and found.is_file() else None


class Api(BaseHTTPRequestHandler):
    """Answers every message with one sentence, as a stream."""

    protocol_version = "HTTP/1.1"
    requests: list[dict[str, Any]]
    url: str

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_HEAD(self) -> None:
        self._send(b"", "text/plain")

    do_GET = do_HEAD  # noqa: N815

    def do_POST(self) -> None:
        """Answer a call."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "count_tokens" in self.path:
            return self._send(json.dumps({"input_tokens": 1_000}).encode(), "application/json")
        self.requests.append(body)
        text, usage = "Understood.", {"input_tokens": 1_000, "output_tokens": 5}
        message = {"id": f"msg_{len(self.requests)}", "type": "message", "role": "assistant", "content": []}
        message |= {"model": body.get("model"), "stop_reason": None, "stop_sequence": None, "usage": usage}
        if not body.get("stream"):
            message |= {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
            return self._send(json.dumps(message).encode(), "application/json")
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ]
        stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        return self._send(stream.encode(), "text/event-stream")

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.send_header("connection", "close")
        self.close_connection = True
        self.end_headers()
        self.wfile.write(data)


pytestmark = pytest.mark.skipif(
    program() is None, reason="claude-agent-sdk's wheel, which has the program, is not installed"
)


@pytest.fixture
def api() -> Iterator[type[Api]]:
    """The API, which keeps its requests; ``url`` is where it is."""
    made = type("OneApi", (Api,), {"requests": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), made)
    made.url = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    yield made
    server.shutdown()
    server.server_close()


@pytest.fixture
def run(api: type[Api], tmp_path: Path) -> Callable[..., str]:
    """Run a command in a project of its own; return what it prints."""
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE", "ANTHROPIC", "TRIMTAB"))}
    env |= {
        "ANTHROPIC_BASE_URL": api.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "MCP_CONNECTION_NONBLOCKING": "0",  # the first request waits for the servers
        "ENABLE_TOOL_SEARCH": "0",  # and has their tools, not a search for them
        "HOME": str(tmp_path / "home"),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "PYTHONPATH": str(Path(trimtab.__file__).parents[1]),
        "TRIMTAB_HOME": str(tmp_path / "data"),
    }

    def run(*command: str) -> str:
        done = subprocess.run(
            command, cwd=tmp_path / "project", env=env, capture_output=True, timeout=120, check=False, text=True
        )
        assert done.returncode == 0, (command, done.stdout[-500:], done.stderr[-500:])
        return done.stdout

    return run


@pytest.mark.parametrize("way", ["settings", "plugin"])
def test_the_program_archives_before_its_compaction_and_gets_the_rules_back(
    run: Callable[..., str], api: type[Api], tmp_path: Path, way: str
) -> None:
    claude = str(program())
    if way == "settings":
        run(sys.executable, "-m", "trimtab", "hook", "install", "--yes", "--on-resume")
    else:
        folder = str(tmp_path / "plugin")
        run(sys.executable, "-m", "trimtab", "hook", "plugin", "-o", folder, "--on-resume")
        run(claude, "plugin", "validate", "--strict", folder)
        run(claude, "plugin", "marketplace", "add", folder)
        run(claude, "plugin", "install", "trimtab@trimtab")
    run(claude, "-p", f"Rewrite the parser. {' '.join(RULES)}")
    run(claude, "-p", "-c", "/compact")
    kept, end = tmp_path / "data/claude-code/sessions", time.monotonic() + 60
    while not list(kept.glob("*.json")):
        assert time.monotonic() < end, "the session was not archived"
        time.sleep(0.1)
    run(claude, "-p", "-c", "go on")
    sent = json.dumps(api.requests[-1], ensure_ascii=False)
    assert all(json.dumps(json.dumps(rule))[1:-1] in sent for rule in RULES)
    with open_archive(f"sqlite:///{tmp_path}/data/archive.db") as archive:
        assert [hit.role for hit in archive.search("marzipan")] == ["user"]


@pytest.mark.skipif(find_spec("mcp") is None, reason="the extra mcp is not installed")
def test_the_program_finds_the_registered_server_and_its_tools(run: Callable[..., str], api: type[Api]) -> None:
    claude = str(program())
    run(sys.executable, "-m", "trimtab", "hook", "install", "--yes", "--mcp")
    assert "trimtab: " in run(claude, "mcp", "list")  # it waits for the user's approval, which a test cannot give
    run(claude, "-p", "--mcp-config", ".mcp.json", "--", "Hello.")
    tools = {tool["name"] for sent in api.requests for tool in sent.get("tools", [])}
    assert {"mcp__trimtab__search", "mcp__trimtab__fetch"} <= tools
    run(sys.executable, "-m", "trimtab", "hook", "uninstall", "--yes")
    assert "trimtab: " not in run(claude, "mcp", "list")
