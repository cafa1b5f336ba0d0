"""Records the example session: a coding agent's work on this repository, with real outputs of real tool calls.

Carries out the steps of ``script.py`` on a temporary copy of the tracked files. Equal files, Python, pytest and ruff give
an equal session: ids are counted, times are made up, and the copy is called ``/repo``. Run it again when the repository
has changed:

    python examples/record.py                     writes python/trimtab/formats/example.jsonl
    python examples/record.py --out other.jsonl   writes there

A step names a text that its output must contain, so that the agent's words stay true. If an output no longer contains
it, nothing is written, and the error names the step to rewrite. Needs the installed trimtab, pytest and ruff (``[dev]``).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from script import MODEL, STEPS, Agent, Call, User

import trimtab

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "python" / "trimtab" / "formats" / "example.jsonl"
REPO = "/repo"
"""The copy's path in the session."""
START = datetime(2026, 11, 3, 9, 0, tzinfo=UTC)
SESSION = "00000000-0000-4000-8000-000000000000"


class ToolError(Exception):
    """A failed tool call; the message is its output."""


# The tools


def read(repo: Path, args: dict[str, Any]) -> str:
    first = args.get("offset", 1)
    lines = _file(repo, args["file_path"]).read_text().splitlines()[first - 1 :]
    lines = lines[: args.get("limit", len(lines))]
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, first))


def grep(repo: Path, args: dict[str, Any]) -> str:
    pattern = re.compile(args["pattern"])
    found = []
    for path in _walk(repo, args.get("path", REPO), args.get("glob", "*")):
        lines = path.read_text().splitlines()
        found += [f"{path}:{n}:{line}" for n, line in enumerate(lines, 1) if pattern.search(line)]
    if args.get("output_mode") == "content":
        return "\n".join(found) or "No matches found"
    files = list(dict.fromkeys(line.split(":", 1)[0] for line in found))
    return "\n".join([f"Found {len(files)} files", *files]) if files else "No files found"


def glob(repo: Path, args: dict[str, Any]) -> str:
    found = sorted(_file(repo, args.get("path", REPO)).glob(args["pattern"]))
    return "\n".join(map(str, found)) or "No files found"


def bash(repo: Path, args: dict[str, Any]) -> str:
    env = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(repo),
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "PYTHONPATH": str(repo / "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "RUFF_NO_CACHE": "true",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # none of them is used, and each run would load them
        "PYTEST_ADDOPTS": "--noconftest",
    }
    command = ["bash", "-c", args["command"].replace(REPO, str(repo))]
    done = subprocess.run(
        command, cwd=repo, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise ToolError(f"Exit code {done.returncode}\n{done.stdout.rstrip()}")
    return done.stdout.rstrip() or "(Bash completed with no output)"


def write(repo: Path, args: dict[str, Any]) -> str:
    path = _file(repo, args["file_path"])
    is_new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(args["content"])
    return f"File {'created' if is_new else 'updated'} successfully at: {path}"


def edit(repo: Path, args: dict[str, Any]) -> str:
    path, old, new = _file(repo, args["file_path"]), args["old_string"], args["new_string"]
    before, parting, after = path.read_text().partition(old)
    if not parting:
        raise ToolError(f"String to replace not found in file.\nString: {old}")
    if old in after:
        raise ToolError(f"Found {1 + after.count(old)} matches of the string to replace, but replace_all is false.")
    path.write_text(before + new + after)
    start = max(before.count("\n") - 2, 1)
    shown = read(repo, {"file_path": args["file_path"], "offset": start, "limit": new.count("\n") + 7})
    return f"The file {path} has been updated. Here's a snippet of the edited file:\n{shown}"


TOOLS: dict[str, Callable[[Path, dict[str, Any]], str]] = {
    "Read": read,
    "Grep": grep,
    "Glob": glob,
    "Bash": bash,
    "Write": write,
    "Edit": edit,
}


def _file(repo: Path, name: str) -> Path:
    path = repo / name.removeprefix(REPO).lstrip("/")
    if not path.resolve().is_relative_to(repo) and not path.is_symlink():
        raise ToolError(f"{name} is outside of {REPO}")
    return path


def _walk(repo: Path, name: str, glob: str) -> Iterator[Path]:
    path = _file(repo, name)
    return iter([path] if path.is_file() else sorted(p for p in path.rglob(glob) if p.is_file() and p.suffix != ".so"))


# The session


def copy_to(repo: Path) -> None:
    """Copies the tracked files except the examples and the session itself; links the compiled core."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if not name.startswith("examples/") and ROOT / name != RECORDED and (ROOT / name).is_file():
            (repo / name).parent.mkdir(parents=True, exist_ok=True)
            (repo / name).write_bytes((ROOT / name).read_bytes())
    core = Path(trimtab._core.__file__)  # noqa: SLF001 - the copy's Python runs on it
    (repo / "python/trimtab" / core.name).symlink_to(core)


def carry_out(call: Call, repo: Path, where: str) -> dict[str, Any]:
    """Returns a call's result, a block without its id. Ends the program if it is not the expected one."""
    try:
        output, failed = TOOLS[call.name](repo, call.input), False
    except ToolError as error:
        output, failed = str(error), True
    output = output.replace(str(repo), REPO)
    if address := re.search(r"0x[0-9a-f]{8,}", output):
        sys.exit(f"{where}: {call.name} {call.input} prints an address ({address[0]}), which differs in each recording")
    if failed != call.fails or call.expect not in output:
        wanted = f"{'a failure' if call.fails else 'success'} with {call.expect!r}"
        sys.exit(f"{where}: {call.name} {call.input} should give {wanted}, but gave:\n{output}")
    return {"type": "tool_result", "content": output} | ({"is_error": True} if failed else {})


class Session:
    """The lines of a Claude Code session: one a block, each with the line before as its parent."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.calls = 0
        self.responses = 0

    def add(self, role: str, message: dict[str, Any], parent: str | None = None) -> str:
        at = len(self.lines) + 1
        parent = parent or (self.lines[-1]["uuid"] if self.lines else None)
        line = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": REPO,
            "sessionId": SESSION,
            "type": role,
            "message": {"role": role, **message},
            "uuid": f"{at:08x}-0000-4000-8000-000000000000",
            "timestamp": (START + timedelta(seconds=9 * at)).isoformat().replace("+00:00", ".000Z"),
        }
        self.lines.append(line)
        return str(line["uuid"])

    def respond(self, step: Agent, results: list[dict[str, Any]]) -> None:
        """Adds a response, a line a block, then the results, each with the line of its call as parent."""
        self.responses += 1
        head = {"id": f"msg_{self.responses:04}", "type": "message", "model": MODEL}
        if step.text:
            self.add("assistant", head | {"content": [{"type": "text", "text": step.text}]})
        ids, parents = [f"toolu_{self.calls + n:04}" for n in range(1, len(step.calls) + 1)], []
        self.calls += len(ids)
        for call_id, call in zip(ids, step.calls, strict=True):
            use = {"type": "tool_use", "id": call_id, "name": call.name, "input": call.input}
            parents.append(self.add("assistant", head | {"content": [use]}))
        for call_id, result, parent in zip(ids, results, parents, strict=True):
            self.add("user", {"content": [{"tool_use_id": call_id, **result}]}, parent)

    def text(self) -> str:
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self.lines)


def record() -> str:
    """Carries out all steps. Returns the session's text."""
    session = Session()
    with tempfile.TemporaryDirectory() as folder:
        repo = Path(folder).resolve() / "copy"
        repo.mkdir()
        copy_to(repo)
        for number, step in enumerate(STEPS, 1):
            match step:
                case User(text):
                    session.add("user", {"content": text})
                case Agent(_, calls):
                    session.respond(step, [carry_out(call, repo, f"script.py, step {number}") for call in calls])
    text = session.text()
    if found := [name for name in (str(ROOT), sys.prefix, folder, str(Path.home())) if f"{name}/" in text]:
        sys.exit(f"the session contains paths of this machine: {', '.join(found)}")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description="Record the example session.")
    parser.add_argument("--out", type=Path, default=RECORDED)
    out = parser.parse_args().out
    text = record()
    out.write_text(text)
    print(f"{out}: {text.count(chr(10))} lines, {len(text.encode()):,} bytes")


if __name__ == "__main__":
    main()
