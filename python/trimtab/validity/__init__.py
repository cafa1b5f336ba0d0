"""Provider rules: validate a transcript, and repair it."""

from .._lazy import loader

__all__ = ["BEGINNING", "INTERRUPTED"]
__getattr__ = loader(__name__, {"repair.entries": "BEGINNING INTERRUPTED"})
