"""A stub agent of 250 calls in each framework, with the framework's compaction and with ours; ``make bench-adapters``.

The user's first request has ten instructions, later ones say "go on". The model answers whatever it is sent, so that a
row does not end at its first prompt over the window; tokens are counted as o200k_base has them. It calls a tool whose
outputs are numbers: 5 to 60 lines. Every compaction begins at the same 80 % of the input budget. Summaries are the same
text in every row and repeat none of the instructions: those that are still there are kept by the compaction itself.

A framework is a file ``_adapters_NAME.py`` with ``ROWS``: by name of the row, a coroutine function that talks to the
model of its argument until ``goes_on`` is false.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.agents import CALLS, OPTIONS, Answer, Model
from trimtab import Counter

if TYPE_CHECKING:
    from collections.abc import Iterator

FRAMEWORKS = {
    "langchain": "langchain",
    "pydantic_ai": "pydantic-ai-slim",
    "openai_agents": "openai-agents",
    "strands": "strands-agents",
    "litellm": "litellm",
    "deepagents": "deepagents",
    "google_adk": "google-adk",
    "smolagents": "smolagents",
    "llama_index": "llama-index-core",
    "agno": "agno",
    "crewai": "crewai",
    "inspect_ai": "inspect-ai",
    "openhands": "openhands-sdk",
    "agent_framework": "agent-framework-core",
}
"""The package of each framework, by its file's name."""

TRIGGER = (OPTIONS["window"] - OPTIONS["max_output"]) * 80 // 100
"""Tokens past which each compaction begins, as our default."""

RULES = [f"RULE-{n}: never touch file {n * 7919 % 1000:03}.cfg without asking." for n in range(1, 11)]

HEAD = ("prompts over the window", "invalid prompts", "model calls", "of them summaries", "instructions at the end")


@dataclass
class Judged(Model):
    """The stub, which answers prompts over the window too; ``refused`` counts them, those for summaries too.

    Attributes:
        most: its answers.
        summaries: calls for a summary.
    """

    lowered: int = OPTIONS["window"]
    refuses: bool = False
    most: int = CALLS
    summaries: int = 0

    @property
    def goes_on(self) -> bool:
        """Whether the user has more to say."""
        return self.calls < self.most

    def requests(self) -> Iterator[str]:
        """Yield what the user says, turn by turn."""
        yield "\n".join(["Look at everything. Rules:", *RULES])
        while self.goes_on:
            yield f"Go on with part {self.calls}."

    def summarize(self, ask: Any) -> str:
        """Return a summary, as a summarizer of ours, or of the messages of a call to a model."""
        del ask
        self.summaries += 1
        return f"Summary {self.summaries}: everything so far was looked at, and nothing stood out."

    def row(self) -> tuple[Any, ...]:
        """Return what is printed."""
        sent = json.dumps(self.last, default=str)
        kept = f"{sum(rule in sent for rule in RULES)} of {len(RULES)}"
        return self.refused, self.invalid, self.calls + self.summaries, self.summaries, kept


@dataclass
class Summaries(Model):
    """A model that is asked for summaries alone."""

    judged: Judged = field(kw_only=True)

    def answer(self, messages: list[dict[str, Any]], tools: Any, provider: str = "openai_chat") -> Answer:
        """Return a summary."""
        del provider
        tokens = self._count(messages) + self._count(tools or [])
        self.judged.refused += tokens > self.limit
        return Answer(self.judged.summarize(messages), [], tokens)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="50 calls")
    parser.add_argument("frameworks", nargs="*", default=[*FRAMEWORKS], help="files of frameworks")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    counter = Counter("o200k_base")
    encode = lru_cache(None)(lambda text: range(counter.count(text)))
    for name in options.frameworks:
        print(f"\n| {FRAMEWORKS[name]} {version(FRAMEWORKS[name])} | {' | '.join(HEAD)} |\n|---|{'---|' * len(HEAD)}")
        for row, talk in import_module(f"_adapters_{name}").ROWS.items():
            stub = Judged(encode, most=50 if options.small else CALLS)
            asyncio.run(talk(stub))
            print(f"| {row} | {' | '.join(map(str, stub.row()))} |", flush=True)


if __name__ == "__main__":
    main()
