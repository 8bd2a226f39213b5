-- +goose Up

-- What nodes counted in a period: step is its length in seconds, at its begin. Rows of a
-- minute are kept for 7 days, those of an hour for 90.
CREATE TABLE metric (
    step BIGINT NOT NULL,
    at   BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (step, at)
);

-- When the database was backed up: the newest row counts.
CREATE TABLE backup (
    at BIGINT NOT NULL PRIMARY KEY
);

-- The newest breaches and risks, for the list of issues.
CREATE INDEX sla_event_kind ON sla_event (kind, at);
