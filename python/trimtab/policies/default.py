"""The default: prune old results, then summarize what is oldest; drop only where no summary can be had."""

from ..planning.policy import Policy
from ..planning.stages import Keep, Pins, PruneResults, SummarizeZone, Tokens, Turns

POLICY = Policy(
    name="default",
    keep=Keep((Tokens(target=0.20), Turns(1), Pins()), fill=True),
    prune=PruneResults(min_tokens=60, order=("images", "superseded")),
    summarize=SummarizeZone(share=0.15, min_tokens=160, max_tokens=4_096, by_price=True),
    fallback=("offline", "drop"),
    strategy="hybrid",
)
