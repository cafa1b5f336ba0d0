"""Lists of messages for the proofs: by a letter a message, or as a session that grows. All are in Anthropic's shape.

Thinking is signed as a server signs it: by a hash of everything before it but thinking.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random

KINDS = "uracptsyme"
"""A letter a kind of message: user, results, assistant, one call, parallel calls, thinking with a call, a server's
tool, system, summary, empty. The Rust proof has the same."""

TURNS = ("u", "a", "cr", "pr", "tr", "s", "crcr", "prcr", "au", "trcr")
WORDS = "the parser reads a line and keeps its offset so that an error can name the place where it went wrong".split()
CALLS = {"c": 1, "p": 2, "t": 1, "s": 1}


def words(rng: random.Random, most: int) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randrange(most // 2, most)))


def blocks(message: dict) -> list[dict]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def signature(messages: list[dict]) -> str:
    """The signature of thinking that follows these messages."""
    prefix = [[m["role"], [b for b in blocks(m) if b["type"] != "thinking"]] for m in messages]
    return hashlib.sha256(json.dumps([part for part in prefix if part[1]]).encode()).hexdigest()[:16]


def signatures_hold(messages: list[dict]) -> bool:
    """Whether all thinking still follows the messages that it was signed for."""
    return all(
        block["signature"] == signature(messages[:at])
        for at, message in enumerate(messages)
        for block in blocks(message)
        if block["type"] == "thinking"
    )


def from_kinds(kinds: str, length: int = 60) -> list[dict]:
    """A list of messages, a letter of ``KINDS`` each, of texts of up to ``length`` words. It need not be valid."""
    rng, ids, owed, out = random.Random(kinds), itertools.count(1), ["none"], []
    for kind in kinds:
        calls = [f"call_{next(ids)}" for _ in range(CALLS.get(kind, 0))]
        text = {"type": "text", "text": words(rng, length)}
        uses = [{"type": "tool_use", "id": ref, "name": "Read", "input": {"path": text["text"][:20]}} for ref in calls]
        match kind:
            case "r":
                content = [{"type": "tool_result", "tool_use_id": ref, "content": text["text"]} for ref in owed]
            case "c":
                content = uses
            case "p":
                content = [text, *uses]
            case "t":
                content = [{"type": "thinking", "thinking": "so", "signature": signature(out)}, *uses]
            case "s":
                search = {"type": "server_tool_use", "id": calls[0], "name": "web_search", "input": {}}
                found = {"type": "web_search_tool_result", "tool_use_id": calls[0], "content": []}
                content = [search, found, text]
            case "m":
                content = f"[summary] {text['text']}"
            case "e":
                content = ""
            case _:
                content = text["text"]
        owed = calls if kind in "cpt" else owed
        role = {"y": "system"}.get(kind, "assistant" if kind in "acpts" else "user")
        out.append({"role": role, "content": content})
    return out


def random_kinds(rng: random.Random) -> str:
    """A longer list's letters. It need not be valid."""
    return "u" + "".join(rng.choice(TURNS) for _ in range(rng.randrange(3, 12)))


def next_messages(messages: list[dict], rng: random.Random, name: str) -> list[dict]:
    """Return an agent's next messages: thinking, parallel calls, results; one list in four ends in open calls."""
    new = [{"role": "user", "content": words(rng, 60)}]
    for n in range(rng.randrange(1, 7)):
        thinks = rng.random() < 0.5
        thought = [{"type": "thinking", "thinking": "so", "signature": signature([*messages, *new])}] if thinks else []
        if rng.random() < 0.2:
            new.append({"role": "assistant", "content": [*thought, {"type": "text", "text": words(rng, 60)}]})
            new.append({"role": "user", "content": words(rng, 30)})
            continue
        refs = [f"call_{name}_{n}_{k}" for k in range(rng.randrange(1, 4))]
        uses = [{"type": "tool_use", "id": ref, "name": "Bash", "input": {"command": words(rng, 12)}} for ref in refs]
        new.append({"role": "assistant", "content": [*thought, *uses]})
        results = [{"type": "tool_result", "tool_use_id": ref, "content": words(rng, 120)} for ref in refs]
        new.append({"role": "user", "content": results})
    if new[-1]["role"] == "user" and rng.random() < 0.5:
        new.append({"role": "assistant", "content": words(rng, 20)})
    return new
