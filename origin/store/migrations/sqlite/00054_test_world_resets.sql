-- +goose Up

-- When the reset of a test world began that has not ended; NULL if no reset runs.
ALTER TABLE account ADD COLUMN reset_at BIGINT;
CREATE INDEX account_reset ON account (id) WHERE reset_at IS NOT NULL;
CREATE INDEX endpoint_world ON endpoint (world, id) WHERE world <> '';
