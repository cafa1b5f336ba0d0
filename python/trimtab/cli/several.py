"""One verb over several session files: a row a file, and one list of reports."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import Error
from .output import print_answer
from .terminal import Styled, table

OK, DATA = 0, 65

Row = Sequence[str | int]


def run_each(
    options: argparse.Namespace,
    one: Callable[[argparse.Namespace], tuple[dict[str, Any], Row, int]],
    heads: Sequence[str],
) -> int:
    """Run a verb for each file, and print a table; a file that cannot be read has its error there.

    Args:
        options: those of the verb, with ``files``.
        one: returns a file's report, the cells of its row behind the file's name, and its exit code.
        heads: names of these cells.

    Returns:
        The highest exit code.
    """
    reports, rows, codes = [], [], [OK]
    for name in options.files:
        try:
            report, row, code = one(argparse.Namespace(**{**vars(options), "file": name, "where": f"{name}: "}))
        except (Error, OSError) as error:
            what = str(error).splitlines()[0].removeprefix(f"{name}: ")
            report, row, code = {"error": what}, ["", *("" for _ in heads[2:]), what], DATA
        reports.append({"file": name, **report})
        rows.append([name, *row])
        codes.append(code)
    numbers = [sum(cell for cell in column if isinstance(cell, int)) for column in zip(*rows, strict=True)]
    total = Styled(f"{len(rows):,} files, {numbers[1]:,} messages", "bold")
    print_answer(options, {"files": reports}, [*table(["file", *heads], rows, sys.stdout), total])
    return max(codes)
