"""Seed 003 with its older strategy: prose instead of sections."""

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
    headings=False,
)

POLICY = replace(
    STRUCTURED,
    name="sven_narrative",
    summarize=replace(SUMMARY, template=PROSE),
    strategy="narrative",
)
