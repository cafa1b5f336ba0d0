"""What a plan does to each block: for people who have to say why this leaves, and not another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..ledger.columns import Kind, RowFlag
from .edits import Cut, Drop, Mend, Prune, StripThinking, Summarize, Truncate
from .stages.sizes import PLACEHOLDER

if TYPE_CHECKING:
    from ..ledger.columns import Ledger
    from ..ledger.contents import ContentBlock, Contents
    from .edits import Edit
    from .plan import Plan
    from .stages import PruneResults


@dataclass(frozen=True, slots=True)
class Change:
    """What an edit does to one block, or to the messages of a zone.

    Attributes:
        edit: ``prune``, ``cut``, ``truncate``, ``strip``, ``summarize``, ``drop``, ``mend``, or ``keep``.
        message: the number of the message, of a zone the first.
        last: the number of the last message: of a zone the last one, else ``message``.
        kind: the block's kind, as in ``Block``; ``message`` of ``mend``, ``messages`` for a zone.
        tool: the tool of a call or a result; empty for other blocks and for a zone.
        argument: what the call was about, in one line.
        words: the first words of the block, of a zone those of its largest message.
        tokens: tokens of what changes.
        after: tokens of what replaces it; estimated for a block without an id, such as a picture.
        saves: US dollars that this saves in each later call; None if the model's prices are unknown.
        why: the reason why this changes, or stays, and not another.
    """

    edit: str
    message: int
    last: int
    kind: str
    tool: str
    argument: str
    words: str
    tokens: int
    after: int
    saves: float | None
    why: str

    @property
    def freed(self) -> int:
        """Tokens that leave."""
        return self.tokens - self.after


def changes(plan: Plan, contents: Contents, made: Ledger) -> list[Change]:
    """Return what the edits of a plan change; what the changes free adds up to what the plan frees.

    A zone of messages comes first, then results and calls in the order in which the policy takes them.

    Args:
        plan: made for these messages.
        contents: of the messages.
        made: ledger of the compacted messages.
    """
    savings, after = plan.savings, _after(made)
    a_token = savings.a_call / savings.gain if savings and savings.a_call is not None and savings.gain else None

    def change(edit: Edit, block: ContentBlock, left: int, why: str) -> Change:
        saves = None if a_token is None else a_token * (block.tokens - left)
        return _of_block(_NAMES[type(edit)], block, left, saves, why)

    found: list[Change] = []
    for edit in sorted((edit for edit in plan.edits if not isinstance(edit, _WHOLE)), key=_order):
        for row in edit.rows:
            block = contents.block(row)
            key = (int(contents.kind[row]), contents.ledger.id_of(row))
            left = min(after.get(key, _estimate(edit)), block.tokens)
            found.append(change(edit, block, left, _why(edit, block, contents)))
    if zone := plan.zone():
        freed = plan.tokens_before - made.total - sum(change.freed for change in found)
        found.insert(0, _of_zone(zone, contents, freed, a_token))
    mended = [index for edit in plan.edits if isinstance(edit, Mend) for index in edit.messages]
    return [*found, *(_of_message(index, contents) for index in mended)]


def stays(plan: Plan, contents: Contents, rule: PruneResults | None, top: int = 3) -> list[Change]:
    """Return the largest results that a plan leaves as they are, with the reason, as changes that free nothing.

    Args:
        plan: made for these messages; one without edits has none.
        contents: of the messages.
        rule: the policy's rule for results; None if it prunes none.
        top: number of results.
    """
    if not plan.edits:
        return []
    zone, rows = plan.zone(), [edit for edit in plan.edits if not isinstance(edit, _WHOLE)]
    gone = {row for edit in rows for row in edit.rows}
    leaving = set(range(zone.start, zone.stop)) - set(zone.keep) if zone else set()
    oldest_first = [edit for edit in rows if not isinstance(edit, Prune) or not edit.why]
    last = max((edit.rows[-1] for edit in oldest_first), default=int(contents.first[zone.stop]) - 1 if zone else -1)
    found: list[Change] = []
    for row in contents.results.tolist():
        if len(found) == top or contents.tokens[row] <= 2 * PLACEHOLDER:
            break
        if row in gone or int(contents.owner[row]) in leaving:
            continue
        block = contents.block(row)
        if rule and block.tool in rule.skip:
            why = f"the policy never prunes {block.tool}"
        elif rule and rule.skip_errors and contents.ledger.flags[row] & RowFlag.ERROR:
            why = "an error, and the policy prunes none"
        elif zone and block.message in zone.keep:
            why = "pinned, or of the last request"
        elif last < 0:
            why = "the target is reached without them"
        elif block.row > last:
            why = "newer than these, and the oldest leave first"
        elif rule and getattr(contents.ledger, rule.unit)[row] <= rule.min_length:
            why = f"not above {rule.min_length:,} {rule.unit}, which the policy keeps"
        else:
            why = "pinned, or of a message that is kept whole"
        found.append(_of_block("keep", block, block.tokens, 0.0, why))
    return found


def _of_block(name: str, block: ContentBlock, left: int, saves: float | None, why: str) -> Change:
    about = (block.kind, block.tool, block.argument, block.words)
    return Change(name, block.message, block.message, *about, block.tokens, left, saves, why)


def _order(edit: Edit) -> bool:
    """Return the place of an edit among others: the row that was cut because no more had to leave is last."""
    return isinstance(edit, Truncate)


AGAIN = "read again in message"
"""Start of the reason of a read that a newer one made old, in front of that message's number."""

_WHOLE = (Summarize, Drop, Mend)
"""Edits of whole messages."""
_NAMES: dict[type[Edit], str] = {Prune: "prune", Cut: "cut", Truncate: "truncate", StripThinking: "strip"}

_PRUNED = {
    "": "the oldest first; the tool can be called again",
    "images": "old pictures leave before all else",
    "pictures": "the provider takes no more pictures",
}


def _why(edit: Prune | Cut | Truncate | StripThinking, block: ContentBlock, contents: Contents) -> str:
    match edit:
        case Prune(why="superseded"):
            newer = int(contents.newer[block.row])
            return f"{AGAIN} {int(contents.owner[newer])}"
        case Prune(why="arguments"):
            return f"texts of more than {edit.keep_chars:,} characters in arguments leave before results"
        case Prune():
            return _PRUNED[edit.why]
        case Cut():
            return f"its first {edit.most:,} {edit.unit} stay"
        case Truncate():
            return "no more than this has to leave"
        case _:
            return "the edits would make it invalid"


def _estimate(edit: Prune | Cut | Truncate | StripThinking) -> int:
    """Return the tokens that an edit leaves of a block without an id, such as a picture."""
    if isinstance(edit, Truncate):
        return edit.max_tokens
    return PLACEHOLDER if isinstance(edit, Prune | Cut) else 0


def _of_zone(zone: Summarize | Drop, contents: Contents, freed: int, a_token: float | None) -> Change:
    leaving = [index for index in range(zone.start, zone.stop) if index not in set(zone.keep)]
    sizes = contents.per_message[leaving]
    name = "summarize" if isinstance(zone, Summarize) else "drop"
    words, tokens = contents.title(leaving[int(sizes.argmax())]), int(sizes.sum())
    saves = None if a_token is None else a_token * freed
    why = f"the oldest messages{f', without {len(zone.keep):,} that stay' * bool(zone.keep)}"
    return Change(name, zone.start, zone.stop - 1, "messages", "", "", words, tokens, tokens - freed, saves, why)


def _of_message(index: int, contents: Contents) -> Change:
    """Return what is done to a message with lone surrogates: it keeps its tokens."""
    tokens = int(contents.per_message[index])
    why = "lone surrogates, which no provider takes"
    return Change("mend", index, index, "message", "", "", contents.title(index), tokens, tokens, 0.0, why)


def _after(made: Ledger) -> dict[tuple[int, str], int]:
    """Return the tokens of calls and results by kind and id; of those with one id, the first."""
    tokens, kinds = made.tokens, made.kind
    found: dict[tuple[int, str], int] = {}
    for row in ((kinds == Kind.CALL) | (kinds == Kind.RESULT)).nonzero()[0].tolist():
        if ref := made.id_of(row):
            found.setdefault((int(kinds[row]), ref), int(tokens[row]))
    return found
