-- +goose Up

-- Every text is compared byte by byte, as in SQLite and in Go: cursors and the
-- order of lists depend on it.

-- The log's name and the number of its newest event. One row: every writer
-- takes its number here inside its own transaction, so numbers are in commit
-- order and have no gaps.
CREATE TABLE log (
    name   TEXT COLLATE "C" PRIMARY KEY,
    id     TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL
) WITH (fillfactor = 10); -- leaves room for the row's next versions in its own page

CREATE TABLE event (
    number  BIGINT PRIMARY KEY,
    id      TEXT COLLATE "C" NOT NULL UNIQUE,
    type    TEXT COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    brand   TEXT COLLATE "C" NOT NULL,
    tags    TEXT COLLATE "C" NOT NULL,
    data    TEXT COLLATE "C" NOT NULL
);
CREATE INDEX event_subject ON event (subject, type);

CREATE TABLE account (
    id         TEXT COLLATE "C" PRIMARY KEY,
    created_at BIGINT NOT NULL
);

-- Facts are named by what they say and never change; when they were found out
-- stands in revision.
CREATE TABLE facts (
    digest     TEXT COLLATE "C" PRIMARY KEY,
    body       TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE brand (
    slug         TEXT COLLATE "C" PRIMARY KEY,
    name         TEXT COLLATE "C" NOT NULL,
    url          TEXT COLLATE "C" NOT NULL,
    niche        TEXT COLLATE "C" NOT NULL,
    language     TEXT COLLATE "C" NOT NULL,
    description  TEXT COLLATE "C" NOT NULL,
    public       BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    facts_digest TEXT COLLATE "C" REFERENCES facts (digest),
    facts_at     BIGINT
);

CREATE TABLE revision (
    brand    TEXT COLLATE "C" NOT NULL REFERENCES brand (slug),
    first_at BIGINT NOT NULL,
    last_at  BIGINT NOT NULL,
    digest   TEXT COLLATE "C" NOT NULL REFERENCES facts (digest),
    PRIMARY KEY (brand, first_at)
);

CREATE TABLE audit (
    brand        TEXT COLLATE "C" PRIMARY KEY REFERENCES brand (slug),
    requested_at BIGINT NOT NULL,
    due_at       BIGINT NOT NULL,
    attempts     BIGINT NOT NULL,
    lease_until  BIGINT
);
CREATE INDEX audit_due ON audit (due_at);

CREATE TABLE mission (
    id            TEXT COLLATE "C" PRIMARY KEY,
    account       TEXT COLLATE "C" NOT NULL REFERENCES account (id),
    source_key    TEXT COLLATE "C" NOT NULL,
    external_id   TEXT COLLATE "C" NOT NULL,
    fingerprint   TEXT COLLATE "C" NOT NULL,
    request       TEXT COLLATE "C" NOT NULL,
    status        TEXT COLLATE "C" NOT NULL,
    held          TEXT COLLATE "C" NOT NULL,
    reason        TEXT COLLATE "C",
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
    id           TEXT COLLATE "C" PRIMARY KEY,
    public       TEXT COLLATE "C" NOT NULL UNIQUE,
    hash         TEXT COLLATE "C" NOT NULL,
    hash_version BIGINT NOT NULL,
    account      TEXT COLLATE "C" NOT NULL REFERENCES account (id),
    name         TEXT COLLATE "C" NOT NULL,
    scopes       TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT,
    revoked_at   BIGINT,
    last_used_at BIGINT
);

CREATE TABLE admin_user (
    name       TEXT COLLATE "C" PRIMARY KEY,
    password   TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE session (
    hash       TEXT COLLATE "C" PRIMARY KEY,
    user_name  TEXT COLLATE "C" NOT NULL REFERENCES admin_user (name),
    created_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL
);
CREATE INDEX session_seen ON session (seen_at);

CREATE TABLE module (
    digest     TEXT COLLATE "C" PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL,
    version    TEXT COLLATE "C" NOT NULL,
    body       BYTEA NOT NULL,
    created_at BIGINT NOT NULL
);

-- The newest activation names the module in force.
CREATE TABLE activation (
    event  BIGINT PRIMARY KEY REFERENCES event (number),
    digest TEXT COLLATE "C" NOT NULL REFERENCES module (digest)
);

CREATE TABLE endpoint (
    id          TEXT COLLATE "C" PRIMARY KEY,
    account     TEXT COLLATE "C" NOT NULL REFERENCES account (id),
    url         TEXT COLLATE "C" NOT NULL,
    events      TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    secret      TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT,
    deleted_at  BIGINT
);
CREATE INDEX endpoint_live ON endpoint (account) WHERE deleted_at IS NULL;
CREATE INDEX endpoint_expiry ON endpoint (expires_at) WHERE deleted_at IS NULL AND expires_at IS NOT NULL;

CREATE TABLE delivery (
    id          TEXT COLLATE "C" PRIMARY KEY,
    endpoint    TEXT COLLATE "C" NOT NULL REFERENCES endpoint (id),
    event       BIGINT NOT NULL REFERENCES event (number),
    state       TEXT COLLATE "C" NOT NULL,
    attempts    BIGINT NOT NULL,
    due_at      BIGINT NOT NULL,
    lease_until BIGINT,
    last_status BIGINT NOT NULL,
    last_error  TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    UNIQUE (event, endpoint)
);
CREATE INDEX delivery_due ON delivery (endpoint, due_at, id) WHERE state = 'due';

CREATE TABLE attempt (
    delivery TEXT COLLATE "C" NOT NULL REFERENCES delivery (id),
    number   BIGINT NOT NULL,
    at       BIGINT NOT NULL,
    millis   BIGINT NOT NULL,
    status   BIGINT NOT NULL,
    error    TEXT COLLATE "C" NOT NULL,
    body     TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (delivery, number)
);
