"""Sizes of replacement texts, in tokens."""

PLACEHOLDER_TEXT = 64
"""Most tokens of a placeholder's text; where its names are longer, they are cut or left out."""

PLACEHOLDER = PLACEHOLDER_TEXT + 42
"""Most tokens of a pruned result in any prompt: its text and the overhead of its row, at most 41 for Claude 4.7."""
