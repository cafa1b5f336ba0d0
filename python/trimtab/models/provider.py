"""Names of the message shapes."""

from __future__ import annotations

from typing import Literal

Provider = Literal["anthropic", "openai_chat", "openai_responses", "bedrock", "gemini"]
"""The message shapes that providers accept."""
