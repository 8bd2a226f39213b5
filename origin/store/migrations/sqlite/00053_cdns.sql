-- +goose Up

-- CDNs in front of the edges. token is sealed. log, cursor and cursor_id are the position in the event log up to
-- which the CDN was purged; version counts changes of the settings, status holds what happened last.
CREATE TABLE cdn (
    name        TEXT NOT NULL PRIMARY KEY,
    settings    TEXT NOT NULL,
    token       TEXT NOT NULL,
    state       TEXT NOT NULL,
    status      TEXT NOT NULL,
    log         TEXT NOT NULL,
    cursor      BIGINT NOT NULL,
    cursor_id   TEXT NOT NULL,
    version     BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    lease_until BIGINT,
    lease_owner TEXT
);
CREATE INDEX cdn_lease ON cdn (lease_owner) WHERE lease_owner IS NOT NULL;
