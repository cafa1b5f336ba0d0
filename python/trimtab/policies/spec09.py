"""Seed 000, "Spec 09: Context & Compaction": the newest 40 % of the window stay, five topics are summarized."""

from ..counting.estimate import Estimate
from ..planning.budget import Trigger
from ..planning.policy import Policy
from ..planning.stages import Keep, Pins, Place, PruneResults, SummarizeZone, Template, Tokens

FIVE_TOPICS = Template(
    opening="Summarize the conversation below so that the work can go on from the summary alone. Keep:",
    topics=(
        "Key decisions and why they were made",
        "File paths and the changes made to the code",
        "Unresolved questions and pending tasks",
        "User preferences and constraints",
        "Tool outputs that still matter",
    ),
    closing="\n\nBe concise but leave nothing of that out. Write it in sections.",
    begin="\n\n--- CONVERSATION TO SUMMARIZE ---\n",
    most=2_000,
    system_too=True,
)

POLICY = Policy(
    name="spec09",
    counter=Estimate("simple", unit="bytes", round="floor", message=4, joined=True),
    trigger=Trigger(
        share=0.80,
        critical=0.95,
        over=("messages", "system", "tools", "output"),
        of=("window",),
        when=("before_call",),
        output=16_384,
        window=200_000,
        unlimited=1.0,
    ),
    keep=Keep((Tokens(window=0.40), Pins())),
    prune=PruneResults(longer_than=1_000, first=200, marker="\n... [output truncated]", age=10),
    summarize=SummarizeZone(1.0, 160, 4_096, template=FIVE_TOPICS, model="claude-haiku-4-5-20251001"),
    place=Place(
        "system", notice="[Context truncated. {count} earlier messages were left out. They were about: {about}]"
    ),
    fallback=("truncate",),
    strategy="summary",
    failure="compaction summary failed: {cause}",
    order=(
        "hook:PreCompact",
        "split",
        "llm:summary",
        "count:pre_tokens",
        "rebuild",
        "emit:compact_boundary",
        "hook:SessionStart(compact)",
    ),
)
