"""The records of a damaged file, the slow way: a record is what stands alone between two damages."""

from __future__ import annotations

import json

_DECODER = json.JSONDecoder(strict=False)


def healed(raw: str) -> list[dict]:
    """The events of a file of Copilot CLI, each beginning with its type, in any state.

    From the first byte on: NUL bytes are passed; a record is taken where one can be read, with control characters in
    its strings; what cannot be read ends at its line's end, or, if it begins like a record, where another one begins.
    """
    found, at = [], 0
    while at < len(raw):
        if raw[at] in "\0\n ":
            at += 1
            continue
        if value := _value(raw, at):
            found.append(value[0])
            at = value[1]
            continue
        end = raw.find("\n", at)
        end = len(raw) if end < 0 else end
        starts = (
            n for n in range(at + 1, end if raw[at] == "{" else 0) if raw.startswith('{"type"', n) and _is_alone(raw, n)
        )
        at = next(starts, end)
    return found


def _value(raw: str, at: int):
    try:
        value, end = _DECODER.raw_decode(raw, at)
    except ValueError:
        return None
    return (value, end) if isinstance(value, dict) else None


def _is_alone(raw: str, at: int) -> bool:
    """Whether a record begins here, and ends with a line or in front of another thing that begins with a brace."""
    value = _value(raw, at)
    return value is not None and raw[value[1] :].lstrip("\0 ")[:1] in ("", "{", "\n")
