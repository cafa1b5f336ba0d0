"""The command line: one module per verb; data goes to stdout, notes to stderr.

Exit codes: 0 done; 1 the answer is no; 64 wrong usage; 65 the input cannot be used (missing, unreadable, no messages);
69 the summarizer failed and ``--no-fallback`` was given; 74 an output or the archive cannot be read or written; 130
interrupted. Never 2: agents treat exit code 2 of a hook as a veto.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from .options import USAGE, Parser, examples
from .output import print_note
from .terminal import Styled

TYPE_CHECKING = False  # `typing` takes long to import

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

OK, NO, DATA, UNAVAILABLE, IO, INTERRUPTED = 0, 1, 65, 69, 74, 130

VERBS = {
    "demo": "write the example session, and say what to type next",
    "show": "show what fills the next prompt of a session",
    "count": "count the tokens of sessions, by kind",
    "plan": "show what a compaction would do, edit by edit, and why",
    "compact": "write a smaller session that the provider accepts, and archive the original",
    "apply": "compact a session by a plan that was printed",
    "validate": "list the problems for which the provider would refuse a session, or repair them",
    "truncate": "shorten a command's output to a limit, as a filter in a pipe",
    "batch": "count, check, compact or cut the sessions of many files and tables",
    "restore": "write the original messages of a compaction",
    "diff": "show what a compaction took out and what stayed, in reading order",
    "audit": "show what the agent's own compactions lost: rules, requests, tasks, decisions, files, errors",
    "archive": "list, search, verify, export or remove archived originals",
    "report": "write a page to look at: what fills a session, what was cut, what it costs",
    "rescue": "fork a Claude Code session that is too large to resume into a smaller one",
    "hook": "protect Claude Code's sessions by hooks",
    "statusline": "print Claude Code's status line: the next prompt, and what is left until the compaction",
    "models": "name open models of your own, by their files, and show what is known of a model",
    "mcp": "serve search and fetch over a session's archive to an agent",
    "doctor": "show versions, the archive's place and what is installed",
    "completion": "print a script that completes commands in a shell",
}
"""The verbs, each a module of this package, with what they do; a command loads its own module alone."""

EPILOG = f"""{
    examples(
        (
            "trimtab demo",
            "trimtab show session.jsonl",
            "trimtab plan session.jsonl --target-share 0.5",
            "trimtab compact session.jsonl -o smaller.json --target-share 0.5",
            "trimtab validate smaller.json",
            "make 2>&1 | trimtab truncate --category head-tail --tokens 4k",
            "trimtab restore REF -o original.json",
            "trimtab report session.jsonl -o report.html",
            "trimtab archive search parser migration",
            "trimtab hook install",
        )
    )
}

exit codes: 0 done, 1 the answer is no, 64 usage, 65 bad input, 69 no summary, 74 output or archive, 130 interrupted

nothing leaves this machine: there is no telemetry, and the default summarizer uses no model"""

ADVICE = {
    USAGE: "see trimtab {verb} --help",
    DATA: "for what it reads: trimtab {verb} --help",
    UNAVAILABLE: "try again, or leave out --no-fallback: then a notice stands in for the summary",
    IO: "for the archive's place and state: trimtab doctor",
}
"""What to do, by exit code, where an error does not say it itself."""

UNWRITTEN = "check the output: its place, its mode, and the space that is left there"
"""What to do where the system refuses a file or stdout."""

RESUMED = "the same command goes on with the job, once its files can be read and --out be written"
"""What to do after a failed job, where an error does not say it itself."""

UNKNOWN_REF = "for the compactions that there are: trimtab archive list"

MAX_ERROR_LINES = 3


def parser(named: Iterable[str] = VERBS, complete: Collection[str] = VERBS) -> Parser:
    """Return the parser of the named verbs; those that are not to be complete have no options, and are not loaded."""
    from .. import __version__

    top = Parser(
        prog="trimtab", description="Keeps an agent's session inside its model's context window.", epilog=EPILOG
    )
    top.add_argument("--version", action="version", version=f"trimtab {__version__}")
    top.add_argument("--debug", action="store_true", help="show the traceback of an error")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=Parser)
    for name in named:
        made = verbs.add_parser(name, help=VERBS[name])
        if name in complete:
            verb = import_module(f".{name}", __package__)
            made.description, made.epilog = verb.DESCRIPTION, examples(verb.EXAMPLES)
            verb.add_options(made)
            made.set_defaults(run=verb.run)
    return top


def main(arguments: Sequence[str]) -> int:
    """Run one command; return its exit code."""
    given = next((argument for argument in arguments if not argument.startswith("-")), "")
    try:
        alone = given in VERBS and arguments[0] == given  # with an option before it, the help of all may be asked for
        options = parser((given,) if alone else VERBS, (given,)).parse_args(arguments)
    except SystemExit as stop:
        return _left(stop)
    options.code = OK
    try:
        options.code = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does: no error. Without dup2 Python would report it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(options.code)  # of a long answer, what its verb knew before it printed
    except SystemExit as stop:  # of a library, such as a server's
        return _left(stop)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - reported by kind
        if options.debug:
            from traceback import format_exc

            from .._mask import mask

            print_note(mask(format_exc()))
        return _report(error, options.verb)
    return int(options.code)


def _left(stop: SystemExit) -> int:
    """Return the exit code of code that leaves by itself: never 2, which an agent takes for a veto."""
    return OK if stop.code is None else stop.code if isinstance(stop.code, int) and stop.code != 2 else USAGE


def _report(error: Exception, verb: str) -> int:
    """Print what went wrong, where, and what to do; return the exit code."""
    from .._mask import mask

    code = _code_of(error)
    text = _text_of(error) if isinstance(error, OSError) else str(error)
    lines = [line for line in mask(text).splitlines() if line.strip()] or [type(error).__name__]
    if code is None:
        lines = [lines[0], "  this is a bug in trimtab; --debug shows the traceback"]
    elif len(lines) == 1 and "trimtab " not in text and "pip install" not in text:
        advice = UNWRITTEN if isinstance(error, OSError) else ADVICE[code].format(verb=verb)
        advice = RESUMED if (verb, code) == ("batch", IO) else advice
        lines.append(UNKNOWN_REF if text.startswith("no compaction") else advice)
    print_note(Styled(f"trimtab: {lines[0]}", "red"))
    for line in lines[1:MAX_ERROR_LINES]:
        print_note(f"  {line.strip()}")
    return DATA if code is None else code


def _code_of(error: Exception) -> int | None:
    """Return the exit code of an error, None for one that no verb expects."""
    from ..errors import ArchiveError, Error, SummaryError

    kinds = ((ArchiveError, IO), (OSError, IO), (SummaryError, UNAVAILABLE), (Error, DATA))
    usage = ((ValueError, USAGE), (TypeError, USAGE), (ImportError, USAGE))
    return next((code for kind, code in (*kinds, *usage) if isinstance(error, kind)), None)


def _text_of(error: OSError) -> str:
    """Return the system's words for an error, behind the file that it is about; of standard streams it names none."""
    named = f"{error.filename}: " if error.filename else ""
    return f"{named}{error.strerror.lower()}" if error.strerror else str(error)
