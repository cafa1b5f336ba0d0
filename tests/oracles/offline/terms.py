"""The names in a transcript: paths, identifiers, ids, URLs; and how likely each one comes back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import exp, log2
from typing import TYPE_CHECKING, Literal

from .files import longer, root

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Sort = Literal["path", "name", "id", "url", "version"]

USER, SAID, CALLED, WROTE, FAILED, AFTER, ASKED, EARLIER = (1 << bit for bit in range(8))
"""Where a term stood: user's words, assistant's text, arguments, arguments of a call that writes, an error line, behind
the zone, instructions, the summary before."""

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


_QUOTED = re.compile(r"`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\(\))?`")


def quoted(texts: Iterable[str]) -> frozenset[str]:
    """The names that stand in backticks and would be taken for a word without: ``Name`` and ``one.other``."""
    found = {name for text in texts if "`" in text for name in _QUOTED.findall(text)}
    some = {name for name in found if 3 < len(name) < 64 and ("." in name or name[0].isupper())}
    return frozenset(some - {"None", "True", "False"} - {name for name in some if _FILE.fullmatch(name)})


class Terms:
    """The terms of a transcript, gathered part by part."""

    def __init__(self, quoted: frozenset[str] = frozenset()) -> None:
        self.found: dict[str, Term] = {}
        self.root = ""
        self._quoted = quoted
        self._runs: dict[str, tuple[Term, ...]] = {}
        self._moved: dict[str, str] = {}

    def of(self, text: str) -> set[str]:
        """The names in a text."""
        return {self._now(term.text) for term in self._terms(text)}

    def _now(self, text: str) -> str:
        while text in self._moved:
            text = self._moved[text]
        return text

    def _terms(self, text: str) -> Iterator[Term]:
        runs = self._runs
        if "\\" in text:
            text = _ESCAPE.sub(" ", text)
        for run in dict.fromkeys(_RUN.findall(text)):
            known = runs.get(run)
            if known is None:
                held = dict(names(run))
                if (bare := run.strip(".:,-+#/@%")) in self._quoted:
                    held[bare] = "name"
                known = runs[run] = tuple(self.found.setdefault(name, Term(name, sort)) for name, sort in held.items())
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

    def mark_after(self, text: str) -> None:
        """Notes that a message behind the zone has these names, and the parts of its paths and addresses."""
        for term in list(self._terms(text)):
            new = not term.where & AFTER
            term.where |= AFTER
            if new and term.sort in {"path", "url"}:
                self.mark(term.text.replace("/", " "), AFTER)

    def settle(self, told: Mapping[str, int]) -> None:
        """Tells every path once: from one root, and a shorter one by the longer one it is the end of; call it last."""
        paths = {text: term.seen for text, term in self.found.items() if term.sort == "path" and term.seen}
        self.root = root(paths, told)
        for text in paths:
            self._move(text, _relative(text, self.root))
        now = [text for text, term in self.found.items() if term.sort == "path" and "/" in text]
        if self.root:  # what stands outside of it is another file, whatever its last folders are called
            now = [text for text in now if text[0] != "/"]
        files = {text for text, term in self.found.items() if term.sort == "path" or _FILE.fullmatch(text)}
        for short, path in longer(now, dict.fromkeys(files)).items():
            self._move(short, path)

    def _move(self, old: str, new: str) -> None:
        """Gives a term another text, and its evidence to the one that has it already."""
        new = self._now(new)
        if old == new or not new:
            return
        term = self.found.pop(old)
        self._moved[old] = term.text = new
        other = self.found.setdefault(new, term)
        if other is not term:
            other.seen += term.seen
            other.last = max(other.last, term.last)
            other.where |= term.where

    def path(self, text: str) -> str:
        """A path as the summary tells it."""
        return self._now(_relative(text, self.root))


def _relative(path: str, root: str) -> str:
    if root and path.startswith(root + "/"):
        return path[len(root) + 1 :]
    return path.removeprefix("./")


def chance(term: Term, size: int) -> float:
    """The chance that a term of a zone of this many messages comes back.

    The weights are those of logistic regressions on the sessions that ``evals/recall.py`` tunes on, for all names
    that come back and for those that somebody writes again, between the two and rounded; those of an error line and of
    the instructions, which those sessions hardly have, are a judgement. A name that only tools gave counts least.
    """
    where = term.where
    own = bool(where & (USER | SAID | CALLED | WROTE | ASKED | EARLIER))
    logit = -2.5 + (1.0 if own else 0.7) * log2(1 + term.seen) + 1.4 * max(term.last, 0) / size - 0.5 * (not own)
    logit += 1.8 * bool(where & USER) + 0.6 * bool(where & SAID) + 0.3 * bool(where & (CALLED | WROTE))
    logit += 0.2 * bool(where & FAILED) + 0.9 * bool(where & AFTER)
    logit -= 1.0 * (term.sort == "version" and not own)
    logit += 0.8 * bool(where & EARLIER) + 2.0 * bool(where & ASKED)
    logit += {"path": -0.4, "name": 0.0, "id": -0.5, "url": 0.2, "version": -0.7}[term.sort]
    return 1 / (1 + exp(-logit))
