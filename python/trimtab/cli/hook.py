"""The verb hook: answers the events of Claude Code and Codex, and puts itself into their settings."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import suppress

from .._home import archive_url
from .options import add_archive, tokens
from .output import print_line, print_note

TYPE_CHECKING = False  # `typing` takes long to import

if TYPE_CHECKING:
    from typing import Any

DESCRIPTION = """Protect the sessions of Claude Code and Codex: archive each before its compaction, give back rules and
open tasks after it, shorten large outputs of tools. Events are read from stdin as the agent sends them; whatever
happens, they exit with 0, and refuse nothing."""
EXAMPLES = (
    "trimtab hook install",
    "trimtab hook install --codex --user",
    "trimtab hook install --mcp --truncate 4000 --tools Bash,Grep",
    "trimtab hook plugin -o trimtab-plugin",
    "trimtab hook uninstall",
)

EVENTS = ("pre-compact", "session-start", "post-tool-use")

DONE = {
    "pre-compact": ("the session file is copied", ""),
    "session-start": ("rules, tasks and pins are given back", "nothing to give back"),
    "post-tool-use": ("an output is shortened", "no text is over the limit"),
}
"""What a hook did, and why it did nothing, for the archive's log."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the events and the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=type(parser))
    command = actions.add_parser(EVENTS[0], help="copy the session for the archive")
    add_archive(command)
    command = actions.add_parser(EVENTS[1], help="give back pins, rules and open tasks after a compaction")
    command.add_argument("--on-resume", action="store_true", help="also when a session is resumed")
    add_truncate(actions.add_parser(EVENTS[2], help="shorten a large output; the whole stays in a file"), 4_000)
    command = actions.add_parser("archive", help="archive the copies of sessions that wait")
    add_archive(command)
    command = actions.add_parser("install", help="add the hooks to this project's settings")
    add_settings(command)
    command.add_argument("--on-resume", action="store_true", help="also give back when a session is resumed")
    about = "let the agent search the archive, by a server in .mcp.json; default: ask on a terminal"
    command.add_argument("--mcp", action=argparse.BooleanOptionalAction, help=about)
    add_truncate(command, None)
    command = actions.add_parser("plugin", help="write hooks, server and a skill as a plugin of Claude Code")
    command.add_argument("-o", "--output", metavar="FOLDER", required=True, help="a new folder, or one of this plugin")
    command.add_argument("--on-resume", action="store_true", help="also give back when a session is resumed")
    add_truncate(command, None)
    command = actions.add_parser("uninstall", help="take the hooks out again")
    add_settings(command)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the options of a change of the settings."""
    parser.add_argument("--codex", action="store_true", help="settings of Codex in place of Claude Code's")
    parser.add_argument("--user", action="store_true", help="the user's settings, for all projects")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def add_truncate(parser: argparse.ArgumentParser, limit: int | None) -> None:
    """Add the options for large outputs."""
    parser.add_argument("--truncate", type=tokens, metavar="TOKENS", default=limit, help="most tokens of an output")
    parser.add_argument("--tools", default="Bash,Grep,WebFetch", help="tools, with commas; default: %(default)s")


def run(options: argparse.Namespace) -> int:
    """Answer the event, or carry out the action."""
    if options.action in EVENTS:
        return _event(options)
    if options.action == "archive":
        from ..adapters.claude_code.archiving import archive_copies

        print_line(f"archived {archive_copies(archive_url(options.archive)):,} sessions")
        return 0
    if options.action == "plugin":
        from .hook_settings import write_plugin

        return write_plugin(options)
    from .hook_settings import change

    return change(options)


def _event(options: argparse.Namespace) -> int:
    """Answer an event: a failure is a note on stderr, and Claude Code goes on."""
    try:
        event = json.loads(sys.stdin.buffer.read())
        if not isinstance(event, dict):
            raise TypeError("the event is no JSON object")  # noqa: TRY301 - the note says it
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - an agent reads other exit codes as a refusal
        _note_failure(options, error)
        return 0
    from ..adapters.claude_code.store import note

    what = f"hook {options.action}"
    try:
        answer = _answer(options, event)
        if answer:
            print(json.dumps(answer), flush=True)
        did = bool(answer) or options.action == EVENTS[0]
        note(event.get("session_id"), what, "ran" if did else "skipped", DONE[options.action][not did])
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - see above
        note(event.get("session_id"), what, "failed", type(error).__name__)
        _note_failure(options, error)
    return 0


def _answer(options: argparse.Namespace, event: dict[str, Any]) -> dict[str, Any] | None:
    """Return the answer to an event; None where there is nothing to say."""
    from ..adapters.claude_code import events

    if options.action == "pre-compact":
        events.pre_compact(event, archive_url(options.archive))
        return None
    if options.action == "session-start":
        return events.session_start(event, on_resume=options.on_resume)
    return events.post_tool_use(event, options.truncate, options.tools.split(","))


def _note_failure(options: argparse.Namespace, error: BaseException) -> None:
    with suppress(OSError, ValueError):
        print_note(f"trimtab hook {options.action}: {error}")
