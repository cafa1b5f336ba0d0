"""What can never leave a prompt, worked out without the library's planner: it judges what the library hands back.

All is said in Anthropic's message shape. The library counts; nothing else of it is used here.
"""

import trimtab

HIDDEN = 37
"""Tokens that a provider bills for every call beyond what a list shows."""

FRAME = 400
"""Tokens of what stands in place of messages that left: an envelope or a notice, its frame, and a short summary."""

STUB = "[output removed]"


def blocks_of(message):
    """The blocks of a message; a string is one text block."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def said(message, text):
    """Whether a block of the message is this text, or holds it where it was merged with its neighbour."""
    return any(block["type"] == "text" and text in block["text"] for block in blocks_of(message))


def mentions(message, text):
    """Whether a message holds a text anywhere, results and inputs included."""
    return text in repr(message)


def open_calls(messages):
    """The ids of calls without a result; the last assistant message alone can have some."""
    calls = [block["id"] for message in messages for block in blocks_of(message) if block["type"] == "tool_use"]
    results = {b["tool_use_id"] for message in messages for b in blocks_of(message) if b["type"] == "tool_result"}
    return [ref for ref in calls if ref not in results]


def _ids(message):
    return {block.get("id") or block.get("tool_use_id") for block in blocks_of(message)} - {None}


def floor(messages, request, pins=()):
    """The messages that can never leave: pinned ones, the last user request, open calls, and the calls of these.

    Results of kept calls are stubs, unless they are pinned: a result can always be cut.

    Args:
        messages: the transcript.
        request: the text of the user's last request.
        pins: texts whose messages stay verbatim.
    """
    pinned = {n for n, message in enumerate(messages) if any(mentions(message, pin) for pin in pins)}
    kept = set(pinned)
    kept |= {n for n, message in enumerate(messages) if message["role"] == "user" and said(message, request)}
    opened = set(open_calls(messages))
    kept |= {n for n, message in enumerate(messages) if _ids(message) & opened}
    ids = set().union(*(_ids(messages[n]) for n in kept)) if kept else set()
    kept |= {n for n, message in enumerate(messages) if _ids(message) & ids}
    return [messages[n] if n in pinned else _stubbed(messages[n]) for n in sorted(kept)]


def _stubbed(message):
    content = message["content"]
    if isinstance(content, str):
        return message
    stub = [{**block, "content": STUB} if block["type"] == "tool_result" else block for block in content]
    return {**message, "content": stub}


class Bill:
    """What a provider bills for a prompt: the exact count, system text and tools, and a little beyond.

    Attributes:
        model: whose vocabulary counts.
        beside: ``system`` and ``tools`` of each call.
    """

    def __init__(self, model, **beside):
        self.model, self.beside = model, beside

    def prompt(self, messages):
        """Billed tokens of a prompt."""
        return trimtab.count(messages, model=self.model, **self.beside) + HIDDEN

    def fits(self, messages, room, request, pins=()):
        """Whether what can never leave fits into so many tokens, beside the frame of a summary."""
        return self.prompt(floor(messages, request, pins) or [{"role": "user", "content": "."}]) + FRAME <= room
