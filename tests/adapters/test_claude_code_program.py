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


def written(number: int, kind: str, follows: int | None, words: str = "", **more: Any) -> dict[str, Any]:
    """Return a line of a session, by the numbers of it and of the line that it follows."""
    line = {"uuid": key(number), "parentUuid": None if follows is None else key(follows), "isSidechain": False}
    line |= {"type": kind, "sessionId": SESSION, "timestamp": f"2026-11-28T10:00:{number:02}.000Z", "cwd": "/work"}
    if kind == "user":
        line["message"] = {"role": kind, "content": words}
    if kind == "assistant":
        usage = {"input_tokens": 9, "output_tokens": 5}
        line["message"] = {"id": f"msg_{number}", "type": "message", "role": kind, "model": "claude-opus-5-5"}
        line["message"] |= {"content": [{"type": "text", "text": words}], "stop_reason": None, "usage": usage}
    return {**line, **more}


def key(number: int) -> str:
    """Return the uuid of a line."""
    return f"{number:08x}-0000-4000-8000-000000000000"


SESSION = "5e551011-0000-4000-8000-000000000000"
TURNS = [written(n, "user" if n % 2 else "assistant", n - 1 or None, f"words of {n}") for n in range(1, 7)]
SUMMARY = {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
BOUNDARY = {"subtype": "compact_boundary", "content": "Conversation compacted", "level": "info", "isMeta": False}
TYPED = {"type": "queued_command", "prompt": "leave the tests alone", "commandMode": "prompt"}
SUMMED = [
    written(8, "user", 7, "what went before", **SUMMARY),
    written(9, "user", 8, "on"),
    written(10, "assistant", 9, "k"),
]


def compacted(anchor: int, *stays: int) -> list[dict[str, Any]]:
    """Return a session whose compaction kept some lines, which follow the boundary or its summary."""
    kept = {"anchorUuid": key(anchor), "uuids": [key(number) for number in stays]}
    metadata = {"trigger": "manual", "preTokens": 900, "preservedMessages": kept}
    return [*TURNS, written(7, "system", None, logicalParentUuid=key(6), compactMetadata=metadata, **BOUNDARY), *SUMMED]


@pytest.mark.parametrize(
    "lines",
    [
        [*TURNS, written(7, "user", 4, "another way"), written(8, "assistant", 7, "so")],
        [*TURNS[:3], written(4, "attachment", 3, attachment=TYPED), written(5, "assistant", 4, "so")],
        compacted(8, 5, 6),
        compacted(8, 3, 6),
        compacted(7, 1, 2),
    ],
    ids=[
        "rewound",
        "typed while it worked",
        "kept behind the summary",
        "kept with a gap",
        "kept in front of the summary",
    ],
)
def test_the_program_sends_what_is_read(
    run: Callable[..., str], api: type[Api], tmp_path: Path, lines: list[dict[str, Any]]
) -> None:
    folder = "".join(letter if letter.isalnum() else "-" for letter in str((tmp_path / "project").resolve()))
    path = tmp_path / "home/.claude/projects" / folder / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines))
    read = [text for message in trimtab.read(path).messages for text in texts(message)]
    run(str(program()), "-p", "--resume", SESSION, "And now?")
    sent = [text for message in api.requests[-1]["messages"] for text in texts(message)]
    sent = [text for text in sent if not text.startswith(("<system-reminder>", "# Environment", "And now?"))]
    assert [text if TYPED["prompt"] not in text else TYPED["prompt"] for text in sent] == read


def texts(message: dict[str, Any]) -> list[str]:
    """Return the texts of a message, without white space around them."""
    content = message["content"]
    blocks = [content] if isinstance(content, str) else [block["text"] for block in content]
    return [text.strip() for text in blocks]
