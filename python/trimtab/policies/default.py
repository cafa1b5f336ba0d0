"""The default: prune old results, then summarize what is oldest; drop only where no summary can be had."""

from .._policy import Policy
from ..stages import Keep, PruneResults, SummarizeZone

POLICY = Policy(
    name="default",
    trigger=0.80,
    target=0.40,
    keep=Keep(recent=0.20, turns=1),
    prune=PruneResults(min_tokens=60),
    summarize=SummarizeZone(share=0.15, min_tokens=160, max_tokens=4_096),
    fallback=("offline", "drop"),
)
