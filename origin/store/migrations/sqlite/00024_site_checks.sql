-- +goose Up

-- Checks of sites that anyone requested. A check that has ended is never due; all are
-- deleted when they expire.
CREATE TABLE site_check (
    id          TEXT NOT NULL PRIMARY KEY,
    url         TEXT NOT NULL,
    host        TEXT NOT NULL,
    state       TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    started_at  BIGINT,
    finished_at BIGINT,
    expires_at  BIGINT NOT NULL,
    due_at      BIGINT,
    attempts    INTEGER NOT NULL DEFAULT 0,
    step        TEXT NOT NULL DEFAULT '',
    steps       INTEGER NOT NULL DEFAULT 0,
    requests    INTEGER NOT NULL DEFAULT 0,
    reason      TEXT NOT NULL DEFAULT '',
    refused_by  TEXT NOT NULL DEFAULT '',
    code        TEXT NOT NULL DEFAULT '',
    report      TEXT,
    lease_owner TEXT,
    lease_until BIGINT
);
CREATE INDEX site_check_url ON site_check (url, created_at);
CREATE INDEX site_check_due ON site_check (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX site_check_expires ON site_check (expires_at);

-- What is left of limits that hold on all origins together: the time at which nothing of
-- one is used (the theoretical arrival time of the generic cell rate algorithm).
CREATE TABLE budget (
    name    TEXT NOT NULL PRIMARY KEY,
    full_at BIGINT NOT NULL
);
CREATE INDEX budget_full ON budget (full_at);

-- When the next request of an audit may be sent to a host, by any origin.
CREATE TABLE host_pause (
    host    TEXT NOT NULL PRIMARY KEY,
    next_at BIGINT NOT NULL
);
CREATE INDEX host_pause_next ON host_pause (next_at);
