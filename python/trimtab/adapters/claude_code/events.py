"""Answers to the events of Claude Code and Codex, each a function of the event's JSON; none refuses anything."""

from __future__ import annotations

import json
import os
import sys

from ... import _core
from .store import (
    alone_in,
    copy_session,
    expire,
    keep_output,
    project_file,
    read_json,
    session_file,
    waiting,
    write,
)

TYPE_CHECKING = False  # `typing` takes long to import

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from subprocess import Popen
    from typing import Any

COMPACTED, RESUMED = "compact", "resume"
"""Sources of ``SessionStart`` after which a session may get something back."""

MOST_SESSIONS = 100
"""Newest sessions of a project that are noted."""


def pre_compact(event: Mapping[str, Any], archive: str) -> Popen[bytes]:
    """Copy the session before its compaction; return the process that puts the copy into the archive.

    Args:
        event: the event ``PreCompact``.
        archive: URL of the archive.

    Raises:
        OSError: the session file cannot be read, or the copy cannot be written.
        ValueError: the event names no session or no file.
    """
    copy_session(_text(event, "transcript_path"), _text(event, "session_id"))
    return start_archiving(archive)


def start_archiving(archive: str) -> Popen[bytes]:
    """Start a process that archives the copies, and outlives this one."""
    import subprocess  # takes 10 ms, and only this event needs it

    scheme, is_file, path = archive.partition("sqlite:///")
    url = f"{scheme}{is_file}{os.path.abspath(path)}" if is_file else archive  # the process runs in another folder
    command = [sys.executable, "-m", "trimtab", "hook", "archive", "--archive", url]
    null = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=null, stdout=null, stderr=null, start_new_session=True, cwd=os.sep)  # noqa: S603 - our own program


def session_start(event: Mapping[str, Any], *, on_resume: bool) -> dict[str, Any] | None:
    """Return what the session gets back after its compaction; None at another start, or if there is nothing.

    Notes the session as its project's current one.

    Args:
        event: the event ``SessionStart``.
        on_resume: whether a resumed session gets it too.

    Raises:
        OSError: the folder of the hooks cannot be written.
        ValueError: the event names no session.
    """
    session, source = _text(event, "session_id"), event.get("source")
    if isinstance(project := os.environ.get("CLAUDE_PROJECT_DIR") or event.get("cwd"), str) and project:
        note_session(project, session)
    if source != COMPACTED and not (source == RESUMED and on_resume):
        return None
    from .given import facts, given  # its patterns take 4 ms, and most starts give nothing back

    found = read_json(session_file(session))
    if copies := waiting(session):  # the archive is not done with them
        with open(copies[-1], "rb") as file:
            found = {**found, **facts(file)}
    text = given(found, session, in_bytes=_is_codex(event))
    return _output("SessionStart", additionalContext=text) if text else None


def _is_codex(event: Mapping[str, Any]) -> bool:
    return os.path.basename(str(event.get("transcript_path") or "")).startswith("rollout-")


def note_session(project: str, session: str) -> None:
    """Note a session as its project's current one."""
    path = project_file(project)
    with alone_in(os.path.dirname(path)):  # each of two sessions that start at once is noted
        known = read_json(path).get("sessions")
        past = [each for each in known if each != session] if isinstance(known, list) else []
        write(path, json.dumps({"session_id": session, "sessions": [*past, session][-MOST_SESSIONS:]}).encode())


def post_tool_use(event: Mapping[str, Any], limit: int, tools: Collection[str]) -> dict[str, Any] | None:
    """Return a shorter output in the tool's own keys and types; None if nothing in it is over the limit.

    The last lines of each text stay, and its notice names a file with the whole text.

    Args:
        event: the event ``PostToolUse``.
        limit: tokens of each text, by Claude's vocabulary.
        tools: tools whose outputs are shortened.

    Raises:
        OSError: the whole output cannot be kept.
        ValueError: the event names no session.
    """
    if event.get("tool_name") not in tools:
        return None
    shortened = _Shortened(_text(event, "session_id"), str(event.get("tool_use_id") or "output"), limit)
    made = shortened.value(event.get("tool_response"))
    if not shortened.texts:
        return None
    expire()
    return _output("PostToolUse", updatedToolOutput=made)


class _Shortened:
    """Shortens the texts of one output."""

    def __init__(self, session: str, call: str, limit: int) -> None:
        """Take the names under which whole texts are kept, and the tokens of each."""
        self._session, self._call, self._limit, self.texts = session, call, limit, 0

    def value(self, value: Any) -> Any:
        """Return the value with texts within the limit, and everything else as it is."""
        if isinstance(value, dict):
            is_data = value.get("type") == "base64" or value.get("isImage")
            return value if is_data else {key: self.value(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self.value(part) for part in value]
        return self._text(value) if isinstance(value, str) and len(value) > self._limit // 4 else value

    def _text(self, text: str) -> str:
        if len(text.encode(errors="surrogatepass")) <= self._limit:  # a token has a byte or more
            return text

        counter = _core.Counter("claude-new")
        if not counter.exceeds(text, self._limit):
            return text
        call = f"{self._call}-{self.texts}" if self.texts else self._call
        more = f"the whole is in {keep_output(self._session, call, text)}"
        cut = _core.truncate(
            text, counter=counter, category="head-tail", limits=[self._limit, None, None, None], more=more
        )
        self.texts += cut is not None
        return text if cut is None else cut


def _text(event: Mapping[str, Any], name: str) -> str:
    value = event.get(name)
    if isinstance(value, str) and value.strip():
        return value
    raise ValueError(f"the event has no {name}")


def _output(event: str, **fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}
