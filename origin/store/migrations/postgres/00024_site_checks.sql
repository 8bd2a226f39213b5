-- +goose Up

-- Checks of sites that anyone requested. A check that has ended is never due; all are
-- deleted when they expire.
CREATE TABLE site_check (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    url         TEXT COLLATE "C" NOT NULL,
    host        TEXT COLLATE "C" NOT NULL,
    state       TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT NOT NULL,
    started_at  BIGINT,
    finished_at BIGINT,
    expires_at  BIGINT NOT NULL,
    due_at      BIGINT,
    attempts    BIGINT NOT NULL DEFAULT 0,
    step        TEXT COLLATE "C" NOT NULL DEFAULT '',
    steps       BIGINT NOT NULL DEFAULT 0,
    requests    BIGINT NOT NULL DEFAULT 0,
    reason      TEXT COLLATE "C" NOT NULL DEFAULT '',
    refused_by  TEXT COLLATE "C" NOT NULL DEFAULT '',
    code        TEXT COLLATE "C" NOT NULL DEFAULT '',
    report      TEXT COLLATE "C",
    lease_owner TEXT COLLATE "C",
    lease_until BIGINT
);
CREATE INDEX site_check_url ON site_check (url, created_at);
CREATE INDEX site_check_due ON site_check (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX site_check_expires ON site_check (expires_at);

-- What is left of limits that hold on all origins together: the time at which nothing of
-- one is used (the theoretical arrival time of the generic cell rate algorithm).
CREATE TABLE budget (
    name    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    full_at BIGINT NOT NULL
);
CREATE INDEX budget_full ON budget (full_at);

-- When the next request of an audit may be sent to a host, by any origin.
CREATE TABLE host_pause (
    host    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    next_at BIGINT NOT NULL
);
CREATE INDEX host_pause_next ON host_pause (next_at);
