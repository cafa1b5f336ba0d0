"""The command line: one module per verb; data goes to stdout, notes to stderr.

Exit codes: 0 done; 1 the answer is no; 64 wrong usage; 65 the input cannot be used (missing, unreadable, no messages);
69 the summarizer failed and ``--no-fallback`` was given; 74 an output or the archive cannot be read or written; 130
interrupted. Never 2: agents treat exit code 2 of a hook as a veto.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Never

from .. import __version__
from .._mask import mask
from ..errors import ArchiveError, Error, SummaryError
from .output import print_note

if TYPE_CHECKING:
    from collections.abc import Sequence

OK, NO, USAGE, DATA, UNAVAILABLE, IO, INTERRUPTED = 0, 1, 64, 65, 69, 74, 130

VERBS = ("count", "plan", "compact", "validate", "truncate", "restore", "archive", "rescue", "hook", "mcp")
"""The verbs, each a module of this package; a command loads its own alone."""

EXAMPLES = """examples:
  trimtab count session.jsonl
  trimtab plan session.jsonl --target-share 0.5
  trimtab compact session.jsonl -o smaller.json --target-share 0.5
  trimtab validate smaller.json
  make 2>&1 | trimtab truncate --category head-tail --tokens 4k
  trimtab restore REF -o original.json
  trimtab archive search parser migration
  trimtab hook install

exit codes: 0 done, 1 the answer is no, 64 usage, 65 bad input, 69 no summary,
  74 output or archive, 130 interrupted
nothing leaves this machine: there is no telemetry, and the default summarizer uses no model"""


class Parser(argparse.ArgumentParser):
    """An argument parser that exits with 64 on a usage error."""

    def error(self, message: str) -> Never:
        """Print the error and how to get help, and exit."""
        self.exit(USAGE, f"{self.prog}: {message}\n  see {self.prog} --help\n")


def parser(named: Sequence[str] = VERBS) -> argparse.ArgumentParser:
    """Return the parser of the named verbs."""
    top = Parser(
        prog="trimtab",
        description="Keeps an agent's session inside its model's context window.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"trimtab {__version__}")
    top.add_argument("--debug", action="store_true", help="show the traceback of an error")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=Parser)
    for name in named:
        verb = import_module(f".{name}", __package__)
        about = verb.DESCRIPTION.partition(".")[0]
        made = verbs.add_parser(name, help=f"{about[:1].lower()}{about[1:]}", description=verb.DESCRIPTION)
        verb.add_options(made)
        made.set_defaults(run=verb.run)
    return top


def main(arguments: Sequence[str]) -> int:
    """Run one command; return its exit code."""
    given = next((argument for argument in arguments if not argument.startswith("-")), "")
    try:
        options = parser((given,) if given in VERBS else VERBS).parse_args(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else USAGE
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does: no error. Without dup2 Python would report it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - reported by kind
        if options.debug:
            from traceback import format_exc

            print_note(mask(format_exc()))
        return _report(error)
    return code


def _report(error: Exception) -> int:
    print_note(f"trimtab: {mask(str(error)) or type(error).__name__}")
    if isinstance(error, ArchiveError | OSError):
        return IO
    if isinstance(error, SummaryError):
        return UNAVAILABLE
    if isinstance(error, Error):
        return DATA
    if isinstance(error, ValueError | TypeError | ImportError):
        return USAGE
    print_note("  this is a bug in trimtab; --debug shows the traceback")
    return DATA
