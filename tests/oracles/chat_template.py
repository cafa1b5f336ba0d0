"""What ``Model.from_folder`` means: render the whole prompt in this process, and encode it with `tokenizers`."""

from __future__ import annotations

import json
from typing import Any

import jinja2
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer


class Generation(Extension):
    """The block `generation`: its content."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Any) -> Any:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def prompt(
    template: str, messages: list[dict[str, Any]], tools: Any = None, *, parses: bool = True, **values: Any
) -> str:
    """Return the prompt of messages in Chat Completions' shape, with the arguments of calls parsed."""

    def refuse(what: str) -> None:
        raise jinja2.TemplateError(what)

    def parsed(call: dict[str, Any]) -> dict[str, Any]:
        function = call["function"]
        return {**call, "function": {**function, "arguments": json.loads(function["arguments"])}}

    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"]
    )
    env.filters["tojson"] = lambda value, indent=None: json.dumps(value, ensure_ascii=False, indent=indent)
    env.globals["raise_exception"] = refuse
    given = [{name: value for name, value in message.items() if value is not None} for message in messages]
    for message in given:
        if parses and "tool_calls" in message:
            message["tool_calls"] = [parsed(call) for call in message["tool_calls"]]
    return env.from_string(template).render(messages=given, tools=tools, add_generation_prompt=True, **values)


def tokens(vocabulary: str, text: str) -> int:
    """Return the tokens of a prompt in the vocabulary of a ``tokenizer.json``."""
    return len(Tokenizer.from_str(vocabulary).encode(text, add_special_tokens=False).ids)
