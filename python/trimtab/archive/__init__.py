"""Archives: storage for the messages that leave the context."""

from .._lazy import loader

_HOMES = {
    "archive": "Archive SqlArchive",
    "opener": "open_archive",
    "postgres": "PostgresArchive",
    "recall": "Recall",
    "sqlite": "SqliteArchive",
    "values": (
        "ArchivedCompaction Changes Fault Hit Original Overview Pruned Receipt Record Stored StoredSession Totals"
    ),
}

__all__ = [name for names in _HOMES.values() for name in names.split()]
__getattr__ = loader(__name__, _HOMES)
