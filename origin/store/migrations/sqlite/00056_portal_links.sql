-- +goose Up

-- Links to webhook pages, and the sessions that they begin. hash is that of the token in the address,
-- session that of the cookie, which is set when the token is spent. The row of the key decides whether
-- both still work. endpoints and labels are JSON; empty: no limit, no labels.
CREATE TABLE portal_link (
    id         TEXT NOT NULL PRIMARY KEY,
    account    TEXT NOT NULL REFERENCES account (id),
    key_id     TEXT NOT NULL REFERENCES api_key (id),
    hash       TEXT NOT NULL UNIQUE,
    customer   TEXT NOT NULL,
    endpoints  TEXT NOT NULL,
    labels     TEXT NOT NULL,
    read_only  BIGINT NOT NULL,
    return_url TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    session    TEXT UNIQUE,
    session_at BIGINT
);
CREATE INDEX portal_link_created ON portal_link (created_at);
CREATE INDEX portal_link_account ON portal_link (account, expires_at);
