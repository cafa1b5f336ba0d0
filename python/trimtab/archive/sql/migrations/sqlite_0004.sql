-- A session's latest result, told by the list that it was made of.
CREATE TABLE views (
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    event_id TEXT NOT NULL REFERENCES compaction_events (id) ON DELETE CASCADE,
    view TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX idx_views_event ON views (event_id);
