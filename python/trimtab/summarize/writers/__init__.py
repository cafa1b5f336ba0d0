"""Summarizers that ask a model, a command or a function."""
