"""Counting: text and requests to tokens."""

from .._lazy import loader

__all__ = ["Calibration", "Estimate"]
__getattr__ = loader(__name__, {"estimate": "Calibration Estimate"})
