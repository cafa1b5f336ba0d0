"""OpenAI's parameters: ``context_management`` of a call of Responses, and ``responses.compact``.

Sources: the guide "Compaction" of the API's documentation; the types ``ContextManagement`` and
``ResponseCompactParams`` of the SDK openai 3.57. xAI's endpoint in OpenAI's style takes the same.
"""

from __future__ import annotations

from .call import ServerCall


def compacting(threshold: int, clears: int) -> ServerCall:
    """Return the parameters with which the server compacts in the model's call."""
    asked = [{"type": "compaction", "compact_threshold": threshold}]
    does = ("context_management compacts everything so far into one encrypted item, which the answer brings",)
    return ServerCall("call", {"context_management": asked}, (), does, clears)


def on_demand(cut: int, clears: int) -> ServerCall:
    """Return the parameters of ``responses.compact``, which takes the items to compact and nothing more."""
    does = (f"responses.compact stands for the first {cut:,} items; the others stay as they are",)
    return ServerCall("pass", {}, (), does, clears, cut=cut)
