"""That no list is refused: the long runs behind ``docs/validity.md``; ``make proof``.

Prints a line a run. Every list that comes of it is judged by ``tests/support/checker.py``, which shares no code with
trimtab; thinking is signed as a server does, by a hash of all that stands before it. Exits with 1 at the first list
refused.

    lists       every list of up to four messages over ten kinds, compacted under every policy
    seeded      longer lists over the same kinds, compacted under every policy
    repairs     every list of up to five messages over the same kinds, mended
    histories   sessions that go on and are compacted up to five times
    sessions    the shared sessions, compacted at every tenth message
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import trimtab  # noqa: E402
from support.checker import check  # noqa: E402 - beside the tests, not in the package
from trimtab.errors import NothingToCompactError  # noqa: E402
from trimtab.messages.envelope import summary_in  # noqa: E402
from trimtab.planning.edits import Prune, StripThinking, Truncate  # noqa: E402
from trimtab.policies import POLICIES  # noqa: E402
from trimtab.validity.repair import repair  # noqa: E402

SESSIONS = ROOT.parent / "shared" / "data" / "transcripts"
KINDS = "uracptsyme"
SLICE = 1_000
BOUND, FREE = "claude-sonnet-5-5", "claude-sonnet-4-5"
WORDS = [
    "the",
    "parser",
    "reads",
    "a",
    "line",
    "and",
    "keeps",
    "its",
    "offset",
    "so",
    "that",
    "an",
    "error",
    "can",
    "name",
    "the",
    "place",
    "where",
    "it",
    "went",
    "wrong",
]


class RefusedError(Exception):
    """A list that a provider would refuse, with what it came of."""


@dataclass
class Tally:
    """What a run looked at."""

    lists: int = 0
    compacted: int = 0
    refused: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, what: str, number: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + number

    def __str__(self) -> str:
        more = "".join(f", {n:,} {what}" for what, n in sorted(self.counts.items()))
        return f"{self.lists:,} lists, {self.compacted:,} compacted, {self.refused:,} refused{more}"


def words(dice: random.Random, most: int) -> str:
    return " ".join(dice.choices(WORDS, k=dice.randrange(most // 2, most)))


def signed(messages: list[dict]) -> str:
    """The signature of thinking that stands behind these messages: of all that they say but thinking."""
    said = [[m["role"], [b for b in blocks(m) if b["type"] != "thinking"]] for m in messages]
    return hashlib.sha256(json.dumps([s for s in said if s[1]]).encode()).hexdigest()[:16]


def blocks(message: dict) -> list[dict]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def bound(messages: list[dict]) -> bool:
    """Whether all thinking still stands behind what it was signed behind."""
    return all(
        block["signature"] == signed(messages[:at])
        for at, message in enumerate(messages)
        for block in blocks(message)
        if block["type"] == "thinking"
    )


def spelled(kinds: str, size: int = 60) -> list[dict]:
    """A list over the alphabet of the Rust proof: user, results, assistant, one call, two, thinking and call, server
    pair, system, summary, empty."""
    dice, ids, owed, out = random.Random(kinds), itertools.count(1), ["none"], []
    for kind in kinds:
        calls = [f"call_{next(ids)}" for _ in range({"c": 1, "p": 2, "t": 1, "s": 1}.get(kind, 0))]
        text = {"type": "text", "text": words(dice, size)}
        uses = [{"type": "tool_use", "id": ref, "name": "Read", "input": {"path": text["text"][:20]}} for ref in calls]
        match kind:
            case "u":
                content = text["text"]
            case "r":
                content = [{"type": "tool_result", "tool_use_id": ref, "content": text["text"]} for ref in owed]
            case "a":
                content = text["text"]
            case "c":
                content = uses
            case "p":
                content = [text, *uses]
            case "t":
                content = [{"type": "thinking", "thinking": "so", "signature": signed(out)}, *uses]
            case "s":
                search = {"type": "server_tool_use", "id": calls[0], "name": "web_search", "input": {}}
                found = {"type": "web_search_tool_result", "tool_use_id": calls[0], "content": []}
                content = [search, found, text]
            case "m":
                content = f"[summary] {text['text']}"
            case _:
                content = text["text"] if kind == "y" else ""
        owed = calls if kind in "cpt" else owed
        role = {"y": "system"}.get(kind, "assistant" if kind in "acpts" else "user")
        out.append({"role": role, "content": content})
    return out


def compacted(cm: trimtab.Compactor, messages: list[dict], share: float, tally: Tally, *, binds: bool) -> list[dict]:
    """The list once it was compacted, judged; the list itself where nothing was done."""
    valid = check(messages, "anthropic", in_flight=True)
    tally.lists += 1
    try:
        done = cm.compact(messages, target_share=share)
    except NothingToCompactError:
        return messages
    except (trimtab.MessageError, trimtab.SummaryError):
        if not valid:
            raise
        tally.refused += 1
        return messages
    if done.ref is None:
        return messages
    tally.compacted += 1
    made = list(done.messages)
    if faults := check(made, "anthropic", in_flight=True):
        raise RefusedError(f"{faults[0]} in {json.dumps(made)} of {json.dumps(messages)}")
    if binds and not bound(made):
        raise RefusedError(f"thinking behind an edit in {json.dumps(made)} of {json.dumps(messages)}")
    _same(done, messages, made, tally)
    return made


def _same(done: trimtab.Compaction, messages: list[dict], made: list[dict], tally: Tally) -> None:
    """Kept messages are the same objects, but for those whose rows the plan names."""
    ours = {id(message) for message in messages}
    rows = [
        len(e.rows) for e in done.plan.edits if isinstance(e, Prune | Truncate | StripThinking) or hasattr(e, "rows")
    ]
    others = [message for message in made if id(message) not in ours]
    changed = [m for m in others if isinstance(m["content"], list) and any(b["type"] != "text" for b in m["content"])]
    if len(changed) > sum(rows):
        raise RefusedError(f"{len(changed)} messages changed, {sum(rows)} rows named: {done.plan}")
    tally.add("kept identical", len(made) - len(others))
    tally.add("summaries", sum(summary_in(message) is not None for message in made))


def policies() -> list[str]:
    return list(POLICIES)


def run_lists(most: int, tally: Tally) -> None:
    """Every list of up to ``most`` messages under every policy."""
    every = [trimtab.Compactor(FREE, policy=name, provider="anthropic") for name in policies()]
    for length in range(1, most + 1):
        for kinds in itertools.product(KINDS, repeat=length):
            messages = spelled("".join(kinds), 600)
            if not valid_beginning(messages):
                continue
            for cm in every:
                compacted(cm, messages, 0.3, tally, binds=False)


def valid_beginning(messages: list[dict]) -> bool:
    """Whether the provider takes the list; one that it refuses is refused by each policy alike, and tried by one."""
    if not check(messages, "anthropic", in_flight=True):
        return True
    try:
        trimtab.Compactor(FREE, provider="anthropic").compact(messages, target_share=0.3)
    except trimtab.MessageError:
        return False
    raise RefusedError(f"compacted, though refused: {json.dumps(messages)}")


def run_seeded(first: int, number: int, tally: Tally) -> None:
    """Longer lists that are valid, each under one policy after the other."""
    every = [
        trimtab.Compactor(model, policy=name, provider="anthropic") for name in policies() for model in (FREE, BOUND)
    ]
    for seed in range(first, first + number):
        dice = random.Random(seed)
        messages = spelled("u" + "".join(turn(dice) for _ in range(dice.randrange(3, 12))))
        while check(messages, "anthropic", in_flight=True):
            messages = spelled("u" + "".join(turn(dice) for _ in range(dice.randrange(3, 12))))
        cm = every[seed % len(every)]
        compacted(cm, messages, dice.uniform(0.1, 0.9), tally, binds=seed % 2 == 1)


def turn(dice: random.Random) -> str:
    return dice.choice(["u", "a", "cr", "pr", "tr", "s", "crcr", "prcr", "au", "trcr"])


def run_repairs(most: int, tally: Tally) -> None:
    """Every list of up to ``most`` messages, mended: as it is sent, and while calls run."""
    for length in range(1, most + 1):
        for kinds in itertools.product(KINDS, repeat=length):
            messages = spelled("".join(kinds), 8)
            for in_flight in (False, True):
                done = repair(messages, provider="anthropic", in_flight=in_flight)
                tally.lists += 1
                tally.add("valid already", done.messages is messages)
                if faults := check(list(done.messages), "anthropic", in_flight=in_flight):
                    raise RefusedError(f"{faults[0]}: {kinds} became {json.dumps(done.messages)}")
                again = repair(done.messages, provider="anthropic", in_flight=in_flight)
                lost = _texts(messages) - _texts(done.messages)
                if again.messages is not done.messages or lost:
                    raise RefusedError(f"not idempotent, or lost {lost}: {kinds}")


def _texts(messages: list[dict]) -> set[str]:
    return {block["text"].strip() for message in messages for block in blocks(message) if block["type"] == "text"} - {
        ""
    }


def run_histories(first: int, number: int, tally: Tally) -> None:
    """Sessions of an agent that thinks, calls in parallel and is compacted up to five times."""
    for seed in range(first, first + number):
        dice = random.Random(seed)
        binds = seed % 2 == 1
        cm = trimtab.Compactor(
            BOUND if binds else FREE, policy=policies()[seed // 2 % len(policies())], provider="anthropic"
        )
        messages: list[dict] = []
        for n in range(dice.randrange(1, 6)):
            messages = messages + grown(messages, dice, f"{seed}_{n}")
            messages = compacted(cm, messages, dice.uniform(0.15, 0.85), tally, binds=binds)
        tally.add("histories")


def grown(messages: list[dict], dice: random.Random, name: str) -> list[dict]:
    """What an agent adds to a session; in one of four its last calls are open."""
    new = [{"role": "user", "content": words(dice, 60)}]
    for n in range(dice.randrange(1, 7)):
        thinks = dice.random() < 0.5
        thought = [{"type": "thinking", "thinking": "so", "signature": signed([*messages, *new])}] if thinks else []
        if dice.random() < 0.2:
            new.append({"role": "assistant", "content": [*thought, {"type": "text", "text": words(dice, 60)}]})
            new.append({"role": "user", "content": words(dice, 30)})
            continue
        refs = [f"call_{name}_{n}_{k}" for k in range(dice.randrange(1, 4))]
        uses = [{"type": "tool_use", "id": ref, "name": "Bash", "input": {"command": words(dice, 12)}} for ref in refs]
        new.append({"role": "assistant", "content": [*thought, *uses]})
        given = [{"type": "tool_result", "tool_use_id": ref, "content": words(dice, 120)} for ref in refs]
        new.append({"role": "user", "content": given})
    if new[-1]["role"] == "user" and dice.random() < 0.5:
        new.append({"role": "assistant", "content": words(dice, 20)})
    return new


def run_sessions(step: int, tally: Tally) -> None:
    """Each shared session, compacted as it stood at every tenth message."""
    for path in sorted(p for p in SESSIONS.rglob("*") if p.is_file() and p.suffix in (".json", ".jsonl", ".traj")):
        try:
            found = trimtab.read(path)
        except trimtab.MessageError:
            tally.add("files without messages")
            continue
        cm = trimtab.Compactor(found.model or FREE, provider=found.provider)
        tally.add("files")
        for moment in range(step, len(found.messages) + 1, step):
            tally.lists += 1
            messages = found.messages[:moment]
            refused = check(messages, found.provider, in_flight=True)
            try:
                done = cm.compact(messages, target_share=0.5)
            except trimtab.MessageError:
                if not refused:
                    raise
                tally.refused += 1
                continue
            tally.compacted += done.ref is not None
            faults = check(list(done.messages), found.provider, in_flight=True)
            if faults and not refused:
                raise RefusedError(f"{faults[0]} in {path} at {moment}")


def sliced(run: Callable[[int, int, Tally], None], number: int, tally: Tally) -> None:
    """A run of many seeds in slices of a thousand, each with compactors of its own: memory stays what a slice takes."""
    for first in range(0, number, SLICE):
        run(first, min(SLICE, number - first), tally)
        if number > SLICE:
            print(f"  {run.__name__} up to {first + SLICE:,}: {tally}", file=sys.stderr, flush=True)


RUNS = {
    "lists": lambda n, tally: run_lists(min(n, 4), tally),
    "seeded": lambda n, tally: sliced(run_seeded, n, tally),
    "repairs": lambda n, tally: run_repairs(min(n, 6), tally),
    "histories": lambda n, tally: sliced(run_histories, n, tally),
    "sessions": run_sessions,
}
LONG = {"lists": 4, "seeded": 100_000, "repairs": 5, "histories": 50_000, "sessions": 10}


def main() -> int:
    """All runs, or those that are named, with their bounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", help=f"such as histories=1000; all where none is named ({', '.join(RUNS)})")
    for name, _, bound_ in (run.partition("=") for run in parser.parse_args().runs or RUNS):
        tally, start = Tally(), time.perf_counter()
        if name == "sessions" and not SESSIONS.exists():
            print(f"{name:<10} skipped: no {SESSIONS}")
            continue
        try:
            RUNS[name](int(bound_ or LONG[name]), tally)
        except RefusedError as refused:
            print(f"{name:<10} REFUSED after {tally}: {refused}")
            return 1
        print(f"{name:<10} {tally}; 0 invalid ({time.perf_counter() - start:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
