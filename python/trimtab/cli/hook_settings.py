"""Installs the hooks into Claude Code's settings, and takes them out again."""

from __future__ import annotations

import difflib
import hashlib
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._home import archive_url
from ..adapters.claude_code.store import MAX_AGE_DAYS, MAX_BYTES, folder, read_json, stored
from .files import archive_path, write
from .output import print_line, print_note

if TYPE_CHECKING:
    import argparse

MARK = "# trimtab hook"
"""Ends each command of ours, by which uninstall knows it."""

OK, NO, USAGE = 0, 1, 64


def change(options: argparse.Namespace) -> int:
    """Show what changes in the settings, ask, and write them.

    Raises:
        ValueError: the settings are no JSON object of Claude Code's, or there is nobody to ask.
        OSError: they cannot be read or written.
    """
    path = Path.home() / ".claude" / "settings.json" if options.user else Path(".claude") / "settings.local.json"
    path = path.absolute()
    before = path.read_text(encoding="utf-8") if path.is_file() else None
    kept = Path(folder("settings")) / f"{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:32]}.json"
    installs = options.action == "install"
    after = _installed(before, path, options) if installs else _uninstalled(before, path, read_json(str(kept)))
    if after == before:
        print_line(f"{path}: {'the hooks are there already' if installs else 'no hooks of trimtab'}")
        return OK
    old, new = ((text or "").splitlines() for text in (before, after))
    for line in difflib.unified_diff(old, new, str(path), str(path), lineterm=""):
        print_line(line)
    if not options.yes and not _agreed():
        print_note("nothing was changed")
        return NO
    if after is None:
        path.unlink()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(str(path), after)
    if installs:
        known = read_json(str(kept))
        first = known.get("before") if known.get("after") == before else before  # of the first install
        write(str(kept), json.dumps({"path": str(path), "before": first, "after": after}))
        place, size = stored()
        archive = archive_path(archive_url())
        limit = f"{MAX_AGE_DAYS} days or {MAX_BYTES // 10**9} GB, readable by you alone"
        print_line(f"sessions are archived in {archive}")
        print_line(f"the hooks' files are in {place} ({size:,} bytes now), kept for {limit}")
        print_line(f"to let the agent search the archive: claude mcp add trimtab -- {_program()} mcp")
    else:
        kept.unlink(missing_ok=True)
    return OK


def _agreed() -> bool:
    """Ask the user.

    Raises:
        ValueError: stdin is no terminal.
    """
    if not sys.stdin.isatty():
        raise ValueError("nobody can be asked: stdin is no terminal; --yes makes the change shown above")
    return input("change the settings? [y/N] ").strip().lower() in {"y", "yes"}


def _parsed(text: str | None, path: Path) -> dict[str, Any]:
    """Return the settings.

    Raises:
        ValueError: they are no JSON object, or their hooks are none of Claude Code's.
    """
    try:
        found = json.loads(text or "{}")
    except ValueError as error:
        raise ValueError(f"{path} is no JSON ({error}): mend it first; nothing was changed") from error
    hooks = found.get("hooks", {}) if isinstance(found, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(groups, list) for groups in hooks.values()):
        raise ValueError(f"{path} holds no settings of Claude Code: mend its 'hooks' first; nothing was changed")
    return dict(found)


def _installed(before: str | None, path: Path, options: argparse.Namespace) -> str:
    settings = _parsed(before, path)
    hooks = _without_ours(settings.get("hooks", {}))
    added = {
        "PreCompact": ("", "pre-compact"),
        "SessionStart": ("", f"session-start{' --on-resume' * options.on_resume}"),
    }
    if options.truncate:
        tools = [tool.strip() for tool in options.tools.split(",") if tool.strip()]
        names = shlex.quote(",".join(tools))
        added["PostToolUse"] = ("|".join(tools), f"post-tool-use --truncate {options.truncate} --tools {names}")
    for event, (matcher, words) in added.items():
        entry = {"hooks": [{"type": "command", "command": _command(words), "timeout": 60}]}
        hooks.setdefault(event, []).append({"matcher": matcher, **entry} if matcher else entry)
    made = {**settings, "hooks": hooks}
    return before if before is not None and made == settings else json.dumps(made, indent=2, ensure_ascii=False) + "\n"


def _command(words: str) -> str:
    """Return a shell command that exits with 0, also when the program is gone."""
    program = _program()
    return f"test -x {shlex.quote(shlex.split(program)[0])} && {program} hook {words} || true {MARK}"


def _program() -> str:
    """Return the shell words that start this program."""
    called = Path(sys.argv[0]).absolute()
    if called.name in {"trimtab", "trimtab.exe"}:
        return shlex.quote(str(called))
    return f"{shlex.quote(sys.executable)} -m trimtab"


def _uninstalled(before: str | None, path: Path, kept: dict[str, Any]) -> str | None:
    """Return the settings as they were before, or without our entries if somebody has changed them since."""
    if before is None:
        return None
    settings = _parsed(before, path)
    if kept.get("after") == before:
        first = kept.get("before")
        return first if isinstance(first, str) else None
    hooks = _without_ours(settings.get("hooks", {}))
    if hooks == settings.get("hooks", {}):
        return before
    made = {**settings, "hooks": hooks} if hooks else {key: settings[key] for key in settings if key != "hooks"}
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


def _without_ours(hooks: dict[str, Any]) -> dict[str, Any]:
    """Return the hooks without our commands, and without the groups and events that had only these."""
    left: dict[str, Any] = {}
    for event, groups in hooks.items():
        kept = [group for group in map(_group_without_ours, groups) if group is not None]
        if kept or not groups:
            left[event] = kept
    return left


def _group_without_ours(group: Any) -> Any:
    commands = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(commands, list):
        return group
    others = [each for each in commands if not (isinstance(each, dict) and str(each.get("command")).endswith(MARK))]
    if len(others) == len(commands):
        return group
    return {**group, "hooks": others} if others else None
