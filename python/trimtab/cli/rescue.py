"""The verb rescue: a Claude Code session that has grown too large to resume, as a smaller one that resumes; offline."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MessageError
from .files import archive_url, write
from .input import add_file, add_target, model_of, sendable, target
from .output import answer, say
from .progress import Progress

if TYPE_CHECKING:
    import argparse


DESCRIPTION = (
    "Writes a Claude Code session that has grown too large to resume as a smaller one beside it, with an id of its own."
    " The original is only read, and no model is asked."
)


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The verb's options."""
    parser = verbs.add_parser("rescue", help="a session too large to resume, made smaller", description=DESCRIPTION)
    add_file(parser)
    parser.add_argument("-o", "--output", metavar="DIR", help="folder of the new session; the file's own otherwise")
    parser.add_argument("--policy", default="default", help="preset; default: %(default)s")
    add_target(parser)
    parser.add_argument("--archive", metavar="URL", help="where the originals go; otherwise in the data folder")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compacts and writes the fork; says how to resume it, and how to undo it."""
    from ..formats.claude_code_fork import fork
    from ..session.compactor import Compactor

    if options.file == "-" and not options.output:
        raise ValueError("a session from stdin has no folder: name that of the new one with -o DIR")
    given = options.head = sys.stdin.buffer.read() if options.file == "-" else b""
    found = sendable(options)
    if found.format != "claude_code":
        raise MessageError(f"this is a {found.format} file", hint="rescue is for Claude Code; see trimtab compact")
    url = options.archive or archive_url()
    named = {"provider": found.provider, "window": options.window, "policy": options.policy, "archive": url}
    with Progress("compacting"), Compactor(model_of(options, found), **named) as cm:
        done = cm.compact(found.messages, system=found.system, tools=found.tools, **target(options))
    if done.ref is None:
        say(f"nothing to rescue: {done.reason} ({done.tokens_before:,} tokens)")
        return 1
    source = given if options.file == "-" else Path(options.file)
    before, after = done.tokens_before, done.tokens_after
    with Progress("writing"):
        session, text = fork(source, done.messages, tokens_before=before, tokens_after=after)
        output = Path(options.output or Path(options.file).parent) / f"{session}.jsonl"
        write(os.fspath(output), text)
    if options.json:
        answer(
            {
                "tokens_before": before,
                "tokens_after": after,
                "session": session,
                "output": os.fspath(output),
                "ref": done.ref,
                "archive": url,
            }
        )
        return 0
    say(f"{before:,} -> {after:,} tokens, written to {output}")
    say(f"  resume      claude --resume {session}")
    say(f"  originals   trimtab restore {done.ref}")
    return 0
