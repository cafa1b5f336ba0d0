"""The documents' keys: a name, what its value may be, and where in the preset it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..planning.stages import Messages, Tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def _number(entry: object) -> bool:
    return isinstance(entry, int | float) and not isinstance(entry, bool)


def _whole(entry: object) -> bool:
    return isinstance(entry, int) and not isinstance(entry, bool)


RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "share": (lambda v: _number(v) and 0 < v <= 1, "must be between 0 and 1, and not 0"),
    "part": (lambda v: _number(v) and 0 <= v <= 1, "must be between 0 and 1"),
    "positive": (lambda v: _whole(v) and v > 0, "must be positive"),
    "count": (lambda v: _whole(v) and v >= 0, "must be non-negative"),
    "name": (lambda v: isinstance(v, str) and bool(v), "is required"),
    "model": (lambda v: v is None or (isinstance(v, str) and bool(v)), "must be a model's id, or nothing"),
    "switch": (lambda v: isinstance(v, bool), "must be true or false"),
}
"""What a value may be, and how that is said."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a document.

    Attributes:
        rule: what its value may be, a key of ``RULES``.
        paths: where it stands in the policy: names of fields, or a keeper's type. The first is where it is read.
        absent: for a switch: whether true means that the stage is not there.
        present: for a switch: whether true means that the stage is there.
        factor: of which the value is a multiple, for a place that holds the product.
    """

    rule: str
    paths: tuple[tuple[str | type, ...], ...]
    absent: bool = False
    present: bool = False


def _key(rule: str, *path: str | type) -> Key:
    return Key(rule, (path,))


@dataclass(frozen=True, slots=True)
class Section:
    """The keys of a document.

    Attributes:
        policy: the preset that they change.
        keys: by name.
        chooser: the key that chooses among presets; empty where there is none.
        choices: its values, and the preset that each stands for.
        below: pairs of keys of which the first must be less than the second.
    """

    policy: str
    keys: Mapping[str, Key]
    chooser: str = ""
    choices: Mapping[str, str] | None = None
    below: tuple[tuple[str, str], ...] = ()


_FORMULAS = {
    "threshold": _key("share", "trigger", "share"),
    "critical": _key("share", "trigger", "critical"),
    "summary_model": _key("name", "summarize", "model"),
    "summary_max_tokens": _key("positive", "summarize", "max_tokens"),
    "max_output_tokens": _key("positive", "trigger", "output"),
    "context_limit": _key("positive", "trigger", "window"),
    "preserve_recent": _key("count", "prune", "age"),
    "estimator": _key("name", "counter", "name"),
}

SECTIONS: dict[str, Section] = {
    "spec09": Section("spec09", _FORMULAS | {"preserve_ratio": _key("part", "keep", Tokens, "window")}),
    "goat": Section("goat", _FORMULAS | {"preserve_ratio": _key("part", "keep", Messages, "share")}),
    "agentpg": Section(
        "agentpg",
        {
            "trigger": _key("share", "trigger", "share"),
            "target_tokens": _key("positive", "target"),
            "preserve_last_n": _key("count", "keep", Messages, "count"),
            "protected_tokens": _key("count", "keep", Tokens, "count"),
            "max_tokens_for_model": _key("positive", "trigger", "window"),
            "summarizer_model": _key("name", "summarize", "model"),
            "summarizer_max_tokens": _key("positive", "summarize", "max_tokens"),
            "preserve_tool_outputs": Key("switch", (("prune",),), absent=True),
            "use_token_counting_api": _key("switch", "counter", "asks"),
        },
        chooser="strategy",
        choices={"hybrid": "agentpg", "summarization": "agentpg_summarization"},
        below=(("target_tokens", "max_tokens_for_model"),),
    ),
    "agent": Section(
        "sven",
        {
            "compaction_threshold": _key("part", "trigger", "share"),
            "compaction_keep_recent": Key(
                "count", (("keep", Messages, "count"), ("emergency", "keep", Messages, "count"))
            ),
            "tool_result_token_cap": _key("count", "ingest", "tokens"),
            "compaction_overhead_reserve": _key("part", "trigger", "reserve"),
        },
        chooser="compaction_strategy",
        choices={"structured": "sven", "narrative": "sven_narrative"},
    ),
    "compaction": Section(
        "opencode",
        {
            "auto": _key("switch", "trigger", "auto"),
            "prune": Key("switch", (("prune",),), present=True),
            "model": _key("model", "summarize", "model"),
            "protect": _key("count", "prune", "protect"),
            "minimum": _key("count", "prune", "minimum"),
        },
    ),
}
"""By the name under which the documents' configuration files have them."""


def wrong(what: str) -> ConfigError:
    """A mistake in a configuration, told with the words that all of them begin with."""
    return ConfigError(f"{ConfigError.words}: {what}")
