"""Sizes of what an edit puts in a message's place, in tokens."""

PLACEHOLDER = 24
"""Most tokens of a pruned result's placeholder, in any family."""
