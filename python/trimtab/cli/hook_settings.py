"""Installs the hooks into the settings of Claude Code or Codex, and takes them out again; the former's server too.

Or writes both, with a skill, as a plugin of Claude Code, which two lines install.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import shlex
import sys
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from .._home import archive_url
from ..adapters.claude_code.store import MAX_AGE_DAYS, MAX_BYTES, folder, read_json, stored
from .files import archive_path, write
from .output import print_line, print_note

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

MARK = "# trimtab hook"
"""Ends each command of ours, by which uninstall knows it."""

SERVER = "trimtab"
"""The name of our MCP server."""

OK, NO = 0, 1


@dataclass
class _File:
    """A file that is changed.

    Attributes:
        path: where it is.
        before: its text; None if there is no file.
        after: its text after the change.
        kept: the file that has its text of before the first install.
    """

    path: Path
    before: str | None
    after: str | None
    kept: Path


def change(options: argparse.Namespace) -> int:
    """Show what changes in the settings, ask, and write them.

    Raises:
        ValueError: a file is no JSON object of the agent's, or there is nobody to ask.
        OSError: one cannot be read or written.
    """
    installs = options.action == "install"
    files = _planned(options, installs=installs)
    changed = [file for file in files if file.after != file.before]
    if changed and not options.yes:
        _show(files, changed, installs=installs)
        if not _agreed("make this change?"):
            print_note("nothing was changed")
            return NO
    for file in changed:
        _write(file, installs=installs)
    if options.yes or not changed:  # after the change: a reader that closes the pipe does not undo it
        _show(files, changed, installs=installs)
    if installs and changed:
        _tell(has_server=len(files) > 1, codex=options.codex)
    return OK


def _show(files: list[_File], changed: list[_File], *, installs: bool) -> None:
    """Print the difference of each file that changes, and which do not."""
    for file in files:
        if file not in changed:
            print_line(f"{file.path}: {'all is there already' if installs else 'nothing of trimtab'}")
    for file in changed:
        old, new = ((text or "").splitlines() for text in (file.before, file.after))
        for line in difflib.unified_diff(old, new, str(file.path), str(file.path), lineterm=""):
            print_line(line)


def _planned(options: argparse.Namespace, *, installs: bool) -> list[_File]:
    """Return the files: the settings, and the project's servers if they are changed too.

    Raises:
        ValueError: a file is no JSON object of the agent's, or what it cannot have was asked for.
        OSError: one cannot be read.
    """
    files = [_file(_codex(options) if options.codex else _claude_code(options))]
    edit = partial(_with_hooks, options=options) if installs else _without_hooks
    _edit(files[0], edit, installs=installs)
    if options.user or options.codex:
        if installs and options.mcp:
            by_hand = _by_hand(agent="codex") if options.codex else _by_hand("--scope user ")
            raise ValueError(f"--mcp is for one project of Claude Code; by hand: {by_hand}")
        return files
    servers = _file(Path(".mcp.json"))
    if installs:
        wanted = options.mcp
        if wanted is None and not options.yes and sys.stdin.isatty():
            wanted = _agreed("let the agent search the archive, by an MCP server in .mcp.json?")
    else:
        wanted = bool(read_json(str(servers.kept))) or SERVER in (servers.before or "")
    if wanted:
        _edit(servers, _with_server if installs else _without_server, installs=installs)
        files.append(servers)
    return files


PLUGIN = {
    ".claude-plugin/plugin.json": "plugin.json",
    "README.md": "README.md",
    ".claude-plugin/marketplace.json": "marketplace.json",
    "hooks/hooks.json": "",
    ".mcp.json": "mcp.json",
    "skills/recall/SKILL.md": "SKILL.md",
}
"""Files of the plugin, and where their text is in the folder ``plugin``; that of the hooks depends on the options."""


def write_plugin(options: argparse.Namespace) -> int:
    """Write the plugin into a folder; the files are ours alone, whoever uses them needs ``trimtab`` on the path.

    Raises:
        ValueError: the folder has files and is no plugin of ours.
        OSError: a file cannot be written.
    """
    folder = Path(options.output)
    is_ours = read_json(str(folder / ".claude-plugin" / "plugin.json")).get("name") == SERVER
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not is_ours)):
        raise ValueError(f"{folder} is no folder of this plugin: name a new or an empty one")
    for name, source in PLUGIN.items():
        text = _json({"hooks": hooks(options, _on_path)})
        if source:
            text = Path(__file__).with_name("plugin").joinpath(source).read_text("utf-8")
            text = text.replace("VERSION", __version__)
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write(str(path), text)
        print_line(f"wrote {path}")
    print_line("in Claude Code:")
    print_line(f"  /plugin marketplace add {shlex.quote(str(folder.absolute()))}")
    print_line(f"  /plugin install {SERVER}@{SERVER}")
    print_line("whoever installs it needs trimtab on the path; for the server: pip install 'trimtab[mcp]'")
    return 0


def _on_path(words: str) -> str:
    """Return a shell command that exits with 0, also where there is no such program."""
    return f"command -v trimtab >/dev/null && trimtab hook {words} || true {MARK}"


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _claude_code(options: argparse.Namespace) -> Path:
    if not options.user:
        return Path(".claude") / "settings.local.json"
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "settings.json"


def _codex(options: argparse.Namespace) -> Path:
    """Return the file of Codex's hooks.

    Raises:
        ValueError: it was to shorten outputs, which a hook of Codex cannot.
    """
    if getattr(options, "truncate", None):
        raise ValueError("--truncate is for Claude Code: a hook of Codex cannot change the output of a tool")
    home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") if options.user else Path(".codex")
    return home / "hooks.json"


def _file(path: Path) -> _File:
    path = path.absolute()
    text = path.read_bytes().decode() if path.is_file() else None  # `read_text` would lose the kind of its line ends
    kept = Path(folder("settings")) / f"{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:32]}.json"
    return _File(path, text, text, kept)


def _edit(file: _File, edit: Callable[[dict[str, Any], Path], dict[str, Any]], *, installs: bool) -> None:
    """Set the text after: with our entries, or as it was, or without our entries if somebody has changed it since."""
    if file.before is None and not installs:
        return
    kept = read_json(str(file.kept))
    found = _parsed(file.before, file.path)
    made = edit(found, file.path)
    first = kept["before"] if isinstance(kept.get("before"), str) else None
    before = _parsed(first, file.path)
    # Somebody may have changed the settings between two installs: what was there before the second has our entries.
    if not installs and kept.get("after") == file.before and edit(before, file.path) == before:
        file.after = first
    elif file.before is None or made != found:
        file.after = _json(made)


def _write(file: _File, *, installs: bool) -> None:
    if file.after is None:
        file.path.unlink()
    else:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        write(str(file.path), file.after)
    if not installs:
        file.kept.unlink(missing_ok=True)
        return
    known = read_json(str(file.kept))
    first = known.get("before") if known.get("after") == file.before else file.before  # of the first install
    write(str(file.kept), json.dumps({"path": str(file.path), "before": first, "after": file.after}))


def _tell(*, has_server: bool, codex: bool) -> None:
    """Print where and how much is stored, and what remains to do."""
    place, size = stored()
    limit = f"{MAX_AGE_DAYS} days or {MAX_BYTES // 10**9} GB, readable by you alone"
    print_line(f"sessions are archived in {archive_path(archive_url())}")
    print_line(f"the hooks' files are in {place} ({size:,} bytes now), kept for {limit}")
    if codex:
        print_line("Codex runs a new hook after you have trusted it: /hooks, in Codex")
        print_line(f"to let the agent search the archive: {_by_hand(agent='codex')}")
    elif has_server:
        print_line("Claude Code asks once whether to use the server; .mcp.json has this machine's path of the program")
    else:
        print_line(f"to let the agent search the archive: {_by_hand()}")
    if not find_spec("mcp"):
        print_line("the server needs the extra: pip install 'trimtab[mcp]'")


def _by_hand(scope: str = "", agent: str = "claude") -> str:
    return f"{agent} mcp add {scope}{SERVER} -- {shlex.join([*_program(), 'mcp'])}"


def _agreed(question: str) -> bool:
    """Ask the user.

    Raises:
        ValueError: stdin is no terminal.
    """
    if not sys.stdin.isatty():
        raise ValueError("nobody can be asked: stdin is no terminal; --yes makes the change shown above")
    return input(f"{question} [y/N] ").strip().lower() in {"y", "yes"}


def _parsed(text: str | None, path: Path) -> dict[str, Any]:
    """Return the object in a file.

    Raises:
        ValueError: it is no JSON object.
    """
    try:
        found = json.loads(text or "{}")
    except ValueError as error:
        raise ValueError(f"{path} is no JSON ({error}): mend it first; nothing was changed") from error
    if isinstance(found, dict):
        return found
    raise ValueError(f"{path} is no JSON object: mend it first; nothing was changed")


def _with_hooks(settings: dict[str, Any], path: Path, options: argparse.Namespace) -> dict[str, Any]:
    found = _without_ours(_hooks(settings, path))
    for event, groups in hooks(options, _command).items():
        found[event] = [*found.get(event, ()), *groups]
    return _put(settings, "hooks", found)


def hooks(options: argparse.Namespace, command: Callable[[str], str]) -> dict[str, list[dict[str, Any]]]:
    """Return our hooks by event; ``command`` returns the shell command for the words behind ``trimtab hook``."""
    added = {
        "PreCompact": ("", "pre-compact"),
        "SessionStart": ("", f"session-start{' --on-resume' * options.on_resume}"),
    }
    if options.truncate:
        tools = [tool.strip() for tool in options.tools.split(",") if tool.strip()]
        names = shlex.quote(",".join(tools))
        added["PostToolUse"] = ("|".join(tools), f"post-tool-use --truncate {options.truncate} --tools {names}")
    found: dict[str, list[dict[str, Any]]] = {}
    for event, (matcher, words) in added.items():
        entry = {"hooks": [{"type": "command", "command": command(words), "timeout": 60}]}
        found[event] = [{"matcher": matcher, **entry} if matcher else entry]
    return found


def _without_hooks(settings: dict[str, Any], path: Path) -> dict[str, Any]:
    before = _hooks(settings, path)
    left = _without_ours(before)
    if left == before:
        return settings
    return _put(settings, "hooks", left)


def _put(settings: dict[str, Any], name: str, entries: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with these entries under a name, and without the name where there are none."""
    return {key: value for key, value in {**settings, name: entries}.items() if value or key != name}


def _hooks(settings: dict[str, Any], path: Path) -> dict[str, Any]:
    found = settings.get("hooks", {})
    if not isinstance(found, dict) or not all(isinstance(groups, list) for groups in found.values()):
        raise ValueError(f"{path} holds no settings of the agent: mend its 'hooks' first; nothing was changed")
    return found


def _with_server(found: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the servers with ours; one of that name which the user wrote stays."""
    servers = _servers(found, path)
    if SERVER in servers and not _is_ours(servers[SERVER]):
        return found
    command, *words = _program()
    return _put(found, "mcpServers", {**servers, SERVER: {"command": command, "args": [*words, "mcp"]}})


def _without_server(found: dict[str, Any], path: Path) -> dict[str, Any]:
    servers = _servers(found, path)
    if not _is_ours(servers.get(SERVER)):
        return found
    others = {name: servers[name] for name in servers if name != SERVER}
    return _put(found, "mcpServers", others)


def _servers(found: dict[str, Any], path: Path) -> dict[str, Any]:
    servers = found.get("mcpServers", {})
    if isinstance(servers, dict):
        return servers
    raise ValueError(f"{path} holds no servers of the agent: mend its 'mcpServers' first; nothing was changed")


def _is_ours(server: object) -> bool:
    """Return whether a server is as we write one: an entry with options of its own is the user's."""
    if not isinstance(server, dict) or set(server) != {"command", "args"}:
        return False
    return server["args"] in (["mcp"], ["-m", "trimtab", "mcp"])


def _command(words: str) -> str:
    """Return a shell command that exits with 0, also when the program is gone."""
    program = _program()
    return f"test -x {shlex.quote(program[0])} && {shlex.join(program)} hook {words} || true {MARK}"


def _program() -> list[str]:
    """Return the words that start this program."""
    called = Path(sys.argv[0]).absolute()
    return [str(called)] if called.name in {"trimtab", "trimtab.exe"} else [sys.executable, "-m", "trimtab"]


def _without_ours(found: dict[str, Any]) -> dict[str, Any]:
    """Return the hooks without our commands, and without the groups and events that had only these."""
    left: dict[str, Any] = {}
    for event, groups in found.items():
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
