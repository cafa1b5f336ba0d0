"""The verb statusline: a line about the next prompt, for Claude Code's screen."""

from __future__ import annotations

import argparse

DESCRIPTION = """Print the status line of Claude Code: the next prompt, its share of the window, the tokens until the
compaction. Claude Code gives its state on stdin; whatever happens, the exit code is 0."""
EXAMPLES = ("trimtab statusline < state.json",)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add nothing: what there is to say comes on stdin."""


def run(_: argparse.Namespace) -> int:
    """Print the line; ``__main__`` prints it without the parser."""
    from ..adapters.claude_code.statusline import print_status

    return print_status()
