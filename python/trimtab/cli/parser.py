"""The parser of the command line: usage errors exit with 64, and help begins with what a verb does."""

from __future__ import annotations

import argparse
import sys

from .._repr import one_line, printable
from .terminal import width_of, wrap

TYPE_CHECKING = False  # `typing` takes long to import

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Never

    from _typeshed import SupportsWrite

USAGE = 64


class Help(argparse.HelpFormatter):
    """Fills paragraphs, and keeps lines that begin with a space: examples and lists."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=(width_of(sys.stdout) or 80) - 2)  # without a width, it loads `shutil`

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs: list[str] = []
        for line in text.splitlines():
            before = paragraphs[-1] if paragraphs else ""
            if before and line and not line.startswith(" ") and not before.startswith(" "):
                paragraphs[-1] = f"{before} {line}"
            else:
                paragraphs.append(line)
        return "\n".join(part for each in paragraphs for part in wrap(indent + each, width, hang=0))


class Parser(argparse.ArgumentParser):
    """An argument parser that exits with 64 on a usage error, and prints nothing that a terminal obeys."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=Help, **settings)
        self.color = False  # Python 3.14 colours help with escape sequences, which `_print_message` would show

    def error(self, message: str) -> Never:
        """Print the error and how to get help, and exit."""
        self.exit(USAGE, f"{one_line(f'{self.prog}: {message}')}\n  see {self.prog} --help\n")

    def format_help(self) -> str:
        """Return the help; its usage names the arguments, and leaves the options to their list."""
        words = (_usage(action) for action in self._get_positional_actions())
        self.usage = " ".join([self.prog, *words, "[options]"]).replace("%", "%%")
        return super().format_help()

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        super()._print_message(printable(message), file or sys.stderr)


def _usage(action: argparse.Action) -> str:
    """Return a positional argument as the usage shows it."""
    name = str(action.metavar or action.dest)
    return {"?": f"[{name}]", "+": f"{name} ..."}.get(str(action.nargs), name)


def examples(lines: Iterable[str]) -> str:
    """Return the examples of a verb, for the end of its help."""
    return "\n".join(["examples:", *(f"  {line}" for line in lines)])
