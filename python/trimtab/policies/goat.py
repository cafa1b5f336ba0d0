"""Seed 001, "Context Compaction, LLM-Powered": 40 % of the messages stay, before each call and after a cut answer."""

from ..counting.estimate import Estimate
from ..planning.budget import Trigger
from ..planning.policy import Policy
from ..planning.stages import Keep, Messages, Pins, Place, PruneResults, SummarizeZone
from .spec09 import FIVE_TOPICS

POLICY = Policy(
    name="goat",
    counter=Estimate("simple", unit="bytes", round="floor", message=4, joined=True),
    trigger=Trigger(
        share=0.80,
        critical=0.95,
        over=("messages",),
        of=("window", "-system", "-tools", "-output"),
        when=("before_call", "on_length"),
        output=16_384,
        window=200_000,
        unlimited=1.0,
    ),
    keep=Keep((Messages(share=0.40), Pins()), snap="back"),
    prune=PruneResults(
        longer_than=1_000, first=200, marker="\n... [output truncated]", age=10, when=("after_tool_batch",)
    ),
    summarize=SummarizeZone(1.0, 160, 4_096, template=FIVE_TOPICS, model="claude-haiku-4-5-20251001"),
    place=Place(
        "user_ack",
        prefix="[COMPACT SUMMARY]\n",
        ack="Understood.",
        notice="[Context truncated. Earlier conversation contained {count} messages about: {about}]",
    ),
    fallback=("truncate",),
    strategy="summary",
    order=("hook:PreCompact", "llm:summary", "hook:SessionStart(compact)", "emit:compact_boundary"),
)
