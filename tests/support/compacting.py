"""A server on this machine that compacts as Anthropic documents it, as strict as ``Strict`` is, and agents on it.

What stands before its newest compaction it drops; results are cleared before the prompt is counted; a compaction on
demand is signed, stands first and is sent back as it came. Its own passes are billed beside the call's usage.
"""

import copy
import json
from collections import Counter
from dataclasses import dataclass, field
from random import Random

from werkzeug import Request, Response

import trimtab
from support.loopback import Reply
from support.simulated import events
from support.strict import Strict, canonical, spoken

EDITING, COMPACTING, ON_DEMAND = "context-management-2025-06-27", "compact-2026-01-12", "compact-2026-09-04"
CLEARED = "[the result of this call was cleared]"
EDITS = ("clear_thinking_20251015", "clear_tool_uses_20250919", "compact_20260112")
OF_REPLY = ("stop_sequences", "output_format", "context_management")
LEAST = 50_000
RULE = "do not touch main"


@dataclass
class Compacting(Strict):
    """The server.

    Attributes:
        refuses: what it says to a request that asks it to compact; None takes it.
        least: least trigger of a compaction in a call; a test's conversation may be shorter than the provider's.
        passes: usage of its own passes.
        usage: usage of the calls.
        did: how often it cleared, compacted in a call and on demand, and how many prompts lacked the rule.
        signatures: what each compaction stands for, by its text: the state behind which later thinking stands.
        faults: share of requests that are answered with 429 or 529.
        met: how often, by status.
    """

    refuses: object = None
    least: int = LEAST
    passes: list = field(default_factory=list)
    usage: Counter = field(default_factory=Counter)
    did: Counter = field(default_factory=Counter)
    signatures: dict = field(default_factory=dict)
    before: list = field(default_factory=list)
    faults: float = 0.0
    met: Counter = field(default_factory=Counter)
    chance: Random = field(default_factory=lambda: Random(3))

    def __call__(self, environ, start):
        request = Request(environ)
        if self.chance.random() < self.faults:
            status = self.chance.choice((429, 529))
            self.met[status] += 1
            told = {"type": "error", "error": {"type": "overloaded_error", "message": "try again"}}
            return Reply(told, status, {"retry-after-ms": "1"}).response()(environ, start)
        return self.handle(request)(environ, start)

    def becomes(self, model):
        """Go on as another model."""
        self.model, self.binds = model, trimtab.Model.named(model).binds_thinking
        self.counts = trimtab.Compactor(model)

    def handle(self, request):
        body = json.loads(request.get_data(cache=False))
        betas = request.headers.get("anthropic-beta", "")
        asks = [name for name in ("context_management", "compaction") if body.get(name)]
        wrong = (self.refuses if asks else None) or parameters(body, betas, self.least) or self.wrong(body, betas)
        if wrong:
            self.refused.append(wrong)
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": wrong}}
            return Reply(error, 400).response()
        self.served += 1
        if body.get("compaction"):
            return Reply(self.on_demand(body)).response()
        self.largest = max(self.largest, self.tokens)
        made = self.called(body)
        if not body.get("stream"):
            return Reply(made).response()
        data = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _events(made))
        return Response(data, 200, {"content-type": "text/event-stream"})

    def misplaced(self, messages):
        """What is wrong with the compactions in a list: changed, invented, or signed and not first."""
        for index, message in enumerate(messages):
            for block in message["content"] if isinstance(message["content"], list) else ():
                if block["type"] != "compaction" or block.get("content") is None:
                    continue
                known = self.signatures.get(block["content"])
                if known is None or block.get("signature") != known["signature"]:
                    return f"messages.{index}: `compaction` blocks cannot be modified."
                if known["signature"] and index:
                    return f"messages.{index}: a signed `compaction` block must be the first block of the first message"
        return None

    def shown(self, body):
        """The messages that the model sees: without what stands before a compaction, and what the edits clear."""
        self.seen, self.applied = self.edited(body)
        return self.seen

    def edited(self, body):
        """The messages that the model sees, and the edits that made them so."""
        messages = since_compaction(body["messages"])
        whole = self.counts.count(messages, system=body.get("system"), tools=body.get("tools"))
        applied = []
        for edit in (body.get("context_management") or {}).get("edits", ()):
            if edit["type"] == EDITS[1] and whole > edit.get("trigger", {"value": 100_000})["value"]:
                made, uses = cleared(messages, edit)
                gone = self.counts.count(messages) - self.counts.count(made)
                if gone >= (edit.get("clear_at_least") or {"value": 0})["value"]:
                    messages = made
                    applied.append({"type": edit["type"], "cleared_input_tokens": gone, "cleared_tool_uses": uses})
            now = self.counts.count(messages, system=body.get("system"), tools=body.get("tools"))
            if edit["type"] == EDITS[2] and now > edit.get("trigger", {"value": 150_000})["value"]:
                applied.append(edit)
        return messages, applied

    def stands_for(self, block):
        """What stands before a compaction of the server's own, whatever the list has there."""
        return self.signatures[block["content"]]["state"] if block.get("content") is not None else None

    def block(self, signed):
        """A new compaction of what the model sees."""
        number = len(self.signatures) + 1
        text = f"Compaction {number}: " + "the agent worked on the build and goes on. " * 40
        signature = f"signed.{number}" if signed else None
        self.signatures[text] = {"signature": signature, "state": (self.before_all.copy(), self.stands[1])}
        return {"type": "compaction", "content": text} | ({"signature": signature} if signed else {})

    def billed_pass(self):
        """The usage of a pass that reads what the model sees."""
        told = {"type": "compaction", **self.cached(), "output_tokens": 450}
        self.passes.append(told)
        return told

    def cached(self):
        """The tokens of what the model sees, by what the last prompt left in the cache."""
        said = [canonical(part) for part in spoken(self.seen)]
        same = 0
        for one, other in zip(said, self.before, strict=False):
            if one != other:
                break
            same += len(one)
        self.before = said
        read = self.tokens * same // max(sum(map(len, said)), 1)
        return {"input_tokens": 0, "cache_read_input_tokens": read, "cache_creation_input_tokens": self.tokens - read}

    def on_demand(self, body):
        self.did["on demand"] += 1
        told = self.billed_pass()
        usage = {"input_tokens": 0, "output_tokens": 0, "iterations": [told]}
        known = {"id": f"msg_{self.served}", "type": "message", "role": "assistant", "model": body["model"]}
        content = [self.block(signed=True)]
        return {**known, "content": content, "stop_reason": "compaction", "stop_sequence": None, "usage": usage}

    def called(self, body):
        """The model's answer, behind a compaction where one is due."""
        blocks, passes = [], []
        if any(edit["type"] == EDITS[2] for edit in self.applied):
            self.did["in a call"] += 1
            passes.append(self.billed_pass())
            blocks.append(self.block(signed=False))
            self.seen = [{"role": "assistant", "content": blocks}]
            self.tokens = self.counts.count(self.seen, system=body.get("system"), tools=body.get("tools"))
        elif RULE not in json.dumps(self.seen):
            self.did["without the rule"] += 1
        edits = [edit for edit in self.applied if edit["type"] != EDITS[2]]
        self.did["cleared"] += bool(edits)
        made = self.answer(body)
        made["usage"] |= self.cached()
        self.usage.update(made["usage"])
        if passes:
            made["usage"]["iterations"] = [*passes, {"type": "message", **made["usage"]}]
        if body.get("context_management"):
            made["context_management"] = {"applied_edits": edits}
        return {**made, "content": [*blocks, *made["content"]]}


def since_compaction(messages):
    """What stands before the newest compaction is dropped; of its own message, what stands before the block."""
    for index in range(len(messages) - 1, -1, -1):
        content = messages[index]["content"]
        for place in range(len(content) - 1, -1, -1) if isinstance(content, list) else ():
            if content[place]["type"] == "compaction" and content[place].get("content") is not None:
                return [{**messages[index], "content": content[place:]}, *messages[index + 1 :]]
    return messages


def cleared(messages, edit):
    """The messages with the results of the oldest calls cleared, and how many."""
    uses = [
        block
        for message in messages
        for block in (message["content"] if isinstance(message["content"], list) else ())
        if block["type"] == "tool_use"
    ]
    keep = edit.get("keep", {"value": 3})["value"]
    old = uses[: max(len(uses) - keep, 0)]
    gone = {block["id"] for block in old if block["name"] not in (edit.get("exclude_tools") or ())}
    made = copy.deepcopy(messages)
    for message in made:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result" and block["tool_use_id"] in gone:
                block["content"] = CLEARED
    return made, len(gone)


def parameters(body, betas, least=LEAST):
    """The provider's words for parameters that it would refuse; None for those that it takes."""
    edits, asked = (body.get("context_management") or {}).get("edits"), body.get("compaction")
    types = [edit.get("type") for edit in edits or ()]
    if edits is not None and not {EDITING, COMPACTING} & set(betas.split(",")):
        return "context_management: Extra inputs are not permitted"
    if EDITS[2] in types and COMPACTING not in betas:
        return "context_management.edits: compact_20260112 needs its beta flag"
    if asked and ON_DEMAND not in betas:
        return "compaction: Extra inputs are not permitted"
    if asked and any(body.get(name) for name in OF_REPLY):
        return "compaction: cannot be combined with what shapes a reply"
    if unknown := [kind for kind in types if kind not in EDITS]:
        return f"context_management.edits.0: Input tag '{unknown[0]}' found using 'type' does not match"
    if EDITS[0] in types and types[0] != EDITS[0]:
        return "`clear_thinking_20251015` must be the first edit"
    if EDITS[0] in types and (body.get("thinking") or {}).get("type") not in {"enabled", "adaptive"}:
        return "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive"
    for edit in edits or ():
        if edit["type"] == EDITS[2] and edit.get("trigger", {"value": 150_000})["value"] < least:
            return f"context_management.edits.0.trigger.value: Input should be greater than or equal to {least}"
    held = [block for _, block in spoken(body["messages"]) if block["type"] == "compaction"]
    signed = any(block.get("signature") for block in held)
    if not {ON_DEMAND if block.get("signature") else COMPACTING for block in held} <= set(betas.split(",")):
        return "messages.0.content.0: Input tag 'compaction' found using 'type' does not match any of the expected tags"
    if EDITS[2] in types and signed:
        return "a `compaction` block with a signature cannot be combined with compact_20260112"
    return _of_pass(body["messages"]) if asked else None


def _of_pass(messages):
    """What a list that is to be compacted on demand must not be."""
    last = messages[-1]["content"]
    if messages[-1]["role"] == "assistant" and any(
        block["type"] == "tool_use" for block in (last if isinstance(last, list) else ())
    ):
        return "compaction: the last turn has an unanswered tool call"
    return None


def _events(answer):
    """The events of a stream, a compaction's among them."""
    more = {"usage": answer["usage"], "context_management": answer.get("context_management")}
    for event in events(answer):
        block = event.get("content_block", {})
        yield {**event, **(more if event["type"] == "message_delta" else {})} | (
            {"content_block": {**block, "content": None}} if block.get("type") == "compaction" else {}
        )
        if block.get("type") == "compaction":
            delta = {"type": "compaction_delta", "content": block["content"]}
            yield {"type": "content_block_delta", "index": event["index"], "delta": delta}
