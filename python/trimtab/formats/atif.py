"""ATIF trajectories, versions 1.2 to 1.8: Harbor's and others' ``trajectory.json``.

A step is what one side did: a message, and of an agent its calls together with their results. Mapped: messages of all
three sources, reasoning, calls, results, the agent's tool definitions, and what each step was charged. A result without
``source_call_id`` belongs to the step's calls in order, and one result of several calls to the last of them, because
a terminal shows what all commands led to; a step without calls has its results told by the user. Media stand in files
of their own: their place is told, not their content.

A compaction is a system step with ``extra.compaction``, whose message is the summary, or one whose subagents summarized
(terminus-2): then the steps up to the first answer stay, and the next user step hands over. Left out: embedded
trajectories of subagents, token ids, the file that ``continued_trajectory_ref`` names, and charges of several calls
together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._account import Account
from ._chat import Chat, call, dict_of, list_of, single, summary, text_of, text_part, told

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..messages.types import Transcript
    from ._records import Record

_SHARED = "[the result of all calls of this step stands with the last one]"

_STEP = ("message", "reasoning_content", "tool_calls", "observation")
_RESULT = ("content", "subagent_trajectory_ref")


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether this is a trajectory."""
    return text_of(value.get("schema_version")).startswith("ATIF") and isinstance(value.get("steps"), list)


def read(records: Iterable[Record], *, whole: bool) -> Transcript:
    """Return the steps as messages; `whole` keeps those that a compaction replaced.

    Raises:
        MessageError: the file holds several trajectories.
    """
    found, others = single(records, recognizes)
    chat = Chat(whole, skipped=others)
    tools = None
    for record in found:
        agent = dict_of(record.value.get("agent"))
        chat.model = text_of(agent.get("model_name")) or None
        tools = agent.get("tool_definitions")
        chat.account.leave("subagent_trajectories", count=len(list_of(record.value.get("subagent_trajectories"))))
        steps = record.value["steps"]
        for i, step in enumerate(steps):
            if isinstance(step, dict) and step.get("source") in ("system", "user", "agent"):
                _add(chat, step, i, is_last=i + 1 == len(steps))
            else:
                chat.skip(record, f"steps[{i}]: no step of the system, the user or the agent")
    return chat.transcript("atif", tools=tools)


def _add(chat: Chat, step: dict[str, Any], at: int, *, is_last: bool) -> None:
    """Add a step; a last step that hands over is omitted, because another file continues."""
    results = chat.account.objects(dict_of(step.get("observation")).get("results"), "results")
    chat.account.fields(step, _STEP, step["source"])
    for result in results:
        chat.account.fields(result, _RESULT, "results")
    if step["source"] == "agent":
        _answer(chat, step, at, results)
        return
    content = _content(step.get("message"), chat.account)
    if step["source"] == "system" and dict_of(step.get("extra")).get("compaction"):
        chat.compact([*_opening(chat, ("system",)), summary(_words(content))])
    elif step["source"] == "system" and _hands_over(results):
        if is_last:
            chat.account.leave("system", "handed over to the next file")
            return
        # The next model's questions are in the subagents' files, so that later prompts are unknown.
        chat.compact(_opening(chat, ("system", "user")))
        chat.is_prompt = False
    else:
        chat.say(step["source"], content)
        _say_results(chat, results)


def _opening(chat: Chat, roles: Sequence[str]) -> list[dict[str, Any]]:
    """Return the messages before the first one of another role."""
    opening: list[dict[str, Any]] = []
    for message in chat.messages:
        if message["role"] not in roles:
            break
        opening.append(message)
    return opening


def _hands_over(results: Sequence[dict[str, Any]]) -> bool:
    """Return whether the subagents that a system step names have summarized the session."""
    refs = [ref for result in results for ref in list_of(result.get("subagent_trajectory_ref"))]
    names = [text_of(ref.get(key)) for ref in refs for key in ("session_id", "trajectory_id", "trajectory_path")]
    return any("summarization" in name for name in names)


def _answer(chat: Chat, step: dict[str, Any], at: int, results: list[dict[str, Any]]) -> None:
    """Add an agent's step: its text, its calls and their results."""
    metrics = dict_of(step.get("metrics")) if step.get("llm_call_count") in (None, 1) else {}
    chat.model = text_of(step.get("model_name")) or chat.model
    made = chat.account.objects(step.get("tool_calls"), "tool_calls")
    for each in made:
        chat.account.fields(each, ("function_name", "arguments"), "tool_calls")
    refs = [text_of(each.get("tool_call_id")) or f"step_{at}_call_{n}" for n, each in enumerate(made)]
    calls = [
        call(ref, text_of(each.get("function_name")), each.get("arguments"))
        for ref, each in zip(refs, made, strict=True)
    ]
    charged = metrics.get("prompt_tokens"), metrics.get("completion_tokens")
    content = _content(step.get("message"), chat.account)
    if not isinstance(content, str):
        chat.account.leave("agent/picture", count=sum(part["type"] != "text" for part in content))
    chat.answer(_words(content), calls, text_of(step.get("reasoning_content")), charged=charged)
    named = [result for result in results if text_of(result.get("source_call_id"))]
    rest = [
        result for result in results if not text_of(result.get("source_call_id")) and _content(_result_content(result))
    ]
    for result in named:
        chat.result(result["source_call_id"], _content(_result_content(result), chat.account))
    open_refs = [ref for ref in refs if ref not in {result["source_call_id"] for result in named}]
    if len(rest) == 1 and len(open_refs) > 1:
        for ref in open_refs[:-1]:
            chat.result(ref, _SHARED)
        open_refs = open_refs[-1:]
    for ref, result in zip(open_refs, rest, strict=False):
        chat.result(ref, _content(_result_content(result), chat.account))
    _say_results(chat, rest[len(open_refs) :])


def _say_results(chat: Chat, results: Sequence[dict[str, Any]]) -> None:
    """Add results without a call as user messages."""
    for result in results:
        chat.say("user", _content(_result_content(result), chat.account))


def _result_content(result: dict[str, Any]) -> Any:
    """Return a result's content, or the path of a subagent's trajectory if there is no content."""
    refs = list_of(result.get("subagent_trajectory_ref"))
    places = [text_of(ref.get("trajectory_path")) or text_of(ref.get("trajectory_id")) for ref in refs]
    return result.get("content") or "\n".join(f"[trajectory of a subagent: {place}]" for place in places if place)


def _content(value: Any, account: Account | None = None) -> str | list[dict[str, Any]]:
    """Return a content in Chat's shape; media without a URL become text with their path."""
    if isinstance(value, str):
        return value
    account = account or Account()  # a temporary account, so that nothing counts twice
    parts = []
    for part in account.objects(value, "content"):
        place = text_of(dict_of(part.get("source")).get("path"))
        if part.get("type") == "text":
            parts.append(text_part(text_of(part.get("text"))))
        elif part.get("type") == "image" and place.startswith(("https://", "http://", "data:")):
            parts.append({"type": "image_url", "image_url": {"url": place}})
        else:
            account.leave("content", part.get("type") or "part")
            parts.append(text_part(f"[{text_of(part.get('type')) or 'part'}: {place}]"))
    return told(parts)


def _words(content: str | list[dict[str, Any]]) -> str:
    """Return the text of a content: a model's message has nothing else."""
    return content if isinstance(content, str) else "\n".join(p["text"] for p in content if p["type"] == "text")
