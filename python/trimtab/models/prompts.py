"""Tokens that providers add around the texts of a request, by generation of models.

Each number was fitted to recorded requests and their billed tokens; `docs/dev/request-counts.md` has the method and the
errors. To correct a number, change it here, or give a ``Model`` a ``Prompt`` of your own.

Claude's numbers were fitted twice, independently and on separate requests (the second time 587 deltas, 41 requests).
Both fits agree on turns, results, errors, thinking, signatures, thinking options, structured output, and on the
reductions of later generations (16 tokens a block of calls, 7 a turn of results). The second fit differs in the tools
of 4.5 (495 and 589 instead of 496 and 588), in the tools of opus-4-8 (270 instead of 290; one request each) and in a
further turn of it (3 instead of 2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

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


_Table: TypeAlias = dict[str, tuple[str | int, ...]]
"""Fields of several prompts: a row for each field, a column for each generation of models."""

# 1,643 prompt deltas and 130 whole requests of `data/pairs.jsonl`; a comment says where there were fewer.
_CLAUDE: _Table = {
    "name": ("Claude 3 to 4.1", "Claude 4.5", "Claude 4.6", "Claude 4.7", "Claude 4.8 and later"),
    "encoding": ("claude-old", "claude-old", "claude-old", "claude-new", "claude-new"),
    # One-message requests cost 7 beyond their text, each further pair of texts 6 (66 requests), 4 on opus-4-8 (1).
    "user": (3, 3, 3, 3, 2),
    "assistant": (3, 3, 3, 3, 2),
    "system": (0, 0, 0, 0, 3),  # 7 requests
    "again": (1, 1, 1, 1, 1),  # two user messages in a row cost 8 (1 request, again in Claude 4.8: 2)
    "calls": (0, 0, 0, 0, -16),  # tool loops of opus-5, sonnet-5 and fable-5, in three repositories and two harnesses
    # With the user's turn 11: 1,400 deltas of one call and one result, residual 0; 7 less a turn in Claude 4.8.
    "result": (8, 8, 8, 8, 2),
    "failed": (8, 8, 8, 8, 8),  # is_error, and an empty result, which reads as one: 120 and 40 deltas
    # With the user's turn 13, and 15 for each with its name: 170 deltas, residual 0 to 2.
    "results": (10, 10, 10, 10, 4),
    "each": (15, 15, 15, 15, 15),
    "thinking": (8, 8, 8, 8, 8),  # full text in the log: exact on 4.5
    "thought": (7, 7, 0, 0, 0),  # a turn with thinking and calls, measured on 4.5
    "signature": (188, 188, 188, 283, 283),  # median error 5 to 8 % of the block
    "unsigned": (191, 191, 191, 212, 212),
    # sonnet-4-5 drops it on 30 of 30 user turns; opus-4-5 keeps it, as the model table says.
    "keeps_thinking": (False, False, True, True, True),
    "images": ("standard", "standard", "standard", "high", "high"),
    "opening": (4, 4, 4, 8, 4),  # one-message requests cost 7, 11 (3 requests) and 6
    # sonnet-4: 3 requests; 4.5: 35 requests, for a while 183 less, as before: the provider's side; opus-4-8: 1 request.
    "tools": (313, 496, 496, 496, 290),
    "forced": (315, 588, 588, 588, 382),  # tool_choice any: 12 requests of 4.5; in 4.8 by the difference in 4.5
    "chosen": (320, 593, 593, 593, 387),  # tool_choice tool: 2 requests of 4.5
    "enabled": (29, 29, 29, 29, 29),  # 11 requests
    "adaptive": (17, 17, 17, 0, 0),  # 4 requests
    "budget": (0, 0, 0, 36, 36),  # 35 and 36 (2 requests)
    "schema": (111, 111, 111, 111, 111),  # rough: 14 requests
    "schemas": (1280, 1280, 1280, 1280, 1280),
}

# 1,131 deltas of Codex and 204 whole requests.
_OPENAI: _Table = {
    "name": ("OpenAI before gpt-5", "OpenAI o-series", "OpenAI gpt-5"),
    "user": (4, 4, 4),
    "assistant": (4, 4, 6),  # gpt-5: the channel of what it says (3 requests)
    "system": (4, 4, 4),
    "call": (8, 10, 10),
    "parallel": (10, 0, 0),
    "result": (9, 11, 11),  # o-series: 9 an output and 2 a turn, exact for 77 % of 1,131 deltas
    "results": (0, 2, 2),
    "each": (9, 9, 9),
    "images": ("tiles", "tiles", "tiles-5"),
    "opening": (3, 2, 2),  # one-message requests cost 7 (15 requests), in the o-series 6 (7 requests)
    "tools": (-2, 3, 3),
    "nested": (5, 82, 82),
    "tool": (-1, -1, -1),
}


def _prompts(names: tuple[str, ...], table: _Table, **shared: Any) -> dict[str, PromptGrammar]:
    """Return the prompt of each column, by name."""
    columns = [dict(zip(table, column, strict=True)) for column in zip(*table.values(), strict=True)]
    return {name: PromptGrammar(**shared, **column) for name, column in zip(names, columns, strict=True)}


PROMPTS = _prompts(
    ("claude", "claude-4.5", "claude-4.6", "claude-4.7", "claude-4.8"),
    _CLAUDE,
    form="tagged",
    error="reconstructed: within 3 tokens of the billed count on 90 % of recorded turns",
)
PROMPTS |= _prompts(
    ("openai-4", "openai-o", "openai"),
    _OPENAI,
    form="framed",
    encoding="o200k_base",
    error="exact for text, a few tokens off for tools",
)
PROMPTS |= {
    "openai-cl100k": replace(PROMPTS["openai-4"], name="OpenAI gpt-4", encoding="cl100k_base"),
    "gemini": PromptGrammar(
        "Gemini",
        "o200k_base",
        "an estimate by another model's encoding: off by 5 % without tools, 18 % with them (medians)",
        form="framed",
        given=1040,  # texts of 360 and 1,006 tokens cost 4 and 5 % more
        written=1040,
        user=1,  # one-message requests cost 1 beyond their text from 2.5 on (20 requests)
        assistant=1,
        system=1,
    ),
    "gpt-oss": PromptGrammar(  # what `fitted` finds of `Harmony`: tests/unit/templates/test_harmony.py
        "gpt-oss",
        "o200k_harmony",
        "whole prompts in the Harmony format, exact where the server renders them as vLLM does",
        form="framed",
        images="tiles",
        user=4,
        assistant=6,
        system=7,
        call=11,
        result=12,
        each=12,
        thinking=6,
        keeps_thinking=False,
        opening=63,
    ),
    "unknown": replace(
        PROMPTS["openai-4"],
        name="unknown",
        # `make bench-open-prompts`: the medians of models whose templates render calls.
        error="a guess by another model's encoding, off by 2 to 22 % (medians); exact by Model.from_folder",
    ),
}
"""The grammars by name."""
