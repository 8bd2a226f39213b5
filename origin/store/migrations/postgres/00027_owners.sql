-- +goose Up

-- Sessions of brand owners. The row of the key decides whether a session is still valid.
CREATE TABLE owner_session (
    hash       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    key_id     TEXT COLLATE "C" NOT NULL REFERENCES api_key (id),
    created_at BIGINT NOT NULL
);
CREATE INDEX owner_session_created ON owner_session (created_at);

-- What owners requested, to count it against their limits.
CREATE TABLE owner_action (
    brand TEXT COLLATE "C" NOT NULL REFERENCES brand (slug),
    kind  TEXT COLLATE "C" NOT NULL,
    at    BIGINT NOT NULL
);
CREATE INDEX owner_action_brand ON owner_action (brand, kind, at);

-- When the owner took the brand off the ranking; NULL: they did not.
ALTER TABLE brand ADD COLUMN unlisted_at BIGINT;

-- How the owner wants the site to be crawled. checks = 0 refuses checks by strangers; pause
-- is the time between two requests in milliseconds.
CREATE TABLE brand_wishes (
    brand  TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES brand (slug),
    host   TEXT COLLATE "C" NOT NULL,
    checks BIGINT NOT NULL,
    pause  BIGINT NOT NULL
);
CREATE INDEX brand_wishes_host ON brand_wishes (host) WHERE checks = 0;

-- Changes that an owner requests and an administrator decides.
CREATE TABLE brand_request (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    brand        TEXT COLLATE "C" NOT NULL REFERENCES brand (slug),
    account      TEXT COLLATE "C" NOT NULL,
    kind         TEXT COLLATE "C" NOT NULL,
    state        TEXT COLLATE "C" NOT NULL,
    body         TEXT COLLATE "C" NOT NULL,
    requested_at BIGINT NOT NULL,
    decided_at   BIGINT,
    decided_by   TEXT COLLATE "C" NOT NULL,
    answer       TEXT COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX brand_request_pending ON brand_request (brand, kind) WHERE state = 'pending';
CREATE INDEX brand_request_state ON brand_request (state, id);

-- Disputes by owners: account is empty for those of the public. facts are the facts of the
-- signal when the dispute was opened; rules are those of the auditor when it was upheld.
ALTER TABLE dispute ADD COLUMN account TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE dispute ADD COLUMN evidence TEXT COLLATE "C" NOT NULL DEFAULT '[]';
ALTER TABLE dispute ADD COLUMN facts TEXT COLLATE "C" NOT NULL DEFAULT '[]';
ALTER TABLE dispute ADD COLUMN rules TEXT COLLATE "C" NOT NULL DEFAULT '';

-- An owner cannot take the name of another brand of the niche.
CREATE INDEX brand_niche ON brand (niche);
