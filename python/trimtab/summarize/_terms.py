"""The names in a transcript: paths, identifiers, ids, URLs; and how likely each one comes back."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from math import exp, log2
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Sort = Literal["path", "name", "id", "url", "version"]

USER, SAID, CALLED, FAILED, AFTER, ASKED, EARLIER = (1 << bit for bit in range(7))
"""Where a term stood: user's words, assistant's text, arguments, an error line, behind the zone, instructions, the
summary before."""

_RUN = re.compile(r"https?://[^\s\"'<>)\]}`\\,|*]+|[\w./:@~+#%-]{4,}")
_ESCAPE = re.compile(r"\\[nrt]")
_PATH = re.compile(r"(?:~|\.{1,2})?/?(?:[\w.@+%-]+/)+[\w.@+%-]*\w")
_SUFFIX = re.compile(r"[\w-]\.[A-Za-z]\w{0,7}$")
_FILE = re.compile(
    r"[\w-][\w.-]*\.(?:py|pyi|rs|go|tsx?|jsx?|mjs|cjs|jsonl?|md|toml|ya?ml|sh|txt|sql|html|s?css|c|h|cc|cpp|hpp|java|kt"
    r"|rb|php|lock|cfg|ini|xml|csv|proto|vue|svelte|swift|ipynb|log|env)"
)
_PIECE = re.compile(r"[A-Za-z_]\w{2,63}")
_INNER = re.compile(r"[A-Za-z0-9]_+[A-Za-z0-9]|[a-z0-9][A-Z]")
_HEX = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_KEBAB = re.compile(r"[A-Za-z]{2}[A-Za-z0-9]*(?:[-.][A-Za-z0-9]+)*-[A-Za-z0-9.]*[A-Za-z0-9]")
_VERSION = re.compile(r"v?\d+\.\d+\.\d+(?:[-.]?(?:rc|alpha|beta|a|b)\.?\d+)?")
_ADDRESS = re.compile(r"(?:localhost|\d{1,3}(?:\.\d{1,3}){3}):\d{2,5}")
_NUMBERED = re.compile(r"#\d{2,6}")
_LONGEST = 160


@dataclass(slots=True)
class Term:
    """A name and the evidence that it will be needed again.

    Attributes:
        text: the name, a path relative to the transcript's root.
        sort: what kind of name.
        seen: number of messages that hold it.
        last: position of the last of them, -1 for an earlier summary.
        where: places it stood in, as bits.
    """

    text: str
    sort: Sort
    seen: int = 0
    last: int = -2
    where: int = 0


_COMMON = {"GitHub", "GitLab", "JavaScript", "TypeScript", "OpenAI", "PostgreSQL", "macOS", "utf-8", "UTF-8"}


def names(run: str) -> Iterator[tuple[str, Sort]]:
    """The names in a run of characters without white space, brackets and quotes."""
    run = run.rstrip(".:,-+#/@%").lstrip(":,+%@")
    if len(run) > _LONGEST or len(run) < 4 or run in _COMMON:
        return
    if "://" in run:
        yield run, "url"
    elif "/" in run:
        head, _, rest = run.partition(":")
        if _PATH.fullmatch(head) and not head.startswith("//"):
            parts = head.strip("/").split("/")
            if (len(parts) > 2 or _SUFFIX.search(parts[-1])) and any(map(str.isalpha, head)):
                yield head, "path"
            elif head[0].isalpha() and re.search(r"[\d_-]", parts[-1]):
                yield head, "name"
        elif "/" not in rest:
            yield from _word(rest)
    else:
        yield from _word(run)


def _word(run: str) -> Iterator[tuple[str, Sort]]:
    if _VERSION.fullmatch(run):
        yield run, "version"
    elif _UUID.fullmatch(run) or _ADDRESS.fullmatch(run) or _NUMBERED.fullmatch(run):
        yield run, "id"
    elif _KEBAB.fullmatch(run) and (run.count("-") > 1 or any(map(str.isdigit, run))):
        yield run, "name"
    else:
        run = run.partition(":")[0] if _FILE.match(run) else run
        if _FILE.fullmatch(run):
            yield run, "name"
            return
        for piece in re.split(r"[^\w]+", run):
            if _HEX.fullmatch(piece):
                yield piece, "id"
            elif _PIECE.fullmatch(piece) and _INNER.search(piece):
                yield piece, "name"


class Terms:
    """The terms of a transcript, gathered part by part."""

    def __init__(self) -> None:
        self.found: dict[str, Term] = {}
        self._runs: dict[str, tuple[Term, ...]] = {}
        self.root = ""

    def of(self, text: str) -> set[str]:
        """The names in a text."""
        return {term.text for term in self._terms(text)}

    def _terms(self, text: str) -> Iterator[Term]:
        runs = self._runs
        if "\\" in text:
            text = _ESCAPE.sub(" ", text)
        for run in dict.fromkeys(_RUN.findall(text)):
            known = runs.get(run)
            if known is None:
                known = runs[run] = tuple(
                    self.found.setdefault(name, Term(name, sort)) for name, sort in dict(names(run)).items()
                )
            yield from known

    def note(self, text: str, at: int, where: int) -> None:
        """Counts the names of a text, each once a message."""
        for term in self._terms(text):
            term.where |= where
            if term.last != at:
                term.last = at
                term.seen += 1

    def mark(self, text: str, where: int) -> None:
        """Notes that a text outside of the zone has these names, without counting it."""
        for term in self._terms(text):
            term.where |= where

    def settle(self) -> None:
        """Makes paths relative to the root of most absolute ones; call it once, last."""
        self.root = root(self.found)
        if not self.root:
            return
        for text in [text for text in self.found if text.startswith(self.root + "/")]:
            term = self.found.pop(text)
            term.text = text[len(self.root) + 1 :]
            if not term.text:
                continue
            other = self.found.setdefault(term.text, term)
            if other is not term:
                other.seen += term.seen
                other.last = max(other.last, term.last)
                other.where |= term.where


def chance(term: Term, size: int) -> float:
    """The chance that a term of a zone of this many messages comes back.

    The weights are those of a logistic regression on the sessions that ``benches/summaries.py`` tunes on, rounded; that
    of an error line and of the instructions, which those sessions hardly have, is a judgement.
    """
    where = term.where
    logit = -3.3 + 0.85 * log2(1 + term.seen) + 1.4 * max(term.last, 0) / size
    logit += 1.4 * bool(where & USER) + 0.6 * bool(where & CALLED) + 0.2 * bool(where & FAILED)
    logit += 0.9 * bool(where & AFTER) + 0.8 * bool(where & EARLIER) + 2.0 * bool(where & ASKED)
    logit += {"path": -0.4, "name": 0.0, "id": -0.5, "url": 0.2, "version": -0.7}[term.sort]
    return 1 / (1 + exp(-logit))


def root(found: Mapping[str, Term]) -> str:
    """The folder that shortens the absolute paths most, empty if none holds half of them.

    A folder whose paths are also told relative to it counts more.
    """
    votes: Counter[str] = Counter()
    known: Counter[str] = Counter()
    total = 0
    for term in found.values():
        if term.sort != "path" or not term.seen or not term.text.startswith("/"):
            continue
        total += term.seen
        folder = term.text if _SUFFIX.search(term.text) else term.text + "/"
        while (cut := folder.rfind("/")) > 0:
            folder = folder[:cut]
            votes[folder] += term.seen
            known[folder] += 2 * term.seen * (term.text[cut + 1 :] in found)
    common = {folder: vote for folder, vote in votes.items() if vote > 0.5 * total and folder.count("/") > 1}
    return max(common, key=lambda folder: ((common[folder] + known[folder]) * len(folder), folder), default="")
