"""The items that ``eval-recall`` looks for in a summary: things in the zone's text that occur again later.

Shares no code with the summarizer. Reasoning, ids and media are not text.

- path: words joined by ``/``, two if the last has a suffix, else three and more; known by its last three parts
- identifier: a word with an inner ``_`` or capital, a hexadecimal id of 7 to 40 digits, a version of three numbers, a
  URL; one inside of a path is found too
- error: a line of a tool result (not a numbered line, a diff, an echoed command, or code: ``{ } ;`` or `` = ``) with an
  error word among its first five words; digits are alike, the first 60 characters count. What stands before a line
  ``0 fail`` was logged by tests that passed
- sentence: a user's sentence of five and more words; it recurs where one later paragraph of the user or the assistant
  has 60 % of its words of four and more letters, and is found where one line of the summary has 80 % of them
- named: the paths and identifiers that the user or the assistant writes later, in text or in a call; names in results
  do not count. They are counted as paths and identifiers already, so ``all`` does not count them again.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from statistics import mean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KINDS = ("path", "identifier", "error", "sentence")
OPAQUE = {
    "id",
    "call_id",
    "tool_use_id",
    "type",
    "role",
    "signature",
    "encrypted_content",
    "status",
    "metadata",
    "data",
}
REASONING = {"thinking", "redacted_thinking", "reasoning"}

PATH = re.compile(r"(?<![\w/.~-])(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*\w")
URL = re.compile(r"https?://[^\s\"'<>)\]}`\\,]+")
NAME = re.compile(r"\b(?:\d+\.\d+\.\d+|[0-9a-f]{7,40}|[A-Za-z_][A-Za-z0-9_]{3,63})\b")
HEX = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}")
INNER = re.compile(r"[A-Za-z0-9]_+[A-Za-z0-9]|[a-z0-9][A-Z]")
ERROR = re.compile(
    r"\W*(?:\S+\s+){0,4}?\W*(?:\w*error|fatal|panic|failed|fail|\w*exception|traceback)\b", re.IGNORECASE
)
LOGGED = re.compile(r"(?m)^\s*0 fail(?:ed|ing|ures?)?\b.*$")
LISTED = re.compile(r"\s*\d+(?:→|\t|:)|[+-]|\$ |.*(?:[{};]|:= | = )")
WORD = re.compile(r"[a-z]{4,}")
NOT_SAID = re.compile(r"\s*(?:<|#|\[|Caveat:|This session is being continued)")


@dataclass(slots=True)
class Texts:
    """The texts of some messages.

    Attributes:
        lines: all lines.
        results: results of tools.
        user: the user's own text.
        written: text and calls of user and assistant.
    """

    lines: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    user: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)


def strings(value: Any) -> Iterator[str]:
    """Every string in a value, also in JSON inside of a string, without reasoning and opaque fields."""
    if isinstance(value, str):
        opened = None
        if value[:1] in {"{", "["}:
            try:
                opened = json.loads(value)
            except ValueError:
                opened = None
        if isinstance(opened, dict | list):
            yield from strings(opened)
        else:
            yield value
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)
    elif isinstance(value, dict) and value.get("type") not in REASONING:
        for key, one in value.items():
            if key not in OPAQUE:
                yield from strings(one)


def is_result(block: Any) -> bool:
    """Whether a block, item or message is the result of a tool."""
    return isinstance(block, dict) and (
        block.get("role") == "tool" or str(block.get("type", "")).endswith(("_result", "_output"))
    )


def texts(messages: Iterable[Any]) -> Texts:
    """The texts of messages in any of the three shapes."""
    out = Texts()
    for message in messages:
        content = message.get("content")
        for block in content if isinstance(content, list) and not is_result(message) else [message]:
            found = [text for text in strings(block) if text.strip()]
            out.lines.extend(line for text in found for line in text.splitlines() if line.strip())
            if is_result(block):
                out.results.extend(found)
                continue
            out.written.extend(found)
            if message.get("role") == "user":
                out.user.extend(text for text in found if not NOT_SAID.match(text))
    return out


def names(text: str) -> dict[str, set[str]]:
    """The paths and identifiers of a text."""
    paths: set[str] = set()

    def path(match: re.Match[str]) -> str:
        parts = [part for part in match[0].split("/") if part not in {"", ".", "..", "~"}]
        if len(parts) > 2 or (len(parts) == 2 and re.search(r"\w\.[A-Za-z]\w{0,4}$", parts[-1])):
            paths.add("/".join(parts[-3:]))
            return " "
        return match[0]

    urls = {url.rstrip(".:;") for url in URL.findall(text)}
    rest = PATH.sub(path, URL.sub(" ", text))
    words = {word for word in set(NAME.findall(rest)) if "." in word or INNER.search(word) or HEX.fullmatch(word)}
    return {"path": paths, "identifier": words | urls}


def errors(results: Iterable[str]) -> set[str]:
    """The normalized error lines of tool results."""
    out = set()
    for text in results:
        for line in LOGGED.split(text)[-1].splitlines():
            if 12 <= len(line) <= 400 and not LISTED.match(line) and ERROR.match(line):
                out.add(flat(line)[:60])
    return out


def flat(line: str) -> str:
    """A line with each number as 0, and single spaces."""
    return re.sub(r"\d+", "0", " ".join(line.split())).lower()


def sentences(user: Iterable[str]) -> dict[str, frozenset[str]]:
    """The user's sentences with their longer words."""
    out = {}
    for text in user:
        for raw in re.split(r"[.!?]\s|\n", text):
            words = frozenset(WORD.findall(raw.lower()))
            if len(raw.split()) >= 5 and len(words) >= 3:
                out[" ".join(raw.split())] = words
    return out


def covered(words: frozenset[str], sets: list[frozenset[str]], share: float) -> bool:
    """Whether one of the sets has at least ``share`` of the words."""
    return any(len(words & one) >= share * len(words) for one in sets)


def word_sets(lines: Iterable[str]) -> list[frozenset[str]]:
    """The longer words of each line."""
    return [frozenset(WORD.findall(line.lower())) for line in lines]


@dataclass(slots=True)
class Items:
    """The items of a zone that occur again later."""

    kinds: dict[str, set[str]]
    words: dict[str, frozenset[str]]
    named: set[str]

    @classmethod
    def of(cls, zone: Texts, later: Texts) -> Items:
        """The items that the zone and the later text have in common."""
        here, there = names("\n".join(zone.lines)), names("\n".join(later.lines))
        written = names("\n".join(later.written))
        kinds = {kind: here[kind] & there[kind] for kind in here}
        again = {flat(line)[:60] for line in later.lines}
        kinds["error"] = errors(zone.results) & again
        paragraphs = word_sets(part for text in later.written for part in text.split("\n\n"))
        words = {text: found for text, found in sentences(zone.user).items() if covered(found, paragraphs, 0.6)}
        kinds["sentence"] = set(words)
        named = {name for kind in ("path", "identifier") for name in kinds[kind] & written[kind]}
        return cls(kinds, words, named)

    def recall(self, summary: str) -> dict[str, float]:
        """The share of the items that a summary has, by row of the table; a kind without items has no row."""
        have = names(summary)
        have["identifier"] |= set(NAME.findall(summary))
        flats = flat(summary)
        lines = word_sets(summary.splitlines())
        found = {kind: self.kinds[kind] & have[kind] for kind in have}
        found["error"] = {line for line in self.kinds["error"] if line in flats}
        found["sentence"] = {text for text, words in self.words.items() if covered(words, lines, 0.8)}
        rows = {kind: len(found[kind]) / len(items) for kind, items in self.kinds.items() if items}
        total = sum(map(len, self.kinds.values()))
        rows |= {"all": sum(map(len, found.values())) / total, "kinds": mean(rows.values())}
        if self.named:
            rows["named"] = len(self.named & (found["path"] | found["identifier"])) / len(self.named)
        return rows
