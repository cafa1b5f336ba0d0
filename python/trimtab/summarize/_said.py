"""What was said: requests, decisions and open items as lines that a summary may keep, each with its rank."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ._parts import HOSTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ._parts import Part

Section = Literal["Requests", "Earlier", "Decisions", "Files", "Commands", "Errors", "Identifiers", "Open items"]


@dataclass(slots=True)
class Line:
    """A line that may go into the summary.

    Attributes:
        section: the heading it stands under.
        text: one clean line.
        rank: worth of a token of it; a request is about 1.
        at: the position of its message, negative if an earlier summary had it.
        number: its place among the lines of the message.
    """

    section: Section
    text: str
    rank: float
    at: int
    number: int = 0


LAST = "last said: "
"""What stands before the assistant's last words."""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_LONG_WORD = re.compile(r"\S{160,}")
_BULLET = re.compile(r"^[-*+•>#|]+\s+")
_BOLD = re.compile(r"(?<!\S)\*\*(\w[^*]{0,200})\*\*(?!\w)")
_SENTENCE = re.compile(r"(?<=[^\d\s][.!?])[)\"'*]*\s+(?=[\"'(`*]?[A-Z0-9])|(?<=[\u3002\uff01\uff1f])")
_MUST = re.compile(
    r"\b(?:must|never|always|don'?t|do not|only|should|shouldn'?t|instead|without|please|make sure|ensure|need"
    r"|prefer|keep|avoid)\b",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[{};|→]|:=|[=!]=|=>| = |\w\(\)|^(?://|/\*|[*#] |@\w|\.\w|<\w)|^(?:return|elif|func|const|import [\"{*])"
    r"|^(?:var|let|const|def|class|type|struct|if|else|for|while|import|from|use|pub|fn|export|async|raise|throw|switch"
    r"|case|try|except|catch|assert|public|private|static)\b.*[(){}:=,;]"
)
_DECIDED = re.compile(
    r"\b(?:root cause|decided?|because|turns? out|the (?:real |actual )?(?:problem|issue|bug|fix|reason|cause)|fixed"
    r"|instead|confirmed|verified|all tests|pass(?:es|ed)?|fail(?:s|ed)?|implemented|removed|renamed|merged|pushed"
    r"|committed|completed?|works|conclu\w+|recommend\w*|blocked|found that|means that|caused by|won'?t|cannot|must)\b",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"(?:let me|let's|now|step \d|i'll|i will|great|good|perfect|ok(?:ay)?|sure|excellent"
    r"|you'?re (?:absolutely )?right|i'm (?:going|now)|i (?:see|need to)|next,? i|looking at)\b",
    re.IGNORECASE,
)
_NEXT = re.compile(
    r"\b(?:todo|fixme|next steps?|remaining|still (?:need|to|fail)|not yet|pending|follow[- ]?up|left to do|would you"
    r" like|do you want|shall i|should i|waiting for)\b",
    re.IGNORECASE,
)


def clean(text: str, longest: int = 300) -> str:
    """A text as one line without characters that cannot be seen, cut to a length at a word."""
    if len(text) > 40 * longest:
        text = text[: 40 * longest]
    text = " ".join(_UNSEEN.sub(" ", _ESCAPES.sub("", text)).split())
    text = _LONG_WORD.sub(lambda word: word[0][:48] + "…", text)
    if len(text) <= longest:
        return text
    cut = text.rfind(" ", longest // 2, longest)
    return text[: cut if cut > 0 else longest] + "…"


def sentences(text: str, longest: int = 300) -> Iterator[str]:
    """The sentences of a text, each a clean line without list marks and bold."""
    for raw in filter(str.strip, text.splitlines()):
        for one in _SENTENCE.split(raw) if len(raw) > 60 else [raw]:
            found = _BULLET.sub("", _BOLD.sub(r"\1", clean(one, longest)))
            if any(map(str.isalnum, found)):
                yield found


def is_code(line: str) -> bool:
    """Whether a line looks like source code rather than words."""
    return bool(_CODE.search(line))


def requests(parts: Sequence[Part], after: Sequence[Part], size: int) -> Iterator[Line]:
    """What the user said, sentence by sentence; the newest request most of all, if none comes after."""
    said = [part for part in parts if part.kind == "user"]
    newer = any(part.kind == "user" for part in after)
    seen: set[str] = set()
    for part in said:
        newest = 0.0 if part is not said[-1] else 0.5 if newer else 3.0
        for number, one in enumerate(sentences(part.text, 500)):
            if one in seen or one.startswith("```"):
                continue
            seen.add(one)
            rank = 0.9 + 0.4 * part.at / size + 0.3 * bool(_MUST.search(one)) + 0.5 * (number == 0)
            rank = rank * 8 / (8 + number) + newest * 20 / (20 + number)
            if number and (len(one) < 20 or one.endswith(":") or is_code(one)):
                rank *= 0.4
            yield Line("Requests", one, rank, part.at, number)


def decisions(parts: Sequence[Part], size: int) -> Iterator[Line]:
    """What the assistant concluded."""
    following = [*(part.kind for part in parts[1:]), "user"][: len(parts)]
    seen: set[str] = set()
    for part, after in zip(parts, following, strict=True):
        if part.kind != "assistant":
            continue
        final = after == "user"
        for number, one in enumerate(sentences(_without_code(part.text))):
            if len(one.encode()) < 20 or one in seen or one.endswith(":"):
                continue
            seen.add(one)
            marks = min(len(_DECIDED.findall(one)), 2)
            rank = 0.25 + 0.25 * marks + 0.3 * part.at / size + 0.25 * final - 0.3 * bool(_FILLER.match(one))
            yield Line("Decisions", one, max(rank, 0.02) * 12 / (12 + number), part.at, number)


def _without_code(text: str) -> str:
    return "\n".join(text.split("```")[::2]) if "```" in text else text


def open_items(parts: Sequence[Part], after: Sequence[Part], size: int) -> Iterator[Line]:
    """What is still to do: listed tasks, calls without a result, an unanswered request, the last words."""
    for text, status in tasks(parts).values():
        if status not in {"completed", "done", "deleted", "cancelled"}:
            yield Line("Open items", f"{status.replace('_', ' ')}: {clean(text, 160)}", 1.4, size)
    answered = {HOSTED, *(part.id for part in [*parts, *after] if part.kind == "result")}
    for part in parts:
        if part.kind == "call" and part.id not in answered:
            yield Line("Open items", f"no result yet: {part.name} {clean(part.text, 120)}", 1.2, part.at)
    spoken = [part for part in parts if part.kind in {"user", "assistant"}]
    if not spoken:
        return
    last = spoken[-1]
    ending = list(sentences(last.text, 240))
    if last.kind == "user":
        if ending and not any(part.kind in {"assistant", "call"} for part in [*parts[parts.index(last) :], *after]):
            yield Line("Open items", f"not answered yet: {ending[0]}", 1.6, last.at)
    else:
        told = [one for one in ending if len(one) > 20 and not one.endswith(":")]
        for number, one in enumerate(told[-1:] + told[:2]):
            yield Line("Open items", LAST + one, 1.2 - 0.2 * number, last.at, number)
    for part in spoken[-40:]:
        if part.kind == "assistant":
            found = (one for one in sentences(_without_code(part.text), 240) if _NEXT.search(one) and one[-1] != ":")
            yield from (Line("Open items", one, 0.2 + 0.5 * part.at / size, part.at) for one in found)


def tasks(parts: Sequence[Part]) -> dict[str, tuple[str, str]]:
    """The task list as it stands at the end, by id: text and status."""
    found: dict[str, tuple[str, str]] = {}
    for part in parts:
        if part.kind != "call":
            continue
        listed = part.args.get("todos", part.args.get("plan"))
        if isinstance(listed, list):
            found = {}
            for at, one in enumerate(listed):
                if isinstance(one, Mapping):
                    text = one.get("content") or one.get("step") or one.get("text") or ""
                    found[str(at + 1)] = (str(text), str(one.get("status") or "pending"))
        elif isinstance(subject := part.args.get("subject"), str) and "description" in part.args:
            found[str(len(found) + 1)] = (subject, "pending")
        elif (task := str(part.args.get("taskId"))) in found and "status" in part.args:
            found[task] = (found[task][0], str(part.args["status"]))
    return found
