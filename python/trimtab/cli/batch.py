"""The verb batch: a job over the sessions of many files, whose rows become Parquet tables."""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from ..counting.truncate import CATEGORIES
from .options import add_json, add_policy, tokens
from .output import many, print_answer, print_note
from .progress import Progress
from .terminal import Styled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..adapters.batch import Done

DESCRIPTION = """Do one thing with the sessions of many files: session files, JSONL with a session on each line, Parquet
tables, and folders of them. The rows go to Parquet tables in a folder; a row that cannot be read has its reason there.
A job that was interrupted goes on where it was."""
EXAMPLES = (
    "trimtab batch count chats.parquet --model claude-sonnet-5-5 --out counted",
    "trimtab batch compact sessions/ --target-share 40% --out smaller",
    "trimtab batch truncate outputs.jsonl --column text --tokens 4k --out cut",
)

ACTIONS = {
    "count": "count each session's tokens, by kind, tool and message, and list what would be refused",
    "validate": "list for each session what its provider would refuse",
    "compact": "make each session smaller; the tables have its messages and the plan",
    "repair": "make each session one that its provider accepts",
    "truncate": "cut each text, such as a tool's output, to the limits",
}

OK, DATA = 0, 65
"""Exit codes; the second where no row could be read."""

OWN = ("window", "policy", "target_tokens", "target_share", "in_flight", "tokens", "lines", "chars", "category")
"""Options of an action that its function takes."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=type(parser))
    for name, about in ACTIONS.items():
        command = actions.add_parser(name, help=about, description=f"{about[:1].upper()}{about[1:]}.")
        _add_job(command, texts=name == "truncate")
        if name in ("validate", "repair"):
            command.add_argument("--in-flight", action="store_true", help="calls at the end may still be running")
        elif name == "compact":
            command.add_argument("--window", type=tokens, help="tokens of input and output together, such as 200k")
            add_policy(command)
        elif name == "truncate":
            for limit in ("tokens", "lines", "chars"):
                command.add_argument(f"--{limit}", type=tokens, metavar="N", help=f"maximum number of {limit}")
            keeps = "what to keep; default: %(default)s"
            command.add_argument("--category", choices=CATEGORIES, default="generic", help=keeps)


def _add_job(command: argparse.ArgumentParser, *, texts: bool) -> None:
    """Add the options of every action."""
    what = "text files" if texts else "session files"
    about = f"{what}, .jsonl files with a row on each line, .parquet files, and folders of them"
    command.add_argument("inputs", metavar="IN", nargs="+", help=about)
    command.add_argument("--out", metavar="FOLDER", required=True, help="folder of the tables: new, or this job's own")
    about = "column of a table, or field of a line, that has the row; default: the only one"
    command.add_argument("--column", metavar="NAME", help=about)
    of = "o200k_base" if texts else "each session's own"
    command.add_argument("--model", help=f"model to count for; default: {of}")
    if not texts:
        from ..formats import FORMATS  # other verbs start without the readers

        formats = f"format of all sessions; default: detected; one of {', '.join(FORMATS)}"
        command.add_argument("--format", choices=FORMATS, metavar="NAME", help=formats)
    about = "what runs the job: this machine, or Ray (RAY_ADDRESS names the cluster); default: %(default)s"
    command.add_argument("--engine", choices=("native", "ray"), default="native", help=about)
    command.add_argument("--workers", type=_number, metavar="N", help="workers, each a core; default: all cores")
    about = "megabytes of input of each part of the tables; default: %(default)s"
    command.add_argument("--part-mb", type=_number, metavar="N", default=16, help=about)
    command.add_argument("--resume", action="store_true", help="only go on with an unfinished job; refuse to begin one")
    add_json(command)


def _number(text: str) -> int:
    """Parse a number of at least 1."""
    if not text.isascii() or not text.isdecimal() or not 0 < int(text[:9]) == int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number: write 1 or more")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Do the job, and report what became of it."""
    from ..adapters.batch import run as run_job

    began = time.monotonic()
    own = {name: getattr(options, name) for name in OWN if getattr(options, name, None) not in (None, False)}
    names = ("column", "model", "engine", "workers", "part_mb", "resume")
    job: dict[str, Any] = {name: getattr(options, name) for name in names}
    with Progress(options.action, step="looking at the inputs") as progress:

        def tell(done: int, total: int) -> None:
            progress.done, progress.total = done, total

        try:
            done = run_job(
                options.action,
                options.inputs,
                options.out,
                format=getattr(options, "format", None),
                progress=tell,
                **job,
                **own,
            )
        except KeyboardInterrupt:
            # What was in work is removed by now. Threads of the engine would abort the process as Python ends.
            if "daft" in sys.modules:
                os._exit(130)
            raise
    seconds = time.monotonic() - began
    report = {**{name: getattr(done, name) for name in done.__slots__}, "seconds": round(seconds, 3)}
    print_answer(options, {"out": options.out, **report}, _lines(options, done, seconds))
    if done.bad:
        have = "row has" if done.bad == 1 else "rows have"
        print_note(Styled(f"trimtab: {done.bad:,} {have} an error: see {options.out}/quarantine", "red"))
    return DATA if done.rows and done.bad == done.rows else OK


def _lines(options: argparse.Namespace, done: Done, seconds: float) -> Iterator[str]:
    """Yield what became of the job."""
    if not done.parts:
        yield f"nothing was left to do: {options.out} has the whole job"
        return
    what = "texts" if options.action == "truncate" else "sessions"
    rate = f"{done.size / 1e6:,.1f} MB in {seconds:,.1f} s, {done.size / 1e6 / seconds:,.0f} MB/s"
    yield Styled(f"{many(done.rows, what[:-1])}: {rate}", "bold")
    if done.tokens:
        yield f"  {done.tokens:,} tokens"
    yield f"  {many(done.bad, 'row')} with an error, {many(done.places, 'place')} in quarantine"
    yield f"  in {many(done.parts, 'part')}: {options.out}/{what}/*.parquet"
