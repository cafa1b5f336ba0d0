"""The sections of a summary: their headings, contents, and JSON schema."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, NamedTuple


class Section(NamedTuple):
    """A section: its key in JSON, its heading, and its content."""

    key: str
    heading: str
    about: str


AGENT, CHAT = (
    tuple(Section(**each) for each in sections)
    for sections in tomllib.loads(Path(__file__).with_name("sections.toml").read_text("utf-8")).values()
)
"""The sections for an agent that calls tools, and for a chat without tools."""


def task(sections: tuple[Section, ...]) -> str:
    """Return the content of a summary as a prompt says it."""
    lines = ["Write it under these headings, leaving out those for which there is nothing:"]
    lines += [f"## {section.heading}: {section.about}" for section in sections]
    lines.append(
        "State what is, in bullets; leave out small talk, and what only announces or looks at something. Write no name,"
        " path, number or quotation that does not stand in the conversation: whatever does is checked."
    )
    return "\n".join(lines)


def schema(sections: tuple[Section, ...]) -> dict[str, Any]:
    """Return the JSON schema of a summary: a list of lines for each section."""
    lines = {"type": "array", "items": {"type": "string"}}
    return {
        "type": "object",
        "properties": {section.key: {**lines, "description": section.about} for section in sections},
        "required": [section.key for section in sections],
        "additionalProperties": False,
    }


def from_json(text: str) -> str:
    """Return an answer of JSON by ``schema`` as Markdown, any other as it is."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        found = json.loads(text)
    except ValueError:
        return text
    headings = {section.key: section.heading for section in (*AGENT, *CHAT)}
    if not isinstance(found, dict) or not found or not found.keys() <= headings.keys():
        return text
    out = []
    for key, lines in found.items():
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            return text
        bullets = [f"- {line.strip().removeprefix('- ')}" for line in lines if line.strip(" -\n")]
        if bullets:
            out.append("\n".join([f"## {headings[key]}", *bullets]))
    return "\n\n".join(out)
