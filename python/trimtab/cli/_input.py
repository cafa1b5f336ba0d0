"""What the verbs take: a session file, a model, a target."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .. import formats
from .._errors import MessageError
from .._validate import validate
from ._say import warn

if TYPE_CHECKING:
    import argparse

    from .._messages import Transcript

DEFAULT_MODEL = "claude-sonnet-4-5"
"""Whose window and counts are taken where neither the file nor the user names a model."""


LOGS = formats.LOGS
"""Formats that an agent writes as it goes, so that they may end in the middle of anything."""


def add_file(parser: argparse.ArgumentParser) -> None:
    """The session file and how it is read."""
    parser.add_argument("file", metavar="FILE", help="session file of any known format, - for stdin")
    parser.add_argument("--format", choices=formats.FORMATS, help="of the file; found from its content")
    parser.add_argument("--whole", action="store_true", help="everything, not only what is behind the last compaction")
    parser.add_argument("--model", help=f"counts and limits; the file's, or {DEFAULT_MODEL}")
    parser.add_argument("--window", type=tokens, help="tokens of input and output together, such as 200k")
    parser.add_argument("--json", action="store_true", help="the answer as JSON")


def load(options: argparse.Namespace, *, repair: bool = True) -> Transcript:
    """The transcript of the file that the options name; says what was skipped and repaired."""
    source = sys.stdin.buffer.read() if options.file == "-" else options.file
    found = formats.read(source, format=options.format, whole=options.whole, repair=repair)
    for skip in found.skipped[:5]:
        warn(f"skipped line {skip.line} (byte {skip.offset}): {skip.reason}")
    if len(found.skipped) > 5:
        warn(f"skipped {len(found.skipped):,} lines in all")
    for change in found.repaired[:5]:
        warn(f"repaired messages[{change.index}]: {change.code} {change.id}".rstrip())
    if len(found.repaired) > 5:
        warn(f"repaired {len(found.repaired):,} places in all")
    return found


def sendable(options: argparse.Namespace) -> Transcript:
    """The transcript, where it is one that its provider takes.

    What an agent's log leaves open is repaired. A list of messages is what somebody built: its defects are theirs to
    know, and only calls at its end are answered.

    Raises:
        MessageError: names the first problem of a list, and how many there are.
    """
    found = load(options, repair=True)
    if found.format not in LOGS and found.repaired and options.file != "-":
        raw = formats.read(options.file, format=options.format, whole=options.whole, repair=False)
        problems = validate(raw.messages, provider=raw.provider, in_flight=True)
        if problems:
            first = problems[0]
            path = f"messages[{first.index}]" + (f".content[{first.block}]" if first.block is not None else "")
            more = f" (and {len(problems) - 1} more: see trimtab validate)" if len(problems) > 1 else ""
            raise MessageError(f"{first.code}: {first.message}{more}", path=path, index=first.index, hint=first.fix)
    return found


def model_of(options: argparse.Namespace, found: Transcript) -> str:
    """The model to count and plan for."""
    return str(options.model or found.model or DEFAULT_MODEL)


def tokens(text: str) -> int:
    """A number of tokens: 200000, 200k, 1m."""
    scale = {"k": 1_000, "m": 1_000_000}.get(text[-1:].lower(), 1)
    number = float(text[:-1] if scale > 1 else text.replace(",", "").replace("_", "")) * scale
    if number < 1 or number != int(number):
        raise ValueError(text)
    return int(number)


def target(text: str) -> float:
    """A target: tokens (20000, 20k), a share (0.5) or a percentage (50%)."""
    if text.endswith("%"):
        share = float(text[:-1]) / 100
    elif "." in text and text[-1:].isdigit():
        share = float(text)
    else:
        return tokens(text)
    if not 0 < share < 1:
        raise ValueError(text)
    return share
