"""Tokens that providers add around the texts of a request, by generation of models.

Each number was fitted to recorded requests and their billed tokens; `docs/dev/request-counts.md` has the method and the
errors. To correct a number, change ``prompts.toml``, or give a ``Model`` a ``PromptGrammar`` of your own.

Claude's numbers were fitted twice, independently and on separate requests (the second time 587 deltas, 41 requests).
Both fits agree on turns, results, errors, thinking, signatures, thinking options, structured output, and on the
reductions of later generations (16 tokens a block of calls, 7 a turn of results). The second fit differs in the tools
of 4.5 (495 and 589 instead of 496 and 588), in the tools of opus-4-8 (270 instead of 290; one request each) and in a
further turn of it (3 instead of 2).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

_Tiles = Literal["tiles", "tiles-5", "tiles-mini", "tiles-o"]
_Patches = Literal["patches-1.2", "patches-1.5", "patches-1.62", "patches-1.72", "patches-2.46", "patches-1.2-wide"]
Images = Literal["standard", "high", _Tiles, _Patches]
"""Ways to charge pictures: Claude's two tiers, OpenAI's tiles, and OpenAI's patches with their factor."""


@dataclass(frozen=True, slots=True)
class PromptGrammar:
    """Tokens that a provider adds around the texts of a request. Factors are in thousandths, all else is tokens.

    A *turn* is a run of messages of one side; tool results belong to the user's side.

    Attributes:
        name: the name that ``explain`` prints.
        encoding: the vocabulary.
        error: the expected error of a count, in words.
        form: ``plain``: texts alone; ``framed``: texts, and fixed tokens around calls and results; ``tagged``:
            Claude's, where calls and results are tokenized together with their tags.
        given: factor on the text of users, system text and tool results.
        written: factor on the assistant's text.
        user: a user's turn.
        assistant: an assistant's turn; in ``tagged`` a turn without calls.
        system: system text among the messages.
        again: a message that continues the turn before it (``tagged``).
        call: each call.
        calls: the calls of a turn together.
        parallel: added once to a turn with several calls.
        result: the only result of a turn.
        results: several results of a turn together.
        each: each of several results.
        failed: a single result that reports an error or is empty.
        thinking: thinking with its text.
        thought: a turn with thinking and calls.
        signature: factor on the length of the signature of thinking without its text.
        unsigned: characters of that signature that do not count.
        keeps_thinking: whether thinking of the turns before the last user message stays in the prompt.
        images: how pictures are charged: Claude's tiers ``standard`` and ``high``; OpenAI's ``tiles`` (gpt-4o),
            ``tiles-5`` (gpt-5), ``tiles-mini`` (gpt-4o-mini), ``tiles-o`` (o1 and o3), ``patches-`` and a factor
            (the smaller and the later models: ``IMAGES`` of the model table).
        opening: an empty request: the frames of the first turn and of the answer.
        tools: a request with tools.
        forced: a request with tools, one of which must be called; replaces ``tools``.
        chosen: a request that names the tool to call; replaces ``tools``.
        nested: added if the definitions are inside ``function``, as in Chat Completions.
        tool: each tool, beyond the text of its definition.
        enabled: ``thinking={"type": "enabled"}``.
        adaptive: ``thinking={"type": "adaptive"}``.
        budget: ``output_config={"task_budget": ...}``.
        schema: structured output, beyond the text of its schema.
        schemas: factor on the text of that schema.
    """

    name: str
    encoding: str
    error: str
    form: Literal["plain", "framed", "tagged"]
    given: int = 1000
    written: int = 1000
    user: int = 0
    assistant: int = 0
    system: int = 0
    again: int = 0
    call: int = 0
    calls: int = 0
    parallel: int = 0
    result: int = 0
    results: int = 0
    each: int = 0
    failed: int = 0
    thinking: int = 0
    thought: int = 0
    signature: int = 125
    unsigned: int = 0
    keeps_thinking: bool = True
    images: Images = "standard"
    opening: int = 0
    tools: int = 0
    forced: int = 0
    chosen: int = 0
    nested: int = 0
    tool: int = 0
    enabled: int = 0
    adaptive: int = 0
    budget: int = 0
    schema: int = 0
    schemas: int = 1000


def _grammars() -> dict[str, PromptGrammar]:
    """Return the grammars of ``prompts.toml``."""
    found: dict[str, PromptGrammar] = {}
    for table in tomllib.loads(Path(__file__).with_name("prompts.toml").read_text("utf-8"))["grammars"]:
        names, base = table.pop("columns"), found.get(table.pop("base", ""))
        for column, name in enumerate(names):
            values: dict[str, Any] = {
                key: each[column] if isinstance(each, list) else each for key, each in table.items()
            }
            found[name] = replace(base, **values) if base else PromptGrammar(**values)
    return found


PROMPTS = _grammars()
"""The grammars by name."""
