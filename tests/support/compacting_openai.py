"""A server on this machine that compacts as OpenAI's Responses document it: in a call, and on demand."""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field

from werkzeug import Request, Response

from support.agents import Model, RefusedError
from support.openai_server import Server, _events, _json

RULE = "RULE-7"

CACHED, STEP = 1_024, 128
"""Tokens of a prompt from which on its beginning is read from the cache, and those that count together."""


@dataclass
class Compacting:
    """The server; ``model`` decides, counts and judges.

    Attributes:
        model: the stub.
        refuses: what it says to a request that asks it to compact; None takes it.
        made: what each compaction item stands for, by its ciphertext: whether it was made in a call.
        passes: tokens of its own passes, read and written.
        did: how often it compacted in a call and on demand, and how many prompts lacked the rule.
        usage: tokens of the calls, those read from the cache apart.
        before: the parts of the last prompt, with the tokens up to the end of each.
    """

    model: Model
    refuses: object = None
    made: dict = field(default_factory=dict)
    passes: list = field(default_factory=list)
    did: Counter = field(default_factory=Counter)
    usage: Counter = field(default_factory=Counter)
    refused: list = field(default_factory=list)
    before: list = field(default_factory=list)

    def __call__(self, environ, start):
        request = Request(environ)
        body = request.get_json()
        alone = request.path.endswith("/responses/compact")
        wrong = (self.refuses if alone or body.get("context_management") else None) or self.wrong(body)
        if wrong:
            self.refused.append(wrong)
            status = 404 if wrong == "Not Found" else 400
            return _json({"error": {"message": wrong, "type": "invalid_request_error"}}, status)(environ, start)
        seen = self.seen(body["input"])
        if alone:
            return _json(self.on_demand(seen))(environ, start)
        try:
            answer, items = self.called(seen, body)
        except RefusedError as error:
            self.refused.append(str(error))
            told = {"message": str(error), "type": "invalid_request_error", "code": "context_length_exceeded"}
            return _json({"error": told}, 400)(environ, start)
        made = Server(self.model)._response(answer, body)
        made["output"] = [*items, *made["output"]]
        read = min(self.cached([body.get("tools"), body.get("instructions"), *self.model.last]), answer.prompt)
        made["usage"]["input_tokens_details"]["cached_tokens"] = read
        self.usage.update(calls=1, input_tokens=answer.prompt - read, cache_read_input_tokens=read, output_tokens=9)
        if not body.get("stream"):
            return _json(made)(environ, start)
        return Response("".join(_events(made)), content_type="text/event-stream")(environ, start)

    def wrong(self, body):
        """The words for what would be refused."""
        for entry in body.get("context_management") or ():
            if entry.get("type") != "compaction":
                return "Invalid value: 'context_management[0].type'. Supported values are: 'compaction'."
            if (entry.get("compact_threshold") or 1_000) < 1_000:
                return "Invalid 'context_management[0].compact_threshold': integer below minimum value."
        for index, item in enumerate(body["input"] if isinstance(body["input"], list) else ()):
            if item.get("type") == "compaction" and item.get("encrypted_content") not in self.made:
                return f"Invalid 'input[{index}].encrypted_content': the compaction item could not be verified."
        return None

    def seen(self, items):
        """What the model sees: what stands before the newest compaction is not read, but the user's messages are."""
        places = [n for n, item in enumerate(items) if item.get("type") == "compaction"]
        if not places:
            return items
        return [*(item for item in items[: places[-1]] if item.get("role") == "user"), *items[places[-1] :]]

    def cached(self, parts):
        """The tokens that the last prompt left in the cache: of what both begin with, in whole steps."""
        end, said, same = 0, [], 0
        for part in parts:
            end += self.model._count(part)
            said.append((json.dumps(part, sort_keys=True), end))
        for one, other in zip(said, self.before, strict=False):
            if one != other:
                break
            same = one[1]
        self.before = said
        return same // STEP * STEP if same >= CACHED else 0

    def item(self, seen, in_call):
        text = json.dumps(seen, sort_keys=True) + str(len(self.made))
        secret = hashlib.sha256(text.encode()).hexdigest() * 6
        self.made[secret] = in_call
        return {"type": "compaction", "id": f"cmp_{len(self.made)}", "encrypted_content": secret}

    def on_demand(self, seen):
        """A compaction of its own: its request has no tools, so that it begins otherwise than what is in the cache."""
        self.did["on demand"] += 1
        tokens = self.model._count(seen)
        self.passes.append({"input_tokens": tokens, "output_tokens": 300})
        users = [item for item in seen if item.get("role") == "user"]
        usage = {"input_tokens": tokens, "output_tokens": 300, "total_tokens": tokens + 300}
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        known = {"id": f"resp_c{len(self.made)}", "object": "response.compaction", "created_at": 1}
        return {**known, "output": [*users, self.item(seen, in_call=False)], "usage": {**usage, **details}}

    def called(self, seen, body):
        items = []
        tokens = self.model._count(seen)
        threshold = next((each["compact_threshold"] for each in body.get("context_management") or ()), None)
        if threshold is not None and tokens > threshold:
            self.did["in a call"] += 1  # no document says where such a pass is billed
            items = [self.item(seen, in_call=True)]
            users = [item for item in seen if item.get("role") == "user"]
            seen = [*users, *items]
        elif RULE not in json.dumps(seen):
            self.did["without the rule"] += 1
        beside = [body.get("tools"), body.get("instructions")]
        return self.model.answer(seen, beside, "openai_responses"), items
