"""The models that tests name, by what the tests need of them: a model's end changes one line.

Tests whose subject is a model's name, row or rule spell it themselves.
"""

CLAUDE = "claude-haiku-4-5"
"""A window of 200,000 tokens, the older vocabulary; its thinking is bound to nothing."""

CLAUDE_MILLION = "claude-sonnet-4-6"
"""A window of 1,000,000 tokens, the older vocabulary."""

CLAUDE_NEW = "claude-sonnet-5"
"""A window of 1,000,000 tokens, the newer vocabulary; its thinking is bound to nothing."""

CLAUDE_BOUND = "claude-sonnet-5-5"
"""The same; each thinking block is bound to everything before it. The documents' model."""

CLAUDE_OPUS = "claude-opus-4-5"
"""A window of 200,000 tokens; the first that keeps thinking of earlier turns."""

CLAUDE_HAIKU = "claude-haiku-4-5"
"""A cheaper model, for summaries."""

CLAUDE_CHEAP = "claude-haiku-5-5"
"""The model that the summarizer ``anthropic`` takes where none is named."""

GPT = "gpt-5.5"
"""A window of 1,050,000 tokens. The documents' model."""

GPT_SPLIT = "gpt-5"
"""A window of 400,000 tokens, of which the input may have 272,000."""

GPT_SMALL = "gpt-4o"
"""A window of 128,000 tokens."""

GEMINI = "gemini-3.8-flash"
"""Counts are estimated."""

CLAUDE_DEAR = "claude-opus-5-5"
"""The documents' example of a model for single requests."""

LOCAL, LLAMA = "qwen3:8b", "llama-4"
"""Models of servers of one's own, in the documents."""

GEMINI_UNSIGNED = "gemini-2.5-flash-lite"
"""The last family whose function calls need no thought signature."""

GPT_OSS = "gpt-oss-20b"
"""Whole prompts are rendered by its id, without files."""

OWN = "mine"
"""A name that a user gave a model of their own (`trimtab models add`)."""
