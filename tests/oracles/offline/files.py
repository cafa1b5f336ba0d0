"""The files of a transcript: what was done to which, and the folder that their paths are told from."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from .runs import EDITS, WRITES, command

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oracles.offline.parts import Part

_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete|Move to)(?: File)?: (.+)$", re.MULTILINE)
_DONE = {"Add": "created", "Update": "edited", "Delete": "deleted", "Move to": "created"}
_REMOVED = re.compile(r"(?:^|[;&|(\n]\s*|\bsudo |\bgit )rm((?: +[\w./~-]+)+)")
_WRITTEN = re.compile(r"\b(?:cat|tee)\s*(?:<<-?\s*\S+\s*)?>\s*([\w./~-]+\.\w+)")
_SEARCHES = re.compile(r"grep|glob|search|find|list|tree|\bls\b|^ls$", re.IGNORECASE)
_FOLDERS = re.compile(r"<cwd>\s*(/[^<\s]+)|(?:[Ww]orking directory:?|[Ii]nstructions for) *`?(/[\w./@+-]+)")
_MOVES = re.compile(r"\s*cd (/[\w./@+-]+) *(?:&&|;)")


def files(parts: Sequence[Part]) -> Iterator[tuple[str, str]]:
    """The files that calls touched, oldest first: path, and what was done to it; what was only searched is not read."""
    for part in parts:
        if part.kind != "call":
            continue
        yield from ((path.strip(), _DONE[how]) for how, path in _PATCHED.findall(part.text))
        shell = command(part)
        removed = [path for paths in _REMOVED.findall(shell) for path in paths.split()]
        yield from ((path, "deleted") for path in removed if path[0] != "-" and path != ".")
        yield from ((path, "created") for path in _WRITTEN.findall(shell[:4_000]))
        for key in ("file_path", "path", "notebook_path", "filePath"):
            path = part.args.get(key)
            verb = str(part.args.get("command", ""))
            how = verb if verb in {"view", "create", "insert", "str_replace"} else part.name
            if isinstance(path, str) and path and not _SEARCHES.search(how):
                yield path, "edited" if EDITS.search(how) else "created" if WRITES.search(how) else "read"


def folders(parts: Iterable[Part]) -> Counter[str]:
    """The working folders that a transcript names, by how often."""
    found: Counter[str] = Counter()
    for part in parts:
        if part.kind == "call":
            told = [part.args.get(key) for key in ("cwd", "workdir", "working_directory")]
            told += _MOVES.findall(str(part.args.get("command", part.args.get("cmd", "")))[:400])
            found.update(one.rstrip("/") for one in told if isinstance(one, str) and one.startswith("/"))
        elif part.kind in {"user", "note", "project"}:
            found.update((one or other).rstrip("/.") for one, other in _FOLDERS.findall(part.text[:20_000]))
    return found


_NO_ROOT = re.compile(r"/(?:usr|tmp|var|opt|etc|mnt|private|dev|bin|lib|(?:home|Users)(?:/[^/]+)?)")
"""Folders that hold a project and are none."""
_SUFFIX = re.compile(r"[\w-]\.[A-Za-z]\w{0,7}$")


def root(paths: Mapping[str, int], told: Mapping[str, int]) -> str:
    """The one folder that paths are told from, empty if none holds half of the absolute ones.

    That is the folder from which most of the relative paths lead to an absolute one, or where commands ran (``told``);
    without such evidence the longest one that holds 85 % of the absolute paths, or else half of them.
    """
    votes: dict[str, int] = {}
    known: Counter[str] = Counter()
    total = 0
    for path, seen in paths.items():
        if path[0] != "/":
            continue
        total += seen
        cut = len(path) if not _SUFFIX.search(path) else path.rfind("/")
        while cut > 0:
            folder = path[:cut]
            votes[folder] = votes.get(folder, 0) + seen
            if "/" in path[cut + 1 :] and path[cut + 1 :] in paths:
                known[folder] += seen
            cut = path.rfind("/", 0, cut)
    known.update({folder: 3 * times for folder, times in told.items() if folder in votes})
    held = [one for one in votes if (votes[one] > 0.5 * total and not _NO_ROOT.fullmatch(one)) or one in told]
    if any(known[folder] for folder in held):
        return max(held, key=lambda folder: (known[folder], len(folder), folder))
    return max(held, key=lambda folder: (votes[folder] >= 0.85 * total, len(folder), folder), default="")


def longer(paths: Iterable[str], short: Mapping[str, object]) -> dict[str, str]:
    """The short paths and file names that are the end of just one path, and that path."""
    found: dict[str, str] = {}
    for path in paths:
        cut = path.find("/", 1)
        while cut > 0:
            rest = path[cut + 1 :]
            if rest in short:
                known = found.get(rest, rest)
                found[rest] = path if path.endswith(known) and known else known if known.endswith(path) else ""
            cut = path.find("/", cut + 1)
    return {rest: path for rest, path in found.items() if path}
