-- +goose Up

-- What agents may do with a key, and how many writes in a day. agent_write counts them: a row per
-- key and day, in days since 1970 (UTC); earlier days are deleted with the first write of a day.
ALTER TABLE api_key ADD COLUMN agent TEXT COLLATE "C" NOT NULL DEFAULT 'dry';
ALTER TABLE api_key ADD COLUMN agent_writes BIGINT NOT NULL DEFAULT 100;
CREATE TABLE agent_write (
    key_id TEXT COLLATE "C" NOT NULL,
    day    BIGINT NOT NULL,
    writes BIGINT NOT NULL,
    PRIMARY KEY (key_id, day)
);
