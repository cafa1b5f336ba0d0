"""A coding agent's session and a chat under nine ways to compact, side by side; ``make eval-compare``.

    python evals/compare.py [--shared] [--docs]

Plays the recorded session of ``examples/`` and a generated chat to a stub model (``_compare.py``) in a window that both
outgrow several times, once for each way: no compaction, what frameworks bring, headroom, and trimtab. Each framework
has an environment of its own in ``.venv``, as for ``make adapters``; one that does not install prints its reason.
``--shared`` also plays recorded sessions of ``../shared/data`` and shows Claude Code's own compactions beside ours;
``--docs`` writes the tables into ``docs/compare.md``.

- over the window: prompts that the provider would refuse, those for summaries too; the stub answers them all the same
- calls: for answers, and for summaries
- dollars: input, cache reads, cache writes and output, by the prices of the model table
- cached: share of the prompts' tokens with which the prompt before began, by whole messages
- the last prompt: its tokens, and what is still in it, word for word
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import platform
import subprocess
import sys
import textwrap
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.extend(str(Path(__file__).resolve().parent.parent / name) for name in ("benches", "tests", "tools"))

import _chats
import _compare
import _compare_claude_code
import _recall
from _compare_table import OURS, Row, better, table

import trimtab
from adapters import TRIGGER
from environment import LOCKS, install, install_wheel, python_of
from support.agents import MODEL, OPTIONS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "compare.md"
BEGIN, END = "<!-- compare -->\n", "<!-- /compare -->\n"
WIDTH = 120
SHARED = ROOT.parent / "shared" / "data"
CHATS, MERGED = 80, 4
"""Chats of 44 messages that follow each other in the generated one, and how many turns of them become one."""

SMALLEST, LARGEST, MOST = 60_000, 250_000, 3
"""Tokens of recorded sessions that ``--shared`` plays, and how many."""

RULES = (
    "never touch the public names",
    "functions stay under 40 lines",
    "no new dependency",
    "show me a failing test before you fix anything",
    "run what you write",
    "tt-318",
)
"""What the user of the recorded session demands in the first message."""


@dataclass(frozen=True)
class Place:
    """Where rows are run.

    Attributes:
        module: the file with ``ROWS``.
        package: the package whose version is printed.
        rows: the names of its rows that are shown, by their names in ``ROWS``.
        locks: files of ``requirements/`` of its environment; without them it is run in this one.
    """

    module: str
    package: str
    rows: dict[str, str]
    locks: tuple[str, ...] = ()


PLACES = {
    "plain": Place("_compare_plain", "trimtab", {"no compaction": "no compaction"}),
    "langchain": Place(
        "_adapters_langchain",
        "langchain",
        {
            "`SummarizationMiddleware`": "LangChain: `SummarizationMiddleware`",
            "the first, `trim_tokens_to_summarize=None`": "LangChain: the same, `trim_tokens_to_summarize=None`",
            "`ContextEditingMiddleware`": "LangChain: `ContextEditingMiddleware`",
            "trimtab: `CompactionMiddleware`": "trimtab in LangChain",
        },
        ("adapter-langchain",),
    ),
    "pydantic-ai": Place(
        "_adapters_pydantic_ai",
        "pydantic-ai-harness",
        {
            "harness: `ClearToolResults`": "pydantic-ai-harness: `ClearToolResults`",
            "harness: `SummarizingCompaction`": "pydantic-ai-harness: `SummarizingCompaction`",
            "harness: `TieredCompaction` of the first and the last": "pydantic-ai-harness: `TieredCompaction`",
            "trimtab: `CompactionCapability`": "trimtab in pydantic-ai",
        },
        ("adapter-pydantic-ai", "harness"),
    ),
    "openai-agents": Place(
        "_adapters_openai_agents",
        "openai-agents",
        {
            "`SessionSettings(limit=40)`": "OpenAI Agents: `SessionSettings(limit=40)`",
            "`ToolOutputTrimmer()`": "OpenAI Agents: `ToolOutputTrimmer`",
            "`OpenAIResponsesCompactionSession`": "OpenAI Agents: `OpenAIResponsesCompactionSession`",
            "trimtab: `CompactingSession` and its filter": "trimtab in OpenAI Agents",
        },
        ("adapter-openai-agents",),
    ),
    "headroom": Place("_compare_headroom", "headroom-ai", {"`compress`": "headroom: `compress`"}, ("headroom",)),
    "ours": Place("_compare_plain", "trimtab", {"trimtab: `fit`": OURS}),
}


@dataclass
class Session:
    """A session to play, and what must be known at its end."""

    turns: list[_compare.Turn]
    needs: _compare.Needs


def coding(messages: list[Any], rules: tuple[str, ...] = ()) -> Session:
    """Return an agent's session with what its user wants, and the files that its calls name."""
    turns = _compare.turns(messages)
    asked = _recall.sentences(turn.said for turn in turns)
    facts = [_chats.Fact((rule,), 1.0) for rule in rules]
    results = [result for turn in turns for result in turn.results.values()]
    needs = _compare.Needs(rules=facts, requests=asked, files=_compare.files(turns), results=results)
    return Session(turns, needs)


def chat() -> Session:
    """Return one chat of many short ones."""
    chats = [_chats.chat(seed) for seed in range(1, CHATS + 1)]
    rules = [fact for one in chats if one.kind == "rule" for fact in one.facts]
    facts = [fact for one in chats if one.kind != "rule" for fact in one.facts]
    single = _compare.turns(message for one in chats for message in one.messages)
    turns = [merged(single[at : at + MERGED]) for at in range(0, len(single), MERGED)]
    return Session(turns, _compare.Needs(rules=rules, facts=facts))


def merged(turns: list[_compare.Turn]) -> _compare.Turn:
    """Return turns of a chat as one: short ones would need thousands of calls to fill a window."""
    return _compare.Turn("\n".join(turn.said for turn in turns), " ".join(turn.text for turn in turns))


def recorded() -> dict[str, Path]:
    """Return the recorded sessions that are played, by repository: the first of a middle size."""
    found: dict[str, Path] = {}
    for path in sorted((SHARED / "transcripts" / "claude-code").rglob("*.jsonl")):
        messages = trimtab.read(path, whole=True).messages
        tokens = int(_compare.counter().per_message(messages, provider="anthropic").sum())
        if SMALLEST < tokens < LARGEST and path.parent.name not in found:
            found[path.parent.name] = path
    return dict(list(found.items())[:MOST])


def sessions(names: list[str]) -> dict[str, Session]:
    """Return the sessions by name; a name that ends in a path is read from it."""
    made = {"coding": lambda: coding(trimtab.example().messages, RULES), "chat": chat}
    found = {name: made[name]() for name in names if name in made}
    paths = [name.partition("=") for name in names if name not in made]
    return found | {name: coding(trimtab.read(path, whole=True).messages) for name, _, path in paths}


def played(name: str, talk: Any, session: Session) -> Row:
    """Return the row of one way in one session."""
    encode = lru_cache(None)(lambda text: range(_compare.counter().count(text)))
    stub = _compare.Played(encode, session=session.turns)
    try:
        asyncio.run(talk(stub))
    except Exception as error:  # noqa: BLE001 - a rival's own
        return Row(name, reason=f"stops after {stub.calls} calls: {type(error).__name__}: {str(error)[:100]}")
    bill = stub.bill
    counts = (bill.over, stub.invalid, stub.calls, stub.summaries)
    return Row(name, *counts, bill.dollars, bill.cached / max(bill.sent, 1), bill.last, session.needs.kept(stub.last))


def inside(place: Place, names: list[str]) -> None:
    """Print the version of a place's package, and its rows by session, as JSON."""
    logging.disable(logging.WARNING)
    rows = import_module(place.module).ROWS
    found = {
        name: [asdict(played(shown, rows[row], session)) for row, shown in place.rows.items()]
        for name, session in sessions(names).items()
    }
    print(json.dumps({"version": f"{place.package} {version(place.package)}", "rows": found}))


def python(name: str, place: Place) -> str:
    """Return the interpreter of a place, whose environment is installed.

    Raises:
        SystemExit: it does not install; says why.
    """
    if not place.locks:
        return sys.executable
    folder = ROOT / ".venv" / (name if name in place.locks else f"adapter-{name}")
    wheel = next((ROOT / ".venv" / "built").glob("*.whl"), None)
    if wheel is None:
        raise SystemExit("no wheel in .venv/built: make eval-compare builds it")
    install(folder, *(LOCKS / f"{lock}.txt" for lock in place.locks))
    install_wheel(folder, wheel)
    return str(python_of(folder))


def run(name: str, place: Place, names: list[str]) -> tuple[str, dict[str, list[Row]]]:
    """Return the version of a place's package, and its rows by session."""
    shown = [one.partition("=")[0] for one in names]
    try:
        command = [python(name, place), str(Path(__file__)), "--inside", name, *names]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        reason = done.stderr.strip().rpartition("\n")[2] if done.returncode else ""
    except SystemExit as error:
        reason = str(error)
    if reason:
        row = Row(f"{place.package}", reason=f"not run: {reason[:160]}")
        return f"{place.package} not run", {one: [row] for one in shown}
    said = json.loads(done.stdout.splitlines()[-1])
    return said["version"], {one: [Row(**row) for row in rows] for one, rows in said["rows"].items()}


def report(names: list[str]) -> list[str]:
    """Run everything; return the lines that are printed, and written into the page."""
    found = {name: run(name, place, names) for name, place in PLACES.items()}
    price = trimtab.Model.named(MODEL).price
    money = (
        f"{price.input:g} input, {price.cache_read:g} cache read, {price.cache_write:g} cache write, {price.output:g}"
    )
    versions = ", ".join(sorted({said for said, _ in found.values()}))
    head = (
        f"Model {MODEL} ({money} output, dollars per million tokens), window {OPTIONS['window']:,} tokens of which "
        f"{OPTIONS['max_output']:,} are kept for the answer, compaction past {TRIGGER:,}. {versions}, Python "
        f"{platform.python_version()}. Command: `make eval-compare`."
    )
    out = textwrap.wrap(head, WIDTH)
    for name, session in sessions(names).items():
        rows = [row for _, by_name in found.values() for row in by_name[name]]
        calls = sum(len(turn.calls) for turn in session.turns)
        out += ["", f"**{name}**: {len(session.turns)} answers, {calls} tool calls", "", *table(rows)]
        if worse := better(rows):
            out += ["", "Better than trimtab's `fit`, of those without a prompt over the window:", "", *worse]
    return [*out, "", *_compare_claude_code.lines(SHARED)]


def page(text: str, lines: list[str]) -> str:
    """The page with new tables."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "\n".join(lines) + "\n" + END + rest.partition(END)[2]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shared", action="store_true", help="recorded sessions of ../shared/data too")
    parser.add_argument("--docs", action="store_true", help="write the tables into docs/compare.md, if all was run")
    parser.add_argument("--inside", choices=PLACES, help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", default=["coding", "chat"], help="sessions; default: coding chat")
    options = parser.parse_args()
    if options.inside:
        inside(PLACES[options.inside], options.names)
        return 0
    more = [f"{name}={path}" for name, path in recorded().items()] if options.shared else []
    if options.shared and not more:
        print(f"skipped: no recorded sessions at {SHARED.relative_to(ROOT.parent)}")
    lines = report([*options.names, *more])
    print("\n".join(lines))
    if options.docs and any("not run" in line for line in lines):
        sys.exit(f"{PAGE.name} stays as it is: not all of it was run")
    if options.docs:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
