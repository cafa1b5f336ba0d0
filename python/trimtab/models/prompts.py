"""How providers write a request into a prompt: tokens around texts, by generation of model.

Each number was read off recorded requests and the tokens that providers charged for them;
`docs/dev/request-counts.md` has the method and the errors. To correct one, change it here, or give a ``Model`` a
``Prompt`` of your own.

Claude's were read twice, by other hands and with other requests kept apart (587 deltas, 41 requests). Both readings
have the same whole numbers for turns, results, errors, thinking, signatures, thinking options and structured output,
and for what later generations take off (16 a block of calls, 7 a turn of results). They differ in tools of 4.5 (495
and 589 there, 496 and 588 here), tools of opus-4-8 (270 there, 290 here; one request each) and a further turn of it
(3 there, 2 here).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Images = Literal[
    "standard",
    "high",
    "tiles",
    "tiles-5",
    "tiles-mini",
    "tiles-o",
    "patches-1.2",
    "patches-1.5",
    "patches-1.62",
    "patches-1.72",
    "patches-2.46",
    "patches-1.2-wide",
]
"""Ways to charge pictures."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request's grammar. Factors are in thousandths, all else is tokens.

    A *turn* is a run of messages of one side; results of tools stand on the user's.

    Attributes:
        name: what ``explain`` calls it.
        encoding: the vocabulary underneath.
        error: what to expect of a count, in words.
        form: ``plain``: texts alone; ``framed``: texts, and fixed tokens around calls and results; ``tagged``:
            Claude's, where calls and results are tokenized together with their tags.
        given: factor on the text of users, system text and tool results.
        written: factor on what the assistant wrote.
        user: a user's turn.
        assistant: an assistant's turn; in ``tagged`` one without calls.
        system: system text among the messages.
        again: a message that goes on with the turn before it (``tagged``).
        call: each call.
        calls: the calls of a turn together.
        parallel: more, where a turn has several calls.
        result: the only result of a turn.
        results: several results of a turn together.
        each: each of several results.
        failed: a single result that reports an error or is empty.
        thinking: thinking whose text is there.
        thought: a turn with thinking and calls.
        signature: factor on the length of the signature of thinking whose text is not there.
        unsigned: characters of that signature that stand for nothing.
        keeps_thinking: whether thinking of the turns before the user's last words stays in the prompt.
        images: how pictures are charged: Claude's tiers ``standard`` and ``high``; OpenAI's ``tiles`` (gpt-4o),
            ``tiles-5`` (gpt-5), ``tiles-mini`` (gpt-4o-mini), ``tiles-o`` (o1 and o3), ``patches-`` and a factor
            (the smaller and the later ones: ``IMAGES`` of the model table).
        opening: a request, before anything is said: the first turn's frame and the reply's.
        tools: a request with tools.
        forced: the same, where one has to be called.
        chosen: the same, where it is named which.
        nested: more, where the definitions stand in ``function``, as in Chat Completions.
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


# Claude's constants: 1,643 prompt deltas and 130 whole requests of `data/pairs.jsonl`; where it says so, fewer.
_CLAUDE = Prompt(
    "Claude 3 to 4.1",
    "claude-old",
    "reconstructed: nine turns of ten within 3 tokens of the charge",
    form="tagged",
    user=3,  # one-message requests cost 7 beyond their text, each further pair of texts 6 (66 requests)
    assistant=3,
    again=1,  # two user messages in a row cost 8 (1 request, again in Claude 4.8: 2)
    result=8,  # with the user's turn 11: 1,400 deltas of one call and one result, residual 0
    failed=8,  # is_error, and an empty result, which reads as one: 120 and 40 deltas
    results=10,  # with the user's turn 13, and 15 for each with its name: 170 deltas, residual 0 to 2
    each=15,
    thinking=8,  # full text in the log: exact on 4.5
    thought=7,  # 4.5 alone: a turn with thinking and calls
    signature=188,  # median error 5 to 8 % of the block
    unsigned=191,
    keeps_thinking=False,  # sonnet-4-5: 30 of 30 user turns; opus-4-5 keeps it, as its row in the model table says
    opening=4,  # with the user's turn 7
    tools=313,  # sonnet-4: 3 requests
    forced=315,
    chosen=320,
    enabled=29,  # 11 requests
    adaptive=17,  # 4 requests
    schema=111,  # rough: 14 requests
    schemas=1280,
)
_CLAUDE_4_5 = replace(
    _CLAUDE,
    name="Claude 4.5",
    tools=496,  # 35 requests; for a while 183 less, as before: the provider's side
    forced=588,  # tool_choice any: 12 requests
    chosen=593,  # tool_choice tool: 2 requests
)
_CLAUDE_4_6 = replace(_CLAUDE_4_5, name="Claude 4.6", thought=0, keeps_thinking=True)
_CLAUDE_4_7 = replace(
    _CLAUDE_4_6,
    name="Claude 4.7",
    encoding="claude-new",
    images="high",
    signature=283,
    unsigned=212,
    opening=8,  # one-message requests cost 11 (3 requests)
    adaptive=0,
    budget=36,  # 35 and 36 (2 requests)
)
_CLAUDE_4_8 = replace(
    _CLAUDE_4_7,
    name="Claude 4.8 and later",
    user=2,  # a further pair of texts costs 4 (opus-4-8: 1 request of five messages)
    assistant=2,
    system=3,  # 7 requests
    calls=-16,  # read off tool loops of opus-5, sonnet-5 and fable-5, in three repositories and two harnesses
    result=2,  # 7 less a turn than before, same evidence
    results=4,
    opening=4,  # one-message requests cost 6
    tools=290,  # one request of opus-4-8; the other two by what they are more in 4.5
    forced=382,
    chosen=387,
)

# OpenAI's: 1,131 deltas of Codex and 204 whole requests.
_OPENAI_4 = Prompt(
    "OpenAI before gpt-5",
    "o200k_base",
    "exact for text, a few tokens off for tools",
    form="framed",
    user=4,
    assistant=4,
    system=4,
    call=8,
    parallel=10,
    result=9,
    each=9,
    images="tiles",
    opening=3,  # one-message requests cost 7 (15 requests)
    tools=-2,
    nested=5,
    tool=-1,
)
_OPENAI_O = replace(
    _OPENAI_4,
    name="OpenAI o-series",
    call=10,
    parallel=0,
    result=11,  # 9 for each output and 2 for the turn: to the token for 77 % of 1,131 deltas
    results=2,
    opening=2,  # one-message requests cost 6 (7 requests)
    tools=3,
    nested=82,
)
_OPENAI = replace(
    _OPENAI_O,
    name="OpenAI gpt-5",
    images="tiles-5",
    assistant=6,  # the channel of what it says (3 requests)
)

PROMPTS = {
    "claude": _CLAUDE,
    "claude-4.5": _CLAUDE_4_5,
    "claude-4.6": _CLAUDE_4_6,
    "claude-4.7": _CLAUDE_4_7,
    "claude-4.8": _CLAUDE_4_8,
    "openai-4": _OPENAI_4,
    "openai-o": _OPENAI_O,
    "openai": _OPENAI,
    "openai-cl100k": replace(_OPENAI_4, name="OpenAI gpt-4", encoding="cl100k_base"),
    "gemini": Prompt(
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
    "unknown": replace(_OPENAI_4, name="unknown", error="a guess: another model's encoding"),
}
"""The grammars by name."""
