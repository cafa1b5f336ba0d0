"""Follows goat's "Context Compaction, LLM-Powered Summarization": keep the newest 40 % of the messages.

Quoted titles are sections of that document.
"""

from ..counting.estimate import Estimate
from ..planning.budget import Trigger
from ..planning.policy import Policy
from ..planning.stages import Keep, Messages, Pins, Place, PruneResults, SummarizeZone
from .spec09 import FIVE_TOPICS

POLICY = Policy(
    name="goat",
    # "Token Budget Calculation": len / 4, and 4 tokens a message.
    counter=Estimate("simple", unit="bytes", round="floor", message=4, joined=True),
    trigger=Trigger(
        share=0.80,  # "When Compaction Fires"
        critical=0.95,  # spec09, section 3: MustCompact
        numerator=("messages",),  # "Token Budget Calculation": Utilization; tools belong to the prompt
        denominator=("window", "-system", "-tools", "-output"),
        when=("before_call", "on_length"),  # "When Compaction Fires": proactive and reactive
        output=16_384,  # "Token Budget Calculation": maxOutputTkns
        window=200_000,  # "Token Budget Calculation": contextLimit
        unknown_utilisation=1.0,  # goat's code
    ),
    # "Compaction Flow", step 2: about 40 % of the messages, moved back to the call (adjustSplitForToolPairs).
    keep=Keep((Messages(share=0.40), Pins()), boundary_moves="back"),
    prune=PruneResults(
        min_length=1_000,  # spec09, section 9
        keep_length=200,  # spec09, section 9
        marker="\n... [output truncated]",  # goat's code
        keep_messages=10,  # goat's code: the loop calls prune(10)
        when=("after_tool_batch",),  # goat's code
    ),
    # The document names no prompt and no limit: both, and the model, are those of spec09, section 5.
    summarize=SummarizeZone(1.0, 160, 4_096, template=FIVE_TOPICS, model="claude-haiku-4-5-20251001"),
    # "Compaction Flow", steps 4 and 5.
    place=Place(
        "user_ack",
        prefix="[COMPACT SUMMARY]\n",
        ack="Understood.",
        notice="[Context truncated. Earlier conversation contained {count} messages about: {about}]",
    ),
    fallback=("truncate",),  # "Graceful Degradation"
    strategy="summary",
    # "Compaction Flow", steps 1, 4, 6 and 7.
    order=("hook:PreCompact", "llm:summary", "hook:SessionStart(compact)", "emit:compact_boundary"),
)
