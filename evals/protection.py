"""Whether every policy protects at every turn: agents of 250 turns, by window and text; ``make eval-protection``.

    python evals/protection.py [--small] [--policy NAME] [--window 8000] [--text digits]

An agent's turn is a model call: a prompt, an answer with up to three parallel calls, their results, and a new request
of the user where a run ends. It calls ``fit`` at every moment, in the order in which they come, and ``record`` with
honest usage: the exact count, system text and tools, and 37 tokens more. A tool's result has 0.2 % to 8 % of the
window; one result has 130 % of it. Where a prompt is above the window the provider refuses it, and the agent calls
``fit(when="on_overflow")``.

Each cell is ``above / invalid / silent, compactions``:

- ``above``: prompts above the window less the tokens kept free for the answer, where system text, tools, pins, the last
  user request and open calls fit.
- ``invalid``: lists that the provider would refuse, or without a pin or the last user request, at any moment; an error.
- ``silent``: prompts above the window, or for which a compaction is due, with an empty ``reason``.

Exits with 1 unless all three are 0 everywhere.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import time
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import trimtab
from support.checker import check
from support.floor import Bill, holds, open_calls, said
from trimtab.policies import POLICIES

MODEL = "claude-sonnet-5-5"
WINDOWS = (8_000, 30_000, None)
"""None is the policy's own window."""

TURNS, SMALL = 250, 60
SYSTEM = "You are an agent that mends a program. Read before you write. " * 8
TOOLS = [
    {
        "name": name,
        "description": f"{name}: runs on the project and returns what it printed.",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}, "n": {"type": "integer"}}},
    }
    for name in ("read_file", "shell", "grep")
]
SHARES = (0.002, 0.002, 0.01, 0.01, 0.03, 0.08)
"""Sizes of results, as shares of the window."""

LARGEST, LARGEST_AT = 1.3, 0.4
"""Size of the one large result as a share of the window, and the share of the turns before it."""

PIN = "never touch the licence"
SAMPLES = {
    "ascii": "line {n}: the build went on in src/module_{n}.py and said nothing that anybody would have to know\n",
    "chinese": "第{n}行：构建在继续进行，没有报告任何需要知道的内容，文件已经被读取并且检查完毕。\n",  # noqa: RUF001
    "cyrillic": "строка {n}: сборка продолжается и не сообщает ничего такого, что кому-нибудь нужно знать\n",
    "emoji": "{n} 🚀🔥✅👩‍💻🧪📦🇪🇺🤖💾🎉🛠️🐍 ",
    "digits": "{n} 8271639405 5517283940 6628394051 7739405162 8840516273 9951627384\n",
}


class Texts:
    """Texts of a kind with about so many tokens, each different."""

    def __init__(self, kind: str) -> None:
        self.line = SAMPLES[kind]
        sample = "".join(self.line.format(n=n) for n in range(1_000, 1_100))
        self.cost = trimtab.count(sample, model=MODEL) / 100
        self.made = 0

    def of(self, tokens: int) -> str:
        lines = max(round(tokens / self.cost), 1)
        self.made += lines
        return "".join(self.line.format(n=n) for n in range(self.made - lines, self.made)).strip()


@dataclass
class Row:
    """Counters of one simulated agent."""

    policy: str
    window: int
    kind: str
    prompts: int = 0
    above: int = 0
    invalid: int = 0
    silent: int = 0
    compactions: int = 0
    first: list[str] = field(default_factory=list)

    def note(self, what: str, turn: int, more: object = "") -> None:
        if sum(line.startswith(what) for line in self.first) < 2:
            self.first.append(f"{what} at turn {turn}: {more}")

    @property
    def missed(self) -> int:
        return self.above + self.invalid + self.silent

    def __str__(self) -> str:
        return f"{self.above} / {self.invalid} / {self.silent}, {self.compactions}"


class Agent:
    """An agent with a transcript, its compactor, and what the provider sees of it."""

    def __init__(self, policy: str, window: int | None, kind: str, turns: int) -> None:
        reserve = None if window is None else window // 8
        self.cm = trimtab.Compactor(MODEL, policy=policy, window=window, max_output=reserve)
        budget = self.cm.budget(system=SYSTEM, tools=TOOLS)
        self.window, self.room, self.turns = budget.window, budget.window - budget.reserve, turns
        self.bill = Bill(MODEL, system=SYSTEM, tools=TOOLS)
        self.texts, self.random = Texts(kind), random.Random(f"{policy} {window} {kind}")
        self.row = Row(policy, self.window, kind)
        self.cm.pin(PIN)
        self.request, self.calls = "", 0
        self.messages: list[Any] = []
        self.ask(PIN)
        self.pinned = self.messages[0]

    def play(self) -> Row:
        for turn in range(self.turns):
            self.call(turn)
            self.fit(turn, "after_step")
            if calls := open_calls(self.messages):
                self.messages.append({"role": "user", "content": [self.result(turn, ref) for ref in calls]})
                self.fit(turn, "after_tool_batch")
            else:
                self.fit(turn, "after_run")
                self.ask(f"Request {turn}.")
        return self.row

    def fit(self, turn: int, when: Any) -> Any:
        """Fits the list at a moment, and judges what comes back."""
        before = self.messages
        try:
            fitted = self.cm.fit(before, system=SYSTEM, tools=TOOLS, when=when)
        except trimtab.Error as error:
            self.row.invalid += 1
            self.row.note("raised", turn, f"{when}: {error!r}")
            return None
        self.messages = list(fitted.messages)
        self.row.compactions += fitted.compaction is not None
        wrong = check(self.messages, "anthropic", in_flight=bool(open_calls(self.messages)))
        if not said(self.messages, self.request):
            wrong.append("the last user request is gone")
        if not holds(self.messages, self.pinned):
            wrong.append("the pin is gone")
        if when != "on_length" and open_calls(self.messages) != open_calls(before):
            wrong.append("an open call is gone")
        if wrong:
            self.row.invalid += 1
            self.row.note("invalid", turn, f"{when}: {wrong}")
        return fitted

    def call(self, turn: int) -> None:
        """A model call: the prompt is fitted, judged, billed and answered."""
        before = self.messages
        fitted = self.fit(turn, "before_call")
        billed = self.bill.prompt(self.messages)
        self.row.prompts += 1
        if billed > self.room and self.bill.fits(before, self.room, self.request, [self.pinned]):
            self.row.above += 1
            self.row.note("above", turn, f"{billed:,} of {self.room:,}; {fitted and fitted.reason!r}")
        due = self.cm.stats(self.messages, system=SYSTEM, tools=TOOLS).due
        if fitted and not fitted.reason and (billed > self.room or due):
            self.row.silent += 1
            self.row.note("silent", turn, f"{billed:,} of {self.room:,}, due: {due}")
        if billed > self.window:
            self.fit(turn, "on_overflow")
            billed = min(self.bill.prompt(self.messages), self.window)
        blocks = self.answer(turn)
        output = 20 + 60 * len(blocks)
        cached = billed * 3 // 4
        self.cm.record({"input_tokens": billed - cached, "cache_read_input_tokens": cached, "output_tokens": output})
        self.messages = [*self.messages, {"role": "assistant", "content": blocks}]
        if self.random.random() < 0.02:
            self.cut_off(turn)

    def answer(self, turn: int) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = [{"type": "text", "text": f"Step {turn}: {self.texts.of(40)}"}]
        calls = 1 if turn == int(self.turns * LARGEST_AT) else self.random.choice((0, 1, 1, 1, 2, 3))
        for _ in range(calls):
            self.calls += 1
            tool = self.random.choice(TOOLS)["name"]
            blocks.append({"type": "tool_use", "id": f"toolu_{self.calls}", "name": tool, "input": {"n": self.calls}})
        return blocks

    def cut_off(self, turn: int) -> None:
        """The answer was cut at its limit inside a call."""
        text = {"type": "text", "text": f"Step {turn} and then"}
        cut = {"type": "tool_use", "id": "toolu_cut", "name": "shell", "input_raw": '{"path": "a'}
        self.messages = [*self.messages[:-1], {"role": "assistant", "content": [text, cut]}]
        self.fit(turn, "on_length")

    def result(self, turn: int, ref: str) -> dict[str, Any]:
        share = LARGEST if turn == int(self.turns * LARGEST_AT) else self.random.choice(SHARES)
        text = self.texts.of(int(self.window * share))
        return {"type": "tool_result", "tool_use_id": ref, "content": text}

    def ask(self, words: str) -> None:
        self.request = f"{words} {self.texts.of(60)}"
        self.messages.append({"role": "user", "content": self.request})


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--small", action="store_true", help="60 turns, in a window of 8,000 tokens")
    parser.add_argument("--policy", choices=POLICIES)
    parser.add_argument("--window", type=int, help="0 is the policy's own")
    parser.add_argument("--text", choices=SAMPLES)
    parser.add_argument("--why", action="store_true", help="the first failures of each row")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    policies = [given.policy] if given.policy else list(POLICIES)
    windows = WINDOWS[:1] if given.small else WINDOWS
    windows = windows if given.window is None else (given.window or None,)
    kinds = [given.text] if given.text else list(SAMPLES)
    started = time.process_time()
    rows = []
    print("|", " | ".join(["policy", "window", *kinds]), "|")
    print("|---|---:|" + "---|" * len(kinds))
    for policy, window in product(policies, windows):
        found = [Agent(policy, window, kind, SMALL if given.small else TURNS).play() for kind in kinds]
        rows += found
        print("|", " | ".join([policy, f"{found[0].window:,}", *map(str, found)]), "|", flush=True)
        for row in found if given.why else ():
            print(*(f"    {row.kind}: {line}" for line in row.first), sep="\n", flush=True)
    missed = sum(row.missed > 0 for row in rows)
    print(f"\n{sum(row.prompts for row in rows):,} prompts; {missed} of {len(rows)} agents miss a goal")
    print(f"trimtab {trimtab.__version__}, {MODEL}; {time.process_time() - started:.0f} s of one core")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
