-- +goose Up

-- The mirror of the event log in a Redis stream, which one worker writes at a time. fence grows with each claim, so that
-- Redis can refuse what an earlier worker sends.
CREATE TABLE log_mirror (
    name        TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    fence       BIGINT NOT NULL,
    lease_until BIGINT,
    lease_owner TEXT COLLATE "C"
);
CREATE INDEX log_mirror_lease ON log_mirror (lease_owner) WHERE lease_owner IS NOT NULL;
