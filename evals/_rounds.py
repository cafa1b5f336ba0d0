"""Compactions of a session, in one round and in parts, and what they keep, for ``eval-summaries``."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import _form
import _said
from _goals import Measure, Share

import trimtab

MODEL = "claude-sonnet-4-5"
LEAST = 300  # tokens of a target
PARTS = 5
KINDS = ("rules", "users' sentences", "first request", "files written")
GOALS = {  # by share of the tokens and number of rounds
    (0.1, 1): (95, 80, 90, 98),
    (0.3, 1): (98, 95, 98, 98),
    (0.1, PARTS): (95, 80, 90, 98),
    (0.3, PARTS): (98, 95, 98, 98),
}
ROUNDS = {1: "one round", PARTS: "five rounds"}


@dataclass(frozen=True, slots=True)
class Round:
    """A list after a compaction: how many messages came in so far, the list, its summary, and the tail behind that."""

    seen: int
    held: list[Any]
    summary: str = ""
    tail: list[Any] = field(default_factory=list)


def rounds(messages: list[Any], provider: Any, share: float, parts: int) -> list[Round]:
    """The rounds of a list that comes in some parts, each compacted to a share of the whole list's tokens."""
    cm = trimtab.Compactor(MODEL, provider=provider)
    target = max(int(cm.count(messages) * share), LEAST)
    allowed = _said.places(messages)
    stops = sorted({max(at for at in allowed if at <= len(messages) * n // parts) for n in range(1, parts)} - {0})
    held, start, out = [], 0, []
    for stop in [*stops, len(messages)]:
        held = [*held, *messages[start:stop]]
        start = stop
        if cm.count(held) <= target:
            out.append(Round(stop, held))
            continue
        done = cm.compact(held, target_tokens=target)
        zone = done.plan.zone()
        behind = len(held) - zone.stop if zone else 0
        held = list(done.messages)
        out.append(Round(stop, held, done.summary or "", held[len(held) - behind :] if behind else []))
    return out


def wanted(messages: list[Any]) -> dict[str, list[str]]:
    """What must stand in a compacted list, by kind."""
    texts = _said.typed(messages)
    return {
        "rules": _said.rules(texts),
        "users' sentences": [one for text in texts for one in _said.sentences(text)],
        "first request": _said.sentences(texts[0])[:8] if texts else [],
        "files written": sorted(_said.files(messages)),
    }


@dataclass(slots=True)
class Kept:
    """What the compactions of some sessions kept.

    Attributes:
        rows: by share, number of rounds and kind.
        lost: by round, the items that the round before had, and how many of them are missing.
        project: rules of the project at 30 % in one round.
        answers: answers to questions at 30 % in one round.
        tasks: open tasks at 30 % in one round, where they have stood longest.
        form: what the summaries look like.
    """

    rows: dict[tuple[float, int, str], Share] = field(default_factory=dict)
    lost: dict[int, Share] = field(default_factory=dict)
    project: Share = field(default_factory=Share)
    answers: Share = field(default_factory=Share)
    tasks: Share = field(default_factory=Share)
    form: _form.Form = field(default_factory=_form.Form)

    def add(self, messages: list[Any], provider: Any, *, words: bool) -> None:
        """Compacts a session and counts; in all ways where the words of its user count, else in one round."""
        want = wanted(messages) if words else {}
        for share, parts in GOALS if words else [way for way in GOALS if way[1] == 1]:
            made = rounds(messages, provider, share, parts)
            text = _said.listed(made[-1].held)
            for kind, items in want.items():
                self.rows.setdefault((share, parts, kind), Share()).add(sum(one in text for one in items), len(items))
            for one in made:
                self.form.add(one.summary, one.tail)
            if (share, parts) == (0.3, 1):
                for tally, items in (
                    (self.project, _said.project_rules(messages)),
                    (self.answers, _said.answers(messages)),
                ):
                    tally.add(sum(one in text for one in items), len(items))
            elif (share, parts) == (0.3, PARTS):
                self._wear(messages, made)
        place, open_ = _said.standing_tasks(messages)
        if open_:
            text = _said.listed(rounds(messages[:place], provider, 0.3, 1)[-1].held)
            self.tasks.add(sum(one in text for one in open_), len(open_))

    def _wear(self, messages: list[Any], made: list[Round]) -> None:
        """What each round lost of what the round before had."""
        for number, (before, after) in enumerate(pairwise(made), 2):
            had, has = _said.listed(before.held), _said.listed(after.held)
            items = {one for kind in wanted(messages[: before.seen]).values() for one in kind if one in had}
            self.lost.setdefault(number, Share()).add(sum(one not in has for one in items), len(items))

    def measures(self, label: str) -> list[Measure]:
        """The measures, named by a label of the sessions."""
        out = []
        for (share, parts, kind), tally in self.rows.items():
            goal = GOALS[share, parts][KINDS.index(kind)]
            out += tally.measure(f"{label}, {share:.0%}, {ROUNDS[parts]}, {kind}", goal)
        worst = max(self.lost.values(), key=lambda one: one.yes / max(one.of, 1), default=Share())
        out += worst.measure(f"{label}, 30%, lost by the worst of five rounds", 3, at_most=True)
        out += self.tasks.measure(f"{label}, 30%, open tasks", 100)
        out += self.project.measure(f"{label}, 30%, project rules", 90)
        out += self.answers.measure(f"{label}, 30%, answers to questions", 100)
        return out + self.form.measures(label)
