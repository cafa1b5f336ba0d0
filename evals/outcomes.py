"""Compares the offline summary's statements on recorded commands with their outcomes; ``make eval-outcomes``.

    python evals/outcomes.py [FOLDER]

FOLDER holds session files, by default the checkout's ``../shared/data/transcripts``. Each call is summarized alone with
its result, and the line under ``## Commands`` is read: ``ok``, ``failed``, ``exit N``, ``output shows`` (what the
output has, no outcome) or none of them. A line is *contradicted* if it says ``ok`` and the output has an error line by
``_recall.py``, which shares no code with the summarizer, or one of the messages below. *Stated* are the ``ok`` for
which the message has a field of success, or the output an exit code. Prints a row a format, and up to five
contradicted lines; exits with 1 if an ``ok`` is not stated.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import _recall

import trimtab
from trimtab.summarize.ask import Ask
from trimtab.summarize.offline import offline

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = ("ok", "failed", "exit N", "output shows", "none")
SHOWN = re.compile(r"(?im)^Traceback \(most|^npm err!|command not found$|: not found$|\*\*\* .*Error \d+$")
STATED = re.compile(r"(?i)exit(?:ed)? (?:with )?code:? 0\b|returncode\W+0\b|exit_?code\W+0\b")
ENDING = re.compile(r"(?s)## Commands\n- `.*?: (ok|failed|exit|output shows)\b")


def pairs(messages: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Each call as a message of its own, with its result as one."""
    calls: dict[str, Any] = {}
    for message in messages:
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        for call in message.get("tool_calls") or ():
            calls[call["id"]] = {"role": "assistant", "content": None, "tool_calls": [call]}
        for block in filter(_recall.is_result, [message, *blocks]):
            made = calls.get(block.get("tool_use_id") or block.get("call_id") or block.get("tool_call_id"))
            if made:
                yield made, block if block is message else {"role": "user", "content": [block]}
        for block in [message, *blocks]:
            if isinstance(block, dict) and str(block.get("type", "")).endswith(("tool_use", "_call")):
                one = block if block is message else {"role": "assistant", "content": [block]}
                calls[block.get("call_id") or block.get("id")] = one


def states(result: Any) -> bool:
    """Whether a result has a field of success, or an exit code of 0."""
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    flags = [block.get("is_error") for block in [result, *blocks] if isinstance(block, dict)]
    return False in flags or bool(STATED.search("\n".join(_recall.texts([result]).lines)))


def main() -> int:
    """Prints the table."""
    given = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).resolve().parents[2] / "shared/data/transcripts"
    paths = sorted(path for path in given.rglob("*") if path.is_file() and path.suffix != ".csv")
    if not paths:
        print(f"no sessions in {given}: nothing measured")
        return 0
    rows: dict[str, Counter[str]] = {}
    examples = []
    for path in paths:
        transcript = trimtab.read(path)
        row = rows.setdefault(transcript.format, Counter(dict.fromkeys(WORDS, 0)))
        row["files"] += 1
        for call, result in pairs(transcript.messages):
            summary = offline(Ask((call, result), transcript.provider, 1_000, lambda text: len(text) // 4))
            if "## Commands\n- `" not in summary:
                continue
            found = ENDING.search(summary)
            word = found[1].replace("exit", "exit N") if found else "none"
            row[word] += 1
            output = "\n".join(_recall.texts([result]).lines)
            if word == "ok":
                row["stated"] += states(result)
                if _recall.errors([output]) or SHOWN.search(output):
                    row["contradicted"] += 1
                    command = summary.partition("## Commands\n- ")[2].splitlines()[0]
                    examples.append(f"{path.name[:40]}: {command[:100]}")
    total = sum(rows.values(), Counter())
    names = ("files", *WORDS, "stated", "contradicted")
    print(f"{'format':14}" + "".join(f"{name:>14}" for name in names))
    for name, row in [*sorted(rows.items()), ("all", total)]:
        print(f"{name:14}" + "".join(f"{row[column]:>14,}" for column in names))
    print("`stated` and `contradicted` are of the `ok`", *examples[:5], sep="\n")
    return total["ok"] > total["stated"]


if __name__ == "__main__":
    sys.exit(main())
