-- What ran, was skipped, failed or was refused, and why; nothing of a text.
CREATE TABLE receipts (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    what TEXT NOT NULL,
    outcome TEXT NOT NULL,
    why TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE INDEX idx_receipts_session ON receipts (session_id, created_at DESC);
