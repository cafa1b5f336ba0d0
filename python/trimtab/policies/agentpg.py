"""Seed 002, "Context Compaction" of AgentPG, hybrid: tool outputs first, then a summary in nine sections."""

from dataclasses import replace

from ..counting.estimate import Estimate
from ..planning.budget import Trigger
from ..planning.policy import Policy
from ..planning.stages import Keep, Messages, Pins, Place, PruneResults, Summaries, SummarizeZone, Template, Tokens

NINE_SECTIONS = Template(
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
    most_of_result=500,
    headings=True,
)

SUMMARY = SummarizeZone(1.0, 160, 4_096, template=NINE_SECTIONS, model="claude-3-5-haiku-20241022")

POLICY = Policy(
    name="agentpg",
    counter=Estimate("approximation", unit="bytes", round="ceil", message=4, call=10, result=10, image=200, asks=True),
    trigger=Trigger(
        share=0.85,
        over=("messages",),
        of=("window",),
        reached=True,
        whole=True,
        when=("after_run",),
        window=200_000,
        rules=True,
    ),
    target=80_000,
    keep=Keep((Tokens(40_000), Messages(10), Summaries("is_summary"), Pins("is_preserved")), least=0),
    prune=PruneResults(longer_than=20, placeholder="[TOOL OUTPUT PRUNED]", leaving=True),
    summarize=replace(SUMMARY, if_needed=True),
    place=Place("assistant", question="Where were we?"),
    fallback=("error",),
    strategy="hybrid",
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
    on_nothing="error",
)
