"""Configuration: the documents' own keys, from code, environment and files, onto the preset that they belong to.

A key is a name and a place in the preset, so its default is what the preset says. What is given in code rules over the
environment, the environment over the file, the file over the preset.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import ConfigError
from .policies import POLICIES
from .stages import Messages, Tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ._policy import Policy

RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "share": (lambda v: _number(v) and 0 < v <= 1, "must be above 0 and at most 1"),
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
            "compaction_threshold": _key("share", "trigger", "share"),
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

SCENARIOS: dict[str, tuple[str, dict[str, Any]]] = {
    "tool-heavy": (
        "agentpg",
        {"strategy": "hybrid", "trigger": 0.80, "target_tokens": 60_000, "preserve_tool_outputs": False},
    ),
    "general-chat": ("agentpg", {"strategy": "summarization", "trigger": 0.85, "target_tokens": 80_000}),
    "cost-sensitive": (
        "agentpg",
        {"strategy": "hybrid", "trigger": 0.75, "target_tokens": 50_000, "preserve_tool_outputs": False},
    ),
    "context-critical": ("agentpg", {"strategy": "summarization", "trigger": 0.90, "target_tokens": 100_000}),
    "ci": (
        "agent",
        {
            "compaction_threshold": 0.65,
            "compaction_keep_recent": 15,
            "compaction_strategy": "structured",
            "tool_result_token_cap": 2_000,
            "compaction_overhead_reserve": 0.12,
        },
    ),
    "interactive": (
        "agent",
        {
            "compaction_threshold": 0.80,
            "compaction_keep_recent": 5,
            "compaction_strategy": "narrative",
            "tool_result_token_cap": 8_000,
        },
    ),
}
"""Settings that the documents recommend (seeds 002 and 003): the section, and its keys."""


def configured(section: str, values: Mapping[str, Any], policy: Policy | None = None) -> Policy:
    """A preset with some of its document's keys changed.

    Args:
        section: ``agentpg``, ``agent``, ``compaction``, ``goat`` or ``spec09``.
        values: by key.
        policy: is changed instead of the preset.

    Raises:
        ConfigError: a section, a key or a value that there is not; says which there are.

    Example:
        >>> configured("agent", {"compaction_keep_recent": 15}).emergency.keep.keepers[0].count
        15
    """
    table = _section(section)
    known = keys(section)
    for name in values:
        if name not in known:
            raise _wrong(f"unknown key {name!r} in {section!r}; known are {', '.join(known)}")
    policy = _chosen(table, values, policy)
    base = POLICIES.get(policy.name, policy)
    for name, key in table.keys.items():
        if name in values:
            _check(name, key, values[name])
            policy = _changed(policy, base, key, values[name])
    for less, more in table.below:
        if not value(section, less, policy) < value(section, more, policy):
            raise _wrong(f"{less} must be less than {more}")
    return policy


def value(section: str, key: str, policy: Policy | None = None) -> Any:
    """What a preset, or a policy made of it, says under a document's key.

    Raises:
        ConfigError: a section or a key that there is not.
    """
    table = _section(section)
    policy = policy or POLICIES[table.policy]
    if key == table.chooser:
        return policy.strategy
    if key not in table.keys:
        raise _wrong(f"unknown key {key!r} in {section!r}; known are {', '.join(keys(section))}")
    entry = table.keys[key]
    found = _at(policy, entry.paths[0])
    return found is None if entry.absent else found is not None if entry.present else found


def keys(section: str) -> list[str]:
    """A section's keys."""
    table = _section(section)
    return [*([table.chooser] if table.chooser else []), *table.keys]


def choices(key: str) -> list[str]:
    """The values that a key chooses among.

    Raises:
        ConfigError: it is no such key.
    """
    found = [table.choices for table in SECTIONS.values() if table.chooser == key and table.choices]
    if not found:
        raise _wrong(f"{key!r} does not choose; those that do are {', '.join(t.chooser for t in SECTIONS.values())}")
    return sorted(found[0])


def section(tables: Mapping[str, Any], name: str) -> Policy:
    """The policy that one section of a configuration's tables makes; keys of other programs are left alone.

    Raises:
        ConfigError: a key or a value that there is not.
    """
    return configured(name, _ours(tables, name))


def load(
    source: str | os.PathLike[str] | None = None,
    *,
    section: str | None = None,
    environ: Mapping[str, str] | None = None,
    **values: Any,
) -> Policy:
    """A policy from a file, the environment and code; what is given in code rules.

    Args:
        source: a ``.toml``, ``.yaml`` or ``.yml`` file with one of the documents' sections; other sections, and keys of
            other programs in the section ``agent``, are left alone.
        section: whose keys the environment and ``values`` have; the file's where it is not given.
        environ: where ``TRIMTAB_<SECTION>_<KEY>`` is looked up; the process's own where it is not given.
        values: by key.

    Raises:
        ConfigError: a section, a key or a value that there is not, or a file that cannot be read as one.
    """
    tables = _file(Path(source)) if source is not None else {}
    found = [name for name in SECTIONS if name in tables]
    if section is None and len(found) != 1:
        raise _wrong(f"need one of the sections {', '.join(SECTIONS)}, found {', '.join(found) or 'none'}")
    section = section or found[0]
    given = _ours(tables, section)
    surroundings = os.environ if environ is None else environ
    for key in keys(section):
        if (text := surroundings.get(f"TRIMTAB_{section}_{key}".upper())) is not None:
            given[key] = _read(text)
    return configured(section, given | values)


def parse(text: str, kind: str) -> dict[str, Any]:
    """What a configuration's text holds, by section.

    Args:
        text: of the file.
        kind: ``toml``, ``yaml`` or ``yml``.

    Raises:
        ConfigError: it cannot be read.
    """
    if kind == "toml":
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _wrong(f"not TOML: {error}") from error
    if kind not in {"yaml", "yml"}:
        raise _wrong(f"a file's name must end in .toml, .yaml or .yml, got {kind!r}")
    try:
        import yaml  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra, for those who have such a file
    except ImportError as error:
        raise _wrong("reading YAML needs PyYAML: pip install trimtab[yaml]") from error
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _wrong(f"not YAML: {error}") from error
    if not isinstance(found, dict):
        raise _wrong("a configuration is a mapping of sections")
    return found


def _ours(tables: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A section's keys; of ``agent``, under which sven keeps more than its compaction, those of the compaction."""
    given = dict(tables.get(name) or {})
    return {key: entry for key, entry in given.items() if name != "agent" or key in keys(name) or "compaction" in key}


def _file(path: Path) -> dict[str, Any]:
    try:
        return parse(path.read_text(encoding="utf-8"), path.suffix.removeprefix("."))
    except OSError as error:
        raise _wrong(f"{path}: {error.strerror}") from error


def _read(text: str) -> Any:
    """A value of the environment, as TOML would read it; a bare word is a word."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _section(name: str) -> Section:
    if name not in SECTIONS:
        raise _wrong(f"unknown section {name!r}; known are {', '.join(SECTIONS)}")
    return SECTIONS[name]


def _chosen(table: Section, values: Mapping[str, Any], policy: Policy | None) -> Policy:
    """The preset to start from."""
    if not table.chooser or table.chooser not in values:
        return policy or POLICIES[table.policy]
    choice, known = values[table.chooser], table.choices or {}
    if choice not in known:
        raise _wrong(f"unknown {table.chooser.rsplit('_', 1)[-1]} {choice!r}; known are {', '.join(sorted(known))}")
    return POLICIES[known[choice]]


def _check(name: str, key: Key, given: Any) -> None:
    allowed, words = RULES[key.rule]
    if not allowed(given):
        raise _wrong(f"{name} {words}, got {given!r}")


def _changed(policy: Policy, base: Policy, key: Key, given: Any) -> Policy:
    for path in key.paths:
        entry = given
        if key.absent or key.present:
            entry = _at(base, path) if given == key.present else None
        policy = _with(policy, path, entry)
    return policy


def _at(of: Any, path: tuple[str | type, ...]) -> Any:
    """What stands at a path; None where a stage on the way is not there."""
    for step in path:
        if of is None:
            return None
        of = getattr(of, step) if isinstance(step, str) else next(k for k in of.keepers if isinstance(k, step))
    return of


def _with(of: Any, path: tuple[str | type, ...], entry: Any) -> Any:
    """The same value with another one at a path; a stage that is not there stays away."""
    if not path:
        return entry
    if of is None:
        return None
    step, rest = path[0], path[1:]
    if isinstance(step, str):
        return replace(of, **{step: _with(getattr(of, step), rest, entry)})
    return replace(of, keepers=tuple(_with(k, rest, entry) if isinstance(k, step) else k for k in of.keepers))


def _wrong(what: str) -> ConfigError:
    return ConfigError(f"{ConfigError.words}: {what}")


def _number(entry: object) -> bool:
    return isinstance(entry, int | float) and not isinstance(entry, bool)


def _whole(entry: object) -> bool:
    return isinstance(entry, int) and not isinstance(entry, bool)
