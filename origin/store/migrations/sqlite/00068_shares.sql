-- +goose Up

-- The processes that share work, which only PostgreSQL allows; see the PostgreSQL migration.
CREATE TABLE worker (
    name        TEXT NOT NULL PRIMARY KEY,
    work        TEXT NOT NULL,
    lease_until BIGINT NOT NULL
);
ALTER TABLE endpoint ADD COLUMN share BIGINT NOT NULL DEFAULT 0;
CREATE INDEX endpoint_share ON endpoint (share, wake_at)
    WHERE wake_at IS NOT NULL AND deleted_at IS NULL AND world = '';
ALTER TABLE audit ADD COLUMN share BIGINT NOT NULL DEFAULT 0;
CREATE INDEX audit_share ON audit (share, due_at) WHERE failure = '';
