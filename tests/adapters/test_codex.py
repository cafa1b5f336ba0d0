"""The hooks under the real program of Codex, which a wheel of OpenAI's carries; its API on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

import trimtab
from trimtab.archive import open_archive

if TYPE_CHECKING:
    from collections.abc import Iterator

codex_cli_bin = pytest.importorskip("codex_cli_bin", reason="make adapters installs openai-codex-cli-bin")
PROGRAM = Path(codex_cli_bin.__file__).parent / "bin" / "codex"
RULE = "Never push to the branch release without asking me."
LIMIT = 20_000
"""Tokens past which Codex compacts."""


class Api(BaseHTTPRequestHandler):
    """Answers the first request of a prompt with a call and many tokens, every other one with a sentence."""

    protocol_version = "HTTP/1.1"
    requests: list[dict[str, Any]]
    url: str

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self._send(404, b"", "text/plain")

    def do_POST(self) -> None:
        """Answer a call."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        self.requests.append(body)
        name, calls = f"r{len(self.requests)}", len(self.requests) == 1
        item: dict[str, Any] = {"type": "message", "id": "m", "role": "assistant"}
        item["content"] = [{"type": "output_text", "text": "Looked at the marzipan.", "annotations": []}]
        if calls:
            item = {"type": "function_call", "id": "f", "call_id": "c", "name": "exec_command"}
            item["arguments"] = json.dumps({"cmd": "true"})
        tokens = LIMIT * 2 if calls else 500
        usage = {"input_tokens": tokens, "output_tokens": 10, "total_tokens": tokens + 10}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": {"id": name}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": name, "usage": usage, "output": [item]}},
        ]
        stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._send(200, stream.encode(), "text/event-stream")

    def _send(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def api() -> Iterator[type[Api]]:
    """The API, which keeps its requests; ``url`` is where it is."""
    made = type("OneApi", (Api,), {"requests": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), made)
    made.url = f"http://127.0.0.1:{server.server_port}/v1"
    Thread(target=server.serve_forever, daemon=True).start()
    yield made
    server.shutdown()
    server.server_close()


def texts(request: dict[str, Any], role: str) -> str:
    """Return what a role says in a request."""
    said = [item["content"] for item in request["input"] if item.get("role") == role]
    return "\n".join(part["text"] for parts in said for part in parts)


@pytest.mark.parametrize("place", ["user", "project"])
def test_the_program_archives_before_its_compaction_and_gets_the_rules_back(
    api: type[Api], tmp_path: Path, place: str
) -> None:
    home, project = tmp_path / "codex", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    settings = [
        f'model = "gpt-5.5"\nmodel_provider = "loop"\nmodel_auto_compact_token_limit = {LIMIT}',
        "model_context_window = 200000\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false",
        f'[model_providers.loop]\nname = "loop"\nbase_url = "{api.url}"\nwire_api = "responses"',
        f'[projects."{project}"]\ntrust_level = "trusted"',
    ]
    (home / "config.toml").write_text("\n".join(settings) + "\n")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("CODEX", "OPENAI", "TRIMTAB"))}
    env |= {"CODEX_HOME": str(home), "HOME": str(tmp_path), "TRIMTAB_HOME": str(tmp_path / "data")}
    env["PYTHONPATH"] = str(Path(trimtab.__file__).parents[1])

    def run(*command: str) -> str:
        given: dict[str, Any] = {"cwd": project, "env": env, "stdin": subprocess.DEVNULL}
        done = subprocess.run(command, capture_output=True, timeout=120, check=False, text=True, **given)
        assert done.returncode == 0, (command, done.stdout[-500:], done.stderr[-500:])
        return done.stdout

    run(sys.executable, "-m", "trimtab", "hook", "install", "--codex", "--yes", *["--user"] * (place == "user"))
    assert (home if place == "user" else project / ".codex").joinpath("hooks.json").is_file()
    freely = ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust")
    printed = run(str(PROGRAM), "exec", "--json", *freely, f"Rewrite the parser. {RULE}")
    thread = json.loads(printed.splitlines()[0])["thread_id"]
    assert len(api.requests) == 3  # the call, the summary, the answer
    assert "trimtab" not in json.dumps(api.requests[1])
    back = texts(api.requests[2], "developer")
    assert json.dumps(RULE) in back
    assert f"trimtab archive search WORDS --session {thread}" in back
    kept, end = tmp_path / "data/claude-code/sessions" / f"{thread}.json", time.monotonic() + 60
    while not kept.exists():
        assert time.monotonic() < end, "the session was not archived"
        time.sleep(0.1)
    with open_archive(f"sqlite:///{tmp_path}/data/archive.db") as archive:
        assert "user" in [hit.role for hit in archive.search("parser", session=thread)]
    noted = run(sys.executable, "-m", "trimtab", "archive", "log", "--session", thread)
    assert "hook pre-compact" in noted
    assert "hook session-start" in noted
