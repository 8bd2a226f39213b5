-- +goose Up

-- The timeline of the PostgreSQL server that committed the newest event: an answer of a replica shows
-- by it which primary the replica follows. Empty in SQLite, and until an origin that sets it commits one.
ALTER TABLE log ADD COLUMN timeline TEXT COLLATE "C" NOT NULL DEFAULT '';
