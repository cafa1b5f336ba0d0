"""Generated transcripts. They are seeded, and every string is an object of its own, as it is after reading a file."""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

Message = dict[str, Any]

WORDS = ["the", "parser", "keeps", "its", "offset", "so", "that", "an", "error", "names", "the", "place"]
TOKENS = ("error", "file", "not", "found", "line", "def", "return", "self", "import", "path", "==", "value", "items")
LINE = "line {}: the build went on and said nothing that anybody would have to know\n"


def digest(messages: list[Message]) -> str:
    """SHA-256 of the messages as JSON, 12 hexadecimal digits."""
    return hashlib.sha256(json.dumps(messages).encode()).hexdigest()[:12]


def anthropic(count: int) -> list[Message]:
    """Messages in Anthropic's shape: 30 % strings, 30 % a block of text, 20 % text and a call, 20 % a result."""
    rng = random.Random(6)

    def words() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randrange(8, 30)))

    def text() -> Message:
        return {"type": "text", "text": words()}

    out: list[Message] = []
    for n in range(count // 10):
        out += [
            {"role": "user", "content": words()},
            {"role": "assistant", "content": [text()]},
            {"role": "user", "content": words()},
            {"role": "assistant", "content": [text()]},
            {"role": "user", "content": words()},
        ]
        for k in range(2):
            ref = f"toolu_{n:06}_{k}"
            call = {"type": "tool_use", "id": ref, "name": "Read", "input": {"path": f"src/{words()[:12]}.py"}}
            result = {"type": "tool_result", "tool_use_id": f"{ref}", "content": words()}
            out += [{"role": "assistant", "content": [text(), call]}, {"role": "user", "content": [result]}]
        out.append({"role": "assistant", "content": [text()]})
    return out


def openai(count: int) -> list[Message]:
    """Messages in OpenAI's chat shape: a request, a call, its result and an answer by turns."""
    call = {"id": "", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    out: list[Message] = []
    for n in range(count // 4):
        out += [
            {"role": "user", "content": f"step {n}: do what is to be done"},
            {"role": "assistant", "content": "looking", "tool_calls": [{**call, "id": f"c{n}"}]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": f"file {n} " + "of many words " * (n % 7)},
            {"role": "assistant", "content": "done"},
        ]
    return out


def lines(count: int) -> list[Message]:
    """Messages of about 500 bytes in Anthropic's shape, for files: text, calls and results, a third each."""
    rng = random.Random(0)

    def text(length: int) -> str:
        words = rng.choices(TOKENS, k=length // 5)
        return " ".join(word + "\n" * (n % 9 == 8) for n, word in enumerate(words))

    def message(n: int) -> Message:
        if n % 3 == 0:
            return {"role": "user", "content": text(450)}
        if n % 3 == 1:
            call = {"type": "tool_use", "id": f"t{n}", "name": "bash", "input": {"command": text(150)}}
            return {"role": "assistant", "content": [{"type": "text", "text": text(180)}, call]}
        result = {"type": "tool_result", "tool_use_id": f"t{n - 1}", "content": text(400)}
        return {"role": "user", "content": [result]}

    return [message(n) for n in range(count)]


def runs(count: int, results: tuple[int, ...]) -> list[list[Message]]:
    """An agent's runs: a request, batches of one to three parallel calls with their results, and an answer.

    Args:
        count: number of runs.
        results: lengths of a result, in lines of about 16 tokens.
    """
    rng = random.Random(5)
    out = []
    for run in range(count):
        messages: list[Message] = [{"role": "user", "content": f"Part {run}: make it work."}]
        for batch in range(rng.randrange(1, 6)):
            ids = [f"toolu_{run}_{batch}_{k}" for k in range(rng.randrange(1, 4))]
            calls = [{"type": "tool_use", "id": ref, "name": "Read", "input": {"path": f"{ref}.py"}} for ref in ids]
            texts = ["".join(LINE.format(n) for n in range(rng.choice(results))) for _ in ids]
            answers = [
                {"type": "tool_result", "tool_use_id": ref, "content": text}
                for ref, text in zip(ids, texts, strict=True)
            ]
            said = {"type": "text", "text": f"I go on with batch {batch}."}
            messages += [{"role": "assistant", "content": [said, *calls]}, {"role": "user", "content": answers}]
        messages.append({"role": "assistant", "content": f"Part {run} works."})
        out.append(messages)
    return out
