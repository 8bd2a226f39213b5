-- +goose Up

-- probe holds the result of the probes of a CDN. full_at is when the limit of calls of an account at a CDN is unused
-- again, in microseconds: the origins of a database share the limit.
ALTER TABLE cdn ADD COLUMN probe TEXT COLLATE "C" NOT NULL DEFAULT '{}';
CREATE TABLE cdn_account (
    account TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    full_at BIGINT NOT NULL
);
