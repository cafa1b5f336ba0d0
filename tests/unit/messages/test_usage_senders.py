"""What each sender's usage says of the prompt: tokens of the cache are in it once."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import trimtab
from support.usages import ANTHROPIC, CHAT, DETAILS, PROMPT, SAMPLES, THINKS, TOP, Sample
from trimtab import Usage
from trimtab.messages.senders import SENDERS

INSTALLED = [sample for sample in SAMPLES if sample.is_installed]
WORDS = "word " * 1_000
FIELDS = Path(__file__).parents[3] / "tools" / "fields.py"


def numbers(usage: object) -> tuple[int, int, int, int]:
    found = Usage.of(usage)
    return found.prompt, found.cache_read, found.cache_write, found.output


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.sender)
def test_a_prompt_of_50_000_is_one_of_50_000_from_every_sender(sample: Sample) -> None:
    assert numbers(sample.plain) == (PROMPT, sample.read, sample.written, sample.output)
    assert Usage.recorded(sample.plain) == Usage.of(sample.plain)


@pytest.mark.parametrize("sample", INSTALLED, ids=lambda sample: sample.sender)
def test_the_senders_own_class_says_what_its_dict_says(sample: Sample) -> None:
    assert sample.make is not None
    assert numbers(sample.make()) == (PROMPT, sample.read, sample.written, sample.output)


def test_the_usage_of_litellm_with_a_warm_cache_is_not_counted_twice() -> None:
    """It made 99,500 of 50,000, so that a wrapped agent compacted at half of its window."""
    cm = trimtab.Compactor("claude-sonnet-5-5", window=60_000, max_output=4_000)
    messages = [{"role": "user", "content": WORDS * 20}]
    counted = cm.count(messages)
    cm.fit(messages)
    prompt = {"prompt_tokens": counted, "completion_tokens": 10, "total_tokens": counted + 10}
    cm.record({**prompt, "cache_read_input_tokens": counted - 1_000, "cache_creation_input_tokens": 500})
    assert cm.count(messages) == counted
    assert cm.fit(messages).compaction is None


@pytest.mark.parametrize(
    ("usage", "prompt"),
    [
        # The cache is inside, or beside, as the total says, whatever the sender does as a rule.
        ({**CHAT, **TOP}, 50_000),
        ({**CHAT, **TOP, "prompt_tokens": 500}, 50_000),
        ({**ANTHROPIC, "total_tokens": 50_100}, 50_000),
        ({**ANTHROPIC, "input_tokens": 50_000, "total_tokens": 50_100}, 50_000),
        ({"inputTokens": 50_000, "outputTokens": 9, "totalTokens": 50_009, "cacheReadInputTokens": 40_000}, 50_000),
        ({"inputTokens": 10_000, "outputTokens": 9, "totalTokens": 50_009, "cacheReadInputTokens": 40_000}, 50_000),
        # A release of an SDK that drops the fields of the cache keeps the total with them.
        ({"inputTokens": 500, "outputTokens": 100, "totalTokens": 50_100}, 50_000),
        # Parts that were added up over a turn.
        ({"input": 9, "output": 100, "cacheRead": 819_661, "cacheWrite": 40, "totalTokens": 50_100}, 50_000),
        ({"input": 9, "output": 100, "reasoning": 0, "cache": {"read": 819_661, "write": 0}, "total": 50_100}, 50_000),
        ({**CHAT, "prompt_tokens_details": {"cached_tokens": 140_000}}, 50_000),
        # A total without the cache says nothing of a prompt without it.
        ({**ANTHROPIC, "total_tokens": 600}, 50_000),
        # Thinking that only the total holds is no part of the prompt.
        ({**CHAT, **THINKS, "completion_tokens": 10}, 50_000),
        ({**CHAT, "completion_tokens": 10}, 50_000),
        ({**CHAT, **DETAILS, "completion_tokens": 10, "total_tokens": 50_100}, 50_000),
        # Two forms in one: some proxies write the fields of both, one of them empty.
        ({**CHAT, "input_tokens": 0, "output_tokens": 0}, 50_000),
        ({**ANTHROPIC, "prompt_tokens": 0, "total_tokens": 0}, 50_000),
    ],
)
def test_a_total_decides_what_the_prompt_holds(usage: dict[str, Any], prompt: int) -> None:
    assert Usage.of(usage).prompt == prompt


def test_what_is_written_for_two_times_is_added_up() -> None:
    """LangChain says 0 written beside the two; of Bedrock's list the hour's entry is read."""
    details = {"cache_creation": 0, "ephemeral_5m_input_tokens": 40, "ephemeral_1h_input_tokens": 60}
    made = Usage.of({"input_tokens": 110, "output_tokens": 1, "input_token_details": details})
    assert made == Usage(10, 1, 0, 100, 60)
    kept = [{"ttl": "5m", "inputTokens": 40}, {"ttl": "1h", "inputTokens": 60}]
    bedrock = {"inputTokens": 10, "outputTokens": 1, "totalTokens": 111, "cacheWriteInputTokens": 100}
    assert Usage.of({**bedrock, "cacheDetails": kept}) == Usage(10, 1, 0, 100, 60)
    assert Usage.of({**bedrock, "cacheDetails": kept[:1]}).hourly == Usage.of(bedrock).hourly == 0


def test_a_sum_over_requests_is_refused_unless_it_has_the_last_one() -> None:
    usage = {"requests": 3, "input_tokens": 90_000, "output_tokens": 30, "total_tokens": 90_030}
    with pytest.raises(ValueError, match="usage adds up 3 requests"):
        Usage.of(usage)
    last = {"input_tokens": 40_000, "output_tokens": 10, "total_tokens": 40_010}
    assert Usage.of({**usage, "request_usage_entries": [{}, {}, last]}).prompt == 40_000


@pytest.mark.parametrize("tokens", [5_000.5, -1.0, float("nan"), float("inf"), 2.0**54])
def test_a_float_is_a_number_of_tokens_only_if_it_is_whole(tokens: float) -> None:
    assert Usage.of({"prompt_tokens": 5_000.0}).prompt == 5_000
    with pytest.raises(ValueError, match="must be a number of tokens"):
        Usage.of({"prompt_tokens": tokens})


def test_the_documentation_names_every_sender() -> None:
    made = runpy.run_path(str(FIELDS))
    text: str = made["PAGE"].read_text(encoding="utf-8")
    assert made["page"](text) == text, "tools/fields.py --docs writes the table"
    assert all(sender.names in text for sender in SENDERS)
    assert not [line for line in made["lines"]() if line.endswith("WRONG")]
