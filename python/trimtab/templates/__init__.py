"""Prompts of open models as their servers render them: by the chat template in the model's folder."""

from .._lazy import loader

__all__ = ["ChatTemplate", "Harmony", "RenderedTokens"]
__getattr__ = loader(__name__, {"template": "ChatTemplate", "harmony": "Harmony", "rendered": "RenderedTokens"})
