"""What goes out is checked by what is known: every list that ``fit`` and ``compact`` return, and only new messages."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from dataclasses import replace
from typing import Any

import pytest

import trimtab
from trimtab.policies import POLICIES

MODEL = "claude-sonnet-4-5"
LIMIT = 100


def png(width: int = 1, height: int = 1, *, pad: int = 0) -> dict[str, Any]:
    """A picture of so many pixels, with ``pad`` bytes behind its end."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + b"IHDR" + header + struct.pack(">I", zlib.crc32(b"IHDR" + header))
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + chunk + bytes(pad)).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": [c if isinstance(c, dict) else {"type": "text", "text": c} for c in content]}


def shots(count: int, picture: dict[str, Any] | None = None) -> list[Any]:
    """A session in which a tool returns a picture and a line each time."""
    messages: list[Any] = [user("Click through the form, and never touch LICENSE.")]
    for n in range(count):
        call = {"type": "tool_use", "id": f"t{n}", "name": "screenshot", "input": {"n": n}}
        messages.append({"role": "assistant", "content": [call]})
        content = [{"type": "text", "text": f"page {n}"}, picture or png(20, 20)]
        messages.append(user({"type": "tool_result", "tool_use_id": f"t{n}", "content": content}))
    return messages


def asked(count: int) -> list[Any]:
    """A session in which each request has a picture."""
    out: list[Any] = []
    for n in range(count):
        out += [user(f"what is on page {n}?", png(20, 20)), {"role": "assistant", "content": f"Form {n}."}]
    return [*out, user("and now?")]


def codes(messages: Any, model: str = MODEL) -> list[str]:
    return [problem.code for problem in trimtab.validate(messages, provider="anthropic", model=model, in_flight=True)]


def pictures(messages: Any) -> int:
    return json.dumps(list(messages)).count('"type": "image"')


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_compact_and_plan_leave_no_more_pictures_than_the_provider_takes(name: str) -> None:
    policy = replace(POLICIES[name], on_nothing="noop")
    for messages in (shots(150), asked(150)):
        cm = trimtab.Compactor(MODEL, policy=policy)
        plan = cm.plan(messages)
        done = cm.compact(messages)
        assert done.plan == plan
        assert not codes(done.messages)
        assert cm.restore(done.ref or "") == messages
        assert trimtab.Plan.from_json(plan.to_json()) == plan
        assert str(plan)
        assert cm.compact(messages, plan=plan).messages == done.messages
