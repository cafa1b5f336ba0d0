"""Rollouts of Codex with everything that a line can be, by chance and from a seed."""

from __future__ import annotations

import json
import random
from typing import Any

Line = dict[str, Any]

WORDS = ("read", "the", "file", "caf\u00e9", "\U0001f600", "then", "\ud83d", "\\n", "tests", "1.0")
NUMBERS: tuple[Any, ...] = (0, 1, 1.0, True, None, "1", 2**70, -3, [1], {"n": 1})
USAGES: tuple[Any, ...] = (
    {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 3, "reasoning_output_tokens": 1, "total_tokens": 12},
    {"input_tokens": 900, "cached_input_tokens": 0, "output_tokens": 30, "total_tokens": 930},
    {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 3, "total_tokens": 13},
    {"input_tokens": 9, "cached_input_tokens": 12, "output_tokens": 3, "total_tokens": 12},
    {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0, "reasoning_output_tokens": 0, "total_tokens": 0},
    {"input_tokens": 50, "cached_input_tokens": 20, "output_tokens": 5, "reasoning_output_tokens": 9},
    {"input_tokens": 50, "output_tokens": 5, "total_tokens": 55},
    {"input_tokens": 2**53, "cached_input_tokens": 1, "output_tokens": 5, "total_tokens": 2**53 + 5},
    {"input_tokens": 5.0, "cached_input_tokens": 1, "output_tokens": 5, "total_tokens": 10},
    {"input_tokens": 7, "cached_input_tokens": None, "output_tokens": 5, "total_tokens": 12, "more": 1},
    {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55},
    {},
    "none",
    None,
)
METAS: tuple[Any, ...] = (
    {"instructions": "be brief"},
    {"base_instructions": {"text": "be long"}, "instructions": "no"},
    {"base_instructions": {}, "instructions": "of old"},
    {"base_instructions": {"text": 5}},
    {"base_instructions": ["x"], "instructions": "no"},
    {"base_instructions": "", "instructions": ""},
    {"id": "x"},
)
ODD: tuple[Any, ...] = (
    {"type": "response_item", "payload": "no object"},
    {"type": "response_item"},
    {"type": ["response_item"], "payload": {"type": "message", "content": "x"}},
    {"type": "event_msg", "payload": {"type": "agent_message", "message": "said for the screen"}},
    {"type": "event_msg", "payload": {"type": ["token_count"], "info": {}}},
    {"type": "event_msg", "payload": {"type": "token_count", "info": None}},
    {"type": "a\ud800", "payload": {"type": "b\udfff"}},
    {"payload": {}, "note": "three words here", "more\ud800": {"a": ["b", "one two three"]}, "five": 5},
    {"type": "compacted", "payload": {}},
    {"type": "compacted", "payload": {"message": 5}},
    {"type": "compacted", "payload": {"message": "", "replacement_history": {}}},
)
TIMES: tuple[Any, ...] = ("2026-01-02T00:00:03.000Z", "2026-01-01T00:00:00+01:00", "x", 5, None)


class Rollout:
    """Lines that are made one after the other."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[Line] = []
        self.items: list[Line] = []
        self.totals = 0

    def text(self) -> str:
        """Some words."""
        return " ".join(self.rng.choices(WORDS, k=self.rng.randrange(5)))

    def push(self, kind: str, payload: Any) -> None:
        """Add a line."""
        line = {"timestamp": self.rng.choice(TIMES), "type": kind, "payload": payload}
        if self.rng.random() < 0.05:
            line[self.rng.choice(["note", "ordinal"])] = self.rng.choice(["three words here", 5])
        self.lines.append(line)

    def item(self) -> Line:
        """An item of any type."""
        rng, text = self.rng, self.text()
        part = rng.choice(
            [
                {"type": "input_text", "text": text},
                {"text": rng.choice([5, None, "<x", ["<"], " <Skill>x</skill>\n", "<skill>"])},
                {},
            ]
        )
        content = rng.choice([[part], [part], [5, part], [], text, None, {"a": part}])
        role = rng.choice(["user", "user", "assistant", "developer", "", None, 5])
        item = rng.choice(
            [
                {"type": "message", "role": role, "content": content},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]},
                {"type": "message", "role": "user", "content": [{"text": "# AGENTS.md instructions for x"}]},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
                {"type": "function_call", "call_id": text, "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": text, "output": text},
                {"type": "custom_tool_call_output", "role": rng.choice(["assistant", "user"]), "output": text},
                {
                    "type": "reasoning",
                    rng.choice(["id", "summary", "encrypted_content", "more"]): rng.choice(["", "x"]),
                },
                {"type": rng.choice(["ghost_snapshot", "other", "", "web_search_call"]), "n": rng.choice(NUMBERS)},
                {"type": rng.choice([5, None]), "content": text},
            ]
        )
        return dict(item)

    def add(self) -> None:
        """Some items."""
        for _ in range(self.rng.randrange(1, 5)):
            self.items.append(self.item())
            self.push("response_item", self.items[-1])

    def usage(self) -> None:
        """A usage, often twice."""
        self.totals += self.rng.random() < 0.7
        total = self.rng.choice([{"total_tokens": self.totals}, self.totals, None])
        info = {"last_token_usage": self.rng.choice(USAGES), "total_token_usage": total}
        if self.rng.random() < 0.2:
            info["model_context_window"] = self.rng.choice([999, 1_000, 272_000, 1e5, True, 2**60])
        for _ in range(self.rng.randrange(1, 3)):
            self.push("event_msg", {"type": "token_count", "info": info})

    def compaction(self) -> None:
        """A replacement: copies of items, some without their ids, and new ones; or a summary as text."""
        if self.rng.random() < 0.3:
            self.push("compacted", {"message": self.text()})
            return
        kept = [dict(item) for item in self.items if self.rng.random() < 0.5]
        for item in kept:
            if self.rng.random() < 0.5:
                item["id"] = "anew"
        fresh = [*kept, {"type": "compaction", "encrypted_content": self.text()}, self.item()]
        history: list[Any] = [*fresh, *self.rng.choice([[], [5], ["x", None]])]
        self.items = fresh
        self.push("compacted", {"message": "", "replacement_history": history})

    def roll_back(self) -> None:
        """A rollback of some turns."""
        turns = self.rng.choice([0, 1, 1, 2, 3, 1.0, True, None, -1, "1", 10**30])
        self.push("event_msg", {"type": "thread_rolled_back", "num_turns": turns})

    def setting(self) -> None:
        """A line of settings."""
        kind = self.rng.choice(["session_meta", "turn_context", "event_msg"])
        payload: dict[str, Any] = {
            "session_meta": self.rng.choice(METAS),
            "turn_context": {"model": self.rng.choice(["gpt-5", "gpt-x", "", 5, None])},
            "event_msg": {"type": "task_started", "model_context_window": self.rng.choice([5, 9_000, "9000"])},
        }
        self.push(kind, payload[kind])

    def odd(self) -> None:
        """A line that no prompt has, or a broken one."""
        self.lines.append(dict(self.rng.choice(ODD)))


def rollout(seed: int, count: int = 40) -> list[Line]:
    """The lines of a rollout."""
    made = Rollout(seed)
    steps = (made.add, made.usage, made.setting, made.odd, made.compaction, made.roll_back)
    made.add()
    for _ in range(count):
        made.rng.choices(steps, (9, 5, 2, 2, 1, 1))[0]()
    return made.lines


def damaged(text: bytes, line: Line, rng: random.Random) -> bytes:
    """A line's text in another form, or damaged."""
    return rng.choice(
        [
            text[: rng.randrange(len(text))],
            json.dumps(line, indent=1).encode(),
            text + b" " + text,
            json.dumps([line, 5, {"type": "response_item", "payload": {"type": "x"}}]).encode(),
            b"\0\0" + text,
            text[:-1] + b', "deep": ' + b"[" * 300 + b"]" * 300 + b"}",
            text[:-1] + b', "type": "x", "payload": {"type": "y"}, "type": "response\\u005fitem"}',
            text.replace(b"read", b"re\xffad").replace(b"the", b"t\nhe"),
        ]
    )


def as_file(lines: list[Line], seed: int) -> bytes:
    """The lines as a file, some of it damaged or in another form; of an even seed little."""
    rng = random.Random(seed)
    parts: list[bytes] = [b"\xef\xbb\xbf"] * (rng.random() < 0.1)
    for line in lines:
        text = json.dumps(line, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
        if rng.random() < (0.15 if seed % 2 else 0.01):
            text = damaged(text, line, rng)
        parts += [text, rng.choice([b"\n", b"\n", b"\n", b"\r\n", b"\n\n \t\n"])]
    return b"".join(parts if rng.random() < 0.7 else parts[:-1])
