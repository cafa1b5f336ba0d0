"""The verb rescue: fork a Claude Code session that is too large to resume into a smaller one, offline."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._home import archive_url
from ..counting.counter import Counter, scan
from ..errors import MessageError
from .files import write
from .input import DEFAULT_MODELS, sendable, target
from .options import add_archive, add_file, add_policy, address, archive_option
from .originals import note_origin
from .output import print_answer, print_line
from .progress import Progress
from .prompt import compactor

if TYPE_CHECKING:
    from ..messages.types import Transcript

DESCRIPTION = (
    "Fork a Claude Code session that is too large to resume into a smaller one with a new id, in the same folder."
    " The original is not changed, and no model is called."
)
EXAMPLES = (
    "trimtab rescue ~/.claude/projects/-work/SESSION.jsonl --target-share 0.5",
    "trimtab rescue ~/.claude/projects/-work/SESSION.jsonl --at 180",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_file(parser)
    parser.add_argument("-o", "--output", metavar="DIR", help="folder of the new session; default: the file's")
    about = "reopen it as it was at this message of the whole session, before later compactions; 0 is the first"
    parser.add_argument("--at", type=int, metavar="N", help=about)
    add_policy(parser)
    add_archive(parser)


def run(options: argparse.Namespace) -> int:
    """Compact, write the fork, and report how to resume it and how to restore the original."""
    from ..formats.claude_code_fork import fork

    if options.file == "-" and not options.output:
        raise ValueError("a session from stdin has no folder: name the folder of the new session with -o DIR")
    stdin = options.head = sys.stdin.buffer.read() if options.file == "-" else b""
    if options.at is not None:
        options.whole = True
    transcript = sendable(options)
    if transcript.format != "claude_code":
        raise MessageError(f"this is a {transcript.format} file", hint="rescue is for Claude Code; see trimtab compact")
    if options.at is not None:
        start, transcript = until(transcript, options.at)
        if not options.target_tokens and not options.target_share:
            return _reopen(options, transcript, start, stdin)
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
    report = {"tokens_before": before, "tokens_after": after, **_written(options, session, text)}
    kept = "the file alone has them" if url == "memory" else f"trimtab restore {result.ref}{archive_option(url)}"
    lines = [
        f"{before:,} -> {after:,} tokens, written to {report['output']}",
        *_commands(report["resume"]),
        f"  originals   {kept}",
    ]
    print_answer(options, {**report, "ref": result.ref, "archive": address(url)}, lines)
    return 0


def until(found: Transcript, at: int) -> tuple[int, Transcript]:
    """Return the prompt of a session as it was behind a message, and the position of its first message.

    Args:
        found: the whole session.
        at: position of the prompt's last message.

    Raises:
        ValueError: there is no such message, or a call is open behind it; names the nearest ones that can be the last.
    """
    many = len(found.messages)
    if not 0 <= at < many:
        cuts = ", ".join(f"#{place}" for place in found.compactions) or "none"
        raise ValueError(f"no message #{at}: there are #0 to #{many - 1}\n  compactions stand before: {cuts}")
    counter = Counter.for_model(found.model or DEFAULT_MODELS["anthropic"])
    ends = [place - 1 for place in scan(found.messages, counter, found.provider).safe.nonzero()[0].tolist() if place]
    if at not in ends:
        near = (
            max((end for end in ends if end < at), default=None),
            min((end for end in ends if end > at), default=None),
        )
        named = " and ".join(f"--at {end}" for end in near if end is not None)
        raise ValueError(f"message #{at} has a call that is open behind it\n  the nearest that have none: {named}")
    start = max((place for place in found.compactions if place <= at), default=0)
    usage = [charged for charged in found.usage if charged.before <= at] if not start else []
    contexts = [context for place, context in zip(found.compactions, found.contexts, strict=True) if place == start]
    kept = [place for place in contexts[-1] if place <= at] if contexts else []
    messages = [found.messages[place] for place in dict.fromkeys([*kept, *range(start, at + 1)])]
    return start, replace(found, messages=messages, usage=usage, compactions=[], calls=[])


def _reopen(options: argparse.Namespace, found: Transcript, start: int, stdin: bytes) -> int:
    """Write a prompt as a new session, and report how to resume it."""
    from ..formats.claude_code_fork import fork

    with Progress("writing"), compactor(options, found, archive="memory") as cm:
        tokens = cm.size(found.messages, system=found.system, tools=found.tools).prompt
        source = stdin if options.file == "-" else Path(options.file)
        session, text = fork(
            source, found.messages, tokens_before=tokens, tokens_after=tokens, is_compacted=bool(start)
        )
    report = {"tokens_before": tokens, "tokens_after": tokens, **_written(options, session, text)}
    report |= {"ref": None, "archive": None}
    what = f"messages #{start} to #{options.at}" if start < options.at else f"message #{start}"
    print_answer(
        options, report, [f"{what}, {tokens:,} tokens, written to {report['output']}", *_commands(report["resume"])]
    )
    return 0


def _written(options: argparse.Namespace, session: str, text: str) -> dict[str, Any]:
    """Write a session's file; return its id, its path, and the commands that resume it."""
    output = Path(options.output or Path(options.file).parent) / f"{session}.jsonl"
    write(os.fspath(output), text)
    resume = _resume(session, output, json.loads(text.partition("\n")[0]).get("cwd"))
    return {"session": session, "output": os.fspath(output), "resume": resume}


def _commands(resume: list[str]) -> list[str]:
    return [f"  {'resume' * (not n):12}{line}" for n, line in enumerate(resume)]


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
