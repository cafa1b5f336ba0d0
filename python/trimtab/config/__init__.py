"""Configuration: the documents' own keys, from code, environment and files, onto the preset that they belong to.

A key is a name and a place in the preset, so its default is what the preset says. What is given in code rules over the
environment, the environment over the file, the file over the preset.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..policies import POLICIES
from .files import parse, said, tables
from .keys import RULES, SECTIONS, Key, Section, wrong
from .places import at, put
from .scenarios import SCENARIOS

if TYPE_CHECKING:
    from ..planning.policy import Policy

__all__ = [
    "RULES",
    "SCENARIOS",
    "SECTIONS",
    "ConfigError",
    "Key",
    "Section",
    "choices",
    "configured",
    "keys",
    "load",
    "parse",
    "section",
    "value",
]


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
            raise wrong(f"unknown key {name!r} in {section!r}; known are {', '.join(known)}")
    policy = _chosen(table, values, policy)
    base = POLICIES.get(policy.name, policy)
    for name, key in table.keys.items():
        if name in values:
            _check(name, key, values[name])
            policy = _changed(policy, base, key, values[name])
    for less, more in table.below:
        if not value(section, less, policy) < value(section, more, policy):
            raise wrong(f"{less} must be less than {more}")
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
        raise wrong(f"unknown key {key!r} in {section!r}; known are {', '.join(keys(section))}")
    entry = table.keys[key]
    found = at(policy, entry.paths[0])
    return found is None if entry.absent else found is not None if entry.present else found


def keys(section: str) -> list[str]:
    """A section's keys."""
    table = _section(section)
    return [*([table.chooser] if table.chooser else []), *table.keys]


def choices(key: str) -> list[str]:
    """The values that a key chooses among, the default first.

    Raises:
        ConfigError: it is no such key.
    """
    found = [table.choices for table in SECTIONS.values() if table.chooser == key and table.choices]
    if not found:
        choosers = [table.chooser for table in SECTIONS.values() if table.chooser]
        raise wrong(f"{key!r} does not choose; those that do are {', '.join(choosers)}")
    return [*found[0]]


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
    held = tables(Path(source)) if source is not None else {}
    found = [name for name in SECTIONS if name in held]
    if section is None and len(found) != 1:
        raise wrong(f"need one of the sections {', '.join(SECTIONS)}, found {', '.join(found) or 'none'}")
    section = section or found[0]
    given = _ours(held, section)
    prefix = f"TRIMTAB_{section}_".upper()
    for name, text in (os.environ if environ is None else environ).items():
        if name.startswith(prefix):
            given[name.removeprefix(prefix).lower()] = said(text)
    return configured(section, given | values)


def _ours(tables: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A section's keys; of ``agent``, under which sven keeps more than its compaction, those of the compaction."""
    given = tables.get(name) or {}
    if not isinstance(given, Mapping):
        raise wrong(f"{name} must be a mapping of keys, got {given!r}")
    return {key: entry for key, entry in given.items() if name != "agent" or key in keys(name) or "compaction" in key}


def _section(name: str) -> Section:
    if name not in SECTIONS:
        raise wrong(f"unknown section {name!r}; known are {', '.join(SECTIONS)}")
    return SECTIONS[name]


def _chosen(table: Section, values: Mapping[str, Any], policy: Policy | None) -> Policy:
    """The preset to start from."""
    if not table.chooser or table.chooser not in values:
        return policy or POLICIES[table.policy]
    choice, known = values[table.chooser], table.choices or {}
    if choice not in known:
        raise wrong(f"unknown {table.chooser.rsplit('_', 1)[-1]} {choice!r}; known are {', '.join(sorted(known))}")
    return POLICIES[known[choice]]


def _check(name: str, key: Key, given: Any) -> None:
    allowed, words = RULES[key.rule]
    if not allowed(given):
        raise wrong(f"{name} {words}, got {given!r}")


def _changed(policy: Policy, base: Policy, key: Key, given: Any) -> Policy:
    for path in key.paths:
        entry = given
        if key.absent or key.present:
            entry = at(base, path) if given == key.present else None
        policy = put(policy, path, entry)
    return policy
