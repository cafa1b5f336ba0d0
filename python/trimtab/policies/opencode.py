"""Seed 004, "Auto-Trigger, Summarize, Prune": a queued marker, a pivot, and pruning that only marks."""

from ..counting.estimate import Estimate
from ..planning.budget import Trigger
from ..planning.policy import Policy
from ..planning.stages import Keep, Place, PruneResults, SummarizeZone, Template

CONTINUATION = Template(
    opening=(
        "Provide a detailed prompt for continuing our conversation above. Say what would help to go on: what we did, "
        "what we're doing, which files we're working on, and what we're going to do next, considering that a new "
        "session will not have access to our conversation."
    ),
    system=(
        "You are a helpful AI assistant tasked with summarizing conversations.\n\n"
        "When asked to summarize, write a detailed but concise summary of the conversation that helps whoever goes on "
        "with it. Cover:\n"
        "- What was done\n"
        "- What is currently being worked on\n"
        "- Which files are being modified\n"
        "- What needs to be done next\n"
        "- Key user requests, constraints, or preferences that should persist\n"
        "- Important technical decisions and why they were made\n\n"
        "It has to be complete enough to go on from, and short enough to be understood at once."
    ),
    instructions="\n\n{text}",
    as_messages=True,
)

POLICY = Policy(
    name="opencode",
    counter=Estimate("chars/4", unit="utf16", round="half_up"),
    trigger=Trigger(
        share=1.0,
        over=("input", "cache_read", "answered"),
        of=("window", "-output"),
        limited=True,
        when=("after_step", "on_overflow"),
    ),
    keep=Keep((), least=0),
    prune=PruneResults(
        placeholder="[Old tool result content cleared]",
        turns=2,
        protect=40_000,
        minimum=20_000,
        skip=("skill",),
        completed=True,
        stops=True,
        when=("after_run",),
    ),
    summarize=SummarizeZone(1.0, 160, 4_096, template=CONTINUATION),
    place=Place("question", goes_on="Continue if you have next steps"),
    fallback=("stop",),
    strategy="summary",
    order=("emit:compacted",),
)
