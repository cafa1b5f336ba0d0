-- The first archives: compactions without sessions.
CREATE TABLE message (digest TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE compaction (
    ref TEXT PRIMARY KEY,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    tokens_before INTEGER NOT NULL,
    tokens_after INTEGER NOT NULL,
    plan TEXT NOT NULL,
    summary TEXT,
    summarizer TEXT
);
CREATE TABLE original (
    ref TEXT NOT NULL REFERENCES compaction (ref) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    digest TEXT NOT NULL REFERENCES message (digest),
    PRIMARY KEY (ref, position)
) WITHOUT ROWID;
