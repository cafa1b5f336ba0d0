"""The parser of the command line, and the options that several verbs share with their values.

Usage errors exit with 64, and help begins with what a verb does.
"""

from __future__ import annotations

import argparse
import re
import sys

from .._home import archive_url
from .._repr import one_line, printable
from .terminal import width_of, wrap

TYPE_CHECKING = False  # `typing` takes long to import

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Never

    from _typeshed import SupportsWrite

    from ..planning.policy import Policy
    from ..summarize import Writer

FILE_OPTIONS = ("-o", "--output")
"""Options that take the name of a file or a folder, for completion."""

_SCALE = {"": 1, "k": 1_000, "m": 1_000_000}


FILE = "session file of any known format, - for stdin"


def add_file(
    parser: argparse.ArgumentParser, *, several: bool = False, about: str = FILE, always_whole: bool = False
) -> None:
    """Add the options for a session file, or for several: then ``files`` has their names, and ``file`` the first."""
    from ..formats import FORMATS  # other verbs start without the readers

    if several:
        parser.add_argument(
            "files",
            metavar="FILE",
            nargs="+",
            help="session files of any known format, - for stdin; several in a table",
        )
    else:
        parser.add_argument("file", metavar="FILE", help=about)
    formats = f"format of the file; default: detected; one of {', '.join(FORMATS)}"
    parser.add_argument("--format", choices=FORMATS, metavar="NAME", help=formats)
    if always_whole:
        parser.set_defaults(whole=True)
    else:
        parser.add_argument("--whole", action="store_true", help="also read what the last compaction replaced")
    parser.add_argument("--model", help="model to count for; default: the file's")
    parser.add_argument("--window", type=tokens, help="tokens of input and output together, such as 200k")
    add_json(parser)


def add_policy(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add the options for the policy and the target, or for several policies."""
    if several:
        about = "preset, several to see them side by side; default: default"
        parser.add_argument("--policy", action="append", metavar="NAME", help=about)
    else:
        parser.add_argument("--policy", default="default", help="preset; default: %(default)s")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--target-tokens", type=tokens, metavar="N", help="tokens to come down to, such as 20k")
    either.add_argument("--target-share", type=share, metavar="X", help="share to come down to: 0.5 or 50%%")


def add_keep_tag(parser: argparse.ArgumentParser) -> None:
    """Add the option for the tag that keeps a span."""
    about = "tag of spans that stay word by word; default: keep"
    parser.add_argument("--keep-tag", metavar="NAME", help=about)


def add_span(parser: argparse.ArgumentParser) -> None:
    """Add the options for a range of messages."""
    about = (
        "replace only messages N to M by a summary, both included; the nearest are named where they cannot leave alone"
    )
    parser.add_argument("--from", type=int, dest="first", metavar="N", help=about)
    parser.add_argument("--to", type=int, dest="last", metavar="M", help="the last message of the range")


def add_output(
    parser: argparse.ArgumentParser, *, about: str = "output file; default: stdout", default: str | None = "-"
) -> None:
    """Add the option for the output file."""
    parser.add_argument("-o", "--output", metavar="OUT", default=default, help=about)
    parser.add_argument(
        "--force", action="store_true", help="replace OUT even if it is the input, an archive or an agent's session"
    )


def add_archive(parser: argparse.ArgumentParser) -> None:
    """Add the option for the archive."""
    parser.add_argument(
        "--archive", metavar="URL", help="sqlite:///PATH, postgresql://... or memory; default: in the data folder"
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option for JSON output."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_session(parser: argparse.ArgumentParser) -> None:
    """Add the options for the session whose compaction is read."""
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--session", metavar="NAME", help="the session that was compacted; default: one without a name")
    either.add_argument("--any-session", action="store_true", help="read compactions of any session")


def session_option(name: str) -> str:
    """Return the option that names a session, for a command that a user copies into a shell."""
    from shlex import quote

    return f" {quote(f'--session={name}')}"


def archive_option(url: str | None) -> str:
    """Return the option that names an archive, for such a command; nothing for the default one, or without one."""
    from shlex import quote

    return "" if url in (None, archive_url()) else f" --archive {quote(address(str(url)))}"


def address(url: str) -> str:
    """Return an address as it is shown: a server's has no password, for who sees the output need not know it."""
    if url.startswith("sqlite:///"):
        return url
    from .._mask import mask

    return mask(url)


READING = ("model", "window", "format", "whole")
"""Options that decide what is read of a session, and how it is counted."""

DECIDING = ("policy", "target_tokens", "target_share", "first", "last", "pin", "keep_tag")
"""Options that decide what leaves it."""

WRITING = ("list", "summarizer", "summarizer_model", "summarizer_url", "key_env", "summarizer_timeout", "no_fallback")
"""Options that decide what is written of it, and who writes the summary; ``instructions`` are beside them."""

_DEFAULTS = {"policy": "default", "summarizer": "offline"}

_NAMES = {"first": "from", "last": "to"}
"""Names of options whose values have another one."""


def given_options(options: argparse.Namespace, *names: str) -> str:
    """Return those of the named options that the user gave, for a command that a user copies into a shell."""
    from shlex import quote

    words = []
    for name in names:
        found = getattr(options, name, None)
        option = f"--{_NAMES.get(name, name).replace('_', '-')}"
        for value in found if isinstance(found, list) else [found]:
            if value is True:
                words.append(f" {option}")
            elif value is not None and value is not False and value != _DEFAULTS.get(name):  # 0 is a message
                text = address(value) if name == "summarizer_url" else str(value)
                words.append(f" {quote(f'{option}={text}')}" if text.startswith("-") else f" {option} {quote(text)}")
    return "".join(words)


def tokens(text: str) -> int:
    """Parse a number of tokens: 200000, 200k, 1m."""
    found = re.fullmatch(r"(\d[\d,_]{0,15}|\d{1,6}\.\d+(?=[kKmM]))([kKmM]?)", text)
    number = float(re.sub("[,_]", "", found[1])) * _SCALE[found[2].lower()] if found else 0
    if number < 1 or number != int(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of tokens: write 20000, 20k or 1m")
    return int(number)


def share(text: str) -> float:
    """Parse a share: 0.5 or 50%."""
    found = re.fullmatch(r"(\d{1,3}(?:\.\d+)?)%|(0?\.\d+)", text)
    value = (float(found[1]) / 100 if found[1] else float(found[2])) if found else 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share: write 0.5 or 50%")
    return value


def seconds(text: str) -> float:
    """Parse a number of seconds: 30, 2.5."""
    if not re.fullmatch(r"\d{1,9}(\.\d+)?", text) or not float(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time: write seconds, such as 30 or 2.5")
    return float(text)


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
    from dataclasses import replace

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
    from dataclasses import replace

    from ..policies import POLICIES

    name: str = options.policy
    return replace(POLICIES[name], fallback=("error",)) if options.no_fallback and name in POLICIES else name
