"""No summary: prune old results, then drop what is oldest behind a notice. The archive still has it all."""

from ..planning.policy import Policy
from ..planning.stages import Keep, Pins, PruneResults, Tokens, Turns

POLICY = Policy(
    name="drop",
    keep=Keep((Tokens(target=0.20), Turns(1), Pins()), fill=True),
    prune=PruneResults(min_tokens=60, order=("images", "superseded")),
    summarize=None,
    fallback=("drop",),
    strategy="drop",
)
