"""Follows OpenCode's "Context Compaction: Auto-Trigger, Summarize, Prune": a queued marker, a summary, pruning by mark.

Section numbers are those of that document.
"""

from ..counting.estimate import Estimate
from ..planning.budget import Trigger
from ..planning.policy import Policy
from ..planning.stages import Keep, Place, PruneResults, SummarizeZone, Template

CONTINUATION = Template(
    # Sections 6.2 (the instruction) and 6.1 (the system prompt), in our wording.
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
    as_messages=True,  # section 4.2
)

POLICY = Policy(
    name="opencode",
    # Section 5.1: chars / 4; opencode's code: UTF-16 units, rounded half up.
    counter=Estimate("chars/4", unit="utf16", round="half_up"),
    trigger=Trigger(
        share=1.0,  # section 3.1: total > usable
        numerator=("input", "cache_read", "answered"),  # section 3.1: total
        denominator=("window", "-output"),  # section 3.1: usable
        prefer_input_limit=True,  # section 3.1: inputLimit
        output=32_000,  # section 3.1: globalOutputCap; the number is that of opencode's code
        when=("after_step", "on_overflow"),  # section 3.2; on_overflow: opencode's code since 2026-03
    ),
    keep=Keep((), min_messages=0),  # section 4.4: history starts at the summary
    prune=PruneResults(
        placeholder="[Old tool result content cleared]",  # section 5.2
        keep_turns=2,  # section 5.1: "1-2 user turns"; opencode's code: 2
        protect_tokens=40_000,  # section 5.1: PROTECT
        min_gain=20_000,  # section 5.1: MIN_PRUNE
        skip=("skill",),  # section 5.1
        skip_errors=True,  # section 5.1: "completed tool parts"
        stop_at_pruned=True,  # section 5.1: "Stop scanning"
        when=("after_run",),  # opencode's code: at the end of the loop
    ),
    # The document sets no limit for a summary; these limits are ours.
    summarize=SummarizeZone(1.0, 160, 4_096, template=CONTINUATION),
    # Section 6.3: "What did we do so far?"; section 4.3: the text behind the summary.
    place=Place("question", continuation="Continue if you have next steps"),
    fallback=("stop",),  # opencode's code: the loop stops
    strategy="summary",
    order=("emit:compacted",),  # section 4.2
)
