"""Plans a compaction of an agent's session, compacts it, and checks the result.

    python examples/demo.py

Needs no key and no network, and leaves no file behind. Exits with 1 if a check fails.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import textwrap
from typing import TYPE_CHECKING, Any

import trimtab

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Messages = Sequence[dict[str, Any]]

WINDOW = 128_000
HALF, QUARTER = 0.5, 0.25
NEEDED = ("TT-318", "never touch the public names", "under 40 lines")
"""Parts of the first request that the last one needs, and that no message in between repeats."""
COLOUR = sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def opened(model: str, folder: str) -> trimtab.Compactor:
    """An agent's compactor, with the offline summarizer and an archive in a file."""
    return trimtab.Compactor(model, window=WINDOW, summarizer="offline", archive=f"sqlite:///{folder}/archive.db")


def main() -> int:
    """Read, plan, compact, restore, check."""
    session = trimtab.example()
    messages, model = session.messages, session.model or "claude-sonnet-5-5"
    before = json.dumps(messages)

    title("What is in the example session")
    show_session(messages, model)

    with tempfile.TemporaryDirectory() as folder, opened(model, folder) as cm:
        title(f"The budget, with {WINDOW:,} of the model's {trimtab.Model.named(model).window:,} tokens")
        say(cm.explain(messages))

        title("The plan for half of its tokens: nothing is done yet")
        say(cm.plan(messages, target_share=HALF))
        title("The plan for a quarter of them: this one is carried out")
        say(cm.plan(messages, target_share=QUARTER))

        done = cm.compact(messages, target_share=QUARTER)
        restored = cm.restore(done.ref) if done.ref else []

    title("What was done")
    show_done(done, messages)
    title("The summary, written without a model: the first lines of each section")
    show_summary(done)
    title("Is it right?")
    right = show_checks(done, messages, restored_is_same=json.dumps(restored) == before)

    title("Try it")
    say("trimtab demo")
    say("trimtab plan trimtab-demo/session.jsonl --target-share 0.5")
    say("trimtab compact trimtab-demo/session.jsonl -o smaller.json --target-share 0.5")
    say("trimtab restore REF    # the REF that compact printed")
    return 0 if right else 1


def show_session(messages: Messages, model: str) -> None:
    """Prints tokens by kind: a ledger has a row for each block, with its kind and its tokens."""
    ledger = trimtab.Ledger.of(messages, counter=trimtab.Counter.for_model(model))
    is_user = ledger.role[ledger.owner] == 0  # roles: 0 the user; kinds: 0 text, 1 call, 2 result
    kinds = {
        "user": (ledger.kind == 0) & is_user,
        "assistant": (ledger.kind == 0) & ~is_user,
        "calls": ledger.kind == 1,
        "results": ledger.kind == 2,
    }
    say(f"{len(messages)} messages, {ledger.total:,} tokens, counted for {model}")
    for name, rows in kinds.items():
        tokens = int(ledger.tokens[rows].sum())
        say(f"{name:10} {rows.sum():4} {tokens:8,}  {bar(tokens / ledger.total)}")


def show_done(done: trimtab.Compaction, messages: Messages) -> None:
    """Prints tokens before and after, and a line for each edit."""
    say(f"before     {len(messages):4} {done.tokens_before:8,}  {bar(1)}")
    say(f"after      {len(done.messages):4} {done.tokens_after:8,}  {bar(done.tokens_after / done.tokens_before)}")
    for edit in done.plan.edits:
        match type(edit).__name__:
            case "Prune":
                say(f"pruned     {len(edit.rows):4} old tool results: a placeholder each")
            case "Truncate":
                say(f"truncated  {len(edit.rows):4} to its head and tail, at most {edit.max_tokens:,} tokens")
            case "Summarize":
                left = edit.stop - edit.start - len(edit.keep)
                say(f"summarized {left:4} messages, by the {done.summarizer} summarizer")
    say(f"kept       {len(untouched(done, messages)):4} messages as they are")


def show_summary(done: trimtab.Compaction) -> None:
    """Prints the first lines of each section; the summary is the first message, between an opening and a closing tag."""
    for section in str(done.messages[0]["content"]).split("\n## ")[1:]:
        name, *lines = [line for line in section.splitlines() if line and not line.startswith("</")]
        say(f"{paint(name, '1')}, {len(lines)} line{'s'[: len(lines) > 1]}")
        for line in lines[:3]:
            say("  " + (line if len(line) < 75 else line[:71] + "..."))


def show_checks(done: trimtab.Compaction, messages: Messages, *, restored_is_same: bool) -> bool:
    """Checks what a caller relies on, and prints each check. Returns whether all hold."""
    text = json.dumps(done.messages)
    same, objects = untouched(done, messages), {id(message) for message in done.messages}
    calls, results = ids(done.messages, "tool_use", "id"), ids(done.messages, "tool_result", "tool_use_id")
    checks = {
        f"at most {done.plan.target:,} tokens: {done.tokens_after:,}": done.tokens_after <= done.plan.target,
        "the provider would accept it": trimtab.validate(done.messages, provider="anthropic") == [],
        f"{len(calls)} tool calls, each still with its result": calls == results,
        f"{len(same)} untouched messages are the same objects": all(id(message) in objects for message in same),
        "the last request stands as it was": done.messages[-1] is messages[-1],
        f"what it needs is still there: {NEEDED[0]}, and two rules": all(needed in text for needed in NEEDED),
        f"restore(ref) gives back {len(messages)} messages, byte for byte": restored_is_same,
    }
    for what, is_right in checks.items():
        say(f"{paint('ok    ', '32') if is_right else paint('FAILED', '31')} {what}")
    return all(checks.values())


def untouched(done: trimtab.Compaction, messages: Messages) -> list[dict[str, Any]]:
    """Returns the messages that the plan neither removes nor shortens."""
    owner = trimtab.Ledger.of(messages, counter=trimtab.Counter.chars()).owner
    touched = {int(owner[row]) for edit in done.plan.edits for row in getattr(edit, "rows", ())}
    if zone := done.plan.zone():
        touched |= set(range(zone.start, zone.stop)) - set(zone.keep)
    return [message for index, message in enumerate(messages) if index not in touched]


def ids(messages: Iterable[Any], kind: str, name: str) -> list[str]:
    """Returns the ids in the blocks of a kind, sorted."""
    blocks = (block for message in messages if isinstance(message["content"], list) for block in message["content"])
    return sorted(block[name] for block in blocks if block["type"] == kind)


def title(text: str) -> None:
    print("\n" + paint(text, "1"))


def say(what: object) -> None:
    """Prints lines of at most 80 columns."""
    for line in str(what).splitlines():
        print(textwrap.fill(line, 80, initial_indent="   ", subsequent_indent=" " * 18))


def bar(share: float) -> str:
    return paint("#" * max(round(40 * share), 1), "36")


def paint(text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if COLOUR else text


if __name__ == "__main__":
    sys.exit(main())
