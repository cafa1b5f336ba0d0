"""Computes the floor of a prompt without the library's planner, to judge the lists that the library returns.

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


def words_of(message):
    """Role and blocks of a message without its thinking, which leaves where an edit breaks it."""
    return message["role"], [block for block in blocks_of(message) if "thinking" not in block["type"]]


def said(messages, text):
    """Whether a block of a user's message is this text, or holds it where it was merged with its neighbour."""
    blocks = (block for message in messages if message["role"] == "user" for block in blocks_of(message))
    return any(block["type"] == "text" and text in block["text"] for block in blocks)


def holds(messages, message):
    """Whether a message stands in a list with all its blocks in their order, beside those of its neighbours or not."""
    role, blocks = words_of(message)
    return any(found == role and all(block in there for block in blocks) for found, there in map(words_of, messages))


def open_calls(messages):
    """The ids of calls without a result; the last assistant message alone can have some."""
    calls = [block["id"] for message in messages for block in blocks_of(message) if block["type"] == "tool_use"]
    results = {b["tool_use_id"] for message in messages for b in blocks_of(message) if b["type"] == "tool_result"}
    return [ref for ref in calls if ref not in results]


def floor(messages, request, pinned=()):
    """The messages that can never leave: pinned ones, the last user request, open calls, and the calls of these.

    Results of kept calls are stubs, unless they are pinned: a result can always be cut.

    Args:
        messages: the transcript.
        request: the text of the user's last request.
        pinned: the pinned messages among them.
    """
    pins = [*map(words_of, pinned)]
    pinned = {n for n, message in enumerate(messages) if words_of(message) in pins}
    kept = pinned | {n for n, message in enumerate(messages) if said([message], request)}
    opened = set(open_calls(messages))
    kept |= {n for n, message in enumerate(messages) if _ids(message) & opened}
    ids = set().union(*(_ids(messages[n]) for n in kept))
    kept |= {n for n, message in enumerate(messages) if _ids(message) & ids}
    return [messages[n] if n in pinned else _stubbed(messages[n]) for n in sorted(kept)]


def _ids(message):
    return {block.get("id") or block.get("tool_use_id") for block in blocks_of(message)} - {None}


def _stubbed(message):
    content = message["content"]
    if isinstance(content, str):
        return message
    stub = [{**block, "content": STUB} if block["type"] == "tool_result" else block for block in content]
    return {**message, "content": stub}


class Bill:
    """Tokens that a provider bills for a prompt: the exact count, system text and tools, and a small margin.

    Attributes:
        model: whose vocabulary counts.
        beside: ``system`` and ``tools`` of each call.
    """

    def __init__(self, model, **beside):
        self.model, self.beside = model, beside

    def count(self, messages):
        """Tokens of a prompt, as they can be counted."""
        return trimtab.count(messages, model=self.model, **self.beside)

    def prompt(self, messages):
        """Billed tokens of a prompt."""
        return self.count(messages) + HIDDEN

    def fits(self, messages, room, request, pinned=()):
        """Whether what can never leave fits into so many tokens, beside the frame of a summary."""
        return self.prompt(floor(messages, request, pinned)) + FRAME <= room
