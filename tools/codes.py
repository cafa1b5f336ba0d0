"""Write the table of problem codes into ``docs/validity.md``, from the validators' sources; ``make docs``."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs" / "validity.md"
RULES = ROOT / "rust" / "core" / "src" / "validate"
PROVIDERS = ("anthropic", "openai_chat", "openai_responses", "bedrock", "gemini")
BLOCK = re.compile("(?<=<!-- codes -->\n).*?(?=<!-- /codes -->)", re.DOTALL)

SHARED = {
    "thinking": ("anthropic", "bedrock"),
    "limits": ("anthropic",),
    "turns": (),
    "mod": (),
    "since": (),
}
"""Files with rules of several providers, or of one with another name."""

PARAMETERS = ROOT / "python" / "trimtab" / "validity" / "parameters.py"
"""The rules for what a request asks of the provider's server."""

ALSO = {"bedrock": {"prefill_unsupported", "final_assistant_whitespace", "too_many_cache_control"}}
"""Codes of rules that a provider shares with another, in that provider's file."""


def codes(source: str) -> set[str]:
    """The problem codes in a file of rules."""
    found = set(re.findall(r'found\.(?:message|row)\(\s*\*?[^,"]+,\s*"([a-z_]+)"', source))
    for chosen in re.findall(r"let code = if[^;]*;", source):
        found |= set(re.findall(r'"([a-z_]+)"', chosen))
    return found


def of_parameters() -> dict[str, set[str]]:
    """The problem codes of a request's parameters, by provider: those of Anthropic's functions, and of the others."""
    given: dict[str, set[str]] = {name: set() for name in PROVIDERS}
    for function in ast.parse(PARAMETERS.read_text()).body:
        if not isinstance(function, ast.FunctionDef):
            continue
        texts = (node.value for node in ast.walk(function) if isinstance(node, ast.Yield) and node.value)
        firsts = (text.elts[0] for text in texts if isinstance(text, ast.Tuple))
        found = {first.value for first in firsts if isinstance(first, ast.Constant) and isinstance(first.value, str)}
        given["openai_responses" if function.name == "_of_responses" else "anthropic"] |= found
    for other in ("openai_chat", "bedrock", "gemini"):
        given[other].add("unknown_parameter")
    return given


def table() -> str:
    """A row a code, a column a provider."""
    given = of_parameters()
    for name, more in ALSO.items():
        given[name] |= more
    for path in sorted(RULES.glob("*.rs")):
        for provider in SHARED.get(path.stem, (path.stem,)):
            given[provider] |= codes(path.read_text())
    lines = ["| code | " + " | ".join(PROVIDERS) + " |", "|---|" + "---|" * len(PROVIDERS)]
    for code in sorted(set().union(*given.values())):
        marks = " | ".join("x" if code in given[name] else "" for name in PROVIDERS)
        lines.append(f"| `{code}` | {marks} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    DOCS.write_text(BLOCK.sub(lambda _: table(), DOCS.read_text()))
