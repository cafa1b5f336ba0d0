"""Slow versions of what the core does, where one takes more than a file."""
