-- +goose Up

-- TLS certificates by name. Private keys are encrypted under a key that is derived
-- from the application secret. due_at is when the name needs work: an order or a
-- question about its renewal; NULL: never. challenge is the kind that is used next:
-- the one that worked last, or the other one after it failed.
CREATE TABLE certificate (
    name          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    source        TEXT COLLATE "C" NOT NULL,
    chain         TEXT COLLATE "C" NOT NULL DEFAULT '',
    sealed_key    TEXT COLLATE "C" NOT NULL DEFAULT '',
    not_before    BIGINT,
    not_after     BIGINT,
    renew_at      BIGINT,
    due_at        BIGINT,
    challenge     TEXT COLLATE "C" NOT NULL DEFAULT 'tls-alpn-01',
    failures      BIGINT NOT NULL DEFAULT 0,
    last_error    TEXT COLLATE "C" NOT NULL DEFAULT '',
    limited_until BIGINT,
    lease_until   BIGINT,
    lease_owner   TEXT COLLATE "C"
);
CREATE INDEX certificate_due ON certificate (due_at);
CREATE INDEX certificate_lease ON certificate (lease_owner) WHERE lease_owner IS NOT NULL;

-- Accounts at certification authorities (RFC 8555), by the URL of the directory.
CREATE TABLE acme_account (
    directory  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    url        TEXT COLLATE "C" NOT NULL,
    sealed_key TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);

-- Orders of certificates: the open ones, of which a name has at most one, and those
-- of the last day, which are counted against limits.
CREATE TABLE acme_order (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL,
    directory  TEXT COLLATE "C" NOT NULL,
    url        TEXT COLLATE "C" NOT NULL,
    sealed_key TEXT COLLATE "C" NOT NULL,
    ordered_at BIGINT NOT NULL,
    ended_at   BIGINT,
    error      TEXT COLLATE "C" NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX acme_order_open ON acme_order (name) WHERE ended_at IS NULL;
CREATE INDEX acme_order_ordered ON acme_order (ordered_at);

-- Open challenges, which any edge may be asked for.
CREATE TABLE acme_challenge (
    token      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL,
    answer     TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX acme_challenge_name ON acme_challenge (name);
