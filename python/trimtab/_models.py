"""What we know of models: windows, output limits, families. Every value can be overridden where it is used.

Windows and output limits come from the providers' model pages of November 2026. Families say how a prompt is counted.
The rates of the Claude families are averages fitted on recorded usage; they stand in until Claude's own vocabularies do
the counting.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ._log import log

if TYPE_CHECKING:
    from ._messages import Provider


@dataclass(frozen=True, slots=True)
class Family:
    """How the prompts of some models are counted.

    Attributes:
        name: what ``explain`` calls it.
        encoding: the exact encoding underneath.
        given: tokens for a thousand of the encoding's, in user text, system text and tool results.
        written: the same, in what the assistant wrote.
        call: tokens that a call adds with its result.
        message: tokens that a message adds.
        error: what to expect of a count, in words.
    """

    name: str
    encoding: str
    given: int
    written: int
    call: int
    message: int
    error: str


FAMILIES = {
    family.name: family
    for family in (
        Family("openai", "o200k_base", 1000, 1000, 9, 4, "exact for text, nearly so for tool traffic"),
        Family("claude", "o200k_base", 1145, 1295, 80, 4, "an estimate by average rates"),
        Family("claude-4.7", "o200k_base", 1535, 1640, 108, 4, "an estimate by average rates"),
        Family("unknown", "o200k_base", 1000, 1000, 9, 4, "a guess: another model's encoding"),
    )
}


@dataclass(frozen=True, slots=True)
class Model:
    """A model's limits and rules.

    Attributes:
        name: the id, without a date.
        provider: the message shape that it is usually called with.
        family: how its prompts are counted, a key of ``FAMILIES``.
        window: tokens of input and output together.
        max_output: most tokens of one answer.
        binds_thinking: whether a thinking block is signed against all that stands before it, so that an edit in front
            of it makes the provider refuse it (Anthropic documentation, "Preserved thinking").
        prefill: whether the list may end with the beginning of the answer; models from Claude 4.6 on refuse that.
    """

    name: str
    provider: Provider
    family: str
    window: int
    max_output: int
    binds_thinking: bool = False
    prefill: bool = True

    def __post_init__(self) -> None:
        """Refuses limits that leave no room for a prompt."""
        if not 0 < self.max_output < self.window:
            msg = f"need 0 < max_output < window, got {self.max_output} and {self.window}"
            raise ValueError(msg)
        if self.family not in FAMILIES:
            msg = f"unknown family {self.family!r}, known are {', '.join(FAMILIES)}"
            raise ValueError(msg)

    @classmethod
    def named(cls, name: str, *, window: int | None = None, max_output: int | None = None) -> Model:
        """The model of that id: dated and prefixed ids too, unknown ones by their family.

        Args:
            name: such as ``claude-opus-4-5-20251101``, ``anthropic/claude-sonnet-4-5`` or ``gpt-5.5``.
            window: overrides the table.
            max_output: overrides the table.
        """
        return (_TABLE.get(_plain(name)) or _by_family(name)).limited(window, max_output)

    def limited(self, window: int | None = None, max_output: int | None = None) -> Model:
        """The same model with other limits; None leaves one as it is.

        Raises:
            ValueError: the limits leave no room for a prompt.
        """
        for name, value in (("window", window), ("max_output", max_output)):
            if value is not None and (type(value) is not int or value < 1):
                msg = f"{name} must be a positive number of tokens, got {value!r}"
                raise ValueError(msg)
        room = self.window if window is None else window
        most = min(self.max_output, room // 2) if max_output is None else max_output
        return replace(self, window=room, max_output=most)


def _table() -> dict[str, Model]:
    claude: Provider = "anthropic"
    chat: Provider = "openai_chat"
    rows = [
        *(Model(f"claude-3-{n}", claude, "claude", 200_000, 8_192) for n in ("haiku", "sonnet", "opus")),
        *(Model(f"claude-3-5-{n}", claude, "claude", 200_000, 8_192) for n in ("haiku", "sonnet")),
        Model("claude-3-7-sonnet", claude, "claude", 200_000, 64_000),
        *(Model(f"claude-{n}-4", claude, "claude", 200_000, 32_000) for n in ("opus", "sonnet")),
        Model("claude-opus-4-1", claude, "claude", 200_000, 32_000),
        *(Model(f"claude-{n}-4-5", claude, "claude", 200_000, 64_000) for n in ("haiku", "sonnet", "opus")),
        *(Model(f"claude-{n}-4-6", claude, "claude", 1_000_000, 128_000, prefill=False) for n in ("sonnet", "opus")),
        *(Model(f"claude-opus-4-{n}", claude, "claude-4.7", 1_000_000, 128_000, prefill=False) for n in (7, 8)),
        *(
            Model(f"claude-{n}-5", claude, "claude-4.7", 1_000_000, 128_000, prefill=False)
            for n in ("haiku", "sonnet", "opus")
        ),
        *(
            Model(name, claude, "claude-4.7", 1_000_000, 128_000, binds_thinking=True, prefill=False)
            for name in (
                "claude-haiku-5-5",
                "claude-sonnet-5-5",
                "claude-opus-5-5",
                "claude-fable-5-1",
                "claude-fable-5-2",
                "claude-mythos-5-1",
                "claude-mythos-5-2",
            )
        ),
        *(Model(n, chat, "openai", 128_000, 16_384) for n in ("gpt-4o", "gpt-4o-mini")),
        *(Model(n, chat, "openai", 1_047_576, 32_768) for n in ("gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano")),
        *(Model(n, chat, "openai", 200_000, 100_000) for n in ("o1", "o3", "o3-mini", "o4-mini")),
        *(Model(n, chat, "openai", 400_000, 128_000) for n in ("gpt-5", "gpt-5-mini", "gpt-5-codex", "gpt-5.1")),
        *(Model(n, chat, "openai", 400_000, 128_000) for n in ("gpt-5.2", "gpt-5.3-codex", "gpt-5.4")),
        Model("gpt-5.5", chat, "openai", 1_050_000, 128_000),
    ]
    return {model.name: model for model in rows}


_TABLE = _table()


def known() -> dict[str, Model]:
    """The table, by name."""
    return dict(_TABLE)


def _plain(name: str) -> str:
    """The id without provider, region, date and version: ``us.anthropic.claude-opus-4-1-20250805-v1:0``."""
    bare = name.lower().rsplit("/", 1)[-1]
    bare = re.sub(r"^(\w+\.)*(?=claude|gpt|o\d)", "", bare)
    return re.sub(r"(-v\d+(:\d+)?)?$", "", re.sub(r"([-@]\d{8}|-\d{4}-\d{2}-\d{2}|-latest)(?=$|-v\d|\[)", "", bare))


def _by_family(name: str) -> Model:
    bare = _plain(name)
    family: Literal["claude-4.7", "openai", "unknown"]
    if bare.startswith("claude"):
        family, provider, window, output = "claude-4.7", "anthropic", 200_000, 32_000
    elif re.match(r"gpt|o\d|chatgpt|codex", bare):
        family, provider, window, output = "openai", "openai_chat", 128_000, 16_384
    else:
        family, provider, window, output = "unknown", "openai_chat", 128_000, 16_384
    log.warning("model %r is not in the table: counted as %s, window %s; say window= to override", name, family, window)
    return Model(bare or "unknown", provider, family, window, output)  # type: ignore[arg-type]
