-- Sessions, with events and archived originals as agents' databases have them.
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    version INTEGER NOT NULL DEFAULT 0,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
-- A body is text: JSONB would change the order of keys, and neither JSON type takes a NaN.
CREATE TABLE messages (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    body TEXT NOT NULL
);
CREATE TABLE compaction_events (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    strategy TEXT NOT NULL,
    original_tokens BIGINT NOT NULL,
    compacted_tokens BIGINT NOT NULL,
    messages_removed INTEGER NOT NULL,
    summary_content TEXT,
    preserved_message_ids JSONB,
    model_used TEXT,
    duration_ms BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE INDEX idx_compaction_events_session ON compaction_events (session_id, created_at DESC);
-- One row an original, in the order of its list. Without an event it is a copy whose compaction never came to be.
-- The constraint finds the events that a message stands in.
CREATE TABLE message_archive (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    compaction_event_id TEXT REFERENCES compaction_events (id) ON DELETE CASCADE,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    original_message BIGINT NOT NULL REFERENCES messages (id),
    archived_at TIMESTAMPTZ NOT NULL DEFAULT now(),
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
    pruned_at TIMESTAMPTZ,
    PRIMARY KEY (session_id, version)
);
-- The summaries that stand in a session's list now.
CREATE TABLE summaries (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    event_id TEXT NOT NULL REFERENCES compaction_events (id) ON DELETE CASCADE,
    PRIMARY KEY (session_id, event_id)
);
CREATE INDEX idx_summaries_event ON summaries (event_id);
CREATE TABLE pins (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    pinned_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (session_id, kind, value)
);
CREATE TABLE marks (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    digest TEXT NOT NULL,
    marked_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (session_id, kind, digest)
);
-- A message is indexed when somebody first searches: archiving does not wait for it.
CREATE TABLE unindexed (message_id BIGINT PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE);
CREATE FUNCTION note_unindexed() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO unindexed VALUES (NEW.id); RETURN NULL; END $$;
CREATE TRIGGER messages_unindexed AFTER INSERT ON messages FOR EACH ROW EXECUTE FUNCTION note_unindexed();
CREATE TABLE search (message_id BIGINT PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE, words TSVECTOR NOT NULL);
CREATE INDEX idx_search_words ON search USING gin (words);
