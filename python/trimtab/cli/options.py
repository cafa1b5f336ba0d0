"""Options that several verbs share, and their values."""

from __future__ import annotations

import argparse
import re
import shlex

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
        "--force", action="store_true", help="replace OUT even if it is the input or an agent's session"
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
    return f" {shlex.quote(f'--session={name}')}"


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
