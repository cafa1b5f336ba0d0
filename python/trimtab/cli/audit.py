"""The verb audit: what the compactions of a session file lost, and what trimtab would have kept."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import Error
from ..models.model import Model
from ..validity.repair import run_steps
from .input import FileAnswer, load, run_files
from .options import add_file
from .preview import Preview
from .progress import Progress
from .prompt import compactor
from .terminal import Styled, clip, table, width

if TYPE_CHECKING:
    from ..audit.boundaries import Boundary
    from ..audit.items import Item, ItemKind
    from ..audit.kept import Kept
    from ..messages.types import Transcript
    from ..session.compactor import Compactor

DESCRIPTION = (
    "Show what the agent's own compactions lost of the user's rules and requests, of open tasks, decisions, files"
    " written and errors, what was said or read again, and what trimtab's default policy loses in as many tokens."
)
EXAMPLES = (
    "trimtab audit session.jsonl",
    "trimtab audit session.jsonl --fail-on rules --json",
    "trimtab audit ~/.claude/projects/-work/*.jsonl",
)

KINDS: tuple[ItemKind, ...] = ("rules", "requests", "tasks", "decisions", "files", "errors")
"""The kinds of items, as in ``audit.items``, which the help need not load."""

ROW: tuple[ItemKind, ...] = ("rules", "requests", "tasks", "files")
"""Those that the table of several files has."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    add_file(parser, several=True, always_whole=True)
    parser.add_argument(
        "--fail-on",
        action="append",
        choices=KINDS,
        default=[],
        metavar="KIND",
        help=f"exit with 1 if one of {', '.join(KINDS)} is lost; may be repeated",
    )
    parser.add_argument(
        "--top", type=int, default=20, metavar="N", help="lost items of a compaction to print; default: %(default)s"
    )


@dataclass(frozen=True, slots=True)
class Audited:
    """A compaction, and the same one by trimtab.

    Attributes:
        boundary: the compaction.
        tokens_before: tokens of the messages of the prompt before it.
        tokens_after: tokens of those after it.
        cost: US dollars that it cost, if its prompt was new input, and if it came from the cache; None if unknown.
        ours: tokens of the messages after trimtab's compaction; None if there was none.
        kept: what that one kept.
        reason: what it did, or why nothing.
    """

    boundary: Boundary
    tokens_before: int
    tokens_after: int
    cost: dict[str, float] | None
    ours: int | None
    kept: Kept
    reason: str

    def fields(self) -> dict[str, Any]:
        """Return the fields of ``--json``."""
        one = self.boundary
        found = one.kept.fields()
        for lost, item in zip(found["lost"], one.kept.lost, strict=True):
            lost["again"] = one.again.get(item)
        return {
            "number": one.number,
            "message": one.message,
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "cost": self.cost,
            "sealed": one.sealed,
            **found,
            "reread": [asdict(again) for again in one.reread],
            "ours": {"tokens_after": self.ours, "reason": self.reason, **self.kept.fields()},
        }


def run(options: argparse.Namespace) -> int:
    """Audit each compaction; return 1 if an item of a kind of ``--fail-on`` is lost. Several files in a table."""
    return run_files(options, _answer, ("messages", "compactions", "lost rules", *ROW[1:]))


def _answer(options: argparse.Namespace) -> FileAnswer:
    """Return what the compactions of a file lost."""
    found, audited = _audit(options)
    kept = [one.boundary.kept for one in audited]
    lost = [_share(kept, kind) if audited else "" for kind in ROW]
    report = {
        "format": found.format,
        "provider": found.provider,
        "model": found.model,
        "messages": len(found.messages),
        "compactions": [one.fields() for one in audited],
    }
    code = int(any(item.kind in options.fail_on for each in kept for item in each.lost))
    return FileAnswer(report, _lines(audited, options), [len(found.messages), len(audited), *lost], code)


def _share(kept: list[Kept], kind: ItemKind) -> str:
    """Return how many items of a kind are lost, of how many."""
    numbers = [one.number(kind) for one in kept]
    return f"{sum(of - there for there, of in numbers):,} of {sum(of for _, of in numbers):,}"


def _audit(options: argparse.Namespace) -> tuple[Transcript, list[Audited]]:
    """Return a session, and its compactions."""
    from ..audit.boundaries import boundaries

    found = load(options)
    if not found.compactions:
        return found, []
    cm = compactor(options, replace(found, usage=[]), archive=Preview())  # its tokens are counted, not billed ones
    tokens = cm.counter.per_message(found.messages, provider=found.provider)
    price, audited = Model.named(cm.model).price, []
    with Progress("auditing"):
        for one in boundaries(found):
            before, after = int(tokens[one.before].sum()), int(tokens[one.after].sum())
            made = int(tokens[[at for at in one.after if at not in one.before]].sum())
            audited.append(Audited(one, before, after, price.of_prompt(before, made), *_ours(cm, found, one, after)))
    return found, audited


def _ours(cm: Compactor, found: Transcript, one: Boundary, target: int) -> tuple[int | None, Kept, str]:
    """Compact the prompt from before a compaction to as many tokens; return these, what was kept, and the reason."""
    from ..audit.kept import Kept
    from ..audit.standing import Texts

    wanted = [*one.kept.there, *one.kept.lost]
    try:
        before = run_steps([found.messages[at] for at in one.before], found.provider).messages
        done = cm.compact(before, target_tokens=target)
    except Error as error:
        return None, Kept(), str(error).splitlines()[0]
    lost = Kept.found(wanted, Texts.of(done.messages))
    in_order = sorted(lost.lost, key=wanted.index)
    return done.tokens_after, Kept(lost.there, tuple(in_order)), done.reason


def _lines(audited: list[Audited], options: argparse.Namespace) -> Iterator[str]:
    if not audited:
        yield "no compaction is in this file"
    for place, one in enumerate(audited):
        if place:
            yield ""
        yield from _compaction(one, len(audited), max(options.top, 0))


def _compaction(one: Audited, many: int, top: int) -> Iterator[str]:
    """Yield what a compaction lost, beside trimtab's."""
    bound = one.boundary
    yield Styled(
        f"compaction {bound.number:,} of {many:,}, before #{bound.message}:"
        f" {one.tokens_before:,} -> {one.tokens_after:,} tokens of messages",
        "bold",
    )
    if one.cost:
        yield f"  cost ${one.cost['input']:.2f} as new input, ${one.cost['cache_read']:.2f} from the provider's cache"
    if bound.sealed:
        yield "  its summary is encrypted: what stands in it alone is counted as lost, for nobody can read it"
    elif bound.is_silent:
        yield "  the file has no summary of it: what the agent's own prompt has beside these messages counts as lost"
    if one.ours is None:
        yield f"  trimtab does not compact it: {one.reason}"
    heads = ("", "before", "lost", "kept", *(() if one.ours is None else (f"lost by trimtab in {one.ours:,} tokens",)))
    rows: list[list[str | int]] = []
    for kind in KINDS:
        there, of = bound.kept.number(kind)
        ours = one.kept.number(kind)
        rows.append([f"  {kind}", of, of - there, there, *([] if one.ours is None else [ours[1] - ours[0]])])
    yield from table(heads, rows, sys.stdout)
    yield from _lost(bound.kept.lost, bound.again, top)
    yield from _reread(bound, top)


def _lost(lost: tuple[Item, ...], again: dict[Item, int], top: int) -> Iterator[str]:
    if lost and top:
        yield "lost:"
    for item in lost[:top]:
        place = "" if item.message is None else f"#{item.message}"
        said = f"  said again in #{again[item]}" if item in again else ""
        yield f"  {item.kind.removesuffix('s'):9} {place:>6}  {clip(item.text, width() - 20 - len(said))}{said}"
    if len(lost) > top:
        yield f"  and {len(lost) - top:,} more; --top {len(lost)} prints all"


def _reread(bound: Boundary, top: int) -> Iterator[str]:
    many = len(bound.reread)
    if many and top:
        yield f"read again behind it: {many:,} file{'s' * (many != 1)}"
    for one in bound.reread[:top]:
        places = f"#{one.before}, again in #{one.message}"
        yield f"  {places:>22}  {clip(f'{one.tool} {one.file}', width() - 26)}"
