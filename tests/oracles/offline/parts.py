"""Messages of any provider as a flat list of what was said, called and returned."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Kind = Literal["user", "assistant", "call", "result", "earlier", "note", "project"]


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that a message holds.

    Attributes:
        at: position of its message.
        kind: the user's own words, the assistant's text, a tool call, its result, an earlier summary, a note: text
            that a program put in, or the project's rules, which a program put in too.
        text: its text; of a call, all strings of the arguments.
        name: the tool's name.
        id: the call's id, of a call and of its result.
        args: the call's arguments, where they are an object.
        is_error: what a result's message says of its call: True that it failed, False that it did not.
        codes: the exit codes that the fields of a result state.
        hidden: of a result, why the success that it states is not its command's.
        folder: of a call whose command ran in others too, its folder.
    """

    at: int
    kind: Kind
    text: str
    name: str = ""
    id: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    is_error: bool | None = None
    codes: tuple[int, ...] = ()
    hidden: str = ""
    folder: str = ""


THINKING = {"thinking", "reasoningContent", "redacted_thinking", "reasoning", "encrypted_content", "compaction"}
MEDIA = {
    "image",
    "image_url",
    "input_image",
    "input_audio",
    "audio",
    "video",
    "input_file",
    "file",
    "container_upload",
}
OPAQUE = {"type", "id", "signature", "encrypted_content", "encrypted_index", "data", "cache_control", "citations"}
INTERRUPTED = "[no result: the session was interrupted]"
HOSTED = "hosted"
"""The id of a call that the provider runs itself: no result follows."""

_OPENING = re.compile(
    r"<(system-reminder|system_reminder|current_datetime|sql_tables|command-(?:name|message|contents)|local-command-(?:stdout|stderr|caveat)|bash-(?:stdout|stderr)"
    r"|user-prompt-submit-hook|task-notification|environment_context|user_instructions|INSTRUCTIONS|turn_aborted|skill"
    r"|ide_opened_file|ide_selection|ide_diagnostics|new-diagnostics)>"
)
_PROGRAM = re.compile(r"\s*(?:$|Caveat: |\[Request interrupted|# (?:AGENTS|CLAUDE)\.md\b)")
_TAGGED = re.compile(r"\s*<(?=\w{1,40}?[_ -])(\w[\w -]{1,60})>")
_CONTINUED = re.compile(
    r"\s*(?:This session is being continued from a previous conversation|\[?Previous conversation summary"
    r"|\[COMPACT SUMMARY\]|Another language model started to solve this problem)",
    re.IGNORECASE,
)
_GUIDE = re.compile(r"\s*# (?:AGENTS|CLAUDE)\.md\b")
"""How a project's rules begin that a program put into a user's message."""
_PROJECT = re.compile(r"<(user_instructions|INSTRUCTIONS|system-reminder)>(.*?)</\1>", re.DOTALL)
_GUIDES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md")
_ARGUMENTS = re.compile(r"<(command-args|bash-input)>([^<]{0,4000})</\1>")


def parts(messages: Iterable[Any]) -> Iterator[Part]:
    """Parts of the messages, oldest first; no content raises an error.

    A call and a result without ids (Gemini) get them by name and number.
    """
    numbers: Counter[tuple[str, str]] = Counter()
    for at, message in enumerate(messages):
        for part in _message(at, message) if isinstance(message, Mapping) else ():
            named = part
            if part.kind in {"call", "result"} and not part.id:
                numbers[part.kind, part.name] += 1
                named = replace(part, id=f"{part.name} {numbers[part.kind, part.name]}")
            if part.kind != "result" or part.text != INTERRUPTED:
                yield named


PRUNED = "its output was pruned"
"""Why the outcome of a call is not known whose result was pruned."""
_PLACEHOLDER = re.compile(r"\[trimtab: pruned [\d,]+ tokens(?:(?: of |; )[^\[\]\r\n]*)?\]", re.ASCII)

_NOTICE = re.compile(r"\[trimtab: pruned [0-9,]+ tokens[^\[\]\r\n]{0,360}\]")
"""What stands in the middle of a result that was cut."""


def is_pruned(text: str) -> bool:
    """Whether a text is the placeholder of a pruned result or argument: its words say nothing of the session."""
    if text in {"[TOOL OUTPUT PRUNED]", "[Old tool result content cleared]"}:
        return True
    return len(text.encode("utf-8", "surrogatepass")) <= 400 and bool(_PLACEHOLDER.fullmatch(text))


def _message(at: int, message: Mapping[str, Any]) -> Iterator[Part]:
    kind, role = message.get("type"), str(message.get("role") or "")
    if not role and isinstance(kind, str) and kind != "message":
        yield from _block(at, message, "note")
        return
    content = message.get("content", message.get("parts"))
    if role in {"tool", "function"}:
        name = str(message.get("name") or "")
        codes, hidden = tuple(_codes(content)), _hidden(content)
        yield Part(at, "result", _flat(content), name, id_of(message), codes=codes, hidden=hidden)
        return
    for block in content if isinstance(content, list | tuple) else [content]:
        yield from _block(at, block, role)
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list | tuple) else [message.get("function_call")]:
        if isinstance(call, Mapping):
            inner = call.get("function", call.get("custom", call))
            yield _call(at, inner if isinstance(inner, Mapping) else call, id_of(call))


def _block(at: int, block: Any, role: str) -> Iterator[Part]:
    if isinstance(block, str):
        yield from _text(at, block, role)
    if not isinstance(block, Mapping):
        return
    kind = block.get("type")
    kind = (
        kind
        if isinstance(kind, str)
        else next((key for key in block if isinstance(key, str) and block[key] is not None), "")
    )
    inner = block.get(kind)
    held = inner if isinstance(inner, Mapping) else block
    if kind in THINKING or kind in MEDIA or block.get("thought") is True:
        return
    if kind.endswith(("tool_use", "_call", "toolUse", "functionCall")):
        hosted = kind.endswith("_call") and held is block and "call_id" not in held
        yield _call(at, held, HOSTED if hosted else id_of(held))
    elif kind.endswith(("_result", "_output", "toolResult", "functionResponse", "function_response")):
        content, name = first(held, "content", "output", "response", "tools"), held.get("name")
        name = name if isinstance(name, str) else ""
        yield Part(
            at,
            "result",
            _flat(content),
            name,
            id_of(held),
            {},
            _is_error(held, content),
            tuple(_codes(content)),
            _hidden(content),
        )
    elif isinstance(text := first(block, "text", "refusal"), str):
        yield from _text(at, text, role)
    else:
        yield Part(at, "note", _flat(block))


def _is_error(held: Mapping[str, Any], content: Any) -> bool | None:
    """Outcome of a call as its result states it; the status "completed" says only that an item is whole."""
    error = content.get("error") if isinstance(content, Mapping) else None
    told = isinstance(error, Mapping) or (isinstance(error, str) and error != "")
    if held.get("is_error") is True or held.get("status") == "error" or told:
        return True
    return False if held.get("is_error") is False or held.get("status") == "success" else None


def _codes(value: Any, depth: int = 0) -> Iterator[int]:
    """The exit codes in a result's fields, of a few levels."""
    if isinstance(value, str):
        opened = _opened(value)
        if not isinstance(opened, str):
            yield from _codes(opened, depth + 1)
    elif isinstance(value, list | tuple) and depth <= 4:
        for one in value:
            yield from _codes(one, depth + 1)
    elif isinstance(value, Mapping) and depth <= 4 and str(value.get("type")) not in MEDIA:
        for key, one in value.items():
            if key in _EXIT_CODES and isinstance(one, int) and not isinstance(one, bool) and -(2**63) <= one < 2**63:
                yield one
            if key not in OPAQUE:
                yield from _codes(one, depth + 1)


_EXIT_CODES = {"exit_code", "exitCode", "return_code", "returncode", "returnCode"}


def _call(at: int, call: Mapping[str, Any], id: str) -> Part:
    args = first(call, "arguments", "input", "args", "action", "queries")
    if isinstance(args, str):
        args = _opened(args)
    name = call.get("name") or call.get("type")
    held = args if isinstance(args, Mapping) else {}
    text = _flat(args) if not isinstance(args, str) else args.replace("\\n", "\n")
    return Part(at, "call", text, name if isinstance(name, str) else "", id, held)


def _given(text: str) -> Iterator[str]:
    for tag, inside in _PROJECT.findall(text):
        if tag != "system-reminder":
            yield inside
            continue
        _, found, named = inside.partition("Contents of ")
        name, line_ends, rules = named.partition("\n")
        if found and line_ends and any(guide in name for guide in _GUIDES):
            yield rules.split("IMPORTANT: this context")[0]


def _text(at: int, text: str, role: str) -> Iterator[Part]:
    if role in {"assistant", "model"}:
        yield Part(at, "assistant", text)
    elif _CONTINUED.match(text):
        yield Part(at, "earlier", text)
    elif role != "user":
        yield Part(at, "note", text)
    else:
        given = [*_given(text)]
        for inside in given:
            yield Part(at, "project", inside)
        for _, words in _ARGUMENTS.findall(text):
            yield Part(at, "user", words)
        own = _ARGUMENTS.sub(" ", unwrapped(text))
        tag = _TAGGED.match(own)
        program = _PROGRAM.match(own) or (tag and own.rstrip().endswith(f"</{tag[1]}>"))
        is_guide = program and not given and _GUIDE.match(own)
        yield Part(at, "project" if is_guide else "note" if program else "user", own)


def unwrapped(text: str) -> str:
    """A user's text without what a program put in between known tags."""
    if "<" not in text:
        return text
    out, start, endless = [], 0, set()
    for opening in _OPENING.finditer(text):
        tag = opening[1]
        if opening.start() < start or tag in endless:
            continue
        close = text.find(f"</{tag}>", opening.end())
        if close < 0:
            endless.add(tag)
            continue
        out.append(text[start : opening.start()])
        start = close + len(tag) + 3
    return "".join(out) + text[start:]


def _flat(value: Any) -> str:
    return "\n".join(_NOTICE.sub("", one) for one in _strings(value) if not is_pruned(one))


def _hidden(content: Any) -> str:
    """Why the outcome is not known of a call whose result has nothing but placeholders."""
    texts = [*_strings(content)]
    return PRUNED if texts and all(map(is_pruned, texts)) else ""


def _strings(value: Any) -> Iterator[str]:
    """Every string inside a value, in order; walks without recursion, so depth is no limit."""
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            opened = _opened(one)
            if isinstance(opened, str):
                yield opened
            else:
                stack.append(opened)
        elif isinstance(one, Mapping):
            if str(one.get("type")) not in MEDIA:
                stack.extend(one[key] for key in reversed(list(one)) if key not in OPAQUE)
        elif isinstance(one, list | tuple):
            stack.extend(reversed(one))
        elif isinstance(one, int) and not isinstance(one, bool) and abs(one) < 10**12:
            yield str(one)


def _opened(text: str) -> Any:
    """The object or list that a string spells as JSON, else the string."""
    if text[:1] in {"{", "["} and text[-1:] in {"}", "]"}:
        try:
            opened = json.loads(text)
        except (ValueError, RecursionError):
            return text
        return opened if isinstance(opened, dict | list) else text
    return text


def first(value: Mapping[str, Any], *keys: str) -> Any:
    """Return the value of the first key that is set, or None."""
    return next((value[key] for key in keys if value.get(key) is not None), None)


def id_of(value: Mapping[str, Any]) -> str:
    """Return the id of a call or of its result, or an empty string."""
    found = first(value, "tool_use_id", "call_id", "tool_call_id", "toolUseId", "id")
    return found if isinstance(found, str) else ""
