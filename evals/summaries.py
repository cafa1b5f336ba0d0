"""What compactions keep, and what summaries are made of: the gate ``make eval-summaries``. No model, one run.

    python evals/summaries.py [FOLDER] [--quick] [--floors] [--docs]

Prints a line a measure: name, figure, number of items, goal, met or missed. Exits with 1 where a measure misses its
goal and is worse than its floor in ``summaries.toml``. Default policy, offline summary, the whole list as it would be
sent; N% is the target in tokens. Kept is what stands in it word by word, case, white space and punctuation aside.

- kit: planted facts of compaction-conformance-kit's sessions that its probe finds after five rounds, at N% of the
  characters; whole, or in five parts with a compaction behind each. Old values left: changed facts whose old value
  stands there. Over the budget: sessions with a list that is too long. Only where the kit is installed.
- short chats: what must be known, by weight, of chats of about 590 tokens with small talk (evals/_chats.py).
- written chats: the same of chats of about 740 tokens in evals/written/; generated anew: by a second generator; new:
  written after the ranking was done; in a row: eight of them, about 6,000 tokens.
- long chats: 15 constraints in chats of up to 20,000 tokens of what sessions say, five rounds; top, middle: where the
  constraint stands; bare: in the middle, without "remember".
- example, planted, recorded: the package's example session, generated sessions (evals/_planted.py), and the Claude Code
  and Codex sessions of FOLDER, by default the checkout's ``../shared/data/transcripts``; one round, or five parts with
  a compaction behind each. Recorded: for the first five measures sessions of 30,000 tokens with 4 typed messages, for
  the others of 8,000 tokens. Sealed: those of them that a server compacted before into what nobody can read, apart.
  - users' sentences: what a person typed, split at sentence ends and lines, from 13 characters, of each the first 200;
    rules: those with must, never, always, don't, only, avoid, make sure; first request: its first 8 sentences;
    files written: their names.
  - lost by the worst of five rounds: of these items, those that the round before had and the next one has not.
  - open tasks: tasks of TodoWrite, TaskCreate, update_plan that are not done, where they have stood longest.
  - project rules: rules in AGENTS.md or CLAUDE.md as a program writes them into the list.
  - answers to questions: what the user chose when the agent asked, which arrives as a tool's result.
  - names in bare lists: characters of summary lines, files aside, of which 70 % of the words are paths and identifiers;
    that the tail shows: those of these names that the messages behind the summary have too.
  - announcements under decisions: lines that begin with "let me", "I'll", "now I will" and give no reason or choice.
  - ok beside a failure: commands, each summarized alone, with ``ok`` though the output has an error line.
"""

from __future__ import annotations

import argparse
import platform
import re
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import _asides
import _chats
import _form
import _kit
import _planted
import _said
import _written
import chats
from _goals import Measure, Share, floors, verdict, write_floors
from _rounds import MODEL, Kept

import trimtab
from trimtab.formats import EXAMPLE

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
FLOORS = HERE / "summaries.toml"
DOCS = HERE.parent / "docs" / "summarizers.md"
RECORDED = HERE.parents[1] / "shared" / "data" / "transcripts"
BEGIN, END = "<!-- the figures: make eval-summaries ARGS=--docs -->", "<!-- end of the figures -->"
SHORT = {1: (50, 70, 90), 3: (45, 65, 88)}
ROUNDS = {1: "one round", 3: "three rounds"}
IN_A_ROW = {0.1: 70, 0.2: 90, 0.3: 95}
SHOWN = ("kit", "short", "written", "recorded", "long chats of recorded")
SMALL, LARGE, TYPED = 8_000, 30_000, 4
FEW = 8  # of a file of written chats with --quick: two of each kind


def short_chats(label: str, made: list[_chats.Chat]) -> Iterator[Measure]:
    """The weight of what is kept of short chats with small talk."""
    for rounds, goals in SHORT.items():
        for share, goal in zip(chats.SHARES, goals, strict=True):
            kept = chats.kept(made, share, rounds)
            yield Measure(f"{label}, {share:.0%}, {ROUNDS[rounds]}", kept.percent(), len(made), goal)


def written_chats(*, quick: bool) -> Iterator[Measure]:
    """The weight of what is kept of the written chats, by group."""
    for group, names in _written.GROUPS.items():
        made = [one for name in names for one in _written.chats(name)[: FEW if quick else None]]
        yield from short_chats(f"written chats, {group}", made)
        for share, goal in IN_A_ROW.items() if group.startswith("new") else ():
            rows = _written.in_a_row(made)
            kept = chats.kept(rows, share, 3)
            yield Measure(
                f"written chats in a row, {group}, {share:.0%}, three rounds", kept.percent(), len(rows), goal
            )


def long_chats(sessions: list[list[Any]], label: str, shares: tuple[float, ...], number: int) -> Iterator[Measure]:
    """The constraints that are kept of long chats."""
    talk = _asides.talk(sessions)
    for share in shares:
        for place, lead in _asides.PLACES:
            yield from _asides.kept(talk, share, place, lead, number).measure(
                f"long chats of {label}, {share:.0%}, {place}", 95
            )


def session_measures(
    sessions: list[tuple[list[Any], Any]], label: str, *, all_large: bool = False
) -> Iterator[Measure]:
    """The measures on sessions."""
    kept, proven = Kept(), Share()
    for messages, provider in sessions:
        tokens = trimtab.count(messages, model=MODEL, provider=provider)
        if all_large or tokens >= SMALL:
            large = all_large or (tokens >= LARGE and len(_said.typed(messages)) >= TYPED)
            kept.add(messages, provider, words=large)
        found = _form.verdicts(messages, provider)
        proven.add(found.yes, found.of)
    yield from kept.measures(label)
    yield from proven.measure(f"{label}, ok beside a failure", 1, at_most=True)


def recorded(folder: Path) -> list[tuple[list[Any], Any]]:
    """The recorded sessions of a folder."""
    paths = sorted(path for kind in ("claude-code", "codex") for path in (folder / kind).rglob("*.jsonl"))
    found = [trimtab.read(path) for path in paths or sorted(folder.rglob("*.jsonl"))]
    return [(list(one.messages), one.provider) for one in found]


def measures(folder: Path, *, quick: bool) -> Iterator[Measure]:
    """All measures of a mode; prints a line for what is not there."""
    if _kit.HERE:
        print(f"compaction-conformance-kit {version('compaction-conformance-kit')}", flush=True)
        yield from _kit.measures(range(1, 3 if quick else 17), (0.3,) if quick else _kit.SHARES)
    else:
        print("kit: not measured, compaction-conformance-kit is not installed")
    yield from short_chats("short chats", [_chats.chat(seed) for seed in range(1, 13 if quick else 41)])
    yield from written_chats(quick=quick)
    session = [(list(trimtab.read(EXAMPLE).messages), "anthropic")]
    yield from session_measures(session, "example", all_large=True)
    planted = [(_planted.session(seed), "anthropic") for seed in range(3 if quick else 12)]
    yield from session_measures(planted, "planted", all_large=True)
    sessions = [] if quick else recorded(folder)
    if sessions:
        sealed = [one for one in sessions if _said.is_sealed(one[0])]
        print(f"recorded: {len(sessions)} sessions, of which {len(sealed)} are sealed", flush=True)
        yield from session_measures([one for one in sessions if not _said.is_sealed(one[0])], "recorded")
        yield from session_measures(sealed, "sealed")
        yield from long_chats([one for one, _ in sessions], "recorded", (0.1, 0.2, 0.3), len(_asides.CONSTRAINTS))
    else:
        print("recorded: not measured, " + ("left out by --quick" if quick else f"no sessions in {folder}"))
    yield from long_chats([session[0][0]], "example", (0.1, 0.3), 3 if quick else len(_asides.CONSTRAINTS))


def table(found: list[Measure]) -> str:
    """The figures as Markdown: a row a measure, with its shares of the tokens."""
    rows: dict[str, list[str]] = {}
    for one in found:
        if one.name.startswith(SHOWN) and "over the" not in one.name:
            share = re.search(r", (\d+)%", one.name)
            name = one.name.replace(share[0], "") if share else one.name
            goal = f"at most {one.goal:g}" if one.at_most else f"{one.goal:g}"
            digits = 1 if one.got != one.goal == round(one.got) else 0  # 0.4 is not 0
            rows.setdefault(name, []).append((f"{share[1]} %: " if share else "") + f"{one.got:.{digits}f} ({goal})")
    lines = [f"| {name} | {'; '.join(cells)} |" for name, cells in rows.items()]
    return "\n".join(["| at a share of the tokens | today (goal), % |", "|---|---|", *lines])


def write_docs(found: list[Measure]) -> None:
    """Writes the figures into the page of the summarizers."""
    text = DOCS.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after:
        raise SystemExit(f"{DOCS.name} has no place for the figures")
    DOCS.write_text(f"{before}{BEGIN}\n{table(found)}\n{END}{after}")


def main() -> int:
    """Prints the lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=RECORDED)
    parser.add_argument("--quick", action="store_true", help="fewer seeds, no recorded sessions: under two minutes")
    parser.add_argument("--floors", action="store_true", help="write the floors of this mode anew")
    parser.add_argument("--docs", action="store_true", help="write the figures into docs/summarizers.md")
    given = parser.parse_args()
    mode = "quick" if given.quick else "full"
    print(__doc__)
    print(f"trimtab {trimtab.__version__}, Python {platform.python_version()}, {mode}", flush=True)
    begun, committed = time.monotonic(), floors(FLOORS, mode)
    found, held = [], []
    for one in measures(given.folder, quick=given.quick):
        line, holds = verdict(one, committed)
        print(line, flush=True)
        found.append(one)
        held.append(holds)
    reached = sum(one.reaches(one.goal) for one in found)
    print(f"{reached} of {len(found)} goals reached, {held.count(False)} worse than the floor", end="; ")
    print(f"{time.monotonic() - begun:.0f} s")
    if given.floors:
        write_floors(FLOORS, mode, found)
    if given.docs:
        write_docs(found)
    return int(not all(held) and not given.floors)


if __name__ == "__main__":
    sys.exit(main())
