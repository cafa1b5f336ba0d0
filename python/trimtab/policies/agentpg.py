"""Follows AgentPG's "Context Compaction", hybrid strategy: prune tool outputs, then summarize in nine sections.

Quoted titles are sections of that document.
"""

from dataclasses import replace

from ..counting.estimate import Estimate
from ..planning.budget import Trigger
from ..planning.policy import Policy
from ..planning.stages import Keep, Messages, Pins, Place, PruneResults, Summaries, SummarizeZone, Template, Tokens

NINE_SECTIONS = Template(
    # "Summary Format" names the sections; the frame is that of agentpg's code, the wording ours.
    opening="Summarize this conversation.",
    system=(
        "You summarize conversations between a user and an AI agent, so that the agent can go on without the original "
        "messages. Write these nine sections, in this order, each under its number and name; write None where there is "
        "nothing to say. Keep names, paths, figures and wording exact where they matter."
    ),
    topics=(
        "Primary Request and Intent",
        "Key Technical Concepts",
        "Files and Code Sections",
        "Errors and Fixes",
        "Problem Solving",
        "User Preferences and Constraints",
        "Pending Tasks",
        "Current Work",
        "Next Step",
    ),
    topic="\n{n}. **{name}**",
    instructions="\n\nAlso: {text}",
    previous="\n\n<previous_context>\n{text}\n</previous_context>",
    begin="\n\n<conversation>\n",
    line="{role}:\n{content}\n\n",
    end="</conversation>",
    max_result_bytes=500,  # agentpg's code: longer results keep 497 bytes and "..."
    require_headings=True,
)

# "Default Configuration": SummarizerModel, SummarizerMaxTokens; 160 is our lower limit for a summary.
SUMMARY = SummarizeZone(1.0, 160, 4_096, template=NINE_SECTIONS, model="claude-3-5-haiku-20241022")

POLICY = Policy(
    name="agentpg",
    # "Fallback: Character Approximation"; 10 tokens a call or result, 200 an image: agentpg's code. ``asks``:
    # UseTokenCountingAPI.
    counter=Estimate("approximation", unit="bytes", round="ceil", message=4, call=10, result=10, image=200, asks=True),
    trigger=Trigger(
        share=0.85,  # "Configuration Options": Trigger
        numerator=("messages",),  # agentpg's code: the total of the messages
        denominator=("window",),  # "Configuration Options": MaxTokensForModel
        inclusive=True,  # agentpg's code: total >= int(max * trigger)
        integer_limit=True,  # agentpg's code: int(max * trigger)
        when=("after_run",),  # "Basic Configuration": "auto-compaction after each run"
        window=200_000,  # "Configuration Options": MaxTokensForModel
        fixed_window=True,  # "Configuration Options": the limit is configured, not looked up by model
    ),
    target=80_000,  # "Configuration Options": TargetTokens
    # "Partitioning Algorithm": ProtectedTokens, PreserveLastN, is_summary, is_preserved, in this order.
    keep=Keep(
        (Tokens(count=40_000), Messages(count=10), Summaries(flag="is_summary"), Pins(flag="is_preserved")),
        min_messages=0,
    ),
    # "Hybrid Strategy", phase 1; agentpg's code prunes results longer than the placeholder, which has 20 bytes.
    prune=PruneResults(min_length=20, placeholder="[TOOL OUTPUT PRUNED]", compactable_only=True),
    summarize=replace(SUMMARY, if_needed=True),  # "Hybrid Strategy", phase 2: "only triggered if" needed
    # The role is that of agentpg's code; the question is ours, for providers that want a user message first.
    place=Place("assistant", question="Where were we?"),
    fallback=("error",),  # "Error Handling"
    strategy="hybrid",
    # "How It Works" and "Database Schema"; the steps in the order of agentpg's code.
    order=(
        "get_messages",
        "count_tokens",
        "partition",
        "execute_strategy",
        "create_event",
        "archive",
        "delete",
        "create_summary",
        "update_session",
    ),
    on_nothing="error",  # "No messages to compact"
)
