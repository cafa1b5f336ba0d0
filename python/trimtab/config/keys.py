"""The configuration keys: name, rule for the value, and place in the preset."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from ..errors import ConfigError
from ..planning.policy import KEEP_TAG, Server
from ..policies import POLICIES

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
        paths: its places in the policy, as names of fields or a keeper's type, with dots; read from the first.
        removed_by: the value of a switch that removes the stage at the path; None for other keys.
        needs: property of a policy without which the key has no effect; empty if it always has one.
    """

    rule: str
    paths: tuple[str, ...]
    removed_by: bool | None = None
    needs: str = ""

    def applies(self, policy: Policy) -> bool:
        """Return whether a policy has the field of this key."""
        return get(policy, self.paths[0]) is not None and (not self.needs or bool(getattr(policy, self.needs)))


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


def _sections() -> dict[str, KeySection]:
    """Return the sections of ``keys.toml``."""
    tables = tomllib.loads(Path(__file__).with_name("keys.toml").read_text("utf-8"))
    found = {}
    for name, table in tables.items():
        every = tables.get(table.get("base"), {}).get("keys", {}) | table["keys"]
        keys = {each: Key(**{**key, "paths": tuple(key["paths"])}) for each, key in every.items()}
        presets = {preset: preset for preset in POLICIES} if table.get("of_any_policy") else {}
        settings = {each: entry for each, entry in table.items() if each not in {"base", "keys"}}
        ordered = tuple(map(tuple, settings.pop("ordered", ())))
        found[name] = KeySection(**{"choices": presets, **settings, "keys": keys, "ordered": ordered})
    return found


SECTIONS: dict[str, KeySection] = _sections()
"""The sections by their names in configuration files."""


def config_error(what: str) -> ConfigError:
    """Return an error of a configuration, with the prefix that all of them have."""
    return ConfigError(f"{ConfigError.words}: {what}")


def get(policy: Policy, path: str) -> Any:
    """Return the value at a path; None if a stage or keeper on the way is missing."""
    of: Any = policy
    for step in path.split("."):
        if of is None:
            return None
        of = getattr(of, step) if step.islower() else next((k for k in of.keepers if type(k).__name__ == step), None)
    return of


def replace_at(of: Any, path: str, entry: Any) -> Any:
    """Return a copy with another value at a path; a missing stage stays missing."""
    if not path:
        return entry
    if of is None:
        return None
    step, _, behind = path.partition(".")
    if step.islower():
        return replace(of, **{step: replace_at(getattr(of, step), behind, entry)})
    keepers = (replace_at(k, behind, entry) if type(k).__name__ == step else k for k in of.keepers)
    return replace(of, keepers=tuple(keepers))
