"""The sessions of ``compaction-conformance-kit``, compacted whole and in five parts, for ``eval-summaries``.

The whole list counts as it would be sent, one ``[role] text`` a message, within a share of the session's characters. A
fact is kept if the kit's probe finds it in the last round; an old value is left if it stands there. For the smallest
share a line says how many facts could be kept at most: the shortest ones, whole, beside the system message, the last
request and the mark of a summary.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from _goals import Measure, Share
from _rounds import MODEL, PARTS

import trimtab

if TYPE_CHECKING:
    from collections.abc import Iterable

HERE = find_spec("compaction_kit") is not None
SHARES = (0.1, 0.2, 0.3)
GOALS = {"random": (55, 90, 100), "generated": (40, 75, 97)}
IN_PARTS = {"random": (40, 84, 100), "generated": (30, 68, 96)}
OLD = {"random": 5, "generated": 30}
MARK = 82  # characters in front of a summary's first line
STEPS = 8  # of the search for a target whose list fits the characters


def sent(messages: Iterable[Any]) -> str:
    """A list as text."""
    return "\n".join(f"[{message['role']}] {message['content']}" for message in messages)


def of(turns: Iterable[Any]) -> list[dict[str, str]]:
    """The kit's turns as messages; a tool's turn has no call, so it is the user's."""
    return [{"role": "user" if turn.role == "tool" else turn.role, "content": turn.text} for turn in turns]


@dataclass(slots=True)
class Whole:
    """A session's list, compacted as the kit's runner asks."""

    pins: tuple[str, ...] = ()
    name: str = "trimtab"
    held: list[Any] = field(default_factory=list)
    cm: trimtab.Compactor = field(init=False)

    def __post_init__(self) -> None:
        self.cm = trimtab.Compactor(MODEL, provider="openai_chat")
        for pin in self.pins:
            self.cm.pin(pin)

    def compact(self, turns: list[Any], round_num: int = 1, budget_chars: int = 0) -> Any:
        """One round: the list of the first turns, and then the list of the round before."""
        from compaction_kit.compacted import CompactedContext

        self.held = self.within(self.held if round_num > 1 and self.held else of(turns), budget_chars)
        return CompactedContext(text=sent(self.held), compactor_name=self.name, round_num=round_num)

    def more(self, turns: list[Any], chars: int) -> None:
        """Adds turns, and compacts."""
        self.held = self.within([*self.held, *of(turns)], chars)

    def within(self, messages: list[Any], chars: int) -> list[Any]:
        """The largest list found within the characters, else the smallest list."""
        size = len(sent(messages))
        if size <= chars:
            return messages
        low, high = 8, self.cm.count(messages)
        target = max(high * chars // size, low)
        best: list[Any] | None = None
        least = messages
        for _ in range(STEPS):
            made = list(self.cm.compact(messages, target_tokens=target).messages)
            size = len(sent(made))
            if size < len(sent(least)):
                least = made
            if size <= chars:
                low = target + 1
                if best is None or size > len(sent(best)):
                    best = made
            else:
                high = target - 1
            if low > high:
                break
            target = (low + high) // 2
        return least if best is None else best


def _builders() -> dict[str, Any]:
    from compaction_kit.corpus import build_random_session
    from compaction_kit.generated import build_generated_session

    return {"random": build_random_session, "generated": build_generated_session}


def measures(seeds: range, shares: tuple[float, ...] = SHARES) -> list[Measure]:
    """The measures over the sessions of some seeds."""
    out = []
    for corpus, build in _builders().items():
        for share in shares:
            goal = SHARES.index(share)
            if share == SHARES[0]:
                print(f"kit, {corpus}, {share:.0%}: at most {_at_most(build, seeds, share):.1f} % can be kept whole")
            kept, old, over = _whole(build, seeds, share, pinned=False)
            out += kept.measure(f"kit, {corpus}, {share:.0%}, whole", GOALS[corpus][goal])
            out += over.measure(f"kit, {corpus}, {share:.0%}, whole, over the budget", 0, at_most=True)
            if share == 0.3:
                out += old.measure(f"kit, {corpus}, 30%, whole, old values left", OLD[corpus], at_most=True)
                kept, _, over = _whole(build, seeds, share, pinned=True)
                out += kept.measure(f"kit, {corpus}, 30%, facts pinned", 100)
                out += over.measure(f"kit, {corpus}, 30%, facts pinned, over the budget", 0, at_most=True)
            out += _in_parts(build, seeds, share).measure(
                f"kit, {corpus}, {share:.0%}, in five parts", IN_PARTS[corpus][goal]
            )
    return out


def _whole(build: Any, seeds: range, share: float, *, pinned: bool) -> tuple[Share, Share, Share]:
    from compaction_kit.runner import run_conformance

    kept, old, over = Share(), Share(), Share()
    for seed in seeds:
        session, facts = build(seed)
        whole = Whole(tuple(fact.content for fact in facts) if pinned else ())
        run = run_conformance(session, whole, rounds=5, canaries=facts, budget_fraction=share)
        last = run.rounds[-1]
        kept.add(sum(last.survived.values()), len(facts))
        over.add(not all(one.within_budget for one in run.rounds))
        text = last.context.text.lower()
        for fact in facts:
            if fact.superseded_tokens:
                old.add(any(token.lower() in text for token in fact.superseded_tokens))
    return kept, old, over


def _at_most(build: Any, seeds: range, share: float) -> float:
    """The percentage of the facts that fit beside the messages that always stay."""
    fit = total = 0
    for seed in seeds:
        session, facts = build(seed)
        messages = of(session.transcript())
        stays = [message for message in messages if message["role"] == "system"]
        stays.append([message for message in messages if message["role"] == "user"][-1])
        room = int(len(sent(messages)) * share) - len(sent(stays)) - MARK
        for size in sorted(len(fact.content.split(": ", 1)[-1]) + len("\n- ") for fact in facts):
            room -= size
            fit += room >= 0
        total += len(facts)
    return 100 * fit / total


def _in_parts(build: Any, seeds: range, share: float) -> Share:
    from compaction_kit.probes import BehaviorProbe

    kept, probe = Share(), BehaviorProbe()
    for seed in seeds:
        session, facts = build(seed)
        turns = session.transcript()
        chars = int(len("\n".join(f"[{turn.role}] {turn.text}" for turn in turns)) * share)
        whole = Whole()
        for part in range(PARTS):
            whole.more(turns[len(turns) * part // PARTS : len(turns) * (part + 1) // PARTS], chars)
        text = sent(whole.held)
        kept.add(sum(probe.probe(fact, text).survived for fact in facts), len(facts))
    return kept
