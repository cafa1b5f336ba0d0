"""Follows sven's "Prompt Compaction", layer 3, "Narrative": a summary in prose instead of sections.

The wording is ours; the other values are those of ``sven.py``.
"""

from dataclasses import replace

from .sven import POLICY as STRUCTURED
from .sven import SIX_SECTIONS, SUMMARY

PROSE = replace(
    SIX_SECTIONS,
    opening=(
        "Tell, in plain prose, what happened in the conversation below: what was asked, what was done and found, what "
        "was decided and why, and what is still open."
    ),
    topics=(),
    require_headings=False,
)

POLICY = replace(
    STRUCTURED,
    name="sven_narrative",
    summarize=replace(SUMMARY, template=PROSE),
    strategy="narrative",
)
