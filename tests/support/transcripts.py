"""Transcripts in one line: how tests spell and generate them.

``transcript("u:40 c1 r1:900 a:90")`` is a list of messages in a provider's shape. Words are messages, elements of one
message are joined by ``+``; a number behind a colon is a number of words.

====  ==========================================================================================
u     a user's text
a     the assistant's text
s     system text (in OpenAI's shapes only, elsewhere it stands beside the messages)
c1    a call with id 1; ``c1+c2`` are parallel calls
r1    its result; ``r1+r2`` is one message where the shape has room for two, else one each
t     thinking, in front of what the assistant says next
v1    a tool call that the provider runs itself, with its result (Messages and Responses only)
i     an image; ``i:300`` is 300 pixels wide
x     a block that nobody knows
====  ==========================================================================================
"""

import base64
import hashlib
import itertools
import json
import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from hypothesis import strategies as st

PROVIDERS = ("anthropic", "openai_chat", "openai_responses", "bedrock", "gemini")
HEIGHT = 100
WORDS = "the plan naïve 日本語 \N{GRINNING FACE} def f(x): \n\treturn 'x' 3.14 \"quoted\" \\ don't über".split(" ")
TOOLS = ("Read", "Bash", "mcp__böse__Edit")
ELEMENT = re.compile(r"([uastixcrv])(\w*)(?::(\d+))?$")


@dataclass(frozen=True)
class Element:
    """A part of a spec: ``r1:900`` is the result of call 1, 900 words long."""

    kind: str
    ref: str
    size: int
    place: int

    @property
    def text(self):
        """So many words, others at every place; no white space at the ends."""
        words = [WORDS[(7 * self.place + n) % len(WORDS)] for n in range(self.size)]
        return " ".join(words).strip()

    @property
    def call(self):
        return f"call_{self.ref}"

    @property
    def tool(self):
        return TOOLS[len(self.ref) * ord(self.ref[-1]) % len(TOOLS)]

    @property
    def input(self):
        return {"path": f"src/{self.ref}.py", "lines": [self.size, 2.5, None, True], "note": self.text}

    @property
    def png(self):
        return png(self.size, HEIGHT)


def parse(spec):
    """The messages of a spec, each a list of elements; thinking joins what the assistant says next."""
    place, waiting, messages = itertools.count(), [], []
    for word in spec.split():
        elements = []
        for part in word.split("+"):
            match = ELEMENT.match(part)
            if not match or bool(match[2]) != (match[1] in "crv"):
                raise ValueError(f"cannot read {part!r} in {spec!r}")
            elements.append(Element(match[1], match[2], int(match[3] or 5), next(place)))
        if all(e.kind == "t" for e in elements):
            waiting += elements
            continue
        messages.append([*waiting, *elements])
        waiting = []
    return [*messages, *([waiting] if waiting else [])]


def transcript(spec, provider="anthropic"):
    """The messages that a spec spells, in a provider's shape; new objects at every call."""
    write = {
        "anthropic": _anthropic,
        "openai_chat": _chat,
        "openai_responses": _responses,
        "bedrock": lambda elements: _blocked(elements, "content", _converse, "assistant"),
        "gemini": lambda elements: _blocked(elements, "parts", _part_of_gemini, "model"),
    }[provider]
    messages = [message for elements in parse(spec) for message in write(elements)]
    return _alternating(messages) if provider in ("bedrock", "gemini") else messages


def _alternating(messages):
    """Neighbours of one role as one message: these shapes refuse them."""
    merged = []
    for message in messages:
        key = "parts" if "parts" in message else "content"
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1][key] += message[key]
        else:
            merged.append(message)
    return merged


def _blocked(elements, key, write, assistant):
    if {e.kind for e in elements} & {"s", "v"}:
        raise ValueError("this shape has no system messages and no server tools")
    yield {
        "role": assistant if {e.kind for e in elements} & set("act") else "user",
        key: [write(e) for e in elements],
    }


def _converse(e):
    match e.kind:
        case "u" | "a":
            return {"text": e.text}
        case "t":
            return {"reasoningContent": {"reasoningText": {"text": e.text, "signature": f"sig{e.place}"}}}
        case "c":
            return {"toolUse": {"toolUseId": e.call, "name": e.tool, "input": e.input}}
        case "r":
            part = {"text": e.text} if e.place % 2 else {"json": {"said": e.text}}
            return {"toolResult": {"toolUseId": e.call, "content": [part]}}
        case "i":
            return {"image": {"format": "png", "source": {"bytes": e.png}}}
        case _:
            return {"hologram": {"depth": [e.size, None, {"ü": e.text}]}}


def _part_of_gemini(e):
    named = {"name": e.tool} | ({"id": e.call} if ord(e.ref[-1]) % 2 else {}) if e.ref else {}
    match e.kind:
        case "u" | "a":
            return {"text": e.text}
        case "t":
            return {"text": e.text, "thought": True}
        case "c":
            return {"functionCall": {**named, "args": e.input}, "thoughtSignature": "sig"}
        case "r":
            return {"functionResponse": {**named, "response": {"result": e.text}}}
        case "i":
            return {"inlineData": {"mimeType": "image/png", "data": e.png}}
        case _:
            return {"hologram": {"depth": [e.size, None, {"ü": e.text}]}}


def is_open(spec):
    """Whether a call has no result."""
    refs = {kind: {e.ref for m in parse(spec) for e in m if e.kind == kind} for kind in "cr"}
    return bool(refs["c"] - refs["r"])


def png(width, height):
    """A picture of that size, as base64: a whole file, its pixels black."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compress(bytes(1 + (width + 7) // 8) * height)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return base64.b64encode(data).decode()


def hologram(element):
    return {"type": "hologram", "depth": [element.size, None, {"ü": element.text}]}


def _anthropic(elements):
    kinds = {e.kind for e in elements}
    if "s" in kinds:
        raise ValueError("the Messages shape has no system messages")
    role = "assistant" if kinds & set("actv") else "user"
    if kinds <= set("ua") and len(elements) == 1:
        return [{"role": role, "content": elements[0].text}]
    return [{"role": role, "content": [block for e in elements for block in _blocks(e)]}]


def _blocks(e):
    text = {"type": "text", "text": e.text}
    match e.kind:
        case "u" | "a":
            return [text]
        case "t":
            return [{"type": "thinking", "thinking": e.text, "signature": f"sig{e.place}"}]
        case "c":
            return [{"type": "tool_use", "id": e.call, "name": e.tool, "input": e.input}]
        case "r":  # both forms of a result's content
            content = e.text if e.place % 2 or not e.size else [text]
            return [{"type": "tool_result", "tool_use_id": e.call, "content": content}]
        case "v":
            found = [{"type": "web_search_result", "url": "x", "encrypted_content": e.text}]
            return [
                {"type": "server_tool_use", "id": e.call, "name": "web_search", "input": {"query": e.text}},
                {"type": "web_search_tool_result", "tool_use_id": e.call, "content": found},
            ]
        case "i":
            return [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": e.png}}]
        case _:
            return [hologram(e)]


def _runs(elements):
    """Group consecutive user blocks into one message; any other element is a message of its own."""
    for said, group in itertools.groupby(elements, lambda e: e.kind in "uix"):
        run = [*group]
        yield from [run] if said else ([e] for e in run)


def _chat(elements):
    if any(e.kind in "act" for e in elements):
        yield _chat_assistant(elements)
        return
    for run in _runs(elements):
        e = run[0]
        if e.kind == "v":
            raise ValueError("the Chat shape has no server tools")
        if e.kind == "r":
            content = e.text if e.place % 2 or not e.size else [{"type": "text", "text": e.text}]
            yield {"role": "tool", "tool_call_id": e.call, "content": content}
        elif e.kind == "s":
            yield {"role": "system", "content": e.text}
        else:
            yield {"role": "user", "content": e.text if len(run) == 1 and e.kind == "u" else [*map(_part, run)]}


def _part(e):
    match e.kind:
        case "i":
            return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{e.png}"}}
        case "x":
            return hologram(e)
        case _:
            return {"type": "text", "text": e.text}


def _chat_assistant(elements):
    thoughts, texts, calls = ([e for e in elements if e.kind == kind] for kind in "tac")
    if len(thoughts + texts + calls) < len(elements):
        raise ValueError("the assistant's message holds what an assistant does not say in the Chat shape")
    content = texts[0].text if len(texts) == 1 else [*map(_part, texts)] or None
    message = {"role": "assistant", "content": content}
    if thoughts:
        message["reasoning_content"] = " ".join(e.text for e in thoughts)
    if calls:
        message["tool_calls"] = [
            {"id": e.call, "type": "function", "function": {"name": e.tool, "arguments": json.dumps(e.input)}}
            for e in calls
        ]
    return message


def _responses(elements):
    for run in _runs(elements):
        e = run[0]
        match e.kind:
            case "u" | "i":
                yield {"type": "message", "role": "user", "content": [*map(_input, run)]}
            case "s":
                yield {"role": "developer", "content": e.text}
            case "a":
                content = [{"type": "output_text", "text": e.text, "annotations": []}]
                yield {"type": "message", "role": "assistant", "content": content}
            case "t":
                summary = [{"type": "summary_text", "text": e.text}]
                yield {"type": "reasoning", "id": f"rs_{e.place}", "summary": summary, "encrypted_content": "gAAA" * 9}
            case "c":
                arguments = json.dumps(e.input)
                yield {"type": "function_call", "call_id": e.call, "name": e.tool, "arguments": arguments}
            case "r":
                output = e.text if e.place % 2 or not e.size else [{"type": "input_text", "text": e.text}]
                yield {"type": "function_call_output", "call_id": e.call, "output": output}
            case "v":
                yield {"type": "web_search_call", "id": e.call, "status": "completed", "action": {"query": e.text}}
            case _:
                yield {**hologram(e), "id": f"hg_{e.place}"}  # every item of an answer has an id


def _input(e):
    match e.kind:
        case "i":
            return {"type": "input_image", "image_url": f"data:image/png;base64,{e.png}"}
        case "x":
            return hologram(e)
        case _:
            return {"type": "input_text", "text": e.text}


@st.composite
def specs(draw, provider="anthropic", *, unknown=False):
    """Transcripts that the provider accepts; in one of four, calls at the end are open.

    `unknown`: with blocks that nobody knows.
    """
    size, refs = st.integers(1, 30), itertools.count(1)
    more = ["", "", "+i:200", *(["+x"] if unknown else [])]
    served = provider in ("anthropic", "openai_responses")
    steps = ["user", "say", "call", "call", "call", *(["server"] if served else [])]
    words = [f"u:{draw(size)}{draw(st.sampled_from(more))}"]
    if provider.startswith("openai") and draw(st.booleans()):
        words.insert(0, f"s:{draw(size)}")
    for step in draw(st.lists(st.sampled_from(steps), max_size=6)):
        words += draw(_step(step, refs, size, thinks=words[-1][0] in "ur"))
    if draw(st.integers(0, 3)) == 0:
        *said, calls, results = draw(_step("call", refs, size, thinks=words[-1][0] in "ur"))
        answered = [r for r in re.split(r"[+ ]", results) if r[0] == "r"]
        words += [*said, calls, *answered[: draw(st.integers(0, len(answered) - 1))]]
    return " ".join(words)


@st.composite
def _step(draw, step, refs, size, *, thinks):
    """Draw the next messages of a transcript; with `thinks`, an assistant message may begin with thinking."""
    if step == "user":
        return [f"u:{draw(size)}"]
    thought = ["t"] if thinks and draw(st.booleans()) else []
    if step == "say":
        return [*thought, f"a:{draw(size)}"]
    if step == "server":
        return [*thought, f"v{next(refs)}:3+a:{draw(size)}"]
    calls = [next(refs) for _ in range(draw(st.integers(1, 3)))]
    said = draw(st.sampled_from(["", "a:4+", "a:4 "]))
    results = [f"r{n}:{draw(st.integers(0, 30))}" for n in draw(st.permutations(calls))]
    after = draw(st.sampled_from(["", "+u:3"]))
    joint = draw(st.sampled_from("+ "))
    asked = f"{said}{'+'.join(f'c{n}' for n in calls)}".split()
    return [*thought, *asked, joint.join(results) + after]


def messages(provider, **options):
    """Transcripts that the provider accepts, as messages."""
    return specs(provider, **options).map(lambda spec: transcript(spec, provider))


def deep_hash(value):
    """A digest of all that a value holds: types, order, keys and texts. Takes cycles and any depth."""
    digest, seen, stack = hashlib.sha256(), {}, [value]
    while stack:
        item = stack.pop()
        children = _children(item)
        if children is None:
            digest.update(f"{type(item)}{item!r}".encode(errors="surrogatepass"))
            continue
        known = id(item) in seen
        place = seen.setdefault(id(item), len(seen))
        digest.update(f"{type(item)}{place}:{len(children)}".encode())
        if not known:
            stack.extend(children)
    return digest.hexdigest()


def _children(item):
    if isinstance(item, Mapping):
        return [*item.keys(), *item.values()]
    if isinstance(item, list | tuple):
        return item
    if isinstance(item, set | frozenset):
        return sorted(item, key=repr)
    return [*vars(item).values()] if hasattr(item, "__dict__") and not isinstance(item, type) else None
