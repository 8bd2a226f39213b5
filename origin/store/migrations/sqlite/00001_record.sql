-- +goose Up

-- The log's name and the number of its newest event. One row: every writer
-- takes its number here inside its own transaction, so numbers are in commit
-- order and have no gaps.
CREATE TABLE log (
    name   TEXT PRIMARY KEY,
    id     TEXT NOT NULL,
    number BIGINT NOT NULL
);

CREATE TABLE event (
    number  INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    type    TEXT NOT NULL,
    at      BIGINT NOT NULL,
    subject TEXT NOT NULL,
    brand   TEXT NOT NULL,
    tags    TEXT NOT NULL,
    data    TEXT NOT NULL
);
CREATE INDEX event_subject ON event (subject, type);

CREATE TABLE account (
    id         TEXT PRIMARY KEY,
    created_at BIGINT NOT NULL
);

-- Facts are named by what they say and never change; when they were found out
-- stands in revision.
CREATE TABLE facts (
    digest     TEXT PRIMARY KEY,
    body       TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE brand (
    slug         TEXT PRIMARY KEY,
    name         TEXT NOT NULL,
    url          TEXT NOT NULL,
    niche        TEXT NOT NULL,
    language     TEXT NOT NULL,
    description  TEXT NOT NULL,
    public       BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    facts_digest TEXT REFERENCES facts (digest),
    facts_at     BIGINT
);

CREATE TABLE revision (
    brand    TEXT NOT NULL REFERENCES brand (slug),
    first_at BIGINT NOT NULL,
    last_at  BIGINT NOT NULL,
    digest   TEXT NOT NULL REFERENCES facts (digest),
    PRIMARY KEY (brand, first_at)
);

CREATE TABLE audit (
    brand        TEXT PRIMARY KEY REFERENCES brand (slug),
    requested_at BIGINT NOT NULL,
    due_at       BIGINT NOT NULL,
    attempts     BIGINT NOT NULL,
    lease_until  BIGINT
);
CREATE INDEX audit_due ON audit (due_at);

CREATE TABLE mission (
    id            TEXT PRIMARY KEY,
    account       TEXT NOT NULL REFERENCES account (id),
    source_key    TEXT NOT NULL,
    external_id   TEXT NOT NULL,
    fingerprint   TEXT NOT NULL,
    request       TEXT NOT NULL,
    status        TEXT NOT NULL,
    held          TEXT NOT NULL,
    reason        TEXT,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL,
    scheduled_at  BIGINT,
    dispatched_at BIGINT,
    started_at    BIGINT,
    completed_at  BIGINT,
    canceled_at   BIGINT,
    closed_at     BIGINT,
    version       BIGINT NOT NULL,
    UNIQUE (account, source_key, external_id)
);
CREATE INDEX mission_account ON mission (account, id);
CREATE INDEX mission_status ON mission (status, id);

CREATE TABLE api_key (
    id           TEXT PRIMARY KEY,
    public       TEXT NOT NULL UNIQUE,
    hash         TEXT NOT NULL,
    hash_version BIGINT NOT NULL,
    account      TEXT NOT NULL REFERENCES account (id),
    name         TEXT NOT NULL,
    scopes       TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT,
    revoked_at   BIGINT,
    last_used_at BIGINT
);

CREATE TABLE admin_user (
    name       TEXT PRIMARY KEY,
    password   TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE session (
    hash       TEXT PRIMARY KEY,
    user_name  TEXT NOT NULL REFERENCES admin_user (name),
    created_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL
);
CREATE INDEX session_seen ON session (seen_at);

CREATE TABLE module (
    digest     TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    version    TEXT NOT NULL,
    body       BLOB NOT NULL,
    created_at BIGINT NOT NULL
);

-- The newest activation names the module in force.
CREATE TABLE activation (
    event  BIGINT PRIMARY KEY REFERENCES event (number),
    digest TEXT NOT NULL REFERENCES module (digest)
);

CREATE TABLE endpoint (
    id          TEXT PRIMARY KEY,
    account     TEXT NOT NULL REFERENCES account (id),
    url         TEXT NOT NULL,
    events      TEXT NOT NULL,
    description TEXT NOT NULL,
    secret      TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT,
    deleted_at  BIGINT
);
CREATE INDEX endpoint_live ON endpoint (account) WHERE deleted_at IS NULL;
CREATE INDEX endpoint_expiry ON endpoint (expires_at) WHERE deleted_at IS NULL AND expires_at IS NOT NULL;

CREATE TABLE delivery (
    id          TEXT PRIMARY KEY,
    endpoint    TEXT NOT NULL REFERENCES endpoint (id),
    event       BIGINT NOT NULL REFERENCES event (number),
    state       TEXT NOT NULL,
    attempts    BIGINT NOT NULL,
    due_at      BIGINT NOT NULL,
    lease_until BIGINT,
    last_status BIGINT NOT NULL,
    last_error  TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    UNIQUE (event, endpoint)
);
CREATE INDEX delivery_due ON delivery (endpoint, due_at, id) WHERE state = 'due';

CREATE TABLE attempt (
    delivery TEXT NOT NULL REFERENCES delivery (id),
    number   BIGINT NOT NULL,
    at       BIGINT NOT NULL,
    millis   BIGINT NOT NULL,
    status   BIGINT NOT NULL,
    error    TEXT NOT NULL,
    body     TEXT NOT NULL,
    PRIMARY KEY (delivery, number)
);
