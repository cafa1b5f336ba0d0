"""The model table: consistent with itself, and what an id is taken for."""

import logging
import math
import re
from dataclasses import fields, replace

import pytest

from trimtab import Counter, Model, count
from trimtab.models.model import _ALIASES, FAMILIES, known
from trimtab.models.prompts import PROMPTS, Prompt
from trimtab.models.table import BINDS, CLAUDE, KEEPS, OPENAI

TABLE = known()


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
    assert {name for name in CLAUDE if name.endswith(BINDS)} >= {"claude-opus-5-5", "claude-fable-5-1"}
    assert set(KEEPS) < set(CLAUDE)
    assert [Model.named(f"claude-opus-4-{n}").prompt.name for n in (1, 5, 6, 7, 8)] == [
        "Claude 3 to 4.1",
        "Claude 4.5",
        "Claude 4.6",
        "Claude 4.7",
        "Claude 4.8 and later",
    ]
    assert Model.named("claude-opus-4-5").prompt.keeps_thinking
    assert not Model.named("claude-sonnet-4-5").prompt.keeps_thinking
    assert set(_ALIASES.values()) <= set(TABLE)
    assert set(OPENAI) < set(TABLE)


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


def test_the_beta_flag_widens_every_sonnet_and_nothing_else():
    beta = ("files-api-2025-04-14", "context-1m-2025-08-07")
    windows = {name: Model.named(name, betas=beta).window for name in ("claude-sonnet-4-5", "claude-opus-4-5", "gpt-5")}
    assert windows == {"claude-sonnet-4-5": 1_000_000, "claude-opus-4-5": 200_000, "gpt-5": 400_000}
    assert Model.named("claude-sonnet-4-5-20250929", betas=("other",)).window == 200_000
    assert Model.named("claude-sonnet-4-5", betas=beta, window=300_000).window == 300_000


def test_every_field_can_be_overridden():
    model, messages = Model.named("claude-opus-5"), [{"role": "user", "content": "hello"}]
    own = replace(model, prompt=replace(model.prompt, user=100, opening=50), window=9_000, max_output=900)
    assert count(messages, model=own) - count(messages, model=model) == 100 - 2 + 50 - 4
    other = {"name": "x", "provider": "openai_chat", "price": replace(model.price, input=9.0), "known": False}
    assert {f.name for f in fields(replace(model, **other)) if getattr(model, f.name) != other.get(f.name)} >= {*other}
    with pytest.raises(ValueError, match="unknown form"):
        Counter.for_model(replace(model, prompt=replace(model.prompt, form="odd")))
    with pytest.raises(ValueError, match='pictures "none", known are standard, high'):
        Counter.for_model(replace(model, prompt=replace(model.prompt, images="none")))


def test_the_core_reads_every_field_of_a_prompt():
    with pytest.raises((TypeError, ValueError, AttributeError)):
        Counter("o200k_base", prompt=object())
    taken = Counter("o200k_base", prompt=Prompt("x", "o200k_base", "", "framed", user=7))
    assert taken.per_message([{"role": "user", "content": ""}], provider="openai_chat").tolist() == [7]
