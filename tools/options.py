"""Write the table of all options into ``docs/command-line.md``, from the parser's own help; ``make docs``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from support.command import commands
from trimtab.cli import parser

if TYPE_CHECKING:
    import argparse

PAGE = Path(__file__).resolve().parent.parent / "docs" / "command-line.md"
BEGIN, END = "<!-- options -->\n", "<!-- /options -->\n"


def names(option: argparse.Action) -> str:
    """Return the names of an option, the last with its value."""
    choices = f"{{{','.join(map(str, option.choices))}}}" if option.choices else option.dest.upper()
    value = "" if option.nargs == 0 else option.metavar or choices
    *others, last = option.option_strings
    return ", ".join(f"`{name}`" for name in [*others, f"{last} {value}".strip()])


def table() -> str:
    """Return a row for each option: its names, the commands that have it, its help."""
    parsers = dict(commands(parser()))
    found: dict[tuple[str, str], list[str]] = {}
    for words, each in parsers.items():
        helped = each._get_formatter()._expand_help  # noqa: SLF001 - puts defaults into their places
        for action in each._actions:  # noqa: SLF001 - argparse has no other list
            if action.option_strings:
                found.setdefault((names(action), helped(action).replace("|", "\\|")), []).append(
                    f"`{words or 'trimtab'}`"
                )
    rows = ["| option | of | says |", "|---|---|---|"]
    for (option, about), owners in found.items():
        of = "every command" if len(owners) == len(parsers) else ", ".join(owners)
        rows.append(f"| {option} | {of} | {about} |")
    return "\n".join(rows) + "\n"


def page(text: str) -> str:
    """Return the page with a new table."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
