"""Presets: one TOML file each, values only; a comment gives the source of each value.

A table is the stage of its name. ``base`` names the preset whose other values hold, ``template`` one whose template
does, and ``false`` leaves a stage out.
"""

from __future__ import annotations

import tomllib
from collections import UserDict
from pathlib import Path
from typing import Any

from ..counting.estimate import Calibration, Estimate
from ..planning.budget import Trigger
from ..planning.policy import Policy
from ..planning.stages import (
    Emergency,
    Ingest,
    Keep,
    Messages,
    Pins,
    Place,
    PruneResults,
    Summaries,
    SummarizeZone,
    Template,
    Tokens,
    Turns,
)

NAMES = ("default", "drop", "spec09", "goat", "agentpg", "agentpg_summarization", "sven", "sven_narrative", "opencode")
"""The presets, those of trimtab first."""

_STAGES: dict[str, Any] = {
    "counter": Estimate,
    "calibration": Calibration,
    "trigger": Trigger,
    "keep": Keep,
    "prune": PruneResults,
    "ingest": Ingest,
    "summarize": SummarizeZone,
    "template": Template,
    "place": Place,
    "emergency": Emergency,
}
_KEEPERS: dict[str, Any] = {kind.__name__: kind for kind in (Tokens, Messages, Turns, Summaries, Pins)}


class Presets(UserDict[str, Policy]):
    """The presets by name, each read from its file when it is first asked for."""

    def __init__(self) -> None:
        """Read nothing."""
        self.data = dict.fromkeys(NAMES)  # type: ignore[assignment]

    def __getitem__(self, name: str) -> Policy:
        if self.data[name] is None:
            values = _values(name)
            self.data[name] = Policy(**{key: _made(key, value) for key, value in values.items()})
        return self.data[name]


def _values(name: str) -> dict[str, Any]:
    """Return the values of a preset's file, with those of its base."""
    found = tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))
    return _merged(_values(found.pop("base")), found) if "base" in found else found


def _merged(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    both = {key: _merged(base[key], own[key]) for key in own if isinstance(own[key], dict) and key in base}
    return {**base, **own, **both}


def _made(name: str, value: Any) -> Any:
    """Return the value of a key: of a table its stage, of a list a tuple."""
    if isinstance(value, list):
        return tuple(_made(name, each) for each in value)
    if name in _STAGES and value is False:
        return None
    if name == "template" and isinstance(value, str):
        value = _values(value)["summarize"]["template"]
    if not isinstance(value, dict):
        return value
    kind = _KEEPERS[value.pop("type")] if name == "keepers" else _STAGES[name]
    return kind(**{key: _made(key, each) for key, each in value.items()})


POLICIES = Presets()
"""Preset by name, for ``Compactor(policy=...)`` and the command line."""


def __getattr__(name: str) -> Policy:
    """Return a preset by its name in capitals, such as ``DEFAULT``."""
    if name.lower() in NAMES and name.isupper():
        return POLICIES[name.lower()]
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
