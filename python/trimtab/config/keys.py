"""The configuration keys: name, rule for the value, and place in the preset."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from ..errors import ConfigError
from ..planning.policy import KEEP_TAG, Server
from ..planning.stages import Messages, Tokens, Turns
from ..policies import POLICIES
from .paths import get

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..planning.policy import Policy


def _number(entry: object) -> bool:
    return isinstance(entry, int | float) and not isinstance(entry, bool)


def _integer(entry: object) -> bool:
    return isinstance(entry, int) and not isinstance(entry, bool)


def listed(entry: object) -> list[Any] | None:
    """Return the names of an entry, of which one may stand alone; None if it is neither."""
    return [entry] if isinstance(entry, str) else [*entry] if isinstance(entry, list | tuple) else None


RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "share": (lambda v: _number(v) and 0 < v <= 1, "must be between 0 and 1, and not 0"),
    "part": (lambda v: _number(v) and 0 <= v <= 1, "must be between 0 and 1"),
    "positive": (lambda v: _integer(v) and v > 0, "must be positive"),
    "number": (lambda v: _number(v) and 0 < v < float("inf"), "must be a positive number"),
    "count": (lambda v: _integer(v) and v >= 0, "must be non-negative"),
    "name": (lambda v: isinstance(v, str) and bool(v), "is required"),
    "model": (lambda v: v is None or (isinstance(v, str) and bool(v)), "must be a model's id, or nothing"),
    "switch": (lambda v: isinstance(v, bool), "must be true or false"),
    "at least 1": (lambda v: _integer(v) and v >= 1, "must be a whole number of at least 1"),
    "at least 0": (lambda v: _integer(v) and v >= 0, "must be a whole number of at least 0"),
    "tag": (
        lambda v: isinstance(v, str) and KEEP_TAG.fullmatch(v) is not None,
        "must be a name of ASCII letters, digits, - and _, or empty for none",
    ),
    "early": (
        lambda v: isinstance(v, bool) or (_number(v) and 0 < v < 1),
        "must be true, false, or a share of the trigger between 0 and 1",
    ),
    "server": (lambda v: v in get_args(Server), "must be call, pass, auto, or empty for none"),
    "names": (
        lambda v: (names := listed(v)) is not None and all(isinstance(n, str) and n and "," not in n for n in names),
        'must be a name or a list of names, written ["Read", "Skill"]',
    ),
}
"""Rules for values: a predicate, and the words of its error."""


@dataclass(frozen=True, slots=True)
class Key:
    """A configuration key.

    Attributes:
        rule: the rule for its value, a key of ``RULES``.
        paths: its places in the policy, as names of fields or a keeper's type; read from the first.
        removed_by: the value of a switch that removes the stage at the path; None for other keys.
        needs: returns whether the key has an effect under a policy; None if it always has.
    """

    rule: str
    paths: tuple[tuple[str | type, ...], ...]
    removed_by: bool | None = None
    needs: Callable[[Policy], bool] | None = None

    def applies(self, policy: Policy) -> bool:
        """Return whether a policy has the field of this key."""
        return get(policy, self.paths[0]) is not None and (self.needs is None or self.needs(policy))


def _key(rule: str, *path: str | type) -> Key:
    return Key(rule, (path,))


@dataclass(frozen=True, slots=True)
class KeySection:
    """The keys of one system's document.

    Attributes:
        policy: the preset that they change.
        keys: the keys by name.
        preset_key: the key that chooses a preset; empty if there is none.
        choices: name of the preset for each of its values, the default first.
        ordered: pairs of keys; the first must be less than the second.
        of_any_policy: whether the keys are those of any policy: one that has no such field is an error.
    """

    policy: str
    keys: Mapping[str, Key]
    preset_key: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    ordered: tuple[tuple[str, str], ...] = ()
    of_any_policy: bool = False

    @property
    def names(self) -> list[str]:
        """Names of all keys."""
        return [self.preset_key, *self.keys] if self.preset_key else [*self.keys]


_FORMULAS = {
    "threshold": _key("share", "trigger", "share"),
    "critical": _key("share", "trigger", "critical"),
    "summary_model": _key("name", "summarize", "model"),
    "summary_max_tokens": _key("positive", "summarize", "max_tokens"),
    "max_output_tokens": _key("positive", "trigger", "output"),
    "context_limit": _key("positive", "trigger", "window"),
    "preserve_recent": _key("count", "prune", "keep_messages"),
    "estimator": _key("name", "counter", "name"),
}

SECTIONS: dict[str, KeySection] = {
    "spec09": KeySection("spec09", _FORMULAS | {"preserve_ratio": _key("part", "keep", Tokens, "window_share")}),
    "goat": KeySection("goat", _FORMULAS | {"preserve_ratio": _key("part", "keep", Messages, "share")}),
    "agentpg": KeySection(
        "agentpg",
        {
            "trigger": _key("share", "trigger", "share"),
            "target_tokens": _key("positive", "target"),
            "preserve_last_n": _key("count", "keep", Messages, "count"),
            "protected_tokens": _key("count", "keep", Tokens, "count"),
            "max_tokens_for_model": _key("positive", "trigger", "window"),
            "summarizer_model": _key("name", "summarize", "model"),
            "summarizer_max_tokens": _key("positive", "summarize", "max_tokens"),
            "preserve_tool_outputs": Key("switch", (("prune",),), removed_by=True),
            "use_token_counting_api": _key("switch", "counter", "asks"),
        },
        preset_key="strategy",
        choices={"hybrid": "agentpg", "summarization": "agentpg_summarization"},
        ordered=(("target_tokens", "max_tokens_for_model"),),
    ),
    "agent": KeySection(
        "sven",
        {
            "compaction_threshold": _key("part", "trigger", "share"),
            "compaction_keep_recent": Key(
                "count", (("keep", Messages, "count"), ("emergency", "keep", Messages, "count"))
            ),
            "tool_result_token_cap": _key("count", "ingest", "tokens"),
            "compaction_overhead_reserve": _key("part", "trigger", "reserve"),
        },
        preset_key="compaction_strategy",
        choices={"structured": "sven", "narrative": "sven_narrative"},
    ),
    "compaction": KeySection(
        "opencode",
        {
            "auto": _key("switch", "trigger", "auto"),
            "prune": Key("switch", (("prune",),), removed_by=False),
            "model": _key("model", "summarize", "model"),
            "protect": _key("count", "prune", "protect_tokens"),
            "minimum": _key("count", "prune", "min_gain"),
        },
    ),
    "policy": KeySection(
        "default",
        {
            "trigger_share": _key("share", "trigger", "share"),
            "target_budget_share": Key("share", (("target",),), needs=lambda policy: policy.has_target),
            "keep_turns": _key("at least 1", "keep", Turns, "count"),
            "never_prune": _key("names", "prune", "skip"),
            "max_result_tokens": _key("at least 0", "ingest", "tokens"),
            "keep_tag": _key("tag", "keep_tag"),
            "background": _key("early", "trigger", "background"),
            "server": _key("server", "server"),
        },
        preset_key="name",
        choices={name: name for name in POLICIES},
        of_any_policy=True,
    ),
}
"""The sections by their names in configuration files."""


def config_error(what: str) -> ConfigError:
    """Return an error of a configuration, with the prefix that all of them have."""
    return ConfigError(f"{ConfigError.words}: {what}")
