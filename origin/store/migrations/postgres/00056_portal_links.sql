-- +goose Up

-- Links to webhook pages, and the sessions that they begin. hash is that of the token in the address,
-- session that of the cookie, which is set when the token is spent. The row of the key decides whether
-- both still work. endpoints and labels are JSON; empty: no limit, no labels.
CREATE TABLE portal_link (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    account    TEXT COLLATE "C" NOT NULL REFERENCES account (id),
    key_id     TEXT COLLATE "C" NOT NULL REFERENCES api_key (id),
    hash       TEXT COLLATE "C" NOT NULL UNIQUE,
    customer   TEXT COLLATE "C" NOT NULL,
    endpoints  TEXT COLLATE "C" NOT NULL,
    labels     TEXT COLLATE "C" NOT NULL,
    read_only  BIGINT NOT NULL,
    return_url TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    session    TEXT COLLATE "C" UNIQUE,
    session_at BIGINT
);
CREATE INDEX portal_link_created ON portal_link (created_at);
CREATE INDEX portal_link_account ON portal_link (account, expires_at);
