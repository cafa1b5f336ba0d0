"""What the verbs take: a session file, a model, a target."""

from __future__ import annotations

import argparse
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .. import _core, formats
from ..messages.types import Transcript
from ..validity.validate import validate
from .files import chunks as file_chunks
from .output import warn
from .progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import BinaryIO

    from ..messages.types import Skipped
    from ..models.provider import Provider

DEFAULT_MODELS = {"anthropic": "claude-sonnet-4-5"}
DEFAULT_MODEL = "gpt-5.5"
"""Whose window and counts are taken where neither the file nor the user names a model: by the messages' shape."""

LARGE, HEAD = 32 << 20, 1 << 20
"""Bytes from which a list of messages is counted as text; bytes in which it must show that it is one."""

_SCALE = {"": 1, "k": 1_000, "m": 1_000_000}

LOGS = formats.LOGS
"""Formats that an agent writes as it goes, so that they may end in the middle of anything."""


@dataclass(frozen=True, slots=True)
class Large:
    """A list of messages that is read in chunks.

    Attributes:
        found: the transcript without its messages.
        provider: the messages' shape, where it is known already.
        chunks: the text.
        size: its bytes, 0 where nobody knows.
    """

    found: Transcript
    provider: Provider | None
    chunks: Iterable[bytes]
    size: int


def add_file(parser: argparse.ArgumentParser) -> None:
    """The session file and how it is read."""
    parser.add_argument("file", metavar="FILE", help="session file of any known format, - for stdin")
    parser.add_argument("--format", choices=formats.FORMATS, help="of the file; found from its content")
    parser.add_argument("--whole", action="store_true", help="everything, not only what is behind the last compaction")
    parser.add_argument("--model", help="counts and limits; the file's where it names one")
    parser.add_argument("--window", type=tokens, help="tokens of input and output together, such as 200k")
    parser.add_argument("--json", action="store_true", help="the answer as JSON")


def load(options: argparse.Namespace) -> Transcript:
    """The transcript of the file that the options name; says what was skipped and repaired."""
    with _source(options) as source:
        found = _read(options, source, repair=True)
    _tell(found)
    return found


def raw(options: argparse.Namespace) -> Transcript:
    """The transcript as it would be judged: a log as it would be sent, a list of messages as it stands."""
    with _source(options) as source:
        found = _read(options, source, repair=False)
        if found.format in LOGS:
            found = _read(options, source, repair=True)
    _tell(found)
    return found


def sendable(options: argparse.Namespace) -> Transcript:
    """The transcript, where it is one that its provider takes.

    What an agent's log leaves open is repaired. A list of messages is what somebody built: its defects are theirs to
    know, and only calls at its end are answered.

    Raises:
        MessageError: names the first problem of a list, and how many there are.
    """
    with _source(options) as source:
        found = _read(options, source, repair=True)
        built = _read(options, source, repair=False) if found.format not in LOGS and found.repaired else None
    if built and (problems := validate(built.messages, provider=built.provider, in_flight=True)):
        more = f" (and {len(problems) - 1} more: see trimtab validate)" if len(problems) > 1 else ""
        raise problems[0].error(more)
    _tell(found)
    return found


def large(options: argparse.Namespace) -> Large | None:
    """A list of messages that is too large to make objects of; None for anything else, which ``load`` reads."""
    if options.format in LOGS:
        return None
    if options.file == "-":
        options.head = head = sys.stdin.buffer.read(LARGE)
        rest, size = iter(lambda: sys.stdin.buffer.read(1 << 20), b""), 0
        chunks: Iterable[bytes] = chain([head], rest)
    else:
        size = path.stat().st_size if (path := Path(options.file)).is_file() else 0
        if size < LARGE:
            return None
        chunks = file_chunks(options.file)
        with path.open("rb") as file:
            head = file.read(HEAD)
    messages = formats.begins_with_messages(head[:HEAD]) if max(len(head), size) >= LARGE else []
    if not messages:
        return None
    provider = cast("Provider | None", options.format or _core.detect(messages))
    shape = provider or "openai_chat"
    return Large(Transcript([], shape, shape), provider, chunks, size)


@contextmanager
def _source(options: argparse.Namespace) -> Iterator[str | BinaryIO]:
    """What is read, as often as one likes: of stdin a copy is made, and what was read ahead of it is let go."""
    if options.file != "-":
        yield str(options.file)
        return
    head, options.head = getattr(options, "head", b""), b""
    with formats.spooled(head, sys.stdin.buffer) as copy:
        yield copy


def _read(options: argparse.Namespace, source: str | BinaryIO, *, repair: bool) -> Transcript:
    with Progress(f"reading {options.file}"):
        return formats.read(source, format=options.format, whole=options.whole, repair=repair)


def tell_skipped(skipped: Sequence[Skipped], lost: int) -> None:
    """Notes on what could not be read: the first of it, and how much that is."""
    for skip in skipped[:5]:
        warn(f"skipped line {skip.line} (byte {skip.offset}): {skip.reason}")
    if lost > 5:
        warn(f"skipped {lost:,} lines in all")


def _tell(found: Transcript) -> None:
    """Notes on what could not be read, and on what was repaired."""
    tell_skipped(found.skipped, len(found.skipped))
    for change in found.repaired[:5]:
        warn(f"repaired messages[{change.index}]: {change.code} {change.id}".rstrip())
    if len(found.repaired) > 5:
        warn(f"repaired {len(found.repaired):,} places in all")


def model_of(options: argparse.Namespace, found: Transcript) -> str:
    """The model to count and plan for; says which one is taken where nobody named it."""
    if named := options.model or found.model:
        return str(named)
    assumed = DEFAULT_MODELS.get(found.provider, DEFAULT_MODEL)
    warn(f"no model is named: counted for {assumed} (--model says another)")
    return assumed


def tokens(text: str) -> int:
    """A number of tokens: 200000, 200k, 1m."""
    found = re.fullmatch(r"(\d[\d,_]{0,15}|\d{1,6}\.\d+(?=[kKmM]))([kKmM]?)", text)
    number = float(re.sub("[,_]", "", found[1])) * _SCALE[found[2].lower()] if found else 0
    if number < 1 or number != int(number):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of tokens: write 20000, 20k or 1m")
    return int(number)


def share(text: str) -> float:
    """A share: 0.5 or 50%."""
    found = re.fullmatch(r"(\d{1,3}(?:\.\d+)?)%|(0?\.\d+)", text)
    value = (float(found[1]) / 100 if found[1] else float(found[2])) if found else 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share: write 0.5 or 50%")
    return value


def add_target(parser: argparse.ArgumentParser) -> None:
    """How small the messages are to become."""
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--target-tokens", type=tokens, metavar="N", help="tokens to come down to, such as 20k")
    either.add_argument("--target-share", type=share, metavar="X", help="share to come down to: 0.5 or 50%%")


def target(options: argparse.Namespace) -> dict[str, Any]:
    """The target that the user gave, as keywords of a Compactor's verbs; the policy's where none is given."""
    return {"target_tokens": options.target_tokens, "target_share": options.target_share}
