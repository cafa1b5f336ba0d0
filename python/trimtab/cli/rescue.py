"""The verb rescue: fork a Claude Code session that is too large to resume into a smaller one, offline."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
from pathlib import Path

from .._home import archive_url
from ..errors import MessageError
from .files import write
from .input import sendable, target
from .options import add_archive, add_file, add_policy
from .output import print_answer, print_line
from .progress import Progress
from .prompt import compactor
from .refs import note_origin

DESCRIPTION = (
    "Fork a Claude Code session that is too large to resume into a smaller one with a new id, in the same folder."
    " The original is not changed, and no model is called."
)
EXAMPLES = ("trimtab rescue ~/.claude/projects/-work/SESSION.jsonl --target-share 0.5",)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_file(parser)
    parser.add_argument("-o", "--output", metavar="DIR", help="folder of the new session; default: the file's")
    add_policy(parser)
    add_archive(parser)


def run(options: argparse.Namespace) -> int:
    """Compact, write the fork, and report how to resume it and how to restore the original."""
    from ..formats.claude_code_fork import fork

    if options.file == "-" and not options.output:
        raise ValueError("a session from stdin has no folder: name the folder of the new session with -o DIR")
    stdin = options.head = sys.stdin.buffer.read() if options.file == "-" else b""
    transcript = sendable(options)
    if transcript.format != "claude_code":
        raise MessageError(f"this is a {transcript.format} file", hint="rescue is for Claude Code; see trimtab compact")
    url = archive_url(options.archive)
    with Progress("compacting"), compactor(options, transcript, archive=url) as cm:
        result = cm.compact(transcript.messages, system=transcript.system, tools=transcript.tools, **target(options))
        note_origin(cm.archive, result.ref, options, transcript)
    if result.ref is None:
        print_line(f"nothing to rescue: {result.reason} ({result.tokens_before:,} tokens)")
        return 1
    source = stdin if options.file == "-" else Path(options.file)
    before, after = result.tokens_before, result.tokens_after
    with Progress("writing"):
        session, text = fork(source, result.messages, tokens_before=before, tokens_after=after, ref=result.ref)
        output = Path(options.output or Path(options.file).parent) / f"{session}.jsonl"
        write(os.fspath(output), text)
    resume = _resume(session, output, json.loads(text.partition("\n")[0]).get("cwd"))
    report = {"session": session, "output": os.fspath(output), "ref": result.ref, "archive": url, "resume": resume}
    lines = [
        f"{before:,} -> {after:,} tokens, written to {output}",
        *(f"  {'resume' * (not n):12}{line}" for n, line in enumerate(resume)),
        f"  originals   trimtab restore {result.ref}",
    ]
    print_answer(options, {"tokens_before": before, "tokens_after": after, **report}, lines)
    return 0


def _resume(session: str, output: Path, folder: object) -> list[str]:
    """Return the commands that resume a session: Claude Code looks for it in one folder, by the project's.

    Args:
        session: the session's id.
        output: its file.
        folder: where the session worked; if it is not on this machine, it goes on in the working folder.
    """
    project = Path(folder) if isinstance(folder, str) and Path(folder).is_dir() else Path.cwd()
    own = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "projects"
    home = own / re.sub(r"[^a-zA-Z0-9]", "-", os.fspath(project))
    commands = [f"claude --resume {session}"]
    if project.resolve() != Path.cwd():
        commands.insert(0, f"cd {shlex.quote(os.fspath(project))}")
    if output.resolve().parent.parent != own.resolve():
        source, target = shlex.quote(os.fspath(output.resolve())), shlex.quote(os.fspath(home))
        commands[:0] = [f"mkdir -p {target}", f"cp {source} {target}"]
    return commands
