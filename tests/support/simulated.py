"""A simulated agent: thousands of turns through Anthropic's SDK against a strict server that fails at random.

The server streams its answers, takes the agent's calls and the summarizer's, and answers some of either with 429, 529,
a stall, a cut stream, garbage, or the refusal of a prompt as too long. All messages that were ever in the agent's list
are remembered, so that a run can tell whether one was lost.
"""

import json
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile
from operator import eq
from random import Random

import anthropic
import httpx
from werkzeug import Request, Response

import trimtab
from support.loopback import serving
from support.models import CLAUDE_BOUND, CLAUDE_CHEAP
from support.strict import SYSTEM, TOOLS, Agent, Strict, canonical, spoken
from trimtab.summarize import Anthropic, Limits

MODEL, SUMMARIZER = CLAUDE_BOUND, CLAUDE_CHEAP
WINDOW, OUTPUT = 40_000, 4_000
FAULTS = ("429", "529", "stall", "cut", "garbage", "overflow")
STALL = 0.4
"""Seconds: longer than the agent's client waits."""

SAID = "The build went on, and nothing else happened. "


class Server(Strict):
    """``Strict`` with streamed answers, faults drawn from a seed, summaries, and a cache of the last prompt."""

    def __init__(self, faults: float, summary_seconds: float, answer_seconds: float = 0.0):
        super().__init__(MODEL, WINDOW - OUTPUT)
        self.faults, self.seconds = faults, (answer_seconds, summary_seconds)
        self.met: Counter = Counter()
        self.summaries = 0
        self.before: list = []
        self.usage: Counter = Counter()
        self._chance = {"agent": Random(7), "summary": Random(8)}
        self._lock = threading.Lock()

    def __call__(self, environ, start):
        request = Request(environ)
        body = request.get_json()
        summary = body["model"] != self.model
        with self._lock:
            answer = self.fault(summary) or self.response(request, body, summary)
        time.sleep(self.seconds[summary])
        return answer(environ, start)

    def fault(self, summary):
        """A failure, or None."""
        chance = self._chance["summary" if summary else "agent"]
        if chance.random() >= self.faults:
            return None
        kind = chance.choice(FAULTS)
        self.met[kind] += 1
        if kind in {"429", "529"}:
            name = "rate_limit_error" if kind == "429" else "overloaded_error"
            return _json({"type": "error", "error": {"type": name, "message": "try again"}}, int(kind))
        if kind == "stall":
            self._lock.release()
            time.sleep(STALL)
            self._lock.acquire()
            return _json({}, 500)
        if kind == "garbage":
            return Response(b"event: message_start\ndata: {not json\n\n", 200, {"content-type": "text/event-stream"})
        if kind == "cut":
            return Response(
                b"event: message_start\ndata: {", 200, {"content-type": "text/event-stream", "content-length": "900"}
            )
        words = f"prompt is too long: {WINDOW + 300} tokens > {WINDOW} maximum"
        return _json({"type": "error", "error": {"type": "invalid_request_error", "message": words}}, 400)

    def response(self, request, body, summary):
        if summary:
            self.summaries += 1
            usage = {"input_tokens": trimtab.count(body["messages"], model=self.model), "output_tokens": 120}
            content = [{"type": "text", "text": SAID * 8}]
            return _json(
                {**_known(self.summaries, body), "content": content, "stop_reason": "end_turn", "usage": usage}
            )
        wrong = self.wrong(body, request.headers.get("anthropic-beta", ""))
        if wrong:
            self.refused.append(wrong)
            return _json({"type": "error", "error": {"type": "invalid_request_error", "message": wrong}}, 400)
        self.served += 1
        self.largest = max(self.largest, self.tokens)
        answer = self.answer(body)
        said = [canonical(part) for part in spoken(body["messages"])]
        same = sum(
            map(len, (one for one, other in takewhile(lambda pair: eq(*pair), zip(said, self.before, strict=False))))
        )
        read = self.tokens * same // max(sum(map(len, said)), 1)
        self.before = said
        cached = {"input_tokens": 0, "cache_read_input_tokens": read, "cache_creation_input_tokens": self.tokens - read}
        answer["usage"] |= cached
        self.usage.update(answer["usage"])
        data = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events(answer))
        return Response(data, 200, {"content-type": "text/event-stream"})

    def answer(self, body):
        """Return the model's next answer, with a long text that no pruning removes."""
        answer = super().answer(body)
        said = SAID * self.random.choice((20, 60, 120))
        at = next((n for n, block in enumerate(answer["content"]) if block["type"] == "tool_use"), None)
        answer["content"].insert(len(answer["content"]) if at is None else at, {"type": "text", "text": said})
        return answer


def _known(n, body):
    return {"id": f"msg_{n}", "type": "message", "role": "assistant", "model": body["model"], "stop_sequence": None}


def _json(body, status=200):
    return Response(json.dumps(body), status, {"content-type": "application/json"})


def events(answer):
    """An answer as the events of a stream."""
    yield {"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}}
    for index, block in enumerate(answer["content"]):
        empty, deltas = block, []
        if block["type"] == "text":
            empty, deltas = {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        elif block["type"] == "thinking":
            empty = {**block, "thinking": "", "signature": ""}
            deltas.append({"type": "thinking_delta", "thinking": block["thinking"]})
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        elif block["type"] == "tool_use":
            empty = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": answer["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}


@dataclass
class Beginner(Agent):
    """An agent that begins without a history."""

    def __post_init__(self):
        self.messages.append({"role": "user", "content": "Make it work, and do not touch main."})


@dataclass
class Run:
    """What came of a run.

    Attributes:
        refused: what the server refused for cause.
        lost: messages that are neither in the list nor restorable.
        met: faults by kind.
        compactions: number of compactions.
        summaries: calls of the summarizer that were answered.
        cost: what they cost by the library's account, in US dollars.
        usage: billed tokens of the agent's calls.
        stalls: for each ``fit`` its CPU time in this thread, and its time by the clock, in seconds.
    """

    refused: list
    lost: list
    met: Counter
    compactions: int = 0
    summaries: int = 0
    cost: float = 0.0
    usage: Counter = field(default_factory=Counter)
    stalls: list = field(default_factory=list)


def play(turns, *, faults=0.05, summary_seconds=0.02, answer_seconds=0.0, lines=(5, 20, 40), **options):
    """Let an agent work for so many turns; ``options`` are the Compactor's."""
    server = Server(faults, summary_seconds, answer_seconds)
    spent, stalls, said = [], [], {}
    with (
        serving(server) as url,
        anthropic.Anthropic(api_key="k", base_url=url, max_retries=0, timeout=STALL / 2) as client,
    ):
        writer = Anthropic(SUMMARIZER, base_url=url, api_key="k", limits=Limits(seconds=3.0, tries=3, pause=0.01))

        def listen(event):
            if isinstance(event, trimtab.events.Compacted):
                spent.append(event.usage.get("cost", 0.0))

        known = {"window": WINDOW, "max_output": OUTPUT, "summarizer": writer, "listeners": [listen]}
        with trimtab.Compactor(MODEL, **known | options) as cm:
            agent = Beginner(False, cm.ingest, lines)

            def fit(**how):
                for message in agent.messages:
                    said[id(message)] = message
                cpu, clock = time.thread_time(), time.perf_counter()
                fitted = cm.fit(agent.messages, system=SYSTEM, tools=TOOLS, **how)
                stalls.append((time.thread_time() - cpu, time.perf_counter() - clock))
                agent.messages = list(fitted.messages)
                return fitted

            for _ in range(turns):
                agent.goes_on()
                reply = _call(client, cm, agent, fit)
                cm.record(reply.usage)
                for moment in agent.answered(reply):
                    fit(when=moment)
            past = cm.history(limit=None)
            lost = _lost(cm, agent, said.values(), past)
    return Run(server.refused, lost, server.met, len(past), server.summaries, sum(spent), server.usage, stalls)


def _call(client, cm, agent, fit):
    """Return the model's answer, however often the call fails."""
    fitted = fit()
    while True:
        beside = {"thinking": {"type": "adaptive", **fitted.request.get("thinking", {})}}
        try:
            with client.beta.messages.stream(model=MODEL, max_tokens=OUTPUT, **fitted.request | beside) as stream:
                reply = stream.get_final_message()
            if reply.stop_reason:
                return reply
        except anthropic.BadRequestError as error:
            if not trimtab.is_overflow(error):
                raise
            with suppress(trimtab.OverflowedError):  # next to nothing is in the list yet
                fitted = cm.overflow(error, agent.messages, system=SYSTEM, tools=TOOLS)
                agent.messages = list(fitted.messages)
        except (anthropic.AnthropicError, httpx.HTTPError, ValueError, AssertionError):
            fitted = fit()


def _lost(cm, agent, said, past):
    """Messages that were in the list once, and are neither there now nor in the archive."""
    held = {_plain(message) for message in agent.messages}
    for one in past:
        held.update(map(_plain, cm.archive.load(one.ref)))
    return [message for message in said if _plain(message) not in held]


def _plain(message):
    return canonical([message["role"], *(block for _, block in spoken([message]))])
