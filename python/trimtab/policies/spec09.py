"""Follows "Spec 09: Context & Compaction": keep the newest 40 % of the window, summarize the rest by five topics.

Section numbers are those of that document.
"""

from ..counting.estimate import Estimate
from ..planning.budget import Trigger
from ..planning.policy import Policy
from ..planning.stages import Keep, Pins, Place, PruneResults, SummarizeZone, Template, Tokens

FIVE_TOPICS = Template(
    # Section 5, buildCompactionPrompt: five topics, in our wording.
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
    max_message_bytes=2_000,  # section 5: truncateContent(msg.Content, 2000)
    include_system=True,  # section 5: the loop renders every role
)

POLICY = Policy(
    name="spec09",
    # Section 6: len(text) / 4, rounded down a message, and 4 tokens a message.
    counter=Estimate("simple", unit="bytes", round="floor", message=4, joined=True),
    trigger=Trigger(
        share=0.80,  # section 3: ShouldCompact
        critical=0.95,  # section 3: MustCompact
        numerator=("messages", "system", "tools", "output"),  # section 2: UtilizationPct; tools belong to the prompt
        denominator=("window",),
        when=("before_call",),  # goat, "When Compaction Fires": the document itself names no moment
        output=16_384,  # section 2: MaxOutputTkns
        window=200_000,  # section 2: ModelContextLimits
        unknown_utilisation=1.0,  # goat's code: the document divides by zero
    ),
    keep=Keep((Tokens(window_share=0.40), Pins())),  # section 4.3: getContextLimit() * 40 / 100
    prune=PruneResults(
        min_length=1_000,  # section 9: len(content) > 1000
        keep_length=200,  # section 9: truncateToolOutput(content, 200)
        marker="\n... [output truncated]",  # goat's code
        keep_messages=10,  # goat's code: the loop calls prune(10)
    ),
    # Section 5: the model and MaxTokens 4096; 160 is our lower limit for a summary.
    summarize=SummarizeZone(1.0, 160, 4_096, template=FIVE_TOPICS, model="claude-haiku-4-5-20251001"),
    # Section 4.2, step 6: a system message. Section 10 asks for truncation; the wording of the notice is ours.
    place=Place(
        "system", notice="[Context truncated. {count} earlier messages were left out. They were about: {about}]"
    ),
    fallback=("truncate",),  # section 10: "Graceful degradation"
    strategy="summary",
    # Section 4.2, step 4.
    failure="compaction summary failed: {cause}",
    # Section 4.2, steps 1 to 9.
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
