-- Sessions, with events and archived originals as agents' databases have them.
CREATE TABLE schema_version (
    version INTEGER PRIMARY KEY,
    applied_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    version INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest TEXT NOT NULL,
    size INTEGER NOT NULL,
    body BLOB NOT NULL
);
-- An index with a name can be built anew; the first archives of this version have a constraint.
CREATE UNIQUE INDEX idx_messages_digest ON messages (digest);
CREATE TABLE compaction_events (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    strategy TEXT NOT NULL,
    original_tokens INTEGER NOT NULL,
    compacted_tokens INTEGER NOT NULL,
    messages_removed INTEGER NOT NULL,
    summary_content TEXT,
    preserved_message_ids TEXT,
    model_used TEXT,
    duration_ms INTEGER NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);
CREATE INDEX idx_compaction_events_session ON compaction_events (session_id, created_at DESC);
-- One row an original, in the order of its list. Without an event it is a copy whose compaction never came to be.
-- The constraint finds the events that a message stands in.
CREATE TABLE message_archive (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    compaction_event_id TEXT REFERENCES compaction_events (id) ON DELETE CASCADE,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    original_message INTEGER NOT NULL REFERENCES messages (id),
    archived_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    UNIQUE (original_message, id)
);
CREATE INDEX idx_message_archive_event ON message_archive (compaction_event_id);
CREATE INDEX idx_message_archive_session ON message_archive (session_id, archived_at DESC);
-- What was done, and the hash chain over it. Retention takes the plan and the event; the link stays.
CREATE TABLE commits (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    event_id TEXT NOT NULL UNIQUE,
    plan TEXT,
    content TEXT NOT NULL,
    link TEXT NOT NULL,
    pruned_at TEXT,
    PRIMARY KEY (session_id, version)
) WITHOUT ROWID;
-- The summaries that stand in a session's list now.
CREATE TABLE summaries (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    event_id TEXT NOT NULL REFERENCES compaction_events (id) ON DELETE CASCADE,
    PRIMARY KEY (session_id, event_id)
) WITHOUT ROWID;
CREATE INDEX idx_summaries_event ON summaries (event_id);
CREATE TABLE pins (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    pinned_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (session_id, kind, value)
) WITHOUT ROWID;
CREATE TABLE marks (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    digest TEXT NOT NULL,
    marked_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (session_id, kind, digest)
) WITHOUT ROWID;
-- A message is indexed when somebody first searches: archiving does not wait for it.
CREATE TABLE unindexed (message_id INTEGER PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE);
CREATE TRIGGER messages_unindexed AFTER INSERT ON messages BEGIN INSERT INTO unindexed VALUES (new.id); END;
CREATE VIRTUAL TABLE search USING fts5 (words, content = '', detail = none, tokenize = 'ascii');
INSERT INTO messages (digest, size, body) SELECT digest, length(body), body FROM message;
INSERT INTO sessions (id, version, created_at) SELECT ref, 0, created_at FROM compaction;
INSERT INTO compaction_events
    SELECT ref, ref, 'hybrid', tokens_before, tokens_after, (SELECT count(*) FROM original WHERE ref = compaction.ref),
        summary, '[]', summarizer, 0, created_at
    FROM compaction;
INSERT INTO message_archive (compaction_event_id, session_id, original_message, archived_at)
    SELECT ref, ref, messages.id, compaction.created_at
    FROM original JOIN compaction USING (ref) JOIN messages USING (digest)
    ORDER BY ref, position;
INSERT INTO summaries SELECT ref, ref FROM compaction WHERE summary IS NOT NULL;
DROP TABLE original;
DROP TABLE compaction;
DROP TABLE message;
