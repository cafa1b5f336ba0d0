"""A report to look at: one HTML page that fetches nothing, with panels on what fills a session and what was cut.

``Report`` holds the figures, and ``page`` writes them as a page. Notebooks show the same panels, small, of a plan, a
compaction and a transcript.
"""

from __future__ import annotations

from .figures import Course, FigureSizes, Past, Planned, Report, Share, course, sizes, states
from .html import sentence
from .page import page

__all__ = [
    "Course",
    "FigureSizes",
    "Past",
    "Planned",
    "Report",
    "Share",
    "course",
    "page",
    "sentence",
    "sizes",
    "states",
]
