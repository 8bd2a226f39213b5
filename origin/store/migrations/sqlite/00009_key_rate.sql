-- +goose Up
-- What a key may ask in a minute, where it is not what every key may: 0.
ALTER TABLE api_key ADD COLUMN rate_reads BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_key ADD COLUMN rate_writes BIGINT NOT NULL DEFAULT 0;
