"""Seed 003, "Prompt Compaction" of sven: a calibrated count, six sections, and an emergency that needs no model."""

from ..counting.estimate import Calibration, Estimate
from ..planning.budget import Trigger
from ..planning.policy import Policy
from ..planning.stages import Emergency, Ingest, Keep, Messages, Pins, Place, SummarizeZone, Template

SIX_SECTIONS = Template(
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
    line="{role}: {content}\n\n",
    call="[tool_call: {name}({input})]",
    result="[tool_result: {content}]",
    failure="[tool_result: {content}]",
    headings=True,
)

SUMMARY = SummarizeZone(1.0, 160, 4_096, template=SIX_SECTIONS)

POLICY = Policy(
    name="sven",
    counter=Estimate("approximate", unit="bytes", round="floor", image=765, low=85, least=1, learns=Calibration()),
    trigger=Trigger(
        share=0.85,
        reserve=0.10,
        floor=0.1,
        critical=0.95,
        over=("counted", "system", "tools"),
        of=("window", "-output"),
        reached=True,
        when=("before_call", "after_tool_batch"),
    ),
    keep=Keep((Messages(6, of_more_than=2.0), Pins()), snap="back_to_text", least=0),
    prune=None,
    ingest=Ingest(
        tokens=4_000,
        categories=(
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
    ),
    summarize=SUMMARY,
    place=Place("assistant", question="[earlier conversation]"),
    emergency=Emergency(
        Keep((Messages(6), Pins()), snap="forward", least=0),
        notice=(
            "[This session was emergency-compacted: {count} earlier messages no longer fit the context window and were "
            "left out. Ask for what is missing.]"
        ),
    ),
    fallback=("emergency",),
    strategy="structured",
    order=("emit:ContextCompacted",),
)
