"""Configuration: the documents' keys, their defaults and their values."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, get_args

import trimtab
from trimtab import config, hooks

from .presets import GOAT, MODEL
from .table import OPS, op, plays


@op
def triggers() -> list[str]:
    return [*get_args(hooks.Cause)]


CHOOSERS = {
    "Strategy": "strategy",
    "agentpg": "strategy",
    "CompactionStrategy": "compaction_strategy",
    "agent": "compaction_strategy",
    "sven": "compaction_strategy",
}


@op
def enum_values(enum: str) -> list[str]:
    return config.choices(CHOOSERS.get(enum, enum))


@op
def default_config_field(field: str) -> Any:
    return config.value("agentpg", field)


@op
@plays("leaves zeros out: in the document's language a zero is a field that was not set")
def apply_defaults(**given: Any) -> dict[str, Any]:
    policy = config.configure("agentpg", {key: value for key, value in given.items() if value})
    return {key: config.value("agentpg", key, policy) for key in config.keys("agentpg")}


OPS["default_config"] = apply_defaults


@op
def validate_config(override: dict[str, Any] | None = None) -> dict[str, Any]:
    try:
        config.configure("agentpg", override or {})
    except trimtab.Error as error:
        return {"error": str(error)}
    return {"error": None}


@op
def config_default(key: str) -> Any:
    return config.value("agent", key)


@op
def config_yaml(yaml: str, key: str, round_trip: bool = False) -> Any:
    policy = loaded(yaml)
    if round_trip:
        keys = {key: config.value("agent", key, policy) for key in config.keys("agent")}
        policy = loaded(json.dumps({"agent": keys}))
    return config.value("agent", key, policy)


def loaded(yaml: str) -> trimtab.Policy:
    """The policy of a file's section ``agent``."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "agent.yaml")
        file.write_text(yaml, encoding="utf-8")
        return config.load(file, section="agent", environ={})


@op
def recommended_preset(scenario: str) -> dict[str, Any]:
    section, keys = config.SCENARIOS[scenario.lower().replace("_", "-").replace(" ", "-")]
    policy = config.configure(section, keys)
    return {key: config.value(section, key, policy) for key in config.keys(section)}


@op
def compactor_defaults() -> dict[str, Any]:
    made = trimtab.Compactor(MODEL, policy=GOAT)
    keys = ("threshold", "critical", "preserve_ratio", "summary_model", "estimator")
    return {key: config.value("goat", key, made.policy) for key in keys} | {
        "hooks": made._session._memory.handler.pre_compact.__name__
    }


@op
def prune_default(era: str | None = None) -> bool:
    return config.value("compaction", "prune")
