"""What LiteLLM bills a Claude agent with a warm cache: its prompt tokens hold those of the cache."""

from __future__ import annotations

import os
from typing import Any

import pytest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it fetches its table at import
pytest.importorskip("litellm", reason="make adapters installs litellm")

from litellm import ModelResponse
from litellm.llms.anthropic.chat.transformation import AnthropicConfig

import trimtab
from trimtab.adapters.litellm import wrap

pytestmark = pytest.mark.filterwarnings("ignore")  # of LiteLLM and what it imports
WINDOW, ROOM = 60_000, 56_000


def test_an_agent_with_a_warm_cache_compacts_at_its_trigger_not_at_half_of_it() -> None:
    sent: list[int] = []
    counter = trimtab.Compactor("claude-sonnet-4-5")

    def completion(*, messages: list[Any], **_: Any) -> ModelResponse:
        prompt = counter.count(messages)
        raw = {"input_tokens": 20, "cache_read_input_tokens": prompt - 520, "cache_creation_input_tokens": 500}
        sent.append(prompt)
        return ModelResponse(usage=AnthropicConfig().calculate_usage({**raw, "output_tokens": 9}, None))

    protected = wrap(completion, window=WINDOW, max_output=4_000, archive="memory", summarizer="offline")
    messages = [{"role": "user", "content": "Look at everything."}]
    for n in range(60):
        protected(model="claude-sonnet-4-5", messages=messages)
        if sent[-1] < max(sent):
            break
        messages += [{"role": "assistant", "content": f"{n}"}, {"role": "user", "content": f"{n} " + "word " * 1_000}]
    assert 0.75 * ROOM < max(sent) <= ROOM


def test_a_servers_loop_behind_litellm_counts_its_last_call() -> None:
    call = {"type": "message", "input_tokens": 10, "cache_creation_input_tokens": 0, "output_tokens": 40}
    calls = [{**call, "cache_read_input_tokens": 10_000 + n * 2_000} for n in range(3)]
    made = AnthropicConfig().calculate_usage({"input_tokens": 30, "output_tokens": 120, "iterations": calls}, None)
    assert made.prompt_tokens == 36_030
    assert trimtab.Usage.of(made) == trimtab.Usage(10, 40, 14_000, earlier=80)
