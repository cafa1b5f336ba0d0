"""Sizes of replacement texts, in tokens."""

PLACEHOLDER = 60
"""Most tokens of a pruned result in any prompt, message overhead included; 59 were measured for Claude 4.7."""
