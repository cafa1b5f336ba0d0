"""A recorded session as a stub model plays it to an agent, and the bill of the prompts, for ``eval-compare``.

The stub answers with the recorded answers, whatever it is sent; the tools return the recorded results. Where a rival
asks a model for a summary, trimtab's offline summary stands in for it: of those lines of the session alone that were in
the rival's request, and of the summary before it. So no rival is worse for its model, and each is judged by what it
shows to its model, when, and what it keeps beside the summary.
"""

from __future__ import annotations

import html
import json
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import _recall

from adapters import Judged
from support.agents import MODEL, OPTIONS, Answer, Call, Tool
from support.checker import check
from trimtab import Counter, Model
from trimtab.summarize.ask import Ask
from trimtab.summarize.offline import offline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from _chats import Fact

SUMMARY = 1_000
"""Most tokens of a summary that stands in for a model's."""

TELLING = 24
"""Characters of a line that is no other text's by chance; a text of shorter lines is known by its longest."""

LIMIT = OPTIONS["window"] - OPTIONS["max_output"]
"""Tokens that a prompt may have."""


@dataclass
class Turn:
    """A recorded answer, and what came before and after it.

    Attributes:
        said: what the user said before it; empty inside of a run.
        text: its text.
        calls: its calls.
        results: the results, by the call's id.
    """

    said: str = ""
    text: str = ""
    calls: list[Call] = field(default_factory=list)
    results: dict[str, str] = field(default_factory=dict)


@dataclass
class Needs:
    """What must be known at the end: all are texts or facts that a prompt has or has not."""

    rules: list[Fact] = field(default_factory=list)
    requests: dict[str, frozenset[str]] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    results: list[str] = field(default_factory=list)

    def kept(self, messages: list[Any]) -> dict[str, tuple[int, int]]:
        """Return how many a prompt has, and how many there are, by kind."""
        lines = _recall.texts(messages).lines
        text, whole = "\n".join(lines).lower(), "\n".join(map(str.rstrip, lines))
        sets = _recall.word_sets(lines)
        paths = _recall.names("\n".join(lines))["path"]
        requests = [words for words in self.requests.values() if _recall.covered(words, sets, 0.8)]
        return {
            "rules": (sum(rule.kept(text) for rule in self.rules), len(self.rules)),
            "requests": (len(requests), len(self.requests)),
            "facts": (sum(fact.kept(text) for fact in self.facts), len(self.facts)),
            "files": (len(self.files & paths), len(self.files)),
            "results": (sum(flat(result) in whole for result in self.results), len(self.results)),
        }


def flat(result: str) -> str:
    """Return a result as ``Needs.kept`` has the lines of a prompt."""
    return "\n".join(map(str.rstrip, _recall.texts([{"content": result}]).lines))


def turns(messages: Iterable[Any]) -> list[Turn]:
    """Return the answers of a session in the shape of Anthropic or Chat Completions; a text beside results joins them.

    Thinking and media are left out.
    """
    found: list[Turn] = []
    said: list[str] = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        if message["role"] == "assistant":
            calls = [Call(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]
            if said and found and found[-1].calls:
                found[-1].results[found[-1].calls[-1].id] += "\n" + "\n\n".join(said)
                said = []
            if not said and found and not found[-1].calls:
                found[-1].text = "\n\n".join(filter(None, [found[-1].text, *texts]))
                found[-1].calls = calls
            else:
                found.append(Turn("\n\n".join(said), "\n\n".join(texts), calls))
            found[-1].results = {call.id: "(no result)" for call in found[-1].calls}
            said = []
            continue
        said += texts
        for block in blocks:
            if block["type"] == "tool_result" and found:
                found[-1].results[block["tool_use_id"]] = "\n".join(_recall.strings(block.get("content"))) or "(empty)"
    while found and found[-1].calls:  # an agent's run ends with a text
        found.pop()
    return found


@cache
def counter() -> Counter:
    return Counter.for_model(MODEL)


@dataclass
class Bill:
    """What the prompts of a session cost; an answer's prompt is cached up to the first message that changed.

    Attributes:
        over: prompts that the provider would refuse, those for summaries too.
        sent: tokens of all prompts for answers.
        cached: those of them with which the prompt before began.
        dollars: the price of everything.
        last: tokens of the last prompt for an answer.
    """

    over: int = 0
    sent: int = 0
    cached: int = 0
    dollars: float = 0.0
    last: int = 0
    before: list[str] = field(default_factory=list)
    counted: dict[str, int] = field(default_factory=dict)

    def tokens(self, texts: list[str], messages: list[Any], provider: str) -> list[int]:
        """Return the tokens of each message; each is counted once, by its text."""
        for text, message in zip(texts, messages, strict=True):
            if text not in self.counted:
                self.counted[text] = int(counter().per_message([message], provider=provider)[0])
        return [self.counted[text] for text in texts]

    def prompt(self, messages: list[Any], provider: str, fixed: int = 0) -> int:
        """Charge a prompt for an answer, with so many tokens before its messages; return its tokens."""
        now = [json.dumps(message, default=str) for message in messages]
        tokens = self.tokens(now, messages, provider)
        pairs = enumerate(zip(self.before, now, strict=False))
        same = next((at for at, (old, new) in pairs if old != new), min(len(self.before), len(now)))
        cached = sum(tokens[:same]) + (fixed if self.before else 0)
        total, price = sum(tokens) + fixed, Model.named(MODEL).price
        self.dollars += (cached * price.cache_read + (total - cached) * price.cache_write) / 1e6
        self.sent, self.cached, self.before = self.sent + total, self.cached + cached, now
        self.over += total > LIMIT
        self.last = total
        return total

    def summary(self, tokens: int) -> None:
        """Charge a prompt for a summary: nothing of it is in a cache."""
        self.dollars += tokens * Model.named(MODEL).price.input / 1e6
        self.over += tokens > LIMIT

    def output(self, text: str) -> int:
        """Charge a text of the model; return its tokens."""
        tokens = counter().count(text)
        self.dollars += tokens * Model.named(MODEL).price.output / 1e6
        return tokens


@dataclass
class Played(Judged):
    """The stub that plays a session.

    Attributes:
        session: its answers.
        bill: what they cost.
        summary_text: the last summary that stood in for a model's.
    """

    session: list[Turn] = field(default_factory=list)
    bill: Bill = field(default_factory=Bill)
    summary_text: str = ""

    def __post_init__(self) -> None:
        self.most = len(self.session)
        self.tools = tools(self)

    @property
    def turn(self) -> Turn:
        """The last answer."""
        return self.session[self.calls - 1]

    def requests(self) -> Iterator[str]:
        """Yield what the user says."""
        while self.goes_on:
            yield self.session[self.calls].said or "(no text)"

    def answer(self, messages: list[dict[str, Any]], tools: Any, provider: str = "openai_chat") -> Answer:
        """Return the next recorded answer, and charge its prompt."""
        turn = self.session[self.calls]
        self.calls, self.last = self.calls + 1, opened(messages)
        prompt = self.bill.prompt(self.last, provider, self._count(tools or []))
        self.invalid += bool(check(messages, provider))
        made = self.bill.output(turn.text + "".join(call.name + json.dumps(call.input) for call in turn.calls))
        return Answer(turn.text, turn.calls, prompt, made)

    def result(self, name: str, given: dict[str, Any]) -> str:
        """Return the recorded result of a call of the last answer."""
        found = (call for call in self.turn.calls if call.name == name and call.input == given)
        return self.turn.results[next(found).id]

    def summarize(self, ask: Any) -> str:
        """Return the text that stands in for a model's summary of a request's lines, and charge it."""
        self.summaries += 1
        request = html.unescape("\n".join(_recall.strings(opened(ask))))
        self.bill.summary(counter().count(request))
        previous = self.summary_text if self.summary_text and self.summary_text[:200] in request else None
        shown = tuple(seen(self.session[: self.calls], request))
        asked = Ask(shown, "anthropic", SUMMARY, counter().count, previous=previous)
        self.summary_text = offline(asked)
        self.bill.output(self.summary_text)
        return self.summary_text


def tools(stub: Played) -> list[Tool]:
    """Return the tools of a session: each takes what it was called with."""
    names: dict[str, dict[str, Any]] = {}
    for turn in stub.session:
        for call in turn.calls:
            names.setdefault(call.name, {}).update({key: {} for key in call.input})
    return [
        Tool(name, {"type": "object", "properties": keys}, lambda _name=name, **given: stub.result(_name, given))
        for name, keys in names.items()
    ]


def opened(messages: list[Any]) -> list[Any]:
    """Return messages with the text of OpenAI's compaction items, which their provider alone can read, as messages."""
    return [
        {"role": "user", "content": message["encrypted_content"]} if message.get("type") == "compaction" else message
        for message in messages
    ]


def seen(session: list[Turn], request: str) -> Iterator[dict[str, Any]]:
    """Yield the messages of a session as far as their lines are in a request for a summary."""
    for turn in session:
        if said := _lines(turn.said, request):
            yield {"role": "user", "content": said}
        calls = [call for call in turn.calls if _is_named(call, request)]
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in [_lines(turn.text, request)] if text]
        blocks += [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.input} for call in calls]
        if blocks:
            yield {"role": "assistant", "content": blocks}
        if calls:
            texts = [(call.id, _lines(turn.results[call.id], request)) for call in calls]
            answers = [{"type": "tool_result", "tool_use_id": name, "content": text} for name, text in texts]
            yield {"role": "user", "content": answers}


def _lines(text: str, request: str) -> str:
    """Return the lines of a text that are in a request; none unless one of them tells that it is this text."""
    lines = [line for line in text.splitlines() if line.strip()]
    known = [line for line in lines if line.strip()[:200] in request]
    telling = (len(line) >= min(TELLING, max(map(len, lines))) for line in known)
    return "\n".join(known) if any(telling) else ""


def _is_named(call: Call, request: str) -> bool:
    """Whether a request has a call: its id, or the longest line of what it was called with."""
    lines = [line for text in _recall.strings(call.input) for line in text.splitlines()]
    return call.id in request or (bool(lines) and max(lines, key=len)[:200] in request)


def files(session: list[Turn]) -> set[str]:
    """Return the files that calls name as such, by the last parts of their paths."""
    named = [call.input.get("file_path") for turn in session for call in turn.calls]
    return _recall.names("\n".join(filter(None, named)))["path"]


def as_chat(turn: Turn) -> list[dict[str, Any]]:
    """Return an answer and its results in the shape of Chat Completions."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.input)}}
        for call in turn.calls
    ]
    answer: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    answer |= {"tool_calls": calls} if calls else {}
    return [answer, *({"role": "tool", "tool_call_id": c.id, "content": turn.results[c.id]} for c in turn.calls)]
