-- Where a session is from: its file and its model, for a list that people read.
CREATE TABLE origins (
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    file TEXT NOT NULL,
    model TEXT NOT NULL
);
