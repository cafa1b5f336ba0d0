"""What a summary's lines are made of, for ``eval-summaries``: names in bare lists, announcements, unproven verdicts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import _recall
import outcomes
from _goals import Measure, Share

from trimtab.summarize.ask import Ask
from trimtab.summarize.languages import SECTIONS
from trimtab.summarize.offline import offline

if TYPE_CHECKING:
    from collections.abc import Iterable

FILES = {"files", "archivos", "fichiers", "dateien", "arquivos", "файлы", "文件", "ファイル", "파일"}
LABEL = re.compile(r"\A\s*[-*]?\s*(?:[^\W\d_]+ ?[^\W\d_]*:)?\s*")
ANNOUNCES = re.compile(
    r"\A\W*(?:(?:ok(?:ay)?|good|great|perfect|now|first|next|then|so|and)\b[,.!:]?\s+){0,2}"
    r"(?:let me|let['’]?s|i['’]?ll|i will|i['’]?m going to|i am going to|i need to|i want to|going to|time to)\b",  # noqa: RUF001
    re.IGNORECASE,
)
REASON = re.compile(
    r"\b(?:because|since|instead|rather|so that|therefore|keep|leave|choose|prefer|use|not|never|without)\b",
    re.IGNORECASE,
)
JOIN = re.compile(r"[\s,;·|]+")


def sections(summary: str) -> Iterable[tuple[str, str]]:
    """Each line of a summary with the heading above it, in lower case."""
    heading = ""
    for line in summary.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ").strip().lower()
        elif line.strip():
            yield heading, line


def bare(line: str) -> list[str]:
    """The words of a line that is nothing but names; none for any other line."""
    words = [word.strip("`'\"()") for word in JOIN.split(LABEL.sub("", line, count=1)) if word.strip("`'\"()")]
    named = sum(_is_name(word) for word in words)
    return words if len(words) > 2 and named >= 0.7 * len(words) else []


def _is_name(word: str) -> bool:
    found = _recall.names(word)
    return bool(found["path"] or found["identifier"]) or bool(re.fullmatch(r"[\w-]+[./_-][\w./-]+", word))


def narrates(line: str) -> bool:
    """Whether a line only announces what comes next."""
    return bool(ANNOUNCES.match(line.lstrip("-* "))) and not REASON.search(line)


@dataclass(slots=True)
class Form:
    """Counts over summaries: characters in bare lists, names in them that the tail shows too, announcements."""

    bare: Share = field(default_factory=Share)
    listed: Share = field(default_factory=Share)
    repeated: Share = field(default_factory=Share)
    narration: Share = field(default_factory=Share)

    def add(self, summary: str, tail: list[Any]) -> None:
        """Counts a summary, beside the messages that stay behind it."""
        behind = "\n".join(_recall.texts(tail).lines)
        shown = set(_recall.NAME.findall(behind)) | set(behind.split())
        for heading, line in sections(summary):
            words = bare(line)
            of_files = heading in FILES
            self.bare.add(len(line) if words and not of_files else 0, len(line))
            self.listed.add(len(line) if words else 0, len(line))
            if words and not of_files:
                listed = [word for word in words if _is_name(word)]
                self.repeated.add(sum(word in shown for word in listed), len(listed))
            if SECTIONS.get(heading) == "decisions":
                self.narration.add(narrates(line))

    def measures(self, label: str) -> list[Measure]:
        """The measures, named by a label of the sessions."""
        return [
            *self.bare.measure(f"{label}, names in bare lists", 8, at_most=True),
            *self.repeated.measure(f"{label}, names in bare lists that the tail shows", 0, at_most=True),
            *self.narration.measure(f"{label}, announcements under decisions", 5, at_most=True),
        ]


def verdicts(messages: list[Any], provider: Any) -> Share:
    """The calls that a summary says ``ok`` of, and those of them whose output shows a failure."""
    out = Share()
    for call, result in outcomes.pairs(messages):
        summary = offline(Ask((call, result), provider, 1_000, lambda text: len(text) // 4))
        found = outcomes.ENDING.search(summary)
        if found and found[1] == "ok":
            output = "\n".join(_recall.texts([result]).lines)
            out.add(bool(_recall.errors([output]) or outcomes.SHOWN.search(output)))
    return out
