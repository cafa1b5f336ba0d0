"""Time of every public function over doubled input; ``make bench-doubling``.

A row is a function and a shape of input: many messages, many blocks in one message, one long text. It has the CPU time
at n, 2n and 4n, and the exponent of n between the first and the last: 1 is linear, 2 is quadratic. Times below a
millisecond say nothing, so a row whose last time is below two has no exponent. Exits with 1 if one is above 1.5.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import _rivals

import trimtab
from trimtab.ledger.contents import Contents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MODEL = "claude-sonnet-4-5"
LIMIT = 1.5
"""Exponent above which a function is too slow."""

LEAST = 2.0
"""Milliseconds below which a time says nothing."""


def user(content: object) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "content": content}


def answer(content: object) -> dict[str, Any]:
    """A message of the model."""
    return {"role": "assistant", "content": content}


def call(n: int) -> dict[str, Any]:
    """A call of Anthropic's shape."""
    return {"type": "tool_use", "id": f"t{n}", "name": f"tool{n % 7}", "input": {"path": f"src/module_{n}.py"}}


def result(n: int) -> dict[str, Any]:
    """Its result."""
    return {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"line {n}: all is well in module {n}"}


def text(n: int) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": f"word {n}"}


def loop(n: int) -> list[dict[str, Any]]:
    """An agent's loop of ``n`` calls."""
    steps = [message for i in range(n) for message in (answer([call(i)]), user([result(i)]))]
    return [user("go"), *steps, answer("done"), user("thanks")]


def wide(n: int) -> list[dict[str, Any]]:
    """One message of ``n`` calls, and one of their results."""
    return [user("go"), answer([*map(call, range(n))]), user([*map(result, range(n))]), answer("done"), user("thanks")]


def talk(n: int) -> list[dict[str, Any]]:
    """``n`` questions and answers."""
    return [message for i in range(n) for message in (user(f"question {i}" * 8), answer(f"answer {i}"))] + [
        user("last")
    ]


def empty(n: int) -> list[dict[str, Any]]:
    """``n`` empty blocks in one message."""
    return [user("go"), answer([{"type": "text", "text": ""}] * n + [text(0)]), user("more")]


def unanswered(n: int) -> list[dict[str, Any]]:
    """``n`` calls without a result."""
    return [user("go"), answer([*map(call, range(n))]), user("more")]


def orphans(n: int) -> list[dict[str, Any]]:
    """``n`` messages of results without a call."""
    return [user("go"), *(user([result(i)]) for i in range(n)), answer("done"), user("more")]


def servers(n: int) -> list[dict[str, Any]]:
    """A server's call that is open over ``n`` steps, and as many beside it."""
    search = [{"type": "server_tool_use", "id": f"s{i}", "name": "web_search", "input": {}} for i in range(n)]
    steps = [message for i in range(n) for message in (answer([call(i)]), user([result(i)]))]
    return [user("go"), answer([*search, call(n)]), user([result(n)]), *steps]


def pictures(n: int) -> list[dict[str, Any]]:
    """``n`` pictures in one message."""
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    return [user([{"type": "image", "source": source}] * n), answer("done"), user("more")]


def system(n: int) -> list[dict[str, Any]]:
    """``n`` system messages between the others, in places where none may stand."""
    return [message for i in range(n) for message in (user("a"), answer("b"), {"role": "system", "content": f"{i}"})]


def neighbours(n: int) -> list[dict[str, Any]]:
    """``n`` messages of the user."""
    return [*(user(f"part {i}") for i in range(n)), answer("done"), user("more")]


def chat(n: int) -> list[dict[str, Any]]:
    """Chat Completions: ``n`` calls in one message, with their results."""
    calls = [{"id": f"t{i}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in range(n)]
    results = [{"role": "tool", "tool_call_id": f"t{i}", "content": f"line {i}"} for i in range(n)]
    return [user("go"), {"role": "assistant", "content": None, "tool_calls": calls}, *results, user("more")]


def chat_open(n: int) -> list[dict[str, Any]]:
    """The same without results, and with ``n`` messages of the user behind it."""
    return [*chat(n)[:2], *(user(f"part {i}") for i in range(n))]


def items(n: int) -> list[dict[str, Any]]:
    """Responses: ``n`` stored calls of one response, with their outputs."""
    calls = [
        {"type": "function_call", "id": f"i{i}", "call_id": f"t{i}", "name": "f", "arguments": "{}"} for i in range(n)
    ]
    outputs = [{"type": "function_call_output", "call_id": f"t{i}", "output": f"line {i}"} for i in range(n)]
    reason = {"type": "reasoning", "id": "r", "summary": []}
    return [user("go") | {"type": "message"}, reason, *calls, *outputs, user("more") | {"type": "message"}]


def items_open(n: int) -> list[dict[str, Any]]:
    """The same without outputs."""
    return [*items(n)[: n + 2], user("more") | {"type": "message"}]


def gemini(n: int) -> list[dict[str, Any]]:
    """Gemini: ``n`` calls of ``n`` functions in one content, their responses in the other order."""
    calls = [{"functionCall": {"name": f"f{i}", "args": {}}} for i in range(n)]
    given = [{"functionResponse": {"name": f"f{i}", "response": {"result": "1"}}} for i in reversed(range(n))]
    return [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": calls},
        {"role": "user", "parts": given},
    ]


def gemini_open(n: int) -> list[dict[str, Any]]:
    """The same with one response too few."""
    *before, last = gemini(n)
    return [*before, {**last, "parts": last["parts"][1:]}]


def bedrock(n: int) -> list[dict[str, Any]]:
    """Bedrock: ``n`` messages of the user, to be merged."""
    return [*({"role": "user", "content": [{"text": f"part {i}"}]} for i in range(n))]


LISTS = (loop, wide, talk, pictures)
BROKEN = {
    "anthropic": (empty, unanswered, orphans, servers, pictures, system, neighbours),
    "openai_chat": (chat, chat_open, neighbours),
    "openai_responses": (items, items_open),
    "gemini": (gemini, gemini_open),
    "bedrock": (bedrock,),
}


def fresh(**settings: Any) -> trimtab.Compactor:
    """A Compactor that compacts nearly always."""
    return trimtab.Compactor(MODEL, **{"window": 20_000, "max_output": 2_000} | settings)


def tried(work: Callable[[], object]) -> Callable[[], object]:
    """The work; that a list is refused takes time too."""

    def attempt() -> object:
        try:
            return work()
        except trimtab.Error:
            return None

    return attempt


Row = tuple[str, str, "Callable[[int], Callable[[], object]]"]


def rules() -> Iterator[Row]:
    """Rows of what judges lists."""
    for provider, shapes in {"anthropic": LISTS, **BROKEN}.items():
        for shape in shapes:
            name, options = f"{provider}, {shape.__name__}", {"provider": provider}
            yield "validate", name, lambda n, s=shape, o=options: _of(s(n), lambda m: trimtab.validate(m, **o))
            yield "repair", name, lambda n, s=shape, o=options: _of(s(n), lambda m: trimtab.repair(m, **o))
    for provider, shapes in BROKEN.items():
        for shape in shapes:
            options = {"provider": provider, "in_flight": True, "alternation": True, "container": None}
            name = f"{provider}, {shape.__name__}, in flight, alternating"
            yield "repair", name, lambda n, s=shape, o=options: _of(s(n), lambda m: trimtab.repair(m, **o))
    yield (
        "validate",
        "openai_responses, items, against the original",
        lambda n: _of(items(n), lambda m: trimtab.validate(m, provider="openai_responses", original=m)),
    )


def lists() -> Iterator[Row]:
    """Rows of what counts, cuts and compacts lists."""
    for shape in LISTS:
        of: Callable[[Callable[[list[Any]], object]], Callable[[int], Callable[[], object]]]

        def of(work: Callable[[list[Any]], object], shape: Any = shape) -> Callable[[int], Callable[[], object]]:
            return lambda n: _of(shape(n), work)

        name = shape.__name__
        yield "count", name, of(lambda m: trimtab.count(m, model=MODEL))
        yield "split", name, of(lambda m: trimtab.split(m, keep_last=3))
        yield "split, tokens", name, of(lambda m: trimtab.split(m, keep=500, counter=trimtab.Counter.for_model(MODEL)))
        yield "Compactor.count", name, of(lambda m: fresh().count(m))
        yield "Compactor.explain", name, of(lambda m: fresh().explain(m))
        yield "Compactor.stats", name, of(lambda m: fresh().stats(m))
        yield "Compactor.plan", name, of(lambda m: fresh().plan(m))
        yield "Compactor.compact", name, of(lambda m: fresh().compact(m))
        yield "Compactor.fit", name, of(lambda m: fresh().fit(m))
        yield "Compactor.prune", name, of(lambda m: fresh().prune(m))
        yield (
            "Compactor.overflow",
            name,
            of(lambda m: fresh().overflow("prompt is too long: 210000 tokens > 9000 maximum", m)),
        )
        yield "Compactor.restore", name, _restored(shape)
        for policy in sorted(trimtab.policies.POLICIES):
            yield f"fit, {policy}", name, of(lambda m, p=policy: fresh(policy=p).fit(m))
        yield "Contents.by", name, of(lambda m: [_contents(m).by(what) for what in ("tool", "file", "turn", "message")])
        yield "Contents.repeats", name, of(lambda m: _contents(m).repeats())
        yield "Plan.to_json", name, _planned(shape)
    yield "Compactor.pin", "talk", lambda n: _of(talk(n), _pinned)
    yield "fit, turn by turn", "64 turns of n calls", _turns


def files() -> Iterator[Row]:
    """Rows of what reads files, texts and archives."""
    for shape in LISTS:
        yield "read", shape.__name__, _read(shape)
    for what, make in (
        ("words", lambda n: "word " * n),
        ("letters", lambda n: "a" * n),
        ("lines", lambda n: "line\n" * n),
        ("Chinese", lambda n: "\N{CJK UNIFIED IDEOGRAPH-4E2D}" * n),
    ):
        yield (
            "Counter.count",
            what,
            lambda n, t=make: _of(t(50 * n), lambda x: trimtab.Counter.for_model(MODEL).count(x)),
        )
        yield "truncate", what, lambda n, t=make: _of(t(50 * n), lambda x: trimtab.truncate(x, tokens=500))
        yield "Session.ingest", what, lambda n, t=make: _of(t(50 * n), lambda x: fresh().session().ingest("Bash", x))
        yield "is_overflow", what, lambda n, t=make: _of(t(50 * n), trimtab.is_overflow)
        yield (
            "fit",
            f"one text of {what}",
            lambda n, t=make: _of(
                [user("go"), answer([call(0)]), user([{**result(0), "content": t(50 * n)}])], lambda m: fresh().fit(m)
            ),
        )
    yield "Session.history", "n compactions", _history


def _of(given: Any, work: Callable[[Any], object]) -> Callable[[], object]:
    return tried(lambda: work(given))


def _contents(messages: list[Any]) -> Contents:
    return Contents.of(messages, trimtab.Counter.for_model(MODEL))


def _pinned(messages: list[Any]) -> object:
    cm = fresh()
    cm.pin("question 3")
    return cm.plan(messages)


def _restored(shape: Callable[[int], list[Any]]) -> Callable[[int], Callable[[], object]]:
    def begin(n: int) -> Callable[[], object]:
        cm = fresh()
        done = tried(lambda: cm.compact(shape(n)))()
        ref = getattr(done, "ref", None)
        return tried(lambda: ref and cm.restore(ref))

    return begin


def _planned(shape: Callable[[int], list[Any]]) -> Callable[[int], Callable[[], object]]:
    def begin(n: int) -> Callable[[], object]:
        plan: Any = tried(lambda: fresh().plan(shape(n)))()
        return lambda: plan and trimtab.Plan.from_json(plan.to_json())

    return begin


def _turns(n: int) -> Callable[[], object]:
    def work() -> None:
        session, messages = fresh(window=50_000_000).session(), [user("go")]
        for turn in range(64):
            calls = range(turn * n // 16, (turn + 1) * n // 16)
            messages += [answer([*map(call, calls)]), user([*map(result, calls)])] if calls else []
            session.fit(messages)

    return work


def _history(n: int) -> Callable[[], object]:
    cm = fresh()
    session = cm.session("doubling")
    for i in range(max(n // 100, 2)):
        session.compact([*talk(60), user(f"{i}")])
    return lambda: session.history(None)


def _read(shape: Callable[[int], list[Any]]) -> Callable[[int], Callable[[], object]]:
    def begin(n: int) -> Callable[[], object]:
        file = Path(tempfile.mkdtemp()) / "list.jsonl"
        file.write_text("".join(json.dumps(message) + "\n" for message in shape(n)))
        return lambda: trimtab.read(file)

    return begin


def milliseconds(work: Callable[[], object], rounds: int) -> float:
    """The least CPU time of a few calls."""
    best = math.inf
    for _ in range(rounds):
        gc.collect()
        start = time.process_time()
        work()
        best = min(best, 1_000 * (time.process_time() - start))
    return best


def exponent(times: Sequence[float]) -> float | None:
    """The exponent of n between the first and the last time; None where these are too small to say."""
    return None if times[-1] < LEAST else math.log2(times[-1] / max(times[0], 0.01)) / (len(times) - 1)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--n", type=int, default=2_500, help="the smallest input")
    parser.add_argument("--rows", action="append", help="only rows whose function or input has this in its name")
    parser.add_argument("--small", action="store_true", help="a tenth of the sizes, to try the bench")
    options = parser.parse_args()
    first = options.n // 10 if options.small else options.n
    sizes = [first, 2 * first, 4 * first]
    print(f"{_rivals.machine()}, trimtab {trimtab.__version__}, CPU ms, the least of {options.rounds}")
    print("| function | input | " + " | ".join(f"n = {n:,}" for n in sizes) + " | exponent |\n|---|---|" + "---:|" * 4)
    slow = 0
    for name, given, begin in (row for rows in (rules, lists, files) for row in rows()):
        if options.rows and not any(word in f"{name} {given}" for word in options.rows):
            continue
        times = [milliseconds(begin(n), options.rounds) for n in sizes]
        found = exponent(times)
        slow += found is not None and found > LIMIT
        shown = "" if found is None else f"{found:.2f}" + (" SLOW" if found > LIMIT else "")
        print(f"| {name} | {given} | " + " | ".join(f"{ms:.1f}" for ms in times) + f" | {shown} |", flush=True)
    print(f"\n{slow} rows above an exponent of {LIMIT}")
    return int(slow > 0 and not options.small)


if __name__ == "__main__":
    sys.exit(main())
