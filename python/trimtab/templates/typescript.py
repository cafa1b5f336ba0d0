"""Functions as TypeScript types, as OpenAI's renderer writes them for gpt-oss: each character counts."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..errors import CountError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_LARGEST, _SMALLEST = 2**64 - 1, -(2**63)
"""Integers beyond these are floating-point numbers where the renderer reads them."""

_DIGITS = 16
"""Places in front of a point up to which a floating-point number is written without an exponent."""


def namespace_of(functions: Iterable[Mapping[str, Any]]) -> str:
    """Return the definitions of functions as a section of the developer message.

    Args:
        functions: each with its name, description and parameters.

    Raises:
        CountError: a name is no text, the parameters are no schema, or are nested too deeply.
    """
    lines = ["## functions\n", "namespace functions {\n"]
    for function in functions:
        name, schema = function.get("name"), function.get("parameters")
        if not isinstance(name, str) or not isinstance(schema, dict | None):
            raise CountError(f"a function has a name and a schema of its parameters, got {str(function)[:100]}")
        lines += [f"// {line}" for line in _lines(function.get("description"))]
        try:
            argument = "" if schema is None else f"_: {_type(schema, '')}"
        except (RecursionError, OverflowError) as error:
            raise CountError(f"the schema of {name} cannot be written: {error}") from None
        lines.append(f"type {name} = ({argument}) => any;\n")
    lines.append("} // namespace functions")
    return "# Tools\n\n" + "\n".join(lines)


def _lines(text: object) -> list[str]:
    """Return the lines of a description; the end of the last one begins no further one."""
    lines = text.split("\n") if isinstance(text, str) else [""]
    ended = [line.removesuffix("\r") for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended


def _type(schema: object, indent: str) -> str:
    """Return the type of a schema; ``any`` where it is not known."""
    if not isinstance(schema, dict):
        return "any"
    if isinstance(variants := schema.get("oneOf"), list):
        return "".join(_variant(each, indent) for each in variants)
    match schema.get("type"):
        case list() as kinds if known := [kind for kind in kinds if isinstance(kind, str)]:
            return " | ".join("number" if kind == "integer" else kind for kind in known)
        case "object":
            return _object(schema, indent)
        case "string":
            listed = schema.get("enum")
            known = [f'"{value}"' for value in listed if isinstance(value, str)] if isinstance(listed, list) else []
            return " | ".join(known) or "string"
        case "number" | "integer":
            return "number"
        case "boolean":
            return "boolean"
        case "array":
            return f"{_type(schema['items'], indent)}[]" if "items" in schema else "Array<any>"
        case _:
            return "any"


def _object(schema: Mapping[str, Any], indent: str) -> str:
    """Return the type of an object with its properties."""
    required, properties = schema.get("required"), schema.get("properties")
    needed = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
    lines = [_comment(schema, "description", indent), "{\n"]
    for name, value in properties.items() if isinstance(properties, dict) else ():
        lines += _property(name if name in needed else f"{name}?", value, indent)
    return "".join([*lines, indent, "}"])


def _property(name: str, schema: object, indent: str) -> Iterator[str]:
    """Yield the lines of a property, whose name ends in ``?`` where it may be left out."""
    known = schema if isinstance(schema, dict) else {}
    if title := _comment(known, "title", indent):
        yield f"{title}{indent}//\n"
    if "oneOf" not in known:
        yield _comment(known, "description", indent)
    if isinstance(examples := known.get("examples"), list) and examples:
        yield f"{indent}// Examples:\n"
        yield from (f'{indent}// - "{value}"\n' for value in examples if isinstance(value, str))
    if isinstance(known.get("oneOf"), list):
        yield from _choice(name, known, indent)
        return
    default = _default(known) if "oneOf" not in known else ""
    yield f"{indent}{name}: {_nullable(known, f'{indent}    ')},{f' // {default}' if default else ''}\n"


def _choice(name: str, schema: Mapping[str, Any], indent: str) -> Iterator[str]:
    """Yield the lines of a property that is one of several; the first one's comment may be that of all."""
    variants = schema["oneOf"]
    said, first = _text(schema, "description"), _text(variants[0] if variants else None, "description")
    is_above = said is not None and said != first
    if is_above:
        yield f"{indent}// {said}\n"
    if default := _default(schema):
        yield f"{indent}// {default}\n"
    yield f"{indent}{name}:\n"
    for position, variant in enumerate(variants):
        own = _text(variant, "description")
        comments = [own] if own is not None and own != said and not (is_above and position == 0) else []
        comments += filter(None, [_default(variant)])
        yield f"{indent} | {_nullable(variant, f'{indent}   ')}{_behind(comments)}\n"
    yield f"{indent},\n"


def _variant(schema: object, indent: str) -> str:
    """Return one of several types, on a line of its own."""
    said = _text(schema, "description")
    comments = ([] if said is None else [said]) + [*filter(None, [_default(schema, quoted=True)])]
    return f"\n{indent} | {_nullable(schema, f'{indent}   ')}{_behind(comments)}"


def _behind(comments: list[str]) -> str:
    return f" // {' '.join(comments)}" if comments else ""


def _nullable(schema: object, indent: str) -> str:
    """Return the type of a schema, which may be null where it says so."""
    written = _type(schema, indent)
    is_nullable = isinstance(schema, dict) and schema.get("nullable") is True and "null" not in written
    return f"{written} | null" if is_nullable else written


def _default(schema: object, *, quoted: bool = False) -> str:
    """Return the comment on a default; ``quoted``: in quotes also where the values are listed. Empty without one."""
    if not isinstance(schema, dict) or "default" not in schema:
        return ""
    value = schema["default"]
    if not isinstance(value, str):
        return f"default: {_json(value)}"
    if not (isinstance(schema.get("enum"), list) and schema["enum"]):
        return f'default: "{value}"'
    return f"default: {_json(value) if quoted else value}"


def _comment(schema: Mapping[str, Any], field: str, indent: str) -> str:
    said = _text(schema, field)
    return "" if said is None else f"{indent}// {said}\n"


def _text(schema: object, field: str) -> str | None:
    """Return a field that is a text; None for any other."""
    value = schema.get(field) if isinstance(schema, dict) else None
    return value if isinstance(value, str) else None


def _json(value: object) -> str:
    """Return a value as the renderer writes JSON: without spaces, numbers in its own way."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_json(str(name))}:{_json(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    if isinstance(value, int) and not _SMALLEST <= value <= _LARGEST:
        value = float(value)
    return _number(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str:
    """Return a floating-point number in its fewest digits, with an exponent where it is far from 1."""
    if not value or value - value:  # zero, and what is no number or not finite
        return repr(value)
    sign, places, exponent = Decimal(repr(value)).normalize().as_tuple()
    digits, minus = "".join(map(str, places)), "-" * sign
    point = len(digits) + int(exponent)
    if int(exponent) >= 0 and point <= _DIGITS:
        return f"{minus}{digits}{'0' * int(exponent)}.0"
    if 0 < point <= _DIGITS:
        return f"{minus}{digits[:point]}.{digits[point:]}"
    if -5 < point <= 0:
        return f"{minus}0.{'0' * -point}{digits}"
    return f"{minus}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{point - 1}"
