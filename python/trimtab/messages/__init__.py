"""Messages, their provider shapes, and usage."""

from .._lazy import loader

__all__ = ["BilledCall", "Charged", "Repaired", "Skipped"]
__getattr__ = loader(__name__, {"types": "BilledCall Charged Repaired Skipped"})
