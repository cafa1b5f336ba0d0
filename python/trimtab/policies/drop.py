"""No summary: prune old results, then drop what is oldest behind a notice. The archive still has it all."""

from .._policy import Policy
from ..stages import Keep, PruneResults

POLICY = Policy(
    name="drop",
    trigger=0.80,
    target=0.40,
    keep=Keep(recent=0.20, turns=1),
    prune=PruneResults(min_tokens=60),
    summarize=None,
    fallback=("drop",),
)
