"""The front: Compactor, and one conversation between calls."""

from .._lazy import loader

__all__ = ["ProviderCount"]
__getattr__ = loader(__name__, {"provider_count": "ProviderCount"})
