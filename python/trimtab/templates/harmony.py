"""Prompts of gpt-oss: OpenAI's Harmony format, rendered here, with no file and no template."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from .._repr import short
from ..errors import CountError
from .chat import reasoning_of, system_message, texts_of
from .items import as_messages, functions_of
from .rendered import RenderedTokens
from .typescript import namespace_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .. import _core
    from .chat import Contents, Placed

IDENTITY = "You are ChatGPT, a large language model trained by OpenAI."

DATE, EFFORT = "2025-06-28", "medium"
"""In the place of the server's own: the tokens of a prompt are the same on every day, and by every effort."""

_CHANNELS = "# Valid channels: analysis, commentary, final. Channel must be included for every message."
_CALLS = "\nCalls to these tools must go to the commentary channel: 'functions'."
_CONSTRAIN = "<|constrain|>"
_INSTRUCTIONS = ("system", "developer")


class HarmonyMessage(NamedTuple):
    """A message of a prompt.

    Attributes:
        owner: the position of the caller's message that it is a part of; -1 in front of all.
        author: a role, or the function whose result it is.
        texts: its content; each text is counted by itself.
        channel: of what an assistant says, calls or is answered; empty for none.
        recipient: the function that is called, or who gets a result; empty for none.
        kind: type of the content; empty for none.
    """

    owner: int
    author: str
    texts: tuple[str, ...]
    channel: str = ""
    recipient: str = ""
    kind: str = ""

    @property
    def parts(self) -> list[str]:
        """The message in parts: special tokens, and texts between them that are counted by themselves."""
        header = [self.author, f" to={self.recipient}" if self.recipient else ""]
        header += ["<|channel|>", self.channel] if self.channel else []
        kind = self.kind.removeprefix(_CONSTRAIN)
        header += [" ", _CONSTRAIN, kind] if kind != self.kind else [f" {kind}"] if kind else []
        end = "<|call|>" if self.author == "assistant" and self.recipient else "<|end|>"
        return ["<|start|>", *filter(None, header), "<|message|>", *self.texts, end]


@dataclass(frozen=True, slots=True)
class Harmony:
    """How a server renders the prompts of gpt-oss.

    Attributes:
        name: of the model, for errors.
        identity: what the system message says the model is.
        constrains: whether the type of a call's arguments is written ``<|constrain|>json``, as OpenAI's documents do;
            else ``json``, as vLLM and the published chat template do.
    """

    __repr__ = short

    name: str = "gpt-oss"
    identity: str = field(default=IDENTITY, repr=False)
    constrains: bool = False

    vocabulary: ClassVar[str] = ""
    contents: ClassVar[Contents] = "either"
    parses: ClassVar[bool] = False

    def messages(
        self, messages: Sequence[Mapping[str, Any]], provider: str, *, system: object = None, tools: object = None
    ) -> list[HarmonyMessage]:
        """Return the messages of a prompt, without those whose analysis led to an answer.

        Args:
            messages: plain dicts.
            provider: their shape.
            system: system text beside the messages.
            tools: tool definitions, in any of the shapes of messages.

        Raises:
            CountError: there are no messages, or Harmony has none of such a shape, role, item or tool.
        """
        placed: list[Placed] = [(-1, message) for message in system_message(system)]
        placed += as_messages(messages, provider)
        if not messages:
            raise CountError("there are no messages to render")
        functions, instructions = functions_of(tools), ""
        first, owner = placed[0][1] if placed else {}, placed[0][0] if placed else -1
        if first.get("role") in _INSTRUCTIONS:
            instructions, placed = _joined(first.get("content")), placed[1:]
        words = [f"{self.identity}\nKnowledge cutoff: 2024-06\nCurrent date: {DATE}", f"Reasoning: {EFFORT}"]
        words.append(_CHANNELS + (_CALLS if functions else ""))
        made = [HarmonyMessage(-1, "system", ("\n\n".join(words),))]
        if instructions or functions:
            made.append(HarmonyMessage(owner if instructions else -1, "developer", (_rules(instructions, functions),)))
        names = {call.get("id"): _function(call)["name"] for _, message in placed for call in _calls(message)}
        for index, message in placed:
            made += self._message(index, message, names)
        final = max((at for at, each in enumerate(made) if each.channel == "final"), default=-1)
        return [each for at, each in enumerate(made) if at > final or each.channel != "analysis"]

    def _message(self, owner: int, message: Mapping[str, Any], names: Mapping[Any, str]) -> Iterator[HarmonyMessage]:
        """Yield what a message of Chat Completions is in a prompt."""
        role, content = message.get("role"), message.get("content")
        if role == "assistant":
            yield from self._answer(owner, message)
        elif role == "tool":
            author = f"functions.{names.get(message.get('tool_call_id'), '')}"
            yield HarmonyMessage(owner, author, (_joined(content),), "commentary", "assistant")
        elif role == "user":
            yield HarmonyMessage(owner, "user", _texts(content))
        elif role in _INSTRUCTIONS:
            yield HarmonyMessage(owner, "developer", (_rules(_joined(content), ()),))
        else:
            raise CountError(f"prompts of gpt-oss have no role {role!r}")

    def _answer(self, owner: int, message: Mapping[str, Any]) -> Iterator[HarmonyMessage]:
        """Yield what an assistant thinks, says and calls."""
        calls, said, reasoning = _calls(message), _texts(message.get("content")), reasoning_of(message)
        if isinstance(reasoning, str) and reasoning:
            yield HarmonyMessage(owner, "assistant", (reasoning,), "analysis")
        if calls and any(said):
            yield HarmonyMessage(owner, "assistant", ("".join(said),), "commentary")
        elif any(said):
            yield HarmonyMessage(owner, "assistant", said, "final")
        kind = f"{_CONSTRAIN}json" if self.constrains else "json"
        for call in calls:
            function = _function(call)
            arguments = function.get("arguments")
            text = arguments if isinstance(arguments, str) else _json(arguments)
            yield HarmonyMessage(owner, "assistant", (text,), "commentary", f"functions.{function['name']}", kind)

    def count(
        self,
        counter: _core.Counter,
        messages: Sequence[Mapping[str, Any]],
        provider: str,
        *,
        system: object = None,
        tools: object = None,
    ) -> RenderedTokens:
        """Return the tokens of a whole prompt.

        Args:
            counter: of ``o200k_harmony``.
            messages: plain dicts, in the shape of Chat Completions, the Responses API, Anthropic or Bedrock.
            provider: their shape.
            system: system text beside the messages.
            tools: tool definitions.

        Raises:
            CountError: there are no messages, or Harmony has none of such a shape, role, item or tool.
        """
        made = self.messages(messages, provider, system=system, tools=tools)
        totals = _tokens(counter, made)
        if tools and len(made) > 1 and made[1].author == "developer" and made[1].owner >= 0:
            # The tools stand in the message of the caller's own instructions.
            [alone] = _tokens(counter, [HarmonyMessage(-1, "developer", (_rules("", functions_of(tools)),))])
            totals[0] += min(alone, totals[1])
            totals[1] -= min(alone, totals[1])
        head, found = 0, [0] * len(messages)
        for each, tokens in zip(made, totals, strict=True):
            if each.owner < 0:
                head += tokens
            else:
                found[each.owner] += tokens
        return RenderedTokens(head, tuple(found), 1 + counter.count("assistant"))


def _tokens(counter: _core.Counter, messages: Sequence[HarmonyMessage]) -> list[int]:
    """Return the tokens of each message: the same few headers, and contents that are counted together."""
    headers: dict[tuple[str, str, str, str], int] = {}
    contents = iter(counter.count_many([text for message in messages for text in message.texts]).tolist())
    totals = []
    for message in messages:
        key = (message.author, *message[3:])
        if key not in headers:
            parts = message._replace(texts=()).parts
            headers[key] = sum(1 if part.startswith("<|") else counter.count(part) for part in parts)
        totals.append(headers[key] + sum(next(contents) for _ in message.texts))
    return totals


def _rules(instructions: str, functions: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of a developer message."""
    sections = ["# Instructions", instructions] if instructions else []
    return "\n\n".join([*sections, namespace_of(functions)] if functions else sections)


def _calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return an assistant's calls.

    Raises:
        CountError: they are no list of functions with names.
    """
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list | tuple) or not all(isinstance(call, dict) and _function(call) for call in calls):
        raise CountError(f"calls are a list of functions, got {str(calls)[:100]}")
    return list(calls)


def _function(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call's function.

    Raises:
        CountError: it has no name.
    """
    function = call.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise CountError(f"a call has a function with a name, got {str(call)[:100]}")
    return function


def _texts(content: object) -> tuple[str, ...]:
    """Return the texts of a content; a picture has none."""
    if isinstance(content, str):
        return (content,)
    return tuple(texts_of(content if isinstance(content, list | tuple) else ()))


def _joined(content: object) -> str:
    """Return the text of a content."""
    return "".join(_texts(content))


def _json(arguments: object) -> str:
    """Return arguments that are no text as JSON; nothing for none."""
    try:
        return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise CountError(f"JSON cannot hold the arguments of a call: {error}") from None
