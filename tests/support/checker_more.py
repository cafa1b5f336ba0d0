"""The independent judge of Bedrock's and Gemini's lists; like ``checker``, it shares no code with trimtab."""

BEDROCK = {"text", "toolUse", "toolResult", "reasoningContent", "image", "document", "video", "cachePoint"}
GEMINI = {"text", "functionCall", "functionResponse", "inlineData", "fileData", "executableCode", "codeExecutionResult"}
SNAKE = {
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "inline_data": "inlineData",
    "file_data": "fileData",
}
ASKS = {"functionCall", "function_call"}
BESIDE = {"thought", "thoughtSignature", "thought_signature"}


def bedrock_shape(message):
    if message.get("role") not in ("user", "assistant"):
        yield "system_role" if message.get("role") == "system" else "unknown_role", "roles are user and assistant"
    content = message.get("content")
    if not isinstance(content, list) or not content:
        yield "empty_content", "content is a list of at least one block"
        return
    for block in content:
        kind = next(iter(block), None) if isinstance(block, dict) and len(block) == 1 else None
        if kind not in BEDROCK:
            yield "unknown_block", f"no {kind} here"
        elif kind == "text" and not (isinstance(block["text"], str) and block["text"].strip()):
            yield "blank_text_block", "the text field is blank"
        elif kind in ("toolUse", "toolResult"):
            held = block[kind]
            if not isinstance(held, dict) or not held.get("toolUseId") or not isinstance(held["toolUseId"], str):
                yield "missing_field", f"{kind} needs toolUseId"
            elif not isinstance(held.get("content", []), list):
                yield "wrong_type", "content of a result is a list"
        elif kind == "reasoningContent" and "reasoningText" in block[kind]:
            said = block[kind]["reasoningText"]
            if not isinstance(said.get("text"), str) or not said.get("signature"):
                yield "thinking_signature_missing", "reasoning comes with its text and signature"


def bedrock(messages, in_flight, prefill, thinking):
    if messages[0]["role"] != "user":
        yield 0, "first_message_role", "a conversation starts with a user message"
    seen, calls, caller = set(), [], 0
    for i, message in enumerate(messages):
        blocks, role = message["content"], message["role"]
        kinds = [next(iter(block)) for block in blocks]
        if i and messages[i - 1]["role"] == role:
            yield i, "role_alternation", "roles alternate"
        answers = [block["toolResult"]["toolUseId"] for block in blocks if "toolResult" in block]
        if role == "assistant":
            yield from _said(i, kinds, answers, thinking=thinking is False and i + 1 == len(messages))
            asked = [block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block]
            for ref in asked:
                if ref in seen:
                    yield i, "duplicate_tool_use_id", f"ids are unique, not so {ref}"
                seen.add(ref)
            calls, caller = asked, i
            continue
        if {"toolUse", "reasoningContent"} & {*kinds}:
            yield i, "block_role", "what the model says stands in its own messages"
        if len(answers) > len({*answers}):
            yield i, "duplicate_tool_result", "one result for each call"
        if {*answers} - {*calls}:
            yield i, "unexpected_tool_use_id", "more results than calls in the turn before"
        running = in_flight and i + 1 == len(messages) and {*kinds} == {"toolResult"}
        if {*calls} - {*answers} and not running:
            yield caller, "tool_use_without_result", "each call has its result in the next turn"
        calls = []
    if calls and not in_flight:
        yield caller, "tool_use_without_result", "each call has its result in the next turn"
    yield from _end(messages, prefill=prefill)
    loop = _loop(messages)
    if thinking and loop and loop[0] != "reasoningContent":
        yield len(messages) - 1, "thinking_expected", "the open loop starts with reasoning"
    marked = sum("cachePoint" in block for message in messages for block in message["content"])
    if marked > 4:
        yield len(messages) - 1, "too_many_cache_control", "at most four cache points"


def _said(i, kinds, answers, *, thinking):
    if answers:
        yield i, "tool_result_role", "results stand in user messages"
    if "reasoningContent" in kinds and kinds[0] != "reasoningContent":
        yield i, "thinking_not_first", "reasoning comes first"
    if kinds[-1] == "reasoningContent":
        yield i, "thinking_last", "reasoning is not last"
    if thinking and "reasoningContent" in kinds:
        yield i, "thinking_disabled_final", "thinking is off"


def _end(messages, *, prefill):
    last = messages[-1]["content"]
    if messages[-1]["role"] != "assistant" or any("toolUse" in block for block in last):
        return
    if not prefill:
        yield len(messages) - 1, "prefill_unsupported", "the list ends with a user message"
    if last[-1].get("text", "")[-1:].isspace():
        yield len(messages) - 1, "final_assistant_whitespace", "the last text ends in white space"


def _loop(messages):
    """The kinds of the first answer in the tool loop that is open at the end; empty if there is none."""
    first = []
    for message in messages:
        kinds = [next(iter(block)) for block in message["content"]]
        goes_on = message["role"] == "assistant" or {*kinds} == {"toolResult"}
        first = (first or (kinds if message["role"] == "assistant" else [])) if goes_on else []
    open_end = messages[-1]["role"] == "user" or any("toolUse" in block for block in messages[-1]["content"])
    return first if open_end else []


def _kind(part):
    kinds = [SNAKE.get(key, key) for key in part if key not in BESIDE] if isinstance(part, dict) else []
    return kinds[0] if len(kinds) == 1 else None


def gemini_shape(content):
    if content.get("role", "user") not in ("user", "model", "function"):
        yield "unknown_role", "roles are user and model"
    parts = content.get("parts")
    if not isinstance(parts, list) or not parts:
        yield "empty_content", "parts must not be empty"
        return
    for part in parts:
        kind = _kind(part)
        signed = isinstance(part, dict) and BESIDE & part.keys()
        if kind not in GEMINI:
            yield "unknown_block", f"no {kind} here"
        elif kind == "text" and (not isinstance(part["text"], str) or (not part["text"] and not signed)):
            yield "empty_text_block", "a part has data"
        elif kind in ("functionCall", "functionResponse") and not _held(part, kind).get("name"):
            yield "missing_field", f"{kind} needs a name"


def _held(part, kind):
    return next(value for key, value in part.items() if SNAKE.get(key, key) == kind)


def gemini(contents, in_flight, prefill, _thinking):
    names = [
        {kind: [_ref(_held(p, kind)) for p in c["parts"] if _kind(p) == kind] for kind in GEMINI} for c in contents
    ]
    for i, content in enumerate(contents):
        model, calls, given = content.get("role") == "model", names[i]["functionCall"], names[i]["functionResponse"]
        if calls and not model:
            yield i, "block_role", "the model calls"
        if given and model:
            yield i, "tool_result_role", "the user responds"
        if model and calls:
            if i == 0 or contents[i - 1].get("role") == "model":
                yield i, "function_call_position", "a call comes after the user or a response"
            answers = names[i + 1]["functionResponse"] if i + 1 < len(contents) else []
            only = i + 1 == len(contents) or len(answers) == len(contents[i + 1]["parts"])
            running = in_flight and i + 2 >= len(contents) and only and len(answers) <= len(calls)
            if len(answers) != len(calls) and not running:
                yield i, "function_response_count", "as many responses as calls, in the next content"
            elif _unasked([part[key] for part in content["parts"] for key in ASKS & part.keys()], calls, answers):
                yield i + 1, "function_response_name", "responses name what was called"
        if given and (i == 0 or not names[i - 1]["functionCall"] or contents[i - 1].get("role") != "model"):
            yield i, "function_response_position", "a response comes after its call"
    if not prefill and contents[-1].get("role") == "model" and not names[-1]["functionCall"]:
        yield len(contents) - 1, "prefill_unsupported", "the list ends with a user content"


def _unasked(called, calls, answers):
    """The answers to nothing: those of an id or a name that no call has, which no other call of that name waits for."""
    refs, waiting = list(calls), [(ref, call.get("name")) for ref, call in zip(calls, called, strict=True)]
    left = [ref for ref in answers if ref not in refs or refs.remove(ref)]
    names = [name for ref, name in waiting if ref in refs and ref != name]
    return [name for name in left if name not in names or names.remove(name)]


def _ref(held):
    return held.get("id") or held.get("name") if isinstance(held, dict) else held
