"""The sections of a summary: their headings, contents, and JSON schema."""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Section(NamedTuple):
    """A section: its key in JSON, its heading, and its content."""

    key: str
    heading: str
    about: str


_RULES = Section(
    "rules",
    "Rules",
    "every rule, limit and preference that the user or the project set and that still stands, each whole and in its own"
    " words.",
)
_OPEN = Section(
    "open_items",
    "Open items",
    "what is still to be done, as it stands, and the next step, with the words of the conversation that call for it in"
    " quotation marks.",
)

AGENT = (
    _RULES,
    Section(
        "requests",
        "Requests",
        "what the user asked for, oldest first, in the user's own words where they are short; say which is the first"
        " request and which the current one. Answers to questions and refusals are the user's words too.",
    ),
    Section(
        "decisions",
        "Decisions",
        "what was decided or found out, each with its reason. Of what was taken back or replaced the newest stands; the"
        " older only as what it was.",
    ),
    Section(
        "files", "Files", "paths that were written or matter, each with what was done to it, and the symbol or line."
    ),
    Section(
        "commands",
        "Commands",
        "the last run of each test and build command: passed, failed or not known, and why; passed only where its"
        " result says so.",
    ),
    Section("errors", "Errors", "failures, and whether a later run passed."),
    Section(
        "facts",
        "Facts",
        "names, ids, versions, addresses and numbers that will be needed again, exactly as they stand, each in a"
        " sentence that says what it is.",
    ),
    Section("current_work", "Current work", "what was going on last, with its newest words in quotation marks."),
    _OPEN,
)
"""The sections for an agent that calls tools."""

CHAT = (
    _RULES,
    Section(
        "requests",
        "Requests",
        "what the user wanted, oldest first, in the user's own words where they are short; say which is the current"
        " one.",
    ),
    Section(
        "facts",
        "Facts",
        "what was said of people, things, places, dates and numbers, each with whom or what it belongs to; keep apart"
        " what is easily confused.",
    ),
    Section(
        "decisions",
        "Decisions",
        "what was agreed on, each with its reason. Of what was taken back or replaced the newest stands; the older only"
        " as what it was.",
    ),
    _OPEN._replace(about=_OPEN.about.replace("to be done", "open, promised or unanswered")),
)
"""The sections for a chat without tools."""


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
