-- +goose Up

-- Addresses that receive a daily digest of a brand. after_event is the last event that was
-- sent. due_at is when the next mail is due: the request for confirmation, or a digest; NULL
-- after the relay rejected the address permanently. attempts counts those of the mail that is due.
CREATE TABLE mail_address (
    id          TEXT NOT NULL PRIMARY KEY,
    brand       TEXT NOT NULL REFERENCES brand (slug),
    account     TEXT NOT NULL,
    address     TEXT NOT NULL,
    state       TEXT NOT NULL,
    error       TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    after_event BIGINT NOT NULL,
    attempts    BIGINT NOT NULL,
    due_at      BIGINT,
    lease_until BIGINT,
    lease_owner TEXT
);
CREATE UNIQUE INDEX mail_address_brand ON mail_address (brand, account, address);
CREATE INDEX mail_address_due ON mail_address (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX mail_address_lease ON mail_address (lease_owner) WHERE lease_owner IS NOT NULL;

-- The pause between requests to a host is read by host, too.
DROP INDEX brand_wishes_host;
CREATE INDEX brand_wishes_host ON brand_wishes (host);
