"""The default without a summary: prune old results, then drop the oldest messages behind a notice.

Its values are those of ``default.py``. The archive keeps the dropped messages.
"""

from ..planning.policy import Policy
from ..planning.stages import Ingest, Keep, Pins, PruneResults, Tokens, Turns
from ..planning.stages.sizes import PLACEHOLDER

POLICY = Policy(
    name="drop",
    keep=Keep((Tokens(target_share=0.20), Turns(count=1), Pins()), fill_target=True),
    prune=PruneResults(
        min_tokens=PLACEHOLDER,
        argument_chars=400,
        order=("images", "superseded", "arguments"),
        protect_tokens=40_000,
        min_gain=20_000,
        pays=True,
        when=("before_call",),
    ),
    ingest=Ingest(tokens=0, otherwise="HeadTail", in_fit=True),
    summarize=None,
    fallback=("drop",),
    strategy="drop",
)
