"""The model table: consistent with itself, and what an id is taken for."""

import json
import logging
import math
import re
import zlib
from dataclasses import fields, replace
from pathlib import Path

import pytest

from trimtab import Compactor, Counter, Model, count, models
from trimtab.cli import main
from trimtab.models import ModelId
from trimtab.models.catalog import own_rows, rows
from trimtab.models.model import own_table
from trimtab.models.prompts import PROMPTS, PromptGrammar
from trimtab.models.table import ALIASES, BINDS, FAMILIES, KEEPS

TABLE = own_table()


@pytest.mark.parametrize("model", TABLE.values(), ids=str)
def test_every_row_is_consistent(model):
    assert model == Model.named(model.name) == Model.named(model.name.upper())
    assert 0 < model.max_output < model.window
    assert model.prompt.encoding in {"o200k_base", "cl100k_base", "claude-old", "claude-new"}
    assert (model.provider == "anthropic") == model.prompt.encoding.startswith("claude")
    price = model.price
    if not math.isnan(price.input):
        assert price.cache_read < price.input <= price.cache_write or math.isnan(price.cache_read)
        assert price.input < price.output
    if model.binds_thinking:
        assert not model.prefill
        assert model.prompt.keeps_thinking
    family = next(row for row in FAMILIES if re.match(row[0], model.name))
    assert PROMPTS[family[2]].encoding == model.prompt.encoding, "a model like this one would be counted otherwise"


def test_generations_are_in_the_order_of_their_models():
    assert {name for name in own_rows() if name.endswith(BINDS)} >= {"claude-opus-5-5", "claude-fable-5-1"}
    assert set(KEEPS) < set(own_rows())
    assert [Model.named(f"claude-opus-4-{n}").prompt.name for n in (1, 5, 6, 7, 8)] == [
        "Claude 3 to 4.1",
        "Claude 4.5",
        "Claude 4.6",
        "Claude 4.7",
        "Claude 4.8 and later",
    ]
    assert Model.named("claude-opus-4-5").prompt.keeps_thinking
    assert not Model.named("claude-sonnet-4-5").prompt.keeps_thinking
    assert set(ALIASES.values()) <= set(TABLE)
    assert set(TABLE) == set(own_rows())


@pytest.mark.parametrize(
    ("name", "known_as"),
    [
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("us.anthropic.claude-opus-4-1-20250805-v1:0", "claude-opus-4-1"),
        ("claude-sonnet-4@20250514", "claude-sonnet-4"),
        ("claude-opus-4-6[1m]", "claude-opus-4-6"),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("openai/gpt-5", "gpt-5"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("claude-3.7-sonnet", "claude-3-7-sonnet"),
        ("claude-4.5-sonnet", "claude-sonnet-4-5"),
        ("anthropic:claude-opus-4-6", "claude-opus-4-6"),
        ("claude-opus-4-5:thinking", "claude-opus-4-5"),
        ("my-proxy/claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("google-gla:gemini-2.5-flash", "gemini-2.5-flash"),
        ("gemini-2.5-flash-001", "gemini-2.5-flash"),
        ("deepseek/deepseek-r1", "deepseek-r1"),
        ("opus", "claude-opus-5-5"),
    ],
)
def test_dated_and_prefixed_ids_and_aliases_name_the_same_model(name, known_as, caplog):
    with caplog.at_level(logging.WARNING, logger="trimtab"):
        assert Model.named(name).name == known_as
    assert not caplog.records


@pytest.mark.parametrize(
    ("name", "prompt"),
    [
        ("claude-3-9-sonnet-test", "claude"),
        ("claude-opus-4-3-test", "claude"),
        ("claude-haiku-4-6-test", "claude-4.6"),
        ("claude-sonnet-9-test", "claude-4.8"),
        ("gpt-4o-audio-test", "openai-4"),
        ("o5-test", "openai-o"),
        ("gpt-7-test", "openai"),
        ("gemini-9-test", "gemini"),
        ("llama-9-test", "unknown"),
    ],
)
def test_an_unknown_id_gets_its_family_s_values_and_one_warning(name, prompt, caplog):
    with caplog.at_level(logging.WARNING, logger="trimtab"):
        models = [Model.named(name) for _ in range(3)]
    assert [model.prompt for model in models] == 3 * [PROMPTS[prompt]]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert not models[0].known
    assert TABLE["gpt-5"].known


@pytest.mark.parametrize(
    ("name", "prompt"),
    [
        ("gpt-35-turbo", "openai-cl100k"),
        ("azure/gpt-35-turbo", "openai-cl100k"),
        ("gpt-4-vision-preview", "openai-cl100k"),
        ("gpt-4.1-test", "openai-4"),
        ("anthropic.claude-v2:1", "claude"),
        ("anthropic.claude-v2", "claude"),
        ("anthropic.claude-v1", "claude"),
        ("anthropic.claude-instant-v1", "claude"),
        ("us.anthropic.claude-opus-4-6-v1:0", "claude-4.6"),
    ],
)
def test_old_names_have_the_vocabulary_of_their_generation(name, prompt):
    assert Model.named(name).prompt.encoding == PROMPTS[prompt].encoding


def test_the_mark_of_a_wide_window_is_claude_s_and_is_said():
    assert Model.named("claude-sonnet-4-5[1m]").source == "argument"
    assert Model.named("claude-opus-4-6[1m]").source == Model.named("claude-opus-4-6").source == "table"
    assert Model.named("sonnet[1m]").window == 1_000_000
    for name in ("gpt-4o", "gemini-2.5-flash-lite"):
        plain, marked = Model.named(name), Model.named(f"{name}[1m]")
        assert (marked.window, marked.source) == (plain.window, plain.source)


def test_a_write_without_a_price_of_its_own_costs_what_new_input_costs():
    for name in ("azure/gpt-4o", "xai:grok-3", "deepseek-chat", "gemini-2.5-pro"):
        price = Model.named(name).price
        assert price.cache_write == price.input > price.cache_read > 0, name
    assert Model.named("gpt-4o").price.cache_write == Model.named("gpt-4o").price.input
    unknown = Model.named("bedrock/anthropic.claude-v2:1").price  # no cache: nothing is made up
    assert math.isnan(unknown.cache_read)
    assert math.isnan(unknown.cache_write)
    claude = Model.named("claude-sonnet-5-5").price
    assert claude.cache_write == 1.25 * claude.input


def test_the_beta_flag_widens_every_sonnet_and_nothing_else():
    beta = ("files-api-2025-04-14", "context-1m-2025-08-07")
    windows = {name: Model.named(name, betas=beta).window for name in ("claude-sonnet-4-5", "claude-opus-4-5", "gpt-5")}
    assert windows == {"claude-sonnet-4-5": 1_000_000, "claude-opus-4-5": 200_000, "gpt-5": 400_000}
    assert Model.named("claude-sonnet-4-5-20250929", betas=("other",)).window == 200_000
    assert Model.named("claude-sonnet-4-5", betas=beta[1]).window == 1_000_000
    assert Compactor("claude-sonnet-4-5", betas=beta[1]).window == 1_000_000
    assert Model.named("claude-sonnet-4-5", betas=beta, window=300_000).window == 300_000


def test_every_field_can_be_overridden():
    model, messages = Model.named("claude-opus-5"), [{"role": "user", "content": "hello"}]
    own = replace(model, prompt=replace(model.prompt, user=100, opening=50), window=9_000, max_output=900)
    assert count(messages, model=own) - count(messages, model=model) == 100 - 2 + 50 - 4
    other = {"name": "x", "provider": "openai_chat", "price": replace(model.price, input=9.0), "source": "assumed"}
    assert {f.name for f in fields(replace(model, **other)) if getattr(model, f.name) != other.get(f.name)} >= {*other}
    with pytest.raises(ValueError, match="unknown form"):
        Counter.for_model(replace(model, prompt=replace(model.prompt, form="odd")))
    with pytest.raises(ValueError, match='pictures "none", known are standard, high'):
        Counter.for_model(replace(model, prompt=replace(model.prompt, images="none")))


def test_the_core_reads_every_field_of_a_prompt():
    with pytest.raises((TypeError, ValueError, AttributeError)):
        Counter("o200k_base", prompt=object())
    taken = Counter("o200k_base", prompt=PromptGrammar("x", "o200k_base", "", "framed", user=7))
    assert taken.per_message([{"role": "user", "content": ""}], provider="openai_chat").tolist() == [7]


@pytest.mark.parametrize(
    ("name", "window", "input_limit"),
    [
        ("claude-sonnet-4-5[1m]", 1_000_000, None),
        ("ft:gpt-3.5-turbo:my-org::abc", 16_385, None),
        ("ft:gpt-4o-2024-08-06:my-org:tuned:abc", 128_000, None),
        ("deepseek-r1", 65_536, None),
        ("openrouter/deepseek/deepseek-r1:free", 64_000, None),
        ("qwen3-coder-plus", 997_952, None),
        ("dashscope/qwen3-coder-plus", 997_952, None),
        ("gemini-2.5-flash-lite", 1_114_112, 1_048_576),
        ("gpt-5", 400_000, 272_000),
        ("azure/gpt-5", 400_000, 272_000),
        ("gpt-5.4", 1_050_000, 922_000),
        ("bedrock/us.meta.llama3-1-70b-instruct-v1:0", 128_000, None),
    ],
)
def test_a_window_is_that_of_the_host_or_of_the_maker(name, window, input_limit):
    model = Model.named(name)
    assert (model.window, model.input_limit, model.known) == (window, input_limit, True)


def test_a_bare_id_without_its_maker_s_row_has_the_smallest_window_of_its_hosts_and_says_so(caplog):
    key = ModelId.of("llama-3.3-70b-instruct").key
    with caplog.at_level(logging.WARNING, logger="trimtab"):
        model = Model.named("llama-3.3-70b-instruct")
    assert model.window == min(row.window for row in rows()[key].values())
    assert not model.known
    assert "assumed" in caplog.text


def test_a_host_without_a_row_has_the_smallest_window_of_all_hosts_which_is_assumed():
    model = Model.named("github_copilot/gpt-5")
    assert (model.window, model.known) == (400_000, False)


def test_an_id_that_no_table_has_names_the_nearest_one(caplog):
    with caplog.at_level(logging.WARNING, logger="trimtab"):
        assert not Model.named("claude-sonet-4-5").known
    assert "'claude-sonnet-4-5'" in caplog.text


def test_an_assumed_window_is_marked_wherever_it_is_shown(tmp_path, capsys):
    cm = Compactor("a-model-that-no-table-has")
    assert repr(cm).endswith("window=128000 (assumed))")
    assert "input and output together, assumed" in cm.explain()
    path = tmp_path / "list.json"
    path.write_text(json.dumps([{"role": "user", "content": "hello"}]))
    assert main(["count", str(path), "--model", "a-model-that-no-table-has"]) == 0
    assert "window 128,000 (assumed)" in capsys.readouterr().out
    said = Compactor("a-model-that-no-table-has", window=64_000)
    assert "assumed" not in repr(said) + said.explain()


def test_an_input_limit_is_not_reduced_by_the_answer():
    budget = Compactor("gpt-5").budget()
    assert (budget.window, budget.reserve, budget.input_budget) == (400_000, 32_000, 272_000)
    assert budget.trigger + budget.fixed == 272_000 * 80 // 100
    assert Compactor("gpt-5", window=100_000, max_output=10_000).budget().input_budget == 90_000


def test_the_catalog_is_small_and_each_row_is_a_model():
    path = Path(models.__file__).with_name("catalog.tsv")
    assert len(zlib.compress(path.read_bytes())) < 80_000
    found = [row for hosts in rows().values() for row in hosts.values()]
    assert len(found) > 3_000
    for row in found:
        model = Model.named(f"{row.host}/{row.key}")
        assert 0 < model.max_output < model.window, row
        assert model.prompt is not None


def test_every_text_that_shows_a_window_marks_an_assumed_one(caplog):
    name = "another-model-that-no-table-has"
    cm, messages = Compactor(name), [{"role": "user", "content": f"{n} " + "word " * 900} for n in range(60)]
    told = [repr(Model.named(name)), repr(cm.budget()), repr(cm), repr(cm._session), cm.explain(messages)]
    with pytest.raises(ValueError, match=re.escape("no room for messages: window 128,000 (assumed) less")):
        cm.budget(system="word " * 200_000)
    with caplog.at_level(logging.WARNING, logger="trimtab"):
        cm.fit(messages)
        cm.record({"input_tokens": 200_000})
    assert "exceed the window of 128,000 (assumed): window= may have to be larger" in caplog.text
    fitted = cm.overflow("prompt is too long: 54321 tokens > 30000 maximum", messages)
    assert "window lowered from 128,000 (assumed) to 30,000 tokens" in fitted.reason
    assert all("128000" not in text or "assumed" in text for text in told), told
    assert "assumed" not in repr(cm) + repr(cm.budget()) + cm.explain(messages)  # the provider stated it


@pytest.mark.parametrize(
    ("name", "window", "sent"),
    [
        ("qwen3-coder-plus", 997_952, 997_952),
        ("gemini-2.5-flash-lite", 1_114_112, 1_048_576),
        ("deepseek-r1", 65_536, 65_536),
        ("ft:gpt-3.5-turbo", 16_385, 16_385),
        ("claude-sonnet-4.5", 200_000, 200_000),
        ("claude-3.7-sonnet", 200_000, 200_000),
        ("anthropic:claude-sonnet-4-5", 200_000, 200_000),
        ("anthropic/claude-sonnet-4-5", 200_000, 200_000),
        ("claude-sonnet-4-5:thinking", 200_000, 200_000),
        ("claude-sonnet-4-5:beta", 200_000, 200_000),
        ("gemini-2.5-flash-lite-001", 1_114_112, 1_048_576),
        ("claude-sonnet-4-5[1m]", 1_000_000, 1_000_000),
    ],
)
def test_the_ids_that_were_read_wrong_have_their_window(name, window, sent):
    model = Model.named(name)
    assert (model.window, model.input_limit or model.window, model.known) == (window, sent, True)
