"""A server on this machine that takes Messages requests as strictly as Anthropic does, and an agent that works with it.

The rules between messages are the checker's, which shares no code with the library; what only a server can know is
judged here: whether a thinking block is its own, and stands behind what it was made behind.
"""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from random import Random

import trimtab
from support.checker import THINKING, check
from support.loopback import Reply
from support.transcripts import png

PATH = "/v1/messages"
BINDING = "thinking-binding-controls-2026-08-01"
WORDS = {
    "tool_use_without_result": "`tool_use` ids were found without `tool_result` blocks immediately after",
    "unexpected_tool_use_id": "unexpected `tool_use_id` found in `tool_result` blocks",
    "duplicate_tool_result": "each tool_use must have a single result",
    "duplicate_tool_use_id": "`tool_use` ids must be unique",
    "first_message_role": 'first message must use the "user" role',
    "empty_content": "all messages must have non-empty content except for the optional final assistant message",
    "empty_text_block": "text content blocks must contain non-whitespace text",
    "prefill_not_supported": "This model does not support assistant message prefill.",
    "thinking_not_first": "the first block must be `thinking` or `redacted_thinking`",
    "thinking_last": "The final block in an assistant message cannot be `thinking`.",
    "thinking_expected": "Expected `thinking` or `redacted_thinking`",
    "too_many_cache_control": "A maximum of 4 blocks with cache_control may be provided.",
}
"""The provider's error messages by the checker's codes; other codes use the checker's own message."""

TOOLS = [
    {"name": name, "description": f"{name} something", "input_schema": {"type": "object", "properties": {}}}
    for name in ("Read", "Bash", "Shot")
]
SYSTEM = [{"type": "text", "text": "You are an agent.", "cache_control": {"type": "ephemeral"}}]
LINE = "line {}: the build went on and said nothing that anybody would have to know\n"


def spoken(messages):
    """Role and block of all that is said, neighbours merged, cache markers aside."""
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            yield message["role"], _plain(block)


@dataclass
class Strict:
    """The server's side.

    Attributes:
        model: whose rules it has, and whose vocabulary it counts with (held to the provider's charges elsewhere).
        window: most tokens of a prompt.
        signed: for each signature, what stood before it, and the thinking before it.
        refused: what it said to those that it refused.
        served: number of requests that it took.
        dropped: thinking blocks that it dropped where that was asked for.
        largest: tokens of the longest prompt that it took.
    """

    model: str
    window: int
    signed: dict = field(default_factory=dict)
    refused: list = field(default_factory=list)
    served: int = 0
    dropped: int = 0
    largest: int = 0
    random: Random = field(default_factory=lambda: Random(11))

    def __post_init__(self):
        self.binds = trimtab.Model.named(self.model).binds_thinking
        self.counts = trimtab.Compactor(self.model)

    def handle(self, request):
        body = json.loads(request.get_data(cache=False))  # what the server keeps of a request is looked at by nobody
        wrong = self.wrong(body, request.headers.get("anthropic-beta", ""))
        if wrong:
            self.refused.append(wrong)
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": wrong}}
            return Reply(error, 400).response()
        self.served += 1
        self.largest = max(self.largest, self.tokens)
        return Reply(self.answer(body)).response()

    def wrong(self, body, betas):
        """The provider's words for what it would refuse; None for a request that it takes."""
        messages, thinks = body["messages"], None if self.binds else True
        for finding in check(messages, "anthropic", prefill=bool(body.get("compaction")), thinking=thinks):
            where, code, what = finding.split(": ", 2)
            return f"{where}: {WORDS.get(code, code)} ({what})"
        beside = {key: body.get(key) for key in ("system", "tools")}
        marks = sum(marked(part) for part in (*beside.values(), *(message["content"] for message in messages)))
        if marks > 4:
            return f"{WORDS['too_many_cache_control']} Found {marks}."
        if moved := self.misplaced(messages):
            return moved
        self.tokens = self.counts.count(self.shown(body), **beside)
        if self.tokens > self.window:
            return f"prompt is too long: {self.tokens} tokens > {self.window} maximum"
        binding = (body.get("thinking") or {}).get("block_binding")
        if binding and BINDING not in betas:
            return "thinking.block_binding: Extra inputs are not permitted"
        return self.unbound(messages, beside, drops=bool(binding))

    def misplaced(self, messages):
        """What is wrong with the compactions in a list; a server that writes none takes them as they come."""

    def shown(self, body):
        """The messages that the model sees."""
        return body["messages"]

    def stands_for(self, block):
        """What stands before a compaction: a digest, and the thinking before it; None for the list itself."""

    def unbound(self, messages, beside, *, drops):
        """Thinking that is not where it was made; where there is none, what the answer's is bound to is known."""
        before, last = hashlib.sha256(canonical(beside)), None
        for role, block in spoken(messages):
            if block["type"] == "compaction" and (state := self.stands_for(block)):
                before, last = state[0].copy(), state[1]
                continue
            if block["type"] not in THINKING:
                before.update(canonical([role, block]))
                continue
            known = self.signed.get(block.get("signature") or block.get("data"))
            if known is None:
                return "Invalid `signature` in `thinking` block"
            moved = self.binds and (known[0] != before.hexdigest() or last not in (None, known[1]))
            if moved and not drops:
                return "Invalid `signature` in `thinking` block: the block is bound to a different conversation."
            self.dropped += moved
            last = block.get("signature") or block.get("data")
        self.before_all, self.stands = before, (before.hexdigest(), last)
        return None

    def answer(self, body):
        """Return the model's next answer: thinking, text, and up to three calls."""
        n, draw = self.served, self.random.random
        signature = f"sig{n}.{self.stands[0][:12]}"
        self.signed[signature] = self.stands
        hidden = {"type": "redacted_thinking", "data": signature}
        thought = {"type": "thinking", "thinking": f"step {n}: " + "hmm " * 30, "signature": signature}
        blocks = [hidden if draw() < 0.1 else thought]
        calls = self.random.choice((0, 1, 1, 1, 2, 3))
        if draw() < 0.6 or not calls:
            blocks.append({"type": "text", "text": f"I go on with step {n}."})
        for k in range(calls):
            name = TOOLS[(n + k) % 3]["name"]
            blocks.append({"type": "tool_use", "id": f"toolu_{n}_{k}", "name": name, "input": {"n": n, "k": k}})
        usage = {"input_tokens": self.tokens, "output_tokens": 60 + 40 * calls}
        known = {"id": f"msg_{n}", "type": "message", "role": "assistant", "model": body["model"]}
        stop = "tool_use" if calls else "end_turn"
        return {**known, "content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": usage}


def marked(blocks):
    """Number of blocks with a cache marker, results' content among them."""
    if not isinstance(blocks, list):
        return 0
    return sum(("cache_control" in block) + marked(block.get("content")) for block in blocks)


def canonical(value):
    return json.dumps(value, sort_keys=True).encode()


@dataclass
class Agent:
    """The caller's side: what happens between two calls, the same for every policy.

    Attributes:
        objects: whether answers are put into the list as the SDK gives them.
        take: what a tool's output passes on its way into the list.
        lines: how many lines a tool gives, drawn from these.
        messages: the transcript, which the library's answers replace.
        met: how often it was given calls in parallel and pictures, and the user stopped an answer or the tools.
    """

    objects: bool
    take: object
    lines: tuple
    messages: list = field(default_factory=list)
    met: Counter = field(default_factory=Counter)
    random: Random = field(default_factory=lambda: Random(5))

    def __post_init__(self):
        """A session that is taken up again: 150,000 tokens are there already."""
        for n in range(14):
            said = f"Part {n} of the log:\n" + "".join(LINE.format(k) for k in range(600))
            self.messages += [{"role": "user", "content": said}, {"role": "assistant", "content": f"Part {n} is read."}]
        self.messages.append({"role": "user", "content": "Make it work, and do not touch main."})

    def answered(self, reply):
        """Takes an answer in and runs its tools; gives the moments that a policy may look at now.

        Now and then the user stops an answer before it is kept, so that the next request says the same again, or stops
        the tools.
        """
        blocks = list(reply.content) if self.objects else [block.to_dict() for block in reply.content]
        calls = [block for block in reply.content if block.type == "tool_use"]
        draw = self.random.random()
        if calls and draw < 0.04:
            self.met["answers stopped"] += 1
            return ()
        self.messages.append({"role": "assistant", "content": blocks})
        if not calls:
            return "after_step", "after_run"
        self.met["parallel batches"] += len(calls) > 1
        self.met["pictures"] += sum(call.name == "Shot" for call in calls)
        results = [self._result(call) for call in calls]
        if draw > 0.95:
            self.met["tools stopped"] += 1
            results[-1] |= {"content": "[interrupted by the user]", "is_error": True}
            results.append({"type": "text", "text": "Stop. Do something else."})
        self.messages.append({"role": "user", "content": results})
        return "after_step", "after_tool_batch"

    def goes_on(self):
        """The user says what is next once a run has ended; the last message is marked, as agents mark it."""
        if self.messages[-1]["role"] == "assistant":
            said = [f"Good. Next: part {len(self.messages)}."] + ["And be quick."] * (self.random.random() > 0.9)
            self.messages += [{"role": "user", "content": text} for text in said]
        clean = [_unmarked(message) for message in self.messages]
        last = clean[-1]
        blocks = [{"type": "text", "text": last["content"]}] if isinstance(last["content"], str) else last["content"]
        blocks = [*blocks[:-1], {**blocks[-1], "cache_control": {"type": "ephemeral"}}]
        self.messages = [*clean[:-1], {**last, "content": blocks}]

    def _result(self, call):
        known = {"type": "tool_result", "tool_use_id": call.id}
        if call.name == "Shot":
            source = {"type": "base64", "media_type": "image/png", "data": png(300 + call.input["n"], 200)}
            return {**known, "content": [{"type": "image", "source": source}, {"type": "text", "text": "a picture"}]}
        lines = self.take(call.name, "".join(LINE.format(n) for n in range(self.random.choice(self.lines))))
        return {**known, "content": lines if call.name == "Read" else [{"type": "text", "text": lines}]}


def _unmarked(message):
    content = message["content"]
    if isinstance(content, str) or not any(isinstance(block, dict) and "cache_control" in block for block in content):
        return message
    return {**message, "content": [_plain(block) if isinstance(block, dict) else block for block in content]}


def _plain(block):
    return {key: value for key, value in block.items() if key != "cache_control"}
