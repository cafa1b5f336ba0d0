"""Tool definitions as the text that a model reads, and their tokens."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..messages.objects import sendable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .. import _core
    from ..models.prompts import PromptGrammar


@lru_cache(64)
def tool_tokens(counter: _core.Counter, prompt: PromptGrammar | None, tools: str, choice: str) -> int:
    """Return the tokens of tool definitions; cached, because every call of a session sends the same tools.

    Args:
        counter: counts the texts.
        prompt: the model's prompt format, None for a plain encoding.
        tools: the definitions, as JSON.
        choice: the ``tool_choice``, as JSON.
    """
    given, chosen = json.loads(tools), json.loads(choice)
    definitions = definitions_of(given)
    if prompt is None or prompt.form == "plain":
        return counter.count(json.dumps(definitions, ensure_ascii=False, separators=(",", ":")))
    texts = [tagged(tool) for tool in definitions] if prompt.form == "tagged" else [namespace(definitions)]
    mode = chosen.get("type") if isinstance(chosen, dict) else chosen
    total = {"any": prompt.forced, "required": prompt.forced, "tool": prompt.chosen}.get(str(mode), 0) or prompt.tools
    dicts = [tool for tool in definitions if isinstance(tool, dict)]
    if any(isinstance(tool.get("function"), dict) for tool in dicts):
        total += prompt.nested
    total += sum(tokens for tool in dicts for start, tokens in BUILT_IN if str(tool.get("type")).startswith(start))
    return max(total + prompt.tool * len(definitions) + sum(map(counter.count, texts)), 0)


def definitions_of(tools: Any) -> list[Any]:
    """Return the functions of tool definitions in any provider's shape, which are as JSON has them."""
    return [function for tool in (tools if isinstance(tools, list) else [tools]) for function in _functions(tool)]


def tool_names(tools: object) -> set[str]:
    """Return the names of tool definitions in any provider's shape, as dicts or as objects."""
    given = tools if isinstance(tools, list | tuple) else [] if tools is None else [tools]
    found = set()
    for function in (function for tool in given for function in _functions(tool)):
        inner = function.get("function", function) if isinstance(function, dict) else function
        found.add(str(inner.get("name") if isinstance(inner, dict) else getattr(inner, "name", "")))
    return found


BUILT_IN = (("memory_", 1_053), ("bash_", 245), ("text_editor_", 700), ("computer_", 735))
"""Tokens of tools that the provider defines, by type: memory by one request, others by Anthropic's documentation."""


def _functions(tool: Any) -> list[Any]:
    """Return the functions of a tool: Gemini lists several in one, Bedrock wraps each."""
    if not isinstance(tool, dict):
        return [tool]
    if isinstance(listed := tool.get("functionDeclarations", tool.get("function_declarations")), list):
        return [_of_gemini(f) for f in listed if isinstance(f, dict)]
    if isinstance(spec := tool.get("toolSpec"), dict):
        schema = spec.get("inputSchema")
        return [{**spec, "parameters": schema.get("json", schema) if isinstance(schema, dict) else None}]
    if isinstance(listed := tool.get("tools"), list):
        return [function for inner in listed for function in _functions(inner)]
    return [tool]


_SCHEMAS = ("parameters", "parametersJsonSchema", "parameters_json_schema")
"""Fields of the schema of a function of Gemini's: of the API's own kind, or JSON Schema in either spelling."""


def _of_gemini(function: dict[str, Any]) -> dict[str, Any]:
    """Return a declaration of Gemini's with its schema in the field that other providers have."""
    schema = next((function[key] for key in _SCHEMAS if function.get(key)), None)
    return {key: value for key, value in function.items() if key not in _SCHEMAS} | {"parameters": schema}


def tagged(tool: Any) -> str:
    """Return a definition as Claude reads it; for a tool of the provider its options, because its text is unknown."""
    if not isinstance(tool, dict):
        return spaced(tool)
    function: dict[str, Any] = tool["function"] if isinstance(tool.get("function"), dict) else tool
    schema = function.get("input_schema") or function.get("parameters") or {}
    if not schema and "name" in tool and tool.get("type") not in {None, "custom", "function"}:
        return spaced(tool)
    written = {"description": function.get("description"), "name": function.get("name"), "parameters": schema}
    written = {key: value for key, value in written.items() if value not in (None, "")}
    return f"<function>{spaced(written)}</function>\n"


def namespace(tools: Iterable[Any]) -> str:
    """Return definitions as OpenAI's models read them: TypeScript types, with descriptions as comments."""
    lines = ["# Tools\n\n## functions\n\nnamespace functions {\n\n"]
    others = []
    for tool in tools:
        function = tool.get("function", tool) if isinstance(tool, dict) else tool
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            others.append(spaced(tool))
            continue
        schema = function.get("parameters") or function.get("input_schema") or {}
        body = "".join(_properties(schema, schema)) if isinstance(schema, dict) else spaced(schema)
        lines.append(_comment(function.get("description")))
        lines.append(f"type {function['name']} = " + (f"(_: {{\n{body}}}) => any;\n\n" if body else "() => any;\n\n"))
    return "".join([*lines, "} // namespace functions", *others])


def _comment(text: object) -> str:
    return "".join(f"// {line}\n" for line in text.split("\n")) if isinstance(text, str) and text else ""


def _properties(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    required = schema.get("required")
    properties = schema.get("properties")
    for name, value in properties.items() if isinstance(properties, dict) else ():
        known = value if isinstance(value, dict) else {}
        yield _comment(known.get("description"))
        mark = "" if isinstance(required, list) and name in required else "?"
        default = f" // default: {known['default']}" if "default" in known else ""
        yield f"{name}{mark}: {_type(known, root, depth)},{default}\n"


def _type(schema: Any, root: Mapping[str, Any], depth: int) -> str:
    if not isinstance(schema, dict) or depth > 20:  # a definition may refer to itself
        return "any"
    if isinstance(reference := schema.get("$ref"), str):
        named = root.get("$defs") or root.get("definitions") or {}
        return _type(named.get(reference.rsplit("/", 1)[-1]), root, depth + 1)
    if isinstance(schema.get("enum"), list):
        return " | ".join(json.dumps(value, default=str) for value in schema["enum"])
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list):
            return " | ".join(_type(part, root, depth + 1) for part in schema[key])
    match schema.get("type"):
        case list() as kinds:
            return " | ".join(_type({**schema, "type": kind}, root, depth + 1) for kind in kinds)
        case "array":
            return _type(schema.get("items"), root, depth + 1) + "[]"
        case "object":
            body = "".join(_properties(schema, root, depth + 1))
            return f"{{\n{body}}}" if body else "object"
        case "integer":
            return "number"
        case str() as kind:
            return kind
        case _:
            return "any"


def spaced(value: object) -> str:
    """Return a value as JSON, with spaces behind commas and colons."""
    return json.dumps(value, ensure_ascii=False, default=sendable)
