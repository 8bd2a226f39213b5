-- +goose Up

-- CRC-32C of the other columns, computed when the event is appended. NULL: the
-- event was appended by a program without this step.
ALTER TABLE event ADD COLUMN sum BIGINT;

-- Failed sign-ins by user name and by network, which all origins count together.
-- A name is kept as an HMAC: it may be a password typed into the wrong field.
CREATE TABLE login_throttle (
    name     TEXT PRIMARY KEY,
    failures BIGINT NOT NULL,
    until_at BIGINT NOT NULL
);
CREATE INDEX login_throttle_until ON login_throttle (until_at);
