"""The transcript as numeric columns."""

from .._lazy import loader

__all__ = ["MessageFlag", "RowFlag", "Zone"]
__getattr__ = loader(__name__, {"columns": "MessageFlag RowFlag Zone"})
