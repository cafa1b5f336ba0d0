"""The verb truncate: a filter that shortens a tool's output to a limit."""

from __future__ import annotations

import argparse
import sys

from .._repr import printable
from ..counting.counter import Counter
from ..counting.truncate import CATEGORIES, truncate_stream
from .files import check_output, chunks
from .options import add_json, tokens
from .output import print_json
from .progress import Progress

DESCRIPTION = """Shorten a command's output to a limit, as a filter in a pipe. A notice says exactly what is left out,
and names the FILE that has it; the filter itself keeps nothing. Memory is bounded for any input; invalid UTF-8 passes
unchanged."""
EXAMPLES = (
    "make 2>&1 | trimtab truncate --category head-tail --tokens 4k",
    "trimtab truncate build.log --lines 50",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="a text file; default: stdin")
    parser.add_argument("--tokens", type=tokens, metavar="N", help="maximum number of tokens, such as 4000 or 4k")
    parser.add_argument("--lines", type=tokens, metavar="N", help="maximum number of lines")
    parser.add_argument("--chars", type=tokens, metavar="N", help="maximum number of characters")
    parser.add_argument("--category", choices=CATEGORIES, default="generic", help="what to keep; default: %(default)s")
    parser.add_argument("--model", help="count tokens for this model; default: o200k_base")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Read all input, then write the shortened text."""
    limits = {"tokens": options.tokens, "lines": options.lines, "chars": options.chars}
    counter = Counter.for_model(options.model) if options.model else None
    more = "" if options.file == "-" else f"see {options.file}"
    check_output(options, options.file)
    with Progress("reading") as progress:
        text = progress.track(chunks(options.file))
        cut = truncate_stream(text, **limits, category=options.category, counter=counter, more=more)
    if options.json:
        print_json({"text": cut.decode(errors="replace"), "bytes_before": progress.done, "bytes_after": len(cut)})
        return 0
    if sys.stdout.isatty():
        print(printable(cut.decode(errors="backslashreplace")), end="", flush=True)
        return 0
    sys.stdout.buffer.write(cut)
    sys.stdout.buffer.flush()
    return 0
