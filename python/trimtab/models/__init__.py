"""Models: limits, prices and prompt formats."""

from .._lazy import loader

__all__ = ["ModelId", "Provider"]
__getattr__ = loader(__name__, {"provider": "Provider", "ids": "ModelId"})
