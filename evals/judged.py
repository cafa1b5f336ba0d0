"""Prints the offline summaries that ``judged.md`` judges, line by line; ``make eval-judged``.

    python evals/judged.py [FOLDER] [--number N]

FOLDER holds session files, by default the checkout's ``../shared/data/transcripts``. Each session of at least 10,000
tokens is compacted with the default policy to 30 % of its tokens; where pruning alone is enough there is no summary. Of
those with one, by path, the first, third, fifth and so on are judged, then the others, until there are 30. The lines
under Errors, Commands, Decisions and Open items have numbers. ``--number`` prints one session only. Exits with 0 and a
reason if there are no sessions.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import trimtab

if TYPE_CHECKING:
    from collections.abc import Iterator

MODEL = "claude-sonnet-5-5"  # for files that name none
LEAST_TOKENS, MOST, SHARE = 10_000, 30, 0.3
JUDGED = ("## Errors", "## Commands", "## Decisions", "## Open items")


def tokens(found: trimtab.Transcript) -> int:
    """The tokens of a session's messages."""
    counter = trimtab.Counter.for_model(found.model or MODEL)
    return int(counter.per_message(found.messages, provider=found.provider).sum())


def chosen(folder: Path) -> list[tuple[Path, trimtab.Transcript, str]]:
    """The judged sessions of a folder, with their summaries."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".csv")
    read = ((path, trimtab.read(path)) for path in paths)
    large = ((path, found) for path, found in read if tokens(found) >= LEAST_TOKENS)
    told = [one for one in ((path, found, summary(found)) for path, found in large) if one[2]]
    return (told[::2] + told[1::2])[:MOST]


def summary(found: trimtab.Transcript) -> str:
    """The summary of a session that is compacted to 30 % of its tokens."""
    cm = trimtab.Compactor(found.model or MODEL, provider=found.provider)
    return cm.compact(found.messages, target_share=SHARE).summary or ""


def numbered(text: str) -> Iterator[str]:
    """The lines of a summary, with a number before each that is judged."""
    judged, number = False, 0
    for line in text.splitlines():
        if line.startswith("#"):
            judged = line in JUDGED
        if judged and line.startswith("- "):
            number += 1
            yield f"{number:4} {line}"
        else:
            yield f"     {line}"


def main() -> None:
    """Prints the summaries."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--number", type=int)
    given = parser.parse_args()
    folder = given.folder or Path(__file__).resolve().parents[2] / "shared" / "data" / "transcripts"
    found = chosen(folder)
    if not found:
        print(f"no sessions in {folder}: nothing to judge")
    for number, (path, transcript, text) in enumerate(found, start=1):
        if given.number in (None, number):
            print(f"===== {number} {transcript.format} {path.name}", *numbered(text), sep="\n")


if __name__ == "__main__":
    main()
