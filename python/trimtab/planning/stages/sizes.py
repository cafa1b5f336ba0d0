"""Sizes of what an edit puts in a message's place, in tokens."""

PLACEHOLDER = 60
"""Most tokens of a pruned result's placeholder with what stands around it, in any prompt: one of several results of
Claude 4.7 with a long name has 59."""
