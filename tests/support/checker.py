"""An independent judge of message lists: would the provider accept this?

It shares no code with trimtab, on purpose: it is written from the providers' rules alone, so that a mistake in the
library's own validation is not a mistake here too. It judges as a server does, in two linear passes: the shape of every
message, and only if that holds the rules between them. It judges no sizes (tokens, pictures), nor what only the server
can know (whether a signature is genuine, to which stored reasoning a call belongs).
"""

from itertools import takewhile

from support import checker_more


def _table(text):
    """The known types, each with its required fields: ``"text:text tool_use:id,name,input"``."""
    return {kind: fields.split(",") if fields else [] for kind, _, fields in (e.partition(":") for e in text.split())}


# Types of fields that are not strings; the last line lists names whose type depends on the block.
TYPES = dict.fromkeys(("source", "input", "image_url", "input_audio", "file", "action", "operation"), dict)
TYPES |= dict.fromkeys(("content", "tools", "summary"), list) | {"output": (str, list)}
TYPES |= {"custom.input": str, "custom_tool_call.input": str, "computer_call_output.output": dict}

RESULT_BLOCKS = _table("text:text image:source document:source search_result:title,content tool_reference:tool_name")
BLOCKS = RESULT_BLOCKS | _table(
    "thinking:thinking,signature redacted_thinking:data tool_result:tool_use_id tool_use:id,name,input "
    "server_tool_use:id,name,input mcp_tool_use:id,name,input container_upload:file_id compaction"
)
SOURCES = _table("base64:media_type,data text:media_type,data url:url file:file_id content")
THINKING, SERVER_CALLS = {"thinking", "redacted_thinking"}, {"server_tool_use", "mcp_tool_use"}
UNSEEN = {"compaction", "fallback", "mcp_tool_listing"}  # the provider does not show them to the model
FROM_MODEL = THINKING | SERVER_CALLS | {"tool_use", "compaction"}

TEXT, INPUT = _table("text:text"), _table("input_text:text input_image input_file input_audio")
SPOKEN, OUTPUT = _table("text:text refusal:refusal"), _table("output_text:text refusal:refusal")
MEDIA = TEXT | _table("image_url:image_url input_audio:input_audio file:file")
CHAT = {"system": TEXT, "developer": TEXT, "tool": TEXT, "function": TEXT, "user": MEDIA, "assistant": SPOKEN}
RESPONSES = {"system": INPUT, "developer": INPUT, "user": INPUT, "assistant": OUTPUT}
ROLES = {"anthropic": dict.fromkeys(("user", "assistant"), BLOCKS), "openai_chat": CHAT, "openai_responses": RESPONSES}
CHAT_CALLS = _table("function:name,arguments custom:name,input")
HOSTED = _table("web_search_call file_search_call code_interpreter_call image_generation_call mcp_call mcp_list_tools")
ITEMS = HOSTED | _table(
    "function_call:name,arguments function_call_output:output custom_tool_call:name,input "
    "custom_tool_call_output:output local_shell_call:action local_shell_call_output:output shell_call:action "
    "shell_call_output:output apply_patch_call:operation apply_patch_call_output:status computer_call "
    "computer_call_output:output tool_search_call tool_search_output:tools reasoning:summary item_reference:id "
    "compaction:encrypted_content mcp_approval_request mcp_approval_response:approval_request_id"
)
ANSWERS = {kind: {f"{kind}_output"} for kind in ITEMS if f"{kind}_output" in ITEMS}
ANSWERS["local_shell_call"].add("function_call_output")  # as Codex writes it
ANSWERS["tool_search_call"] = {"tool_search_output"}
OUTPUTS = set().union(*ANSWERS.values())
MODEL_ITEMS = {*ANSWERS, *HOSTED, "hosted", "assistant", "reasoning", "item_reference", "mcp_approval_request"}


def check(messages, provider, *, in_flight=False, prefill=True, thinking=None, container=None):
    """Findings, ``"messages[3]: <code>: <what is wrong>"``; [] if the provider would accept the list.

    `in_flight`: calls of the last assistant turn may be open, with nothing but some of their results behind them.
    `prefill`: the model lets an assistant message end the list. `thinking`: on, off, or None if not known.
    `container`: the container that the request names.
    """
    shape, rules = JUDGES[provider]
    if not isinstance(messages, list) or not messages:
        return ["messages: empty_messages: a list of at least one message is required"]
    shapes = (shape(m, ROLES.get(provider)) if isinstance(m, dict) else [("wrong_type", "no dict")] for m in messages)
    found = [(i, *finding) for i, findings in enumerate(shapes) for finding in findings]
    found = found or sorted(rules(messages, in_flight, prefill, thinking))
    if provider == "anthropic" and not container and not found:
        found = list(_without_container(messages))
    return [f"messages[{i}]: {code}: {what}" for i, code, what in found]


def _fields(of, names, where):
    for name in names:
        if not isinstance(of.get(name), TYPES.get(f"{where}.{name}", TYPES.get(name, str))):
            code = "thinking_signature_missing" if name == "signature" else "missing_field"
            yield code, f"{where} needs {name}, got {type(of.get(name)).__name__}"


def _message(message, roles):
    role = str(message.get("role"))
    if role in roles:
        yield from _content(message.get("content"), roles[role])
    else:
        yield "system_role" if role == "system" else "unknown_role", f"no messages of role {role} here"


def _content(content, allowed):
    if not isinstance(content, str | list):
        yield "null_content" if content is None else "wrong_type", "content is a string or a list"
    for block in content if isinstance(content, list) else ():
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(kind, str):
            yield "wrong_type", "content holds something that is no dict with a type"
        elif allowed is BLOCKS and kind not in BLOCKS and kind.endswith("_tool_result"):
            yield from _fields(block, ["tool_use_id"], kind)
        elif kind not in allowed:
            yield "unknown_block", f"no {kind} here"
        else:
            yield from _fields(block, allowed[kind], kind)
            if isinstance(source := block.get("source"), dict):
                yield from _fields(source, SOURCES.get(str(source.get("type")), ["known type"]), "source")
            if kind == "tool_result":
                yield from _content(block.get("content") or "", RESULT_BLOCKS)


def _anthropic(messages, in_flight, prefill, thinking):
    turns, marked = [], []  # turns: (role, [(position, block)]), neighbours of one role merged as the server does
    for i, message in enumerate(messages):
        role, content = message["role"], message["content"]
        if not content and (role == "user" or i + 1 < len(messages)):
            yield i, "empty_content", "only a final assistant message may be empty"
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
        if not turns or turns[-1][0] != role:
            turns.append((role, []))
        turns[-1][1].extend((i, block) for block in blocks)
        for block in blocks:
            leads = block is blocks[0] and i == 0 and block["type"] == "compaction" and block.get("content")
            yield from ((i, *finding) for finding in _block(block, "assistant" if leads else role))
            nested = block.get("content") if block["type"] == "tool_result" else None
            marked += [i for b in (block, *(nested if isinstance(nested, list) else ())) if b.get("cache_control")]
    if len(marked) > 4:
        yield marked[4], "too_many_cache_control", f"a maximum of 4 blocks may be marked, found {len(marked)}"
    first, (role, blocks) = turns[0], turns[-1]
    if first[0] != "user" and [block["type"] for _, block in first[1][:1]] != ["compaction"]:
        yield 0, "first_message_role", 'first message must use the "user" role'
    end = blocks[-1][1] if blocks else {"type": "text", "text": ""}
    if role == "assistant" and end.get("text", "")[-1:].isspace():
        yield len(messages) - 1, "final_assistant_whitespace", "the last text ends in whitespace"
    served = {block["tool_use_id"] for _, block in blocks if block["type"].endswith("_tool_result")}
    runs = in_flight and any(block["type"] in SERVER_CALLS and block["id"] not in served for _, block in blocks)
    if role == "assistant" and not prefill and end["type"] == "text" and not _calls(blocks) and not runs:
        yield len(messages) - 1, "prefill_not_supported", "the list must end with a user message"
    yield from _pairs(turns, in_flight)
    yield from _server_pairs(turns, in_flight, may_pause=messages[-1]["content"] != "")
    yield from _thinking(turns, thinking)


def _block(block, role):
    kind = block["type"]
    nested = block.get("content") if kind == "tool_result" else None
    for part in (block, *(nested if isinstance(nested, list) else ())):
        if part.get("text") == "" and part.get("cache_control"):
            yield "cache_control_on_empty_text", "an empty text cannot be marked"
    if kind == "text" and not block["text"].strip():
        yield "empty_text_block", "text is more than whitespace"
    if kind in THINKING and block.get("cache_control"):
        yield "cache_control_on_thinking", "thinking cannot be marked"
    if kind == "tool_result" if role == "assistant" else kind in FROM_MODEL or kind.endswith("_tool_result"):
        yield "block_role", f"no {kind} in a message of this role"


def _without_container(messages):
    """A call that a code execution made is answered in its container, until the execution has its result."""
    blocks = [(i, b) for i, m in enumerate(messages) if isinstance(m["content"], list) for b in m["content"]]
    ended = {block["tool_use_id"] for _, block in blocks if block["type"].endswith("_tool_result")}
    waiting = False
    for i, block in blocks:
        waiting = waiting or (block["type"] in SERVER_CALLS and block["id"] not in ended)
        if waiting and block.get("caller", {"type": "direct"})["type"] != "direct":
            yield i, "container_required", "the code execution that made this call still runs"
            return


def _calls(blocks):
    return {block["id"]: i for i, block in blocks if block["type"] == "tool_use"}


def _only_results(turn):
    return turn[0] == "user" and all(block["type"] == "tool_result" for _, block in turn[1])


def _pairs(turns, in_flight):
    """A tool_use has one result in the next user turn, before anything else; a result has its tool_use."""
    seen, calls = set(), {}  # all ids; the calls of the assistant turn just read
    for turn in turns:
        answered, others = set(), False
        for i, block in turn[1]:
            ref = block.get("tool_use_id")
            if turn[0] == "assistant":
                if block["type"] in SERVER_CALLS | {"tool_use"} and block["id"] in seen:
                    yield i, "duplicate_tool_use_id", f"ids are unique, not so {block['id']}"
                seen.add(block.get("id"))
            elif block["type"] != "tool_result":
                others = True
            elif ref not in calls:
                yield i, "unexpected_tool_use_id", f"no call {ref} in the previous turn"
            elif ref in answered:
                yield i, "duplicate_tool_result", f"more than one result for {ref}"
            else:
                answered.add(ref)
                if others:
                    yield i, "tool_result_not_first", f"the result of {ref} stands behind other content"
        calls = calls if turn[0] == "user" else _calls(turn[1])
        last = turn is turns[-1]
        if (turn[0] == "user" or last) and not (in_flight and last and (turn[0] == "assistant" or _only_results(turn))):
            for ref in calls.keys() - answered:
                yield calls[ref], "tool_use_without_result", f"no result for {ref} in the next turn"


def _server_pairs(turns, in_flight, *, may_pause):
    """A server's call has its result in its own turn; only results of client calls may come in between."""
    opened = {}
    for t, (role, blocks) in enumerate(turns):
        for i, block in blocks if role == "assistant" else ():
            if block["type"] in SERVER_CALLS:
                opened[block["id"]] = i
            elif block["type"].endswith("_tool_result") and opened.pop(block["tool_use_id"], None) is None:
                yield i, "server_result_without_use", f"no open call {block['tool_use_id']} before it"
        if role == "user" or (in_flight and t + 1 == len(turns)):
            continue
        if t + 1 == len(turns) and may_pause:  # a paused answer ends with what the server runs, and goes back as it is
            served = [*takewhile(_is_served, (block for _, block in reversed(blocks)))]
            opened = {ref: i for ref, i in opened.items() if ref not in {block.get("id") for block in served}}
        goes_on = t + 1 < len(turns) and _calls(blocks)  # once the server has the client's results
        if goes_on and _only_results(turns[t + 1]):
            continue
        code = "only_tool_results_allowed" if goes_on else "server_tool_without_result"
        yield from ((i, code, f"no result for {ref} yet") for ref, i in opened.items())
        opened = {}


def _is_served(block):
    return block["type"] in SERVER_CALLS or block["type"].endswith("_tool_result")


def _thinking(turns, thinking):
    """Thinking leads its turn and never ends it; where it is on, an open tool loop starts with it."""
    opening = []  # the first assistant turn of the tool loop that is being read
    for turn in turns:
        if turn[0] == "user":
            opening = opening if _only_results(turn) else []
            continue
        blocks = [(i, block["type"]) for i, block in turn[1] if block["type"] not in UNSEEN]
        opening = opening or blocks
        thoughts = [i for i, kind in blocks if kind in THINKING]
        if thoughts and blocks[0][1] not in THINKING:
            yield thoughts[0], "thinking_not_first", f"the first block is a {blocks[0][1]}"
        if thoughts and blocks[-1][1] in THINKING:
            yield thoughts[-1], "thinking_last", "the final block cannot be thinking"
        if thoughts and thinking is False and turn is turns[-1]:
            yield thoughts[0], "thinking_disabled_final", "thinking is off, and the final message holds some"
    waits = turns[-1][0] == "user" or _calls(turns[-1][1])
    if thinking and waits and opening and opening[0][1] not in THINKING:
        yield opening[0][0], "thinking_expected", f"the open tool loop starts with a {opening[0][1]}"


def _chat_shape(message, roles):
    role, content, calls = message.get("role"), message.get("content"), message.get("tool_calls")
    instead = calls is not None or any(message.get(key) for key in ("function_call", "audio", "refusal"))
    silent = role == "function" or (role == "assistant" and instead)
    if content is not None or not silent:
        yield from _message(message, roles)
    if content == []:
        yield "empty_content", "[] is too short"
    yield from _fields(message, {"tool": ["tool_call_id"], "function": ["name"]}.get(str(role), ()), role)
    if calls is not None and (role != "assistant" or not isinstance(calls, list)):
        yield "wrong_type", "tool_calls is a list in an assistant message"
    elif calls == []:
        yield "empty_tool_calls", "[] is too short"
    for call in calls if isinstance(calls, list) else ():
        kind = str(call.get("type")) if isinstance(call, dict) else None
        if kind not in CHAT_CALLS or not isinstance(call.get(kind), dict):
            yield "wrong_type", "a tool call is a dict with a type and what it calls"
        else:
            yield from (*_fields(call, ["id"], "tool call"), *_fields(call[kind], CHAT_CALLS[kind], kind))


def _chat(messages, in_flight, *_):
    """A call has one tool message in the run right behind its message; a tool message has its call."""
    caller, calls, answered = 0, set(), set()
    for i, message in enumerate([*messages, {"role": "end"}]):
        ref = message.get("tool_call_id")
        if message["role"] != "tool":
            if not (in_flight and message["role"] == "end"):
                for missing in calls - answered:
                    yield caller, "tool_call_without_result", f"no tool message for {missing}"
            caller, calls, answered = i, {call["id"] for call in message.get("tool_calls") or ()}, set()
            if len(calls) < len(message.get("tool_calls") or ()):
                yield i, "duplicate_tool_call_id", "two calls have one id"
        elif ref not in calls:
            yield i, "orphan_tool", f"no call {ref} right before"
        elif ref in answered:
            yield i, "duplicate_tool_call_id", f"more than one answer to {ref}"
        answered.add(ref)


def _kind(item):
    """The type of an item, a message's role; "hosted" for a search of tools that the server did by itself."""
    kind = item.get("type", "message")
    if kind.startswith("tool_search_") and item.get("execution") == "server" and item.get("call_id") is None:
        return "hosted"
    return item["role"] if kind == "message" else kind


def _call_id(item):
    return item.get("call_id") or (item.get("id") if str(item.get("type")).startswith("local_shell_call") else None)


def _responses_shape(item, roles):
    kind = str(item.get("type", "message" if "role" in item else None))
    if kind == "message":
        yield from _message(item, roles)
    elif kind not in ITEMS:
        yield "unknown_item", f"no item of type {kind}"
    else:
        yield from _fields(item, ITEMS[kind], kind)
        if _kind(item) in OUTPUTS | ANSWERS.keys() and not isinstance(_call_id(item), str):
            yield "missing_field", f"{kind} needs call_id"


def _responses(items, in_flight, *_):
    """A call has one output somewhere behind it, an output its call before it, reasoning the item it led to."""
    kinds = [*map(_kind, items), "end"]
    calls, answered, start = {}, set(), 0  # start: of what the model said last
    for i, item in enumerate(items):
        kind, ref = kinds[i], _call_id(item)
        if kind not in OUTPUTS and (kind not in MODEL_ITEMS or kinds[i - 1] not in MODEL_ITEMS):
            start = i
        if kind == "reasoning" and kinds[i + 1] not in MODEL_ITEMS:
            yield i, "reasoning_without_follower", f"the next item is: {kinds[i + 1]}"
        if kind in ANSWERS and calls.setdefault(ref, i) != i:
            yield i, "duplicate_call_id", f"two calls with the id {ref}"
        if kind in OUTPUTS and ref in answered:
            yield i, "duplicate_output", f"more than one output for {ref}"
        elif kind in OUTPUTS and (ref not in calls or kind not in ANSWERS[kinds[calls[ref]]]):
            yield i, "output_without_call", f"no call {ref} before it that it answers"
        elif kind in OUTPUTS:
            answered.add(ref)
    for ref, i in calls.items():
        if ref not in answered and not (in_flight and i >= start):
            yield i, "call_without_output", f"no output for {ref}"


JUDGES = {
    "anthropic": (_message, _anthropic),
    "openai_chat": (_chat_shape, _chat),
    "openai_responses": (_responses_shape, _responses),
    "bedrock": (lambda message, _: checker_more.bedrock_shape(message), checker_more.bedrock),
    "gemini": (lambda content, _: checker_more.gemini_shape(content), checker_more.gemini),
}
