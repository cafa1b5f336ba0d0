"""Failures of a summarizer and the promised outcome of each, run through the real clients.

``tools/summarizers.py`` writes them as a table into ``docs/summarizers.md``.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import json
import re
import time
from dataclasses import dataclass
from pathlib import Path

from pytest_httpserver import HTTPServer

import trimtab
from support import loopback
from support.checker import check
from support.loopback import DIALECTS, Reply
from support.models import GPT
from support.transcripts import transcript
from trimtab.events import Compacted, FellBack
from trimtab.summarize import Anthropic, Limits, OpenAI

DOCS = Path(__file__).parents[2] / "docs" / "summarizers.md"
START, STOP = "<!-- the matrix: make docs -->\n", "<!-- end of the matrix -->\n"
TALK = transcript(" ".join("u:60 a:90" for _ in range(30)), provider="anthropic")
WRITERS = {"anthropic": Anthropic, "openai": OpenAI}
PATHS = ("compact", "acompact")
MODES = ("once", "always")
GOOD = "The tests were mended; nothing is open."
SHORT = 0.6
"""Seconds of the deadline where a case lasts as long as it; five times that where a busy machine sent nothing in it."""

SLACK = 5.0
"""Seconds past the deadline that a busy machine is given."""


@dataclass(frozen=True)
class Row:
    """One thing that goes wrong.

    Attributes:
        group: the part of the table it stands in.
        name: what goes wrong, in words.
        bad: makes the replies of one dialect, or a fault of the wire.
        once: what is promised where it happens once; None where once is for ever.
        always: what is promised where it happens every time.
        wired: whether it happens below HTTP.
        seconds: the deadline.
    """

    group: str
    name: str
    bad: object
    once: str | None
    always: str
    wired: bool = False
    seconds: float = 60.0


def status(code, words="what the provider says", **headers):
    return lambda dialect: Reply(dialect.error(words), code, {k.replace("_", "-"): v for k, v in headers.items()})


def body(make):
    return lambda dialect: Reply(make(dialect))


def said(text="", **more):
    return lambda dialect: Reply(dialect.body(text, **more))


def echo(dialect):
    """A piece of the prompt, marks and all."""

    def answer(request):
        user = dialect.prompt(request)[1]
        return Reply(dialect.body(user[user.index("<transcript") :][:400]))

    return answer


AGAIN = "summary, 2 calls"
TRIES = " (3 tries)"
NOT_JSON = "offline, 3 calls: the answer is not JSON (3 tries)"
NO_MESSAGE = "offline, 3 calls: the answer is no message (3 tries)"
NO_CONNECTION = "no connection (3 tries)"
OVER = "offline, 1 call: no answer in time; the N s are over"

ROWS = [
    *(
        Row("status", f"{code}", status(code), None, f"offline, 1 call: {code}: {reason}")
        for code, reason in (
            (400, "the request was refused"),
            (401, "the key is missing or not accepted"),
            (403, "the key may not do this"),
            (404, "there is no such model or address"),
            (413, "the request is too large"),
        )
    ),
    *(
        Row("status", f"{code}", status(code), AGAIN, f"offline, 3 calls: {code}: {reason}{TRIES}")
        for code, reason in (
            (408, "the request was refused"),
            (409, "the request was refused"),
            (429, "too many requests"),
            (500, "the service failed"),
            (503, "the service is not available"),
            (504, "the service took too long"),
            (529, "the service is overloaded"),
        )
    ),
    *(
        Row("status", f"429, Retry-After: {text}", status(429, retry_after=value), once, always)
        for text, value, once, always in (
            ("0", "0", AGAIN, f"offline, 3 calls: 429: too many requests{TRIES}"),
            ("garbage", "soon", AGAIN, f"offline, 3 calls: 429: too many requests{TRIES}"),
            ("a date past", "Wed, 21 Oct 2015 07:28:00 GMT", AGAIN, f"offline, 3 calls: 429: too many requests{TRIES}"),
            ("3600", "3600", None, "offline, 1 call: 429: too many requests; it asks to wait N s, N s are left"),
            (
                "a date to come",
                "Wed, 21 Oct 2111 07:28:00 GMT",
                None,
                "offline, 1 call: 429: too many requests; it asks to wait N s, N s are left",
            ),
        )
    ),
    Row(
        "status",
        "307 to another server",
        status(307, location="http://other.example/v1"),
        None,
        "offline, 1 call: 307: the server redirects to another one, other.example; not followed",
    ),
    Row("network", "connection refused", None, None, f"offline, 0 calls: {NO_CONNECTION}", wired=True),
    Row("network", "connection reset", loopback.reset, AGAIN, f"offline, 3 calls: {NO_CONNECTION}", wired=True),
    Row("network", "cut in the body", "cut", AGAIN, f"offline, 3 calls: {NO_CONNECTION}", wired=True),
    Row("network", "cut stream (no last chunk)", "cut_chunks", AGAIN, f"offline, 3 calls: {NO_CONNECTION}", wired=True),
    Row("network", "no answer", loopback.silent, None, OVER, wired=True, seconds=SHORT),
    Row("network", "stalled stream", "stalled", None, OVER, wired=True, seconds=SHORT),
    Row("network", "a header byte at a time", loopback.dripping_head, None, OVER, wired=True, seconds=SHORT),
    Row("network", "a body byte at a time", loopback.dripping_body, None, OVER, wired=True, seconds=SHORT),
    Row("body", "empty", body(lambda _: b""), AGAIN, NOT_JSON),
    Row("body", "HTML", body(lambda _: b"<html>Bad gateway</html>"), AGAIN, NO_MESSAGE),
    Row("body", "cut JSON", body(lambda d: json.dumps(d.body(GOOD)).encode()[:60]), AGAIN, NOT_JSON),
    Row("body", "`[]`", body(lambda _: []), AGAIN, NO_MESSAGE),
    Row("body", "`null`", body(lambda _: None), AGAIN, NO_MESSAGE),
    Row("body", "`{}`", body(lambda _: {}), AGAIN, NO_MESSAGE),
    Row("body", "no usage", said(GOOD, usage=False), None, "summary, 1 call"),
    *(
        Row("body" if "unknown" in name else "summary", name, bad, AGAIN, f"offline, 2 calls: {reason}")
        for name, bad, reason in (
            ("unknown block alone", body(lambda d: d.unknown()), "the answer holds other blocks, not text alone"),
            (
                "unknown block and text",
                body(lambda d: d.unknown(GOOD)),
                "the answer holds other blocks, not text alone",
            ),
            ("empty", said(""), "the answer is blank"),
            ("white space", said(" \n\t"), "the answer is blank"),
            ("no block at all", said(blocks=[]), "the answer is blank"),
            ("refusal", said("No.", stop="refusal"), "the model refused"),
            ("refusal in words", said("I'm sorry, but I can't help with that."), "the model refused"),
            ("`max_tokens`", said("The tests were", stop="cut"), "the answer was cut off at its limit"),
            ("no stop reason", said("The tests were", stop=None), "the answer is not whole"),
            ("too long", said("word " * 12_000), "the answer has N tokens, the limit is N"),
            ("1 MB", said("word " * 200_000), "the answer has N tokens, the limit is N"),
            ("tool call", body(lambda d: d.tool_call(GOOD)), "the answer holds other blocks, not text alone"),
            ("echo of the prompt", echo, "the answer repeats what was asked"),
        )
    ),
]
CASES = [(row, mode) for row in ROWS for mode in MODES if mode == "always" or row.once]


@functools.cache
def server() -> HTTPServer:
    """One strict server for all cases."""
    running = HTTPServer()
    running.start()
    return running


@functools.cache
def warm(kind: str) -> None:
    """Imports a client: it takes seconds, which are not what a short deadline is about."""
    importlib.import_module(kind)


@functools.cache
def outcome(row: Row, mode: str, kind: str, path: str) -> str:
    """Return the outcome in the table's words; assert the guarantees that hold in every case."""
    warm(kind)
    dialect = DIALECTS[kind]
    good = Reply(dialect.body(GOOD))
    if not row.wired:
        bad = row.bad(dialect)
        seen = loopback.serve(server(), dialect, [bad, good] if mode == "once" else [bad])
        who, reason = compacted(kind, server().url_for("").rstrip("/"), path, row.seconds)
        return _worded(who, len(seen), reason)
    if row.bad is None:
        return _worded(*_refused(kind, path))
    fault = row.bad if callable(row.bad) else getattr(loopback, row.bad)(dialect.body(GOOD))
    for seconds in (row.seconds, 5 * row.seconds, 25 * row.seconds):
        with loopback.wire(loopback.first(fault, dialect.body(GOOD)) if mode == "once" else fault) as wire:
            who, reason = compacted(kind, wire.url, path, seconds)
            if wire.calls:
                assert row.seconds != SHORT or wire.gone.wait(SLACK), "a request is still running"
                break
    return _worded(who, wire.calls, reason)


def _refused(kind: str, path: str) -> tuple[str, int, str]:
    with loopback.wire(loopback.reset) as wire:
        url = wire.url
    who, reason = compacted(kind, url, path, 60)
    return who, wire.calls, reason


def compacted(kind: str, url: str, path: str, seconds: float) -> tuple[str, str]:
    """Return the summary's author and the reason for a fallback; assert that nothing is lost or invalid."""
    base = url if kind == "anthropic" else f"{url}/v1"
    writer = WRITERS[kind](base_url=base, api_key="not-a-key", limits=Limits(seconds, pause=0.001))
    told = []
    cm = trimtab.Compactor(GPT, summarizer=writer, listeners=[told.append])
    before = json.dumps(TALK)
    start = time.monotonic()
    done = cm.compact(TALK, target_share=0.5) if path == "compact" else asyncio.run(cm.acompact(TALK, target_share=0.5))
    assert loopback.elapsed(start) < seconds + SLACK
    assert json.dumps(TALK) == before == json.dumps(cm.restore(done.ref))
    assert check(list(done.messages), "anthropic") == []
    assert done.tokens_after < done.tokens_before
    assert isinstance(told[-1], Compacted)
    assert told[-1].usage == done.usage
    assert [type(event) for event in told[:-1]] == ([] if done.summarizer == writer.name else [FellBack])
    return done.summarizer, told[0].reason if len(told) > 1 else ""


def _worded(who: str, calls: int, reason: str) -> str:
    """The outcome without what differs from run to run and from client to client."""
    reason = re.sub(r" \((?!\d+ tries).*?\)+(?= \(|;|$)", "", reason)
    reason = re.sub(r"[\d,.]+(?= (?:s|tokens)\b)", "N", reason)
    reason = re.sub(r"limit is [\d,]+", "limit is N", reason)
    reason = re.sub(r"holds [\w, ]+, not", "holds other blocks, not", reason)
    head = f"{'offline' if who == 'offline' else 'summary'}, {calls} call{'s' if calls != 1 else ''}"
    return f"{head}: {reason}" if reason else head


def table() -> str:
    """The table of a run: one line a row, where both clients and both ways must agree."""
    lines = ["| | what goes wrong | once | every time |", "|---|---|---|---|"]
    group = ""
    for row in ROWS:
        cells = []
        for mode in MODES:
            if (row, mode) not in CASES:
                cells.append("")
                continue
            found = {outcome(row, mode, kind, path) for kind in WRITERS for path in PATHS}
            assert len(found) == 1, (row.name, mode, found)
            cells.append(found.pop())
        lines.append(f"| {row.group if row.group != group else ''} | {row.name} | {cells[0]} | {cells[1]} |")
        group = row.group
    return "\n".join(lines) + "\n"


def write() -> None:
    """Writes the table into the document."""
    text = DOCS.read_text(encoding="utf-8")
    head, _, rest = text.partition(START)
    DOCS.write_text(head + START + table() + STOP + rest.partition(STOP)[2], encoding="utf-8")
    server().stop()


def committed() -> str:
    """The table in the document."""
    return DOCS.read_text(encoding="utf-8").partition(START)[2].partition(STOP)[0]
