"""trimtab's own design: prune old results, then summarize the oldest messages; drop them if no summary succeeds.

No published design has these values; they are choices of this project.
"""

from ..planning.policy import Policy
from ..planning.stages import Ingest, Keep, Pins, PruneResults, SummarizeZone, Tokens, Turns
from ..planning.stages.sizes import PLACEHOLDER

POLICY = Policy(
    name="default",
    # A fifth of the target keeps the newest results unpruned; the last user turn is always kept.
    keep=Keep((Tokens(target_share=0.20), Turns(count=1), Pins()), fill_target=True),
    # Pruning a result that is smaller than a placeholder gains nothing. A text of 400 characters in a call's arguments
    # has about as many tokens as a placeholder.
    # Between compactions, it prunes where that pays: the protected window and the least amount are opencode's.
    prune=PruneResults(
        min_tokens=PLACEHOLDER,
        argument_chars=400,
        order=("images", "superseded", "arguments"),
        protect_tokens=40_000,
        min_gain=20_000,
        pays=True,
        when=("before_call",),
    ),
    # 0 takes results whole; of a capped one, a command's error is at the end, its cause at the beginning.
    ingest=Ingest(tokens=0, otherwise="HeadTail", in_fit=True),
    # 4,096 is the output limit of the summary call in spec09, section 5, and in agentpg, "Configuration".
    summarize=SummarizeZone(share=0.15, min_tokens=160, max_tokens=4_096, by_price=True, words=True),
    fallback=("offline", "drop"),
    strategy="hybrid",
)
