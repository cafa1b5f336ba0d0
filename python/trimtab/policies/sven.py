"""Follows sven's "Prompt Compaction": a calibrated count, a summary in six sections, an emergency without a model.

Layers and quoted titles are sections of that document.
"""

from ..counting.estimate import Calibration, Estimate
from ..planning.budget import Trigger
from ..planning.policy import Policy
from ..planning.stages import Emergency, Ingest, Keep, Messages, Pins, Place, SummarizeZone, Template

SIX_SECTIONS = Template(
    # Layer 3, "Structured": the sections and the rule to keep technical detail verbatim; the wording is ours.
    opening=(
        "Write a checkpoint of the conversation below, from which the work goes on. Use exactly these Markdown "
        "sections and no others:\n"
    ),
    topics=(
        "Active Task",
        "Key Decisions & Rationale",
        "Files & Artifacts",
        "Constraints & Requirements",
        "Pending Items",
        "Session Narrative",
    ),
    topic="\n## {name}",
    closing=(
        "\n\nKeep technical detail verbatim: file paths, function names, error messages, code snippets and test names "
        "stand in the checkpoint as they stand in the conversation."
    ),
    begin="\n\n---\n\n",
    # sven's code: serialize_history.
    line="{role}: {content}\n\n",
    call="[tool_call: {name}({input})]",
    result="[tool_result: {content}]",
    failure="[tool_result: {content}]",
    require_headings=True,
)

# The document sets no limit for a summary; these limits are ours.
SUMMARY = SummarizeZone(1.0, 160, 4_096, template=SIX_SECTIONS)

POLICY = Policy(
    name="sven",
    # Layer 1: chars / 4, calibrated; sven's code: bytes, at least 1, an image 765 or 85 tokens.
    counter=Estimate(
        "approximate", unit="bytes", round="floor", image=765, low=85, min_tokens=1, calibration=Calibration()
    ),
    trigger=Trigger(
        share=0.85,  # "Configuration reference": compaction_threshold
        reserve=0.10,  # "Configuration reference": compaction_overhead_reserve
        min_share=0.1,  # layer 2: "never below 10%"
        critical=0.95,  # layer 2: "Emergency path"
        numerator=("counted", "system", "tools"),  # layer 1: "Effective token count"
        denominator=("window", "-output"),  # layer 1: input_budget()
        inclusive=True,  # layer 2: context_fraction >= trigger_threshold
        when=("before_call", "after_tool_batch"),  # layer 2
    ),
    # "Configuration reference": compaction_keep_recent; "Split safety": back to text; sven's code: none of 12 or fewer.
    keep=Keep((Messages(count=6, of_more_than=2.0), Pins()), boundary_moves="back_to_text", min_messages=0),
    prune=None,  # layer 4 cuts results when they enter
    ingest=Ingest(
        tokens=4_000,  # "Configuration reference": tool_result_token_cap
        categories=(  # layer 4: OutputCategory
            ("shell", "HeadTail"),
            ("run_terminal_command", "HeadTail"),
            ("gdb_command", "HeadTail"),
            ("gdb_interrupt", "HeadTail"),
            ("gdb_wait_stopped", "HeadTail"),
            ("grep", "MatchList"),
            ("search_codebase", "MatchList"),
            ("read_lints", "MatchList"),
            ("read_file", "FileContent"),
            ("fs", "FileContent"),
        ),
        otherwise="Generic",
        unit="bytes",  # layer 4: "the same chars / 4 approximation as approx_tokens"; bytes, as the counter above
    ),
    summarize=SUMMARY,
    # Layer 2, step 6: an assistant message. The question is ours, for providers that want a user message first.
    place=Place("assistant", question="[earlier conversation]"),
    emergency=Emergency(
        # Layer 2, "Emergency path"; sven's code moves the boundary forward, over orphaned results.
        Keep((Messages(count=6), Pins()), boundary_moves="forward", min_messages=0),
        notice=(
            "[This session was emergency-compacted: {count} earlier messages no longer fit the context window and were "
            "left out. Ask for what is missing.]"
        ),
    ),
    fallback=("emergency",),  # "Compaction failure modes and mitigations"
    strategy="structured",
    order=("emit:ContextCompacted",),  # "Event reporting"
)
