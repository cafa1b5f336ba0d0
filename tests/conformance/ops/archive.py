"""The archive of agentpg's compactions."""

from __future__ import annotations

from typing import Any

import trimtab
from trimtab.archive import Record

from .presets import AGENTPG, MODEL
from .table import op


def database(made: trimtab.Compactor) -> Any:
    """The connection of an archive that lives in memory: the same SQL, and no disk to wait for."""
    return made.archive._db


def own(table: str) -> str:
    """The document puts its system's name in front of a table's."""
    return table.removeprefix("agentpg_")


@op
def schema_columns(table: str) -> list[str]:
    return [row[1] for row in database(trimtab.Compactor(MODEL)).execute(f"PRAGMA table_info({own(table)})")]


@op
def schema_index(table: str) -> list[list[str]]:
    db = database(trimtab.Compactor(MODEL))
    made = "SELECT name FROM sqlite_master WHERE tbl_name = ? AND type = 'index' AND sql IS NOT NULL"
    names = [name for (name,) in db.execute(made, (own(table),))]
    found = [db.execute(f"PRAGMA index_xinfo({name})") for name in names]
    return [[f"{name}{ORDERS[falls]}" for _, _, name, falls, _, is_key in rows if is_key] for rows in found]


ORDERS = ("", " DESC")


def kept_events(archive: Any, events: list[Record], messages: list[Any]) -> None:
    for record in events:
        archive.commit(archive.store(messages, MODEL), record)


@op
def delete_session(events: int = 1, archived: int = 1) -> dict[str, int]:
    made = trimtab.Compactor(MODEL).session(MODEL)
    records = [Record(f"ref{n}", AGENTPG.strategy, False, False, "{}") for n in range(events)]
    made.pin(MODEL)  # so that there is a session, whatever it holds
    kept_events(made.archive, records, [{"role": "user", "content": str(n)} for n in range(archived)])
    made.archive.forget(MODEL)
    db = database(made)
    left = {table: next(iter(db.execute(f"SELECT count(*) FROM {table}"))) for table in TABLES}
    return {f"{name}_left": count for (name, (count,)) in zip(("events", "archived"), left.values(), strict=True)}


TABLES = ("compaction_events", "message_archive")


@op
def session_totals(events: list[dict[str, int]] | None = None) -> dict[str, int]:
    made = trimtab.Compactor(MODEL).session(MODEL)
    for n, event in enumerate(events or ()):
        before, after, gone = (event.get(key) or 0 for key in COLUMNS)
        record = Record(f"ref{n}", AGENTPG.strategy, before, after, "{}")
        kept_events(made.archive, [record], [{"role": "user", "content": str(k)} for k in range(gone)])
    found = made.archive.totals(MODEL)
    return {
        "compaction_count": found.compactions,
        "messages_archived": found.messages_archived,
        "tokens_saved": found.tokens_saved,
    }


COLUMNS = ("original_tokens", "compacted_tokens", "messages_removed")
