-- +goose Up

-- Requests for API keys. hash is that of the secret in the address of the page, network and contact
-- are MACs under which requests are counted. ends_at is when the state ends: an approved request
-- expires, every other one is deleted. due_at is when mail to the contact is due, after attempts.
CREATE TABLE access_request (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    hash        TEXT COLLATE "C" NOT NULL UNIQUE,
    network     TEXT COLLATE "C" NOT NULL,
    contact     TEXT COLLATE "C" NOT NULL,
    state       TEXT COLLATE "C" NOT NULL,
    body        TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT NOT NULL,
    ends_at     BIGINT NOT NULL,
    due_at      BIGINT,
    attempts    BIGINT NOT NULL DEFAULT 0,
    lease_until BIGINT,
    lease_owner TEXT COLLATE "C"
);
CREATE INDEX access_request_network ON access_request (network, created_at);
CREATE INDEX access_request_contact ON access_request (contact, created_at);
CREATE INDEX access_request_state ON access_request (state, id);
CREATE INDEX access_request_end ON access_request (ends_at);
CREATE INDEX access_request_due ON access_request (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX access_request_lease ON access_request (lease_owner) WHERE lease_owner IS NOT NULL;
