"""Jobs over many sessions: ``trimtab batch``; an engine runs the parts, and each part writes its Parquet files.

The engine is Daft, on this machine or on Ray. It is handed the parts of the inputs and calls ``work.Worker`` for each;
our own readers read the files, so that a bad byte is a bad row and never a failed job. The rows are the same whatever
the engine and the number of workers.
"""

from .job import JOB, SCHEMA, JobFolder
from .run import Done, run
from .task import VERBS

__all__ = ["JOB", "SCHEMA", "VERBS", "Done", "JobFolder", "run"]
