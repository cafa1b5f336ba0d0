"""ATIF trajectories, versions 1.2 to 1.8: ``trajectory.json`` as Harbor and other harnesses write it.

The file is one object with ``steps``. A step of ``source`` ``system``, ``user`` or ``agent`` has a message; an agent's
step also has its calls and their results. Read are messages, reasoning, calls, results, the agent's tool definitions,
and the usage of each step. A result without ``source_call_id`` belongs to the step's calls in order, and a single
result of several calls to the last of them, because a terminal shows the output of all commands; in a step without
calls it becomes a user message. Media are separate files: only their path is read.

A compaction is a system step with ``extra.compaction``, whose message is the summary, or a step whose subagents
summarized the session (terminus-2): then the steps up to the first answer stay, and the next user step continues. Left
out are embedded trajectories of subagents, token ids, the file that ``continued_trajectory_ref`` names, and usage of
several calls together.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from ..messages.usage import Usage
from ._builder import Builder, FileRecords
from ._parts import (
    Content,
    call,
    content_of,
    dict_of,
    image_part,
    images_of,
    list_of,
    summary,
    text_of,
    text_part,
    words_of,
)

_SHARED = "[the result of all calls of this step stands with the last one]"

_STEP = ("message", "reasoning_content", "tool_calls", "observation")
_RESULT = ("content", "subagent_trajectory_ref")


def recognizes(value: dict[str, Any]) -> bool:
    """Return whether this is a trajectory."""
    return text_of(value.get("schema_version")).startswith("ATIF") and isinstance(value.get("steps"), list)


def read(records: FileRecords, *, whole: bool) -> Builder:
    """Return the steps as messages; `whole` keeps those that a compaction replaced.

    Raises:
        MessageError: the file holds several trajectories.
    """
    session = _Session(whole=whole)
    for record in session.single(records, recognizes):
        agent = dict_of(record.value.get("agent"))
        session.model = text_of(agent.get("model_name")) or None
        session.tools = agent.get("tool_definitions")
        session.leave("subagent_trajectories", count=len(list_of(record.value.get("subagent_trajectories"))))
        steps = record.value["steps"]
        for i, step in enumerate(steps):
            if isinstance(step, dict) and step.get("source") in ("system", "user", "agent"):
                session.add(step, i, is_last=i + 1 == len(steps))
            else:
                session.skip(record, f"steps[{i}]: no step of the system, the user or the agent")
    return session


@dataclass(slots=True)
class _Session(Builder):
    """The messages in Chat's shape.

    Attributes:
        handed_over: whether the last step handed over, so that the next user step is its summary.
    """

    handed_over: bool = False

    def add(self, step: dict[str, Any], at: int, *, is_last: bool) -> None:
        """Add a step; omit a last step that hands over, because another file continues."""
        source = step["source"]
        results = self.objects(dict_of(step.get("observation")).get("results"), "results")
        self.leave_fields([step], _STEP, source)
        for result in results:
            self.leave_fields([result], _RESULT, "results")
        content = self._content(step.get("message"))
        if source == "agent":
            self._add_answer(step, at, content, results)
        elif source == "system" and dict_of(step.get("extra")).get("compaction"):
            self.compact([*self._opening("system"), summary(words_of(content))])
        elif source == "system" and _hands_over(results):
            if is_last:
                self.leave("system", "handed over to the next file")
                return
            # The next model's questions are in the subagents' files, so that later prompts are unknown.
            self.compact(self._opening("system", "user"))
            self.is_prompt, self.handed_over = False, True
        else:
            if self.handed_over and source == "user" and self.whole:
                self.contexts[-1].append(len(self.messages))
            self.handed_over = False
            self.say(source, content)
            for result in results:
                self.say("user", self._result_content(result))

    def _opening(self, *roles: str) -> list[dict[str, Any]]:
        """Return the messages before the first one of another role."""
        return list(takewhile(lambda message: message["role"] in roles, self.messages))

    def _add_answer(self, step: dict[str, Any], at: int, content: Content, results: list[dict[str, Any]]) -> None:
        """Add an agent's step: its text, its calls and their results."""
        metrics = dict_of(step.get("metrics")) if step.get("llm_call_count") in (None, 1) else {}
        self.model = text_of(step.get("model_name")) or self.model
        made = self.objects(step.get("tool_calls"), "tool_calls")
        for each in made:
            self.leave_fields([each], ("function_name", "arguments"), "tool_calls")
        refs = [text_of(each.get("tool_call_id")) or f"step_{at}_call_{n}" for n, each in enumerate(made)]
        pairs = zip(refs, made, strict=True)
        calls = [call(ref, each.get("function_name"), each.get("arguments")) for ref, each in pairs]
        charged = Usage.recorded(metrics)
        self.leave("agent/picture", count=len(images_of(content)))
        self.answer(words_of(content), calls, text_of(step.get("reasoning_content")), charged=charged)
        given = [(text_of(result.get("source_call_id")), self._result_content(result)) for result in results]
        for ref, result in given:
            if ref:
                self.result(ref, result)
        named = {ref for ref, _ in given}
        open_refs = [ref for ref in refs if ref not in named]
        rest = [result for ref, result in given if result and not ref]
        if len(rest) == 1:
            rest = [*[_SHARED] * (len(open_refs) - 1), *rest]
        for ref, result in zip(open_refs, rest, strict=False):
            self.result(ref, result)
        for result in rest[len(open_refs) :]:
            self.say("user", result)

    def _result_content(self, result: dict[str, Any]) -> Content:
        """Return a result's content, or the path of a subagent's trajectory if there is no content."""
        refs = list_of(result.get("subagent_trajectory_ref"))
        paths = [text_of(ref.get("trajectory_path")) or text_of(ref.get("trajectory_id")) for ref in refs]
        notes = "\n".join(f"[trajectory of a subagent: {path}]" for path in paths if path)
        return self._content(result.get("content") or notes)

    def _content(self, value: Any) -> Content:
        """Return a content in Chat's shape; media without a URL become text with their path."""
        if isinstance(value, str):
            return value
        parts = []
        for part in self.objects(value, "content"):
            path = text_of(dict_of(part.get("source")).get("path"))
            if part.get("type") == "text":
                parts.append(text_part(part.get("text")))
            elif part.get("type") == "image" and path.startswith(("https://", "http://", "data:")):
                parts.append(image_part(path))
            else:
                self.leave("content", part.get("type") or "part")
                parts.append(text_part(f"[{text_of(part.get('type')) or 'part'}: {path}]"))
        return content_of(parts)


def _hands_over(results: list[dict[str, Any]]) -> bool:
    """Return whether the subagents that a system step names have summarized the session."""
    refs = [ref for result in results for ref in list_of(result.get("subagent_trajectory_ref"))]
    names = [text_of(ref.get(key)) for ref in refs for key in ("session_id", "trajectory_id", "trajectory_path")]
    return any("summarization" in name for name in names)
