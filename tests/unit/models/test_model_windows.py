"""Which row of the tables an id takes: its host's, a date's own, the maker's, another version's."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import models as tool
from trimtab import Model
from trimtab.models import ModelId
from trimtab.models.catalog import Row, hosts, names, rows
from trimtab.models.ids import key_of

NAN = float("nan")


def limit(name: str) -> int:
    model = Model.named(name)
    return model.input_limit or model.window


def given(text: str, host: str, window: int, *, alias: bool = False) -> Any:
    named = ModelId.of(text)
    return tool.Given(text, named, Row(host, named.name, window, 100, None, (NAN,) * 4), alias)


def windows(*tables: list[Any]) -> dict[tuple[str, str], int]:
    return {(row.host, row.name): row.window for row in tool.merged(*tables)}


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("minimax.minimax-m2.1", 196_000),
        ("minimax.minimax-m2.5", 196_000),
        ("qwen.qwen3-coder-30b-a3b-v1:0", 262_144),
        ("openai.gpt-oss-safeguard-20b", 128_000),
        ("google.gemma-3-27b-it", 128_000),
        ("ai21.jamba-1-5-large-v1:0", 256_000),
        ("my-proxy/minimax.minimax-m2.5", 196_000),
    ],
)
def test_an_id_that_only_bedrock_writes_has_bedrock_s_window(name: str, window: int) -> None:
    assert (limit(name), Model.named(name).source) == (window, "public")
    assert limit(f"bedrock/{name}") == window


def test_a_prefix_counts_before_the_way_an_id_is_written() -> None:
    assert ModelId.of("oci/meta.llama-3.3-70b-instruct").style == "bedrock"
    assert limit("oci/meta.llama-3.3-70b-instruct") == rows()["llama-3-3-70b-instruct"]["oci"].window
    assert Model.named("us.anthropic.claude-sonnet-4-5-20250929-v1:0").window == 200_000
    assert ModelId.of("gpt-4.1").style is None
    assert ModelId.of("llama3.1-70b").style is None


def test_gemini_omni_has_the_input_limit_of_the_public_table() -> None:
    assert limit("gemini/gemini-omni-1.1-flash") == limit("gemini-omni-1.1-flash") == 131_072


@pytest.mark.parametrize("name", ["claude-haiku", "claude-haiku-latest", "anthropic/claude-haiku-latest"])
def test_an_id_without_a_version_and_a_host_has_the_smallest_window_of_its_versions(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="trimtab"):
        model = Model.named(name)
    assert (model.window, model.known, model.name) == (200_000, False, "claude-haiku")
    assert "that of claude-haiku-4-5" in caplog.text
    assert Model.named("haiku").window == 1_000_000, "Claude Code's own alias names one version"


def test_an_alias_of_a_host_has_the_window_that_this_host_states() -> None:
    assert Model.named("github_copilot/claude-haiku-latest").window == 128_000
    assert Model.named("openrouter/anthropic/claude-haiku-latest").window == 1_000_000
    assert not Model.named("groq/claude-haiku-latest").known
    assert Model.named("groq/claude-haiku-latest").window == 128_000


def test_a_host_of_the_catalog_is_known_by_its_prefix() -> None:
    assert hosts() >= {"gmi", "kyma", "oci", "bedrock_mantle"}
    assert (limit("gmi/MiniMaxAI/MiniMax-M2.5"), Model.named("gmi/MiniMaxAI/MiniMax-M2.5").source) == (
        196_608,
        "public",
    )
    without = Model.named("kyma/MiniMaxAI/MiniMax-M2.1")
    assert "kyma" not in rows()["minimax-m2-1"]
    assert (without.window, without.source) == (196_000, "assumed")


@pytest.mark.parametrize("prefix", ["MiniMaxAI", "huggingface/MiniMaxAI", "my-vllm"])
def test_a_model_behind_a_prefix_that_nobody_knows_has_the_smallest_window_of_all_hosts(prefix: str) -> None:
    """Its maker's own servers take no such prefix: they serve 1,000,000 tokens, the others a fifth."""
    model = Model.named(f"{prefix}/MiniMax-M2.5")
    assert (model.window, model.source, Model.named("minimax-m2.5").window) == (196_000, "assumed", 1_000_000)
    assert Model.named(f"{prefix}/claude-sonnet-4-5").source == "table", "a row of our own holds behind a proxy"


@pytest.mark.parametrize("path", ["publishers/google/models", "projects/p/locations/l/publishers/google/models"])
def test_a_path_of_vertex_names_its_host(path: str) -> None:
    assert Model.named(f"{path}/gemini-2.5-pro") == Model.named("vertex_ai/gemini-2.5-pro")
    assert Model.named("models/gemini-2.5-pro") == Model.named("gemini-2.5-pro")
    assert Model.named(f"{path}/gemini-2.5-pro").known


@pytest.mark.parametrize("host", ["dashscope", "qwencloud", "qwen_ai_platform"])
def test_a_dated_id_has_the_window_of_its_date(host: str) -> None:
    names = {
        "qwen-plus": 129_024,
        "qwen-plus-2025-04-28": 129_024,
        "qwen-plus-2025-07-28": 997_952,
        "qwen-plus-2025-09-11": 997_952,
        "qwen-plus-latest": 997_952,
        "qwen-turbo": 129_024,
        "qwen-turbo-2024-11-01": 1_000_000,
        "qwen-turbo-latest": 1_000_000,
        "qwen-max": 30_720,
        "qwen-max-latest": 991_808,
        "qwen-flash-latest": 991_808,
    }
    assert {name: Model.named(f"{host}/{name}").window for name in names} == names
    assert Model.named(f"{host}/qwen-plus-latest").name == "qwen-plus"


@pytest.mark.parametrize(
    ("written", "name"),
    [("gemini-2-5-pro", "gemini-2.5-pro"), ("gpt-5-5", "gpt-5.5"), ("claude-sonnet-4.5", "claude-sonnet-4-5")],
)
def test_a_model_has_the_name_that_its_maker_writes(written: str, name: str) -> None:
    assert Model.named(written).name == Model.named(name).name == name
    assert Model.named(written) == Model.named(name)


def test_the_warning_names_an_id_that_a_provider_has(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="trimtab"):
        Model.named("gpt-5.5x")
        Model.named("gemini-2.5-prro")
    assert "the nearest id is 'gpt-5.5'" in caplog.text
    assert "the nearest id is 'gemini-2.5-pro'" in caplog.text
    assert names()["gpt-4-1"] == "gpt-4.1"
    assert all(key_of(name) == key for key, name in names().items())


@pytest.mark.parametrize(
    ("name", "window", "relative"),
    [
        ("gpt-6.2-astra", 1_050_000, "gpt-6-astra"),
        ("gpt-6.3-astra", 1_050_000, "gpt-6-astra"),
        ("openai/gpt-6.2-astra", 1_050_000, "gpt-6-astra"),
        ("claude-opus-5-7", 1_000_000, "claude-opus-5-5"),
        ("claude-haiku-4-7", 200_000, "claude-haiku-4-5"),
        ("claude-haiku-4", 200_000, "claude-haiku-4-5"),
        ("gpt-4.9", 1_047_576, "gpt-4.1"),
    ],
)
def test_an_unknown_minor_version_has_the_window_of_the_version_before_it(
    name: str, window: int, relative: str, caplog: pytest.LogCaptureFixture
) -> None:
    if ModelId.of(name).key in names():
        pytest.skip("a table has it by now")
    with caplog.at_level(logging.WARNING, logger="trimtab"):
        model = Model.named(name)
    assert (model.window, model.source) == (window, "assumed")
    assert model.price.input != model.price.input, "a price is not assumed"
    known = Model.named(relative)
    assert (model.max_output, model.input_limit) == (known.max_output, known.input_limit)
    assert (model.provider, model.binds_thinking) == (known.provider, known.binds_thinking)


def test_a_version_behind_the_only_known_one_stands_in_and_another_model_does_not() -> None:
    assert Model.named("claude-haiku-4-9-turbo").window == 200_000, "no relative: of the family"
    assert Model.named("gpt-9.1-astra").window == 128_000, "another major version is another model"


def test_no_window_is_larger_than_the_row_of_its_host() -> None:
    for row in (row for found in rows().values() for row in found.values()):
        name = f"{row.host}/{row.name}"
        assert limit(name) <= max(row.input_limit or row.window, 1), name


def test_of_rows_that_become_one_the_smallest_window_stays_and_a_date_of_its_own_has_a_row() -> None:
    table = [
        given("host/model", "host", 300),
        given("eu.host.model", "host", 200),
        given("host/model-2025-01-01", "host", 200),
        given("host/model-2026-01-01", "host", 900),
        given("host/model-latest", "host", 900),
        given("other/model-2026-01-01", "other", 500),
    ]
    own = {("host", "model"): 200, ("host", "model-2026-01-01"): 900, ("host", "model-latest"): 900}
    assert windows(table) == own | {("other", "model"): 500}


def test_an_alias_says_nothing_about_the_name_without_latest() -> None:
    table = [given("host/model", "host", 300), given("host/model-latest", "host", 200, alias=True)]
    assert windows(table) == {("host", "model"): 300, ("host", "model-latest"): 200}
    assert windows([given("host/moving-latest", "host", 200, alias=True)]) == {("host", "moving-latest"): 200}


def test_the_first_table_that_has_a_row_counts_and_the_second_raises_no_date_of_it() -> None:
    first = [given("host/model", "host", 300), given("host/model-2026-01-01", "host", 300)]
    second = [given("host/model", "host", 200), given("host/model-2026-01-01", "host", 900), given("x/b", "x", 50)]
    assert windows(first, second) == {("host", "model"): 300, ("x", "b"): 50}


def test_the_name_that_writes_a_version_with_a_dot_is_kept() -> None:
    table = [given("host/model-2-5", "host", 300), given("host/model-2.5", "host", 400)]
    assert windows(table) == {("host", "model-2.5"): 300}


def test_the_check_finds_a_window_that_is_larger_than_the_public_table_s(capsys: pytest.CaptureFixture[str]) -> None:
    table = [given("gpt-4o", "openai", 128_000), given("claude-sonnet-4-5", "anthropic", 150_000)]
    assert tool.check(table, []) == 1
    assert "LARGER" in next(line for line in capsys.readouterr().out.splitlines() if "claude" in line)
    assert tool.check([given("gmi/gpt-4o", "gmi", 131_072)], []) == 0
    assert tool.check([], [given("host/a-model-of-nobody", "host", 150_000)]) == 1
