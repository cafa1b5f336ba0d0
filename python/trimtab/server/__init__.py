"""What a provider's server can do of a compaction: parameters that ask for it, what answers say, what it costs."""

from .._lazy import loader

_HOMES = {"answer": "ServerAnswer", "call": "ServerCall", "ways": "WayCost"}

__all__ = [name for names in _HOMES.values() for name in names.split()]
__getattr__ = loader(__name__, _HOMES)
