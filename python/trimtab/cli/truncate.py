"""The verb truncate: a filter that cuts a tool's output down to a limit."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..counting.truncate import CATEGORIES, checked, truncate_stream
from .files import chunks
from .input import tokens
from .output import answer
from .progress import Progress

if TYPE_CHECKING:
    import argparse


DESCRIPTION = """What a command printed, cut down to a limit: a filter for a pipe. The notice says exactly what is left
out. Memory is bounded, whatever comes; bytes that are no text pass as they are."""


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The verb's options."""
    parser = verbs.add_parser("truncate", help="cut a tool's output down to a limit", description=DESCRIPTION)
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="any text; stdin otherwise")
    parser.add_argument("--tokens", type=tokens, metavar="N", help="at most so many tokens, such as 4000 or 4k")
    parser.add_argument("--lines", type=tokens, metavar="N", help="at most so many lines")
    parser.add_argument("--chars", type=tokens, metavar="N", help="at most so many characters")
    parser.add_argument("--category", choices=CATEGORIES, default="generic", help="what stays; default: %(default)s")
    parser.add_argument("--model", help="whose tokens; default: o200k_base")
    parser.add_argument("--json", action="store_true", help="the answer as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Reads to the end, then writes what is left."""
    from ..counting.counter import Counter

    limits = checked(tokens=options.tokens, lines=options.lines, chars=options.chars)
    counter = Counter.for_model(options.model) if options.model else None
    with Progress("reading") as progress:
        text = progress.over(chunks(options.file))
        cut = truncate_stream(text, **limits, category=options.category, counter=counter)
    if options.json:
        answer({"text": cut.decode(errors="replace"), "bytes_before": progress.done, "bytes_after": len(cut)})
        return 0
    sys.stdout.buffer.write(cut)
    sys.stdout.buffer.flush()
    return 0
