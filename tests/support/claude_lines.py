"""Session files of Claude Code with everything that a line can be, by chance and from a seed."""

from __future__ import annotations

import json
import random
from typing import Any

Line = dict[str, Any]

WORDS = ("read", "the", "file", "caf\u00e9", "\U0001f600", "then", "\ud83d", "\\n", "tests", "1.0")
USAGES: tuple[Any, ...] = (
    None,
    {},
    {"input_tokens": 5, "output_tokens": 2},
    {"input_tokens": 0, "output_tokens": 3, "cache_read_input_tokens": 40, "cache_creation_input_tokens": None},
    {"input_tokens": 9, "output_tokens": 7, "cache_creation_input_tokens": 6, "service_tier": "standard"},
    {
        "input_tokens": 4,
        "cache_read_input_tokens": 300_000,
        "cache_creation_input_tokens": 20,
        "cache_creation": {"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 15},
        "output_tokens": 90,
        "server_tool_use": {"web_search_requests": 0},
        "iterations": [],
    },
    {"input_tokens": 4.0, "output_tokens": 1.5},
    {"input_tokens": -1, "output_tokens": True},
    {"input_tokens": 2**53 + 1, "output_tokens": "8"},
    {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55},
    {"input_tokens": 8, "output_tokens": 1, "total_tokens": 30, "cache_read_input_tokens": 20},
    {
        "input_tokens": 1,
        "iterations": [{"input_tokens": 3, "output_tokens": 4}, {"type": "message", "input_tokens": 70}],
    },
    {"input_tokens": 5, "cache_creation": 3},
    "none",
    [1],
)
TELLING: tuple[Line, ...] = (
    {"type": "result", "model": "claude-x[1m]", "modelUsage": {"claude-x": {"contextWindow": 500_000}}},
    {"type": "x", "settings": {"autoCompactWindow": 150_000}},
    {"type": "x", "betas": ["context-1m-2025-08-07"]},
    {"type": "x", "request": {"anthropic_beta": "a, b"}, "headers": 3},
    {"type": "x", "message": {"betas": "context-1m-2025-08-07"}},
    {"type": "x", "content": "<local-command-stdout>Set model to Opus (1M context)</local-command-stdout>"},
    {"type": "x", "content": "<local-command-stdout>Set model to Sonnet</local-command-stdout>"},
)
ODD: tuple[Any, ...] = (
    {"type": "user", "uuid": "odd", "message": "no object"},
    {"type": "assistant", "message": {"role": "assistant"}},
    {"type": "user", "message": {"content": [{"text": "no type"}]}},
    {"type": "user", "message": {"content": ["bare"]}},
    {"type": "user", "message": {"content": 5}},
    {"type": ["user"], "uuid": 4, "parentUuid": 5, "subtype": 6, "attachment": [1], "data": {"type": "kind"}},
    {"type": "attachment", "attachment": {"type": "file", "content": "some words here"}, "cwd": "/work"},
    {"type": "system", "subtype": "api_error", "cwd": 4},
    {},
    {"type": "a\ud800", "subtype": "b\udfff"},
    {"type": "progress", "data": 0, "attachment": {}, "isSidechain": 1},
)


class Session:
    """Lines that are made one after the other."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[Line] = []
        self.last: str | None = None
        self.responses: list[str] = []
        self.calls: list[str] = []

    def key(self) -> str:
        """A uuid, rarely one that is known or odd."""
        known = [line["uuid"] for line in self.lines if isinstance(line.get("uuid"), str)]
        if known and self.rng.random() < 0.04:
            return self.rng.choice(known)
        return f"u{len(self.lines)}" if self.rng.random() < 0.99 else self.rng.choice(["", "line 3", "\ud801"])

    def text(self) -> str:
        """Some words."""
        return " ".join(self.rng.choices(WORDS, k=self.rng.randrange(5)))

    def parent(self) -> Any:
        """Mostly the last line."""
        if self.rng.random() < 0.9:
            return self.last
        known = [line.get("uuid") for line in self.lines]
        return self.rng.choice([*known, None, "lost", "", 7])

    def push(self, line: Line) -> None:
        """Add a line with its links."""
        rng = self.rng
        line = {"uuid": self.key(), **line}
        if rng.random() < 0.97:
            line.setdefault("parentUuid", self.parent())
        if rng.random() < 0.8:
            line["timestamp"] = rng.choice(
                [f"2026-01-0{rng.randrange(1, 4)}T00:00:0{rng.randrange(9)}.000Z", "2026-01-01T00:00:00+01:00", "x", 5]
            )
        for field in ("isSidechain", "isMeta", "isApiErrorMessage", "isVisibleInTranscriptOnly"):
            if rng.random() < 0.03:
                line[field] = rng.choice([True, 0, "", [0], 0.0, "yes"])
        if rng.random() < 0.1:
            line["toolUseResult"] = "words that are repeated here"
        if rng.random() < 0.05:
            line[rng.choice(["note", "more\ud800"])] = rng.choice(
                ["three words here", {"a": ["b", "one two three"]}, 5]
            )
        self.lines.append(line)
        if isinstance(line["uuid"], str):
            self.last = line["uuid"]

    def user(self) -> None:
        """A user message."""
        content = self.rng.choice([self.text(), [{"type": "text", "text": self.text()}], [], ""])
        self.push({"type": "user", "message": {"role": self.rng.choice(["user", "user", "odd"]), "content": content}})

    def queued(self) -> None:
        """A prompt that was typed while the agent worked, rarely an odd one."""
        prompt = self.rng.choice([self.text(), [{"type": "text", "text": self.text()}], "", [5], 5])
        attachment = {"type": self.rng.choice(["queued_command"] * 5 + ["file", 5]), "prompt": prompt}
        self.push({"type": "attachment", "attachment": attachment, "rendered": [{"content": "it was sent so"}]})

    def response(self) -> None:
        """One or several lines of a response, some with calls."""
        if not self.responses or self.rng.random() < 0.8:
            self.responses.append(f"m{len(self.responses)}")
        name = self.rng.choice(self.responses[-2:])
        for _ in range(self.rng.randrange(1, 4)):
            blocks: list[Line] = [{"type": "text", "text": self.text(), "n": self.rng.choice([1, 1.0, True, 0, -0.0])}]
            if self.rng.random() < 0.6:
                self.calls.append(f"t{len(self.calls)}")
                blocks.append({"type": "tool_use", "id": self.calls[-1], "name": "Read", "input": {"b": 1, "a": [2]}})
            content = self.rng.choice([blocks, blocks, blocks, self.text()])
            message = {
                "role": "assistant",
                "content": content,
                "model": self.rng.choice(["claude-x", "claude-x", "", 5]),
            }
            message |= {"id": self.rng.choice([name] * 9 + [None])}
            if self.rng.random() < 0.9:
                message["usage"] = self.rng.choice(USAGES)
            if self.rng.random() < 0.04:
                message |= {"model": "<synthetic>", "note": "this has some words"}
            self.push({"type": "assistant", "message": message})

    def result(self) -> None:
        """Results of some calls, rarely beside the chain."""
        if not self.calls:
            return
        refs = self.rng.sample(self.calls[-4:], self.rng.randrange(1, min(3, len(self.calls) + 1)))
        blocks: list[Line] = [{"type": "tool_result", "tool_use_id": ref, "content": self.text()} for ref in refs]
        blocks += [{"type": "text", "text": "aside"}] * (self.rng.random() < 0.2)
        self.rng.shuffle(blocks)
        before = self.last
        self.push({"type": "user", "message": {"role": "user", "content": blocks}})
        if self.rng.random() < 0.3:
            self.last = before

    def compaction(self) -> None:
        """A boundary, a summary, and mostly what was kept."""
        before, kept = self.last, [line["uuid"] for line in self.lines[-4:] if line.get("uuid")]
        metadata: Line = {
            "trigger": self.rng.choice(["auto", "manual"]),
            "preTokens": self.rng.choice([170_000, 300_000, "x"]),
        }
        anchor = f"s{len(self.lines)}"
        boundary = f"b{len(self.lines)}"
        behind = self.rng.choice([anchor, anchor, boundary])
        if kept and self.rng.random() < 0.6:
            metadata["preservedSegment"] = {"headUuid": kept[0], "anchorUuid": behind, "tailUuid": kept[-1]}
        if kept and self.rng.random() < 0.4:
            uuids = [uuid for uuid in kept if self.rng.random() < 0.8]
            metadata["preservedMessages"] = {"anchorUuid": behind, "uuids": self.rng.choice([uuids, uuids, uuids, 5])}
        self.push({"type": "system", "subtype": "compact_boundary", "parentUuid": None, "logicalParentUuid": before,
                   "uuid": boundary, "compactMetadata": metadata})  # fmt: skip
        message = {"role": "user", "content": "what went before"}
        self.push({"type": "user", "uuid": anchor, "isCompactSummary": True, "isVisibleInTranscriptOnly": True,
                   "message": message})  # fmt: skip
        again = [line for line in self.lines[-8:-2] if self.rng.random() < 0.4]
        for line in again if self.rng.random() < 0.5 else ():
            self.lines.append({**line, "uuid": f"c{len(self.lines)}", "parentUuid": self.last})
            self.last = self.lines[-1]["uuid"]

    def repeat(self) -> None:
        """Lines again: as they were, under another parent, or as a fork under new uuids."""
        some = [line for line in self.lines[-self.rng.randrange(1, 9) :] if line.get("uuid")]
        kind = self.rng.randrange(3)
        for line in some:
            change = ({}, {"parentUuid": self.last}, {"parentUuid": self.last, "uuid": f"f{len(self.lines)}"})[kind]
            self.lines.append({**line, **change})
            self.last = self.lines[-1]["uuid"] if kind else self.last

    def retraction(self) -> None:
        """A line that takes others back."""
        some = [line["uuid"] for line in self.lines[-4:] if line.get("uuid")]
        uuids = self.rng.choice([some[:1], some[-2:], [5], 5])
        self.push({"type": "system", "subtype": "model_refusal_fallback", "retractedMessageUuids": uuids})

    def odd(self) -> None:
        """A line that is no message, or a broken one."""
        self.lines.append(dict(self.rng.choice((*ODD, *TELLING))))


def session(seed: int, count: int = 40) -> list[Line]:
    """The lines of a session."""
    made = Session(seed)
    steps = (made.user, made.response, made.response, made.result, made.result, made.odd, made.repeat, made.compaction,
             made.queued, made.retraction)  # fmt: skip
    made.user()
    for _ in range(count):
        made.rng.choices(steps, (6, 6, 6, 6, 4, 2, 1, 1, 1, 0.5))[0]()
    return made.lines


def written(lines: list[Line], seed: int) -> bytes:
    """The lines as a file, some of it damaged or in another form."""
    rng = random.Random(seed)
    parts: list[bytes] = [b"\xef\xbb\xbf"] * (rng.random() < 0.1)
    for line in lines:
        text = json.dumps(line, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
        chance = rng.random() * (1 if seed % 2 else 20)
        if chance < 0.02:
            text = text[: rng.randrange(len(text))]
        elif chance < 0.04:
            text = json.dumps(line, indent=1).encode()
        elif chance < 0.06:
            text += b" " + text
        elif chance < 0.08:
            text = json.dumps([line, 5, {"type": "user", "message": {"content": "in a list"}}]).encode()
        elif chance < 0.1:
            text = b"\0\0" + text
        elif chance < 0.12:
            text = text[:-1] + b', "deep": ' + b"[" * 300 + b"]" * 300 + b"}"
        elif chance < 0.14:
            text = text[:-1] + b', "cwd": "/twice", "cwd": "/last", "uuid": "twice\\u0031"}'
        elif chance < 0.16:
            text = text.replace(b"read", b"re\xffad").replace(b"the", b"t\nhe")
        parts += [text, rng.choice([b"\n", b"\n", b"\n", b"\r\n", b"\n\n \t\n"])]
    return b"".join(parts if rng.random() < 0.7 else parts[:-1])
