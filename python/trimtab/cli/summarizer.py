"""Options for the summarizer."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .options import seconds

if TYPE_CHECKING:
    from ..planning.policy import Policy
    from ..summarize import Writer


def add_summarizer(parser: argparse.ArgumentParser) -> None:
    """Add the options for the summarizer."""
    names = "offline, anthropic, openai, 'cmd:PROGRAM ...'; default: %(default)s"
    parser.add_argument("--summarizer", metavar="NAME", default="offline", help=names)
    parser.add_argument("--summarizer-model", metavar="ID", help="model of the summarizer")
    parser.add_argument("--summarizer-url", metavar="URL", help="base URL of its API: http://localhost:11434/v1")
    parser.add_argument("--key-env", metavar="NAME", help="environment variable with its key")
    parser.add_argument("--summarizer-timeout", metavar="SECONDS", type=seconds, help="for all attempts; default: 60")
    parser.add_argument("--no-fallback", action="store_true", help="exit with 69 if the summarizer fails")


def summarizer(options: argparse.Namespace) -> Writer:
    """Return the summarizer that the options describe.

    Raises:
        ValueError: the summarizer is unknown, or does not have an option.
        ImportError: its client library is not installed.
    """
    from ..summarize import Limits, open_summarizer

    _, writer = open_summarizer(options.summarizer)
    changes: dict[str, Any] = {}
    for option, field in (("summarizer-model", "model"), ("summarizer-url", "base_url"), ("key-env", "key_env")):
        if value := getattr(options, option.replace("-", "_")):
            if not hasattr(writer, field):
                raise ValueError(f"--{option} goes with --summarizer anthropic or openai")
            changes[field] = value
    if options.summarizer_timeout is not None:
        if options.summarizer == "offline":
            raise ValueError("--summarizer-timeout goes with a summarizer that is asked: the offline one computes")
        changes["limits"] = Limits(options.summarizer_timeout)
    return replace(writer, **changes) if changes else writer  # type: ignore[type-var]


def policy(options: argparse.Namespace) -> str | Policy:
    """Return the policy; with ``--no-fallback``, a failed summary is an error."""
    from ..policies import POLICIES

    name: str = options.policy
    return replace(POLICIES[name], fallback=("error",)) if options.no_fallback and name in POLICIES else name
