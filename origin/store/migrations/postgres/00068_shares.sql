-- +goose Up

-- The processes that share work, each until its lease ends, and which kinds of work as JSON. A process looks at the
-- rows of its shares, which are numbers below 64. An older program adds rows of share 0.
CREATE TABLE worker (
    name        TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    work        TEXT COLLATE "C" NOT NULL,
    lease_until BIGINT NOT NULL
);
ALTER TABLE endpoint ADD COLUMN share BIGINT NOT NULL DEFAULT 0;
UPDATE endpoint SET share = CAST(floor(random() * 64) AS BIGINT);
CREATE INDEX endpoint_share ON endpoint (share, wake_at)
    WHERE wake_at IS NOT NULL AND deleted_at IS NULL AND world = '';
ALTER TABLE audit ADD COLUMN share BIGINT NOT NULL DEFAULT 0;
UPDATE audit SET share = CAST(floor(random() * 64) AS BIGINT);
CREATE INDEX audit_share ON audit (share, due_at) WHERE failure = '';
