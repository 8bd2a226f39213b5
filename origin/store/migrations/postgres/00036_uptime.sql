-- +goose Up

-- Periods in which edges reported without a gap, so that requests reached the database. What
-- is between two of them is an outage.
CREATE TABLE uptime (
    began_at BIGINT NOT NULL PRIMARY KEY,
    ended_at BIGINT NOT NULL
);
CREATE INDEX uptime_ended ON uptime (ended_at);
