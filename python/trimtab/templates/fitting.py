"""What a chat template reads and adds, found by rendering short prompts with it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors import CountError
from .rendered import texts_of_each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .rendered import PromptRenderer
    from .template import ChatTemplate

_SAID = "alpha beta gamma delta"
_ARGUMENTS = '{"path": "epsilon zeta"}'
_CALLS = ("probe0001", "probe0002", "probe0003")
"""Ids of calls: nine letters and digits, because templates of Mistral refuse any other."""

_USER: dict[str, Any] = {"role": "user", "content": _SAID}
_ANSWER: dict[str, Any] = {"role": "assistant", "content": _SAID}


def reading(template: ChatTemplate) -> ChatTemplate:
    """Return the template with what it reads: contents as texts or parts, arguments as objects or JSON text.

    Raises:
        CountError: it renders neither a text nor a part of a user.
    """
    shapes = {"text": _SAID, "parts": [{"type": "text", "text": _SAID}]}
    shown = {name: _shown(template, [{"role": "user", "content": content}]) for name, content in shapes.items()}
    if not any(_SAID in text for text in shown.values()):
        template.parts([_USER])  # raises the template's own error, if it has one
        raise CountError(f"the chat template of {template.name} does not show what a user says")
    reads = [name for name, text in shown.items() if _SAID in text and "'type'" not in text]
    template = replace(template, contents="either" if len(reads) > 1 else "parts" if reads == ["parts"] else "text")
    called = [_USER, _calling(1), *_results(1)]
    objects, texts = (_renders(replace(template, parses=parses), called) for parses in (True, False))
    return replace(template, parses=objects or not texts)


def _shown(template: ChatTemplate, messages: list[dict[str, Any]]) -> str:
    """Return the prompt of messages; empty where the template refuses them."""
    try:
        return "".join(text for _, text in template.parts(messages))
    except CountError:
        return ""


def _renders(template: ChatTemplate, messages: list[dict[str, Any]]) -> bool:
    try:
        template.count(_core.Counter("chars/4 chars ceil"), messages, "openai_chat")
    except CountError:
        return False
    return True


def fitted(template: PromptRenderer, counter: _core.Counter) -> dict[str, Any]:
    """Return the tokens that the template adds, as fields of a ``PromptGrammar``: they estimate prompts without it.

    A template that renders no calls has the numbers of one whose calls and results cost nothing but their texts. One
    that hides which message it is at has those by which whole prompts grow: of a turn, and of its calls and results.
    """
    probe = _Probe(template, counter)
    (_, answer, user), total = probe.counted([_USER, _ANSWER, _USER])
    if not answer and not user:
        turn = probe.counted([_USER, _ANSWER, _USER, _ANSWER, _USER])[1] - total
        user, answer = turn - turn // 2, turn // 2
    found: dict[str, Any] = {"user": user, "assistant": answer, "opening": total - 2 * user - answer}
    system = [{"role": "system", "content": _SAID}, _USER]
    with suppress(CountError):  # it takes no system text
        found["system"] = probe.counted(system)[1] - probe.counted([_USER])[1]
    found |= _thinking(probe, total) | _calls(probe, total)
    unsigned = ("user", "assistant", "opening", "system")
    return {name: max(value, 0) if name in unsigned else value for name, value in found.items()}


class _Probe:
    """Renders prompts, and tells what they have beyond the texts of their messages."""

    def __init__(self, template: PromptRenderer, counter: _core.Counter) -> None:
        self._template, self._counter = template, counter

    def counted(self, messages: Sequence[dict[str, Any]]) -> tuple[list[int], int]:
        """Return the tokens of each message beyond its texts, and those of the prompt."""
        found = self._template.count(self._counter, messages, "openai_chat")
        plain = texts_of_each(self._counter, messages, "openai_chat")
        beyond = [tokens - texts for tokens, texts in zip(found.messages, plain, strict=True)]
        return beyond, found.total - sum(plain)

    def whole(self, *messages: dict[str, Any]) -> int:
        """Return the tokens of a prompt beyond its texts."""
        return self.counted(messages)[1]


def _thinking(probe: _Probe, plain: int) -> dict[str, Any]:
    """Return what the template does with thinking; ``plain`` is what a prompt with an answer has without any."""
    thought = {"reasoning_content": _SAID}
    try:
        before = probe.whole(_USER, _ANSWER | thought, _USER) - plain
        calling = _calling(1)
        now = probe.whole(_USER, calling | thought, *_results(1)) - probe.whole(_USER, calling, *_results(1))
    except CountError:
        return {"keeps_thinking": False}
    return {"keeps_thinking": before >= 0, "thinking": max(now, 0)}


def _calls(probe: _Probe, plain: int) -> dict[str, int]:
    """Return what the template adds to calls and their results; ``plain`` is what it adds to a prompt without them."""

    def turn(calls: int) -> tuple[int, int]:
        beyond, total = probe.counted([_USER, _calling(calls), *_results(calls), _ANSWER, _USER])
        called, results = beyond[1], sum(beyond[2 : 2 + calls])
        return (called, results) if called or results else (total - plain, 0)

    try:
        one, result = turn(1)
    except CountError:
        return {}
    try:
        (two, results), (_, more) = turn(2), turn(3)
    except CountError:  # it takes one call at once
        two, results, more = 2 * one, 2 * result, 3 * result
    call, each = two - one, more - results
    return {"call": call, "calls": one - call, "result": result, "each": each, "results": results - 2 * each}


def _calling(calls: int) -> dict[str, Any]:
    """Return an answer with so many calls."""
    function = {"name": "read_file", "arguments": _ARGUMENTS}
    made = [{"id": name, "type": "function", "function": function} for name in _CALLS[:calls]]
    return {"role": "assistant", "content": "", "tool_calls": made}


def _results(calls: int) -> list[dict[str, Any]]:
    """Return the results of the calls."""
    return [{"role": "tool", "tool_call_id": name, "content": _SAID} for name in _CALLS[:calls]]
