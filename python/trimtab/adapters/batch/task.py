"""What a worker is told: light, because the process that hands it out reads no session."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

TABLES = dict.fromkeys(("count", "validate", "compact", "repair"), ("quarantine", "messages", "sessions")) | {
    "truncate": ("quarantine", "texts")
}
"""Folders of each verb's tables; a part is done when its file of the last one stands."""

VERBS = tuple(TABLES)
"""Names of the things that a job can do with its rows."""


@dataclass(frozen=True, slots=True)
class Task:
    """The settings that decide what is said of each row; they go to the workers.

    Attributes:
        verb: one of ``VERBS``.
        folder: of the output.
        work: folder of files in work.
        column: the column or field that has the session or text; None if there is one alone.
        model: the model to count for; None takes the session's own.
        format: the format of all sessions; None detects it.
        options: the verb's own.
        start: the folder from which names of files are meant: that of the process that hands the task out.
    """

    verb: str
    folder: str
    work: str
    column: str | None
    model: str | None
    format: str | None
    options: dict[str, Any] = field(default_factory=dict)
    start: str = field(default_factory=os.getcwd)
