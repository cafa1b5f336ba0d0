"""Counting: text and requests to tokens."""
