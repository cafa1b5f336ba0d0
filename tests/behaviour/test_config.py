"""Configuration: the documents' keys, from code, files and the environment, onto their presets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import keys
import trimtab
from support.models import GPT_SPLIT
from trimtab import config
from trimtab.policies import POLICIES


@pytest.mark.parametrize("section", sorted(config.SECTIONS))
def test_configure_with_defaults_changes_nothing(section: str) -> None:
    policy = POLICIES[config.SECTIONS[section].policy]
    values = {key: config.value(section, key) for key in config.keys(section)}
    assert config.configure(section, values) == policy


@pytest.mark.parametrize(
    ("section", "values", "says"),
    [
        ("agentpg", {"preserve_last_m": 1}, "unknown key 'preserve_last_m' in 'agentpg'; known are strategy, trigger"),
        ("agentpg", {"strategy": "x"}, "unknown strategy 'x'; known are hybrid, summarization"),
        ("agentpg", {"trigger": 1.5}, "trigger must be between 0 and 1, and not 0, got 1.5"),
        ("agentpg", {"target_tokens": 200_000}, "target_tokens must be less than max_tokens_for_model"),
        ("agent", {"compaction_keep_recent": "six"}, "compaction_keep_recent must be non-negative, got 'six'"),
        ("compaction", {"auto": "no"}, "auto must be true or false, got 'no'"),
        ("sven", {}, "unknown section 'sven'; known are spec09, goat, agentpg, agent, compaction"),
    ],
)
def test_configure_rejects_a_wrong_key_or_value_and_lists_valid_ones(section: str, values: Any, says: str) -> None:
    with pytest.raises(trimtab.Error, match=config.ConfigError.words) as raised:
        config.configure(section, values)
    assert says in str(raised.value)


def test_code_overrides_environment_overrides_file_overrides_preset(tmp_path: Path) -> None:
    file = tmp_path / "sven.yaml"
    file.write_text(
        "agent:\n  max_tool_rounds: 30\n  compaction_threshold: 0.7\n  compaction_keep_recent: 9\n"
        "  tool_result_token_cap: 100\n"
    )
    environ = {"TRIMTAB_AGENT_COMPACTION_KEEP_RECENT": "11", "TRIMTAB_AGENT_TOOL_RESULT_TOKEN_CAP": "200"}
    policy = config.load(file, environ=environ, tool_result_token_cap=300)
    found = [config.value("agent", key, policy) for key in config.keys("agent")]
    assert dict(zip(config.keys("agent"), found, strict=True)) == {
        "compaction_strategy": "structured",
        "compaction_threshold": 0.7,
        "compaction_keep_recent": 11,
        "tool_result_token_cap": 300,
        "compaction_overhead_reserve": 0.1,
    }


def test_load_rejects_a_misspelt_environment_variable() -> None:
    with pytest.raises(config.ConfigError, match="unknown key 'compaction_treshold' in 'agent'; known are compaction_"):
        config.load(section="agent", environ={"TRIMTAB_AGENT_COMPACTION_TRESHOLD": "0.5"})
    assert config.load(section="agent", environ={"TRIMTAB_AGENTPG_TRIGGER": "0.5"}) == POLICIES["sven"]


def test_a_file_of_comments_changes_nothing(tmp_path: Path) -> None:
    for name in ("a.yaml", "a.toml"):
        (tmp_path / name).write_text("# nothing yet\n")
        assert config.load(tmp_path / name, section="agent", environ={}) == POLICIES["sven"]


def test_choices_rejects_a_key_that_chooses_no_preset() -> None:
    with pytest.raises(
        config.ConfigError, match="'trigger' does not choose a preset; keys that do are strategy, compaction_s"
    ):
        config.choices("trigger")


def test_toml_and_yaml_give_the_same_policy(tmp_path: Path) -> None:
    toml, yaml = tmp_path / "a.toml", tmp_path / "a.yml"
    toml.write_text("[compaction]\nauto = false\nprotect = 100\n")
    yaml.write_text("compaction:\n  auto: false\n  protect: 100\n")
    assert config.load(toml, environ={}) == config.load(yaml, environ={})
    assert not config.load(toml, environ={}).trigger.auto


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", "x ="),
        ("a.yaml", "a: ["),
        ("a.yaml", "3"),
        ("a.ini", ""),
        ("a.toml", "[other]"),
        ("a.yaml", "agent: 5"),
        ("a.yaml", "agent: [compaction_threshold]"),
        ("a.yaml", "# nothing yet\n"),
    ],
)
def test_load_rejects_a_file_that_is_no_configuration(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(config.ConfigError):
        config.load(tmp_path / name, environ={})
    with pytest.raises(config.ConfigError):
        config.load(tmp_path / "none.toml", environ={})


def test_load_of_a_session_names_what_reads_one(tmp_path: Path) -> None:
    with pytest.raises(config.ConfigError, match=r"trimtab\.read reads a session"):
        config.load(tmp_path / "session.jsonl", environ={})


@pytest.mark.shows("R2.54")
@pytest.mark.parametrize("scenario", sorted(config.SCENARIOS))
def test_every_recommended_setting_is_valid(scenario: str) -> None:
    section, values = config.SCENARIOS[scenario]
    policy = config.configure(section, values)
    assert {key: config.value(section, key, policy) for key in values} == values


def test_a_switch_removes_its_stage_and_restores_it() -> None:
    off = config.configure("agentpg", {"preserve_tool_outputs": True})
    assert off.prune is None
    assert config.configure("agentpg", {"preserve_tool_outputs": False}, off).prune == POLICIES["agentpg"].prune
    assert config.choices("strategy") == ["hybrid", "summarization"]


ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "configuration.md"
OTHERS: dict[str, Any] = {
    "share": 0.5,
    "part": 0.3,
    "positive": 90_001,
    "count": 7,
    "name": GPT_SPLIT,
    "model": GPT_SPLIT,
    "names": ["Skill"],
    "at least 1": 3,
    "at least 0": 7,
    "early": 0.6,
    "tag": "pin",
    "server": "auto",
}
"""For each rule, a value that no preset has."""


def other(section: str, key: str) -> Any:
    """Another value than the preset's."""
    table = config.SECTIONS[section]
    if key == table.preset_key:
        return next(choice for choice in config.choices(key) if choice != config.value(section, key))
    if table.keys[key].rule == "switch":
        return not config.value(section, key)
    return "chars/4" if key == "estimator" else OTHERS[table.keys[key].rule]


@pytest.mark.parametrize(("section", "key"), [(s, k) for s in sorted(config.SECTIONS) for k in config.keys(s)])
def test_every_key_is_read_alike_from_code_toml_yaml_and_environment(tmp_path: Path, section: str, key: str) -> None:
    given = other(section, key)
    written = str(given).lower() if isinstance(given, bool) else given
    quoted = f'"{given}"' if isinstance(given, str) else written
    (tmp_path / "a.toml").write_text(f"[{section}]\n{key} = {quoted}\n")
    (tmp_path / "a.yaml").write_text(f"{section}:\n  {key}: {quoted}\n")
    code = config.configure(section, {key: given})
    assert config.value(section, key, code) == given
    assert config.load(tmp_path / "a.toml", environ={}) == code
    assert config.load(tmp_path / "a.yaml", environ={}) == code
    environ = {f"TRIMTAB_{section}_{key}".upper(): str(written)}
    assert config.load(section=section, environ=environ) == code


def test_the_configuration_page_lists_every_key() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert keys.page(text) == text, "run make docs"
