"""The verb mcp: serves search and fetch over a session's archive to an agent, by the Model Context Protocol."""

from __future__ import annotations

import argparse

from .files import existing
from .options import add_archive

DESCRIPTION = """Serve search and fetch over what a session has archived, as an MCP server on stdin and stdout. The
session is --session, or the current one of the project as the hook SessionStart noted it, or that of
CLAUDE_CODE_SESSION_ID."""
EXAMPLES = (
    "claude mcp add trimtab -- trimtab mcp",
    "trimtab mcp --session deploy",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("--session", metavar="NAME", help="name of the session; default: the project's current one")
    parser.add_argument("--project", action="store_true", help="also the project's earlier sessions")
    add_archive(parser)


def run(options: argparse.Namespace) -> int:
    """Serve until stdin ends.

    Raises:
        ImportError: the extra is missing.
    """
    try:
        from ..adapters.recall_server import recall_server
    except ImportError as error:
        raise ImportError(f"the MCP server needs the extra: pip install 'trimtab[mcp]' ({error})") from error
    recall_server(lambda: existing(options.archive), session=options.session, whole_project=options.project).run()
    return 0
